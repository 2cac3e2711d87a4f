//! Reading: whole files up to a bound, and lines out of files of any size.
//!
//! Owns the rule that only regular files have content. What a path leads to is looked at before it is opened, so that a
//! pipe's writer or a device never notices, and looked at again after.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use rustix::fs::{FileType, OFlags, Stat, fstat};

use super::error::FileError;
use super::stamp::{Stamp, size};
use super::workspace::Workspace;

/// What a file held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileContent {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Its state before it was read.
    pub stamp: Stamp,
}

/// Some lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// The lines with their ends.
    pub bytes: Vec<u8>,
    /// Lines that were passed over before them. Fewer than asked for when the file ended there.
    pub skipped: u64,
    /// Whether something follows.
    pub more: bool,
    /// Its state before it was read.
    pub stamp: Stamp,
}

/// How a file is opened for its content: without waiting for anybody, without becoming anybody's terminal.
pub(super) const CONTENT: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

impl Workspace {
    /// The state of a regular file. Costs one open of the path and one stat.
    ///
    /// # Errors
    /// When the path leads to anything else.
    pub fn stamp(&self, path: &str) -> Result<Stamp, FileError> {
        let handle = self.open_path(path, OFlags::PATH)?;
        let stat = fstat(&handle).map_err(|errno| FileError::of(path, errno))?;
        self.must_be_regular(path, &stat)?;
        Ok(Stamp::of(&stat))
    }

    /// Reads a file whole.
    ///
    /// # Errors
    /// When it has more than `limit` bytes, or is not a regular file beneath a root.
    pub fn read(&self, path: &str, limit: u64) -> Result<FileContent, FileError> {
        let (file, stat) = self.open_content(path)?;
        let size = size(&stat);
        let too_large = |size| FileError::TooLarge {
            path: path.to_owned(),
            size,
            limit,
            how: "Read a range of its lines, or search in it.",
        };
        if size > limit {
            return Err(too_large(size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
        file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| system(path, &error))?;
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(FileContent { bytes, stamp: Stamp::of(&stat) })
    }

    /// Reads at most `count` lines after the first `skip` ones, and at most `limit` bytes of them, without holding more.
    ///
    /// # Errors
    /// When it is not a regular file beneath a root.
    pub fn read_lines(
        &self,
        path: &str,
        skip: u64,
        count: u64,
        limit: usize,
    ) -> Result<LineRange, FileError> {
        let (file, stat) = self.open_content(path)?;
        let mut reader = BufReader::with_capacity(CHUNK, file);
        let mut range = LineRange { bytes: Vec::new(), skipped: 0, more: false, stamp: Stamp::of(&stat) };
        let mut taken = 0;
        loop {
            let chunk = reader.fill_buf().map_err(|error| system(path, &error))?;
            if chunk.is_empty() {
                return Ok(range);
            }
            if taken == count || range.bytes.len() >= limit {
                range.more = true;
                return Ok(range);
            }
            let (line, ended) = match chunk.iter().position(|byte| *byte == b'\n') {
                Some(end) => (chunk.get(..=end).unwrap_or(chunk), true),
                None => (chunk, false),
            };
            let used = if range.skipped < skip {
                range.skipped += u64::from(ended);
                line.len()
            } else {
                let room = limit - range.bytes.len();
                let part = line.get(..room).unwrap_or(line);
                range.bytes.extend_from_slice(part);
                taken += u64::from(ended && part.len() == line.len());
                part.len()
            };
            reader.consume(used);
        }
    }

    /// Opens a regular file for its content.
    pub(super) fn open_content(&self, path: &str) -> Result<(File, Stat), FileError> {
        let refused = |errno| FileError::of(path, errno);
        let handle = self.open_unjudged(path, OFlags::PATH)?;
        self.must_be_regular(path, &fstat(&handle).map_err(refused)?)?;
        let handle = self.open_path(path, CONTENT)?;
        let stat = fstat(&handle).map_err(refused)?;
        self.must_be_regular(path, &stat)?;
        Ok((File::from(handle), stat))
    }

    pub(super) fn must_be_regular(&self, path: &str, stat: &Stat) -> Result<(), FileError> {
        #[cfg(feature = "planted")]
        if self.has(super::Hole::OpensAnything) {
            return Ok(());
        }
        must_be_regular(path, stat)
    }
}

/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;

fn must_be_regular(path: &str, stat: &Stat) -> Result<(), FileError> {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => return Err(FileError::IsDirectory(path.to_owned())),
        FileType::Symlink => return Err(FileError::Unsteady(path.to_owned())),
        FileType::Fifo => "named pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice => "character device",
        FileType::BlockDevice => "block device",
        _ => "thing of an unknown kind",
    };
    Err(FileError::Special { path: path.to_owned(), kind })
}

pub(super) fn system(path: &str, error: &std::io::Error) -> FileError {
    let errno = rustix::io::Errno::from_io_error(error).unwrap_or(rustix::io::Errno::IO);
    FileError::of(path, errno)
}
