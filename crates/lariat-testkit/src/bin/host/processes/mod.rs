//! Programs that do not want to end, ended in every way: nothing of them may be left.
//!
//! Owns the walk over programs and ends, and the three promises: no survivor two seconds after the end, an end within
//! the time and a second, and memory that does not grow. [`program`] is what is run; [`planted`] is who runs it badly.

mod planted;
mod program;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lariat_core::cancel::CancellationToken;
use lariat_host::process::{Environment, Keeper, Launch, Supervisor};
use lariat_testkit::Seeded;

use super::sandbox::carriers;
use super::{number, option, runtime, words_of};
use planted::Plant;
use program::{PROGRAMS, Program};

/// Runs of the full form.
const RUNS: u64 = 1_000;
/// What one program prints in the full form.
const GIGABYTES: u64 = 10;
/// After this long nothing of a program may be there.
const AFTERWARDS: Duration = Duration::from_secs(2);
/// How much later than its time a run may return.
const LATE: Duration = Duration::from_secs(1);
/// Bytes by which the supervising process may grow over all runs.
const GROWTH: u64 = 16 * 1024 * 1024;
/// Runs before growth counts: what is needed once is there by then.
const WARM: u64 = 20;
/// The variable that every process of a run has.
const MARKER: &str = "LARIAT_RUN";

/// How a run is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Its own program ends; what that started does not.
    Itself,
    /// Its time is over.
    Time,
    Cancel,
    /// Nobody awaits it any more.
    Drop,
    /// The process that supervises it is killed.
    Kill,
}

const ENDINGS: [Ending; 5] = [Ending::Itself, Ending::Time, Ending::Cancel, Ending::Drop, Ending::Kill];

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let seed = number(options, "--seed", 1)?;
    if options.contains(&"--planted") {
        return planted::all(seed);
    }
    let runs = number(options, "--runs", RUNS)?;
    let gigabytes = number(options, "--gigabytes", if runs >= RUNS { GIGABYTES } else { 0 })?;
    let started = Instant::now();
    let report = runtime()?.block_on(walk(runs, seed, None))?;
    report.wrong.iter().take(20).for_each(|line| println!("WRONG: {line}"));
    println!("runs   survivors  late  growth of memory");
    println!("{:>5} {:>10} {:>5} {:>9.1} MB", runs, report.survivors, report.late, report.grown as f64 / 1e6);
    let mut good = report.wrong.is_empty();
    if gigabytes > 0 {
        good &= runtime()?.block_on(print_much(gigabytes))?;
    }
    println!(
        "{} in {:.1} s, seed {seed}",
        if good { "held" } else { "NOT held" },
        started.elapsed().as_secs_f64()
    );
    Ok(good)
}

#[derive(Default)]
struct Report {
    wrong: Vec<String>,
    survivors: usize,
    late: usize,
    grown: u64,
}

/// Runs every program with every ending in turn; those that are over are looked for two seconds later.
async fn walk(runs: u64, seed: u64, plant: Option<Plant>) -> Result<Report, String> {
    let mut random = Seeded::new(seed);
    let mut report = Report::default();
    let mut waiting: std::collections::VecDeque<(Instant, String, String)> = Default::default();
    let supervisors = [Supervisor::new(), kept().await?];
    // Who ends programs badly gets none that makes more of itself.
    let programs: Vec<_> = PROGRAMS.iter().filter(|program| plant.is_none() || !program.multiplies).collect();
    let mut before = 0;
    for number in 0..runs {
        if number == WARM.min(runs / 2) {
            before = memory()?;
        }
        let program = programs.get(number as usize % programs.len()).ok_or("no programs")?;
        let endings: Vec<_> = ENDINGS.iter().filter(|ending| program.can(**ending)).collect();
        // Another ending in every round, and not the same for all programs of a round.
        let turn = number as usize / programs.len() + number as usize;
        let ending = **endings.get(turn % endings.len().max(1)).ok_or("no ending")?;
        // Between a program that has not begun and one that did all of its tricks.
        let after = Duration::from_millis(20 + random.below(180));
        let marker = format!("lariat-run-{}-{number}", std::process::id());
        let what =
            format!("run {number}: `{}`, ended by {ending:?} after {} ms", program.name, after.as_millis());
        let supervisor = random.pick(&supervisors).ok_or("no supervisor")?;
        let start = Instant::now();
        let result = match (ending, plant) {
            (Ending::Kill, _) => kill(program, &marker, after, plant).await,
            (_, Some(plant)) => planted::run(plant, program, ending, &marker, after),
            (_, None) => one(supervisor, program, ending, &marker, after).await,
        };
        if let Err(error) = result {
            report.wrong.push(format!("{what}: {error}"));
        }
        // A program that ends by itself ends when it likes; all others when they are told.
        if ending != Ending::Kill && start.elapsed() > after.max(program.own_time) + LATE {
            report.late += 1;
            report.wrong.push(format!("{what}: returned after {} ms", start.elapsed().as_millis()));
        }
        waiting.push_back((Instant::now() + AFTERWARDS, marker, what));
        while waiting.front().is_some_and(|(due, ..)| *due <= Instant::now()) {
            look(waiting.pop_front(), &mut report);
        }
    }
    for over in waiting {
        tokio::time::sleep(over.0.saturating_duration_since(Instant::now())).await;
        look(Some(over), &mut report);
    }
    report.grown = memory()?.saturating_sub(before);
    if report.grown > GROWTH {
        report.wrong.push(format!("memory grew by {} bytes", report.grown));
    }
    Ok(report)
}

/// Looks for what is left of a run that is over, and ends it.
fn look(over: Option<(Instant, String, String)>, report: &mut Report) {
    let Some((_, marker, what)) = over else { return };
    let mut left = carriers(&marker);
    if left.is_empty() {
        return;
    }
    report.survivors += left.len();
    report.wrong.push(format!("{what}: {} processes are left", left.len()));
    // Some of them make more of themselves.
    while !left.is_empty() {
        for pid in &left {
            if let Some(pid) = rustix::process::Pid::from_raw(*pid as i32) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        left = carriers(&marker);
    }
}

fn launch(program: &Program, marker: &str) -> Launch {
    let environment = Environment::inherited(std::env::vars_os()).with(MARKER, marker);
    Launch::shell(program.text, std::env::temp_dir()).with_environment(environment)
}

async fn one(
    supervisor: &Supervisor,
    program: &Program,
    ending: Ending,
    marker: &str,
    after: Duration,
) -> Result<(), String> {
    let launch = launch(program, marker);
    let cancel = CancellationToken::new();
    match ending {
        Ending::Itself => {
            let launch = launch.with_time(Some(Duration::from_secs(20)));
            supervisor.run(launch, &cancel).await.map(drop).map_err(words_of)
        }
        Ending::Time => {
            supervisor.run(launch.with_time(Some(after)), &cancel).await.map(drop).map_err(words_of)
        }
        Ending::Cancel => {
            let running = supervisor.run(launch, &cancel);
            let cancelling = async {
                tokio::time::sleep(after).await;
                cancel.cancel();
            };
            let (finished, ()) = futures_util::future::join(running, cancelling).await;
            finished.map(drop).map_err(words_of)
        }
        Ending::Drop => {
            // Nobody waits for the end: it must come nevertheless.
            let _ = tokio::time::timeout(after, supervisor.run(launch, &cancel)).await;
            Ok(())
        }
        Ending::Kill => Ok(()),
    }
}

/// Has a process of its own supervise the program, and kills that.
async fn kill(program: &Program, marker: &str, after: Duration, plant: Option<Plant>) -> Result<(), String> {
    let own = std::env::current_exe().map_err(words_of)?;
    let mut command = Command::new(own);
    command.args(["supervise", "--program", program.name, "--marker", marker]);
    plant.into_iter().for_each(|plant| {
        command.args(["--plant", plant.name()]);
    });
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().map_err(words_of)?;
    tokio::time::sleep(after + Duration::from_millis(60)).await;
    child.kill().map_err(words_of)?;
    child.wait().map(drop).map_err(words_of)
}

/// Supervises one program, until this process is killed.
pub(crate) fn supervise(options: &[&str]) -> Result<bool, String> {
    let name = option(options, "--program").ok_or("which program?")?;
    let program = PROGRAMS.iter().find(|program| program.name == name).ok_or("there is no such program")?;
    let marker = option(options, "--marker").ok_or("which marker?")?;
    let hour = Duration::from_secs(3600);
    if let Some(plant) = option(options, "--plant").and_then(Plant::named) {
        return planted::run(plant, program, Ending::Time, marker, hour).map(|()| true);
    }
    let launch = launch(program, marker).with_time(Some(hour));
    let running = async {
        // By chance one that starts programs itself, or one that has them started.
        let supervisor =
            if std::process::id().is_multiple_of(2) { Supervisor::new() } else { kept().await? };
        supervisor.run(launch, &CancellationToken::new()).await.map(|_| true).map_err(words_of)
    };
    runtime()?.block_on(running)
}

/// One whose programs a keeper starts. The first would not need it.
async fn kept() -> Result<Supervisor, String> {
    let supervisor = Supervisor::with_keeper(Keeper::own());
    let first = Launch::new("true", "/").with_environment(Environment::inherited(std::env::vars_os()));
    supervisor.run(first, &CancellationToken::new()).await.map(|_| supervisor).map_err(words_of)
}

/// One program that prints a great deal: all of it is read, little of it is kept.
async fn print_much(gigabytes: u64) -> Result<bool, String> {
    let before = memory()?;
    let command = format!("head -c {gigabytes}G /dev/zero");
    let environment = Environment::inherited(std::env::vars_os());
    let launch = Launch::shell(command, std::env::temp_dir())
        .with_environment(environment)
        .with_time(Some(Duration::from_secs(600)));
    let start = Instant::now();
    let running = Supervisor::new();
    let finished = running.run(launch, &CancellationToken::new()).await.map_err(words_of)?;
    let grown = memory()?.saturating_sub(before);
    println!(
        "{:.1} GB printed and read in {:.1} s, memory grew by {:.1} MB",
        finished.output.total as f64 / 1e9,
        start.elapsed().as_secs_f64(),
        grown as f64 / 1e6
    );
    Ok(finished.output.total == gigabytes << 30 && grown <= GROWTH)
}

/// Bytes of memory that this process has.
fn memory() -> Result<u64, String> {
    let text = std::fs::read_to_string("/proc/self/status").map_err(words_of)?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let number = line.trim().trim_end_matches(" kB").trim();
    number.parse::<u64>().map(|kilobytes| kilobytes * 1024).map_err(words_of)
}
