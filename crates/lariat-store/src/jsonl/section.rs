//! Reads a part of a file without moving the position of the file handle.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// The bytes of a file from one offset to another.
#[derive(Debug)]
pub(super) struct Section<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl<'a> Section<'a> {
    pub(super) const fn new(file: &'a File, at: u64, end: u64) -> Self {
        Self { file, at, end }
    }
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let read = self.file.read_at(buffer.get_mut(..wanted).unwrap_or_default(), self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
