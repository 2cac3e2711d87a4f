//! Kills the program at random moments and resumes it, until it ends by itself.
//!
//! `LARIAT_KILLS` sets the number of kills, and `LARIAT_SEED` repeats their moments.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use lariat_test::SeededRandom;
use rustix::process::Signal;

use crate::fixture::{Fixture, RunResult, signal, wait, wait_for};

/// Maximum number of kills of one run, so that every run ends.
const KILLS_OF_A_RUN: u64 = 5;

/// A number from the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The files of the workspace after a run that was not killed.
#[derive(Default)]
pub(crate) struct UnkilledFiles(RefCell<Option<BTreeMap<String, Vec<u8>>>>);

impl UnkilledFiles {
    /// Asserts that the workspace has the same files as after the first call.
    pub(crate) fn assert_same(&self, fixture: &Fixture, name: &str) {
        let mut found = BTreeMap::new();
        collect_files(&fixture.workspace(), "", &mut found);
        match &*self.0.borrow() {
            Some(wanted) => {
                let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
                assert_eq!(names(&found), names(wanted), "{name}");
                assert!(found == *wanted, "{name}: the files differ from those of a run that was not killed");
                return;
            }
            None => assert!(!found.is_empty(), "{name}: the run makes files"),
        }
        *self.0.borrow_mut() = Some(found);
    }
}

/// Collects the files below a directory, without the repository.
fn collect_files(directory: &Path, prefix: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            if name != ".git" {
                collect_files(&entry.path(), &format!("{name}/"), found);
            }
        } else {
            found.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
}

/// Asserts that no tool call of a session started twice. Returns the ids of the calls.
pub(crate) fn started_once(fixture: &Fixture, session: &str, name: &str) -> BTreeSet<String> {
    const START: &str = "\"type\":\"ToolExecutionStart\",\"tool_call_id\":\"";
    let exported = fixture.command(&["sessions", "export", session]).output().unwrap().stdout;
    let exported = String::from_utf8_lossy(&exported);
    let mut started = BTreeSet::new();
    for (at, _) in exported.match_indices(START) {
        let (id, _) = exported[at + START.len()..].split_once('"').unwrap();
        assert!(started.insert(id.to_owned()), "{name}: call {id} of session {session} started twice");
    }
    started
}

/// Starts the program with a git that never ends when it saves the state of the files, and waits for that.
pub(crate) fn hang_while_saving_files(fixture: &Fixture, words: &[&str]) -> Child {
    hang_in_git(fixture, words, "write-tree")
}

/// Starts the program with a git that never ends when its arguments contain a text, and waits for that.
pub(crate) fn hang_in_git(fixture: &Fixture, words: &[&str], text: &str) -> Child {
    let (bin, begun) = (fixture.path("hanging"), fixture.path("begun"));
    let _ = std::fs::remove_file(&begun);
    std::fs::create_dir_all(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\nPATH='{path}'\ncase \"$*\" in *'{text}'*) touch '{}'; exec sleep 600;; esac\nexec git \"$@\"\n",
        begun.display()
    );
    std::fs::write(bin.join("git"), script).unwrap();
    std::fs::set_permissions(bin.join("git"), Permissions::from_mode(0o755)).unwrap();
    let mut command = fixture.command(words);
    let child = command.env("PATH", format!("{}:{path}", bin.display())).spawn().unwrap();
    wait_for("git", || begun.exists());
    child
}

/// Kills the program, and waits until it has released its snapshots.
pub(crate) fn kill_and_wait(fixture: &Fixture, child: Child) {
    signal(&child, Signal::KILL);
    wait(child);
    // Its helper processes end shortly after it, and with them its locks.
    let is_free = |entry: std::io::Result<std::fs::DirEntry>| {
        std::fs::File::open(entry.unwrap().path()).unwrap().try_lock().is_ok()
    };
    let snapshots = fixture.path("state/lariat/loops");
    wait_for("the end of its helpers", || std::fs::read_dir(&snapshots).unwrap().all(is_free));
}

/// What is killed.
pub(crate) struct Killed<'a> {
    /// The arguments of a new run.
    pub(crate) start: &'a [&'a str],
    /// The arguments to continue an interrupted run; `None` if it recorded nothing yet.
    pub(crate) resume: &'a dyn Fn(&Fixture) -> Option<Vec<String>>,
    /// Checks a run that ended. The text names the run.
    pub(crate) check: &'a dyn Fn(&Fixture, &RunResult, &str),
}

impl Killed<'_> {
    /// Kills runs in new fixtures, as often as the environment says.
    pub(crate) async fn kill(&self, usual: u64, new: impl AsyncFn() -> Fixture) {
        let kills = number("LARIAT_KILLS").unwrap_or(usual);
        let seed = number("LARIAT_SEED").unwrap_or_else(|| u64::from(std::process::id()));
        let mut random = SeededRandom::new(seed);
        let begun = Instant::now();
        let undisturbed = {
            let fixture = new().await;
            let begun = Instant::now();
            let ran = fixture.run(self.start);
            let time = begun.elapsed();
            (self.check)(&fixture, &ran, "not killed");
            time
        };
        let (mut killed, mut runs) = (0, 0);
        while killed < kills {
            runs += 1;
            let fixture = new().await;
            let planned = (1 + random.below(KILLS_OF_A_RUN)).min(kills - killed);
            killed += self.kill_one(
                &fixture,
                &mut random,
                planned,
                undisturbed,
                &format!("seed {seed}, run {runs}"),
            );
        }
        println!(
            "{killed} kills of {runs} runs of `lariat {}`, {:.1?}",
            self.start.join(" "),
            begun.elapsed()
        );
        println!("LARIAT_SEED={seed} repeats the same moments");
    }

    fn kill_one(
        &self,
        fixture: &Fixture,
        random: &mut SeededRandom,
        planned: u64,
        undisturbed: Duration,
        name: &str,
    ) -> u64 {
        let mut killed = 0;
        loop {
            let words = (self.resume)(fixture);
            let words: Vec<&str> = match &words {
                Some(words) => words.iter().map(String::as_str).collect(),
                None => self.start.to_vec(),
            };
            let child = fixture.spawn(&words);
            if killed < planned {
                let micros = u64::try_from(undisturbed.as_micros()).unwrap();
                std::thread::sleep(Duration::from_micros(random.below(micros)));
                // If it has already ended, its exit code decides.
                signal(&child, Signal::KILL);
            }
            let ran = wait(child);
            if ran.code.is_some() {
                (self.check)(fixture, &ran, name);
                return killed;
            }
            killed += 1;
        }
    }
}
