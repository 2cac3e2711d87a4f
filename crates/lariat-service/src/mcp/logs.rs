//! Saves what servers write to standard error: one file per server, replaced at each run.

use std::path::PathBuf;

use crate::{UserDirectories, private};

fn path(folders: &UserDirectories, identity: &str) -> PathBuf {
    folders.mcp().join(format!("{identity}.log"))
}

/// Saves the log. A log that cannot be written is lost, because no tool call depends on it.
pub(super) fn save(folders: &UserDirectories, identity: &str, text: &str) {
    if private::directory(&folders.mcp()).is_ok() {
        let _ = private::write(&path(folders, identity), text.as_bytes());
    }
}

/// The saved log; empty if there is none.
#[expect(clippy::disallowed_methods, reason = "the file is in the user's state directory")]
pub(super) fn read(folders: &UserDirectories, identity: &str) -> String {
    std::fs::read(path(folders, identity))
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}
