//! Long proofs of the model protocols. Called by `cargo xtask sse` and its siblings.
//!
//! This binary has the command line, threads and output; the proofs themselves are in the library.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments and the wall clock itself"
)]

mod compactions;
mod faults;
mod histories;
mod prefix;
mod seeds;
mod sse;
#[cfg(feature = "suites")]
mod suites;
mod talk;

use std::process::ExitCode;

use lariat_proofs::proof::ended;

const USAGE: &str = "\
usage: wire faults [--fault PART-OF-NAME] [--protocol NAME,…]   run an agent under every fault, at every position
       wire sse [--streams N] [--random N]     split N streams per protocol and variant at every position [default: 200]
       wire histories [--count N] [--start N]  validate N random histories in every protocol
       wire compactions [--count N] [--start N] [--planted]  compact N random conversations with every strategy
       wire prefix [--turns N] [--runs N] [--seed N] [--planted]  compare the successive requests of long runs
       wire schemas JSON-DIRECTORY SCHEMA-DIRECTORY  run the standard suites of JSON and JSON Schema
       wire seeds DIRECTORY                    write the seed inputs for fuzzing
       wire talk API URL MODEL PROVIDER        run a tool loop against a server";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = match words.split_first() {
        Some((&"faults", options)) => faults::run(options),
        Some((&"sse", options)) => sse::run(options),
        Some((&"histories", options)) => histories::run(options),
        Some((&"compactions", options)) => compactions::run(options),
        Some((&"prefix", options)) => prefix::run(options),
        #[cfg(feature = "suites")]
        Some((&"schemas", options)) => suites::run(options),
        Some((&"seeds", options)) => seeds::run(options),
        Some((&"talk", options)) => talk::run(options),
        _ => Err("missing or unknown proof".to_owned()),
    };
    ended(ran, USAGE)
}

/// Parses `--name N` options; returns the numbers in the order of `names`.
fn numbers<const N: usize>(options: &[&str], names: [(&str, u64); N]) -> Result<[u64; N], String> {
    let mut values = names.map(|(_, default)| default);
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let slot = names.iter().position(|(name, _)| name == option).and_then(|at| values.get_mut(at));
        let slot = slot.ok_or_else(|| format!("unknown argument `{option}`"))?;
        let text = options.next().ok_or_else(|| format!("{option} needs a number"))?;
        *slot = text.replace('_', "").parse().map_err(|_| format!("`{text}` is not a number"))?;
    }
    Ok(values)
}

/// Runs `work` for every item on all processors. Stops early if `work` returns false.
fn parallel<T: Sync>(items: &[T], work: impl Fn(&T) -> bool + Sync) -> bool {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    let (next, ok) = (AtomicUsize::new(0), AtomicBool::new(true));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while ok.load(Ordering::Relaxed)
                    && let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    if !work(item) {
                        ok.store(false, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    ok.load(Ordering::Relaxed)
}
