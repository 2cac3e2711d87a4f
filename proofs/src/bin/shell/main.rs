//! Proves that a shell command runs nothing that the shell analysis did not list. Called by `cargo xtask
//! shell-diff`.
//!
//! Generated commands (`grammar`), real bypasses and everyday commands (`corpus`) run under real bash in a
//! jail (`jail`, `inside`), traced (`trace`); `oracle` compares what ran with what was listed. Under the name
//! of any other program this binary is a stub that does nothing.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool looks at the world from outside: files, processes and the wall clock"
)]

mod approval_rate;
mod corpus;
mod grammar;
mod jail;
mod jail_programs;
mod options;
mod oracle;
mod speed;
mod trace;
mod vocabulary;

use std::process::ExitCode;
use std::time::Instant;

use lariat_guard::shell::{Command, analyse};
use lariat_proofs::proof::{ended, found_no_fault, number, option};
use lariat_test::SeededRandom;

use oracle::Verdict;

const USAGE: &str = "\
usage: shell [--count N] [--seed N]   test N generated commands, the bypasses and the everyday commands [default: 100000]
       shell --seed N --count 1       test one of them again
       shell --only PART [--count N]  test one part: lists, options or generated
       shell --until-fault            test the bypasses and a few generated commands
       shell --show SEED              print the command of a seed
       shell --explain TEXT           print the analysis of a command";

/// Commands of a full run.
const COMMANDS: u64 = 100_000;
/// Commands per traced jail.
const BATCH: usize = 250;
/// Number of parallel jails.
const LANES: usize = 2;
/// One in this many generated commands tests the options of programs.
const OPTIONS: usize = 20;
/// Percentage of generated commands that the analysis should be certain of.
const SURE: u8 = 75;
/// Generated commands of a run until the first fault.
const FEW: u64 = 400;
/// How often a command is generated again.
const ATTEMPTS: usize = 60;
/// Maximum percentage of everyday commands that the analysis is uncertain of.
const NEEDLESS: f64 = 5.0;

/// Generates the command with this number, and its label.
type Make<'a> = dyn Fn(usize) -> (String, String) + Sync + 'a;

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().collect();
    let name =
        words.first().map(|name| name.rsplit('/').next().unwrap_or(name).to_owned()).unwrap_or_default();
    if name != "shell" {
        return jail_programs::stub(&name, words.get(1..).unwrap_or_default());
    }
    words.remove(0);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = match words.as_slice() {
        ["--inside", batch] => jail_programs::run(batch),
        ["--until-fault"] => run_until_fault(),
        ["--show", seed] => number(&["--seed", seed], "--seed", 1).map(|seed| {
            println!("{}", generated(seed).1);
            true
        }),
        ["--explain", text] => {
            println!("{:#?}", analyse(text));
            Ok(true)
        }
        options => prove(options),
    };
    ended(ran, USAGE)
}

fn prove(options: &[&str]) -> Result<bool, String> {
    let count = number(options, "--count", COMMANDS)?;
    let seed = number(options, "--seed", 1)?;
    let bypasses = corpus::bypasses()?;
    let everyday = corpus::everyday()?;
    let only = option(options, "--only");
    let wants = |part: &str| only.is_none_or(|only| only == part);
    let is_run = option(options, "--seed").is_none() || count > 1;
    let mut good = true;
    if is_run && wants("lists") {
        let texts: Vec<(String, String)> =
            bypasses.iter().map(|bypass| (bypass.label(), bypass.text.clone())).collect();
        good &= compare("bypasses", texts.len(), &listed(&texts))?.print_figures();
        good &= corpus::print_figures(&bypasses);
        let texts: Vec<(String, String)> =
            everyday.iter().map(|text| ("everyday".to_owned(), text.clone())).collect();
        let report = compare("everyday", texts.len(), &listed(&texts))?;
        good &= report.print_figures();
        good &= report.doubted_percent() <= NEEDLESS;
        println!("everyday: {:.1} % are uncertain (at most {NEEDLESS} %)", report.doubted_percent());
        good &= approval_rate::print_figures(&everyday, NEEDLESS);
        good &= speed::print_figures(&everyday);
    }
    let count = usize::try_from(count).map_err(|error| error.to_string())?;
    if is_run && wants("options") {
        good &= options::print_figures(count.div_ceil(OPTIONS).max(BATCH), seed)?;
    }
    if wants("generated") {
        good &= compare("generated", count, &|index| generated(seed + index as u64))?.print_figures();
    }
    println!("{}", if good { "every program that ran was listed" } else { "FAILED" });
    Ok(good)
}

/// The commands of a list.
fn listed(texts: &[(String, String)]) -> impl Fn(usize) -> (String, String) + Sync {
    |index| texts.get(index).cloned().unwrap_or_default()
}

/// Generates the command of a seed. An uncertain command proves little, so most are generated again until the
/// analysis is certain.
fn generated(seed: u64) -> (String, String) {
    let mut random = SeededRandom::new(seed);
    let must_be_sure = random.chance(SURE);
    let mut text = grammar::command(&mut random);
    for _ in 0..ATTEMPTS {
        let script = analyse(&text);
        let is_sure = script.doubts.is_empty() && !script.commands.iter().any(Command::runs_its_arguments);
        if is_sure || !must_be_sure {
            break;
        }
        text = grammar::command(&mut random);
    }
    (format!("seed {seed}"), text)
}

/// Results of many commands.
struct Report {
    name: &'static str,
    verdicts: Vec<Verdict>,
    faults: Vec<String>,
    seconds: f64,
}

/// Verdicts and faults of the jails of one thread.
type Lane = Result<(Vec<Verdict>, Vec<String>), String>;

/// Runs commands and compares what ran with what was listed.
fn compare(name: &'static str, count: usize, make: &Make<'_>) -> Result<Report, String> {
    let start = Instant::now();
    let jail = jail::Jail::make(&[])?;
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || -> Lane {
        let mut done = (Vec::new(), Vec::new());
        loop {
            let start = next.fetch_add(BATCH, std::sync::atomic::Ordering::Relaxed);
            if start >= count {
                break;
            }
            let batch: Vec<(String, String)> = (start..count.min(start + BATCH)).map(make).collect();
            let seen = jail.run(batch.iter().map(|(_, text)| text.as_str()))?;
            for ((label, text), seen) in batch.iter().zip(&seen) {
                let verdict = oracle::judge(&analyse(text), seen);
                done.1.extend(verdict.faults.iter().map(|fault| format!("{label}: {fault}\n    {text:?}")));
                done.0.push(verdict);
            }
        }
        Ok(done)
    };
    let lanes: Vec<Lane> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(work)).collect();
        lanes
            .into_iter()
            .map(|lane| lane.join().unwrap_or_else(|_| Err("a lane panicked".to_owned())))
            .collect()
    });
    let mut report = Report { name, verdicts: Vec::new(), faults: Vec::new(), seconds: 0.0 };
    for lane in lanes {
        let (verdicts, faults) = lane?;
        report.verdicts.extend(verdicts);
        report.faults.extend(faults);
    }
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

impl Report {
    fn doubted_percent(&self) -> f64 {
        let doubted = self.verdicts.iter().filter(|verdict| verdict.is_doubted).count();
        100.0 * doubted as f64 / self.verdicts.len().max(1) as f64
    }

    /// Prints the figures. Returns whether there were no faults.
    fn print_figures(&self) -> bool {
        let sum = |of: fn(&Verdict) -> usize| self.verdicts.iter().map(of).sum::<usize>();
        let count = |of: fn(&Verdict) -> bool| self.verdicts.iter().filter(|verdict| of(verdict)).count();
        println!(
            "{}: {} commands, {:.1} % uncertain, {} left to rules because they run their arguments; {} programs started and {} files written by a shell, \
             {} of them judged by name; {} ran nothing, {} were stopped; {} executed-but-not-judged; {:.1} s ({:.0} a second)",
            self.name,
            self.verdicts.len(),
            self.doubted_percent(),
            count(|verdict| verdict.is_runner),
            sum(|verdict| verdict.started),
            sum(|verdict| verdict.written),
            sum(|verdict| verdict.judged),
            count(|verdict| verdict.started + verdict.written == 0),
            count(|verdict| verdict.is_stopped),
            self.faults.len(),
            self.seconds,
            self.verdicts.len() as f64 / self.seconds.max(0.001),
        );
        let million = 1e6 * self.seconds / self.verdicts.len().max(1) as f64 / 3600.0;
        if self.name == "generated" {
            println!("  at this rate 1,000,000 commands take {million:.1} hours");
        }
        for fault in self.faults.iter().take(20) {
            println!("  {fault}");
        }
        if self.faults.len() > 20 {
            println!("  … and {} more", self.faults.len() - 20);
        }
        self.faults.is_empty()
    }
}

/// Runs the bypasses and some generated commands, and prints the first that ran something that was not listed.
fn run_until_fault() -> Result<bool, String> {
    let bypasses = corpus::bypasses()?;
    let bypasses = bypasses.iter().map(|bypass| (bypass.label(), bypass.text.clone()));
    let texts: Vec<(String, String)> = bypasses.chain((1..=FEW).map(generated)).collect();
    let faults = compare("until-fault", texts.len(), &listed(&texts))?.faults;
    let line = |fault: &String| format!("{} commands, first: {fault}", faults.len());
    Ok(found_no_fault(faults.first().map(line).as_deref()))
}
