//! What one file has of a pattern.
//!
//! Owns reading a file for a search: small ones in one piece into a buffer that is used again, larger ones through a
//! window. Binary files have nothing. Long lines are cut around their first match.

use std::fs::File;
use std::io::Read;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch,
};

use super::Mode;
use super::pattern::Pattern;

/// Bytes of a file that is read in one piece.
const PIECE: u64 = 512 * 1024;
/// Bytes that one line, or one file of a search across lines, may take in memory.
const HEAP: usize = 32 * 1024 * 1024;
/// Bytes of a line that are shown.
const LINE: usize = 400;
/// Bytes that are shown before the first match of a long line.
const LEAD: usize = 100;

/// What one file has.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileMatches {
    pub(super) path: String,
    /// Matching lines, as far as they were counted.
    pub(super) count: usize,
    pub(super) lines: Vec<Line>,
}

/// A line that is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Match { number: u64, text: String },
    Context { number: u64, text: String, before: bool },
    Break,
}

/// Searches files one after the other.
pub(super) struct Reader {
    searcher: Searcher,
    buffer: Vec<u8>,
    /// Why files have nothing that may have something.
    pub(super) skipped: Vec<String>,
}

impl Reader {
    pub(super) fn new(pattern: &Pattern) -> Self {
        let most = match pattern.mode {
            Mode::Lines => Some(pattern.enough as u64 + 1),
            Mode::Files => Some(1),
            Mode::Count => None,
        };
        let searcher = SearcherBuilder::new()
            .line_terminator(pattern.terminator())
            .line_number(pattern.mode == Mode::Lines)
            .multi_line(pattern.multiline)
            .before_context(pattern.context)
            .after_context(pattern.context)
            .heap_limit(Some(HEAP))
            .binary_detection(BinaryDetection::quit(0))
            .max_matches(most)
            .build();
        Self { searcher, buffer: Vec::new(), skipped: Vec::new() }
    }

    /// What a file has; nothing when it is binary or cannot be read.
    pub(super) fn search(
        &mut self,
        pattern: &Pattern,
        path: &str,
        mut file: File,
        size: u64,
    ) -> Option<FileMatches> {
        let mut sink = Gather {
            matcher: &pattern.matcher,
            mode: pattern.mode,
            binary: false,
            count: 0,
            lines: Vec::new(),
        };
        let searched = if size <= PIECE {
            self.read(&mut file, size)
                .and_then(|()| self.searcher.search_slice(&pattern.matcher, &self.buffer, &mut sink))
        } else {
            self.searcher.search_file(&pattern.matcher, &file, &mut sink)
        };
        if let Err(error) = searched {
            self.skipped.push(format!("{path}: {error}"));
            self.skipped.truncate(10);
            return None;
        }
        let Gather { binary, count, lines, .. } = sink;
        if binary {
            self.skipped.push(format!("{path} is a binary file"));
            self.skipped.truncate(10);
        }
        (count > 0 && !binary).then(|| FileMatches { path: path.to_owned(), count, lines })
    }

    /// Fills the buffer. A read that is shorter than the room for it came to the end: that saves asking again.
    fn read(&mut self, file: &mut File, size: u64) -> std::io::Result<()> {
        let room = usize::try_from(size).unwrap_or_default() + 1;
        self.buffer.resize(room.max(self.buffer.len()), 0);
        let mut filled = 0;
        loop {
            let Some(rest) = self.buffer.get_mut(filled..room) else { break };
            let read = file.read(rest)?;
            filled += read;
            if read == 0 || (filled < room && filled as u64 >= size) || filled == room {
                break;
            }
        }
        self.buffer.truncate(filled);
        Ok(())
    }
}

struct Gather<'a> {
    matcher: &'a RegexMatcher,
    mode: Mode,
    binary: bool,
    count: usize,
    lines: Vec<Line>,
}

impl Sink for Gather<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.count += if self.mode == Mode::Lines { found.lines().count() } else { 1 };
        if self.mode == Mode::Lines {
            let first = found.line_number().unwrap_or_default();
            for (index, line) in (first..).zip(found.lines()) {
                let start = match self.matcher.find(line) {
                    Ok(Some(place)) => place.start(),
                    _ => 0,
                };
                self.lines.push(Line::Match { number: index, text: shortened(line, start) });
            }
        }
        Ok(self.mode != Mode::Files)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let number = found.line_number().unwrap_or_default();
        let before = matches!(found.kind(), SinkContextKind::Before);
        self.lines.push(Line::Context { number, text: shortened(found.bytes(), 0), before });
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.lines.push(Line::Break);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), Self::Error> {
        self.binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A line without its end; a long one cut around a place in it.
fn shortened(line: &[u8], place: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= LINE {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = if place + LEAD < LINE { 0 } else { place - LEAD };
    let mut start = start.min(line.len() - LINE);
    let mut end = start + LINE;
    // Not in the middle of a character.
    let inside = |at: usize| line.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    while start > 0 && inside(start) {
        start -= 1;
    }
    while end > start && inside(end) {
        end -= 1;
    }
    let shown = String::from_utf8_lossy(line.get(start..end).unwrap_or_default()).into_owned();
    let (before, after) = (start, line.len() - end);
    let lead = if before > 0 { format!("[… {before} bytes]") } else { String::new() };
    let rest = if after > 0 { format!("[… {after} bytes]") } else { String::new() };
    format!("{lead}{shown}{rest}")
}
