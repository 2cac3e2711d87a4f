//! Runs the long proofs, the full benches and the checks that depend on the outside world, in shards.
//!
//! A shard is a list of `cargo xtask` commands that fits into half an hour on two cores, with its builds. The
//! nightly workflow runs the shards side by side. Invariant: the workflow's matrix names every shard.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Longest expected time of a shard. Exceeding it only prints a note, because the machine may be slow.
const TIME_TARGET: Duration = Duration::from_secs(30 * 60);

/// The shards: a name, and the commands of `cargo xtask` in their order.
const SHARDS: &[(&str, &[&str])] = &[
    ("simulate-1", &["simulate --seeds 250000"]),
    ("simulate-2", &["simulate --start 250000 --seeds 250000"]),
    ("simulate-3", &["simulate --start 500000 --seeds 250000"]),
    ("simulate-4", &["simulate --start 750000 --seeds 250000"]),
    ("simulate-planted", &["simulate --planted", "budgets", "budgets --planted"]),
    ("interleavings", &["interleavings", "agents"]),
    ("wire-1", &["sse"]),
    ("wire-2", &["histories --count 1000000", "faults", "tokens"]),
    ("context", &["compactions", "compactions --planted", "prefix", "prefix --planted"]),
    ("long-run", &["long-run"]),
    ("store-sqlite", &["crash --store sqlite --random 3000", "disk-faults --store sqlite"]),
    ("store-jsonl", &["crash --store jsonl --random 4000", "disk-faults --store jsonl"]),
    ("store-postgres", &["crash --store postgres --random 2500"]),
    ("writers", &["writers --store sqlite", "writers --store jsonl --rounds 300"]),
    ("power-loss-1", &["power-loss --store sqlite --images 50000"]),
    ("power-loss-2", &["power-loss --store jsonl --images 50000", "corrupt", "golden"]),
    ("session-stores", &["session-stores --store sqlite --sessions 100000", "session-stores --store jsonl"]),
    (
        "store-planted",
        &[
            "crash --store sqlite --planted",
            "disk-faults --store sqlite --planted",
            "power-loss --planted",
            "writers --store sqlite --planted",
            "session-stores --store sqlite --planted",
        ],
    ),
    ("host", &["sandbox", "sandbox --planted", "processes", "processes --planted"]),
    ("files", &["escape", "escape --planted", "undo", "undo --planted", "repo-map --at b852c28b"]),
    ("shell-1", &["shell-diff --count 100000"]),
    ("shell-2", &["shell-diff --count 100000 --seed 100001", "shell-diff --planted"]),
    (
        "gate",
        &[
            "injections",
            "injections --planted",
            "hostile-repos",
            "hostile-repos --planted",
            "egress",
            "egress --planted",
            "attacks",
        ],
    ),
    ("sessions", &["sessions conformance planted seeds races", "sessions attach"]),
    ("cuts", &["cuts", "cuts --planted"]),
    (
        "hostile-programs",
        &[
            "hostile-repos --by-program",
            "hostile-repos --by-program --planted",
            "secrets",
            "secrets --planted",
        ],
    ),
    ("kills", &["kill-cli", "kill-host", "kill-loop", "kill-race"]),
    ("programs", &["terminal", "sdk", "connect", "conformance", "schemas", "editors", "servers"]),
    ("terminal-bytes", &["terminal-bytes"]),
    ("mistakes", &["mistakes"]),
    ("embed", &["embed", "embed --beside"]),
    ("features", &["features"]),
    ("benches-1", &["bench machine", "bench gate", "bench runs"]),
    ("benches-2", &["bench store", "bench tools", "bench turn"]),
    ("benches-3", &["bench model", "bench decoders"]),
    ("peers", &["bench peers", "bench terminal"]),
    ("fuzz", &["fuzz"]),
    ("release", &["dist --check", "deny --advisories"]),
];

/// Runs the shards with these names; prints the shards if there are none.
pub(crate) fn run(workspace: &Workspace, names: &[String]) -> Result<()> {
    if names.is_empty() {
        print!("{}", list());
        return Ok(());
    }
    for name in names {
        let Some((_, commands)) = SHARDS.iter().find(|(shard, _)| shard == name) else {
            bail!("unknown shard `{name}`; `cargo xtask nightly` lists them");
        };
        let start = Instant::now();
        let mut failed = Vec::new();
        for command in *commands {
            println!("\n==> cargo xtask {command}");
            let start = Instant::now();
            // The other commands of the shard say something too.
            let result = CommandLine::cargo("xtask").with_arguments(command.split(' ')).run(workspace);
            let seconds = start.elapsed().as_secs();
            match result {
                Ok(()) => println!("<== cargo xtask {command}: {seconds} s"),
                Err(error) => {
                    println!("<== cargo xtask {command}: failed after {seconds} s: {error}");
                    failed.push(*command);
                }
            }
        }
        if !failed.is_empty() {
            bail!("shard {name}: failed: {}", failed.join(", "));
        }
        let took = start.elapsed();
        println!("\nshard {name}: passed in {} min {} s", took.as_secs() / 60, took.as_secs() % 60);
        if took > TIME_TARGET {
            println!("slow: a shard should take at most {} minutes", TIME_TARGET.as_secs() / 60);
        }
    }
    Ok(())
}

fn list() -> String {
    let width = SHARDS.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    SHARDS.iter().map(|(name, commands)| format!("{name:width$}  {}\n", commands.join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::SHARDS;
    use crate::workspace::Workspace;
    use crate::{menu, scoreboard};

    #[test]
    fn every_command_of_a_shard_parses() {
        for (shard, commands) in SHARDS {
            for command in *commands {
                let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
                assert!(menu::parse(&words).is_ok(), "{shard}: {command}");
            }
        }
    }

    #[test]
    fn a_shard_runs_every_command_of_the_scoreboard() {
        let commands: Vec<&str> = SHARDS.iter().flat_map(|(_, commands)| *commands).copied().collect();
        for command in scoreboard::commands() {
            // One run plants all mistakes; the scoreboard counts those of a row.
            let is_run = commands.contains(&command) || command.starts_with("mistakes ");
            assert!(is_run, "no shard runs `{command}`");
        }
    }

    #[test]
    fn the_workflow_runs_every_shard() {
        let workflow = Workspace::locate().unwrap().read(".github/workflows/nightly.yml").unwrap();
        let listed: Vec<&str> =
            workflow.lines().filter_map(|line| line.strip_prefix("          - ")).collect();
        let shards: Vec<&str> = SHARDS.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, shards);
    }
}
