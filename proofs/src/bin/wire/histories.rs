//! Checks requests of random conversations with every protocol's validator.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use lariat_proofs::server::Wire;
use lariat_proofs::wire::histories::{Histories, Tally};

/// Seeds per thread and batch.
const BATCH: u64 = 500;
/// Seeds between two lines of progress.
const PROGRESS: u64 = 100_000;

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let [count, start] = crate::numbers(options, [("--count", 20_000), ("--start", 0)])?;
    let started = Instant::now();
    let histories = Histories::default();
    let batches: Vec<u64> = (start..start + count).step_by(BATCH as usize).collect();
    let total = Mutex::new((0u64, Tally::default()));
    let rejected: Mutex<BTreeMap<(Wire, String), u64>> = Mutex::default();
    crate::parallel(&batches, |from| {
        for seed in *from..(from + BATCH).min(start + count) {
            let (tally, rejections) = histories.check(seed);
            for rejection in rejections {
                let mut rejected = rejected.lock().unwrap_or_else(PoisonError::into_inner);
                let times = rejected.entry((rejection.wire, shape(&rejection.problem))).or_default();
                *times += 1;
                // Print each kind of problem once, in full.
                if *times == 1 {
                    println!("REJECTED: {rejection}\n");
                }
            }
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            total.0 += 1;
            total.1.requests += tally.requests;
            total.1.messages += tally.messages;
            total.1.bytes += tally.bytes;
            if total.0.is_multiple_of(PROGRESS) {
                println!("{} histories, {:.0} s", total.0, started.elapsed().as_secs_f64());
            }
        }
        true
    });
    let (checked, total) = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    let rejected = rejected.into_inner().unwrap_or_else(PoisonError::into_inner);
    for ((wire, problem), times) in &rejected {
        println!("{times:>8} × {}: {problem}", wire.name());
    }
    println!(
        "{checked} histories of {} messages, {} requests, {} MB checked, {} rejections, {:.1} s",
        total.messages,
        total.requests,
        total.bytes / (1024 * 1024),
        rejected.values().sum::<u64>(),
        started.elapsed().as_secs_f64()
    );
    Ok(rejected.is_empty())
}

/// A problem without its numbers, so that the same problem at different positions compares equal.
fn shape(problem: &str) -> String {
    problem.chars().filter(|c| !c.is_ascii_digit()).take(160).collect()
}
