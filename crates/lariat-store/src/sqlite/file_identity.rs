//! Identifies a file independently of its name, to notice that another file took its place.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Device and inode of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// Identifies the file at this path without opening it.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}
