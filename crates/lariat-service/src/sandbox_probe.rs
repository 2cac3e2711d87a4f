//! Finds a working sandbox on this machine, and caches the result.
//!
//! Probing a sandbox takes longer than a whole turn, and the result does not change while a machine runs. The cache stores
//! what the result depends on (the boot and the program) and is ignored if that differs. A forged cache can only name a
//! backend; if that backend does not start, the command fails and never runs unsandboxed.

use std::path::{Path, PathBuf};

use lariat_host::process::Environment;
use lariat_host::sandbox::Backend;
pub use lariat_host::sandbox::is_writable;
use lariat_host::sandbox_probe::{self, ProbeResult};
use serde_json::{Value, json};

use crate::UserDirectories;

/// The kernel's id of the current boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The version of the backend preference. A cache with another version is ignored.
const PREFERENCE_VERSION: u64 = 2;

/// The sandbox that works here, from the cache or by probing; the reasons if none does.
pub async fn backend(
    folders: &UserDirectories,
    environment: &Environment,
) -> Result<Backend, Vec<(String, String)>> {
    let file = folders.sandbox();
    if let Some(known) = cached_backend(&file) {
        return Ok(known);
    }
    let found = probe(folders, environment).await;
    found
        .backends
        .into_iter()
        .next()
        .ok_or_else(|| found.refused.into_iter().map(|(name, reason)| (name.to_owned(), reason)).collect())
}

/// Probes every sandbox and caches the one that works.
pub async fn probe(folders: &UserDirectories, environment: &Environment) -> ProbeResult {
    let scratch = folders.scratch();
    let _ = make(&scratch);
    let found = sandbox_probe::probe(&scratch, environment).await;
    if let Some(backend) = found.backends.first() {
        cache_backend(&folders.sandbox(), backend);
    }
    found
}

fn cached_backend(file: &Path) -> Option<Backend> {
    let cache: Value = serde_json::from_str(&read(file)?).ok()?;
    if cache.get("order")? != PREFERENCE_VERSION
        || cache.get("boot")?.as_str()? != read(Path::new(BOOT_ID))?.trim()
    {
        return None;
    }
    match cache.get("backend")?.as_str()? {
        "landlock" => Some(Backend::Landlock),
        "bubblewrap" => {
            let program = PathBuf::from(cache.get("program")?.as_str()?);
            (cache.get("stamp")? == &stamp(&program)).then_some(Backend::Bubblewrap(program))
        }
        _ => None,
    }
}

fn cache_backend(file: &Path, backend: &Backend) {
    let Some(boot) = read(Path::new(BOOT_ID)) else { return };
    let mut cache = json!({ "order": PREFERENCE_VERSION, "boot": boot.trim(), "backend": backend.name() });
    if let (Backend::Bubblewrap(program), Some(cache)) = (backend, cache.as_object_mut()) {
        cache.insert("program".to_owned(), Value::from(program.display().to_string()));
        cache.insert("stamp".to_owned(), stamp(program));
    }
    // Without a cache, the next start probes again.
    let _ = write(file, &cache.to_string());
}

/// Size, modification time and inode of a program, to detect changes.
fn stamp(program: &Path) -> Value {
    use std::os::unix::fs::MetadataExt as _;
    program.metadata().map_or(Value::Null, |state| json!([state.size(), state.mtime(), state.ino()]))
}

#[expect(clippy::disallowed_methods, reason = "a file of ours, and the kernel's boot id")]
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
    crate::private::directory(folder).map(drop)
}
