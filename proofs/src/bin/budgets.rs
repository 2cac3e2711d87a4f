//! Runs the proof of budgets on many trees of agents. Called by `cargo xtask budgets`.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments and the wall clock itself"
)]

use std::process::ExitCode;
use std::time::Instant;

use lariat_proofs::budgets::{Report, prove};
use lariat_proofs::proof::{ended, found_no_fault, number};

const USAGE: &str = "\
usage: budgets [--trees N] [--seed SEED]   run N trees, starting at SEED [default: 10000, seed 0]
       budgets --until-fault [--trees N]   run N trees in order until one fails [default: 2000]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options: Vec<&str> = arguments.iter().map(String::as_str).collect();
    ended(begin(&options), USAGE)
}

fn begin(options: &[&str]) -> Result<bool, String> {
    let start = number(options, "--seed", 0)?;
    if options.contains(&"--until-fault") {
        return Ok(run_until_fault(start, number(options, "--trees", 2_000)?));
    }
    let trees = number(options, "--trees", 10_000)?;
    let begun = Instant::now();
    let mut sum = Report::default();
    for seed in start..start.saturating_add(trees) {
        match prove(seed) {
            Ok(report) => sum += report,
            Err(failure) => {
                println!("{failure}\nreproduce with: cargo xtask budgets --trees 1 --seed {seed}");
                return Ok(false);
            }
        }
    }
    let Report { runs, model_calls, tool_calls, stopped, warnings, crossed } = sum;
    println!(
        "{trees} trees in {:.1} s: {runs} runs, {model_calls} model calls, {tool_calls} tool calls, {stopped} runs \
         stopped by a budget, {warnings} warnings",
        begun.elapsed().as_secs_f64()
    );
    println!(
        "{crossed} limits were exceeded, each only by the model call in progress; every ledger adds up to its total"
    );
    Ok(true)
}

/// Runs trees until one fails, and prints that one. A failed assertion in the code itself is a fault too.
fn run_until_fault(start: u64, trees: u64) -> bool {
    // The fault is printed in one line, without a backtrace.
    std::panic::set_hook(Box::new(|_| {}));
    let fault = (start..start.saturating_add(trees)).find_map(|seed| {
        match std::panic::catch_unwind(|| prove(seed)) {
            Ok(Ok(_)) => None,
            Ok(Err(failure)) => Some(failure.to_string()),
            Err(_) => Some(format!("seed {seed}: an assertion failed")),
        }
    });
    found_no_fault(fault.as_deref())
}
