//! Splits every stream at every position, and feeds one very long line byte by byte.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use lariat_proofs::server::{Turn, Wire, render};
use lariat_proofs::wire::corpus::Variant;
use lariat_proofs::wire::splits::{Tally, check, outcome};
use lariat_proofs::wire::{protocol, request};
use rustix::time::{ClockId, clock_gettime};

/// Length of the very long line of a full run in MB.
const LONG_LINE: usize = 10;
/// Its length in a short run, which does not judge it.
const SHORT_RUN_LINE: usize = 1;
const MEGABYTE: usize = 1024 * 1024;
/// The other line is this many times shorter.
const SHORTER: usize = 10;
/// How much longer a byte of the long line may take than one of the shorter line. If it grew with the line, it would be
/// [`SHORTER`] times as long.
const MAX_GROWTH: f64 = 2.0;
/// Streams of every protocol and line format in a full run.
const FULL_RUN: u64 = 640;
/// Minimum number of splits in a full run.
const FULL_RUN_SPLITS: u64 = 100_000_000;

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let [streams, random] = crate::numbers(options, [("--streams", FULL_RUN), ("--random", 400)])?;
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
    let is_full = streams >= FULL_RUN;
    let enough = !is_full || splits >= FULL_RUN_SPLITS;
    if !enough {
        println!("a full run has at least {FULL_RUN_SPLITS} splits");
    }
    // A short run only prints the ratio; a full run must meet the limit.
    let linear = long_lines(if is_full { LONG_LINE } else { SHORT_RUN_LINE });
    Ok(ok && enough && (linear || !is_full))
}

/// Feeds a line of so many MB and a [`SHORTER`] one byte by byte, and the long one at once for comparison. A byte of the
/// long line must not take much longer than one of the short line.
fn long_lines(megabytes: usize) -> bool {
    let mut ok = true;
    let length = megabytes * MEGABYTE;
    for wire in Wire::ALL {
        let body = |length: usize| {
            render::stream(wire, &Turn::new().text("x".repeat(length)).piece(length)).concat()
        };
        let (long, short) = (body(length), body(length / SHORTER));
        let (whole, bytes, fewer) =
            (best(wire, &long, long.len()), best(wire, &long, 1), best(wire, &short, 1));
        let ratio = bytes / whole;
        let growth = bytes / fewer / SHORTER as f64;
        let word = if growth <= MAX_GROWTH { "ok" } else { "NOT LINEAR" };
        println!(
            "{megabytes} MB line, {:24} at once {:>6.1} ms, byte by byte {:>6.1} ms: {ratio:.2} x; a byte takes {growth:.2} x of one in a tenth  {word}",
            wire.name(),
            whole * 1e3,
            bytes * 1e3
        );
        ok &= growth <= MAX_GROWTH;
    }
    ok
}

/// Decodes a stream in chunks of this size; returns the seconds of the processor. The best of three, because other
/// processes share the machine.
fn best(wire: Wire, body: &[u8], step: usize) -> f64 {
    let took = |_| {
        let decoder = protocol(wire).decoder(&request(wire, "http://127.0.0.1"));
        let started = processor_time();
        let (events, failed) = outcome(decoder, body.chunks(step));
        let took = processor_time() - started;
        assert!(failed.is_none() && events.len() >= 2, "{wire:?}: {failed:?}");
        took
    };
    (0..3).map(took).fold(f64::MAX, f64::min)
}

/// Seconds of the processor that this thread used.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
