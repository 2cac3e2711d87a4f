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
/// How much longer a run may take because of one fault.
const RECOVERY: Duration = Duration::from_secs(5);

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let kind = Kind::named(option(options, "--store").unwrap_or("sqlite"))?;
    let most = number(options, "--points", u64::MAX)?;
    if options.contains(&"--planted") {
        return planted(kind);
    }
    let started = Instant::now();
    let normal = {
        let (mut trial, _folder) = trial(kind)?;
        let begun = Instant::now();
        trial.finish()?;
        check_completed(&trial)?;
        begun.elapsed()
    };
    let (mut points, mut wrong, mut slowest) = (0_u64, Vec::new(), Duration::ZERO);
    for (call, errors) in FAULTS {
        for error in errors {
            let last = if call == "openat" { most.saturating_mul(4).min(OPENS) } else { most };
            let (mut at, mut noticed) = (1, 0);
            while at <= last {
                let (mut trial, _folder) = trial(kind)?;
                let inject = format!("inject={call}:error={error}:when={at}");
                let (trace, log) = (format!("trace={call}"), _folder.0.join("strace"));
                let log = log.to_string_lossy().into_owned();
                let strace = ["strace", "-f", "-qq", "-y", "-o", &log, "-e", &trace, "-e", &inject, "--"];
                let begun = Instant::now();
                let child = trial.start(&strace.map(str::to_owned))?;
                let done = trial.read_output(child)?;
                let took = begun.elapsed().saturating_sub(normal);
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                let Some(injected) = log.lines().find(|line| line.contains("(INJECTED)")) else { break };
                at += 1;
                // The program opens more than its store, such as its own libraries.
                if call == "openat" && !injected.contains(&trial.place) {
                    continue;
                }
                slowest = slowest.max(took);
                noticed += u64::from(trial.outages > 0);
                let fault = format!("{error} at {call} number {}", at - 1);
                // Events that are not durable must not seem to be.
                let is_journal = injected.contains(".jsonl>") || injected.contains("-wal>");
                if call == "fdatasync" && *error != "EINTR" && is_journal && done && trial.outages == 0 {
                    wrong.push(format!("{fault}: not visible as an outage"));
                }
                if took > normal * 20 + RECOVERY {
                    wrong.push(format!("{fault}: it took {:.1} s longer", took.as_secs_f64()));
                }
                // A fault while the store is being opened may end the program; the next process must succeed.
                let ended = if done { Ok(()) } else { trial.finish() };
                if let Err(what) = ended.and_then(|()| check_completed(&trial)) {
                    wrong.push(format!("{fault}: {what}"));
                }
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

/// Checks that a run that treats a failed write as successful is noticed.
fn planted(kind: Kind) -> Result<bool, String> {
    for at in 1.. {
        let (mut trial, folder) = trial(kind)?;
        trial.mistake = Some("ignores-failure".to_owned());
        let log = folder.0.join("strace").to_string_lossy().into_owned();
        let inject = format!("inject=pwrite64:error=EIO:when={at}");
        let strace = ["strace", "-f", "-qq", "-o", &log, "-e", "trace=pwrite64", "-e", &inject, "--"];
        let child = trial.start(&strace.map(str::to_owned))?;
        let ended = trial.read_output(child).and_then(|done| if done { Ok(()) } else { trial.finish() });
        if let Err(what) = ended.and_then(|()| check_completed(&trial)) {
            println!("ignores-failure: EIO at pwrite64 number {at}: {what}");
            return Ok(true);
        }
        if !std::fs::read_to_string(&log).unwrap_or_default().contains("(INJECTED)") {
            break;
        }
    }
    println!("ignores-failure: NOT NOTICED");
    Ok(false)
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
