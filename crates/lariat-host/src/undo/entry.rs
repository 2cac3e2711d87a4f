//! Describes what is recorded about a path.
//!
//! Decides when two states of a path are equal, and when a file need not be read again: if its stamp is the recorded
//! one, and the file was old enough then that a later change would have a different timestamp.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::Stat;
use serde::{Deserialize, Serialize};

/// Nanoseconds within which two changes may have the same timestamp: four of the slowest clock ticks.
const GRANULARITY: i64 = 40_000_000;
/// The same for file systems whose timestamps are whole seconds.
const COARSE: i64 = 2_000_000_000;

/// A path beneath the root, as bytes, because names need not be valid UTF-8.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "PathRepr", into = "PathRepr")]
pub struct RelativePath(Vec<u8>);

/// A path in the log: text if it is valid UTF-8, otherwise bytes.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PathRepr {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<PathRepr> for RelativePath {
    fn from(written: PathRepr) -> Self {
        match written {
            PathRepr::Text(text) => Self(text.into_bytes()),
            PathRepr::Bytes(bytes) => Self(bytes),
        }
    }
}

impl From<RelativePath> for PathRepr {
    fn from(path: RelativePath) -> Self {
        String::from_utf8(path.0).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }
}

impl RelativePath {
    /// Creates a path from bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The path as an operating-system path.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The path of an entry in this directory.
    pub(super) fn join(&self, name: &OsStr) -> Self {
        let mut bytes = self.0.clone();
        if !bytes.is_empty() {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(name.as_bytes());
        Self(bytes)
    }

    /// Splits off the last name.
    pub(crate) fn split(&self) -> (&[u8], &OsStr) {
        match self.0.iter().rposition(|byte| *byte == b'/') {
            Some(at) => {
                let (parent, name) = self.0.split_at(at);
                (parent, OsStr::from_bytes(name.get(1..).unwrap_or_default()))
            }
            None => (b"", OsStr::from_bytes(&self.0)),
        }
    }

    /// The parent directories, deepest first, without the root.
    pub(crate) fn ancestors(&self) -> impl Iterator<Item = Self> {
        let mut rest = self.clone();
        std::iter::from_fn(move || {
            let parent = rest.split().0.to_vec();
            rest = Self(parent);
            (!rest.0.is_empty()).then(|| rest.clone())
        })
    }

    /// The range of paths inside this directory.
    pub(super) fn beneath(&self) -> (Self, Self) {
        let (mut first, mut last) = (self.0.clone(), self.0.clone());
        first.push(b'/');
        last.push(b'/' + 1);
        (Self(first), Self(last))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::borrow::Borrow<[u8]> for RelativePath {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Display for RelativePath {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.as_path().display())
    }
}

impl std::fmt::Debug for RelativePath {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}", self.as_path())
    }
}

/// What a path was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecordedKind {
    /// A directory.
    Folder,
    /// A file, with the hash of its content if that is stored.
    File(Option<String>),
    /// A symbolic link and its target.
    Link(RelativePath),
    /// A directory that is not scanned: git ignores it, or it cannot be read.
    Closed,
}

/// What is recorded about a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) look: RecordedKind,
    pub(crate) mode: u32,
    pub(crate) seen: RecordedStamp,
}

/// The stamp of a file when it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedStamp {
    pub(super) size: u64,
    pub(super) modified: i64,
    pub(super) changed: i64,
    pub(super) inode: u64,
    /// Whether it was recorded so soon after a change that another change may have the same timestamp.
    pub(super) fresh: bool,
}

impl RecordedStamp {
    #[expect(clippy::useless_conversion, reason = "the widths differ between architectures")]
    pub(crate) fn of(stat: &Stat) -> Self {
        let time = |seconds: i64, nanoseconds: i64| {
            seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
        };
        let modified = time(stat.st_mtime.into(), i64::try_from(stat.st_mtime_nsec).unwrap_or_default());
        let changed = time(stat.st_ctime.into(), i64::try_from(stat.st_ctime_nsec).unwrap_or_default());
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let now = time(now.tv_sec, now.tv_nsec);
        let tick = if changed % 1_000_000_000 == 0 { COARSE } else { GRANULARITY };
        Self {
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            modified,
            changed,
            inode: stat.st_ino.into(),
            fresh: now.saturating_sub(changed.max(modified)) < tick,
        }
    }

    /// Whether a file with the stamp `now` still has the recorded content.
    pub(super) fn proves_unchanged(&self, now: &Self) -> bool {
        !self.fresh
            && (self.size, self.modified, self.changed, self.inode)
                == (now.size, now.modified, now.changed, now.inode)
    }

    /// Whether it is the same file with the same size and modification time. Renaming and chmod update the change time.
    pub(super) const fn same_content(&self, now: &Self) -> bool {
        self.size == now.size && self.modified == now.modified && self.inode == now.inode
    }
}

impl Entry {
    /// Whether restoring one of them would not change the other.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (&self.look, &other.look) {
            (RecordedKind::Closed, RecordedKind::Closed) => true,
            (RecordedKind::Link(one), RecordedKind::Link(other)) => one == other,
            (RecordedKind::File(one), RecordedKind::File(two)) => {
                let content = match (one, two) {
                    (Some(one), Some(two)) => one == two,
                    _ => self.seen.same_content(&other.seen),
                };
                content && self.mode == other.mode
            }
            (RecordedKind::Folder, RecordedKind::Folder) => self.mode == other.mode,
            _ => false,
        }
    }

    /// The hash of the content, if it is stored.
    pub(super) fn content(&self) -> Option<&str> {
        match &self.look {
            RecordedKind::File(content) => content.as_deref(),
            _ => None,
        }
    }

    pub(super) fn is_folder(&self) -> bool {
        self.look == RecordedKind::Folder
    }
}

/// Whether both are absent or equal.
pub(super) fn same(one: Option<&Entry>, other: Option<&Entry>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.same(other),
        _ => false,
    }
}
