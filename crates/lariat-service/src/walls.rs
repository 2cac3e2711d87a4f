//! Which sandbox works on this machine, remembered.
//!
//! Trying a sandbox takes longer than a whole turn, and what works does not change while a machine runs: what was found is kept with
//! what it depends on (the boot, the program) and tried again when that is different. A file that lies can only name a backend:
//! the command that it then fails to start is an error, never an unconfined command.

use std::path::{Path, PathBuf};

use lariat_host::process::Environment;
use lariat_host::sandbox::{Backend, Found, probe};
use serde_json::{Value, json};

use crate::Folders;

/// Where Linux names the current boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Which backend is preferred, as a number: what was found under another order is looked for again.
const ORDER: u64 = 2;

/// The sandbox that works here, by memory or by trying; the reasons when none does.
pub async fn backend(folders: &Folders, environment: &Environment) -> Result<Backend, Vec<(String, String)>> {
    let file = folders.sandbox();
    if let Some(known) = remembered(&file) {
        return Ok(known);
    }
    let found = look(folders, environment).await;
    found
        .backends
        .into_iter()
        .next()
        .ok_or_else(|| found.refused.into_iter().map(|(name, reason)| (name.to_owned(), reason)).collect())
}

/// Tries every sandbox and remembers the one that works.
pub async fn look(folders: &Folders, environment: &Environment) -> Found {
    let scratch = folders.scratch();
    let _ = make(&scratch);
    let found = probe(&scratch, environment).await;
    if let Some(backend) = found.backends.first() {
        remember(&folders.sandbox(), backend);
    }
    found
}

fn remembered(file: &Path) -> Option<Backend> {
    let kept: Value = serde_json::from_str(&read(file)?).ok()?;
    if kept.get("order")? != ORDER || kept.get("boot")?.as_str()? != read(Path::new(BOOT))?.trim() {
        return None;
    }
    match kept.get("backend")?.as_str()? {
        "landlock" => Some(Backend::Landlock),
        "bubblewrap" => {
            let program = PathBuf::from(kept.get("program")?.as_str()?);
            (kept.get("stamp")? == &stamp(&program)).then_some(Backend::Bubblewrap(program))
        }
        _ => None,
    }
}

fn remember(file: &Path, backend: &Backend) {
    let Some(boot) = read(Path::new(BOOT)) else { return };
    let mut kept = json!({ "order": ORDER, "boot": boot.trim(), "backend": backend.name() });
    if let (Backend::Bubblewrap(program), Some(kept)) = (backend, kept.as_object_mut()) {
        kept.insert("program".to_owned(), Value::from(program.display().to_string()));
        kept.insert("stamp".to_owned(), stamp(program));
    }
    // Not being able to remember costs the next start a trial.
    let _ = write(file, &kept.to_string());
}

/// What a program is changed with.
fn stamp(program: &Path) -> Value {
    use std::os::unix::fs::MetadataExt as _;
    program.metadata().map_or(Value::Null, |state| json!([state.size(), state.mtime(), state.ino()]))
}

#[expect(clippy::disallowed_methods, reason = "a file of ours, and the kernel's name of the boot")]
pub(crate) fn read(file: &Path) -> Option<String> {
    std::fs::read_to_string(file).ok()
}

#[expect(clippy::disallowed_methods, reason = "a file of ours")]
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let new = file.with_extension(format!("{}.new", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(&new)?.write_all(text.as_bytes())?;
    std::fs::rename(&new, file)
}

pub(crate) fn make(folder: &Path) -> std::io::Result<()> {
    crate::private::folder(folder).map(drop)
}
