//! The environment of a sandboxed program, and the checks that it did not change.
//!
//! Has the directories of a case, the listeners, the victim process and every check. Each check runs after
//! each case, whatever the case claims to attempt. Invariant: the output of a program is used only as
//! evidence against it.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::super::words_of;
use super::case::Case;
use super::listeners::Listeners;
use super::network_namespace::NetworkNamespace;

/// Protected names in a workspace.
pub(super) const PROTECTED: [&str; 5] = [".git", ".lariat", ".claude", ".mcp.json", "lariat.toml"];
/// Directories in which programs try to leave a file.
const PLACES: [&str; 10] =
    ["/", "/tmp", "/var/tmp", "/etc", "/usr", "/dev", "/dev/shm", "/run", "/root", "/sys/fs/cgroup"];
/// Kernel settings that programs try to change.
const SETTINGS: [&str; 4] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/vm/overcommit_memory",
];
/// Environment variable that marks every process of a case.
pub(super) const MARKER: &str = "LARIAT_CASE";

pub(super) struct Scene {
    base: PathBuf,
    /// A random word in hidden files, in the victim's environment and in ours, and nowhere else.
    canary: String,
    /// The name of files that programs try to create outside.
    escape: String,
    listeners: Listeners,
    pub(super) namespace: Result<NetworkNamespace, String>,
    victim: Child,
    settings: Vec<Vec<u8>>,
    repository: PathBuf,
    /// The compiler that built this program, if it can be run.
    rustc: String,
    next: u32,
}

/// The folders of one case.
pub(super) struct CaseDirectories {
    base: PathBuf,
    pub(super) workspace: PathBuf,
    pub(super) home: PathBuf,
    pub(super) temporary: PathBuf,
    outside: PathBuf,
    before: Snapshot,
    marker: String,
    /// Our end of a named pipe outside.
    pipe: Option<std::fs::File>,
}

/// Paths with their contents.
type Snapshot = BTreeMap<PathBuf, Vec<u8>>;

impl Scene {
    pub(super) fn set(base: &Path, canary: &str, is_root: bool) -> Result<Self, String> {
        std::fs::create_dir_all(base).map_err(words_of)?;
        let base = base.canonicalize().map_err(words_of)?;
        let secret = base.join("victims-file");
        std::fs::write(&secret, canary).map_err(words_of)?;
        let victim = Command::new("bash")
            .args(["-c", "exec 9< victims-file; rm victims-file; exec sleep 100000"])
            .env_clear()
            .env("PATH", PATH)
            .env("SECRET", canary)
            .current_dir(&base)
            .stdin(Stdio::null())
            .spawn()
            .map_err(words_of)?;
        let repository = base.join("repository");
        let made = Command::new("bash")
            .arg("-c")
            .arg("git init -q r && cd r && echo a > a && git add a && git -c user.name=n -c user.email=e commit -qm first && mv ../r ../repository")
            .current_dir(&base)
            .env("HOME", &base)
            .output()
            .map_err(words_of)?;
        if !made.status.success() {
            return Err(format!("git: {}", String::from_utf8_lossy(&made.stderr)));
        }
        let namespace = if is_root { NetworkNamespace::make(&base) } else { Err("root only".to_owned()) };
        Ok(Self {
            listeners: Listeners::open(&base, &format!("lariat-{}", std::process::id()))?,
            namespace,
            canary: canary.to_owned(),
            escape: format!("lariat-escape-{}", std::process::id()),
            victim,
            settings: SETTINGS.iter().map(|path| std::fs::read(path).unwrap_or_default()).collect(),
            repository,
            rustc: rustc(),
            next: 0,
            base,
        })
    }

    /// Creates new directories for a case.
    pub(super) fn stage(&mut self, case: &Case) -> Result<CaseDirectories, String> {
        self.next += 1;
        let base = self.base.join(format!("case-{}", self.next));
        let mut stage = CaseDirectories {
            workspace: base.join("workspace"),
            home: base.join("home"),
            temporary: base.join("temporary"),
            outside: base.join("outside"),
            before: Snapshot::new(),
            marker: format!("{}-{}", self.escape, self.next),
            pipe: None,
            base,
        };
        self.create_files(&stage, case).map_err(words_of)?;
        stage.pipe = Some(open_pipe(&stage.outside.join("fifo")).map_err(words_of)?);
        stage.before = stage.snapshot();
        Ok(stage)
    }

    fn create_files(&self, stage: &CaseDirectories, case: &Case) -> std::io::Result<()> {
        let hidden = stage.home.join(".ssh");
        for path in [&stage.workspace, &stage.temporary, &stage.outside, &hidden] {
            std::fs::create_dir_all(path)?;
        }
        std::fs::create_dir_all(stage.outside.join("folder"))?;
        std::fs::write(hidden.join("key"), &self.canary)?;
        std::fs::write(stage.home.join(".netrc"), &self.canary)?;
        std::fs::write(stage.outside.join("file"), "untouched")?;
        std::fs::write(stage.outside.join("folder/file"), "untouched")?;
        rustix::fs::mkfifoat(rustix::fs::CWD, stage.outside.join("fifo"), 0o600.into())?;
        if case.wants("repository") {
            copy(&self.repository, &stage.workspace)?;
            std::fs::write(stage.workspace.join("lariat.toml"), "untouched")?;
            std::fs::create_dir_all(stage.workspace.join(".claude"))?;
            std::fs::write(stage.workspace.join(".claude/settings.json"), "{}")?;
        }
        if case.wants("links") {
            std::fs::create_dir_all(stage.workspace.join("real"))?;
            std::fs::write(stage.workspace.join("real/settings.json"), "{}")?;
            std::os::unix::fs::symlink("real", stage.workspace.join(".claude"))?;
        }
        if case.wants("root-inside") {
            std::fs::create_dir_all(stage.workspace.join("inner"))?;
        }
        Ok(())
    }

    /// Environment variables for the program.
    pub(super) fn variables(&self, stage: &CaseDirectories) -> Vec<(String, String)> {
        let text = |path: &Path| path.display().to_string();
        let mut variables = self.listeners.variables.clone();
        let own = [
            (MARKER, stage.marker.clone()),
            ("PATH", PATH.to_owned()),
            ("W", text(&stage.workspace)),
            ("OUT", text(&stage.outside)),
            ("HOME", text(&stage.home)),
            ("TMPDIR", text(&stage.workspace)),
            ("VICTIM", self.victim.id().to_string()),
            ("HARNESS", std::process::id().to_string()),
            ("ESC", self.escape.clone()),
            ("PIDNS", text(&std::fs::read_link("/proc/self/ns/pid").unwrap_or_default())),
            ("RUSTC", self.rustc.clone()),
            ("LANG", "C.UTF-8".to_owned()),
        ];
        variables.extend(own.map(|(name, value)| (name.to_owned(), value)));
        if let Ok(namespace) = &self.namespace {
            variables.push(("NETNS".to_owned(), namespace.address.clone()));
        }
        variables
    }

    /// Everything that changed. Also restores what it can, so that the next case is judged by itself.
    pub(super) fn damage(&mut self, stage: &CaseDirectories, output: &str) -> Vec<String> {
        let mut found = self.listeners.reached();
        if self.namespace.as_ref().is_ok_and(NetworkNamespace::was_reached) {
            found.push("the listener in another network namespace was reached".to_owned());
        }
        let mut bytes = [0_u8; 64];
        if stage.pipe.as_ref().is_some_and(|pipe| rustix::io::read(pipe, &mut bytes).is_ok()) {
            found.push("the named pipe outside was written".to_owned());
        }
        let after = stage.snapshot();
        let paths = stage.before.keys().chain(after.keys()).collect::<std::collections::BTreeSet<_>>();
        for path in paths.into_iter().filter(|path| stage.before.get(*path) != after.get(*path)) {
            found.push(format!("{} changed", path.display()));
        }
        for place in PLACES {
            let path = Path::new(place).join(&self.escape);
            if path.symlink_metadata().is_ok() {
                found.push(format!("{} was made", path.display()));
                let _ = std::fs::remove_file(&path);
                let _ = std::fs::remove_dir_all(&path);
            }
        }
        for (path, was) in SETTINGS.iter().zip(&self.settings) {
            if std::fs::read(path).unwrap_or_default() != *was {
                found.push(format!("{path} was changed"));
                let _ = std::fs::write(path, was);
            }
        }
        if output.contains(&self.canary) {
            found.push("a secret is in the output".to_owned());
        }
        if output.contains("ESCAPED") {
            found.push("the program reports that it escaped".to_owned());
        }
        found.extend(self.check_victim());
        let left = carriers(&stage.marker);
        if !left.is_empty() {
            found.push(format!("{} processes were left", left.len()));
        }
        found
    }

    fn check_victim(&self) -> Option<String> {
        let pid = self.victim.id();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        // A new process sleeps, or is about to.
        (!matches!(state, Some('S' | 'R' | 'D'))).then(|| format!("the victim is in state {state:?}"))
    }
}

/// The compiler itself, not the rustup proxy; empty if not found.
fn rustc() -> String {
    let asked = Command::new("rustc").args(["--print", "sysroot"]).output();
    let Some(asked) = asked.ok().filter(|asked| asked.status.success()) else { return String::new() };
    format!("{}/bin/rustc", String::from_utf8_lossy(&asked.stdout).trim())
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        let _ = std::fs::remove_dir_all(&self.base);
    }
}

/// Search path for programs, without any directory below a user's home.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl CaseDirectories {
    /// Everything outside the workspace, and the protected files in it.
    fn snapshot(&self) -> Snapshot {
        let mut found = Snapshot::new();
        for path in [&self.outside, &self.home] {
            note(path, &mut found);
        }
        for name in PROTECTED {
            note(&self.workspace.join(name), &mut found);
        }
        if self.workspace.join(".claude").is_symlink() {
            note(&self.workspace.join("real"), &mut found);
        }
        // No new entries may appear beside the directory.
        let names = std::fs::read_dir(&self.base).into_iter().flatten().filter_map(Result::ok);
        let mut names: Vec<_> = names.map(|entry| entry.file_name().into_encoded_bytes()).collect();
        names.sort();
        found.insert(self.base.clone(), names.join(&b'\n'));
        found
    }
}

impl Drop for CaseDirectories {
    fn drop(&mut self) {
        if std::fs::remove_dir_all(&self.base).is_ok() {
            return;
        }
        // A case may leave directories that even their owner cannot read.
        let _ = Command::new("chmod").args(["-R", "u+rwx"]).arg(&self.base).output();
        let _ = std::fs::remove_dir_all(&self.base);
    }
}

/// Records a path and everything below it. Git updates its index when it reads the status, which is not a
/// change.
fn note(path: &Path, found: &mut Snapshot) {
    let Ok(about) = path.symlink_metadata() else { return };
    let kind = format!("{:o} ", about.permissions().mode());
    let mut holds = kind.into_bytes();
    if about.is_symlink() {
        holds.extend(std::fs::read_link(path).unwrap_or_default().into_os_string().into_encoded_bytes());
    } else if about.is_file() {
        holds.extend(std::fs::read(path).unwrap_or_default());
    }
    found.insert(path.to_owned(), holds);
    if about.is_dir() {
        for entry in std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok) {
            note(&entry.path(), found);
        }
    }
}

/// Opens both directions, so that opening does not block.
fn open_pipe(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    std::fs::OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Processes with this marker in their environment.
pub(crate) fn carriers(marker: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| {
            variable.split(|byte| *byte == b'=').nth(1).is_some_and(|value| value == marker.as_bytes())
        })
    })
    .collect()
}
