//! Runs trees of sub-agents and measures them. Called by `cargo xtask agents`.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments, the wall clock, its own memory and its own files"
)]

use std::process::ExitCode;
use std::time::Instant;

use lariat_proofs::agents::{TreeReport, tree};
use lariat_proofs::file_race::{FileRaceReport, race_for_files};
use lariat_proofs::proof::ended;

const USAGE: &str = "usage: agents   run a tree of 1,062 sub-agents at depth 5, trees under tight budgets, and a race of two agents for 1,000 files";

/// Sub-agents per agent, level by level: 2 + 10 + 50 + 200 + 800 = 1,062.
const WIDTHS: [usize; 5] = [2, 5, 5, 4, 4];
/// Most memory of an idle sub-agent, in bytes.
const MAX_IDLE_BYTES: usize = 60 * 1_000;
/// Files for which two agents race.
const FILES: usize = 1_000;
/// Pools of the tight trees, in tokens.
const POOLS: [u64; 4] = [2_000, 10_000, 40_000, 100_000];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.is_empty() {
        return ended(Err(format!("unknown argument `{}`", arguments.join(" "))), USAGE);
    }
    ended(run(), USAGE)
}

fn run() -> Result<bool, String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    // The first tree also pays for what every later one shares.
    runtime.block_on(tree(&[2, 2], None, resident))?;
    let begun = Instant::now();
    let TreeReport { agents, depth, events, idle_bytes, spent, calls_in_flight } =
        runtime.block_on(tree(&WIDTHS, None, resident))?;
    println!(
        "{agents} sub-agents at depth {depth} in {:.2} s: {:.1} KB per idle agent (at most {} KB), {events} events, 0 lost, \
         {spent} tokens, {calls_in_flight} model calls at once",
        begun.elapsed().as_secs_f64(),
        idle_bytes as f64 / 1_000.0,
        MAX_IDLE_BYTES / 1_000
    );
    for pool in POOLS {
        let report = runtime.block_on(tree(&WIDTHS, Some(pool), resident))?;
        println!(
            "pool of {pool} tokens: {} sub-agents, {} tokens spent, {} model calls at once",
            report.agents, report.spent, report.calls_in_flight
        );
    }
    drop(runtime);
    let directory = std::env::temp_dir().join(format!("lariat-agents-{}", std::process::id()));
    let begun = Instant::now();
    let raced = race_for_files(&directory, FILES);
    let _ = std::fs::remove_dir_all(&directory);
    let FileRaceReport { files, refused, lost } = raced?;
    println!(
        "two agents that change {files} files at the same time: {lost} lost updates, {refused} writes refused and repeated, {:.2} s",
        begun.elapsed().as_secs_f64()
    );
    Ok(idle_bytes <= MAX_IDLE_BYTES && lost == 0)
}

/// The resident memory of this process, in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages * 4_096
}
