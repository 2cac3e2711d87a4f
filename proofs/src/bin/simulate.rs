//! Runs the simulator on many seeds, or with planted mistakes. Called by `cargo xtask simulate`.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments and the wall clock itself"
)]

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use lariat_proofs::sim::{Failure, Report, simulate};

const USAGE: &str = "\
usage: simulate [--seeds N] [--start SEED] [--threads N]   run N seeds [default: 10000]
       simulate --seed SEED [--planted NAME]               run one seed and print everything observed
       simulate --planted [--seeds N]                      check that every planted mistake is caught within N seeds [default: 20000]";

struct Options {
    seeds: u64,
    start: u64,
    threads: usize,
    replay: Option<u64>,
    planted: Option<Option<String>>,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1).collect()) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let ok = match (&options.replay, &options.planted) {
        (Some(seed), planted) => planted::with(planted.clone().flatten().as_deref(), || replay(*seed)),
        (None, Some(_)) => planted::all(&options),
        (None, None) => run_seeds(&options),
    };
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(arguments: Vec<String>) -> Result<Options, String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options { seeds: 0, start: 0, threads, replay: None, planted: None };
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        let mut number = || {
            let text = arguments.next().ok_or_else(|| format!("{argument} needs a number"))?;
            text.replace('_', "").parse::<u64>().map_err(|_| format!("`{text}` is not a number"))
        };
        match argument.as_str() {
            "--seeds" => options.seeds = number()?,
            "--start" => options.start = number()?,
            "--threads" => options.threads = usize::try_from(number()?).unwrap_or(1).max(1),
            "--seed" => options.replay = Some(number()?),
            "--planted" => options.planted = Some(arguments.next_if(|next| !next.starts_with("--"))),
            _ => return Err(format!("unknown argument `{argument}`")),
        }
    }
    if options.seeds == 0 {
        options.seeds = if options.planted.is_some() { 20_000 } else { 10_000 };
    }
    Ok(options)
}

/// Runs one seed twice, to show whether the run is reproducible.
fn replay(seed: u64) -> bool {
    match (simulate(seed), simulate(seed)) {
        (Ok(first), Ok(second)) => {
            println!("seed {seed}: no violation\n{first:#?}");
            if first != second {
                println!("but a second run differs:\n{second:#?}");
            }
            first == second
        }
        (Err(failure), _) | (_, Err(failure)) => {
            failure.log.iter().for_each(|line| println!("{line}"));
            println!("\n{failure}");
            false
        }
    }
}

/// Runs many seeds on all threads and stops at the first failure.
fn run_seeds(options: &Options) -> bool {
    let next = AtomicU64::new(options.start);
    let end = options.start.saturating_add(options.seeds);
    let stop = AtomicBool::new(false);
    let total = Mutex::new((Report::default(), None::<Box<Failure>>));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                let mut sum = Report::default();
                while !stop.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    if (seed + 1 - options.start).is_multiple_of(100_000) {
                        eprintln!(
                            "  {} seeds, {:.0} s",
                            seed + 1 - options.start,
                            started.elapsed().as_secs_f64()
                        );
                    }
                    match simulate(seed) {
                        Ok(report) => sum.add(&report),
                        Err(failure) => {
                            stop.store(true, Ordering::Relaxed);
                            total.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(failure);
                        }
                    }
                }
                total.lock().unwrap_or_else(PoisonError::into_inner).0.add(&sum);
            });
        }
    });
    let (report, failure) = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    let seconds = started.elapsed().as_secs_f64();
    if let Some(failure) = failure {
        failure.log.iter().rev().take(40).rev().for_each(|line| println!("{line}"));
        println!("\n{failure}\nreplay it with: cargo xtask simulate --seed {}", failure.seed);
        return false;
    }
    println!("seeds             {:>14}", options.seeds);
    println!("violations        {:>14}", 0);
    println!("processes         {:>14}", report.lives);
    println!("durable events    {:>14}", report.events);
    println!("store faults      {:>14}", report.faults);
    println!("model requests    {:>14}", report.requests);
    println!("tool executions   {:>14}", report.executions);
    println!("prefixes recovered{:>14}", report.prefixes);
    println!("virtual hours     {:>14.1}", report.virtual_ms as f64 / 3.6e6);
    println!("seconds           {seconds:>14.1}  ({:.0} seeds/s)", options.seeds as f64 / seconds);
    true
}

#[cfg(not(feature = "planted"))]
mod planted {
    use super::Options;

    pub(super) fn with(name: Option<&str>, run: impl FnOnce() -> bool) -> bool {
        if name.is_some() {
            eprintln!("planted mistakes need the feature `planted`; use `cargo xtask simulate --planted`");
            return false;
        }
        run()
    }

    pub(super) fn all(_options: &Options) -> bool {
        with(Some(""), || true)
    }
}

#[cfg(feature = "planted")]
mod planted {
    use std::sync::atomic::{AtomicU64, Ordering};

    use lariat_core::planted::{Planted, plant};
    use lariat_proofs::sim::simulate;

    use super::Options;

    pub(super) fn with(name: Option<&str>, run: impl FnOnce() -> bool) -> bool {
        let known = |mistake: &&Planted| name.is_some_and(|name| format!("{mistake:?}") == name);
        let mistake = Planted::ALL.iter().find(known).copied();
        if name.is_some() && mistake.is_none() {
            eprintln!("unknown mistake; known are {:?}", Planted::ALL);
            return false;
        }
        plant(mistake);
        run()
    }

    /// Checks that every mistake is caught. A run without `--planted` shows that the same seeds are clean
    /// otherwise.
    pub(super) fn all(options: &Options) -> bool {
        // A mistake may also trip an assertion in the code itself. That is a catch, and its backtrace is not
        // needed.
        std::panic::set_hook(Box::new(|_| {}));
        let next = AtomicU64::new(0);
        let rows = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..options.threads {
                scope.spawn(|| {
                    loop {
                        let at = usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap_or(usize::MAX);
                        let Some(mistake) = Planted::ALL.get(at).copied() else { return };
                        let row = first_catch(mistake, options);
                        rows.lock()
                            .unwrap_or_else(std::sync::PoisonError::into_inner)
                            .push((at, mistake, row));
                    }
                });
            }
        });
        let mut rows = rows.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        rows.sort_by_key(|(at, ..)| *at);
        let mut caught = 0;
        for (_, mistake, row) in &rows {
            match row {
                Some((seed, what)) => {
                    caught += 1;
                    println!("{:<26} caught at seed {seed:>5}: {what}", format!("{mistake:?}"));
                }
                None => println!("{:<26} NOT CAUGHT within {} seeds", format!("{mistake:?}"), options.seeds),
            }
        }
        println!("{caught} of {} planted mistakes caught", rows.len());
        caught == rows.len()
    }

    /// The first seed that reveals a mistake, and what it revealed.
    fn first_catch(mistake: Planted, options: &Options) -> Option<(u64, String)> {
        plant(Some(mistake));
        (options.start..options.start.saturating_add(options.seeds)).find_map(|seed| {
            let shown = match std::panic::catch_unwind(|| simulate(seed)) {
                Ok(Ok(_)) => return None,
                Ok(Err(failure)) => failure.violation.to_string(),
                Err(_) => "an assertion failed".to_owned(),
            };
            let line: String = shown.chars().take(90).collect();
            Some((seed, line))
        })
    }
}
