//! The menu: which words mean which command, and the help text.
//!
//! Owns parsing and `--help`; performs nothing.
//! Invariant: every command that parses is listed by `--help`, with one line of its own.

use anyhow::{Result, bail};

use crate::bench::Bench;
use crate::ci::Proofs;
use crate::deny::Scope;
use crate::fuzz::Fuzz;

/// One line of the menu: usage, what it does.
const ENTRIES: &[(&str, &str)] = &[
    ("ci [--skip-proofs]", "run every check that a change must pass, then the short proofs"),
    ("layers", "compare the crates' dependencies with the table in ARCHITECTURE.md"),
    ("core-deps", "check that lariat-core pulls in no runtime, socket or system crate"),
    ("deny [--advisories]", "check bans, licences and sources (and advisories, from the network)"),
    ("docs", "build the documentation with warnings as errors"),
    ("docs-links", "check that links and file references in *.md lead somewhere"),
    (
        "words [PATH]...",
        "check the wording of docs, comments, messages and function names; PATH limits it to files that begin so",
    ),
    ("simulate [ARGS]", "run the simulator; `--seeds N`, or `--planted` to prove it catches planted bugs"),
    ("sse [ARGS]", "cut streams of every protocol in every way: the events must not change; `--streams N`"),
    ("catalogue [--from FILE]...", "renew the snapshot of models and prices from files, or from pip and npm"),
    (
        "sdk",
        "drive the scripted model server with the official Python SDKs, and our program with the agent SDK (installs them under target/)",
    ),
    (
        "kill-cli [ARGS]",
        "kill `lariat run` while it repairs a repository, and go on: nothing is done twice; `--kills N`, `--seed N`",
    ),
    (
        "faults [ARGS]",
        "run an agent under every fault of every protocol, as a table; `--fault NAME`, `--protocol NAME`",
    ),
    ("servers", "run our clients against llama.cpp and LiteLLM (installs them under target/)"),
    (
        "compactions [ARGS]",
        "compact random conversations in every way; `--count N`, `--start N`, `--planted`",
    ),
    ("histories [ARGS]", "build requests of random histories: no service may reject one; `--count N`"),
    (
        "crash [ARGS]",
        "kill a run at every write of a store and at random times; `--store sqlite|jsonl|postgres`",
    ),
    (
        "disk-faults [ARGS]",
        "let a store's writes and syncs fail, and its disk be full; `--store sqlite|jsonl`",
    ),
    (
        "power-loss [ARGS]",
        "open what a power cut may leave of a store's files; `--store sqlite|jsonl`, `--images N`, `--seed N`",
    ),
    ("writers [ARGS]", "let processes fight over one session; `--store sqlite|jsonl`, `--rounds N`"),
    (
        "sessions [ARGS]",
        "open and close many sessions with 256 descriptors, and hand one over; `--store sqlite|jsonl`, `--sessions N`",
    ),
    ("corrupt [ARGS]", "damage session files: what is intact must come back; `--mutants N`, `--seed N`"),
    (
        "escape [ARGS]",
        "send hostile paths through every file tool and race it; `--operations N`, `--planted`",
    ),
    (
        "sandbox [ARGS]",
        "run hostile programs in the sandbox, on each backend and as each user; `--backend NAME`, `--planted`",
    ),
    (
        "processes [ARGS]",
        "run programs that do not want to end, and end them in every way; `--runs N`, `--planted`",
    ),
    (
        "prefix [ARGS]",
        "compare the requests of long runs with each other, and count what a prefix cache reads; `--turns N`, `--runs N`, `--planted`",
    ),
    (
        "undo [ARGS]",
        "rewind random sequences of calls: byte-exact; `--sequences N`, `--seed N`, `--speed`, `--planted`",
    ),
    (
        "budgets [ARGS]",
        "run random trees of runs under shared budgets: never beyond a cap by more than the call in flight; `--trees N`, `--seed N`, `--planted`",
    ),
    (
        "shell-diff [ARGS]",
        "run generated commands and known bypasses in a jail: nothing runs unjudged; `--count N`, `--seed N`, `--planted`",
    ),
    (
        "injections [ARGS]",
        "let a model obey injected text, with real tools: nothing leaves unasked; `--count N`, `--seed N`, `--planted`",
    ),
    (
        "hostile-repos [ARGS]",
        "open hostile repositories untrusted, then trust and change them; `--count N`, `--seed N`, `--planted`",
    ),
    (
        "attacks [--program PATH] [NAME]...",
        "attack the built program from outside, with a control for each attack: every one must be held off",
    ),
    (
        "mistakes [NAME]",
        "make the mistakes of `xtask/mistakes.txt` in a copy, one at a time: tests must notice each; NAME begins the names",
    ),
    (
        "long-run [ARGS]",
        "let an agent work for 2,000 turns in a window of 200,000 tokens: nothing is lost, and it stays quick and small; `--turns N`, `--window N`",
    ),
    (
        "tokens [--short]",
        "predict the size of requests for services that count otherwise: within 5 % after three turns",
    ),
    (
        "dist [--check]",
        "build what is shipped: archive and Debian package; `--check` builds it again elsewhere and compares the bytes",
    ),
    ("fuzz [--seconds N] [TARGET]", "fuzz the decoders, guided by coverage; N seconds for each target"),
    (
        "bench NAME [ARGS]",
        "run a bench: `decoders`, `gate`, `machine`, `model`, `peers`, `runs`, `store`, `tools` or `turn`; `--short` for a quick look",
    ),
];

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Ci(Proofs),
    Layers,
    CoreDeps,
    Deny(Scope),
    Dist(Vec<String>),
    Docs,
    DocsLinks,
    Words(Vec<String>),
    Simulate(Vec<String>),
    Budgets(Vec<String>),
    /// A proof of the model protocols, by name.
    Wire(&'static str, Vec<String>),
    /// A proof of the stores, by name.
    Store(&'static str, Vec<String>),
    Corrupt(Vec<String>),
    Escape(Vec<String>),
    /// A proof of the host, by name.
    Host(&'static str, Vec<String>),
    Undo(Vec<String>),
    ShellDiff(Vec<String>),
    Injections(Vec<String>),
    HostileRepos(Vec<String>),
    Attacks(Vec<String>),
    /// Those whose names begin so.
    Mistakes(Vec<String>),
    Catalogue(Vec<String>),
    Sdk,
    KillCli(Vec<String>),
    Servers,
    LongRun(Vec<String>),
    Tokens(Vec<String>),
    Fuzz(Fuzz),
    Bench(Bench),
}

pub(crate) fn parse(arguments: &[String]) -> Result<Command> {
    let Some((name, rest)) = arguments.split_first() else {
        return Ok(Command::Help);
    };
    let command = match name.as_str() {
        "-h" | "--help" | "help" => Command::Help,
        "ci" => match flag(name, rest, "--skip-proofs")? {
            Flag::Given => Command::Ci(Proofs::Skip),
            Flag::Absent => Command::Ci(Proofs::Run),
        },
        "deny" => match flag(name, rest, "--advisories")? {
            Flag::Given => Command::Deny(Scope::WithAdvisories),
            Flag::Absent => Command::Deny(Scope::Offline),
        },
        "layers" => bare(name, rest, Command::Layers)?,
        "core-deps" => bare(name, rest, Command::CoreDeps)?,
        "dist" => Command::Dist(rest.to_vec()),
        "docs" => bare(name, rest, Command::Docs)?,
        "docs-links" => bare(name, rest, Command::DocsLinks)?,
        "words" => Command::Words(rest.to_vec()),
        "simulate" => Command::Simulate(rest.to_vec()),
        "budgets" => Command::Budgets(rest.to_vec()),
        "sse" => Command::Wire("sse", rest.to_vec()),
        "catalogue" => Command::Catalogue(rest.to_vec()),
        "sdk" => bare(name, rest, Command::Sdk)?,
        "kill-cli" => Command::KillCli(rest.to_vec()),
        "faults" => Command::Wire("faults", rest.to_vec()),
        "servers" => bare(name, rest, Command::Servers)?,
        "compactions" => Command::Wire("compactions", rest.to_vec()),
        "histories" => Command::Wire("histories", rest.to_vec()),
        "prefix" => Command::Wire("prefix", rest.to_vec()),
        "crash" => Command::Store("crash", rest.to_vec()),
        "disk-faults" => Command::Store("disk-faults", rest.to_vec()),
        "power-loss" => Command::Store("power-loss", rest.to_vec()),
        "writers" => Command::Store("writers", rest.to_vec()),
        "sessions" => Command::Store("sessions", rest.to_vec()),
        "corrupt" => Command::Corrupt(rest.to_vec()),
        "escape" => Command::Escape(rest.to_vec()),
        "sandbox" => Command::Host("sandbox", rest.to_vec()),
        "processes" => Command::Host("processes", rest.to_vec()),
        "undo" => Command::Undo(rest.to_vec()),
        "shell-diff" => Command::ShellDiff(rest.to_vec()),
        "injections" => Command::Injections(rest.to_vec()),
        "hostile-repos" => Command::HostileRepos(rest.to_vec()),
        "attacks" => Command::Attacks(rest.to_vec()),
        "mistakes" => Command::Mistakes(rest.to_vec()),
        "long-run" => Command::LongRun(rest.to_vec()),
        "tokens" => Command::Tokens(rest.to_vec()),
        "fuzz" => Command::Fuzz(Fuzz::parse(rest)?),
        "bench" => Command::Bench(Bench::parse(rest)?),
        other => bail!("no command `{other}`; `cargo xtask --help` lists them"),
    };
    Ok(command)
}

pub(crate) fn help() -> String {
    let width = ENTRIES.iter().map(|(usage, _)| usage.len()).max().unwrap_or_default();
    let mut text = String::from("Usage: cargo xtask COMMAND\n\nCommands:\n");
    for (usage, purpose) in ENTRIES {
        text.push_str(&format!("  {usage:width$}  {purpose}\n"));
    }
    text
}

enum Flag {
    Given,
    Absent,
}

/// Accepts nothing, or the one flag that `command` knows.
fn flag(command: &str, rest: &[String], known: &str) -> Result<Flag> {
    match rest {
        [] => Ok(Flag::Absent),
        [only] if only == known => Ok(Flag::Given),
        _ => bail!("`{command}` takes only `{known}`, not `{}`", rest.join(" ")),
    }
}

fn bare(name: &str, rest: &[String], command: Command) -> Result<Command> {
    if rest.is_empty() {
        return Ok(command);
    }
    bail!("`{name}` takes no arguments, but got `{}`", rest.join(" "))
}

#[cfg(test)]
#[path = "menu_tests.rs"]
mod tests;
