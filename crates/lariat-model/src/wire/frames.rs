//! The binary frames of AWS event streams: lengths, headers, payload and two checksums.
//!
//! Owns cutting bytes into whole frames and bounding them; AWS's own crate checks and reads a frame.
//! Invariant: the frames do not depend on how the bytes were cut.

use aws_smithy_eventstream::frame::read_message_from;
use aws_smithy_types::event_stream::Message;

/// Bytes that one frame may hold: AWS's own limit is 24 MB.
pub const FRAME_LIMIT: usize = 24 * 1024 * 1024;
/// Total length, headers length and their checksum, then at least the frame's checksum.
const FRAME_MINIMUM: usize = 16;

/// A frame that cannot be read. Nothing after it can be, either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadFrame {
    /// A length that no frame has.
    #[error("a frame claims a length of {0} bytes")]
    Length(usize),
    /// A checksum or a header that does not fit.
    #[error("a frame is damaged: {0}")]
    Damaged(String),
}

/// Cuts bytes into frames.
#[derive(Debug, Default)]
pub struct Parser {
    buffer: Vec<u8>,
    /// Length of the frame at the start of the buffer, once its first four bytes are there.
    expected: Option<usize>,
    /// Length up to which the frame can grow by a byte without anything else happening.
    room: usize,
}

impl Parser {
    /// A parser at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// True between frames: a stream that ends elsewhere was cut.
    pub const fn is_between_frames(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Takes in a byte that completes nothing and fits where the frame grows; false when it must be fed.
    #[inline]
    pub fn hold(&mut self, byte: u8) -> bool {
        let holds = self.buffer.len() < self.room;
        if holds {
            self.buffer.push(byte);
        }
        holds
    }

    /// Takes in bytes and gives every frame that they complete to `sink`.
    ///
    /// # Errors
    /// When a frame is damaged, or the sink's own.
    pub fn feed<E: From<BadFrame>>(
        &mut self,
        bytes: &[u8],
        mut sink: impl FnMut(Message) -> Result<(), E>,
    ) -> Result<(), E> {
        self.buffer.extend_from_slice(bytes);
        if let Some(expected) = self.expected.filter(|expected| self.buffer.len() < *expected) {
            self.room = self.buffer.capacity().min(expected - 1);
            return Ok(());
        }
        self.room = 0;
        let mut start = 0;
        let mut result = Ok(());
        while let Some(rest) = self.buffer.get(start..) {
            let expected = match self.expected.take() {
                Some(expected) => expected,
                None => match rest.first_chunk() {
                    Some(length) => u32::from_be_bytes(*length) as usize,
                    None => break,
                },
            };
            if !(FRAME_MINIMUM..=FRAME_LIMIT).contains(&expected) {
                result = Err(BadFrame::Length(expected).into());
                break;
            }
            let Some(frame) = rest.get(..expected) else {
                self.expected = Some(expected);
                break;
            };
            let read = read_message_from(frame).map_err(|error| BadFrame::Damaged(error.to_string()));
            result = read.map_err(E::from).and_then(&mut sink);
            if result.is_err() {
                break;
            }
            start += expected;
        }
        self.buffer.drain(..start);
        result
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
