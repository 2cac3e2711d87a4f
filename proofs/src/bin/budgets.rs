//! Runs the proof of budgets on many trees of agents, or with planted mistakes. Called by `cargo xtask
//! budgets`.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments and the wall clock itself"
)]

use std::process::ExitCode;
use std::time::Instant;

use lariat_proofs::budgets::{Report, prove};
use lariat_proofs::proof::{ended, number};

const USAGE: &str = "\
usage: budgets [--trees N] [--seed SEED]   run N trees, starting at SEED [default: 10000, seed 0]
       budgets --planted [--trees N]       check that every planted mistake is caught within N trees [default: 2000]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options: Vec<&str> = arguments.iter().map(String::as_str).collect();
    ended(begin(&options), USAGE)
}

fn begin(options: &[&str]) -> Result<bool, String> {
    let start = number(options, "--seed", 0)?;
    if options.contains(&"--planted") {
        return planted(start, number(options, "--trees", 2_000)?);
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

#[cfg(feature = "planted")]
fn planted(start: u64, trees: u64) -> Result<bool, String> {
    use lariat_core::planted::{Planted, plant};

    // A mistake may also trip an assertion in the code itself. That is a catch, and its backtrace is not
    // needed.
    std::panic::set_hook(Box::new(|_| {}));
    let mut caught = 0;
    for mistake in Planted::OF_BUDGETS {
        plant(Some(*mistake));
        let shown = (start..start.saturating_add(trees)).find_map(|seed| {
            match std::panic::catch_unwind(|| prove(seed)) {
                Ok(Ok(_)) => None,
                Ok(Err(failure)) => Some(failure.to_string()),
                Err(_) => Some(format!("seed {seed}: an assertion failed")),
            }
        });
        plant(None);
        caught += usize::from(shown.is_some());
        let shown = shown.unwrap_or_else(|| format!("NOT CAUGHT within {trees} trees"));
        println!("{:<18} {shown}", format!("{mistake:?}"));
    }
    println!("{caught} of {} planted mistakes caught", Planted::OF_BUDGETS.len());
    Ok(caught == Planted::OF_BUDGETS.len())
}

#[cfg(not(feature = "planted"))]
fn planted(_: u64, _: u64) -> Result<bool, String> {
    Err("this build has no planted mistakes; run `cargo xtask budgets --planted`".to_owned())
}
