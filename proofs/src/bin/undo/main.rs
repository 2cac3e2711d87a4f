//! Proves that undo restores workspaces exactly. Called by `cargo xtask undo`.
//!
//! `sequence` runs random tool calls and compares the results; `actions` chooses the calls; `world` has the
//! workspace; `speed` measures scans of large workspaces.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments and the clock, and looks at files from outside"
)]
#![expect(clippy::indexing_slicing, reason = "tables of the proof's own")]

mod actions;
mod sequence;
mod speed;
mod world;

use std::process::ExitCode;
use std::time::Instant;

use lariat_proofs::proof::{ended, found_no_fault};
use sequence::Tally;
use world::World;

const USAGE: &str = "\
usage: undo [--sequences N] [--seed N]   run N random sequences, each rewound to random points [default: 1000, seed 1]
       undo --speed                      measure scans of 1,000, 10,000 and 100,000 unchanged files
       undo --until-fault                run 100 sequences until one fails";

/// Sequences of a full proof.
const SEQUENCES: u64 = 1_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |word: &str| word.replace('_', "").parse().map_err(|_| format!("`{word}` is not a number"));
    let ran = match words.as_slice() {
        [] => prove(SEQUENCES, 1),
        ["--sequences", count] => number(count).and_then(|count| prove(count, 1)),
        ["--sequences", count, "--seed", seed] | ["--seed", seed, "--sequences", count] => {
            number(count).and_then(|count| prove(count, number(seed)?))
        }
        ["--seed", seed] => number(seed).and_then(|seed| prove(1, seed)),
        ["--speed"] => speed::run().map(|()| true),
        ["--until-fault"] => run_until_fault(),
        _ => Err("what?".to_owned()),
    };
    ended(ran, USAGE)
}

/// Runs sequences until one fails. Returns its seed and the fault.
fn sequences(count: u64, first: u64, tally: &mut Tally) -> Result<Option<(u64, String)>, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(world::text)?;
    let template = World::template()?;
    for seed in first..first + count {
        let ran = runtime.block_on(sequence::run(&template.workspace(), seed, tally));
        if let Err(fault) = ran {
            return Ok(Some((seed, fault)));
        }
    }
    Ok(None)
}

fn prove(count: u64, seed: u64) -> Result<bool, String> {
    let begun = Instant::now();
    let mut tally = Tally::default();
    let failed = sequences(count, seed, &mut tally)?;
    println!("{tally:?}");
    println!(
        "{} sequences in {:.1} s; largest undo store {} bytes",
        tally.sequences,
        begun.elapsed().as_secs_f64(),
        tally.largest
    );
    match failed {
        None => println!("every undo was exact"),
        Some((seed, ref fault)) => println!("FAILED, reproduce with --seed {seed}: {fault}"),
    }
    Ok(failed.is_none())
}

/// Runs some sequences until one fails, and prints that one.
fn run_until_fault() -> Result<bool, String> {
    let failed = sequences(100, 1, &mut Tally::default())?;
    let fault =
        failed.map(|(seed, fault)| format!("seed {seed}: {}", fault.lines().next().unwrap_or_default()));
    Ok(found_no_fault(fault.as_deref()))
}
