//! `read_file`: returns text with line numbers, an image, or the text of a PDF.
//!
//! Notes in the result say which parts are missing. The tool remembers what the model was shown and does not show it
//! again unless it changed or the model asks for it.

#[cfg(feature = "pdf")]
mod pages;
#[cfg(not(feature = "pdf"))]
#[path = "no_pages.rs"]
mod pages;

use lariat_core::content::Content;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_host::files::text::Text;
use lariat_host::files::{FileError, FileVersion, Stamp};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::document::{LINE_LIMIT, counted, encode};
use crate::file_error::failed;
use crate::file_tool::{FileTool, LARGE};
use crate::image;
use crate::shown_files::{ShownPart, ShownUnit};

/// Maximum size of the text of one result in bytes.
const TEXT_LIMIT: u64 = 1_000_000;
/// Maximum size of an image in bytes.
const IMAGE_LIMIT: u64 = 20 * 1024 * 1024;
/// Default number of lines to return.
const LINES: u64 = 2_000;

/// Number of bytes that identify the type of a file.
const MAGIC: usize = 16;
/// The first bytes of a PDF.
const PDF: &[u8] = b"%PDF-";

/// What follows a text that the editor has not saved.
const UNSAVED: &str =
    "The user has not saved these changes yet: this is the text in the editor, and the file on disk differs.";

/// The tool `read_file`.
pub(crate) struct ReadFile;

/// The arguments of a tool call.
#[derive(Clone, Deserialize)]
pub(crate) struct Arguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
    #[cfg(feature = "pdf")]
    pages: Option<String>,
    again: Option<bool>,
}

impl Arguments {
    /// The requested lines.
    fn lines(&self) -> ShownPart {
        let first = self.offset.unwrap_or(1).max(1);
        let last = (first - 1).saturating_add(self.limit.unwrap_or(LINES));
        ShownPart { unit: ShownUnit::Line, first, last }
    }

    /// The parts that would answer the call, for each type of file; empty if the content must be shown again.
    fn parts(&self) -> Vec<ShownPart> {
        if self.is_again() {
            return Vec::new();
        }
        let pages = pages::requested(self);
        let others = [self.lines(), WHOLE_IMAGE].into_iter().filter(|_| !pages::names_pages(self));
        pages.into_iter().chain(others).collect()
    }

    fn is_again(&self) -> bool {
        self.again == Some(true)
    }
}

/// An image, as a part of its file.
const WHOLE_IMAGE: ShownPart = ShownPart { unit: ShownUnit::Image, first: 1, last: 1 };

impl FileTool for ReadFile {
    type Arguments = Arguments;
    const NAME: &'static str = "read_file";
    const LABEL: &'static str = "Read";
    const DESCRIPTION: &'static str = "Read a file of the workspace. Text is returned with line numbers (number, tab, line); the numbers are not part \
        of the file. Without `offset` and `limit` you get the first 2000 lines; a note says how many remain and how to read them. Images (PNG, JPEG, GIF, \
        WebP) are shown; PDFs are returned as text by page. Read a file before you overwrite it, and again after it changed. Content that you were shown before and that did not change \
        is not shown again unless `again` is set.";
    const FIELDS: &'static [Field] = &[
        Field::required(
            "path",
            ArgumentKind::Text,
            "The file: relative to the workspace, or absolute inside it.",
        ),
        Field::optional("offset", ArgumentKind::Number(1, i64::MAX), "First line to read, starting at 1."),
        Field::optional("limit", ArgumentKind::Number(1, 100_000), "Number of lines to read (default 2000)."),
        #[cfg(feature = "pdf")]
        Field::optional("pages", ArgumentKind::Text, "Pages of a PDF to read, such as `3`, `2-5` or `8-`."),
        Field::optional(
            "again",
            ArgumentKind::Switch,
            "Show the content even if you were shown it before, because you can no longer see it.",
        ),
    ];
    const EFFECTS: ToolEffects = ToolEffects::READS;

    fn subject(arguments: &Arguments) -> Option<&str> {
        Some(&arguments.path)
    }

    fn texts(arguments: &Arguments) -> Vec<String> {
        vec![arguments.path.clone()]
    }

    fn is_heavy(bench: &Workbench, arguments: &Arguments, stamp: &Stamp, context: &ToolContext) -> bool {
        // Content that was shown before is not read.
        shown_before(bench, arguments, stamp, context).is_none()
            && (stamp.size() > LARGE || pages::is_pdf(bench, &arguments.path))
    }

    fn run(bench: &Workbench, arguments: Arguments, context: &ToolContext) -> Result<ToolResult, ToolError> {
        let path = &arguments.path;
        let workspace = bench.workspace();
        let stamp = workspace.stamp(path).map_err(failed)?;
        if let Some(text) = bench.unsaved(path) {
            return unsaved(bench, &arguments, text, stamp);
        }
        if let Some((answer, known)) = shown_before(bench, &arguments, &stamp, context) {
            bench.memory().remember(path, known);
            return Ok(answer);
        }
        let size = stamp.size();
        if size > TEXT_LIMIT {
            return large(bench, &arguments, size, context);
        }
        let (known, text) = match bench.texts().by_stamp(path, &stamp) {
            Some(cached) => {
                pages::reject_pages(&arguments)?;
                cached
            }
            None => {
                let content = workspace.read(path, TEXT_LIMIT).map_err(failed)?;
                let known = FileVersion::of(content.stamp, &content.bytes);
                if let Some(mime_type) = image::kind(&content.bytes) {
                    return Ok(image_result(bench, &arguments, context, &content.bytes, known, mime_type));
                }
                if content.bytes.starts_with(PDF) {
                    return pages::read(bench, &arguments, content.bytes, known, context);
                }
                pages::reject_pages(&arguments)?;
                let text = readable(path, content.bytes, size)?;
                let text = bench.texts().remember(path, &known, text);
                (known, text)
            }
        };
        bench.memory().remember(path, known.clone());
        let requested = arguments.lines();
        if !arguments.is_again()
            && let Some(answer) = bench.shown().by_content(context, path, &known, requested)
        {
            return Ok(answer);
        }
        if text.as_str().is_empty() {
            return Ok(ToolResult::text(format!("`{path}` is empty."))
                .with_details(json!({ "path": path, "bytes": 0 })));
        }
        let (page, part, total) = requested_lines(&arguments, &text)?;
        bench.shown().remember(context, path, &known, part, Some(total));
        let details = text_details(path, size, total, &known, &text);
        Ok(ToolResult::text(page.text).with_details(details))
    }
}

/// Shows a text that the editor has not saved. It is shown each time: nothing on disk says whether it changed.
fn unsaved(
    bench: &Workbench,
    arguments: &Arguments,
    text: &Text,
    stamp: Stamp,
) -> Result<ToolResult, ToolError> {
    pages::reject_pages(arguments)?;
    let path = &arguments.path;
    let bytes = encode(path, text)?;
    let known = FileVersion::unsaved(stamp, &bytes);
    bench.memory().remember(path, known.clone());
    let (mut page, _, total) = if text.as_str().is_empty() {
        (NumberedLines::new(0, 0), arguments.lines(), 0)
    } else {
        requested_lines(arguments, text)?
    };
    page.note(UNSAVED);
    let mut details = text_details(path, bytes.len() as u64, total, &known, text);
    if let Some(fields) = details.as_object_mut() {
        fields.insert("unsaved".to_owned(), true.into());
    }
    Ok(ToolResult::text(page.text).with_details(details))
}

/// The requested lines of a text that is not empty, which part that is, and how many lines it has.
fn requested_lines(arguments: &Arguments, text: &Text) -> Result<(NumberedLines, ShownPart, u64), ToolError> {
    let skip = arguments.lines().first - 1;
    let mut lines = text.as_str().lines();
    let passed = lines.by_ref().take(usize::try_from(skip).unwrap_or(usize::MAX)).count() as u64;
    let mut page = NumberedLines::new(skip, text.as_str().len());
    let count = usize::try_from(arguments.limit.unwrap_or(LINES)).unwrap_or(usize::MAX);
    lines.by_ref().take(count).for_each(|line| page.put(line));
    if page.text.is_empty() {
        return Err(past_the_end(&arguments.path, skip + 1, passed));
    }
    let (first, last, next, rest) = (skip + 1, page.next - 1, page.next, lines.count() as u64);
    let total = last + rest;
    if rest > 0 {
        page.note(&format!("Lines {first}-{last} of {total}; {rest} remain. Continue with `offset` {next}."));
    }
    Ok((page, ShownPart { unit: ShownUnit::Line, first, last }, total))
}

fn text_details(path: &str, size: u64, lines: u64, known: &FileVersion, text: &Text) -> Value {
    json!({
        "path": path,
        "bytes": size,
        "lines": lines,
        "hash": known.hash.map(|hash| hash.to_hex().to_string()),
        "form": text.form(),
    })
}

/// Answers a call for content that was shown before, if the file's stamp alone proves that it did not change.
fn shown_before(
    bench: &Workbench,
    arguments: &Arguments,
    stamp: &Stamp,
    context: &ToolContext,
) -> Option<(ToolResult, FileVersion)> {
    let shown = |requested| bench.shown().by_stamp(context, &arguments.path, stamp, requested);
    arguments.parts().into_iter().find_map(shown)
}

/// Handles a file that is too large to read whole: an image, a PDF, or a range of lines.
fn large(
    bench: &Workbench,
    arguments: &Arguments,
    size: u64,
    context: &ToolContext,
) -> Result<ToolResult, ToolError> {
    let path = &arguments.path;
    let workspace = bench.workspace();
    let start = workspace.read_lines(path, 0, MAGIC as u64, MAGIC).map_err(failed)?;
    if let Some(mime_type) = image::kind(&start.bytes) {
        let content = workspace.read(path, IMAGE_LIMIT).map_err(failed)?;
        let known = FileVersion::of(content.stamp, &content.bytes);
        return Ok(image_result(bench, arguments, context, &content.bytes, known, mime_type));
    }
    if start.bytes.starts_with(PDF) {
        let content = workspace.read(path, pages::LIMIT).map_err(failed)?;
        let known = FileVersion::of(content.stamp, &content.bytes);
        return pages::read(bench, arguments, content.bytes, known, context);
    }
    pages::reject_pages(arguments)?;
    if start.bytes.starts_with(b"\xFF\xFE") || start.bytes.starts_with(b"\xFE\xFF") {
        let how = "It is UTF-16, of which no ranges can be read. Convert it to UTF-8 first.";
        return Err(failed(FileError::TooLarge { path: path.clone(), size, limit: TEXT_LIMIT, how }));
    }
    let skip = arguments.lines().first - 1;
    let count = arguments.limit.unwrap_or(LINES);
    let limit = usize::try_from(TEXT_LIMIT).unwrap_or(usize::MAX);
    let range = workspace.read_lines(path, skip, count, limit).map_err(failed)?;
    if range.bytes.is_empty() {
        return Err(past_the_end(path, skip + 1, range.skipped));
    }
    let text = readable(path, whole_characters(&range.bytes).to_vec(), size)?;
    let known = FileVersion::partly_read(range.stamp);
    bench.memory().remember(path, known.clone());
    let mut page = NumberedLines::new(skip, text.as_str().len());
    text.as_str().lines().for_each(|line| page.put(line));
    let (first, last) = (skip + 1, page.next - 1);
    let cut = range.more && !range.bytes.ends_with(b"\n");
    let whole = ShownPart { unit: ShownUnit::Line, first, last: if cut { last - 1 } else { last } };
    bench.shown().remember(context, path, &known, whole, (!range.more).then_some(last));
    if range.more {
        let next = if cut && last > first { last } else { page.next };
        page.note(&format!(
            "Lines {first}-{last}{} of a file of {size} bytes. Continue with `offset` {next}.",
            if cut { " (the last one only in part)" } else { "" }
        ));
    }
    let details = json!({ "path": path, "bytes": size, "form": text.form() });
    Ok(ToolResult::text(page.text).with_details(details))
}

/// Lines with their numbers.
struct NumberedLines {
    text: String,
    next: u64,
}

impl NumberedLines {
    fn new(skip: u64, capacity: usize) -> Self {
        Self { text: String::with_capacity(capacity + capacity / 4), next: skip + 1 }
    }

    fn put(&mut self, line: &str) {
        self.put_number();
        // A line never has more characters than bytes.
        match if line.len() <= LINE_LIMIT { None } else { line.char_indices().nth(LINE_LIMIT) } {
            None => self.text.push_str(line),
            Some((end, _)) => {
                let (shown, rest) = line.split_at_checked(end).unwrap_or((line, ""));
                self.text.push_str(shown);
                let rest = counted(rest.chars().count(), "more character");
                self.text.push_str(&format!("[… {rest} of this line are not shown]"));
            }
        }
        self.text.push('\n');
        self.next += 1;
    }

    /// Writes the number with at least six places and a tab. Formatted by hand, because there are many.
    fn put_number(&mut self) {
        let mut digits = [b' '; 20];
        let (mut rest, mut start) = (self.next, digits.len());
        for digit in digits.iter_mut().rev() {
            if rest == 0 {
                break;
            }
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
            rest /= 10;
            start -= 1;
        }
        let shown = digits.get(start.min(digits.len() - 6)..).unwrap_or_default();
        self.text.push_str(std::str::from_utf8(shown).unwrap_or_default());
        self.text.push('\t');
    }

    fn note(&mut self, words: &str) {
        self.text.push_str(&format!("[{words}]\n"));
    }
}

fn image_result(
    bench: &Workbench,
    arguments: &Arguments,
    context: &ToolContext,
    bytes: &[u8],
    known: FileVersion,
    mime_type: &str,
) -> ToolResult {
    let path = &arguments.path;
    bench.memory().remember(path, known.clone());
    if !arguments.is_again()
        && let Some(answer) = bench.shown().by_content(context, path, &known, WHOLE_IMAGE)
    {
        return answer;
    }
    bench.shown().remember(context, path, &known, WHOLE_IMAGE, Some(1));
    let image = Content::Image { data: image::base64(bytes), mime_type: mime_type.to_owned() };
    let details = json!({ "path": path, "bytes": bytes.len(), "mime_type": mime_type });
    ToolResult { content: vec![image], ..ToolResult::default() }.with_details(details)
}

fn readable(path: &str, bytes: Vec<u8>, size: u64) -> Result<Text, ToolError> {
    Text::from_bytes(bytes).ok_or_else(|| failed(FileError::Binary { path: path.to_owned(), size }))
}

fn past_the_end(path: &str, offset: u64, total: u64) -> ToolError {
    ToolError::Failed(format!(
        "`{path}` has {}; `offset` {offset} is past its end.",
        counted(usize::try_from(total).unwrap_or(usize::MAX), "line")
    ))
}

/// Removes an incomplete character at the end.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.get(..error.valid_up_to()).unwrap_or(bytes),
        _ => bytes,
    }
}
