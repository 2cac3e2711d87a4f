//! Reads whole files up to a size limit, and ranges of lines from files of any size.
//!
//! Only regular files are read. The type is checked before the file is opened, so that opening never disturbs the
//! writer of a pipe or a device, and once more afterwards, because the path may have changed meanwhile.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use rustix::fs::{FileType, OFlags, Stat, fstat};

use super::error::FileError;
use super::judge;
use super::stamp::{Stamp, size};
use super::workspace::Workspace;

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileContent {
    /// The whole content.
    pub bytes: Vec<u8>,
    /// The state of the file before it was read.
    pub stamp: Stamp,
}

/// A range of lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// The lines, including their line endings.
    pub bytes: Vec<u8>,
    /// Number of lines skipped before them. Less than requested if the file has fewer lines.
    pub skipped: u64,
    /// Whether the file has more content after these lines.
    pub more: bool,
    /// The state of the file before it was read.
    pub stamp: Stamp,
}

/// Flags for reading: never block, and never make the file this process's controlling terminal.
pub(super) const CONTENT: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

impl Workspace {
    /// Returns the state of a regular file. Opens the path once and calls stat once.
    ///
    /// # Errors
    /// If the path does not lead to a regular file.
    pub fn stamp(&self, path: &str) -> Result<Stamp, FileError> {
        let handle = self.open_path(path, OFlags::PATH)?;
        let stat = fstat(&handle).map_err(|errno| FileError::of(path, errno))?;
        must_be_regular(path, &stat)?;
        Ok(Stamp::of(&stat))
    }

    /// Returns the real path of a regular file, without links.
    ///
    /// # Errors
    /// If the path does not lead to a regular file, or the file loses its path meanwhile.
    pub fn real_path(&self, path: &str) -> Result<PathBuf, FileError> {
        let handle = self.open_path(path, OFlags::PATH)?;
        must_be_regular(path, &fstat(&handle).map_err(|errno| FileError::of(path, errno))?)?;
        judge::real_path(&handle).ok_or_else(|| FileError::Unstable(path.to_owned()))
    }

    /// Reads a whole file.
    ///
    /// # Errors
    /// If the file has more than `limit` bytes, or is not a regular file beneath a root.
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
        file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| system_error(path, &error))?;
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(FileContent { bytes, stamp: Stamp::of(&stat) })
    }

    /// Reads at most `count` lines after the first `skip` lines, and at most `limit` bytes. Never buffers more than
    /// that.
    ///
    /// # Errors
    /// If it is not a regular file beneath a root.
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
            let chunk = reader.fill_buf().map_err(|error| system_error(path, &error))?;
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

    /// Opens a regular file to read its content.
    pub(super) fn open_content(&self, path: &str) -> Result<(File, Stat), FileError> {
        let refused = |errno| FileError::of(path, errno);
        let handle = self.open_unchecked(path, OFlags::PATH)?;
        must_be_regular(path, &fstat(&handle).map_err(refused)?)?;
        let handle = self.open_path(path, CONTENT)?;
        let stat = fstat(&handle).map_err(refused)?;
        must_be_regular(path, &stat)?;
        Ok((File::from(handle), stat))
    }
}

/// Bytes to read at once.
const CHUNK: usize = 64 * 1024;

pub(super) fn must_be_regular(path: &str, stat: &Stat) -> Result<(), FileError> {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => return Err(FileError::IsDirectory(path.to_owned())),
        FileType::Symlink => return Err(FileError::Unstable(path.to_owned())),
        FileType::Fifo => "named pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice => "character device",
        FileType::BlockDevice => "block device",
        _ => "file of an unknown type",
    };
    Err(FileError::Special { path: path.to_owned(), kind })
}

pub(super) fn system_error(path: &str, error: &std::io::Error) -> FileError {
    let errno = rustix::io::Errno::from_io_error(error).unwrap_or(rustix::io::Errno::IO);
    FileError::of(path, errno)
}
