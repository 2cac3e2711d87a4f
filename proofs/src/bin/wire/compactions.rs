//! Compacts random conversations with every strategy, and checks the requests with every protocol's
//! validator.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use lariat_proofs::server::Wire;
use lariat_proofs::wire::compactions::{Compactions, Mistake, Strategy, Tally};

/// Seeds per thread and batch.
const BATCH: u64 = 100;
/// Problems printed in full; the others are only counted.
const TOLD: usize = 10;
/// Seeds between two lines of progress.
const PROGRESS: u64 = 10_000;
/// Number of seeds within which a planted mistake must be noticed.
const NOTICED_WITHIN: u64 = 500;

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let planted = options.contains(&"--planted");
    let options: Vec<&str> = options.iter().copied().filter(|option| *option != "--planted").collect();
    let [count, start] = crate::numbers(&options, [("--count", 100_000), ("--start", 0)])?;
    let compactions = Compactions::default();
    if planted {
        // The seeds that notice a mistake find nothing without one.
        return Ok(check(&compactions, 0, NOTICED_WITHIN) && notices(&compactions));
    }
    Ok(check(&compactions, start, count))
}

fn check(compactions: &Compactions, start: u64, count: u64) -> bool {
    let started = Instant::now();
    let batches: Vec<u64> = (start..start + count).step_by(BATCH as usize).collect();
    let total = Mutex::new((0u64, Tally::default(), 0u64));
    crate::parallel(&batches, |from| {
        for seed in *from..(from + BATCH).min(start + count) {
            let (tally, problems) = compactions.check(seed, None);
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            for problem in problems {
                total.2 += 1;
                if total.2 <= TOLD as u64 {
                    println!("WRONG: {problem}\n");
                }
            }
            total.0 += 1;
            total.1 += tally;
            if total.0.is_multiple_of(PROGRESS) {
                println!("{} conversations, {:.0} s", total.0, started.elapsed().as_secs_f64());
            }
        }
        true
    });
    let (checked, total, wrong) = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!(
        "{checked} conversations of {} messages × {} strategies: {} compacted ({} of them again), {} rejected because nothing fits, {} requests of {} protocols, \
         {} messages recalled, {wrong} wrong, {:.1} s",
        total.messages,
        Strategy::ALL.len(),
        total.applied,
        total.again,
        total.refused,
        total.requests,
        Wire::ALL.len(),
        total.recalled,
        started.elapsed().as_secs_f64()
    );
    wrong == 0 && total.applied > 0
}

/// Checks that every planted mistake is noticed.
fn notices(compactions: &Compactions) -> bool {
    let noticed = |mistake: Mistake| {
        let at = (0..NOTICED_WITHIN).find(|seed| !compactions.check(*seed, Some(mistake)).1.is_empty());
        match at {
            Some(seed) => println!("{mistake:?}: noticed with seed {seed}"),
            None => println!("{mistake:?}: NOT NOTICED within {NOTICED_WITHIN} seeds"),
        }
        at.is_some()
    };
    let missed = Mistake::ALL.into_iter().filter(|mistake| !noticed(*mistake)).count();
    missed == 0
}
