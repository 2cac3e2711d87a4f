//! Runs the simulator on many seeds. Called by `cargo xtask simulate`.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments and the wall clock itself"
)]

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use lariat_proofs::proof::found_no_fault;
use lariat_proofs::sim::{Failure, Report, World, explain, simulate};

const USAGE: &str = "\
usage: simulate [--seeds N] [--start SEED] [--threads N]   run N seeds [default: 10000]
       simulate --seed SEED [--log]                        run one seed twice; tell the shortest run that fails [--log: everything observed]
       simulate --until-fault [--seeds N]                  run N seeds in order until one fails [default: 5000]

options: --world NAME   one world only: loops, agents, hosts";

struct Options {
    seeds: u64,
    start: u64,
    threads: usize,
    replay: Option<u64>,
    until_fault: bool,
    worlds: Vec<World>,
    prints_log: bool,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1).collect()) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let ok = match options.replay {
        // Every world, also after a failure.
        Some(seed) => {
            let failed =
                options.worlds.iter().filter(|world| !replay(**world, seed, options.prints_log)).count();
            failed == 0
        }
        None if options.until_fault => run_until_fault(&options),
        None => run_seeds(&options),
    };
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(arguments: Vec<String>) -> Result<Options, String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options {
        seeds: 0,
        start: 0,
        threads,
        replay: None,
        until_fault: false,
        worlds: World::ALL.to_vec(),
        prints_log: false,
    };
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        if argument == "--world" {
            let name = arguments.next().ok_or("--world needs a name")?;
            options.worlds = vec![World::named(&name).ok_or_else(|| format!("unknown world `{name}`"))?];
            continue;
        }
        let mut number = || {
            let text = arguments.next().ok_or_else(|| format!("{argument} needs a number"))?;
            text.replace('_', "").parse::<u64>().map_err(|_| format!("`{text}` is not a number"))
        };
        match argument.as_str() {
            "--seeds" => options.seeds = number()?,
            "--start" => options.start = number()?,
            "--threads" => options.threads = usize::try_from(number()?).unwrap_or(1).max(1),
            "--seed" => options.replay = Some(number()?),
            "--until-fault" => options.until_fault = true,
            "--log" => options.prints_log = true,
            _ => return Err(format!("unknown argument `{argument}`")),
        }
    }
    if options.seeds == 0 {
        options.seeds = if options.until_fault { 5_000 } else { 10_000 };
    }
    Ok(options)
}

/// Runs one seed twice, to show whether the run is reproducible.
fn replay(world: World, seed: u64, prints_log: bool) -> bool {
    match (simulate(world, seed), simulate(world, seed)) {
        (Ok(first), Ok(second)) => {
            println!("seed {seed} of `{}`: no violation\n{first:#?}", world.name());
            if first != second {
                println!("but a second run differs:\n{second:#?}");
            }
            first == second
        }
        (Err(failure), _) | (_, Err(failure)) => {
            if prints_log {
                failure.log.iter().for_each(|line| println!("{line}"));
                println!("\n{failure}\n");
            }
            tell(&failure);
            false
        }
    }
}

/// Prints the shortest run that fails like this one, as a story.
fn tell(failure: &Failure) {
    let shortest = explain(failure);
    println!("{failure}\n");
    println!("The shortest run that fails in this way ({} disturbances left out):\n", shortest.left_out);
    shortest.story.iter().zip(1..).for_each(|(sentence, number)| println!("{number:>4}  {sentence}"));
    println!("\nThen: {}", shortest.violation);
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
                    for world in &options.worlds {
                        match simulate(*world, seed) {
                            Ok(report) => sum.add(&report),
                            Err(failure) => {
                                stop.store(true, Ordering::Relaxed);
                                total.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(failure);
                            }
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
        tell(&failure);
        println!(
            "\nreplay it with: cargo xtask simulate --world {} --seed {}",
            failure.world.name(),
            failure.seed
        );
        return false;
    }
    println!("seeds             {:>14}", options.seeds);
    println!("violations        {:>14}", 0);
    println!("processes         {:>14}", report.lives);
    println!("durable events    {:>14}", report.events);
    println!("store faults      {:>14}", report.faults);
    println!("model requests    {:>14}", report.requests);
    println!("tool executions   {:>14}", report.executions);
    println!("sub-agents        {:>14}", report.sub_agents);
    println!("commands          {:>14}", report.commands);
    println!("repeated commands {:>14}", report.retries);
    println!("forks             {:>14}", report.forks);
    println!("rewinds           {:>14}", report.rewinds);
    println!("connections       {:>14}", report.connections);
    println!("prefixes recovered{:>14}", report.prefixes);
    println!("virtual hours     {:>14.1}", report.virtual_ms as f64 / 3.6e6);
    println!("seconds           {seconds:>14.1}  ({:.0} seeds/s)", options.seeds as f64 / seconds);
    true
}

/// Runs seeds in order until one fails, and prints that one. A failed assertion in the code itself is a fault too.
fn run_until_fault(options: &Options) -> bool {
    // The fault is printed in one line, without a backtrace.
    std::panic::set_hook(Box::new(|_| {}));
    let fault = (options.start..options.start.saturating_add(options.seeds)).find_map(|seed| {
        let failure = options.worlds.iter().find_map(|world| simulate(*world, seed).err());
        failure.map(|failure| failure.to_string())
    });
    found_no_fault(fault.as_deref())
}
