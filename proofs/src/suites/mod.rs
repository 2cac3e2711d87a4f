//! Runs the standard suites of JSON and of JSON Schema over what Lariat reads: arguments of tool calls, answers, and schemas of answers.
//!
//! The suites are not part of this repository; `cargo xtask schemas` installs them. A suite is a directory in the format of its
//! repository. Invariant: every case ends in a count, as passed, as refused with a reason, or as a fault with its name.

#![expect(clippy::disallowed_methods, reason = "reads the suites")]

pub mod json;
pub mod schema;

use std::fs;
use std::path::{Path, PathBuf};

/// The files of a directory, without those of its subdirectories, in the order of their names.
fn files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("cannot list {}: {error}", directory.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The name of a file without its directory.
fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}
