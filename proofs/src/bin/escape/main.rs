//! Proves that no path leads out of a workspace. Called by `cargo xtask escape`.
//!
//! Four parts: hostile paths through every tool for files and searches (`hostile`), legitimate paths that no tool may
//! refuse (`legitimate`), and a thread that swaps directories for links (`swaps`) during file operations (`race`) and
//! during tool calls that read, list, search and map (`race_of_tools`).
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments and the clock, and looks at files from outside"
)]

mod calls;
mod fixture;
mod hostile;
mod legitimate;
mod race;
mod race_of_tools;
mod swaps;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use fixture::Fixture;
use lariat_proofs::proof::{ended, found_no_fault};

const USAGE: &str = "\
usage: escape [--operations N]   test hostile paths, legitimate paths, and N operations during a race [default: 1000000]
                                 and a tenth as many tool calls during another
       escape --until-fault      test hostile paths, then short races, until something is wrong";

/// Operations of a full race.
const OPERATIONS: u64 = 1_000_000;
/// File operations of a race for each tool call of the other.
const OPERATIONS_PER_CALL: u64 = 10;
/// Operations of a race, and tool calls of the other, that show every planted mistake.
const SHORT_RACE: u64 = 200_000;
const SHORT_RACE_OF_TOOLS: u64 = 20_000;
/// Faults of a part that are printed.
const SHOWN: usize = 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = match words.as_slice() {
        [] => prove(OPERATIONS),
        ["--operations", number] => match number.replace('_', "").parse() {
            Ok(operations) => prove(operations),
            Err(_) => Err(format!("`{number}` is not a number")),
        },
        ["--until-fault"] => run_until_fault(),
        _ => Err("what?".to_owned()),
    };
    ended(ran, USAGE)
}

/// Faults that one part found, and one line that sums up what it did.
struct Report {
    faults: Vec<String>,
    line: String,
}

fn prove(operations: u64) -> Result<bool, String> {
    let mut good = true;
    for part in [hostile::run, legitimate::run] {
        good &= print_report(part()?);
    }
    good &= print_report(race::run(operations)?);
    good &= print_report(race_of_tools::run(operations / OPERATIONS_PER_CALL)?);
    println!("{}", if good { "no path leads out" } else { "FAILED" });
    Ok(good)
}

fn print_report(report: Report) -> bool {
    println!("{}", report.line);
    for fault in report.faults.iter().take(SHOWN) {
        println!("  {fault}");
    }
    if report.faults.len() > SHOWN {
        println!("  … and {} more", report.faults.len() - SHOWN);
    }
    report.faults.is_empty()
}

/// Tries the hostile paths, then short races, until something is wrong.
fn run_until_fault() -> Result<bool, String> {
    let mut fault = hostile::run()?.faults.first().map(|fault| format!("the paths: {fault}"));
    if fault.is_none() {
        fault = race::run(SHORT_RACE)?.faults.first().map(|fault| format!("the race: {fault}"));
    }
    if fault.is_none() {
        let report = race_of_tools::run(SHORT_RACE_OF_TOOLS)?;
        fault = report.faults.first().map(|fault| format!("the race of tools: {fault}"));
    }
    Ok(found_no_fault(fault.as_deref()))
}

/// A tool call that takes longer than this hangs; the process then exits.
const HANG: Duration = Duration::from_secs(10);

/// Detects tool calls that hang.
struct Watchdog {
    now: std::sync::Arc<std::sync::Mutex<Option<(Instant, String)>>>,
}

impl Watchdog {
    fn new() -> Self {
        let now = std::sync::Arc::new(std::sync::Mutex::new(None::<(Instant, String)>));
        let seen = std::sync::Arc::downgrade(&now);
        std::thread::spawn(move || {
            while let Some(now) = seen.upgrade() {
                if let Ok(guard) = now.lock()
                    && let Some((since, what)) = guard.as_ref()
                    && since.elapsed() > HANG
                {
                    println!("FAILED: hangs: {what}");
                    std::process::exit(1);
                }
                drop(now);
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Self { now }
    }

    fn watch<T>(&self, what: impl FnOnce() -> String, work: impl FnOnce() -> T) -> T {
        self.set(Some((Instant::now(), what())));
        let done = work();
        self.set(None);
        done
    }

    fn set(&self, value: Option<(Instant, String)>) {
        if let Ok(mut now) = self.now.lock() {
            *now = value;
        }
    }
}
