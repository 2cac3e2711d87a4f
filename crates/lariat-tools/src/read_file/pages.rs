//! Reads PDFs in `read_file`: the text of each page under its number.

use lariat_core::tool::{ToolContext, ToolError, ToolResult};
use lariat_host::files::FileVersion;
use serde_json::json;

use super::{Arguments, LINES, MAGIC, PDF, TEXT_LIMIT};
use crate::Workbench;
use crate::pdf::{self, PageRange, PageTexts, PdfError, PdfStop};
use crate::shown_files::{ShownPart, ShownUnit};

/// Maximum size of a PDF in bytes.
pub(super) const LIMIT: u64 = pdf::LIMIT;

/// A complete PDF has its end mark within this many bytes from the end.
const END: usize = 1_024;

/// Whether a file is a PDF. Reading a PDF takes long even if it is small.
pub(super) fn is_pdf(bench: &Workbench, path: &str) -> bool {
    let start = bench.workspace().read_lines(path, 0, MAGIC as u64, MAGIC);
    start.is_ok_and(|start| start.bytes.starts_with(PDF))
}

/// Whether a call names pages.
pub(super) const fn names_pages(arguments: &Arguments) -> bool {
    arguments.pages.is_some()
}

/// The requested pages: all if the call names none.
pub(super) fn requested(arguments: &Arguments) -> Option<ShownPart> {
    let range = pdf::page_range(arguments.pages.as_deref().unwrap_or("1-"))?;
    Some(ShownPart { unit: ShownUnit::Page, first: *range.start(), last: *range.end() })
}

/// Returns the text of a PDF's pages, under their numbers.
pub(super) fn read(
    bench: &Workbench,
    arguments: &Arguments,
    bytes: Vec<u8>,
    known: FileVersion,
    context: &ToolContext,
) -> Result<ToolResult, ToolError> {
    let path = &arguments.path;
    let size = bytes.len();
    let ended = bytes
        .get(size.saturating_sub(END)..)
        .is_some_and(|end| memchr::memmem::find(end, b"%%EOF").is_some());
    if arguments.offset.or(arguments.limit).is_some() {
        let words =
            format!("`{path}` is a PDF: select pages with `pages`, not lines with `offset` and `limit`.");
        return Err(ToolError::InvalidArgs(words));
    }
    let requested = requested(arguments).ok_or_else(|| {
        ToolError::InvalidArgs("`pages` must be one page or a range, such as `3`, `2-5` or `8-`.".to_owned())
    })?;
    bench.memory().remember(path, known.clone());
    if !arguments.is_again()
        && let Some(answer) = bench.shown().by_content(context, path, &known, requested)
    {
        return Ok(answer);
    }
    let wanted: PageRange = requested.first..=requested.last;
    let (mut lines, mut text_bytes) = (0, 0);
    let reading = pdf::read(bytes, &wanted, context, |page| {
        lines += page.lines().count() as u64;
        text_bytes += page.len() as u64;
        lines >= LINES || text_bytes >= TEXT_LIMIT / 2
    })?;
    let reading = reading.map_err(|error| unreadable(path, error))?;
    let last = requested.first + reading.pages.len() as u64 - 1;
    if reading.pages.iter().all(String::is_empty) && reading.stopped.is_none() {
        return Err(without_text(path, &shown_range(requested.first, last, reading.total), ended));
    }
    bench.shown().remember(context, path, &known, ShownPart { last, ..requested }, Some(reading.total));
    let details = json!({ "path": path, "bytes": size, "pages": reading.total });
    Ok(ToolResult::text(shown_pages(&reading, requested.first, last)).with_details(details))
}

fn shown_pages(reading: &PageTexts, first: u64, last: u64) -> String {
    let (mut text, total) = (String::new(), reading.total);
    for (page, content) in (first..).zip(&reading.pages) {
        if content.is_empty() {
            text.push_str(&format!("[Page {page} of {total} has no text; it may be an image.]\n\n"));
        } else {
            text.push_str(&format!("[Page {page} of {total}]\n{content}\n"));
        }
    }
    text.truncate(text.trim_end_matches('\n').len() + 1);
    if text.matches(char::REPLACEMENT_CHARACTER).count() > text.len() / 20 {
        text.push_str(
            "[The document does not define the letters of many glyphs; those are shown as \u{FFFD}.]\n",
        );
    }
    let (next, after) = (last + 1, last + 2);
    let range = shown_range(first, last, total);
    let words = match reading.stopped {
        Some(PdfStop::Late) => format!("page {next} took too long. Continue with `pages` \"{after}-\"."),
        Some(PdfStop::Damaged) => format!("page {next} is damaged. Continue with `pages` \"{after}-\"."),
        Some(PdfStop::Full) => format!("Continue with `pages` \"{next}-\"."),
        None if last < total => format!("Continue with `pages` \"{next}-\"."),
        None => return text,
    };
    text.push_str(&format!("[Shown: {range}; {words}]\n").replace("; Continue", ". Continue"));
    text
}

fn unreadable(path: &str, error: PdfError) -> ToolError {
    ToolError::Failed(format!("`{path}` is a PDF that {error}."))
}

fn without_text(path: &str, range: &str, ended: bool) -> ToolError {
    ToolError::Failed(if ended {
        format!(
            "`{path}` is a PDF without text on {range}; the pages are probably scanned images. Run OCR with another program \
             (`ocrmypdf`), or convert pages to images and read those (`pdftoppm -r 100 -png`)."
        )
    } else {
        format!("`{path}` is a truncated PDF: the remaining part has no text on {range}. Get another copy.")
    })
}

/// "page 2 of 3", "pages 2-3 of 3".
fn shown_range(first: u64, last: u64, total: u64) -> String {
    if first == last {
        format!("page {first} of {total}")
    } else {
        format!("pages {first}-{last} of {total}")
    }
}

/// Rejects `pages` for a file that is not a PDF.
pub(super) fn reject_pages(arguments: &Arguments) -> Result<(), ToolError> {
    let path = &arguments.path;
    if !names_pages(arguments) {
        return Ok(());
    }
    let words = format!("`{path}` is not a PDF: select lines with `offset` and `limit`, not `pages`.");
    Err(ToolError::InvalidArgs(words))
}
