//! Checks the rules against tables: every line of `tests/rules/*.txt` is a case with its reason.
//!
//! A block starts with `== title` and contains settings, then cases:
//!
//! ```text
//! layer user            the level of the settings below (managed, flags, local, project, user); initially project
//! deny Bash(rm *)       a rule; also `ask`, `allow`
//! mode plan             the mode of the session; `default-mode plan` is the one of the layer
//! sandbox               commands run in a sandbox
//! untrusted             the workspace is not trusted
//! directory ../more     an additional directory of the layer
//! cwd /people/u/p/sub     the working directory; `/people/u/p` is the root of the project, `/people/u` the home directory
//! link /a -> /b         a link
//! effects reads         what tools other than Lariat's declare: none, reads, network, all
//! deny: bash rm -r x    ## a case: the decision, the tool, its main argument, and the reason
//! ask critical: ...     ## the same, with the danger level
//! warns Write(x)        ## a warning about a rule or a key
//! silent                ## no warning at all
//! always: bash ls => Bash(x) ## the rules that "always" would store, or `nothing`
//! starts: plan          ## the initial mode of a session
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_core::permission::DangerLevel;
use lariat_core::tool::ToolEffects;
use lariat_guard::{
    Confinement, Effect, Guard, GuardDecision, Layer, Level, Mode, Origin, Query, Resolver,
    SessionDirectories, Settings, Trust,
};
use serde_json::{Value, json};

const FILES: &[(&str, &str)] = &[
    ("grammar", include_str!("../rules/grammar.txt")),
    ("order", include_str!("../rules/order.txt")),
    ("commands", include_str!("../rules/commands.txt")),
    ("compound", include_str!("../rules/compound.txt")),
    ("read_only", include_str!("../rules/read_only.txt")),
    ("paths", include_str!("../rules/paths.txt")),
    ("protected", include_str!("../rules/protected.txt")),
    ("modes", include_str!("../rules/modes.txt")),
    ("critical", include_str!("../rules/critical.txt")),
    ("others", include_str!("../rules/others.txt")),
    ("always", include_str!("../rules/always.txt")),
    ("regression", include_str!("../rules/regression.txt")),
];

/// A file system with a few links.
#[derive(Clone, Default)]
struct Links(Vec<(PathBuf, PathBuf)>);

impl Resolver for Links {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let mut whole = PathBuf::new();
        let mut steps = 0;
        let mut rest: Vec<String> = parts(path);
        rest.reverse();
        while let Some(name) = rest.pop() {
            steps += 1;
            if steps > 100 {
                return None;
            }
            match name.as_str() {
                "." => {}
                ".." => {
                    whole.pop();
                }
                "/" => whole = PathBuf::from("/"),
                name => {
                    let next = whole.join(name);
                    match self.0.iter().find(|(link, _)| *link == next) {
                        Some((_, target)) => rest.extend(parts(target).into_iter().rev()),
                        None => whole = next,
                    }
                }
            }
        }
        Some(whole)
    }
}

fn parts(path: &Path) -> Vec<String> {
    path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
}

struct Block {
    layers: Vec<Layer>,
    level: Level,
    mode: Option<Mode>,
    confinement: Confinement,
    trust: Trust,
    places: SessionDirectories,
    links: Links,
    effects: ToolEffects,
    guard: Option<Guard>,
}

impl Block {
    fn new() -> Self {
        Self {
            layers: Vec::new(),
            level: Level::Project,
            mode: None,
            confinement: Confinement::Open,
            trust: Trust::Trusted,
            places: SessionDirectories::new("/people/u/p", "/people/u"),
            links: Links::default(),
            effects: ToolEffects::ALL,
            guard: None,
        }
    }

    fn change(&mut self, change: impl FnOnce(Layer) -> Layer) {
        let at = self.layers.iter().position(|layer| layer.origin.level == self.level);
        let layer = match at {
            Some(at) => self.layers.remove(at),
            None => Layer::new(match self.level {
                Level::Flags => Origin::flags(),
                Level::User => Origin::file(Level::User, "/people/u/.claude/settings.json"),
                Level::Managed => Origin::file(Level::Managed, "/etc/claude-code/managed-settings.json"),
                Level::Local => Origin::file(Level::Local, "/people/u/p/.claude/settings.local.json"),
                level => Origin::file(level, "/people/u/p/.claude/settings.json"),
            }),
        };
        self.layers.push(change(layer));
    }

    /// Reads a line of settings. Returns false if it is not one.
    fn set(&mut self, line: &str) -> bool {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        let value = value.trim();
        match key {
            "deny" => self.change(|layer| layer.with_rule(Effect::Deny, value)),
            "ask" => self.change(|layer| layer.with_rule(Effect::Ask, value)),
            "allow" => self.change(|layer| layer.with_rule(Effect::Allow, value)),
            "directory" => self.change(|layer| layer.with_directory(value)),
            "default-mode" => self.change(|layer| layer.with_default_mode(Mode::parse(value).unwrap())),
            "disable" => self.change(|layer| {
                let text = json!({ "permissions": { value: "disable" } }).to_string();
                let read = Layer::claude(&text, Origin::clone(&layer.origin)).unwrap();
                assert!(layer.rules.is_empty(), "a switch comes first in its layer");
                read
            }),
            "layer" => {
                self.level = match value {
                    "managed" => Level::Managed,
                    "flags" => Level::Flags,
                    "local" => Level::Local,
                    "project" => Level::Project,
                    "user" => Level::User,
                    other => panic!("no level {other}"),
                }
            }
            "mode" => self.mode = Some(Mode::parse(value).unwrap()),
            "sandbox" => self.confinement = Confinement::Sandboxed,
            "untrusted" => self.trust = Trust::Untrusted,
            "cwd" => self.places = SessionDirectories::new(value, "/people/u").with_project("/people/u/p"),
            "link" => {
                let (link, target) = value.split_once(" -> ").unwrap();
                self.links.0.push((link.into(), target.into()));
            }
            "effects" => {
                self.effects = match value {
                    "none" => ToolEffects::NONE,
                    "reads" => ToolEffects::READS,
                    "writes" => ToolEffects::WRITES,
                    "network" => ToolEffects::NETWORK,
                    _ => ToolEffects::ALL,
                }
            }
            _ => return false,
        }
        self.guard = None;
        true
    }

    fn guard(&mut self) -> &Guard {
        self.guard.get_or_insert_with(|| {
            let settings = Settings::merge(self.layers.clone(), self.trust);
            Guard::new(settings, self.places.clone(), Arc::new(self.links.clone()))
        })
    }

    /// Checks a line that is a case. The error says what is wrong.
    fn check(&mut self, line: &str) -> Result<(), String> {
        let (mode, confinement, effects) = (self.mode, self.confinement, self.effects);
        let guard = self.guard();
        if let Some(subject) = line.strip_prefix("warns ") {
            let known = guard.warnings().iter().any(|warning| warning.subject == subject.trim());
            return known.then_some(()).ok_or_else(|| format!("warnings: {:?}", guard.warnings()));
        }
        if line == "silent" {
            let silent = guard.warnings().is_empty();
            return silent.then_some(()).ok_or_else(|| format!("warnings: {:?}", guard.warnings()));
        }
        let (expected, case) = line.split_once(": ").ok_or("is not a case")?;
        let mode = mode.unwrap_or(guard.settings().mode);
        if expected == "starts" {
            let got = guard.settings().mode;
            return (Mode::parse(case.trim()) == Some(got)).then_some(()).ok_or_else(|| format!("got {got}"));
        }
        let (case, rules) = case.split_once(" => ").unwrap_or((case, ""));
        let (tool, about) = case.trim().split_once(' ').unwrap_or((case.trim(), ""));
        if expected == "always" {
            let arguments = arguments(tool, about.trim());
            let got = guard.suggest(&Query::new(tool, &arguments, effects).with_mode(mode)).join(", ");
            let got = if got.is_empty() { "nothing" } else { &got };
            return (got == rules.trim()).then_some(()).ok_or_else(|| format!("got {got}"));
        }
        let (verdict, danger) = expected.split_once(' ').unwrap_or((expected, ""));
        let arguments = arguments(tool, about.trim());
        let query = Query::new(tool, &arguments, effects).with_mode(mode).with_confinement(confinement);
        let got = guard.judge(&query);
        let is_right = match verdict {
            "allow" => got.verdict == GuardDecision::Allow,
            "ask" => got.verdict == GuardDecision::Ask,
            "deny" => got.verdict == GuardDecision::Deny,
            other => return Err(format!("unknown decision {other}")),
        } && match danger {
            "" => true,
            "safe" => got.danger == DangerLevel::Safe,
            "moderate" => got.danger == DangerLevel::Moderate,
            "dangerous" => got.danger == DangerLevel::Dangerous,
            "critical" => got.danger == DangerLevel::Critical,
            other => return Err(format!("unknown danger level {other}")),
        };
        assert!(!got.because.is_empty(), "a decision without a reason: {line}");
        is_right
            .then_some(())
            .ok_or_else(|| format!("got {:?}, {:?}. {}", got.verdict, got.danger, got.explain()))
    }
}

fn arguments(tool: &str, about: &str) -> Value {
    if about.starts_with("{\"") {
        return serde_json::from_str(about).unwrap_or_else(|error| panic!("{about}: {error}"));
    }
    let field = match tool {
        "bash" => "command",
        "bash_input" => "text",
        "apply_patch" => "patch",
        "fetch" => "url",
        "agent" => "agent",
        "skill" => "skill",
        _ => "path",
    };
    if about.is_empty() { json!({}) } else { json!({ field: about }) }
}

/// Checks a file. Returns how many cases it has and which ones fail.
fn run(name: &str, text: &str) -> (usize, Vec<String>) {
    let mut block = Block::new();
    let (mut count, mut failed) = (0, Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with("# ") {
            continue;
        }
        if line.starts_with("== ") {
            block = Block::new();
            continue;
        }
        let (case, reason) =
            line.split_once(" ## ").map_or((line, ""), |(case, reason)| (case.trim(), reason));
        if reason.is_empty() && block.set(line) {
            continue;
        }
        count += 1;
        if reason.is_empty() {
            failed.push(format!("{name}.txt:{}: `{line}` has no reason", number + 1));
        } else if let Err(why) = block.check(case) {
            failed.push(format!("{name}.txt:{}: {case}\n    because {reason}\n    {why}", number + 1));
        }
    }
    (count, failed)
}

#[test]
fn every_case_of_the_tables_passes() {
    let mut failed = Vec::new();
    for (name, text) in FILES {
        failed.extend(run(name, text).1);
    }
    assert!(failed.is_empty(), "{} cases fail:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn the_tables_have_at_least_400_cases() {
    let count: usize = FILES.iter().map(|(name, text)| run(name, text).0).sum();
    println!("{count} cases");
    assert!(count >= 400, "{count} cases");
}
