//! A temporary home and project, and the program started in them.
//!
//! Invariant: the program sees only the variables that are set here, and no program outlives its time limit.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lariat_proofs::proof::option;

/// Longest time that the program may run in a proof.
const TIME: Duration = Duration::from_secs(60);
/// Delay between two looks at whether the program has ended.
const LOOK: Duration = Duration::from_millis(3);
/// Switches on a mistake that is planted in a copy of the program (`xtask/mistakes`).
const MISTAKE_SWITCH: &str = "PLANTED_MISTAKE";

/// The program that the options name, or the one beside this proof.
pub(crate) fn program(options: &[&str]) -> Result<PathBuf, String> {
    let path = match option(options, "--program") {
        Some(path) => PathBuf::from(path),
        None => std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("lariat"),
    };
    if path.is_file() {
        return path.canonicalize().map_err(|error| error.to_string());
    }
    Err(format!("no program at {}; build it with `cargo build -p lariat-cli --bin lariat`", path.display()))
}

/// A home, removed on drop.
pub(crate) struct Home {
    root: PathBuf,
    program: PathBuf,
    variables: Vec<(String, String)>,
}

/// How the program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` after a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Home {
    /// Creates an empty home and project, with the user's settings.
    pub(crate) fn new(program: &Path, settings: &str) -> std::io::Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("lariat-program-{}-{count}", std::process::id()));
        let home = Self { root, program: program.to_owned(), variables: Vec::new() };
        for folder in ["work", "config/lariat", "state"] {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home.path(folder))?;
        }
        std::fs::write(home.path("config/lariat/config.toml"), settings)?;
        Ok(home)
    }

    /// Sets a variable.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A path in the home. The project is `work`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The program with these arguments, in the project.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.path("work")).env_clear();
        command
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", &self.root)
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("LANG", "C.UTF-8")
            .envs(std::env::var_os(MISTAKE_SWITCH).map(|mistake| (MISTAKE_SWITCH, mistake)))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<Ended, String> {
        self.start(arguments)?.wait()
    }

    /// Starts the program.
    pub(crate) fn start(&self, arguments: &[&str]) -> Result<Running, String> {
        let child = self.command(arguments).spawn();
        let child = child.map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        Ok(Running { child, name: arguments.join(" ") })
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// The program while it runs. It is killed on drop.
pub(crate) struct Running {
    child: Child,
    name: String,
}

impl Running {
    /// Kills the program.
    pub(crate) fn kill(mut self) -> Result<Ended, String> {
        // If it has already ended, its exit code says so.
        let _ = self.child.kill();
        self.wait()
    }

    /// Waits for a condition while the program runs.
    pub(crate) fn wait_for(&mut self, what: &str, holds: impl Fn() -> bool) -> Result<(), String> {
        let start = Instant::now();
        while !holds() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("`lariat {}` ended with {status} before {what}", self.name));
            }
            if start.elapsed() > TIME {
                return Err(format!("`lariat {}`: no {what} after {} s", self.name, TIME.as_secs()));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Waits for the end of the program.
    pub(crate) fn wait(mut self) -> Result<Ended, String> {
        let (stdout, stderr) = (read_all(self.child.stdout.take()), read_all(self.child.stderr.take()));
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().map_err(|error| error.to_string())? {
                Some(status) => break status,
                None if start.elapsed() > TIME => {
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    return Err(format!("`lariat {}` did not end in {} s", self.name, TIME.as_secs()));
                }
                None => std::thread::sleep(LOOK),
            }
        };
        let bytes = |reader: std::thread::JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
        Ok(Ended { code: status.code(), stdout: bytes(stdout), stderr: bytes(stderr) })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a pipe to its end on a thread of its own, so that the program never waits for the reader.
fn read_all(pipe: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}
