//! Parses server-sent events by the WHATWG rules, in linear time and bounded memory.
//!
//! Handles all line ends (`\n`, `\r\n`, `\r`), the byte order mark, comments and fields. Each byte is scanned
//! once, wherever chunks are split. Text is decoded only when a line is complete, so a character split
//! between chunks stays intact.
//! Invariant: the events do not depend on where the chunks were split.

use std::borrow::Cow;

use memchr::memchr2;

/// Maximum size of one event in bytes. Replies carry images and large tool arguments, but no legitimate event
/// is larger.
pub const EVENT_LIMIT: usize = 32 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// An event exceeds [`EVENT_LIMIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event in the stream is larger than {} MB", EVENT_LIMIT / (1024 * 1024))]
pub struct EventTooLarge;

/// Splits bytes into events.
#[derive(Debug, Default)]
pub struct Parser {
    /// The incomplete last line.
    line: Vec<u8>,
    /// The `data` lines of the current event, each followed by a newline.
    data: Vec<u8>,
    event: Vec<u8>,
    /// The last byte was `\r`, so an immediately following `\n` belongs to the same line end.
    after_cr: bool,
    /// Whether the first line, which may begin with a byte order mark, has been read.
    started: bool,
    /// Length up to which a single byte can be appended without ending the line or growing the buffer.
    room: usize,
}

impl Parser {
    /// Creates a parser for a new stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a byte if it completes nothing and fits the buffer; otherwise returns false and the byte must
    /// go to [`feed`](Self::feed). A body that arrives byte by byte then costs one push per byte, without a
    /// search.
    #[inline]
    pub fn try_push(&mut self, byte: u8) -> bool {
        let fits = self.line.len() < self.room && !matches!(byte, b'\n' | b'\r');
        if fits {
            self.line.push(byte);
        }
        fits
    }

    /// Parses `bytes` and passes the name and data of every completed event to `sink`. The name is empty if
    /// the stream gives none. By the rules, an event without data is dropped.
    ///
    /// # Errors
    /// Returns an error if an event is too large or `sink` fails.
    pub fn feed<E: From<EventTooLarge>>(
        &mut self,
        bytes: &[u8],
        mut sink: impl FnMut(&str, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.room = 0;
        let mut rest = bytes;
        if self.after_cr
            && let [first, tail @ ..] = rest
        {
            self.after_cr = false;
            if *first == b'\n' {
                rest = tail;
            }
        }
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let Some((line, tail)) = rest.split_at_checked(end) else { break };
            let (ending, mut tail) = tail.split_at_checked(1).unwrap_or((tail, &[]));
            if ending == b"\r" {
                match tail {
                    [b'\n', after @ ..] => tail = after,
                    [] => self.after_cr = true,
                    _ => {}
                }
            }
            rest = tail;
            if self.line.is_empty() {
                self.take_line(line, &mut sink)?;
            } else {
                self.grow(line)?;
                let whole = std::mem::take(&mut self.line);
                let taken = self.take_line(&whole, &mut sink);
                self.line = whole;
                self.line.clear();
                taken?;
            }
        }
        self.grow(rest)?;
        if !self.after_cr {
            self.room = self.line.capacity().min(EVENT_LIMIT - self.data.len());
        }
        Ok(())
    }

    fn grow(&mut self, part: &[u8]) -> Result<(), EventTooLarge> {
        if self.line.len() + self.data.len() + part.len() > EVENT_LIMIT {
            return Err(EventTooLarge);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn take_line<E: From<EventTooLarge>>(
        &mut self,
        line: &[u8],
        sink: &mut impl FnMut(&str, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = if std::mem::replace(&mut self.started, true) {
            line
        } else {
            line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
        };
        if line.is_empty() {
            return self.dispatch(sink);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => line.split_at_checked(colon).unwrap_or((line, &[])),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.data.len() + value.len() >= EVENT_LIMIT {
                    return Err(EventTooLarge.into());
                }
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => {
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            // Comments have an empty field name. `id` and `retry` serve reconnecting, which is impossible for
            // a reply.
            _ => {}
        }
        Ok(())
    }

    fn dispatch<E>(&mut self, sink: &mut impl FnMut(&str, &str) -> Result<(), E>) -> Result<(), E> {
        let sent = match self.data.split_last() {
            None => Ok(()),
            Some((_, data)) => sink(&text(&self.event), &text(data)),
        };
        self.data.clear();
        self.event.clear();
        sent
    }
}

/// Decodes bytes as text. They are nearly always valid UTF-8, which is quick to check; replacing invalid
/// parts is slow.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
