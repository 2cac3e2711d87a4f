//! Which file it is and in which state: what one stat tells.
//!
//! Owns the comparison of two states. Invariant: equal stamps of a file that was not written within the clock's
//! granularity mean equal content; where that cannot be told, the content's hash decides (see `write`).

use rustix::fs::Stat;

/// Nanoseconds within which two changes of a file may leave the same times.
const GRANULARITY: i128 = 1_000_000_000;

/// Which file: device and inode.
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

    /// Which file it was.
    pub const fn id(&self) -> FileId {
        self.id
    }

    /// Bytes it had.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Nanoseconds since 1970 at which its content was changed last.
    pub const fn modified(&self) -> i128 {
        self.modified
    }

    /// Whether its last change is so long ago that its times would tell another one.
    #[expect(clippy::disallowed_methods, reason = "this is the host")]
    pub fn is_settled(&self) -> bool {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |now| i128::try_from(now.as_nanos()).unwrap_or_default());
        now - self.changed.max(self.modified) >= GRANULARITY
    }

    /// Whether the other is the same file with the same content times. A rename moves the time of change, so that is
    /// left out.
    pub(super) fn same_content(&self, other: &Self) -> bool {
        (self.id, self.size, self.modified) == (other.id, other.size, other.modified)
    }

    /// Whether it was modified so shortly before the other that its time may not tell a second change.
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
