//! Finds the matches in one file.
//!
//! Small files are read in one piece into a reused buffer, larger ones through a window. Binary files have no matches.
//! Long lines are cut around their first match.

use std::fs::File;
use std::io::Read;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch,
};

use super::Mode;
use super::pattern::Pattern;

/// Maximum size of a file that is read in one piece, in bytes.
const PIECE: u64 = 512 * 1024;
/// Maximum memory for one line, or for one file of a multiline search, in bytes.
const HEAP: usize = 32 * 1024 * 1024;
/// Maximum number of bytes of a line to show.
const LINE: usize = 400;
/// Number of bytes to show before the first match of a long line.
const LEAD: usize = 100;

/// The matches in one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileMatches {
    pub(super) path: String,
    /// Number of matching lines, as far as they were counted.
    pub(super) count: usize,
    pub(super) lines: Vec<ReportLine>,
}

/// A line to show.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReportLine {
    Match { number: u64, text: String },
    Context { number: u64, text: String, before: bool },
    Break,
}

/// Searches files one after the other.
pub(super) struct Reader {
    searcher: Searcher,
    buffer: Vec<u8>,
    /// Files that could not be searched, and why.
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

    /// Searches a file; `None` if it has no match, is binary or cannot be read.
    pub(super) fn search(
        &mut self,
        pattern: &Pattern,
        path: &str,
        mut file: File,
        size: u64,
    ) -> Option<FileMatches> {
        let mut sink = MatchSink {
            matcher: &pattern.matcher,
            mode: pattern.mode,
            binary: false,
            count: 0,
            lines: Vec::new(),
        };
        let searched = if size <= PIECE {
            self.read(&mut file, size).and_then(|filled| {
                let piece = self.buffer.get(..filled).unwrap_or_default();
                self.searcher.search_slice(&pattern.matcher, piece, &mut sink)
            })
        } else {
            self.searcher.search_file(&pattern.matcher, &file, &mut sink)
        };
        if let Err(error) = searched {
            self.skipped.push(format!("{path}: {error}"));
            self.skipped.truncate(10);
            return None;
        }
        let MatchSink { binary, count, lines, .. } = sink;
        if binary {
            self.skipped.push(format!("{path} is a binary file"));
            self.skipped.truncate(10);
        }
        (count > 0 && !binary).then(|| FileMatches { path: path.to_owned(), count, lines })
    }

    /// Fills the buffer and returns the number of bytes. A read that is shorter than requested reached the end, which
    /// saves another call.
    fn read(&mut self, file: &mut File, size: u64) -> std::io::Result<usize> {
        let room = usize::try_from(size).unwrap_or_default() + 1;
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        let mut filled = 0;
        while let Some(rest) = self.buffer.get_mut(filled..room).filter(|rest| !rest.is_empty()) {
            let read = file.read(rest)?;
            filled += read;
            if read == 0 || filled + 1 == room {
                break;
            }
        }
        Ok(filled)
    }
}

struct MatchSink<'a> {
    matcher: &'a RegexMatcher,
    mode: Mode,
    binary: bool,
    count: usize,
    lines: Vec<ReportLine>,
}

impl Sink for MatchSink<'_> {
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
                self.lines.push(ReportLine::Match { number: index, text: shorten(line, start) });
            }
        }
        Ok(self.mode != Mode::Files)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let number = found.line_number().unwrap_or_default();
        let before = matches!(found.kind(), SinkContextKind::Before);
        self.lines.push(ReportLine::Context { number, text: shorten(found.bytes(), 0), before });
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.lines.push(ReportLine::Break);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), Self::Error> {
        self.binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A line without its line ending; a long one is cut around `place`.
fn shorten(line: &[u8], place: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= LINE {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = if place + LEAD < LINE { 0 } else { place - LEAD };
    let mut start = start.min(line.len() - LINE);
    let mut end = start + LINE;
    // Do not cut inside a character.
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
