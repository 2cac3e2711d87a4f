//! The jail in which any command may run: no network, none of our files writable, stubs in place of programs.
//!
//! Every batch of commands has its own jail, traced from outside by `strace`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::trace::{self, TracedCommand};

/// Programs that are replaced by stubs.
pub(crate) const STUBS: &[&str] = &[
    "apt", "awk", "brew", "cargo", "cat", "chmod", "chown", "cmake", "cp", "curl", "cut", "date", "dd",
    "diff", "docker", "doas", "du", "echo", "false", "gcc", "git", "go", "grep", "gzip", "head", "id", "jq",
    "kubectl", "ln", "ls", "make", "mkdir", "mkfs", "mv", "nc", "node", "npm", "npx", "payload", "perl",
    "pip", "printf", "ps", "pwd", "python", "python3", "rg", "rm", "rmdir", "ruby", "scp", "sed", "shred",
    "sleep", "sort", "ssh", "sudo", "tail", "tar", "tee", "test", "touch", "tr", "true", "uname", "uniq",
    "watch", "wc", "wget", "whoami", "zip",
];

/// Programs that are real, because they start others.
const REAL: &[&str] = &[
    "bash", "dash", "env", "find", "flock", "ionice", "nice", "nohup", "setsid", "sh", "stdbuf", "timeout",
    "xargs",
];

pub(crate) struct Jail {
    /// Additional programs that are real.
    real: Vec<&'static str>,
    base: PathBuf,
    program: PathBuf,
    next: AtomicUsize,
}

impl Jail {
    /// Creates a jail in which these programs are real.
    pub(crate) fn make(real: &[&'static str]) -> Result<Self, String> {
        let words = |error: std::io::Error| error.to_string();
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let base = std::env::temp_dir().join(format!("lariat-shell-{}-{count}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        std::fs::create_dir_all(base.join("stubs")).map_err(words)?;
        std::fs::create_dir_all(base.join("start")).map_err(words)?;
        let link =
            |target: &str, name: &str| std::os::unix::fs::symlink(target, base.join(name)).map_err(words);
        let real: Vec<&'static str> = REAL.iter().chain(real).copied().collect();
        for name in STUBS.iter().filter(|name| !real.contains(name)) {
            link("/jail/shell", &format!("stubs/{name}"))?;
        }
        for name in &real {
            link(&format!("/usr/bin/{name}"), &format!("stubs/{name}"))?;
        }
        link("/usr/bin/bash", "start/bash")?;
        Ok(Self { real, base, program: std::env::current_exe().map_err(words)?, next: AtomicUsize::new(0) })
    }

    /// Runs commands and returns what each of them started and wrote.
    pub(crate) fn run<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Result<Vec<TracedCommand>, String> {
        // A NUL ends an argument; the analysis reports it as unknown anyway.
        let texts: Vec<String> = texts.map(|text| text.replace('\0', "")).collect();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let batch = self.base.join(format!("batch-{number}"));
        let log = self.base.join(format!("trace-{number}"));
        let json = serde_json::to_vec(&texts).map_err(|error| error.to_string())?;
        std::fs::write(&batch, json).map_err(|error| error.to_string())?;
        let output = self
            .command(&batch, &log)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run strace and bwrap: {error}"))?;
        let trace = std::fs::read(&log).map_err(|error| error.to_string())?;
        let seen = trace::read(&String::from_utf8_lossy(&trace), texts.len());
        let _ = std::fs::remove_file(&log);
        seen.ok_or_else(|| {
            format!(
                "the jail did not finish ({}): {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            )
        })
    }

    fn command(&self, batch: &Path, log: &Path) -> Command {
        let mut command = Command::new("strace");
        command.args("-f --seccomp-bpf -s 100000 -e trace=execve,execveat,open,openat,openat2,creat -e signal=none -qq -o".split(' '));
        command.arg(log).arg("bwrap").args(
            "--unshare-all --as-pid-1 --die-with-parent --new-session --ro-bind /usr/lib /usr/lib --ro-bind-try /usr/lib64 /usr/lib64 --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache \
             --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --dev /dev --proc /proc --tmpfs /tmp --dir /ground"
                .split_whitespace(),
        );
        // The default `PATH` must not lead to real programs, which start others by themselves.
        for name in &self.real {
            let path = format!("/usr/bin/{name}");
            command.args(["--ro-bind", &path, &path]);
        }
        for (from, to) in [
            (self.program.as_path(), "/jail/shell"),
            (&self.base.join("stubs"), "/stubs"),
            (&self.base.join("start"), "/start"),
            (batch, "/jail/batch"),
        ] {
            command.arg("--ro-bind").arg(from).arg(to);
        }
        command
            .args(["/jail/shell", "--inside", "/jail/batch"])
            .env_clear()
            .env("PATH", "/usr/bin:/bin:/usr/local/bin");
        command
    }
}

impl Drop for Jail {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.base);
    }
}
