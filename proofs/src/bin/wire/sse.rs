//! Splits every stream at every position, and feeds one very long line byte by byte.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lariat_proofs::server::{Turn, Wire, render};
use lariat_proofs::wire::corpus::Variant;
use lariat_proofs::wire::splits::{Tally, check, outcome};
use lariat_proofs::wire::{protocol, request};

/// Length of the very long line in bytes.
const LONG_LINE: usize = 10 * 1024 * 1024;
/// Maximum slowdown when fed byte by byte.
const SLOWEST: f64 = 3.0;
/// Minimum number of splits in a full run.
const FULL_RUN: u64 = 10_000_000;

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let [streams, random] = crate::numbers(options, [("--streams", 200), ("--random", 400)])?;
    let started = Instant::now();
    let mut cases = Vec::new();
    for seed in 0..streams {
        for wire in Wire::ALL {
            cases.extend(Variant::of(wire).iter().map(|variant| (wire, seed, *variant)));
        }
    }
    let totals: Mutex<Vec<(Wire, Tally)>> =
        Mutex::new(Wire::ALL.map(|wire| (wire, Tally::default())).to_vec());
    let ok = crate::parallel(&cases, |(wire, seed, variant)| {
        match check(*wire, *seed, *variant, random as usize) {
            Ok(tally) => {
                let mut totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((_, total)) = totals.iter_mut().find(|(of, _)| of == wire) {
                    total.splits += tally.splits;
                    total.events += tally.events;
                    total.failures += tally.failures;
                }
                true
            }
            Err(difference) => {
                println!("DIFFERENT EVENTS: {difference:?}");
                false
            }
        }
    });
    let totals = totals.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{:24} {:>8} {:>12} {:>10} {:>9}", "protocol", "streams", "splits", "events", "failures");
    for (wire, total) in &totals {
        let count = streams as usize * Variant::of(*wire).len();
        println!(
            "{:24} {count:>8} {:>12} {:>10} {:>9}",
            wire.name(),
            total.splits,
            total.events,
            total.failures
        );
    }
    let splits: u64 = totals.iter().map(|(_, total)| total.splits).sum();
    println!("{splits} splits, {} differences, {:.1} s", u8::from(!ok), started.elapsed().as_secs_f64());
    let enough = streams < 200 || splits >= FULL_RUN;
    if !enough {
        println!("a full run has at least {FULL_RUN} splits");
    }
    let linear = long_lines();
    // A short run only prints the ratio; a full run on an idle machine must meet the limit.
    Ok(ok && enough && (linear || streams < 200))
}

/// Feeds one line of 10 MB, at once and byte by byte.
fn long_lines() -> bool {
    let mut ok = true;
    for wire in Wire::ALL {
        let body = render::stream(wire, &Turn::new().text("x".repeat(LONG_LINE)).piece(LONG_LINE)).concat();
        // Take the best of three, because other processes share the machine.
        let best = |step: usize| {
            let took = |_| {
                let decoder = protocol(wire).decoder(&request(wire, "http://127.0.0.1"));
                let started = Instant::now();
                let (events, failed) = outcome(decoder, body.chunks(step));
                let took = started.elapsed();
                assert!(failed.is_none() && events.len() >= 2, "{wire:?}: {failed:?}");
                took
            };
            (0..3).map(took).min().unwrap_or(Duration::MAX)
        };
        let (whole, bytes) = (best(body.len()), best(1));
        let ratio = bytes.as_secs_f64() / whole.as_secs_f64();
        let word = if ratio <= SLOWEST { "ok" } else { "TOO SLOW" };
        println!(
            "10 MB line, {:24} at once {:>6.1} ms, byte by byte {:>6.1} ms: {ratio:.2} x  {word}",
            wire.name(),
            whole.as_secs_f64() * 1e3,
            bytes.as_secs_f64() * 1e3
        );
        ok &= ratio <= SLOWEST;
    }
    ok
}
