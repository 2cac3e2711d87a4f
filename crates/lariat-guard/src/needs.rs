//! Determines what a command needs from the sandbox, as far as its words tell.
//!
//! Two tables list the git subcommands that write the repository and the programs that use the network. The result is shown
//! to the user with the approval question and granted with the approval; it never allows anything by itself.

use lariat_core::opening::SandboxOpening;
use serde_json::Value;

use crate::analyzed_call::AnalyzedCall;
use crate::effect::Effect;
use crate::judge::{Guard, Query};
use crate::judgement::{Cause, GuardDecision};
use crate::mode::{Confinement, Mode};
use crate::origin::Origin;
use crate::program::{base, options_before_subcommand};
use crate::settings::{Layer, Settings, Trust};
use crate::shell::Command;
use crate::tool_name::{CallSubject, call_subject};

/// The argument of `bash` by which a model requests openings.
const ARGUMENT: &str = "needs";
/// Maximum openings that one tool call may request.
const MAX_OPENINGS: usize = 8;

/// Git subcommands that write the repository.
const GIT_WRITES: &[&str] = &[
    "add",
    "am",
    "apply",
    "bisect",
    "branch",
    "checkout",
    "cherry-pick",
    "clean",
    "commit",
    "fetch",
    "gc",
    "merge",
    "mv",
    "notes",
    "pull",
    "push",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "switch",
    "tag",
    "update-index",
    "update-ref",
    "write-tree",
    "commit-tree",
    "hash-object",
    "maintenance",
    "repack",
];

/// Subcommands that use the network; a program with an empty list always does.
const NETWORK_PROGRAMS: &[(&str, &[&str])] = &[
    ("git", &["clone", "fetch", "pull", "push", "ls-remote", "submodule"]),
    ("npm", &["install", "i", "ci", "add", "update", "outdated", "audit", "publish", "view", "exec"]),
    ("pnpm", &["install", "i", "add", "update", "outdated", "audit", "publish", "dlx"]),
    ("yarn", &["install", "add", "upgrade", "up", "outdated", "audit", "publish", "dlx"]),
    ("bun", &["install", "add", "update", "outdated", "publish"]),
    ("npx", &[]),
    ("pip", &["install", "download", "index"]),
    ("pip3", &["install", "download", "index"]),
    ("uv", &["sync", "lock", "add", "pip", "tool", "run", "python", "publish"]),
    ("uvx", &[]),
    ("poetry", &["install", "add", "update", "lock", "publish"]),
    ("pipenv", &["install", "update", "sync", "lock"]),
    ("conda", &["install", "create", "update"]),
    ("cargo", &["add", "install", "update", "fetch", "search", "publish"]),
    ("rustup", &["install", "update", "toolchain", "component", "target"]),
    ("go", &["get", "install", "mod"]),
    ("gem", &["install", "update", "fetch", "push"]),
    ("bundle", &["install", "update", "add"]),
    ("composer", &["install", "update", "require"]),
    ("dotnet", &["restore", "add", "nuget"]),
    ("mvn", &[]),
    ("gh", &[]),
    ("glab", &[]),
    ("curl", &[]),
    ("wget", &[]),
    ("ssh", &[]),
    ("scp", &[]),
    ("ping", &[]),
    ("dig", &[]),
    ("nslookup", &[]),
];

impl Guard {
    /// Returns the openings that a tool call requests by its argument `needed_openings`, in order, without duplicates. Nothing that
    /// restricts or opens the sandbox is ignored silently.
    ///
    /// # Errors
    /// The entry that cannot be parsed, in words for the model.
    pub fn requested_openings(query: &Query<'_>) -> Result<Vec<SandboxOpening>, String> {
        let listed = match query.arguments.get(ARGUMENT) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(_) if call_subject(query.tool) != CallSubject::Command => return Ok(Vec::new()),
            Some(Value::Array(listed)) if listed.len() <= MAX_OPENINGS => listed,
            Some(_) => return Err(format!("`{ARGUMENT}` must be a list of at most {MAX_OPENINGS} entries")),
        };
        let mut openings = Vec::new();
        for entry in listed {
            let opening = entry.as_str().and_then(SandboxOpening::parse).ok_or_else(|| {
                format!("invalid entry {entry} in `{ARGUMENT}`: expected `git`, `network`, `outside` or an absolute path")
            })?;
            if !openings.contains(&opening) {
                openings.push(opening);
            }
        }
        Ok(openings)
    }

    /// Returns what a command is known to need: the repository to commit, the network to install packages.
    pub fn needed_openings(&self, query: &Query<'_>) -> Vec<SandboxOpening> {
        if call_subject(query.tool) != CallSubject::Command {
            return Vec::new();
        }
        let call = AnalyzedCall::new(query.tool, query.arguments, query.effects, self.context());
        let mut openings = Vec::new();
        if call.script.commands.iter().any(writes_repository) {
            openings.push(SandboxOpening::Git);
        }
        if call.script.commands.iter().any(reaches_network) {
            openings.push(SandboxOpening::Network);
        }
        openings
    }

    /// Whether these rules alone allow a tool call, and at least one of them is needed for that.
    pub fn allowed_by(&self, rules: &[String], query: &Query<'_>) -> bool {
        let layer = Layer::new(Origin::flags());
        let layer = rules.iter().fold(layer, |layer, rule| layer.with_rule(Effect::Allow, rule));
        let context = self.context();
        let settings = Settings::merge([layer], Trust::Trusted);
        let guard = Self::new(settings, context.places.clone(), context.resolver.clone());
        guard.allowed_by_rules(query)
    }

    /// Whether allow rules, not the mode, allow a tool call.
    pub fn allowed_by_rules(&self, query: &Query<'_>) -> bool {
        let query = query.with_mode(Mode::Default).with_confinement(Confinement::Open);
        let judgement = self.judge(&query);
        let by_rule = |cause: &Cause| matches!(cause, Cause::Rule { .. });
        judgement.verdict == GuardDecision::Allow
            && judgement.because.iter().any(|reason| by_rule(&reason.cause))
    }
}

fn subcommand(command: &Command) -> &str {
    let words = || command.words.iter().skip(1).map(|word| word.text.as_str());
    let program = command.words.first().map_or("", |word| word.text.as_str());
    let mut rest = words().skip(options_before_subcommand(program, words()));
    rest.find(|word| !word.starts_with('-')).unwrap_or_default()
}

fn writes_repository(command: &Command) -> bool {
    let program = command.words.first().map_or("", |word| base(&word.text));
    program == "git" && GIT_WRITES.contains(&subcommand(command))
}

fn reaches_network(command: &Command) -> bool {
    let program = command.words.first().map_or("", |word| base(&word.text));
    let of_python = program.starts_with("python") && {
        let words: Vec<&str> = command.words.iter().skip(1).map(|word| word.text.as_str()).collect();
        matches!(words.as_slice(), ["-m", "pip", "install" | "download", ..])
    };
    // `yarn` without a subcommand installs packages.
    let bare_yarn = program == "yarn" && subcommand(command).is_empty();
    let known = NETWORK_PROGRAMS.iter().find(|(name, _)| *name == program);
    of_python
        || bare_yarn
        || known.is_some_and(|(_, names)| names.is_empty() || names.contains(&subcommand(command)))
}

#[cfg(test)]
#[path = "needs_tests.rs"]
mod tests;
