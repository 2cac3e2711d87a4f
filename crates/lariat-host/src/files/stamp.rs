//! Identifies a file and its state by one stat.
//!
//! Invariant: equal stamps mean equal content, unless the file was written within the granularity of the clock; in that
//! case the hash of the content decides (see `write`).

use rustix::fs::Stat;

/// Nanoseconds within which two changes of a file may have the same timestamp.
const GRANULARITY: i128 = 1_000_000_000;

/// Identifies a file: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    device: u64,
    inode: u64,
}

/// The state of a file: identity, size and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    id: FileId,
    size: u64,
    modified: i128,
    changed: i128,
}

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            id: FileId::of(stat),
            size: size(stat),
            modified: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// The stamp of content that is not on disk, for the file with this stamp. Equals no stamp of a file.
    pub(super) const fn of_unsaved(self, size: u64) -> Self {
        Self { size, modified: 0, changed: 0, ..self }
    }

    /// Identity of the file.
    pub const fn id(&self) -> FileId {
        self.id
    }

    /// Size in bytes.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Time of the last change of its content, in nanoseconds since 1970.
    pub const fn modified(&self) -> i128 {
        self.modified
    }

    /// Whether the last change is long enough ago that another change would have a different timestamp.
    #[expect(clippy::disallowed_methods, reason = "this is the host")]
    pub fn is_settled(&self) -> bool {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |now| i128::try_from(now.as_nanos()).unwrap_or_default());
        now - self.changed.max(self.modified) >= GRANULARITY
    }

    /// Whether the other stamp has the same file, size and modification time. Ignores the change time, because a rename
    /// updates it.
    pub(super) fn same_content(&self, other: &Self) -> bool {
        (self.id, self.size, self.modified) == (other.id, other.size, other.modified)
    }

    /// Whether the file was modified so shortly before `now` that a second change may have the same timestamp.
    pub(super) const fn is_recent(&self, now: &Self) -> bool {
        now.modified - self.modified < GRANULARITY
    }
}

impl FileId {
    #[expect(clippy::useless_conversion, reason = "the widths differ between architectures")]
    pub(super) fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev.into(), inode: stat.st_ino.into() }
    }

    pub(super) const fn inode(self) -> u64 {
        self.inode
    }
}

pub(super) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

fn nanoseconds(seconds: impl Into<i128>, nanoseconds: impl Into<i128>) -> i128 {
    seconds.into() * 1_000_000_000 + nanoseconds.into()
}
