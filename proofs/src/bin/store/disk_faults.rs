//! Makes the writes and syncs of a run fail, one after another: the disk is full, broken or interrupted.
//!
//! A run must notice within the same turn, acknowledge nothing after a failed sync, and continue within
//! seconds after the disk recovers, without loss. Also tests a full disk that is freed again, files that may not grow (so that
//! writes are short), and files that cannot be opened.

use std::process::Command;
use std::time::{Duration, Instant};

use super::check::Trial;
use super::crash::check_completed;
use super::open::{Kind, TempDirectory};
use super::{number, option};

/// System calls with the errors they fail with.
const FAULTS: [(&str, &[&str]); 5] = [
    ("pwrite64", &["ENOSPC", "EIO", "EINTR"]),
    ("fdatasync", &["ENOSPC", "EIO", "EINTR"]),
    ("fsync", &["ENOSPC", "EIO", "EINTR"]),
    ("ftruncate", &["ENOSPC", "EIO", "EINTR"]),
    ("openat", &["EACCES", "EMFILE"]),
];
/// Most calls of `openat` that fail: later ones are repetitions.
const OPENS: u64 = 80;
/// Sizes in bytes that no file may exceed: inside the first records, at pages, and far into a run.
const LARGEST_FILES: [u64; 10] = [1, 100, 512, 700, 4_096, 5_000, 12_288, 33_000, 70_000, 140_001];
/// Planted mistakes, and the system call that fails.
const MISTAKES: [(&str, &str); 3] =
    [("ignores-failure", "pwrite64"), ("hides-outages", "fdatasync"), ("recovers-late", "fdatasync")];
/// How much longer a run may take because of one fault.
const RECOVERY: Duration = Duration::from_secs(5);

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let kind = Kind::named(option(options, "--store").unwrap_or("sqlite"))?;
    let most = number(options, "--points", u64::MAX)?;
    if options.contains(&"--planted") {
        return planted(kind);
    }
    let started = Instant::now();
    let normal = duration_without_faults(kind)?;
    let (mut points, mut wrong, mut slowest) = (0_u64, Vec::new(), Duration::ZERO);
    for (call, errors) in FAULTS {
        for error in errors {
            let last = if call == "openat" { most.saturating_mul(4).min(OPENS) } else { most };
            let (mut at, mut noticed) = (1, 0);
            while at <= last {
                let Some(fault) = Fault { call, error, at }.inject(kind, normal, None)? else { break };
                at += 1;
                if !fault.is_of_store {
                    continue;
                }
                slowest = slowest.max(fault.delay);
                noticed += u64::from(fault.outages > 0);
                wrong.extend(fault.wrong);
                points += 1;
            }
            if at > 1 {
                println!("{:>6} times {error} at {call}, {noticed} times visible as an outage", at - 1);
            }
        }
    }
    for bytes in LARGEST_FILES.iter().take(usize::try_from(most).unwrap_or(usize::MAX)) {
        points += 1;
        if let Err(what) = short_writes(kind, *bytes) {
            wrong.push(format!("no file above {bytes} bytes: {what}"));
        }
    }
    if let Err(what) = full_disk(kind) {
        wrong.push(format!("a full disk: {what}"));
    }
    wrong.iter().take(20).for_each(|line| println!("WRONG: {line}"));
    println!(
        "{points} faults, {} wrong, slowest {:.2} s longer than without, {:.1} s",
        wrong.len(),
        slowest.as_secs_f64(),
        started.elapsed().as_secs_f64()
    );
    Ok(wrong.is_empty())
}

/// Checks that every mistake is noticed at some fault.
fn planted(kind: Kind) -> Result<bool, String> {
    let normal = duration_without_faults(kind)?;
    let mut caught = 0;
    for (mistake, call) in MISTAKES {
        let mut found = None;
        for at in 1.. {
            let Some(fault) = Fault { call, error: "EIO", at }.inject(kind, normal, Some(mistake))? else {
                break;
            };
            found = fault.wrong.into_iter().next();
            if found.is_some() {
                break;
            }
        }
        caught += usize::from(found.is_some());
        println!("{mistake}: {}", found.as_deref().unwrap_or("NOT NOTICED"));
    }
    println!("{caught} of {} planted mistakes caught", MISTAKES.len());
    Ok(caught == MISTAKES.len())
}

/// How long a run takes.
fn duration_without_faults(kind: Kind) -> Result<Duration, String> {
    let (mut trial, _folder) = trial(kind)?;
    let begun = Instant::now();
    trial.finish()?;
    check_completed(&trial)?;
    Ok(begun.elapsed())
}

/// One call of a system call, and the error that it returns.
struct Fault {
    call: &'static str,
    error: &'static str,
    at: u64,
}

/// What one fault did.
struct FaultResult {
    outages: usize,
    /// How much longer the run took.
    delay: Duration,
    wrong: Vec<String>,
    /// Whether the call concerned the store. The program opens more, such as its own libraries.
    is_of_store: bool,
}

impl Fault {
    /// Runs with the fault. Returns nothing if there are not so many calls.
    fn inject(
        &self,
        kind: Kind,
        normal: Duration,
        mistake: Option<&str>,
    ) -> Result<Option<FaultResult>, String> {
        let Self { call, error, at } = self;
        let (mut trial, folder) = trial(kind)?;
        trial.mistake = mistake.map(str::to_owned);
        let inject = format!("inject={call}:error={error}:when={at}");
        let (trace, log) = (format!("trace={call},write"), folder.0.join("strace"));
        let log = log.to_string_lossy().into_owned();
        let strace = ["strace", "-f", "-qq", "-y", "-o", &log, "-e", &trace, "-e", &inject, "--"];
        let begun = Instant::now();
        let child = trial.start(&strace.map(str::to_owned))?;
        let ended = trial.read_output(child);
        let delay = begun.elapsed().saturating_sub(normal);
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        let Some(injected) = log.lines().find(|line| line.contains("(INJECTED)")) else { return Ok(None) };
        let mut result = FaultResult { outages: trial.outages, delay, wrong: Vec::new(), is_of_store: true };
        if *call == "openat" && !injected.contains(&trial.place) {
            result.is_of_store = false;
            return Ok(Some(result));
        }
        let name = format!("{error} at {call} number {at}");
        let done = match ended {
            Ok(done) => done,
            Err(what) => {
                result.wrong.push(format!("{name}: {what}"));
                return Ok(Some(result));
            }
        };
        // Events that are not durable must not seem to be. A run does not need snapshots, and it has ended before its
        // process closes the store.
        let is_journal = injected.contains(".jsonl>") || injected.contains("-wal>");
        let after_end = log.find("\"done").is_some_and(|end| log.find(injected).is_some_and(|at| end < at));
        let is_visible = trial.outages > 0 || trial.unsaved > 0 || after_end;
        if *call == "fdatasync" && *error != "EINTR" && is_journal && done && !is_visible {
            result.wrong.push(format!("{name}: not visible as an outage"));
        }
        if delay > normal * 20 + RECOVERY {
            result.wrong.push(format!("{name}: it took {:.1} s longer", delay.as_secs_f64()));
        }
        // A fault while the store is being opened may end the program; the next process must succeed.
        let ended = if done { Ok(()) } else { trial.finish() };
        if let Err(what) = ended.and_then(|()| check_completed(&trial)) {
            result.wrong.push(format!("{name}: {what}"));
        }
        Ok(Some(result))
    }
}

fn trial(kind: Kind) -> Result<(Trial, TempDirectory), String> {
    let folder = TempDirectory::new()?;
    let store = folder.0.join("store");
    std::fs::create_dir_all(&store).map_err(|error| error.to_string())?;
    let place = store.to_string_lossy().into_owned();
    Ok((Trial::new(kind, place, "s".to_owned(), &folder.0), folder))
}

/// Runs while no file may exceed a size: a write beyond it is short, and the next one fails. After a second, the limit is lifted.
fn short_writes(kind: Kind, bytes: u64) -> Result<(), String> {
    let (mut trial, _folder) = trial(kind)?;
    let limit = format!("--fsize={bytes}:unlimited");
    let wrapper = ["env", "--ignore-signal=XFSZ", "prlimit", &limit, "--"].map(str::to_owned);
    let child = trial.start(&wrapper)?;
    let pid = child.id().to_string();
    let lifted = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(1));
        Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).output().map(drop)
    });
    let done = trial.read_output(child);
    let _ = lifted.join();
    if !done? {
        trial.finish()?;
    }
    check_completed(&trial)
}

/// Runs on a small file system that becomes full during the run and is freed after two seconds.
fn full_disk(kind: Kind) -> Result<(), String> {
    let (mut trial, folder) = trial(kind)?;
    let store = folder.0.join("store");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=6m", "tmpfs"]).arg(&store).status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("       skipped the full disk: no permission to mount a file system");
        return Ok(());
    }
    let outcome = (|| {
        let ballast = store.join("ballast");
        trial.slow = true;
        let child = trial.start(&[])?;
        // The store exists; now fill the rest of the file system.
        std::thread::sleep(Duration::from_millis(400));
        let _ = std::fs::write(&ballast, vec![1; 6 * 1024 * 1024]);
        std::thread::sleep(Duration::from_secs(2));
        std::fs::remove_file(&ballast).map_err(|error| error.to_string())?;
        let freed = Instant::now();
        let done = trial.read_output(child)?;
        let after = freed.elapsed();
        if trial.outages == 0 {
            return Err("the run did not notice the full disk".to_owned());
        }
        if !done {
            trial.finish()?;
        }
        if after > RECOVERY {
            return Err(format!("it continued only {:.1} s after the disk was freed", after.as_secs_f64()));
        }
        println!(
            "       a full disk, freed: {} outages, continued after {} ms",
            trial.outages,
            after.as_millis()
        );
        check_completed(&trial)
    })();
    let _ = Command::new("umount").arg(&store).status();
    outcome
}
