//! A journal's bytes, cut into what is whole and what is not.
//!
//! Owns the search for records: at the end of one the next is expected; where there is none, the next beginning of a
//! seal or header is looked for, anywhere. Knows nothing about the order of records.
//! Invariants: the pieces cover every byte once; a record that is as it was written is found, whatever is around it;
//! time is linear in the bytes, memory is bounded by the longest record.

use std::io::{self, Read};

use lariat_core::archive::DamageKind;
use memchr::memmem;

use super::line::{HEADER_OPENING, Header, Line, MAX_HEADER, OPENING, SEAL, Seal, seal_of};

/// Bytes read at once.
const CHUNK: usize = 256 * 1024;

/// A part of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where it begins, in bytes from the beginning of the file.
    pub(super) offset: u64,
    /// Its bytes.
    pub(super) length: u64,
    /// What it is.
    pub(super) found: Found,
}

impl Piece {
    /// Where the next piece begins.
    pub(super) const fn end(&self) -> u64 {
        self.offset + self.length
    }
}

/// What a part of a journal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A header, with or without its newline.
    Header(Header, Newline),
    /// A record, with or without its newline. Its event is [`Pieces::body`] until the next piece is asked for.
    Record(Line, Newline),
    /// Anything else.
    Gap(Gap),
}

/// Whether a line has its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Newline {
    /// It has.
    There,
    /// Something else follows, or nothing.
    Missing,
}

/// What is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// No record begins here.
    Garbage,
    /// A record begins here, and is not as it was written.
    Broken,
    /// A record begins here, and the file ends in it.
    Cut,
}

impl Gap {
    /// The kind of damage this is, and what the bytes are, in words.
    pub(super) const fn damage(self) -> (DamageKind, &'static str) {
        match self {
            Self::Garbage => (DamageKind::Garbage, "no record"),
            Self::Broken => (DamageKind::Checksum, "a record that is not as it was written"),
            Self::Cut => (DamageKind::Torn, "a record that was not written to its end"),
        }
    }
}

/// The pieces of a journal, one after the other.
#[derive(Debug)]
pub(super) struct Pieces<R> {
    source: R,
    /// Bytes read and not yet cut, from `start` on.
    window: Vec<u8>,
    start: usize,
    /// Where `start` is in the file.
    offset: u64,
    ended: bool,
    body: Vec<u8>,
    beginnings: Beginnings,
}

impl<R: Read> Pieces<R> {
    /// Cuts what comes from a source, which begins at this byte of the file.
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

    /// The event of the record that was found last.
    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// When the source fails.
    pub(super) fn next(&mut self) -> io::Result<Option<Piece>> {
        let offset = self.offset;
        let found = loop {
            let view = self.window.get(self.start..).unwrap_or_default();
            if view.is_empty() && self.ended {
                return Ok(None);
            }
            match look(view, self.ended, &self.beginnings, &mut self.body) {
                Look::More(wanted) => self.fill(wanted)?,
                Look::Whole(found, length) => {
                    self.advance(length);
                    break found;
                }
                Look::Not(gap) => {
                    self.skip()?;
                    break Found::Gap(gap);
                }
            }
        };
        Ok(Some(Piece { offset, length: self.offset - offset, found }))
    }

    /// Goes on to the next place where something begins, or to the end.
    fn skip(&mut self) -> io::Result<()> {
        self.advance(1);
        loop {
            let view = self.window.get(self.start..).unwrap_or_default();
            if let Some(at) = self.beginnings.first(view) {
                self.advance(at);
                return Ok(());
            }
            // A beginning may be cut by the end of what was read.
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

    /// Reads until so many bytes are at hand, or all.
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

/// What bytes begin with.
enum Look {
    /// This, so long.
    Whole(Found, usize),
    /// Nothing that is whole.
    Not(Gap),
    /// Unknown with fewer bytes than these.
    More(usize),
}

fn look(view: &[u8], ended: bool, beginnings: &Beginnings, body: &mut Vec<u8>) -> Look {
    if view.len() < SEAL && !ended {
        return Look::More(SEAL);
    }
    if view.starts_with(HEADER_OPENING) {
        return look_at_header(view, ended);
    }
    match seal_of(view) {
        Some(seal) => look_at_record(seal, view, ended, beginnings, body),
        None if view.len() < SEAL && view.starts_with(view_of(OPENING, view.len())) => Look::Not(Gap::Cut),
        None => Look::Not(Gap::Garbage),
    }
}

fn look_at_record(seal: Seal, view: &[u8], ended: bool, beginnings: &Beginnings, body: &mut Vec<u8>) -> Look {
    let length = seal.line_length();
    let inside = view_of(view, length).get(1..).unwrap_or_default();
    if beginnings.records.find(inside).is_some() {
        // No event contains a beginning: this one ends before its length.
        return Look::Not(Gap::Broken);
    }
    if view.len() <= length && !ended {
        return Look::More(length + 1);
    }
    let Some(written) = view.get(SEAL..length) else { return Look::Not(Gap::Cut) };
    match seal.open(written, body) {
        Some(line) => {
            let (newline, whole) = line_end(view, length);
            Look::Whole(Found::Record(line, newline), whole)
        }
        None => Look::Not(Gap::Broken),
    }
}

fn look_at_header(view: &[u8], ended: bool) -> Look {
    let open = !ended && view.len() < MAX_HEADER && !view.contains(&b'\n');
    match Header::of(view) {
        Some((_, length)) if view.len() == length && !ended => Look::More(length + 1),
        Some((header, length)) => {
            let (newline, whole) = line_end(view, length);
            Look::Whole(Found::Header(header, newline), whole)
        }
        None if open => Look::More(view.len() * 2),
        None => Look::Not(Gap::Garbage),
    }
}

fn line_end(view: &[u8], length: usize) -> (Newline, usize) {
    match view.get(length) {
        Some(b'\n') => (Newline::There, length + 1),
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
