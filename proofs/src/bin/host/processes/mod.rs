//! Ends programs that resist being killed, in every possible way, and checks that no process is left.
//!
//! Checks three guarantees: no process survives the end by two seconds, a run returns at most one second
//! after its time limit, and memory does not grow. [`program`] lists the programs; [`planted`] has the
//! supervisors with planted mistakes.

mod planted;
mod program;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lariat_core::cancel::CancellationToken;
use lariat_host::process::{Environment, Launch, LaunchHelper, Supervisor};
use lariat_test::SeededRandom;

use super::sandbox::carriers;
use super::{number, option, runtime, words_of};
use planted::PlantedMistake;
use program::{PROGRAMS, Program};

/// Runs in the full form.
const RUNS: u64 = 1_000;
/// Gigabytes that one program prints in the full form.
const GIGABYTES: u64 = 10;
/// After this time no process of the program may exist.
const AFTERWARDS: Duration = Duration::from_secs(2);
/// How much later than its time limit a run may return.
const LATE: Duration = Duration::from_secs(1);
/// Bytes by which the supervising process may grow over all runs.
const GROWTH: u64 = 16 * 1024 * 1024;
/// Runs before growth is measured: by then all one-time allocations are done.
const WARM: u64 = 20;
/// Environment variable that marks every process of a run.
const MARKER: &str = "LARIAT_RUN";

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The program itself exits; the processes it started do not.
    Itself,
    /// The timeout expires.
    Time,
    Cancel,
    /// The future of the run is dropped.
    Drop,
    /// The supervising process is killed.
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
    let report = runtime()?.block_on(run_all(runs, seed, None))?;
    report.wrong.iter().take(20).for_each(|line| println!("WRONG: {line}"));
    println!("runs   survivors  late  growth of memory");
    println!("{:>5} {:>10} {:>5} {:>9.1} MB", runs, report.survivors, report.late, report.grown as f64 / 1e6);
    let mut good = report.wrong.is_empty();
    if gigabytes > 0 {
        good &= runtime()?.block_on(print_much(gigabytes))?;
    }
    println!(
        "{} in {:.1} s, seed {seed}",
        if good { "all guarantees held" } else { "FAILED" },
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

/// Runs every program with every ending in turn, and looks two seconds after each end for processes that are
/// left.
async fn run_all(runs: u64, seed: u64, plant: Option<PlantedMistake>) -> Result<Report, String> {
    let mut random = SeededRandom::new(seed);
    let mut report = Report::default();
    let mut waiting: std::collections::VecDeque<(Instant, String, String)> = Default::default();
    let supervisors = [Supervisor::new(), with_helper_process().await?];
    // Supervisors with planted mistakes do not get programs that multiply.
    let programs: Vec<_> = PROGRAMS.iter().filter(|program| plant.is_none() || !program.multiplies).collect();
    let mut before = 0;
    for number in 0..runs {
        if number == WARM.min(runs / 2) {
            before = memory()?;
        }
        let program = programs.get(number as usize % programs.len()).ok_or("no programs")?;
        let endings: Vec<_> = ENDINGS.iter().filter(|ending| program.can(**ending)).collect();
        // Every round uses another ending, and not the same one for all programs of a round.
        let turn = number as usize / programs.len() + number as usize;
        let ending = **endings.get(turn % endings.len().max(1)).ok_or("no ending")?;
        // Between a program that has not begun and one that has done all its tricks.
        let after = Duration::from_millis(20 + random.below(180));
        let marker = format!("lariat-run-{}-{number}", std::process::id());
        let what =
            format!("run {number}: `{}`, ended by {ending:?} after {} ms", program.name, after.as_millis());
        let supervisor = random.pick(&supervisors).ok_or("no supervisor")?;
        let start = Instant::now();
        let result = match (ending, plant) {
            (Ending::Kill, _) => kill(program, &marker, after, plant).await,
            (_, Some(plant)) => planted::run(plant, program, ending, &marker, after),
            (_, None) => run_one(supervisor, program, ending, &marker, after).await,
        };
        if let Err(error) = result {
            report.wrong.push(format!("{what}: {error}"));
        }
        // Programs that exit by themselves choose the time; all others must end when the supervisor ends
        // them.
        if ending != Ending::Kill && start.elapsed() > after.max(program.own_time) + LATE {
            report.late += 1;
            report.wrong.push(format!("{what}: returned after {} ms", start.elapsed().as_millis()));
        }
        waiting.push_back((Instant::now() + AFTERWARDS, marker, what));
        while waiting.front().is_some_and(|(due, ..)| *due <= Instant::now()) {
            kill_survivors(waiting.pop_front(), &mut report);
        }
    }
    for over in waiting {
        tokio::time::sleep(over.0.saturating_duration_since(Instant::now())).await;
        kill_survivors(Some(over), &mut report);
    }
    report.grown = memory()?.saturating_sub(before);
    if report.grown > GROWTH {
        report.wrong.push(format!("memory grew by {} bytes", report.grown));
    }
    Ok(report)
}

/// Looks for processes left by a run that is over, and kills them.
fn kill_survivors(over: Option<(Instant, String, String)>, report: &mut Report) {
    let Some((_, marker, what)) = over else { return };
    let mut left = carriers(&marker);
    if left.is_empty() {
        return;
    }
    report.survivors += left.len();
    report.wrong.push(format!("{what}: {} processes are left", left.len()));
    // Repeat, because some of them keep forking.
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
    let environment = Environment::from_inherited(std::env::vars_os()).with(MARKER, marker);
    Launch::shell(program.text, std::env::temp_dir()).with_environment(environment)
}

async fn run_one(
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
            // Dropping the future must end the program, too.
            let _ = tokio::time::timeout(after, supervisor.run(launch, &cancel)).await;
            Ok(())
        }
        Ending::Kill => Ok(()),
    }
}

/// Lets another process supervise the program, and kills that process.
async fn kill(
    program: &Program,
    marker: &str,
    after: Duration,
    plant: Option<PlantedMistake>,
) -> Result<(), String> {
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

/// Supervises one program until this process is killed.
pub(crate) fn supervise(options: &[&str]) -> Result<bool, String> {
    let name = option(options, "--program").ok_or("missing option --program")?;
    let program = PROGRAMS.iter().find(|program| program.name == name).ok_or("unknown program")?;
    let marker = option(options, "--marker").ok_or("missing option --marker")?;
    let hour = Duration::from_secs(3600);
    if let Some(plant) = option(options, "--plant").and_then(PlantedMistake::named) {
        return planted::run(plant, program, Ending::Time, marker, hour).map(|()| true);
    }
    let launch = launch(program, marker).with_time(Some(hour));
    let running = async {
        // Choose randomly between a supervisor that starts programs itself and one that uses a helper
        // process.
        let supervisor = if std::process::id().is_multiple_of(2) {
            Supervisor::new()
        } else {
            with_helper_process().await?
        };
        supervisor.run(launch, &CancellationToken::new()).await.map(|_| true).map_err(words_of)
    };
    runtime()?.block_on(running)
}

/// A supervisor whose programs are started by a helper process, even the first one.
async fn with_helper_process() -> Result<Supervisor, String> {
    let supervisor = Supervisor::with_launch_helper(LaunchHelper::current_executable());
    let first = Launch::new("true", "/").with_environment(Environment::from_inherited(std::env::vars_os()));
    supervisor.run(first, &CancellationToken::new()).await.map(|_| supervisor).map_err(words_of)
}

/// Runs a program that prints a great deal: the supervisor must read all of it and keep little.
async fn print_much(gigabytes: u64) -> Result<bool, String> {
    let before = memory()?;
    let command = format!("head -c {gigabytes}G /dev/zero");
    let environment = Environment::from_inherited(std::env::vars_os());
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

/// Resident memory of this process in bytes.
fn memory() -> Result<u64, String> {
    let text = std::fs::read_to_string("/proc/self/status").map_err(words_of)?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let number = line.trim().trim_end_matches(" kB").trim();
    number.parse::<u64>().map(|kilobytes| kilobytes * 1024).map_err(words_of)
}
