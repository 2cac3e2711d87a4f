//! `lariat doctor`: checks everything a session needs and suggests fixes.
//!
//! Each check is a function that returns findings. The checks change nothing except what any command creates (an empty database,
//! the cached sandbox probe), and never print a key. They contact only the keyring, servers on this machine and, if the chosen
//! model has a key, that model's host.

use std::io::IsTerminal as _;

use lariat_core::archive::ListQuery;
use lariat_guard::trust::Standing;
use lariat_guard::{Trust, display};
use lariat_service::models::Models;
use lariat_service::{Place, ServiceError, walls};
use serde::Serialize;

use super::{Ended, consent, print, trust};
use crate::args::manage::DoctorArgs;
use crate::around;
use crate::exit::Exit;
use crate::keys::{KeyFile, Stored};
use crate::world::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Ok,
    Warning,
    Problem,
}

#[derive(Clone, Debug, Serialize)]
struct Finding {
    about: &'static str,
    level: Level,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

fn ok(about: &'static str, what: impl Into<String>) -> Finding {
    Finding { about, level: Level::Ok, what: what.into(), fix: None }
}

fn warning(about: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { about, level: Level::Warning, what: what.into(), fix: Some(fix.into()) }
}

fn bad(about: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { about, level: Level::Problem, what: what.into(), fix: Some(fix.into()) }
}

pub(crate) async fn doctor(world: &World, args: &DoctorArgs) -> Ended {
    let mut findings = Vec::new();
    match world.place(&world.visit(None)) {
        Err(problem) => {
            let fix = problem.next.clone().unwrap_or_else(|| "fix the file".to_owned());
            let place = problem.place.map(|place| format!("{place}: ")).unwrap_or_default();
            findings.push(bad("settings", format!("{place}{}", problem.cause), fix));
        }
        Ok(place) => {
            findings.extend(settings(&place));
            findings.push(trusted(&place));
            findings.push(sandbox(world, &place).await);
            findings.extend(store(world, &place).await);
            findings.push(keyring(world, &place));
            findings.extend(models(world, &place).await);
        }
    }
    findings.extend(terminal(world));
    findings.push(git(world));
    let is_bad = findings.iter().any(|finding| finding.level == Level::Problem);
    if args.json {
        print::json(&findings)?;
    } else {
        findings.iter().for_each(tell);
    }
    Ok(if is_bad { Exit::Unsound } else { Exit::Done })
}

fn tell(finding: &Finding) {
    let mark = match finding.level {
        Level::Ok => "ok     ",
        Level::Warning => "warning",
        Level::Problem => "PROBLEM",
    };
    print::out(&format!("{mark}  {:<9} {}\n", finding.about, display::line(&finding.what)));
    if let Some(fix) = &finding.fix {
        print::out(&format!("{:>20} {}\n", "→", display::line(fix)));
    }
}

fn settings(place: &Place) -> Vec<Finding> {
    let mut findings: Vec<Finding> = place
        .config
        .warnings
        .iter()
        .map(|found| warning("settings", found.to_string(), "`lariat config schema` lists every setting"))
        .collect();
    let problems = place.opened.problems.iter();
    findings
        .extend(problems.map(|found| bad("settings", found.to_string(), "fix the file, or move it away")));
    if findings.is_empty() {
        findings.push(ok("settings", "all settings are valid"));
    }
    findings
}

fn trusted(place: &Place) -> Finding {
    let root = place.opened.territory.root();
    match (&place.opened.standing, place.opened.trust) {
        (Standing::Harmless, _) | (_, Trust::Trusted) => {
            ok("trust", format!("{}: {}", root.display(), trust::standing_text(&place.opened.standing)))
        }
        _ => warning(
            "trust",
            format!("{}: {}", root.display(), consent::situation(place)),
            consent::advice(place),
        ),
    }
}

async fn sandbox(world: &World, place: &Place) -> Finding {
    if !place.config.flag("sandbox.enabled") {
        return warning(
            "sandbox",
            "disabled: commands run unrestricted",
            "remove `enabled = false` from `[sandbox]` in your settings",
        );
    }
    let found = walls::look(&world.folders, &world.environment()).await;
    let reasons: Vec<String> =
        found.refused.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
    match found.backends.first() {
        Some(backend) if !lariat_host::sandbox::is_writable(place.path()) => warning(
            "sandbox",
            format!(
                "{}, but you cannot write to {}, so commands cannot change files there",
                backend.name(),
                place.path().display()
            ),
            "start in a directory that you can write to",
        ),
        Some(backend) => ok("sandbox", backend.name()),
        None => bad(
            "sandbox",
            format!(
                "no sandbox works on this machine, so Lariat refuses to run commands ({})",
                reasons.join("; ")
            ),
            "install bubblewrap, or accept the risk with `lariat run --no-sandbox`",
        ),
    }
}

async fn store(world: &World, place: &Place) -> Vec<Finding> {
    let service = match world.service(place).await {
        Ok(service) => service,
        Err(error) => {
            return vec![bad(
                "sessions",
                error.to_string(),
                "make the directory writable, or set `store.path`",
            )];
        }
    };
    let archive = service.archive();
    let mut query = ListQuery::default();
    query.limit = 1;
    let newest = match archive.list(&query).await {
        Ok(found) => found.into_iter().next(),
        Err(error) => {
            let fix = "move the database away and restore it from a backup";
            return vec![bad("sessions", format!("could not read the database: {error}"), fix)];
        }
    };
    let Some(newest) = newest else {
        return vec![ok("sessions", "the database works; no sessions yet")];
    };
    vec![match archive.verify(&newest.session_id).await {
        Ok(verdict) if verdict.is_sound() => {
            ok("sessions", format!("the newest session is intact ({} events)", verdict.intact))
        }
        Ok(verdict) => bad(
            "sessions",
            format!(
                "the newest session is damaged in {}",
                print::counted(verdict.damage.len(), "place", "places")
            ),
            format!("run `lariat sessions repair {}` to keep the intact part", newest.session_id),
        ),
        Err(error) => bad("sessions", error.to_string(), "run `lariat sessions verify --all` for details"),
    }]
}

/// Checks whether the keyring can store keys and read the stored ones. The check of the keys reports problems with the key file.
fn keyring(world: &World, place: &Place) -> Finding {
    let stored = KeyFile::new(world.folders.keys()).load().unwrap_or_default();
    let there = stored.iter().filter(|(_, stored)| **stored == Stored::IN_KEYRING);
    let there: Vec<&str> = there.map(|(provider, _)| provider.as_str()).collect();
    let wanted = place.config.text("auth.store").unwrap_or_default();
    if wanted == "file" && there.is_empty() {
        return ok("keyring", "not used: `auth.store` is `file`");
    }
    match world.keyring().look() {
        Ok(()) => ok("keyring", "available and unlocked"),
        Err(trouble) if !there.is_empty() => {
            let what = format!("could not read the keys for {}: {}", there.join(", "), trouble.cause);
            warning("keyring", what, trouble.step)
        }
        Err(trouble) if wanted == "keyring" => {
            warning("keyring", format!("cannot store keys: {}", trouble.cause), trouble.step)
        }
        Err(trouble) => {
            let what = format!("{}; keys are stored in a file readable only by you", trouble.cause);
            ok("keyring", what)
        }
    }
}

async fn models(world: &World, place: &Place) -> Vec<Finding> {
    let mut findings = Vec::new();
    match around::keys(world, &place.config) {
        Ok(keys) if keys.is_empty() => findings.push(ok("keys", "no API keys found")),
        Ok(keys) => {
            let found: Vec<String> =
                keys.iter().map(|key| format!("{} ({})", key.provider, key.from)).collect();
            findings.push(ok("keys", found.join(", ")));
        }
        Err(problem) => findings.push(bad("keys", problem.cause, problem.next.unwrap_or_default())),
    }
    let servers = around::servers(&place.config).await;
    for server in &servers {
        let models = match server.models.as_slice() {
            [] => "no models".to_owned(),
            models => models.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", "),
        };
        findings.push(ok("local", format!("{} at {}: {models}", server.title, server.base_url)));
    }
    let keys = world.keys();
    let models = Models::new(&place.config, &keys).with_catalogue(&place.catalogue);
    match models.chosen() {
        Ok(model) => {
            findings.push(ok("model", format!("{}/{}", model.provider, model.id)));
            let is_keyed = models.key(&model.provider).is_some();
            if let Some(address) = around::address(&model).filter(|_| is_keyed) {
                findings.push(match around::reach(&address).await {
                    Ok(name) => ok("network", format!("connected to {name}")),
                    Err(why) => bad(
                        "network",
                        why,
                        "check your connection, your proxy and the provider's `base_url` setting",
                    ),
                });
            }
        }
        Err(ServiceError::NoModel) => {
            let fix = match servers.iter().find_map(|server| Some((server.name, server.models.first()?))) {
                Some((name, model)) => format!("run `lariat config set model {name}/{model}`"),
                None => "set an API key such as ANTHROPIC_API_KEY, run `lariat auth login anthropic`, or start Ollama".to_owned(),
            };
            findings.push(bad("model", "no model configured", fix));
        }
        Err(error) => {
            let problem = crate::problem::Problem::from(error);
            findings.push(bad("model", problem.cause, problem.next.unwrap_or_default()));
        }
    }
    findings
}

fn terminal(world: &World) -> Vec<Finding> {
    let output = std::io::stdout();
    if !output.is_terminal() {
        return vec![ok("terminal", "output is not a terminal: plain text")];
    }
    let width = rustix::termios::tcgetwinsize(&output).map(|size| size.ws_col).unwrap_or_default();
    let colour = match (world.variable("NO_COLOR"), world.variable("TERM")) {
        (Some(_), _) => "no color (NO_COLOR)",
        (None, None | Some("dumb")) => "no color (TERM)",
        _ => "color",
    };
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| world.variable(name));
    let is_utf8 = locale.is_some_and(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    let mut findings = vec![ok("terminal", format!("{width} columns, {colour}"))];
    if !is_utf8 {
        findings.push(warning(
            "terminal",
            "the locale is not UTF-8: some characters may look wrong",
            "set LANG, for example to C.UTF-8",
        ));
    }
    if width > 0 && width < 60 {
        findings.push(warning(
            "terminal",
            "narrow: tables will be truncated",
            "widen it to at least 60 columns",
        ));
    }
    findings
}

fn git(world: &World) -> Finding {
    if let Some(found) = world.environment().find("git".as_ref()) {
        return ok("git", found.display().to_string());
    }
    warning("git", "not found: the model does not see what changed", "install git")
}
