//! Where the files of a session are.
//!
//! Owns the layout below the store's directory and the way an id becomes a file name: everything but letters, digits, `_`
//! and `-` is written as `%` and two digits, and a long name ends in a hash instead.
//! Invariant: different ids have different names, and no id leads out of the directory.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use lariat_core::id::SessionId;

/// The longest name, in bytes. Names in file systems have 255; endings and temporary names need some.
const LONGEST: usize = 150;
/// What is kept of a longer one. Its hash follows.
const KEPT: usize = 100;

/// How the file of a journal ends.
pub(super) const JOURNAL: &str = ".jsonl";

/// The directory of the journals, and of what was set aside of them.
pub(super) fn sessions(root: &Path) -> PathBuf {
    root.join("sessions")
}

/// The directory of what can be made again from the journals, and of the locks.
pub(super) fn sides(root: &Path) -> PathBuf {
    root.join("index")
}

/// The directory of the blobs.
pub(super) fn blobs(root: &Path) -> PathBuf {
    root.join("blobs")
}

/// The summaries of all sessions: a cache.
pub(super) fn catalog(root: &Path) -> PathBuf {
    root.join("catalog")
}

/// A session's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    root: PathBuf,
    name: String,
}

impl Name {
    /// The files of this session.
    pub(super) fn of(root: &Path, session_id: &SessionId) -> Self {
        Self { root: root.to_owned(), name: escaped(session_id.as_str()) }
    }

    /// The files that go with a journal.
    pub(super) fn of_journal(root: &Path, journal: &Path) -> Option<Self> {
        let name = journal.file_name()?.to_str()?.strip_suffix(JOURNAL)?;
        (!name.starts_with('.')).then(|| Self { root: root.to_owned(), name: name.to_owned() })
    }

    /// The name without an ending.
    pub(super) fn stem(&self) -> &str {
        &self.name
    }

    /// The journal.
    pub(super) fn journal(&self) -> PathBuf {
        sessions(&self.root).join(format!("{}{JOURNAL}", self.name))
    }

    /// There when the session was deleted.
    pub(super) fn tombstone(&self) -> PathBuf {
        sessions(&self.root).join(format!("{}.deleted", self.name))
    }

    /// The index.
    pub(super) fn index(&self) -> PathBuf {
        sides(&self.root).join(format!("{}.idx", self.name))
    }

    /// The epoch, with a copy of the journal's header.
    pub(super) fn epoch(&self) -> PathBuf {
        sides(&self.root).join(format!("{}.epoch", self.name))
    }

    /// The lock of the writer.
    pub(super) fn lock(&self) -> PathBuf {
        sides(&self.root).join(format!("{}.lock", self.name))
    }

    /// The directory of the snapshots.
    pub(super) fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots").join(&self.name)
    }

    /// A place for what is set aside: the `number`th of its kind.
    pub(super) fn aside(&self, kind: Aside, number: u32) -> PathBuf {
        let kind = match kind {
            Aside::Torn => "torn",
            Aside::Damaged => "damaged",
        };
        sessions(&self.root).join(format!("{}.{kind}-{number}", self.name))
    }
}

/// What is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aside {
    /// The end of a journal that was not written to its end.
    Torn,
    /// A whole journal, before it was repaired.
    Damaged,
}

/// An id as a file name.
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
        // No escape looks like this.
        name.push('%');
    }
    if name.len() > LONGEST {
        name.truncate(KEPT);
        let hash = blake3::hash(id.as_bytes()).to_hex();
        // Neither a letter nor an escape: a short name is never like a long one.
        let _ = write!(name, "~{}", hash.get(..40).unwrap_or_default());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_ids_have_different_names_in_one_folder() {
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
    fn a_journal_leads_back_to_its_name() {
        let name = Name::of(Path::new("r"), &SessionId::from("a/b"));
        assert_eq!(Name::of_journal(Path::new("r"), &name.journal()), Some(name.clone()));
        assert_eq!(Name::of_journal(Path::new("r"), &name.tombstone()), None);
        let half_written = crate::files::temporary(&name.journal());
        assert_eq!(Name::of_journal(Path::new("r"), &half_written), None);
    }
}
