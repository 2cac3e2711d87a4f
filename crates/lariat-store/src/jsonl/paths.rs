//! Builds the paths of session files.
//!
//! An id becomes a file name as follows: every character but letters, digits, `_` and `-` is written as `%` and two
//! hexadecimal digits, and a long name is cut and ends in a hash.
//! Invariant: different ids have different names, and no id leads out of the directory.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use lariat_core::id::SessionId;

/// The longest name, in bytes. File systems allow 255; extensions and temporary names need some of them.
const LONGEST: usize = 150;
/// How much of a longer name is kept. Its hash follows.
const KEPT: usize = 100;

/// File extension of journals.
pub(super) const JOURNAL: &str = ".jsonl";

/// The directory of the journals, and of data set aside from them.
pub(super) fn sessions_dir(root: &Path) -> PathBuf {
    root.join("sessions")
}

/// The directory of everything that can be rebuilt from the journals, and of the locks.
pub(super) fn index_dir(root: &Path) -> PathBuf {
    root.join("index")
}

/// The directory of the blobs.
pub(super) fn blobs_dir(root: &Path) -> PathBuf {
    root.join("blobs")
}

/// The catalog file, which caches the summaries of all sessions.
pub(super) fn catalog_file(root: &Path) -> PathBuf {
    root.join("catalog")
}

/// The paths of a session's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionPaths {
    root: PathBuf,
    name: String,
}

impl SessionPaths {
    /// Returns the paths of a session.
    pub(super) fn of(root: &Path, session_id: &SessionId) -> Self {
        Self { root: root.to_owned(), name: escaped(session_id.as_str()) }
    }

    /// Returns the paths that belong to a journal file.
    pub(super) fn of_journal(root: &Path, journal: &Path) -> Option<Self> {
        let name = journal.file_name()?.to_str()?.strip_suffix(JOURNAL)?;
        (!name.starts_with('.')).then(|| Self { root: root.to_owned(), name: name.to_owned() })
    }

    /// Returns the file name without an extension.
    pub(super) fn stem(&self) -> &str {
        &self.name
    }

    /// Path of the journal.
    pub(super) fn journal(&self) -> PathBuf {
        sessions_dir(&self.root).join(format!("{}{JOURNAL}", self.name))
    }

    /// Path of the tombstone, which exists if the session was deleted.
    pub(super) fn tombstone(&self) -> PathBuf {
        sessions_dir(&self.root).join(format!("{}.deleted", self.name))
    }

    /// Path of the index.
    pub(super) fn index(&self) -> PathBuf {
        index_dir(&self.root).join(format!("{}.idx", self.name))
    }

    /// Path of the epoch file, which also has a copy of the journal's header.
    pub(super) fn epoch(&self) -> PathBuf {
        index_dir(&self.root).join(format!("{}.epoch", self.name))
    }

    /// Path of the writer's lock.
    pub(super) fn lock(&self) -> PathBuf {
        index_dir(&self.root).join(format!("{}.lock", self.name))
    }

    /// Path of the directory of the snapshots.
    pub(super) fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots").join(&self.name)
    }

    /// Path for data set aside: the `number`th of its kind.
    pub(super) fn aside(&self, kind: AsideKind, number: u32) -> PathBuf {
        let kind = match kind {
            AsideKind::Torn => "torn",
            AsideKind::Damaged => "damaged",
        };
        sessions_dir(&self.root).join(format!("{}.{kind}-{number}", self.name))
    }
}

/// Kind of data that is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AsideKind {
    /// An incomplete end of a journal.
    Torn,
    /// A whole journal before its repair.
    Damaged,
}

/// Escapes an id for use as a file name.
pub(crate) fn escaped(id: &str) -> String {
    let mut name = String::with_capacity(id.len());
    for byte in id.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => name.push(char::from(byte)),
            // Writing to memory does not fail.
            _ => drop(write!(name, "%{byte:02X}")),
        }
    }
    if name.is_empty() {
        // No escape sequence looks like this.
        name.push('%');
    }
    if name.len() > LONGEST {
        name.truncate(KEPT);
        let hash = blake3::hash(id.as_bytes()).to_hex();
        // `~` is neither a letter nor an escape, so a short name never equals a cut one.
        let _ = write!(name, "~{}", hash.get(..40).unwrap_or_default());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_ids_get_different_file_names_in_one_directory() {
        let long = "x".repeat(300);
        let longer = format!("{long}x");
        let slashes = "/".repeat(300);
        let ids =
            ["", ".", "..", "/", "../up", "a/b", "a%2Fb", "%", "%25", "~", "a\0b", &long, &longer, &slashes];
        let names: std::collections::BTreeSet<String> = ids.iter().map(|id| escaped(id)).collect();
        assert_eq!(names.len(), ids.len());
        for name in names {
            assert!(!name.contains(['/', '.', '\0']) && !name.is_empty() && name.len() <= LONGEST, "{name}");
        }
    }

    #[test]
    fn journal_path_maps_back_to_the_session_paths() {
        let name = SessionPaths::of(Path::new("r"), &SessionId::from("a/b"));
        assert_eq!(SessionPaths::of_journal(Path::new("r"), &name.journal()), Some(name.clone()));
        assert_eq!(SessionPaths::of_journal(Path::new("r"), &name.tombstone()), None);
        let half_written = crate::files::temporary(&name.journal());
        assert_eq!(SessionPaths::of_journal(Path::new("r"), &half_written), None);
    }
}
