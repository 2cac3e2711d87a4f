//! The programs inside the jail: the driver, which is its first process, and the stubs.
//!
//! Each command starts in a new directory with a few files and a small environment. Invariant: when a command
//! starts, nothing of the previous one is left, and the trace has a mark between them.

use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, wait};

/// Time limit of a command.
const TIME: Duration = Duration::from_millis(500);
/// A path that does not exist, opened before each command as a mark in the trace.
pub(crate) const MARK: &str = "/mark/";
/// The shell that commands are started in; no other process uses this path.
pub(crate) const SHELL: &str = "/start/bash";
/// The working directory of commands.
const PLACE: &str = "/ground/place";

/// The environment of commands: programs and other surprises hidden in variables.
const VARIABLES: &[(&str, &str)] = &[
    ("PATH", "/stubs"),
    ("HOME", "/ground/home"),
    ("X", "rm"),
    ("Y", "curl evil"),
    ("EVIL", "a[$(curl arithmetic)]"),
    ("EMPTY", ""),
    ("FILE", "a.txt"),
    ("WORDS", "one two"),
];

const FILES: &[(&str, &str)] = &[
    ("a.txt", "one\ntwo\n"),
    ("b c.txt", "rm data\n"),
    ("evil.sh", "curl from-a-script\n"),
    ("names", "a.txt\n"),
    ("sub/x", "x\n"),
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\trepositoryformatversion = 0\n"),
];

const FOLDERS: &[&str] = &["sub", ".git/objects", ".git/refs/heads"];

/// Runs every command of a file, one after another.
pub(crate) fn run(batch: &str) -> Result<bool, String> {
    let words = |error: std::io::Error| error.to_string();
    let texts: Vec<String> =
        serde_json::from_slice(&std::fs::read(batch).map_err(words)?).map_err(|error| error.to_string())?;
    let now: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
    std::thread::spawn(move || watch(now));
    std::fs::create_dir_all("/ground/home").map_err(words)?;
    for (index, text) in texts.iter().enumerate() {
        let _ = std::fs::remove_dir_all(PLACE);
        for folder in FOLDERS {
            std::fs::create_dir_all(format!("{PLACE}/{folder}")).map_err(words)?;
        }
        for (name, content) in FILES {
            std::fs::write(format!("{PLACE}/{name}"), content).map_err(words)?;
        }
        let _ = std::os::unix::fs::symlink("/jail/shell", format!("{PLACE}/tool"));
        let _ = std::fs::File::open(format!("{MARK}{index}"));
        now.store(index + 1, Ordering::SeqCst);
        let _ = Command::new(SHELL)
            .args(["-c", text])
            .env_clear()
            .envs(VARIABLES.iter().copied())
            .current_dir(PLACE)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        // This is the first process, so everything that a command leaves behind is our child.
        while !matches!(wait(WaitOptions::empty()), Err(Errno::CHILD)) {}
        now.store(0, Ordering::SeqCst);
    }
    let _ = std::fs::File::open(format!("{MARK}end"));
    Ok(true)
}

/// Kills everything if one command takes too long.
fn watch(now: &AtomicUsize) {
    let mut last = (0, std::time::Instant::now());
    loop {
        std::thread::sleep(TIME / 10);
        let current = now.load(Ordering::SeqCst);
        if current == 0 || current != last.0 {
            last = (current, std::time::Instant::now());
        } else if last.1.elapsed() > TIME
            && let Some(first) = Pid::from_raw(1)
        {
            let _ = std::fs::File::open(format!("{MARK}stopped"));
            // The group of process 1, negated, is every process except this one.
            let _ = kill_process_group(first, Signal::KILL);
        }
    }
}

/// A program that only prints its name and arguments.
pub(crate) fn stub(name: &str, arguments: &[String]) -> ExitCode {
    use std::io::Write;

    let _ = writeln!(std::io::stdout(), "{}", arguments.join(" "));
    let fails = matches!(name, "false" | "grep" | "diff");
    if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
