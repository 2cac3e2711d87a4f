//! Bans, licences, sources and advisories of everything we depend on: `cargo deny` against `deny.toml`.
//!
//! Owns which of its checks run when; the policy is `deny.toml`'s.
//! Invariant: the offline scope needs no network, so that `ci` gives the same answer on the same commit every
//! day. An advisory published overnight turns the nightly run red, not somebody's unrelated change.

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Offline,
    WithAdvisories,
}

pub(crate) fn run(workspace: &Workspace, scope: Scope) -> Result<()> {
    if !CommandLine::cargo("deny --version").succeeds_quietly(workspace) {
        bail!(
            "cargo-deny is missing; `.ci/run tools` puts it into target/ci-tools/bin, add that to PATH, \
             or install it with `cargo install cargo-deny --locked`"
        );
    }
    command_line(scope).run(workspace)
}

fn command_line(scope: Scope) -> CommandLine {
    let line = CommandLine::cargo("deny --locked check bans licenses sources");
    match scope {
        Scope::Offline => line,
        Scope::WithAdvisories => line.with_arguments(["advisories"]),
    }
}

#[cfg(test)]
mod tests {
    use super::{Scope, command_line};

    #[test]
    fn advisories_are_fetched_only_when_asked_for() {
        assert_eq!(
            command_line(Scope::Offline).to_string(),
            "cargo deny --locked check bans licenses sources"
        );
        assert!(command_line(Scope::WithAdvisories).to_string().ends_with("sources advisories"));
    }
}
