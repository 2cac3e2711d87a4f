//! Server-sent events by the WHATWG rules, in linear time and bounded memory.
//!
//! Owns lines (`\n`, `\r\n`, `\r`), the byte order mark, comments and fields. Bytes are looked at once, wherever chunks
//! are cut; text is decoded only when a line is complete, so a character split between chunks stays whole.
//! Invariant: the events do not depend on how the bytes were cut.

use std::borrow::Cow;

use memchr::memchr2;

/// Bytes that one event may hold. Replies carry images and large tool arguments; nothing sane carries more.
pub const EVENT_LIMIT: usize = 32 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// An event grew beyond [`EVENT_LIMIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {} MB", EVENT_LIMIT / (1024 * 1024))]
pub struct TooLarge;

/// Cuts bytes into events.
#[derive(Debug, Default)]
pub struct Parser {
    /// The part of a line that has arrived.
    line: Vec<u8>,
    /// The lines of `data` so far, each with a newline after it.
    data: Vec<u8>,
    event: Vec<u8>,
    /// The last byte was `\r`: a `\n` right after it belongs to the same line end.
    after_cr: bool,
    /// The first line was seen, and its byte order mark with it.
    begun: bool,
    /// Length up to which the line can grow by a byte without anything else happening.
    room: usize,
}

impl Parser {
    /// A parser at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a byte that completes nothing and fits where the line grows; false when it must be fed. Bodies that
    /// arrive byte by byte cost a push for each, not a search.
    #[inline]
    pub fn hold(&mut self, byte: u8) -> bool {
        let holds = self.line.len() < self.room && !matches!(byte, b'\n' | b'\r');
        if holds {
            self.line.push(byte);
        }
        holds
    }

    /// Takes in bytes and gives every event that they complete to `sink`, as name and data. The name is empty when
    /// the stream gives none. An event without data is none, by the rules.
    ///
    /// # Errors
    /// When an event is too large, or the sink's own.
    pub fn feed<E: From<TooLarge>>(
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

    fn grow(&mut self, part: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + self.data.len() + part.len() > EVENT_LIMIT {
            return Err(TooLarge);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn take_line<E: From<TooLarge>>(
        &mut self,
        line: &[u8],
        sink: &mut impl FnMut(&str, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = if std::mem::replace(&mut self.begun, true) {
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
                    return Err(TooLarge.into());
                }
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => {
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            // Comments have an empty field name; `id` and `retry` are for reconnecting, which a reply cannot.
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

/// Bytes as text. Almost always they are, which is quickly checked; replacing what is not takes its time.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
