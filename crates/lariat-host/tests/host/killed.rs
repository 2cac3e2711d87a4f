//! Kills a process at every system call with which it changes a file. Afterwards the file has either the old or the new
//! content, and a scan of the workspace removes everything else.
//!
//! The killed process is this test executable itself, under strace.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use lariat_host::files::{FileVersion, Workspace, WriteCondition};
use lariat_host::undo::{Conflicts, Undo, UndoLimits};

use crate::temp_directory::TempDirectory;

const HOW: &str = "LARIAT_TEST_HOW";
const WHERE: &str = "LARIAT_TEST_WHERE";
const OLD: &str = "old, and longer than the new content\n";
const NEW: &str = "new\n";
/// The system calls that change the disk.
const CALLS: &[&str] = &["write", "fdatasync", "linkat", "renameat", "renameat2", "unlinkat", "fsync"];

#[test]
#[ignore = "runs as the process that other tests kill"]
fn run_as_writer() {
    let folder = PathBuf::from(std::env::var_os(WHERE).unwrap());
    let workspace = Workspace::open(folder.join("ws")).unwrap();
    let write = |path: &str, expected: &WriteCondition| {
        workspace.write(path, NEW.as_bytes(), expected).unwrap();
    };
    match std::env::var(HOW).unwrap().as_str() {
        "add" => write("new", &WriteCondition::Absent),
        "replace" => write("file", &WriteCondition::Any),
        "exchange" => {
            let content = workspace.read("file", 1_000).unwrap();
            write("file", &WriteCondition::Unchanged(FileVersion::of(content.stamp, &content.bytes)));
        }
        "undo" => {
            let undo = undo(&folder, &workspace);
            undo.rewind(&undo.preview("call").unwrap(), Conflicts::Keep).unwrap();
        }
        how => unreachable!("{how}"),
    }
}

fn undo(folder: &Path, workspace: &Workspace) -> Undo {
    Undo::open(workspace, folder.join("undo"), UndoLimits::default()).unwrap()
}

/// Runs the writer under strace.
fn run(folder: &Path, how: &str, options: &[&str]) -> ExitStatus {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq"]).args(options).arg("--").arg(std::env::current_exe().unwrap());
    strace.args(["--exact", "killed::run_as_writer", "--ignored", "--test-threads=1", "--quiet"]);
    let output = strace.env(HOW, how).env(WHERE, folder).output().unwrap();
    output.status
}

/// Creates a workspace with a file and, for `undo`, a tool call that changed it.
fn fixture(how: &str) -> TempDirectory {
    let folder = TempDirectory::new();
    std::fs::create_dir(folder.path().join("ws")).unwrap();
    let file = folder.path().join("ws/file");
    std::fs::write(&file, OLD).unwrap();
    let workspace = Workspace::open(folder.path().join("ws")).unwrap();
    let undo = undo(folder.path(), &workspace);
    if how == "undo" {
        undo.begin_call("call").unwrap();
        std::fs::write(&file, NEW).unwrap();
        undo.end_call("call").unwrap();
    }
    folder
}

/// Checks the workspace after a kill.
fn assert_whole(folder: &Path, name: &str) {
    let workspace = Workspace::open(folder.join("ws")).unwrap();
    undo(folder, &workspace).begin_call("look").unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder.join("ws"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names == ["file"] || names == ["file", "new"], "{name}: {names:?}");
    for name in names {
        let content = std::fs::read_to_string(folder.join("ws").join(&name)).unwrap();
        assert!(content == NEW || (content == OLD && name == "file"), "{name}: {content:?}");
    }
}

/// Kills the writer before each system call in turn. Returns the number of kills.
fn kill_everywhere(how: &str, options: &[&str]) -> usize {
    let mut kills = 0;
    for call in CALLS {
        for at in 1.. {
            let folder = fixture(how);
            let (trace, inject) =
                (format!("trace={call},openat2"), format!("inject={call}:signal=KILL:when={at}"));
            let options = [&["-o", "/dev/null", "-e", &trace, "-e", &inject], options].concat();
            let status = run(folder.path(), how, &options);
            assert_whole(folder.path(), &format!("{how}, killed at {call} {at}"));
            if status.success() {
                break;
            }
            assert_eq!(status.signal(), Some(9), "{how}, {call} {at}: {status}");
            kills += 1;
        }
    }
    kills
}

#[test]
fn kill_while_adding_leaves_old_or_new_file() {
    assert!(kill_everywhere("add", &[]) >= 3);
}

#[test]
fn kill_while_replacing_unchecked_leaves_old_or_new_file() {
    assert!(kill_everywhere("replace", &[]) >= 4);
}

#[test]
fn kill_while_editing_leaves_old_or_new_file() {
    assert!(kill_everywhere("exchange", &[]) >= 5);
}

#[test]
fn kill_while_restoring_leaves_old_or_new_file() {
    assert!(kill_everywhere("undo", &[]) >= 4);
}

/// The same on a file system that does not support nameless files.
#[test]
fn kill_without_nameless_files_leaves_old_or_new_file() {
    for how in ["add", "replace", "exchange"] {
        let folder = fixture(how);
        let log = folder.path().join("log");
        let status = run(folder.path(), how, &["-e", "trace=openat2", "-o", log.to_str().unwrap()]);
        assert!(status.success(), "{status}");
        let log = std::fs::read_to_string(log).unwrap();
        let opened: Vec<&str> = log.lines().filter(|line| line.contains("openat2(")).collect();
        let at = 1 + opened.iter().position(|line| line.contains("O_TMPFILE")).unwrap();
        let inject = format!("inject=openat2:error=EOPNOTSUPP:when={at}");
        assert!(kill_everywhere(how, &["-e", &inject]) >= 4, "{how}");
    }
}
