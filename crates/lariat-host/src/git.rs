//! Runs git to read a repository, without letting the repository execute code.
//!
//! A repository can make git start programs from dozens of places: hooks, filters, text conversions, file system
//! monitors, pagers, signature checks, and submodules with all of these again. Turning them off by name would miss the
//! next one. So git never sees the repository's configuration: it gets a temporary git directory with our configuration
//! and links to the repository's objects, references and index. Drivers named by the work tree's attributes are not
//! defined there, so they do nothing.
//!
//! The temporary directory exists only while a git command runs. Invariant: no program except git itself is started,
//! and nothing is written to the repository.
//!
//! Writing to the repository (commits, branches, work trees) is not supported here. [`WorkTreeSnapshots`] saves states of a
//! work tree in a git directory of its own.

mod apply;
mod snapshots;

pub use snapshots::{TreeDiff, WorkTreeSnapshots};

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lariat_core::cancel::CancellationToken;

use crate::process::{
    CaptureLimits, CapturedOutput, End, Environment, Exit, Launch, Output, ProcessError, Supervisor,
};

/// Time limit of a git command.
const TIME: Duration = Duration::from_secs(30);
/// Age from which a temporary git directory is one that a killed process left: no command runs that long.
const LEFTOVER_AGE: Duration = Duration::from_secs(60 * 60);
/// Bytes of output to keep, half of them from the start.
const OUTPUT_LIMIT: usize = 8 * 1024 * 1024;
/// Maximum size of a repository's own files that are read, in bytes.
const SMALL_FILE: u64 = 64 * 1024;

/// The configuration for git, without the repository's format: runs no program and writes nothing.
const CONFIGURATION: &str = "\
[core]
\tbare = false
\tlogAllRefUpdates = false
\tfsmonitor = false
\tuntrackedCache = false
\thooksPath = /dev/null
\tpager = cat
\tquotePath = false
[diff]
\tignoreSubmodules = all
\tautoRefreshIndex = false
[status]
\tsubmoduleSummary = false
[submodule]
\trecurse = false
[maintenance]
\tauto = false
[gc]
\tauto = 0
[protocol]
\tallow = never
";

/// What is linked: files of the work tree itself, and files that it shares with other work trees of the repository.
/// `HEAD` is copied, because git does not accept a link for it.
const OWN: &[&str] = &["index", "logs", "ORIG_HEAD"];
const SHARED: &[&str] = &["objects", "refs", "packed-refs", "reftable", "shallow"];

/// Why a git command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The directory is not a repository.
    #[error("`{0}` is not the top directory of a git work tree")]
    NotARepository(PathBuf),
    /// The directory refers to a repository that does not list it as a work tree.
    #[error("`{0}` refers to a git directory that does not belong to it")]
    Foreign(PathBuf),
    /// This version does not support the repository's format.
    #[error("unsupported git repository extension: {0}")]
    Format(String),
    /// Git could not be started.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Git failed.
    #[error("git {command} failed: {message}")]
    Failed {
        /// The git subcommand.
        command: String,
        /// Git's error output.
        message: String,
    },
    /// These files were changed meanwhile, so nothing more is written.
    #[error("changed meanwhile: {}", .0.join(", "))]
    Conflict(Vec<String>),
    /// A file of the work tree could not be written or removed.
    #[error("could not write `{path}`: {error}")]
    Write {
        /// The file, beneath the work tree.
        path: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A file operation failed.
    #[error("could not create the temporary git directory: {0}")]
    Io(#[from] io::Error),
}

/// A git repository, for reading.
#[derive(Clone, Debug)]
pub struct Git {
    work_tree: PathBuf,
    scratch: PathBuf,
    environment: Environment,
    supervisor: Supervisor,
}

impl Git {
    /// Opens the repository whose work tree has its top at `work_tree`. `scratch` must be a directory outside it.
    ///
    /// # Errors
    /// [`GitError`] if there is no repository, or it refers to a git directory that does not belong to it.
    pub fn open(
        work_tree: &Path,
        scratch: &Path,
        environment: &Environment,
        supervisor: &Supervisor,
    ) -> Result<Self, GitError> {
        let work_tree = work_tree.canonicalize()?;
        let directories = Directories::find(&work_tree)?;
        extensions(&small_file(&directories.common.join("config"))?)?;
        let environment = environment.clone().with_untrusted_directories([&work_tree]);
        Ok(Self {
            work_tree,
            scratch: scratch.to_owned(),
            environment: safe_environment(&environment),
            supervisor: supervisor.clone(),
        })
    }

    /// Returns the branch that is checked out; `None` if `HEAD` is detached.
    ///
    /// # Errors
    /// [`GitError`].
    pub async fn branch(&self) -> Result<Option<String>, GitError> {
        match self.read(["symbolic-ref", "--short", "-q", "HEAD"]).await {
            Ok(name) => Ok(Some(name.trim_end().to_owned()).filter(|name| !name.is_empty())),
            Err(GitError::Failed { message, .. }) if message.is_empty() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns changed and new files, in git's short format.
    ///
    /// # Errors
    /// [`GitError`].
    pub async fn status(&self) -> Result<String, GitError> {
        self.read([
            "status",
            "--porcelain=v1",
            "--branch",
            "--untracked-files=normal",
            "--ignore-submodules=all",
        ])
        .await
    }

    /// Returns the difference between a commit (or the index, if `None`) and the work tree.
    ///
    /// # Errors
    /// [`GitError`].
    pub async fn diff(&self, since: Option<&str>) -> Result<String, GitError> {
        let mut words =
            vec!["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"];
        words.extend(since);
        words.push("--");
        self.read(words).await
    }

    /// Returns the last commits, one line each.
    ///
    /// # Errors
    /// [`GitError`].
    pub async fn log(&self, count: usize) -> Result<String, GitError> {
        let count = format!("--max-count={count}");
        self.read([
            "log",
            "--no-show-signature",
            "--no-color",
            "--format=%h %ad %an: %s",
            "--date=short",
            &count,
        ])
        .await
    }

    /// Runs a reading command and returns its output.
    ///
    /// # Errors
    /// [`GitError`].
    async fn read<T: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = T>) -> Result<String, GitError> {
        let words: Vec<OsString> = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        let view = TemporaryGitDir::make(&self.scratch, &Directories::find(&self.work_tree)?)?;
        let ran = self.run(&view.0, words, TIME, &[0]).await;
        // The caller need not wait until the directory is removed.
        drop(tokio::task::spawn_blocking(move || view.remove_leftovers()));
        ran
    }

    /// Runs git with this git directory. Returns its output if it ends with one of these codes.
    async fn run(
        &self,
        git_directory: &Path,
        words: Vec<OsString>,
        time: Duration,
        codes: &[i32],
    ) -> Result<String, GitError> {
        Ok(self.output(git_directory, words, time, codes).await?.text())
    }

    /// Does the same as [`run`](Self::run), and returns the output in bytes.
    async fn output(
        &self,
        git_directory: &Path,
        words: Vec<OsString>,
        time: Duration,
        codes: &[i32],
    ) -> Result<CapturedOutput, GitError> {
        let command = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        let limits =
            CaptureLimits { head: OUTPUT_LIMIT / 2, tail: OUTPUT_LIMIT / 2, ..CaptureLimits::default() };
        let launch = Launch::new("git", &self.work_tree)
            .with_arguments([
                "--no-pager",
                "--no-optional-locks",
                "--no-replace-objects",
                "--literal-pathspecs",
            ])
            .with_arguments(words)
            .with_environment(
                self.environment
                    .clone()
                    .with("GIT_DIR", git_directory)
                    .with("GIT_WORK_TREE", &self.work_tree),
            )
            .with_output(Output::Separate)
            .with_capture(limits)
            .with_time(Some(time));
        let finished = self.supervisor.run(launch, &CancellationToken::new()).await?;
        match (finished.exit, finished.end) {
            (Exit::Code(code), End::Exited) if codes.contains(&code) => Ok(finished.output),
            (_, End::TimedOut) => {
                let message = format!("it took longer than {} s", time.as_secs());
                Err(GitError::Failed { command, message })
            }
            _ => Err(GitError::Failed { command, message: finished.errors.text().trim().to_owned() }),
        }
    }
}

/// What the names of temporary git directories begin with.
const PREFIX: &str = "git-";

/// The temporary git directory; removed on drop.
struct TemporaryGitDir(PathBuf);

impl TemporaryGitDir {
    fn make(scratch: &Path, directories: &Directories) -> Result<Self, GitError> {
        use rustix::fs::{Mode, symlink};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let extensions = extensions(&small_file(&directories.common.join("config"))?)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let view = Self(scratch.join(format!("{PREFIX}{}-{number}", std::process::id())));
        rustix::fs::mkdir(&view.0, Mode::from_raw_mode(0o700)).map_err(io::Error::from)?;
        let version = u8::from(!extensions.is_empty());
        let format = format!("[core]\n\trepositoryFormatVersion = {version}\n{extensions}");
        write(&view.0.join("config"), &format!("{CONFIGURATION}{format}"))?;
        write(&view.0.join("HEAD"), &small_file(&directories.own.join("HEAD"))?)?;
        let own = OWN.iter().map(|name| (name, &directories.own));
        let shared = SHARED.iter().map(|name| (name, &directories.common));
        for (name, place) in own.chain(shared) {
            let target = place.join(name);
            if target.symlink_metadata().is_ok() {
                symlink(&target, view.0.join(name)).map_err(io::Error::from)?;
            }
        }
        // An empty repository may have neither yet; git requires them.
        for name in ["objects", "refs"] {
            let _ = rustix::fs::mkdir(view.0.join(name), Mode::from_raw_mode(0o700));
        }
        // The user's ignore list is plain text and executes nothing.
        if let Ok(exclude) = small_file(&directories.common.join("info/exclude")) {
            rustix::fs::mkdir(view.0.join("info"), Mode::from_raw_mode(0o700)).map_err(io::Error::from)?;
            write(&view.0.join("info/exclude"), &exclude)?;
        }
        Ok(view)
    }

    /// Removes directories like this one that are much older: their processes were killed.
    fn remove_leftovers(&self) {
        let modified = |path: &Path| path.symlink_metadata()?.modified();
        let (Ok(now), Some(Ok(entries))) = (modified(&self.0), self.0.parent().map(std::fs::read_dir)) else {
            return;
        };
        for entry in entries.flatten() {
            let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
                && entry.file_type().is_ok_and(|kind| kind.is_dir());
            let age = modified(&entry.path()).ok().and_then(|then| now.duration_since(then).ok());
            if is_ours && age.is_some_and(|age| age > LEFTOVER_AGE) {
                drop(Self(entry.path()));
            }
        }
    }
}

impl Drop for TemporaryGitDir {
    fn drop(&mut self) {
        for name in OWN.iter().chain(SHARED).chain(&["HEAD", "config", "info/exclude"]) {
            let _ = rustix::fs::unlink(self.0.join(name));
        }
        for name in ["info", "objects", "refs", ""] {
            let _ = rustix::fs::rmdir(self.0.join(name));
        }
    }
}

/// Keeps only the variables that git needs to run; sets every variable that controls it.
fn safe_environment(environment: &Environment) -> Environment {
    environment
        .retain(&["PATH", "TZ"])
        .with_trusted_path()
        .with("LC_ALL", "C.UTF-8")
        .with("HOME", "/nonexistent")
        .with("GIT_CONFIG_NOSYSTEM", "1")
        .with("GIT_CONFIG_SYSTEM", "/dev/null")
        .with("GIT_CONFIG_GLOBAL", "/dev/null")
        .with("GIT_ATTR_NOSYSTEM", "1")
        .with("GIT_OPTIONAL_LOCKS", "0")
        .with("GIT_NO_LAZY_FETCH", "1")
        .with("GIT_TERMINAL_PROMPT", "0")
        .with("GIT_ASKPASS", "/bin/false")
        .with("GIT_PAGER", "cat")
        .with("GIT_EDITOR", "/bin/false")
        .with("GIT_CEILING_DIRECTORIES", "/")
        .with_git_setting("safe.bareRepository", "explicit")
}

/// Where a work tree keeps its own files, and those shared with other work trees of the same repository.
struct Directories {
    own: PathBuf,
    common: PathBuf,
}

impl Directories {
    fn find(work_tree: &Path) -> Result<Self, GitError> {
        let dot = work_tree.join(".git");
        let Ok(found) = dot.symlink_metadata() else {
            return Err(GitError::NotARepository(work_tree.to_owned()));
        };
        if found.is_dir() {
            // A git directory that shares another's objects through this file is not a plain repository.
            if dot.join("commondir").symlink_metadata().is_ok() {
                return Err(GitError::Foreign(dot));
            }
            return Ok(Self { own: dot.clone(), common: dot });
        }
        if !found.is_file() {
            return Err(GitError::Foreign(dot));
        }
        let text = small_file(&dot)?;
        let named = text.strip_prefix("gitdir:").map(str::trim).filter(|path| !path.is_empty());
        let own = named.map(|path| work_tree.join(path)).and_then(|path| path.canonicalize().ok());
        let Some(own) = own else { return Err(GitError::Foreign(dot)) };
        // The directory of a linked work tree names the work tree; the directory of an unrelated repository does not.
        let back = small_file(&own.join("gitdir")).ok().map(|path| PathBuf::from(path.trim()));
        if back.and_then(|back| back.canonicalize().ok()).as_ref() != dot.canonicalize().ok().as_ref() {
            return Err(GitError::Foreign(dot));
        }
        let common = small_file(&own.join("commondir"))?;
        let common = own.join(common.trim()).canonicalize()?;
        // And it is where the repository keeps such directories.
        if own.parent() != Some(common.join("worktrees").as_path()) {
            return Err(GitError::Foreign(dot));
        }
        Ok(Self { own, common })
    }
}

/// Returns the repository's format as lines for our configuration. Accepts only known settings that change how objects
/// and references are read, and only known values.
fn extensions(configuration: &str) -> Result<String, GitError> {
    let mut section = String::new();
    let mut lines = String::new();
    for line in configuration.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.split([']', ' ', '"']).next().unwrap_or_default().to_ascii_lowercase();
        }
        if section != "extensions" || line.starts_with('[') {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_ascii_lowercase());
        match (name.as_str(), value.as_str()) {
            ("objectformat", "sha1" | "sha256") | ("refstorage", "files" | "reftable") => {
                lines.push_str(&format!("\t{name} = {value}\n"));
            }
            // These do not change how objects or references are read.
            ("worktreeconfig" | "relativeworktrees" | "noop" | "partialclone" | "preciousobjects", _) => {}
            _ => return Err(GitError::Format(name)),
        }
    }
    Ok(if lines.is_empty() { lines } else { format!("[extensions]\n{lines}") })
}

fn small_file(path: &Path) -> io::Result<String> {
    use std::io::Read;
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
    let file = std::fs::File::from(rustix::fs::open(path, flags, rustix::fs::Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = String::new();
    file.take(SMALL_FILE).read_to_string(&mut text)?;
    Ok(text)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    let flags = rustix::fs::OFlags::WRONLY
        | rustix::fs::OFlags::CREATE
        | rustix::fs::OFlags::EXCL
        | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, rustix::fs::Mode::from_raw_mode(0o600))?;
    std::fs::File::from(file).write_all(text.as_bytes())
}
