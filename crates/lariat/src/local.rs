//! What the guard needs of a machine, on this one.
//!
//! Owns the adapters between the guard's contracts and the host: a workspace's files for [`Manifest::of`], where paths
//! really lead for the rules, and programs for hooks. The guard decides and the host acts; neither knows the other.
//!
//! [`Manifest::of`]: lariat_guard::trust::Manifest::of

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_guard::Resolver;
use lariat_guard::hooks::{Ended, Handler, HookRunner, Way};
use lariat_guard::trust::{Entry, Identity, Look};
use lariat_host::files::{FileError, Kind, Workspace};
use lariat_host::process::{CaptureLimits, End, Environment, Exit, Input, Launch, Output, Supervisor};
use lariat_host::sandbox::Sandbox;

/// More names than this in one directory are not looked at: the guard refuses earlier.
const MOST_NAMES: usize = 10_000;

/// The files of a workspace, through its own handle: no link leads out of it.
#[derive(Clone, Copy, Debug)]
pub struct WorkspaceFiles<'a>(pub &'a Workspace);

impl WorkspaceFiles<'_> {
    /// Which directory it is.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn identity(&self) -> std::io::Result<Identity> {
        let root = self.0.roots().first().ok_or(std::io::ErrorKind::NotFound)?;
        let state = std::fs::File::from(root.handle().try_clone()?).metadata()?;
        let path = self.0.path().canonicalize()?.display().to_string();
        Ok(Identity { path, device: state.dev(), inode: state.ino() })
    }
}

impl Look for WorkspaceFiles<'_> {
    fn entries(&self, folder: &str) -> Result<Vec<Entry>, String> {
        let (names, more) = match self.0.list(folder, MOST_NAMES) {
            Ok(listed) => listed,
            Err(FileError::NotFound { .. } | FileError::NotADirectory(_)) => return Ok(Vec::new()),
            Err(error) => return Err(error.to_string()),
        };
        if more {
            return Err(format!("it holds more than {MOST_NAMES} names"));
        }
        let entry = |entry: lariat_host::files::Entry| {
            let name = entry.name.into_string().map_err(|name| format!("{name:?} is not UTF-8"))?;
            Ok(match entry.kind {
                Kind::File => Entry::File(name),
                Kind::Directory => Entry::Folder(name),
                Kind::Link => Entry::Link(name, String::new()),
                _ => Entry::Other(name),
            })
        };
        names.into_iter().map(entry).collect()
    }

    fn read(&self, path: &str, limit: usize) -> Result<Option<Vec<u8>>, String> {
        let file = match self.0.file(path) {
            Ok((file, _)) => file,
            Err(FileError::NotFound { .. } | FileError::IsDirectory(_) | FileError::NotADirectory(_)) => {
                return Ok(None);
            }
            Err(error) => return Err(error.to_string()),
        };
        let mut bytes = Vec::new();
        file.take(limit as u64).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok(Some(bytes))
    }
}

/// Where paths really lead, by this machine's links.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealPaths;

impl Resolver for RealPaths {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let mut missing = Vec::new();
        let mut there = path;
        loop {
            match there.canonicalize() {
                Ok(real) => {
                    return Some(missing.iter().rev().fold(real, |path, part| path.join(part)));
                }
                // A link that leads to nothing leads somewhere all the same, so it is not what is missing.
                Err(_) if there.is_symlink() => return None,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    let Some(Component::Normal(name)) = there.components().next_back() else { return None };
                    missing.push(name);
                    there = there.parent()?;
                }
                Err(_) => return None,
            }
        }
    }
}

/// Starts programs for hooks: in the project's directory, with an environment of the caller's choice, and gone with
/// everything they started when their time is over.
#[derive(Clone, Debug)]
pub struct HookPrograms {
    supervisor: Supervisor,
    directory: PathBuf,
    environment: Environment,
    sandbox: Option<Sandbox>,
}

/// What is kept of a hook's output.
const KEPT: usize = 1024 * 1024;

impl HookPrograms {
    /// Programs in a directory. `CLAUDE_PROJECT_DIR` names it to them.
    pub fn new(supervisor: Supervisor, directory: impl Into<PathBuf>, environment: Environment) -> Self {
        let directory = directory.into();
        let environment = environment.with("CLAUDE_PROJECT_DIR", directory.as_os_str());
        Self { supervisor, directory, environment, sandbox: None }
    }

    /// Confines them.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }
}

impl HookRunner for HookPrograms {
    fn run<'a>(&'a self, handler: &'a Handler, input: &'a str) -> BoxFuture<'a, Ended> {
        let launch = match &handler.way {
            Way::Shell(command) => Launch::shell(command, &self.directory),
            Way::Program(program, arguments) => {
                Launch::new(self.environment.find(program.as_ref()), &self.directory)
                    .with_arguments(arguments)
            }
            Way::Post { .. } => {
                return Box::pin(async { Ended::Failed("hooks by HTTP are not supported".to_owned()) });
            }
        };
        let mut launch = launch
            .with_environment(self.environment.clone())
            .with_input(Input::Bytes(input.as_bytes().to_vec()))
            .with_output(Output::Separate)
            .with_capture(CaptureLimits { head: KEPT, tail: 0, ..CaptureLimits::default() })
            .with_time(Some(handler.timeout));
        if let Some(sandbox) = &self.sandbox {
            launch = launch.with_sandbox(sandbox.clone());
        }
        Box::pin(async move {
            match self.supervisor.run(launch, &CancellationToken::new()).await {
                Ok(done) if done.end == End::TimedOut => Ended::TimedOut,
                Ok(done) => match done.exit {
                    Exit::Code(code) => {
                        Ended::Exited { code, output: done.output.text(), errors: done.errors.text() }
                    }
                    other => Ended::Failed(format!("it ended by {other:?}")),
                },
                Err(error) => Ended::Failed(error.to_string()),
            }
        })
    }
}
