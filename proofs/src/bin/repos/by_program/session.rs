//! Runs the program in a hostile repository, as a user does, and has `strace` record it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::super::repository::Layout;
use super::ProgramMistake;
use super::trace::{Allowed, RunTrace, read};

/// Longest time of a run in seconds: a longer one hangs.
const SECONDS: &str = "60";

/// An address at which nothing listens.
const ELSEWHERE: &str = "http://127.0.0.1:9/";

/// A user with settings, and the program.
pub(super) struct Session<'a> {
    pub(super) layout: &'a Layout,
    pub(super) program: PathBuf,
    pub(super) model: SocketAddr,
    pub(super) mistake: Option<ProgramMistake>,
    /// Distinguishes parallel sessions.
    pub(super) lane: usize,
}

/// How a run ended.
#[derive(Debug)]
pub(super) struct ProgramRun {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) trace: RunTrace,
}

/// Programs that may run on behalf of a read-only call that needs no approval, and git, which Lariat queries itself.
const PROGRAMS: &[&str] = &["git", "bash", "cat"];

impl Session<'_> {
    /// The home of this lane.
    fn home(&self) -> PathBuf {
        self.layout.base.join(format!("home-{}", self.lane))
    }

    /// Writes the user's settings.
    pub(super) fn prepare(&self, base_url: &str) -> std::io::Result<()> {
        let config = self.home().join(".config/lariat");
        std::fs::create_dir_all(&config)?;
        let base_url = match self.mistake {
            Some(ProgramMistake::SendsElsewhere) => ELSEWHERE,
            _ => base_url,
        };
        // Otherwise `doctor` looks for model servers on this machine.
        let none = ["ollama", "lmstudio", "llamacpp"]
            .map(|name| format!("[providers.{name}]\nbase_url = \"http://{}/none\"\n", self.model))
            .concat();
        let settings = format!(
            "model = \"test/scripted\"\n{none}[providers.test]\napi = \"anthropic-messages\"\n\
             base_url = \"{base_url}\"\nkey_env = \"TEST_KEY\"\n[retry]\nattempts = 0\n"
        );
        std::fs::write(config.join("config.toml"), settings)
    }

    /// Runs the program in a directory.
    pub(super) fn run(&self, directory: &Path, arguments: &[&str]) -> Result<ProgramRun, String> {
        let words = |error: std::io::Error| error.to_string();
        let log = self.layout.base.join(format!("trace-of-program-{}", self.lane));
        let mut command = Command::new("timeout");
        command
            .args([SECONDS, "strace"])
            .args("-f --seccomp-bpf -s 200 -e trace=execve,execveat,connect -e signal=none -qq -o".split(' '))
            .arg(&log)
            .arg("--")
            .arg(&self.program)
            .args(arguments)
            .args(self.mistaken_arguments(arguments))
            .current_dir(directory)
            .env_clear()
            // The directory of the fake Yarn comes first, as that of the real one would.
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.layout.programs().display()))
            .env("HOME", self.home())
            .env("TEST_KEY", "sk-test")
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("cannot run strace: {error}"))?;
        let text = std::fs::read(&log).map_err(words)?;
        let allowed = Allowed { program: self.program.clone(), model: self.model, programs: PROGRAMS };
        let text_of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(ProgramRun {
            code: output.status.code(),
            stdout: text_of(&output.stdout),
            stderr: text_of(&output.stderr),
            trace: read(&String::from_utf8_lossy(&text), &allowed),
        })
    }

    /// The arguments that make the program behave as if it had the mistake.
    fn mistaken_arguments(&self, arguments: &[&str]) -> &'static [&'static str] {
        match self.mistake {
            Some(ProgramMistake::TrustsEverything) if arguments.first() == Some(&"run") => &["--trust"],
            Some(ProgramMistake::ApprovesEverything) if arguments.first() == Some(&"run") => {
                &["--mode", "bypass", "--no-sandbox"]
            }
            _ => &[],
        }
    }
}
