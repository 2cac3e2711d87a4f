//! `lariat doctor`: checks everything a session needs and suggests fixes.
//!
//! Each check is a function that returns findings. The checks change nothing except what any command creates (an empty database,
//! the cached sandbox probe), and never print a key. They contact only the keyring, servers on this machine and, if the chosen
//! model has a key, that model's host.

use std::io::IsTerminal as _;

use lariat_core::archive::ListQuery;
use lariat_core::display;
use lariat_service::config::{KeyStorage, SettingsError};
use lariat_service::local::OpenError;
use lariat_service::models::Models;
use lariat_service::trust::{Trust, TrustStatus};
use lariat_service::{LoadOptions, LoadedProject, ServiceError, model_servers, sandbox_probe};
use serde::Serialize;

use super::{CommandResult, print, trust, trust_prompt};
use crate::args::manage::DoctorArgs;
use crate::detect;
use crate::exit::Exit;
use crate::keys::{KeyFile, StoredKey};
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckLevel {
    Ok,
    Warning,
    Problem,
}

#[derive(Clone, Debug, Serialize)]
struct Finding {
    about: &'static str,
    level: CheckLevel,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

fn ok(about: &'static str, what: impl Into<String>) -> Finding {
    Finding { about, level: CheckLevel::Ok, what: what.into(), fix: None }
}

fn warning(about: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { about, level: CheckLevel::Warning, what: what.into(), fix: Some(fix.into()) }
}

fn bad(about: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { about, level: CheckLevel::Problem, what: what.into(), fix: Some(fix.into()) }
}

pub(crate) async fn doctor(env: &ProcessEnv, args: &DoctorArgs) -> CommandResult {
    let findings = findings(env, &env.load_options(None)).await;
    let is_bad = findings.iter().any(|finding| finding.level == CheckLevel::Problem);
    if args.json {
        print::json(&findings)?;
    } else {
        print::out(&text(&findings));
    }
    Ok(if is_bad { Exit::VerificationFailed } else { Exit::Done })
}

/// What the checks found, as text.
pub(crate) async fn report(env: &ProcessEnv, options: &LoadOptions) -> String {
    text(&findings(env, options).await)
}

async fn findings(env: &ProcessEnv, options: &LoadOptions) -> Vec<Finding> {
    let mut findings = Vec::new();
    match LoadedProject::load(options, &env.folders) {
        Err(error) => findings.extend(invalid_settings(error)),
        Ok(place) => {
            findings.extend(settings(&place));
            findings.push(project_trust(&place));
            findings.push(sandbox(env, &place).await);
            findings.extend(store(env, &place).await);
            findings.push(keyring(env, &place));
            findings.extend(models(env, &place).await);
        }
    }
    findings.extend(terminal(env));
    findings.push(git(env));
    findings
}

fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let mark = match finding.level {
            CheckLevel::Ok => "ok     ",
            CheckLevel::Warning => "warning",
            CheckLevel::Problem => "PROBLEM",
        };
        text.push_str(&format!("{mark}  {:<9} {}\n", finding.about, display::line(&finding.what)));
        if let Some(fix) = &finding.fix {
            text.push_str(&format!("{:>20} {}\n", "→", display::line(fix)));
        }
    }
    text
}

/// Lists every restriction that cannot be enforced, or the one problem that prevents reading further.
fn invalid_settings(error: ServiceError) -> Vec<Finding> {
    let problems = match error {
        ServiceError::Open(OpenError::Settings(SettingsError::Restrictions(broken))) => {
            broken.iter().map(Problem::of_restriction).collect()
        }
        error => vec![Problem::from(error)],
    };
    let finding = |problem: Problem| {
        let fix = problem.hint.unwrap_or_else(|| "fix the file".to_owned());
        let place = problem.place.map(|place| format!("{place}: ")).unwrap_or_default();
        bad("settings", format!("{place}{}", problem.cause), fix)
    };
    problems.into_iter().map(finding).collect()
}

fn settings(place: &LoadedProject) -> Vec<Finding> {
    let mut findings: Vec<Finding> = place
        .sources
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

fn project_trust(place: &LoadedProject) -> Finding {
    let root = place.opened.territory.root();
    match (&place.opened.standing, place.opened.trust) {
        (TrustStatus::Harmless, _) | (_, Trust::Trusted) => {
            ok("trust", format!("{}: {}", root.display(), trust::standing_text(&place.opened.standing)))
        }
        _ => warning(
            "trust",
            format!("{}: {}", root.display(), trust_prompt::situation(place)),
            trust_prompt::advice(place),
        ),
    }
}

async fn sandbox(env: &ProcessEnv, place: &LoadedProject) -> Finding {
    if !place.settings.sandbox.enabled {
        return warning(
            "sandbox",
            "disabled: commands run unrestricted",
            "remove `enabled = false` from `[sandbox]` in your settings",
        );
    }
    let found = sandbox_probe::probe(&env.folders, &env.environment()).await;
    let reasons: Vec<String> =
        found.refused.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
    match found.backends.first() {
        Some(backend) if !sandbox_probe::is_writable(place.path()) => warning(
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

async fn store(env: &ProcessEnv, place: &LoadedProject) -> Vec<Finding> {
    let service = match env.service(place).await {
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
fn keyring(env: &ProcessEnv, place: &LoadedProject) -> Finding {
    let stored = KeyFile::new(env.folders.keys()).load().unwrap_or_default();
    let in_keyring = stored.iter().filter(|(_, stored)| **stored == StoredKey::IN_KEYRING);
    let in_keyring: Vec<&str> = in_keyring.map(|(provider, _)| provider.as_str()).collect();
    let wanted = place.settings.auth.store;
    if wanted == KeyStorage::File && in_keyring.is_empty() {
        return ok("keyring", "not used: `auth.store` is `file`");
    }
    match env.keyring().check() {
        Ok(()) => ok("keyring", "available and unlocked"),
        Err(keyring_error) if !in_keyring.is_empty() => {
            let what =
                format!("could not read the keys for {}: {}", in_keyring.join(", "), keyring_error.cause);
            warning("keyring", what, keyring_error.step)
        }
        Err(keyring_error) if wanted == KeyStorage::Keyring => {
            warning("keyring", format!("cannot store keys: {}", keyring_error.cause), keyring_error.step)
        }
        Err(keyring_error) => {
            let what = format!("{}; keys are stored in a file readable only by you", keyring_error.cause);
            ok("keyring", what)
        }
    }
}

async fn models(env: &ProcessEnv, place: &LoadedProject) -> Vec<Finding> {
    let mut findings = Vec::new();
    match detect::keys(env, &place.settings) {
        Ok(keys) if keys.is_empty() => findings.push(ok("keys", "no API keys found")),
        Ok(keys) => {
            let found: Vec<String> =
                keys.iter().map(|key| format!("{} ({})", key.provider, key.from)).collect();
            findings.push(ok("keys", found.join(", ")));
        }
        Err(problem) => findings.push(bad("keys", problem.cause, problem.hint.unwrap_or_default())),
    }
    let servers = detect::servers(&place.settings).await;
    for server in &servers {
        let models = match server.models.as_slice() {
            [] => "no models".to_owned(),
            models => models.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", "),
        };
        findings.push(ok("local", format!("{} at {}: {models}", server.title, server.base_url)));
    }
    let keys = env.keys();
    let models = Models::new(&place.settings, &keys).with_catalogue(&place.catalogue);
    match models.selected_model() {
        Ok(model) => {
            findings.push(ok("model", format!("{}/{}", model.provider, model.id)));
            let is_keyed = models.key(&model.provider).is_some();
            if let Some(address) = model_servers::address(&model).filter(|_| is_keyed) {
                findings.push(match detect::connect(&address).await {
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
            let problem = Problem::from(error);
            findings.push(bad("model", problem.cause, problem.hint.unwrap_or_default()));
        }
    }
    findings
}

fn terminal(env: &ProcessEnv) -> Vec<Finding> {
    let output = std::io::stdout();
    if !output.is_terminal() {
        return vec![ok("terminal", "output is not a terminal: plain text")];
    }
    let width = rustix::termios::tcgetwinsize(&output).map(|size| size.ws_col).unwrap_or_default();
    let colour = match (env.variable("NO_COLOR"), env.variable("TERM")) {
        (Some(_), _) => "no color (NO_COLOR)",
        (None, None | Some("dumb")) => "no color (TERM)",
        _ => "color",
    };
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| env.variable(name));
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

fn git(env: &ProcessEnv) -> Finding {
    if let Some(found) = env.environment().find("git".as_ref()) {
        return ok("git", found.display().to_string());
    }
    warning("git", "not found: the model does not see what changed", "install git")
}
