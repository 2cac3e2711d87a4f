//! `recall`: returns earlier output that was cut, and messages that compaction removed from the conversation.
//!
//! Both can be read by line number, or by a pattern that lines must match. Outputs have ids of their own (`o3`); the
//! session finds messages.

use std::io::{self, BufRead, BufReader, Read};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::json;

use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::bench_tool::{BenchTool, blocking};
use crate::file_error::failed;
use crate::output::LIMIT as BYTES;
use crate::outputs::StoredOutput;

/// Default number of lines to show.
const LINES: u64 = 500;
/// Maximum number of bytes of a line to show.
const LINE: usize = 2_000;
/// Maximum number of bytes of one line in memory.
const HEAP: usize = 16 * 1024 * 1024;

/// The tool `recall`.
pub(crate) struct Recall;

/// The arguments of a tool call.
#[derive(Deserialize)]
pub(crate) struct Arguments {
    id: String,
    offset: Option<u64>,
    limit: Option<u64>,
    pattern: Option<String>,
}

impl BenchTool for Recall {
    type Arguments = Arguments;
    const NAME: &'static str = "recall";
    const LABEL: &'static str = "Recall";
    const DESCRIPTION: &'static str = "Read an earlier output that was cut or cleared, or messages that were left out, by the id that was given with it. Returns a range of its lines or, with `pattern`, the matching lines with their numbers.";
    const FIELDS: &'static [Field] = &[
        Field::required(
            "id",
            ArgumentKind::Text,
            "The id, such as `o3`, `m0123456789ab` or `m0123456789ab..mba9876543210`.",
        ),
        Field::optional("offset", ArgumentKind::Number(1, i64::MAX), "First line to read (default 1)."),
        Field::optional(
            "limit",
            ArgumentKind::Number(1, 5_000),
            "Maximum number of lines to show (default 500).",
        ),
        Field::optional(
            "pattern",
            ArgumentKind::Text,
            "A regular expression; only matching lines are shown.",
        ),
    ];
    const EFFECTS: ToolEffects = ToolEffects::READS;

    fn run(
        bench: &Workbench,
        arguments: Arguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let mut reading = LineReader::new(&arguments)?;
            if let Some(output) = bench.outputs().find(&arguments.id) {
                let read = move |cancel: &CancellationToken| {
                    let from: Box<dyn Read> = match &output {
                        StoredOutput::Memory(bytes) => Box::new(io::Cursor::new(bytes.clone())),
                        StoredOutput::File(directory, name) => {
                            Box::new(directory.file(name).map_err(failed)?.0)
                        }
                    };
                    reading.read(from, cancel);
                    reading.result(&arguments, cancel)
                };
                return blocking(&context, read).await;
            }
            // Piece by piece, because what was left out can be as long as the session.
            let found = match &context.earlier {
                Some(earlier) => {
                    let mut take = |piece: &str| reading.read(piece.as_bytes(), &context.cancel);
                    earlier.stream_text(&arguments.id, &mut take).await?
                }
                None => false,
            };
            if !found {
                return Err(unknown(bench, &arguments.id));
            }
            reading.result(&arguments, &context.cancel)
        })
    }
}

fn unknown(bench: &Workbench, id: &str) -> ToolError {
    let ids = bench.outputs().ids();
    let known = if ids.is_empty() { "none".to_owned() } else { format!("`{}`", ids.join("`, `")) };
    ToolError::Failed(format!(
        "Unknown id `{id}`: no message has it, and the stored outputs are: {known}. Old outputs are dropped; repeat the tool call that produced it."
    ))
}

/// The lines to show.
struct ShownLines {
    text: String,
    lines: u64,
    last: u64,
    more: bool,
}

impl ShownLines {
    /// Adds a line; false if the limit is reached.
    fn add(&mut self, number: u64, most: u64, lead: &str, line: &str) -> bool {
        if self.lines == most || self.text.len() >= BYTES {
            self.more = true;
            return false;
        }
        let line = line.trim_end_matches(['\n', '\r']);
        let end = line.floor_char_boundary(LINE);
        self.text.push_str(lead);
        self.text.push_str(line.get(..end).unwrap_or(line));
        if end < line.len() {
            self.text.push_str(&format!("[… {} bytes]", line.len() - end));
        }
        self.text.push('\n');
        self.lines += 1;
        self.last = number;
        true
    }
}

/// Reads lines of one output, or of consecutive pieces.
struct LineReader {
    first: u64,
    most: u64,
    matcher: Option<RegexMatcher>,
    /// Number of lines in the previous pieces.
    before: u64,
    shown: ShownLines,
    error: Option<io::Error>,
}

impl LineReader {
    fn new(arguments: &Arguments) -> Result<Self, ToolError> {
        let wrong = |error: grep_regex::Error| {
            ToolError::InvalidArgs(format!("`pattern` is not a regular expression: {error}."))
        };
        let build = |pattern: &String| RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(pattern);
        let matcher = arguments.pattern.as_ref().map(build).transpose().map_err(wrong)?;
        let first = arguments.offset.unwrap_or(1);
        let shown = ShownLines { text: String::new(), lines: 0, last: first, more: false };
        Ok(Self { first, most: arguments.limit.unwrap_or(LINES), matcher, before: 0, shown, error: None })
    }

    fn read(&mut self, from: impl Read, cancel: &CancellationToken) {
        if self.shown.more || self.error.is_some() || cancel.is_cancelled() {
            return;
        }
        let Self { first, most, before, shown, .. } = self;
        let mut lines = 0;
        let counted = LineCounter { from, lines: &mut lines, open: false };
        let read = match &self.matcher {
            Some(matcher) => matching(matcher, counted, (*before, *first, *most), shown, cancel),
            None => range(counted, (*before, *first, *most), shown, cancel),
        };
        self.before += lines;
        self.error = read.err();
    }

    fn result(self, arguments: &Arguments, cancel: &CancellationToken) -> Result<ToolResult, ToolError> {
        if let Some(error) = self.error {
            return Err(ToolError::Failed(format!("Could not read the output: {error}.")));
        }
        if cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let ShownLines { mut text, lines, last, more } = self.shown;
        if lines == 0 {
            let what = if arguments.pattern.is_some() { "No lines match" } else { "There are no lines" };
            text = format!("{what} from line {} on.\n", self.first);
        } else if more {
            text.push_str(&format!("[More lines follow. Continue with `offset` {}.]\n", last + 1));
        } else {
            text.push_str("[End of the output.]\n");
        }
        let details = json!({ "id": arguments.id, "lines": lines, "more": more });
        Ok(ToolResult::text(text).with_details(details))
    }
}

/// Counts the lines that are read.
struct LineCounter<'a, R> {
    from: R,
    lines: &'a mut u64,
    /// Whether the last line has no newline yet.
    open: bool,
}

impl<R: Read> Read for LineCounter<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        let bytes = buffer.get(..read).unwrap_or_default();
        *self.lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        if let Some(last) = bytes.last() {
            self.open = *last != b'\n';
        } else if std::mem::take(&mut self.open) {
            *self.lines += 1;
        }
        Ok(read)
    }
}

/// Number of lines before, first wanted line, and maximum number of lines.
type WantedLines = (u64, u64, u64);

fn range(
    from: impl Read,
    (before, first, most): WantedLines,
    shown: &mut ShownLines,
    cancel: &CancellationToken,
) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(64 * 1024, from);
    let mut line = Vec::new();
    for number in before + 1.. {
        line.clear();
        // A line without a newline must not use more than its share of memory.
        let read = reader.by_ref().take(HEAP as u64).read_until(b'\n', &mut line)?;
        if read == 0 || cancel.is_cancelled() {
            break;
        }
        if number >= first && !shown.add(number, most, "", &String::from_utf8_lossy(&line)) {
            break;
        }
    }
    Ok(())
}

fn matching(
    matcher: &RegexMatcher,
    from: impl Read,
    (before, first, most): WantedLines,
    shown: &mut ShownLines,
    cancel: &CancellationToken,
) -> io::Result<()> {
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .heap_limit(Some(HEAP))
        .binary_detection(BinaryDetection::none())
        .build();
    let sink = Lossy(|number, line| {
        let number = before + number;
        let wanted = number >= first;
        let goes_on = !wanted || shown.add(number, most, &format!("{number}: "), line);
        Ok(goes_on && !cancel.is_cancelled())
    });
    searcher.search_reader(matcher, from, sink)
}
