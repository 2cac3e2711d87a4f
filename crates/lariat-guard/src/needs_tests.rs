use std::sync::Arc;

use lariat_core::tool::ToolEffects;
use serde_json::json;

use super::*;
use crate::resolve::{NoLinks, SessionDirectories};

fn guard() -> Guard {
    Guard::new(
        Settings::merge([], Trust::Trusted),
        SessionDirectories::new("/people/me/project", "/people/me"),
        Arc::new(NoLinks),
    )
}

fn needed_openings(command: &str) -> Vec<SandboxOpening> {
    let arguments = json!({ "command": command });
    guard().needed_openings(&Query::new("bash", &arguments, ToolEffects::ALL))
}

#[test]
fn commands_need_openings_by_program_and_subcommand() {
    for command in
        ["git commit -m x", "git add a && git commit -qm x", "git -C sub add .", "timeout 5 git tag v1"]
    {
        assert_eq!(needed_openings(command), [SandboxOpening::Git], "{command}");
    }
    for command in
        ["npm install", "npm --prefix web ci", "pip install x", "python3 -m pip install x", "curl x", "yarn"]
    {
        assert_eq!(needed_openings(command), [SandboxOpening::Network], "{command}");
    }
    assert_eq!(needed_openings("git push"), [SandboxOpening::Git, SandboxOpening::Network]);
    for command in ["git status", "npm test", "cargo build", "ls", "echo git commit", "yarn test"] {
        assert_eq!(needed_openings(command), [], "{command}");
    }
}

#[test]
fn parses_requested_openings_and_rejects_unknown_ones() {
    let requested = |needs: Value| {
        let arguments = json!({ "command": "x", "needs": needs });
        Guard::requested_openings(&Query::new("bash", &arguments, ToolEffects::ALL))
    };
    let both = vec![SandboxOpening::Network, SandboxOpening::Write("/opt/x".to_owned())];
    assert_eq!(requested(json!(["network", "/opt/x", "network"])), Ok(both));
    assert_eq!(requested(json!(null)), Ok(vec![]));
    for wrong in [json!("network"), json!(["everything"]), json!([7]), json!(["../x"])] {
        assert!(requested(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn only_the_given_rules_allow_a_tool_call() {
    let rules = ["Bash(git commit *)".to_owned()];
    let allowed = |command: &str| {
        let arguments = json!({ "command": command });
        guard().allowed_by(&rules, &Query::new("bash", &arguments, ToolEffects::ALL))
    };
    assert!(allowed("git commit -m x"));
    assert!(!allowed("git commit -m x && curl example.com"));
    assert!(!allowed("ls"));
}
