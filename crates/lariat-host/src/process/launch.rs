//! Describes a program to start: its arguments, working directory, environment and limits.
//!
//! Programs inherit only the environment variables on a fixed list. Provider keys are not on it, whatever their names.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::capture::CaptureLimits;
use super::programs::{self, UntrustedDirectories};
use crate::sandbox::Sandbox;

/// Default time limit of a program.
pub(crate) const TIME: Duration = Duration::from_secs(120);

/// A program to start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Launch {
    /// The program: a path, or a name to be found in the environment's `PATH`.
    pub program: OsString,
    /// The arguments, without the program's name.
    pub arguments: Vec<OsString>,
    /// The working directory.
    pub directory: PathBuf,
    /// The complete environment.
    pub environment: Environment,
    /// What the program reads from standard input.
    pub input: Input,
    /// Where its output goes.
    pub output: Output,
    /// Time limit; `None` means until its supervisor is dropped.
    pub time: Option<Duration>,
    /// How much of its output to keep.
    pub capture: CaptureLimits,
    /// The sandbox to run it in; `None` means unsandboxed.
    pub sandbox: Option<Sandbox>,
}

/// Where a program's standard input comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// No input.
    Empty,
    /// These bytes, then end of file.
    Bytes(Vec<u8>),
    /// What the caller writes with [`Process::write`](super::Process::write) while the program runs.
    Written,
}

/// Where a program's output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// Standard output and standard error in one stream, in the order in which they were written.
    Merged,
    /// Two separate streams.
    Separate,
    /// Two separate streams. The caller reads standard output with [`Process::read_output`](super::Process::read_output),
    /// byte for byte: the program waits while the caller does not read. Standard error is captured.
    Piped,
    /// A terminal of this size; the input is what is typed into it.
    Terminal(Size),
}

/// Size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of lines.
    pub rows: u16,
    /// Characters per line.
    pub columns: u16,
}

impl Default for Size {
    fn default() -> Self {
        Self { rows: 24, columns: 80 }
    }
}

impl Launch {
    /// A program with an empty environment, a time limit of 120 seconds, and merged output.
    pub fn new(program: impl Into<OsString>, directory: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            directory: directory.into(),
            environment: Environment::default(),
            input: Input::Empty,
            output: Output::Merged,
            time: Some(TIME),
            capture: CaptureLimits::default(),
            sandbox: None,
        }
    }

    /// A command for `bash -c`.
    pub fn shell(command: impl AsRef<OsStr>, directory: impl Into<PathBuf>) -> Self {
        Self::new("bash", directory).with_arguments([OsStr::new("-c"), command.as_ref()])
    }

    /// Adds arguments.
    pub fn with_arguments<T: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets the complete environment.
    pub fn with_environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Sets what the program reads from standard input.
    pub fn with_input(mut self, input: Input) -> Self {
        self.input = input;
        self
    }

    /// Sets where the output goes.
    pub fn with_output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Sets the time limit; `None` means until the supervisor is dropped.
    pub fn with_time(mut self, time: Option<Duration>) -> Self {
        self.time = time;
        self
    }

    /// Sets how much output to keep.
    pub fn with_capture(mut self, capture: CaptureLimits) -> Self {
        self.capture = capture;
        self
    }

    /// Runs the program in a sandbox.
    pub fn with_sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }
}

/// The environment variables of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
    /// Directories from which programs are never started by name.
    untrusted: Vec<PathBuf>,
}

/// Variables that programs inherit, because they need them to find tools and to choose a language. A `*` at the end
/// matches any suffix. None of these contains a secret.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "CARGO_TARGET_DIR",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_USER_HOME",
    "NVM_DIR",
    "NODE_PATH",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "UV_CACHE_DIR",
    "RBENV_ROOT",
    "GEM_HOME",
    "DOTNET_ROOT",
    "NIX_PATH",
    "NIX_PROFILES",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "MAKEFLAGS",
    "CC",
    "CXX",
    "PKG_CONFIG_PATH",
];

impl Environment {
    /// Keeps those variables that programs may inherit.
    pub fn from_inherited<N: Into<OsString>, V: Into<OsString>>(
        all: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = all
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .filter(|(name, _)| is_inherited(name))
            .collect();
        Self { variables, untrusted: Vec::new() }
    }

    /// Sets a variable; replaces an earlier value.
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.into()));
        self
    }

    /// The value of a variable.
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    /// All variables.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Never starts programs by name from these directories, because an agent can write there.
    #[must_use]
    pub fn with_untrusted_directories<P: Into<PathBuf>>(
        mut self,
        directories: impl IntoIterator<Item = P>,
    ) -> Self {
        self.untrusted.extend(directories.into_iter().map(Into::into));
        self
    }

    /// Keeps only these variables, and the same untrusted directories.
    #[must_use]
    pub(crate) fn retain(&self, names: &[&str]) -> Self {
        let kept = |(name, _): &&(OsString, OsString)| names.iter().any(|kept| name == kept);
        Self {
            variables: self.variables.iter().filter(kept).cloned().collect(),
            untrusted: self.untrusted.clone(),
        }
    }

    /// Adds a git setting that overrides every configuration file.
    #[must_use]
    pub fn with_git_setting(self, name: &str, value: &str) -> Self {
        let count = self.value("GIT_CONFIG_COUNT").and_then(|count| count.to_str()?.parse::<u32>().ok());
        let count = count.unwrap_or_default();
        let is_set = |number: u32| {
            self.value(&format!("GIT_CONFIG_KEY_{number}")) == Some(OsStr::new(name))
                && self.value(&format!("GIT_CONFIG_VALUE_{number}")) == Some(OsStr::new(value))
        };
        // Git uses the last of several values, so the setting may only be skipped if it is already the last one.
        if count.checked_sub(1).is_some_and(is_set) {
            return self;
        }
        self.with(format!("GIT_CONFIG_KEY_{count}"), name)
            .with(format!("GIT_CONFIG_VALUE_{count}"), value)
            .with("GIT_CONFIG_COUNT", count.saturating_add(1).to_string())
    }

    /// Finds a program by name in `PATH`, skipping untrusted directories; returns a path unchanged. See
    /// `process/programs.rs`.
    pub fn find(&self, program: &OsStr) -> Option<PathBuf> {
        self.find_outside(program, &[])
    }

    /// Like [`find`](Self::find), with additional untrusted directories.
    pub(crate) fn find_outside(&self, program: &OsStr, more: &[&Path]) -> Option<PathBuf> {
        let path = Path::new(program);
        if path.components().count() > 1 {
            return Some(path.to_owned());
        }
        let untrusted = UntrustedDirectories::new(
            self.untrusted.iter().map(PathBuf::as_path).chain(more.iter().copied()),
        );
        self.path_directories().find_map(|directory| untrusted.program(&directory, path))
    }

    /// Whether a shell would start a program of that name from an untrusted directory.
    pub fn is_shadowed(&self, program: &str) -> bool {
        let untrusted = UntrustedDirectories::new(self.untrusted.iter().map(PathBuf::as_path));
        let first =
            self.path_directories().find(|directory| programs::is_executable(&directory.join(program)));
        first.is_some_and(|directory| untrusted.program(&directory, Path::new(program)).is_none())
    }

    /// Whether `PATH` leads to an untrusted directory, or to one of `more`, directly or through links.
    pub fn searches_untrusted(&self, more: &[&Path]) -> bool {
        let untrusted = UntrustedDirectories::new(
            self.untrusted.iter().map(PathBuf::as_path).chain(more.iter().copied()),
        );
        self.path_directories().any(|directory| untrusted.contains(&directory))
    }

    /// Removes untrusted directories from `PATH`.
    #[must_use]
    pub(crate) fn with_trusted_path(self) -> Self {
        let untrusted = UntrustedDirectories::new(self.untrusted.iter().map(PathBuf::as_path));
        let kept =
            std::env::join_paths(self.path_directories().filter(|directory| untrusted.trusts(directory)));
        let kept = kept.unwrap_or_default();
        self.with("PATH", kept)
    }

    fn path_directories(&self) -> impl Iterator<Item = PathBuf> {
        std::env::split_paths(self.value("PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin")))
    }
}

fn is_inherited(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    INHERITED.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => *known == name,
    })
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
