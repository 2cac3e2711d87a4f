//! `recall`: an earlier output that was cut, and what compaction left out of the conversation.
//!
//! Owns the two ways into both: by line, and by what lines must match. Outputs have ids of their own (`o3`); messages are
//! found by the session.

use std::io::{self, BufRead, BufReader, Read};

use grep_regex::RegexMatcherBuilder;
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::json;

use crate::Workbench;
use crate::arguments::{Field, Kind};
use crate::bench_tool::{BenchTool, blocking};
use crate::file_tool::failed;
use crate::output::LIMIT as BYTES;
use crate::outputs::Output;

/// Lines that are shown, unless a call asks for others.
const LINES: u64 = 500;
/// Bytes of a line that are shown.
const LINE: usize = 2_000;
/// Bytes that one line may take in memory.
const HEAP: usize = 16 * 1024 * 1024;

/// The tool.
pub(crate) struct Recall;

/// What a call says.
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
    const DESCRIPTION: &'static str = "Reads an earlier output that was cut or cleared, or messages that were left out, by the id that was given with it: a range of its lines, or with `pattern` the lines that match, with their numbers.";
    const FIELDS: &'static [Field] = &[
        Field::required(
            "id",
            Kind::Text,
            "The id, such as `o3`, `m0123456789ab` or `m0123456789ab..mba9876543210`.",
        ),
        Field::optional("offset", Kind::Number(1, i64::MAX), "The line to begin with; 1 if left out."),
        Field::optional("limit", Kind::Number(1, 5_000), "Lines to show; 500 if left out."),
        Field::optional("pattern", Kind::Text, "A regular expression: only lines that match."),
    ];
    const EFFECTS: ToolEffects = ToolEffects::READS;

    fn run(
        bench: &Workbench,
        arguments: Arguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let output = find(bench, &arguments.id, &context).await?;
            blocking(&context, move |cancel| recall(&output, &arguments, cancel)).await
        })
    }
}

async fn find(bench: &Workbench, id: &str, context: &ToolContext) -> Result<Output, ToolError> {
    if let Some(output) = bench.outputs().find(id) {
        return Ok(output);
    }
    let earlier = match &context.earlier {
        Some(earlier) => earlier.text(id).await?,
        None => None,
    };
    earlier.map(|text| Output::Memory(text.into_bytes().into())).ok_or_else(|| unknown(bench, id))
}

fn unknown(bench: &Workbench, id: &str) -> ToolError {
    let ids = bench.outputs().ids();
    let known = if ids.is_empty() { "none is".to_owned() } else { format!("`{}` are", ids.join("`, `")) };
    ToolError::Failed(format!(
        "There is no output `{id}`: {known} kept, and no message has that id. Old outputs are forgotten; repeat the call that made it."
    ))
}

/// What is shown so far.
struct Shown {
    text: String,
    lines: u64,
    last: u64,
    more: bool,
}

impl Shown {
    /// Adds a line; false when there is no room.
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

fn recall(
    output: &Output,
    arguments: &Arguments,
    cancel: &CancellationToken,
) -> Result<ToolResult, ToolError> {
    let first = arguments.offset.unwrap_or(1);
    let most = arguments.limit.unwrap_or(LINES);
    let mut shown = Shown { text: String::new(), lines: 0, last: first, more: false };
    let from: Box<dyn Read> = match output {
        Output::Memory(bytes) => Box::new(io::Cursor::new(bytes.clone())),
        Output::File(directory, name) => Box::new(directory.file(name).map_err(failed)?.0),
    };
    let read = match &arguments.pattern {
        Some(pattern) => matching(pattern, from, first, most, &mut shown, cancel)?,
        None => range(from, first, most, &mut shown, cancel),
    };
    read.map_err(|error| ToolError::Failed(format!("The output cannot be read: {error}.")))?;
    if cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let Shown { mut text, lines, last, more } = shown;
    if lines == 0 {
        let what = if arguments.pattern.is_some() { "No line matches" } else { "There are no lines" };
        text = format!("{what} from line {first} on.\n");
    } else if more {
        text.push_str(&format!("[More follow. Go on with `offset` {}.]\n", last + 1));
    } else {
        text.push_str("[That was the end of the output.]\n");
    }
    let details = json!({ "id": arguments.id, "lines": lines, "more": more });
    Ok(ToolResult::text(text).with_details(details))
}

fn range(
    from: Box<dyn Read>,
    first: u64,
    most: u64,
    shown: &mut Shown,
    cancel: &CancellationToken,
) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(64 * 1024, from);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        // A line without an end does not take more than its share.
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
    pattern: &str,
    from: Box<dyn Read>,
    first: u64,
    most: u64,
    shown: &mut Shown,
    cancel: &CancellationToken,
) -> Result<io::Result<()>, ToolError> {
    let matcher =
        RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(pattern).map_err(|error| {
            ToolError::InvalidArgs(format!("`pattern` is not a regular expression: {error}."))
        })?;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .heap_limit(Some(HEAP))
        .binary_detection(BinaryDetection::none())
        .build();
    let sink = Lossy(|number, line| {
        let wanted = number >= first;
        let goes_on = !wanted || shown.add(number, most, &format!("{number}: "), line);
        Ok(goes_on && !cancel.is_cancelled())
    });
    Ok(searcher.search_reader(&matcher, from, sink))
}
