//! Checks whether an untrusted repository raised permissions: which of its settings took effect, and how tool
//! calls are judged compared with an empty repository.

use lariat::ToolEffects;
use lariat::local::{LoadedWorkspace, RealPaths};
use lariat::permission::hooks::HookEvent;
use lariat::permission::{Confinement, Effect, Guard, GuardDecision, Level, Mode, Query, Trust};
use lariat::serde_json::{Value, json};

/// Tool calls: tool, name of an argument, and its value.
const PROBES: &[(&str, &str, &str)] = &[
    ("bash", "command", "ls"),
    ("bash", "command", "cat README.md"),
    ("bash", "command", "cat /etc/passwd"),
    ("bash", "command", "cat ~/.ssh/id_rsa"),
    ("bash", "command", "git status"),
    ("bash", "command", "git diff"),
    ("bash", "command", "git log -p"),
    ("bash", "command", "git push"),
    ("bash", "command", "yarn --version"),
    ("bash", "command", "bundle --version"),
    ("bash", "command", "cargo --version"),
    ("bash", "command", "go version"),
    ("bash", "command", "make"),
    ("bash", "command", "npm install"),
    ("bash", "command", "./payload.sh"),
    ("bash", "command", "sh payload.sh"),
    ("bash", "command", "curl http://127.0.0.1"),
    ("bash", "command", "rm -rf src"),
    ("bash", "command", "echo x > .claude/settings.json"),
    ("read_file", "path", "README.md"),
    ("read_file", "path", "/etc/passwd"),
    ("read_file", "path", "../../outside/secret"),
    ("write_file", "path", "new.txt"),
    ("write_file", "path", ".claude/settings.json"),
    ("write_file", "path", "/etc/new"),
    ("fetch", "url", "http://127.0.0.1/"),
    ("mcp__evil__run", "x", "y"),
    ("list_files", "path", "/"),
];

/// Commands that an untrusted workspace never runs without approval, whatever it contains.
const NEVER: &[&str] =
    &["git status", "git diff", "git log -p", "yarn --version", "cargo --version", "./payload.sh", "make"];

/// Judges every probe, in every permission mode, with and without a sandbox.
pub(crate) fn judge_probes(opened: &LoadedWorkspace) -> Vec<(String, GuardDecision)> {
    let guard = Guard::new(opened.settings(), opened.places.clone(), std::sync::Arc::new(RealPaths));
    let mut judged = Vec::new();
    for (tool, name, value) in PROBES {
        let arguments: Value = json!({ *name: value });
        for mode in Mode::ALL {
            for confinement in [Confinement::Open, Confinement::Sandboxed] {
                let query =
                    Query::new(tool, &arguments, effects(tool)).with_mode(mode).with_confinement(confinement);
                let name = format!("{tool}({value}) in {mode}, {confinement:?}");
                judged.push((name, guard.judge(&query).verdict));
            }
        }
    }
    judged
}

fn effects(tool: &str) -> ToolEffects {
    match tool {
        "read_file" | "list_files" => ToolEffects::READS,
        _ => ToolEffects::ALL,
    }
}

const fn rank(decision: GuardDecision) -> u8 {
    match decision {
        GuardDecision::Allow => 0,
        GuardDecision::Ask => 1,
        GuardDecision::Deny => 2,
    }
}

/// What an untrusted repository raised. `empty` has the decisions in an empty repository.
pub(crate) fn raised_permissions(opened: &LoadedWorkspace, empty: &[(String, GuardDecision)]) -> Vec<String> {
    let mut faults = Vec::new();
    let settings = opened.settings();
    if opened.trust != Trust::Untrusted {
        faults.push("is trusted".to_owned());
    }
    if settings.mode != Mode::Default {
        faults.push(format!("begins in the mode {}", settings.mode));
    }
    for directory in &settings.additional_directories {
        faults.push(format!("added the directory {}", directory.display()));
    }
    for rule in settings.rules.iter().filter(|rule| rule.effect == Effect::Allow) {
        faults.push(format!("allows {} by {}", rule.text, rule.origin));
    }
    for event in HookEvent::ALL.into_iter().filter(|event| !opened.hooks.is_empty(*event)) {
        faults.push(format!("has hooks of {}", event.name()));
    }
    for value in opened.values.iter().filter(|value| value.origin.level != Level::User) {
        faults.push(format!("sets {} by {}", value.name, value.origin));
    }
    let judged = judge_probes(opened);
    for ((name, verdict), (_, before)) in judged.iter().zip(empty) {
        if rank(*verdict) < rank(*before) {
            faults.push(format!("{name} is {verdict:?}, in an empty repository {before:?}"));
        }
    }
    for command in NEVER {
        let name = format!("bash({command}) in default, Open");
        if judged.iter().any(|(probe, verdict)| *probe == name && *verdict == GuardDecision::Allow) {
            faults.push(format!("{command} runs without approval"));
        }
    }
    faults
}
