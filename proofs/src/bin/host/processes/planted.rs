//! Supervisors with a planted mistake each; the proof must notice the processes they leave behind.
//!
//! Each mistake is a common way to run a command.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::super::words_of;
use super::program::Program;
use super::{Ending, MARKER, run_all, runtime};

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlantedMistake {
    /// Kills only the process group, so processes that left the group survive.
    GroupOnly,
    /// Kills the whole tree, but not when the supervisor itself is killed.
    NoLifeline,
    /// Sends only SIGTERM and waits for a while.
    TermOnly,
}

const PLANTS: [PlantedMistake; 3] =
    [PlantedMistake::GroupOnly, PlantedMistake::NoLifeline, PlantedMistake::TermOnly];
/// Runs per mistake.
const RUNS: u64 = 60;

impl PlantedMistake {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::GroupOnly => "no-subreaper",
            Self::NoLifeline => "no-lifeline",
            Self::TermOnly => "term-only",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        PLANTS.into_iter().find(|plant| plant.name() == name)
    }
}

/// Checks that each mistake is noticed.
pub(super) fn all(seed: u64) -> Result<bool, String> {
    let mut good = true;
    for plant in PLANTS {
        let report = runtime()?.block_on(run_all(RUNS, seed, Some(plant)))?;
        let noticed = report.survivors > 0;
        good &= noticed;
        let word = if noticed { "noticed" } else { "NOT NOTICED" };
        println!("{:14} {word}: {} processes were left by {RUNS} runs", plant.name(), report.survivors);
    }
    Ok(good)
}

/// Runs a program with this mistake.
pub(super) fn run(
    plant: PlantedMistake,
    program: &Program,
    ending: Ending,
    marker: &str,
    after: Duration,
) -> Result<(), String> {
    let mut child = Command::new("bash")
        .args(["-c", program.text])
        .env(MARKER, marker)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(words_of)?;
    let until = Instant::now() + if ending == Ending::Itself { program.own_time } else { after };
    while Instant::now() < until && child.try_wait().map_err(words_of)?.is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    match plant {
        PlantedMistake::GroupOnly => signal(&child, rustix::process::Signal::KILL),
        PlantedMistake::TermOnly => signal(&child, rustix::process::Signal::TERM),
        // This one is wrong only when its owner is killed.
        PlantedMistake::NoLifeline => {
            for pid in super::carriers(marker) {
                if let Some(pid) = rustix::process::Pid::from_raw(pid as i32) {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
            }
        }
    }
    let patience = Instant::now() + Duration::from_millis(300);
    while Instant::now() < patience && child.try_wait().map_err(words_of)?.is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
}
