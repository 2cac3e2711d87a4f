//! Saves states of a work tree as git trees, and compares them.
//!
//! A snapshot has every file that git would track: changed, staged and untracked ones, but not ignored ones. The git directory
//! is our own: objects that are new go there, and the repository's objects are only read. So nothing of the repository changes:
//! not its index, stash, branches or configuration. A directory without a repository has snapshots too.
//!
//! A snapshot can be checked out in another directory ([`WorkTreeSnapshots::copy_to`]), and the difference between two can be
//! applied to the work tree ([`WorkTreeSnapshots::apply`]).

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{
    CONFIGURATION, Directories, Environment, Git, GitError, Supervisor, extensions, safe_environment,
    small_file, write,
};
use crate::process::CapturedOutput;

/// Time limit of reading all files of a work tree.
pub(super) const SCAN_TIME: Duration = Duration::from_secs(120);
/// Maximum size of an index that is copied, in bytes. Git reads all files again without it.
const INDEX_LIMIT: u64 = 256 * 1024 * 1024;

/// Snapshots of one work tree, in a directory of their own.
#[derive(Debug)]
pub struct WorkTreeSnapshots {
    pub(super) git: Git,
    pub(super) directory: PathBuf,
    /// What git knows about the files of the work tree.
    index: PathBuf,
}

/// The difference between two snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeDiff {
    /// The difference as a patch. If it is very long, its middle is missing.
    pub patch: String,
    /// The changed files.
    pub files: Vec<String>,
    /// Number of added lines.
    pub insertions: u64,
    /// Number of removed lines.
    pub deletions: u64,
}

impl WorkTreeSnapshots {
    /// Opens the snapshots of a work tree. `directory` must exist elsewhere; it may have snapshots of an earlier process.
    ///
    /// # Errors
    /// [`GitError`] if the directory cannot be prepared, or the repository has an unknown format.
    pub fn open(
        work_tree: &Path,
        directory: &Path,
        environment: &Environment,
        supervisor: &Supervisor,
    ) -> Result<Self, GitError> {
        let work_tree = work_tree.canonicalize()?;
        let repository = match Directories::find(&work_tree) {
            Ok(directories) => Some(directories),
            Err(GitError::NotARepository(_)) => None,
            Err(error) => return Err(error),
        };
        if directory.join("config").symlink_metadata().is_err() {
            prepare(directory, repository.as_ref())?;
        }
        let environment = environment.clone().with_untrusted_directories([&work_tree]);
        let git = Git {
            work_tree,
            scratch: directory.to_owned(),
            environment: safe_environment(&environment),
            supervisor: supervisor.clone(),
        };
        Ok(Self { git, directory: directory.to_owned(), index: directory.join("index") })
    }

    /// Writes a snapshot to a directory that does not exist yet, and returns the snapshots of this copy. They share their
    /// objects with these, so that a snapshot of the copy can be compared and applied here.
    ///
    /// If the work tree belongs to a repository, the copy gets a repository of its own with the same commit checked out. It
    /// reads the objects of the original and writes only its own, so programs can read the history and commit in the copy.
    ///
    /// # Errors
    /// [`GitError`] if the directory exists, or git fails. What was written stays.
    pub async fn copy_to(&self, snapshot: &str, copy: &Path) -> Result<Self, GitError> {
        rustix::fs::mkdir(copy, rustix::fs::Mode::from_raw_mode(0o700)).map_err(io::Error::from)?;
        let snapshots = self.of_copy(copy)?;
        snapshots.forget_index();
        snapshots.run(["read-tree", "--reset", "-u", snapshot], SCAN_TIME, &[0]).await?;
        match Directories::find(&self.git.work_tree) {
            Ok(repository) => self.make_repository(&repository, &snapshots.git).await?,
            Err(GitError::NotARepository(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(snapshots)
    }

    /// The snapshots of a copy that [`copy_to`](Self::copy_to) made, also in an earlier process.
    ///
    /// # Errors
    /// [`GitError`] if the directory does not exist.
    pub fn of_copy(&self, copy: &Path) -> Result<Self, GitError> {
        let work_tree = copy.canonicalize()?;
        let name = copy.file_name().unwrap_or_default().to_string_lossy();
        let index = self.directory.join(format!("index-{name}"));
        let git = Git {
            scratch: self.directory.clone(),
            environment: self
                .git
                .environment
                .clone()
                .with_untrusted_directories([&work_tree])
                .with("GIT_INDEX_FILE", &index),
            supervisor: self.git.supervisor.clone(),
            work_tree,
        };
        Ok(Self { git, directory: self.directory.clone(), index })
    }

    /// Gives a copy of the work tree a repository with the same commit checked out.
    async fn make_repository(&self, original: &Directories, copy: &Git) -> Result<(), GitError> {
        let directory = copy.work_tree.join(".git");
        make_directories(&directory, &["", "objects", "objects/info", "refs", "refs/heads", "info"])?;
        let objects = original.common.join("objects");
        write(&directory.join("objects/info/alternates"), &format!("{}\n", objects.display()))?;
        for name in ["info/exclude", "shallow"] {
            if let Ok(text) = small_file(&original.common.join(name)) {
                write(&directory.join(name), &text)?;
            }
        }
        let extensions = extensions(&small_file(&original.common.join("config"))?)?;
        let version = u8::from(extensions.contains("objectformat"));
        let format: String = extensions.lines().filter(|line| !line.contains("refstorage")).fold(
            format!("[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n"),
            |text, line| format!("{text}{line}\n"),
        );
        write(&directory.join("config"), &format)?;
        // A repository without a commit has only the name of its branch.
        let commit = self.git.read(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).await;
        let commit = commit.ok().map(|commit| commit.trim().to_owned()).filter(|commit| !commit.is_empty());
        let branch = self.git.branch().await?;
        if let (Some(branch), Some(commit)) = (&branch, &commit) {
            write(&directory.join("packed-refs"), &format!("{commit} refs/heads/{branch}\n"))?;
        }
        let head = match (branch, &commit) {
            (Some(branch), _) => format!("ref: refs/heads/{branch}\n"),
            (None, Some(commit)) => format!("{commit}\n"),
            (None, None) => "ref: refs/heads/main\n".to_owned(),
        };
        write(&directory.join("HEAD"), &head)?;
        if commit.is_some() {
            // Its own index: what differs from the commit is a change that is not staged.
            let environment = copy.environment.clone().with("GIT_INDEX_FILE", directory.join("index"));
            let git = Git { environment, ..copy.clone() };
            git.run(&directory, vec!["read-tree".into(), "HEAD".into()], SCAN_TIME, &[0]).await?;
        }
        Ok(())
    }

    /// Saves the current state. Returns its id.
    ///
    /// # Errors
    /// [`GitError`] if git fails, or the work tree is too large to read it in time.
    pub async fn take(&self) -> Result<String, GitError> {
        // Git ends with 1 if it could not read some of the files; the others are saved.
        let add = ["add", "--all", "--ignore-errors", "."];
        if self.run(add, SCAN_TIME, &[0, 1]).await.is_err() {
            // The copied index may need files that only the repository has, and a git that was killed with an earlier process leaves
            // its lock. Without an index, git reads all files.
            self.forget_index();
            self.run(add, SCAN_TIME, &[0, 1]).await?;
        }
        let tree = self.run(["write-tree", "--missing-ok"], SCAN_TIME, &[0]).await?;
        Ok(tree.trim().to_owned())
    }

    /// Removes the index and its lock. Only one process uses these snapshots, and it runs one command on an index at a time.
    pub(super) fn forget_index(&self) {
        let mut lock = self.index.clone().into_os_string();
        lock.push(".lock");
        let _ = rustix::fs::unlink(&lock);
        let _ = rustix::fs::unlink(&self.index);
    }

    /// Compares two snapshots.
    ///
    /// # Errors
    /// [`GitError`] if git fails or does not have a snapshot.
    pub async fn diff(&self, from: &str, to: &str) -> Result<TreeDiff, GitError> {
        let compare =
            |form| ["diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-color", form, from, to];
        let patch = self.run(compare("--patch"), SCAN_TIME, &[0]).await?;
        let counts = self.run(compare("--numstat"), SCAN_TIME, &[0]).await?;
        let mut diff = TreeDiff { patch, ..TreeDiff::default() };
        for line in counts.lines() {
            let mut columns = line.splitn(3, '\t');
            // A binary file has `-` instead of numbers.
            let mut number = || columns.next().and_then(|count| count.parse().ok()).unwrap_or(0);
            (diff.insertions, diff.deletions) = (diff.insertions + number(), diff.deletions + number());
            diff.files.extend(columns.next().map(str::to_owned));
        }
        Ok(diff)
    }

    /// Removes all snapshots.
    ///
    /// # Errors
    /// If a file cannot be removed.
    #[expect(clippy::disallowed_methods, reason = "a directory that only this module writes")]
    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_dir_all(&self.directory)
    }

    pub(super) async fn run<const N: usize>(
        &self,
        words: [&str; N],
        time: Duration,
        codes: &[i32],
    ) -> Result<String, GitError> {
        Ok(self.output(words, time, codes).await?.text())
    }

    pub(super) async fn output<const N: usize>(
        &self,
        words: [&str; N],
        time: Duration,
        codes: &[i32],
    ) -> Result<CapturedOutput, GitError> {
        let words = words.into_iter().map(OsString::from).collect();
        self.git.output(&self.directory, words, time, codes).await
    }
}

/// Makes a directory a git directory. The configuration is written last: with it, the directory is complete.
fn prepare(directory: &Path, repository: Option<&Directories>) -> Result<(), GitError> {
    make_directories(directory, &["objects", "objects/info", "refs", "info"])?;
    let replace = |name: &str, text: &str| {
        let _ = rustix::fs::unlink(directory.join(name));
        write(&directory.join(name), text)
    };
    replace("HEAD", "ref: refs/heads/snapshot\n")?;
    let mut format = "[core]\n\trepositoryFormatVersion = 0\n".to_owned();
    if let Some(repository) = repository {
        let objects = repository.common.join("objects");
        replace("objects/info/alternates", &format!("{}\n", objects.display()))?;
        if let Ok(exclude) = small_file(&repository.common.join("info/exclude")) {
            replace("info/exclude", &exclude)?;
        }
        copy_index(&repository.own.join("index"), &directory.join("index"))?;
        let extensions = extensions(&small_file(&repository.common.join("config"))?)?;
        if !extensions.is_empty() {
            format = format!("[core]\n\trepositoryFormatVersion = 1\n{extensions}");
        }
    }
    Ok(replace("config", &format!("{CONFIGURATION}{format}"))?)
}

/// Makes directories below a directory. An earlier process may have been killed after it made some of them.
fn make_directories(directory: &Path, names: &[&str]) -> io::Result<()> {
    for name in names {
        match rustix::fs::mkdir(directory.join(name), rustix::fs::Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Copies the index, so that git need not read files that did not change since they were staged.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    use std::io::Read as _;
    let Ok(file) = rustix::fs::open(from, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
    else {
        return Ok(());
    };
    let file = std::fs::File::from(file);
    let state = file.metadata()?;
    if !state.is_file() || state.len() > INDEX_LIMIT {
        return Ok(());
    }
    let _ = rustix::fs::unlink(to);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut copy = std::fs::File::from(rustix::fs::open(to, flags, Mode::from_raw_mode(0o600))?);
    io::copy(&mut file.take(INDEX_LIMIT), &mut copy)?;
    Ok(())
}
