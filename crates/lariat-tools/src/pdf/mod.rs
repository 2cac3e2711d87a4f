//! The text of PDFs.
//!
//! - `weigh`: how much a document unpacks to, before anything is unpacked.
//! - `interpret`: the operators of a page that place text.
//! - `lines`: placed glyphs as lines.
//!
//! Owns the one door to other people's parsers: they work on a thread of their own with a deep stack, their panics end
//! there, and nobody waits for it longer than [`PATIENCE`]. A thread that is given up ends at its next operator.

mod interpret;
mod lines;
mod weigh;

use std::num::NonZero;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use hayro_font::hayro_syntax::{LoadPdfError, Pdf};
use lariat_core::tool::{ToolContext, ToolError};

/// Bytes of a document.
pub(crate) const LIMIT: u64 = 20 * 1024 * 1024;
/// How long a call waits in all.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it looks whether it is cancelled.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes of stack: objects nest 512 deep, each level with a frame of an unoptimised build.
const STACK: usize = 32 * 1024 * 1024;

/// Pages, counted from 1.
pub(crate) type PageRange = RangeInclusive<u64>;

/// The text of pages, and what is missing.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Pages of the whole document.
    pub(crate) total: u64,
    /// One text for each page from the first that was asked for; empty for a page without.
    pub(crate) pages: Vec<String>,
    /// Why not all pages are there that were asked for.
    pub(crate) stopped: Option<Stopped>,
}

/// Why a reading ended before its last page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The taker has enough.
    Full,
    /// It took too long.
    Late,
    /// The document is damaged from there on.
    Damaged,
}

/// Why a document has no text for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("is encrypted. Decrypt it first, for example with `qpdf --decrypt`")]
    Encrypted,
    #[error(
        "is damaged: its structure cannot be read. Repair it (for example with `qpdf` or `mutool clean`), or get another copy"
    )]
    Damaged,
    #[error("unpacks to more than {} MB, or to nobody knows how much. Convert it with another program (`pdftotext`)", weigh::TOTAL / 1_000_000)]
    TooHeavy,
    #[error("took longer than {} s to read. Convert it with another program (`pdftotext`)", PATIENCE.as_secs())]
    Late,
    #[error("has no such page: it has {0}")]
    NoSuchPage(u64),
}

/// What the thread tells.
enum News {
    Refused(Refusal),
    Total(u64),
    Page(String),
}

/// Reads pages until `enough` says so of the last text.
pub(crate) fn read(
    bytes: Vec<u8>,
    wanted: &PageRange,
    context: &ToolContext,
    enough: impl FnMut(&str) -> bool,
) -> Result<Result<Reading, Refusal>, ToolError> {
    let pages = wanted.clone();
    let work = move |stop: &AtomicBool, tell: &SyncSender<News>| work(bytes, &pages, stop, tell);
    watched(work, wanted, PATIENCE, context, enough)
}

/// Lets a thread work, and takes its news.
fn watched(
    work: impl FnOnce(&AtomicBool, &SyncSender<News>) + Send + 'static,
    wanted: &PageRange,
    mut patience: Duration,
    context: &ToolContext,
    mut enough: impl FnMut(&str) -> bool,
) -> Result<Result<Reading, Refusal>, ToolError> {
    let stop = Arc::new(AtomicBool::new(false));
    let _stopped = StopOnDrop(Arc::clone(&stop));
    let (tell, news) = sync_channel(1);
    let thread = std::thread::Builder::new().name("pdf".to_owned()).stack_size(STACK);
    // A panic ends the thread and closes the channel; that is how it is told.
    let started = thread.spawn(move || work(&stop, &tell));
    started.map_err(|error| ToolError::Failed(format!("No thread can be started for the PDF: {error}")))?;
    let mut reading = Reading::default();
    loop {
        match next(&news, &mut patience, context)? {
            Next::News(News::Refused(refusal)) => return Ok(Err(refusal)),
            Next::News(News::Total(total)) => reading.total = total,
            Next::News(News::Page(text)) => {
                let done = enough(&text);
                reading.pages.push(text);
                let page = wanted.start() + reading.pages.len() as u64 - 1;
                if page >= *wanted.end().min(&reading.total) {
                    return Ok(Ok(reading));
                }
                if done {
                    reading.stopped = Some(Stopped::Full);
                    return Ok(Ok(reading));
                }
                context.progress(format!("Read page {page} of {}", reading.total));
            }
            Next::Late if reading.pages.is_empty() => return Ok(Err(Refusal::Late)),
            Next::Gone if reading.pages.is_empty() => return Ok(Err(Refusal::Damaged)),
            Next::Late => {
                reading.stopped = Some(Stopped::Late);
                return Ok(Ok(reading));
            }
            Next::Gone => {
                reading.stopped = Some(Stopped::Damaged);
                return Ok(Ok(reading));
            }
        }
    }
}

/// Tells the thread that nobody waits any more.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

enum Next {
    News(News),
    Late,
    Gone,
}

fn next(news: &Receiver<News>, patience: &mut Duration, context: &ToolContext) -> Result<Next, ToolError> {
    loop {
        if context.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        match news.recv_timeout(LOOK) {
            Ok(news) => return Ok(Next::News(news)),
            Err(RecvTimeoutError::Disconnected) => return Ok(Next::Gone),
            Err(RecvTimeoutError::Timeout) => match patience.checked_sub(LOOK) {
                Some(left) => *patience = left,
                None => return Ok(Next::Late),
            },
        }
    }
}

/// The thread. A receiver that is gone ends it.
fn work(bytes: Vec<u8>, wanted: &PageRange, stop: &AtomicBool, tell: &SyncSender<News>) {
    if let Err(refusal) = weigh::weigh(&bytes, stop) {
        let _ = tell.send(News::Refused(refusal));
        return;
    }
    let pdf = match Pdf::new(bytes) {
        Ok(pdf) => pdf,
        Err(LoadPdfError::Decryption(_)) => return drop(tell.send(News::Refused(Refusal::Encrypted))),
        Err(LoadPdfError::Invalid) => return drop(tell.send(News::Refused(Refusal::Damaged))),
    };
    let pages = pdf.pages();
    let total = pages.len() as u64;
    if total == 0 {
        return drop(tell.send(News::Refused(Refusal::Damaged)));
    }
    if *wanted.start() > total {
        return drop(tell.send(News::Refused(Refusal::NoSuchPage(total))));
    }
    let skipped = usize::try_from(wanted.start() - 1).unwrap_or(usize::MAX);
    let count = usize::try_from(wanted.end() - wanted.start() + 1).unwrap_or(usize::MAX);
    let reader = interpret::Reader::new(stop);
    let mut going = tell.send(News::Total(total)).is_ok();
    for page in pages.iter().skip(skipped).take(count) {
        going = going && !stop.load(Ordering::Relaxed) && tell.send(News::Page(reader.page(page))).is_ok();
    }
}

/// A range as a model writes it: `7`, `2-5`, `8-`.
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
#[path = "../pdf_tests.rs"]
mod tests;
