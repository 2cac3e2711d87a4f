//! Extracts the text of PDFs.
//!
//! - `unpacked_size`: estimates how much a document unpacks to, before anything is unpacked.
//! - `interpret`: the operators of a page that place text.
//! - `lines`: joins placed glyphs into lines.
//!
//! Third-party parsers run on a separate thread with a large stack, where panics are contained. A call waits for the
//! thread for at most [`TIMEOUT`]; an abandoned thread ends at its next operator.

mod interpret;
mod lines;
mod unpacked_size;

use std::num::NonZero;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use hayro_font::hayro_syntax::{LoadPdfError, Pdf};
use lariat_core::tool::{ToolContext, ToolError};

/// Maximum size of a document in bytes.
pub(crate) const LIMIT: u64 = 20 * 1024 * 1024;
/// How long a call waits in total.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How often to check whether the call was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Stack size in bytes: objects nest up to 512 levels, and frames are large in unoptimised builds.
const STACK: usize = 32 * 1024 * 1024;

/// Page numbers, starting at 1.
pub(crate) type PageRange = RangeInclusive<u64>;

/// The text of some pages, and why others are missing.
#[derive(Debug, Default)]
pub(crate) struct PageTexts {
    /// Number of pages of the whole document.
    pub(crate) total: u64,
    /// One text for each page, starting with the first requested one; empty for a page without text.
    pub(crate) pages: Vec<String>,
    /// Why some requested pages are missing.
    pub(crate) stopped: Option<PdfStop>,
}

/// Why reading ended before the last requested page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PdfStop {
    /// The caller has enough.
    Full,
    /// It took too long.
    Late,
    /// The rest of the document is damaged.
    Damaged,
}

/// Why a document could not be read. The text continues "… is a PDF that".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PdfError {
    #[error("is encrypted. Decrypt it first, for example with `qpdf --decrypt`")]
    Encrypted,
    #[error(
        "is damaged: its structure cannot be read. Repair it (for example with `qpdf` or `mutool clean`), or get another copy"
    )]
    Damaged,
    #[error("unpacks to more than {} MB, or to an unknown size. Convert it with another program (`pdftotext`)", unpacked_size::TOTAL / 1_000_000)]
    TooHeavy,
    #[error("took longer than {} s to read. Convert it with another program (`pdftotext`)", TIMEOUT.as_secs())]
    Late,
    #[error("has only {0} pages, so the requested page does not exist")]
    NoSuchPage(u64),
}

/// A message from the thread.
enum ReaderMessage {
    Refused(PdfError),
    Total(u64),
    Page(String),
}

/// Reads pages until `enough` returns true for the last text.
pub(crate) fn read(
    bytes: Vec<u8>,
    wanted: &PageRange,
    context: &ToolContext,
    enough: impl FnMut(&str) -> bool,
) -> Result<Result<PageTexts, PdfError>, ToolError> {
    let pages = wanted.clone();
    let work = move |stop: &AtomicBool, tell: &SyncSender<ReaderMessage>| work(bytes, &pages, stop, tell);
    read_on_thread(work, wanted, TIMEOUT, context, enough)
}

/// Runs work on a thread and collects its messages.
fn read_on_thread(
    work: impl FnOnce(&AtomicBool, &SyncSender<ReaderMessage>) + Send + 'static,
    wanted: &PageRange,
    mut patience: Duration,
    context: &ToolContext,
    mut enough: impl FnMut(&str) -> bool,
) -> Result<Result<PageTexts, PdfError>, ToolError> {
    let stop = Arc::new(AtomicBool::new(false));
    let _stopped = StopOnDrop(Arc::clone(&stop));
    let (tell, news) = sync_channel(1);
    let thread = std::thread::Builder::new().name("pdf".to_owned()).stack_size(STACK);
    // A panic ends the thread and closes the channel, which is reported as `Gone`.
    let started = thread.spawn(move || work(&stop, &tell));
    started.map_err(|error| ToolError::Failed(format!("Could not start a thread for the PDF: {error}")))?;
    let mut reading = PageTexts::default();
    loop {
        match next(&news, &mut patience, context)? {
            NextMessage::ReaderMessage(ReaderMessage::Refused(error)) => return Ok(Err(error)),
            NextMessage::ReaderMessage(ReaderMessage::Total(total)) => reading.total = total,
            NextMessage::ReaderMessage(ReaderMessage::Page(text)) => {
                let done = enough(&text);
                reading.pages.push(text);
                let page = wanted.start() + reading.pages.len() as u64 - 1;
                if page >= *wanted.end().min(&reading.total) {
                    return Ok(Ok(reading));
                }
                if done {
                    reading.stopped = Some(PdfStop::Full);
                    return Ok(Ok(reading));
                }
                context.progress(format!("Read page {page} of {}", reading.total));
            }
            NextMessage::Late if reading.pages.is_empty() => return Ok(Err(PdfError::Late)),
            NextMessage::Disconnected if reading.pages.is_empty() => return Ok(Err(PdfError::Damaged)),
            NextMessage::Late => {
                reading.stopped = Some(PdfStop::Late);
                return Ok(Ok(reading));
            }
            NextMessage::Disconnected => {
                reading.stopped = Some(PdfStop::Damaged);
                return Ok(Ok(reading));
            }
        }
    }
}

/// Tells the thread to stop when the call ends.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

enum NextMessage {
    ReaderMessage(ReaderMessage),
    Late,
    Disconnected,
}

fn next(
    news: &Receiver<ReaderMessage>,
    patience: &mut Duration,
    context: &ToolContext,
) -> Result<NextMessage, ToolError> {
    loop {
        if context.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        match news.recv_timeout(POLL_INTERVAL) {
            Ok(news) => return Ok(NextMessage::ReaderMessage(news)),
            Err(RecvTimeoutError::Disconnected) => return Ok(NextMessage::Disconnected),
            Err(RecvTimeoutError::Timeout) => match patience.checked_sub(POLL_INTERVAL) {
                Some(left) => *patience = left,
                None => return Ok(NextMessage::Late),
            },
        }
    }
}

/// The thread's work. It ends when the receiver is dropped.
fn work(bytes: Vec<u8>, wanted: &PageRange, stop: &AtomicBool, tell: &SyncSender<ReaderMessage>) {
    if let Err(error) = unpacked_size::check(&bytes, stop) {
        let _ = tell.send(ReaderMessage::Refused(error));
        return;
    }
    let pdf = match Pdf::new(bytes) {
        Ok(pdf) => pdf,
        Err(LoadPdfError::Decryption(_)) => {
            return drop(tell.send(ReaderMessage::Refused(PdfError::Encrypted)));
        }
        Err(LoadPdfError::Invalid) => return drop(tell.send(ReaderMessage::Refused(PdfError::Damaged))),
    };
    let pages = pdf.pages();
    let total = pages.len() as u64;
    if total == 0 {
        return drop(tell.send(ReaderMessage::Refused(PdfError::Damaged)));
    }
    if *wanted.start() > total {
        return drop(tell.send(ReaderMessage::Refused(PdfError::NoSuchPage(total))));
    }
    let skipped = usize::try_from(wanted.start() - 1).unwrap_or(usize::MAX);
    let count = usize::try_from(wanted.end() - wanted.start() + 1).unwrap_or(usize::MAX);
    let reader = interpret::Reader::new(stop);
    let mut going = tell.send(ReaderMessage::Total(total)).is_ok();
    for page in pages.iter().skip(skipped).take(count) {
        going = going
            && !stop.load(Ordering::Relaxed)
            && tell.send(ReaderMessage::Page(reader.page(page))).is_ok();
    }
}

/// Parses a range as a model writes it: `7`, `2-5`, `8-`.
pub(crate) fn page_range(text: &str) -> Option<PageRange> {
    let number = |text: &str| text.trim().parse::<NonZero<u64>>().ok().map(NonZero::get);
    match text.trim().split_once('-') {
        None => number(text).map(|page| page..=page),
        Some((first, "")) => number(first).map(|first| first..=u64::MAX),
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(first..=last)
        }
    }
}

#[cfg(test)]
mod tests;
