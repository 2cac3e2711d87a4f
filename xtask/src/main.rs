//! The developer commands behind `cargo xtask`: checks, proofs, benches and release.
//!
//! Each command is a sibling module. Invariant: `.ci/run` checks exactly what `cargo xtask ci` checks on a
//! developer's machine.
#![expect(
    clippy::disallowed_methods,
    reason = "a developer tool reads the repository, starts cargo and measures wall time"
)]

mod attacks;
mod bench;
mod build;
mod catalogue;
mod ci;
mod command_line;
mod conformance;
mod connect;
mod core_deps;
mod corrupt;
mod crates;
mod deny;
mod disk;
mod dist;
mod docs_links;
mod editors;
mod embed;
mod external_agents;
mod features;
mod fuzz;
mod kill_cli;
mod layers;
mod menu;
mod mistakes;
mod nightly;
mod node;
mod peers;
mod pictures;
mod program;
mod proof;
mod python;
mod rust_tokens;
mod scoreboard;
mod sdk;
mod server_process;
mod servers;
mod sessions;
mod simulate;
mod steps;
mod suites;
mod terminal;
mod terminal_bench;
mod wire;
mod words;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;

use command_line::CommandLine;
use menu::Command;
use workspace::Workspace;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match menu::parse(&arguments).and_then(perform) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(command: Command) -> Result<ExitCode> {
    if command == Command::Help {
        print!("{}", menu::help());
        return Ok(ExitCode::SUCCESS);
    }
    let workspace = Workspace::locate()?;
    match command {
        Command::Help => {}
        Command::Ci(selection) => ci::run(&workspace, &selection)?,
        Command::Nightly(shards) => nightly::run(&workspace, &shards)?,
        Command::Layers => layers::run(&workspace)?,
        Command::CoreDeps => core_deps::run(&workspace)?,
        Command::Crates(timing) => crates::run(&workspace, timing)?,
        Command::Deny(scope) => deny::run(&workspace, scope)?,
        Command::Dist(arguments) => dist::run(&workspace, &arguments)?,
        Command::Docs => return build::docs().pass_through(&workspace),
        Command::DocsLinks => docs_links::run(&workspace)?,
        Command::Embed(embed) => embed::run(&workspace, embed)?,
        Command::Features => features::run(&workspace)?,
        Command::Scoreboard => scoreboard::write(&workspace)?,
        Command::Record(arguments) => scoreboard::record(&workspace, &arguments)?,
        Command::Words(paths) => words::run(&workspace, &paths)?,
        Command::Simulate(arguments) => {
            let line = simulate::command_line("simulate", &arguments);
            return prove(&workspace, "simulate", &arguments, &line);
        }
        Command::Budgets(arguments) => {
            let line = simulate::command_line("budgets", &arguments);
            return prove(&workspace, "budgets", &arguments, &line);
        }
        Command::Interleavings(arguments) => {
            return proof::interleavings(&arguments).pass_through(&workspace);
        }
        Command::Agents => return program::run(&workspace, "agents", &[]),
        Command::Wire(name, arguments) => {
            return wire::command_line(name, &arguments).pass_through(&workspace);
        }
        Command::Store(name, arguments) => {
            return program::run(&workspace, &format!("store {name}"), &arguments);
        }
        Command::Sessions(proof) => proof.run(&workspace)?,
        Command::Host(name, arguments) => {
            return program::run(&workspace, &format!("host {name}"), &arguments);
        }
        Command::Corrupt(arguments) => return corrupt::corrupt(&arguments)?.pass_through(&workspace),
        Command::Escape(arguments) if mistakes::is_planted(&arguments) => {
            return mistakes::prove(&workspace, "escape", &arguments);
        }
        Command::Escape(arguments) => return program::run(&workspace, "escape", &arguments),
        Command::Undo(arguments) if mistakes::is_planted(&arguments) => {
            return mistakes::prove(&workspace, "undo", &arguments);
        }
        Command::Undo(arguments) => return program::run(&workspace, "undo", &arguments),
        Command::Attacks(arguments) => return attacks::run(&workspace, &arguments),
        Command::Mistakes(names) => mistakes::run(&workspace, &names)?,
        Command::ShellDiff(arguments) => {
            return prove(&workspace, "shell", &arguments, &proof::shell(&arguments));
        }
        Command::Injections(arguments) => return program::run(&workspace, "injections", &arguments),
        Command::Egress(arguments) => return program::run(&workspace, "egress", &arguments),
        Command::HostileRepos(arguments) => return program::run(&workspace, "repos", &arguments),
        Command::Cuts(arguments) => return program::run(&workspace, "program cuts", &arguments),
        Command::Secrets(arguments) => return program::run(&workspace, "program secrets", &arguments),
        Command::Pictures(arguments) => pictures::run(&workspace, &arguments)?,
        Command::Catalogue(arguments) => catalogue::run(&workspace, &arguments)?,
        Command::Conformance => conformance::run(&workspace)?,
        Command::Connect => connect::run(&workspace)?,
        Command::Schemas => suites::run(&workspace)?,
        Command::Editors => editors::run(&workspace)?,
        Command::ExternalAgents(words) => external_agents::run(&workspace, &words)?,
        Command::Sdk => sdk::run(&workspace)?,
        Command::KillCli(arguments) => {
            return kill_cli::command_line(kill_cli::PROGRAM, &arguments)?.pass_through(&workspace);
        }
        Command::KillLoop(arguments) => {
            return kill_cli::command_line(kill_cli::LOOP, &arguments)?.pass_through(&workspace);
        }
        Command::KillRace(arguments) => {
            return kill_cli::command_line(kill_cli::RACE, &arguments)?.pass_through(&workspace);
        }
        Command::Terminal(proof) => proof.run(&workspace)?,
        Command::TerminalBytes(arguments) => return terminal::bytes(&arguments)?.pass_through(&workspace),
        Command::KillHost(arguments) => {
            return kill_cli::command_line(kill_cli::HOST, &arguments)?.pass_through(&workspace);
        }
        Command::Servers => servers::run(&workspace)?,
        Command::LongRun(arguments) => return proof::long_run(&arguments).pass_through(&workspace),
        Command::RepoMap(arguments) => return program::run(&workspace, "repo_map", &arguments),
        Command::Tokens(arguments) => return program::run(&workspace, "tokens", &arguments),
        Command::Fuzz(fuzz) => fuzz.run(&workspace)?,
        Command::Bench(bench) => return bench.pass_through(&workspace),
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a proof; with `--planted`, in the build with mistakes in the product.
fn prove(workspace: &Workspace, binary: &str, arguments: &[String], line: &CommandLine) -> Result<ExitCode> {
    if mistakes::is_planted(arguments) {
        return mistakes::prove(workspace, binary, arguments);
    }
    line.pass_through(workspace)
}
