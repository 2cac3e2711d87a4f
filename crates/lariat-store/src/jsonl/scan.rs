//! Splits the bytes of a journal into records, headers and gaps.
//!
//! After each record, the scanner expects the next. If there is none, it searches for the next beginning of a seal or
//! header, anywhere. It does not check the order of records.
//! Invariants: the pieces cover every byte once; an undamaged record is found, whatever surrounds it; time is linear in the
//! number of bytes, and memory is bounded by the longest record.

use std::io::{self, Read};

use lariat_core::archive::DamageKind;
use memchr::memmem;

use super::line::{HEADER_OPENING, Header, MAX_HEADER, OPENING, RecordLine, SEAL, Seal, seal_of};

/// Number of bytes to read at once.
const CHUNK: usize = 256 * 1024;

/// A part of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScannedPiece {
    /// Offset of its first byte in the file.
    pub(super) offset: u64,
    /// Length in bytes.
    pub(super) length: u64,
    /// What the bytes are.
    pub(super) kind: PieceKind,
}

impl ScannedPiece {
    /// Offset of the next piece.
    pub(super) const fn end(&self) -> u64 {
        self.offset + self.length
    }
}

/// What a part of a journal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// A header, with or without its newline.
    Header(Header, Newline),
    /// A record, with or without its newline. [`JournalScanner::body`] returns its event until the next call of
    /// [`JournalScanner::next`].
    Record(RecordLine, Newline),
    /// Bytes that are not a record.
    Gap(Gap),
}

/// Whether a line ends with a newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Newline {
    /// It does.
    Present,
    /// Other bytes follow, or the file ends.
    Missing,
}

/// Bytes that are neither a record nor a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// No record begins here.
    Garbage,
    /// A damaged record begins here.
    Broken,
    /// A record begins here, and the file ends before the record does.
    Cut,
}

impl Gap {
    /// Returns the kind of damage and a description of the bytes.
    pub(super) const fn damage(self) -> (DamageKind, &'static str) {
        match self {
            Self::Garbage => (DamageKind::Garbage, "garbage"),
            Self::Broken => (DamageKind::Checksum, "damaged record"),
            Self::Cut => (DamageKind::Torn, "incomplete record"),
        }
    }
}

/// Splits a journal into pieces.
#[derive(Debug)]
pub(super) struct JournalScanner<R> {
    source: R,
    /// Bytes that were read but not yet classified, from `start` on.
    window: Vec<u8>,
    start: usize,
    /// Offset of `start` in the file.
    offset: u64,
    ended: bool,
    body: Vec<u8>,
    beginnings: Beginnings,
}

impl<R: Read> JournalScanner<R> {
    /// Scans a source that begins at this offset of the file.
    pub(super) fn new(source: R, offset: u64) -> Self {
        Self {
            source,
            window: Vec::new(),
            start: 0,
            offset,
            ended: false,
            body: Vec::new(),
            beginnings: Beginnings::new(),
        }
    }

    /// Returns the event of the last record.
    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the next piece, or `None` at the end.
    ///
    /// # Errors
    /// When reading the source fails.
    pub(super) fn next(&mut self) -> io::Result<Option<ScannedPiece>> {
        let offset = self.offset;
        let found = loop {
            let view = self.window.get(self.start..).unwrap_or_default();
            if view.is_empty() && self.ended {
                return Ok(None);
            }
            match classify(view, self.ended, &self.beginnings, &mut self.body) {
                ScanStep::NeedMore(wanted) => self.fill(wanted)?,
                ScanStep::Item(found, length) => {
                    self.advance(length);
                    break found;
                }
                ScanStep::Gap(gap) => {
                    self.skip()?;
                    break PieceKind::Gap(gap);
                }
            }
        };
        Ok(Some(ScannedPiece { offset, length: self.offset - offset, kind: found }))
    }

    /// Skips to the next beginning of a record or header, or to the end.
    fn skip(&mut self) -> io::Result<()> {
        self.advance(1);
        loop {
            let view = self.window.get(self.start..).unwrap_or_default();
            if let Some(at) = self.beginnings.first(view) {
                self.advance(at);
                return Ok(());
            }
            // The end of the window may cut a beginning in two.
            let kept = if self.ended { 0 } else { HEADER_OPENING.len() - 1 };
            self.advance(view.len().saturating_sub(kept));
            if self.ended {
                return Ok(());
            }
            self.fill(CHUNK)?;
        }
    }

    const fn advance(&mut self, length: usize) {
        self.start += length;
        self.offset += length as u64;
    }

    /// Reads until at least `wanted` bytes are available, or the source ends.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        self.window.drain(..self.start);
        self.start = 0;
        while self.window.len() < wanted && !self.ended {
            let more = CHUNK.max(wanted - self.window.len()) as u64;
            self.ended = (&mut self.source).take(more).read_to_end(&mut self.window)? == 0;
        }
        Ok(())
    }
}

/// What the scanner found at the start of the window.
enum ScanStep {
    /// A record or header of this length.
    Item(PieceKind, usize),
    /// Neither.
    Gap(Gap),
    /// Unknown without at least this many bytes.
    NeedMore(usize),
}

fn classify(view: &[u8], ended: bool, beginnings: &Beginnings, body: &mut Vec<u8>) -> ScanStep {
    if view.len() < SEAL && !ended {
        return ScanStep::NeedMore(SEAL);
    }
    if view.starts_with(HEADER_OPENING) {
        return classify_header(view, ended);
    }
    match seal_of(view) {
        Some(seal) => classify_record(seal, view, ended, beginnings, body),
        None if view.len() < SEAL && view.starts_with(view_of(OPENING, view.len())) => {
            ScanStep::Gap(Gap::Cut)
        }
        None => ScanStep::Gap(Gap::Garbage),
    }
}

fn classify_record(
    seal: Seal,
    view: &[u8],
    ended: bool,
    beginnings: &Beginnings,
    body: &mut Vec<u8>,
) -> ScanStep {
    let length = seal.line_length();
    let inside = view_of(view, length).get(1..).unwrap_or_default();
    if beginnings.records.find(inside).is_some() {
        // No event contains the beginning of a record, so this record ends before its stated length.
        return ScanStep::Gap(Gap::Broken);
    }
    if view.len() <= length && !ended {
        return ScanStep::NeedMore(length + 1);
    }
    let Some(written) = view.get(SEAL..length) else { return ScanStep::Gap(Gap::Cut) };
    match seal.open(written, body) {
        Some(line) => {
            let (newline, whole) = line_end(view, length);
            ScanStep::Item(PieceKind::Record(line, newline), whole)
        }
        None => ScanStep::Gap(Gap::Broken),
    }
}

fn classify_header(view: &[u8], ended: bool) -> ScanStep {
    let open = !ended && view.len() < MAX_HEADER && !view.contains(&b'\n');
    match Header::of(view) {
        Some((_, length)) if view.len() == length && !ended => ScanStep::NeedMore(length + 1),
        Some((header, length)) => {
            let (newline, whole) = line_end(view, length);
            ScanStep::Item(PieceKind::Header(header, newline), whole)
        }
        None if open => ScanStep::NeedMore(view.len() * 2),
        None => ScanStep::Gap(Gap::Garbage),
    }
}

fn line_end(view: &[u8], length: usize) -> (Newline, usize) {
    match view.get(length) {
        Some(b'\n') => (Newline::Present, length + 1),
        _ => (Newline::Missing, length),
    }
}

fn view_of(bytes: &[u8], length: usize) -> &[u8] {
    bytes.get(..length.min(bytes.len())).unwrap_or_default()
}

/// Finds where records and headers may begin.
#[derive(Debug)]
struct Beginnings {
    records: memmem::Finder<'static>,
    headers: memmem::Finder<'static>,
}

impl Beginnings {
    fn new() -> Self {
        Self { records: memmem::Finder::new(OPENING), headers: memmem::Finder::new(HEADER_OPENING) }
    }

    fn first(&self, view: &[u8]) -> Option<usize> {
        let record = self.records.find(view);
        self.headers.find(view_of(view, record.unwrap_or(view.len()))).or(record)
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
