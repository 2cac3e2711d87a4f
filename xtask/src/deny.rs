//! Checks bans, licences, sources and advisories of all dependencies with `cargo deny` and `deny.toml`.
//!
//! Invariant: the offline scope needs no network, so that `ci` gives the same result for the same commit
//! every day. A newly published advisory fails the nightly run, not an unrelated change.

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
            "cargo-deny is not installed; run `.ci/run tools` and add target/ci-tools/bin to PATH, \
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
    fn checks_advisories_only_on_request() {
        assert_eq!(
            command_line(Scope::Offline).to_string(),
            "cargo deny --locked check bans licenses sources"
        );
        assert!(command_line(Scope::WithAdvisories).to_string().ends_with("sources advisories"));
    }
}
