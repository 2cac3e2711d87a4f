//! Runs git on real repositories, including hostile ones.

use std::path::Path;
use std::process::Command;

use lariat_host::git::{Git, GitError, WorkTreeSnapshots};
use lariat_host::process::Supervisor;

use crate::temp_directory::{TempDirectory, environment};

fn git(directory: &Path, words: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"])
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A repository with one commit, one changed file and one new file.
fn repository(folder: &TempDirectory, more: &[&str]) -> std::path::PathBuf {
    let path = folder.path().join("repository");
    std::fs::create_dir(&path).unwrap();
    let init: Vec<_> = ["init", "-q"].iter().chain(more).copied().collect();
    git(&path, &init);
    std::fs::write(path.join("a.txt"), "one\n").unwrap();
    git(&path, &["add", "."]);
    git(&path, &["commit", "-qm", "First"]);
    std::fs::write(path.join("a.txt"), "two\n").unwrap();
    std::fs::write(path.join("new file.txt"), "x").unwrap();
    path
}

fn open(path: &Path, folder: &TempDirectory) -> Result<Git, GitError> {
    Git::open(path, folder.path(), &environment(), &Supervisor::new())
}

async fn check(git: &Git) {
    assert_eq!(git.branch().await.unwrap().as_deref(), Some("main"));
    let status = git.status().await.unwrap();
    assert!(status.contains("## main") && status.contains(" M a.txt"), "{status}");
    assert!(status.contains("?? \"new file.txt\""), "{status}");
    let diff = git.diff(None).await.unwrap();
    assert!(diff.contains("-one\n+two\n"), "{diff}");
    assert_eq!(git.diff(Some("HEAD")).await.unwrap(), diff);
    assert!(git.log(5).await.unwrap().contains("A: First"));
}

#[tokio::test]
async fn reads_a_repository_and_removes_the_temporary_directory() {
    let folder = TempDirectory::new();
    let path = repository(&folder, &[]);
    let git = open(&path, &folder).unwrap();
    check(&git).await;
    // The directory is removed in the background.
    let left = || std::fs::read_dir(folder.path()).unwrap().count();
    for _ in 0..200 {
        if left() > 1 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
    assert_eq!(left(), 1);
}

/// What a killed process leaves of the temporary git directory of a repository.
fn leave(scratch: &Path, name: &str, repository: &Path, hours: u64) {
    let left = scratch.join(name);
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(left.join("config"), "").unwrap();
    for linked in ["index", "objects", "refs"] {
        std::os::unix::fs::symlink(repository.join(".git").join(linked), left.join(linked)).unwrap();
    }
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(hours * 3600);
    std::fs::File::open(&left).unwrap().set_modified(then).unwrap();
}

#[tokio::test]
async fn removes_old_directories_of_killed_processes_and_nothing_that_they_link_to() {
    let folder = TempDirectory::new();
    let path = repository(&folder, &[]);
    leave(folder.path(), "git-1-0", &path, 2);
    leave(folder.path(), "git-1-1", &path, 0);
    std::fs::create_dir(folder.path().join("other")).unwrap();
    std::os::unix::fs::symlink(path.join(".git"), folder.path().join("git-link")).unwrap();
    let git = open(&path, &folder).unwrap();
    git.branch().await.unwrap();
    let names = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    for _ in 0..200 {
        if names().len() > 4 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
    assert_eq!(names(), ["git-1-1", "git-link", "other", "repository"]);
    check(&git).await;
}

#[tokio::test]
async fn reads_other_repository_formats() {
    let folder = TempDirectory::new();
    check(&open(&repository(&folder, &["--object-format=sha256"]), &folder).unwrap()).await;
}

#[tokio::test]
async fn reads_a_repository_without_commits() {
    let folder = TempDirectory::new();
    let path = folder.path().join("empty");
    std::fs::create_dir(&path).unwrap();
    git(&path, &["init", "-q"]);
    let git = open(&path, &folder).unwrap();
    assert_eq!(git.branch().await.unwrap().as_deref(), Some("main"));
    assert!(git.status().await.unwrap().contains("No commits yet on main"));
    assert!(matches!(git.log(1).await, Err(GitError::Failed { .. })));
}

/// Configures the repository to start a program in every known way. The program writes to `mark`.
fn poison(path: &Path, mark: &Path) {
    let program = path.join(".git/evil.sh");
    std::fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", mark.display())).unwrap();
    std::process::Command::new("chmod").arg("+x").arg(&program).status().unwrap();
    let evil = program.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "core.gitProxy",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "merge.evil.driver",
        "gpg.program",
        "gpg.ssh.program",
        "credential.helper",
        "pager.log",
        "pager.diff",
        "pager.status",
        "interactive.diffFilter",
        "uploadpack.packObjectsHook",
        "core.alternateRefsCommand",
        "trailer.x.command",
        "sequence.editor",
        "difftool.evil.cmd",
    ] {
        git(path, &["config", key, evil]);
    }
    for (key, value) in [
        ("filter.evil.required", "true"),
        ("log.showSignature", "true"),
        ("core.hooksPath", ".git/evil-hooks"),
        ("alias.status", "!echo evil"),
        ("alias.log", "!echo evil"),
        ("core.untrackedCache", "true"),
        ("status.submoduleSummary", "true"),
        ("diff.submodule", "log"),
        ("submodule.recurse", "true"),
    ] {
        git(path, &["config", key, value]);
    }
    std::fs::write(path.join(".gitattributes"), "* filter=evil diff=evil merge=evil\n").unwrap();
    std::fs::write(path.join(".git/info/attributes"), "* filter=evil diff=evil\n").unwrap();
    for hooks in ["hooks", "evil-hooks"] {
        let hooks = path.join(".git").join(hooks);
        std::fs::create_dir_all(&hooks).unwrap();
        for hook in ["post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"] {
            std::fs::copy(&program, hooks.join(hook)).unwrap();
        }
    }
}

#[tokio::test]
async fn executes_nothing_of_a_hostile_repository() {
    let folder = TempDirectory::new();
    let path = repository(&folder, &[]);
    let mark = folder.path().join("mark");
    poison(&path, &mark);

    // Check that plain git starts the program; otherwise this test would prove nothing.
    let plain = |words: &[&str]| {
        let _ =
            Command::new("git").args(words).current_dir(&path).env("GIT_CONFIG_GLOBAL", "/dev/null").output();
    };
    for words in [&["status"][..], &["diff"], &["log", "-p"]] {
        plain(words);
        assert!(std::fs::remove_file(&mark).is_ok(), "git {words:?} was expected to start a program");
    }

    let git = open(&path, &folder).unwrap();
    git.branch().await.unwrap();
    git.status().await.unwrap();
    git.log(3).await.unwrap();
    let diff = git.diff(None).await.unwrap();
    assert!(diff.contains("-one\n+two\n"), "{diff}");
    git.diff(Some("HEAD")).await.unwrap();
    assert!(!mark.exists(), "{}", std::fs::read_to_string(&mark).unwrap());
}

#[tokio::test]
async fn reading_changes_nothing_in_the_repository() {
    let folder = TempDirectory::new();
    let path = repository(&folder, &[]);
    let state = || {
        let listed = Command::new("find")
            .arg(path.join(".git"))
            .args(["-type", "f", "-printf", "%P %s %T@\n"])
            .output();
        let text = String::from_utf8(listed.unwrap().stdout).unwrap();
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let before = state();
    check(&open(&path, &folder).unwrap()).await;
    assert_eq!(state(), before);
}

#[tokio::test]
async fn reads_a_linked_work_tree_but_no_borrowed_one() {
    let folder = TempDirectory::new();
    let path = repository(&folder, &[]);
    let linked = folder.path().join("linked");
    git(&path, &["worktree", "add", "-q", "-b", "other", linked.to_str().unwrap()]);
    let opened = open(&linked, &folder).unwrap();
    assert_eq!(opened.branch().await.unwrap().as_deref(), Some("other"));
    assert_eq!(opened.status().await.unwrap().lines().count(), 1);

    // Another directory that points at our repository, or at our linked work tree.
    let stranger = folder.path().join("stranger");
    std::fs::create_dir(&stranger).unwrap();
    for target in [path.join(".git"), path.join(".git/worktrees/linked")] {
        std::fs::write(stranger.join(".git"), format!("gitdir: {}\n", target.display())).unwrap();
        assert!(matches!(open(&stranger, &folder), Err(GitError::Foreign(_))), "{target:?}");
    }
    // A separate git directory that shares our objects.
    std::fs::remove_file(stranger.join(".git")).unwrap();
    git(&stranger, &["init", "-q"]);
    std::fs::write(stranger.join(".git/commondir"), path.join(".git").to_str().unwrap()).unwrap();
    assert!(matches!(open(&stranger, &folder), Err(GitError::Foreign(_))));
    assert!(matches!(open(folder.path(), &folder), Err(GitError::NotARepository(_))));
}

pub(crate) async fn snapshots(path: &Path, folder: &TempDirectory) -> WorkTreeSnapshots {
    let directory = folder.path().join("snapshots");
    let _ = std::fs::create_dir(&directory);
    WorkTreeSnapshots::open(path, &directory, &environment(), &Supervisor::new()).unwrap()
}

#[tokio::test]
async fn snapshots_show_new_files_and_commits_but_no_earlier_changes() {
    let folder = TempDirectory::new();
    let path = repository(&folder, &[]);
    std::fs::write(path.join(".gitignore"), "ignored.txt\n").unwrap();
    let before = snapshots(&path, &folder).await.take().await.unwrap();
    std::fs::write(path.join("ignored.txt"), "x").unwrap();
    std::fs::write(path.join("committed.txt"), "1\n2\n").unwrap();
    git(&path, &["add", "committed.txt"]);
    git(&path, &["commit", "-qm", "Second"]);
    std::fs::write(path.join("untracked.txt"), "3\n").unwrap();
    std::fs::write(path.join("a.txt"), "three\n").unwrap();
    let status = || {
        Command::new("git")
            .args(["--no-optional-locks", "status", "--porcelain"])
            .current_dir(&path)
            .output()
            .unwrap()
            .stdout
    };
    let (index, seen) = (std::fs::read(path.join(".git/index")).unwrap(), status());
    let objects = || {
        let list = Command::new("git").args(["count-objects", "-v"]).current_dir(&path).output().unwrap();
        String::from_utf8(list.stdout).unwrap()
    };
    let counted = objects();
    // Another process continues with the same directory.
    let snapshots = snapshots(&path, &folder).await;
    let after = snapshots.take().await.unwrap();
    let diff = snapshots.diff(&before, &after).await.unwrap();
    assert_eq!(diff.files, ["a.txt", "committed.txt", "untracked.txt"], "{}", diff.patch);
    assert_eq!((diff.insertions, diff.deletions), (4, 1));
    assert!(diff.patch.contains("-two\n+three\n"), "compared with the changed file: {}", diff.patch);
    assert!(!diff.patch.contains("new file.txt"), "it was there before");
    assert_eq!(std::fs::read(path.join(".git/index")).unwrap(), index, "the user's index");
    assert_eq!((status(), objects()), (seen, counted), "the user's repository");
    snapshots.remove().unwrap();
    assert!(!folder.path().join("snapshots").exists());
}

#[tokio::test]
async fn snapshots_of_a_hostile_repository_execute_nothing() {
    let folder = TempDirectory::new();
    let path = repository(&folder, &[]);
    let mark = folder.path().join("mark");
    poison(&path, &mark);
    let snapshots = snapshots(&path, &folder).await;
    let before = snapshots.take().await.unwrap();
    std::fs::write(path.join("a.txt"), "other\n").unwrap();
    let after = snapshots.take().await.unwrap();
    assert_eq!(snapshots.diff(&before, &after).await.unwrap().files, ["a.txt"]);
    assert!(!mark.exists(), "a program of the repository ran");
}

#[tokio::test]
async fn directory_without_repository_has_snapshots() {
    let folder = TempDirectory::new();
    let path = folder.path().join("plain");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("a.txt"), "one\n").unwrap();
    let snapshots = snapshots(&path, &folder).await;
    let before = snapshots.take().await.unwrap();
    std::fs::remove_file(path.join("a.txt")).unwrap();
    let after = snapshots.take().await.unwrap();
    let diff = snapshots.diff(&before, &after).await.unwrap();
    assert_eq!((diff.files.as_slice(), diff.deletions), (["a.txt".to_owned()].as_slice(), 1));
    assert!(!path.join(".git").exists());
}

fn output(path: &Path, words: &[&str]) -> String {
    let done = Command::new("git").args(words).current_dir(path).output().unwrap();
    assert!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[tokio::test]
async fn lock_that_a_killed_git_left_stops_no_snapshot() {
    let folder = TempDirectory::new();
    let path = repository(&folder, &[]);
    let original = snapshots(&path, &folder).await;
    let directory = folder.path().join("snapshots");
    std::fs::write(directory.join("index.lock"), "").unwrap();
    let before = original.take().await.unwrap();
    std::fs::write(directory.join("index-copy.lock"), "").unwrap();
    let copied = original.copy_to(&before, &folder.path().join("copy")).await.unwrap();
    std::fs::write(folder.path().join("copy/made.txt"), "1\n").unwrap();
    std::fs::write(directory.join("index-copy.lock"), "").unwrap();
    let after = copied.take().await.unwrap();
    assert_eq!(original.diff(&before, &after).await.unwrap().files, ["made.txt"]);
}

#[tokio::test]
async fn copy_has_the_files_and_the_history_and_leaves_the_repository_alone() {
    let folder = TempDirectory::new();
    let path = repository(&folder, &[]);
    git(&path, &["checkout", "-qb", "feature/x"]);
    std::fs::write(path.join("run.sh"), "echo\n").unwrap();
    std::os::unix::fs::symlink("run.sh", path.join("link")).unwrap();
    let (config, head) =
        (std::fs::read(path.join(".git/config")).unwrap(), output(&path, &["rev-parse", "HEAD"]));
    let objects = output(&path, &["count-objects", "-v"]);
    let refs = output(&path, &["for-each-ref"]);
    let original = snapshots(&path, &folder).await;
    let before = original.take().await.unwrap();
    let copy = folder.path().join("copy");
    let copied = original.copy_to(&before, &copy).await.unwrap();
    assert_eq!(std::fs::read_to_string(copy.join("a.txt")).unwrap(), "two\n", "as the user changed it");
    assert_eq!(std::fs::read_link(copy.join("link")).unwrap(), Path::new("run.sh"));
    assert_eq!(output(&copy, &["rev-parse", "HEAD"]), head);
    assert_eq!(output(&copy, &["branch", "--show-current"]), "feature/x\n");
    assert_eq!(output(&copy, &["status", "--porcelain"]), output(&path, &["status", "--porcelain"]));
    // A commit in the copy stays there, and the next snapshot of the copy has its files.
    std::fs::write(copy.join("made.txt"), "1\n").unwrap();
    git(&copy, &["add", "."]);
    git(&copy, &["commit", "-qm", "In the copy"]);
    let after = copied.take().await.unwrap();
    assert_eq!(original.diff(&before, &after).await.unwrap().files, ["made.txt"]);
    assert_eq!(std::fs::read(path.join(".git/config")).unwrap(), config);
    assert_eq!(output(&path, &["count-objects", "-v"]), objects);
    assert_eq!((output(&path, &["for-each-ref"]), output(&path, &["rev-parse", "HEAD"])), (refs, head));
    assert!(original.copy_to(&before, &copy).await.is_err(), "the directory exists");
}
