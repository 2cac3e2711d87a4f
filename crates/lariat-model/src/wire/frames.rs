//! Splits AWS event streams into their binary frames: lengths, headers, payload and two checksums.
//!
//! This module finds frame boundaries and limits the size; AWS's own crate verifies and parses each frame.
//! Invariant: the frames do not depend on where the chunks were split.

use aws_smithy_eventstream::frame::read_message_from;
use aws_smithy_types::event_stream::Message;

/// Maximum size of a frame in bytes: AWS's own limit is 24 MB.
pub const FRAME_LIMIT: usize = 24 * 1024 * 1024;
/// Smallest possible frame: total length, headers length and their checksum, then the frame's checksum.
const FRAME_MINIMUM: usize = 16;

/// A frame that cannot be read. The rest of the stream cannot be read either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The stated length is outside the limits.
    #[error("a frame states an invalid length of {0} bytes")]
    Length(usize),
    /// A checksum does not match or a header is invalid.
    #[error("a frame is damaged: {0}")]
    Damaged(String),
}

/// Splits bytes into frames.
#[derive(Debug, Default)]
pub struct Parser {
    buffer: Vec<u8>,
    /// Length of the frame at the start of the buffer, known after its first four bytes.
    expected: Option<usize>,
    /// Length up to which a single byte can be appended without completing the frame or growing the buffer.
    room: usize,
}

impl Parser {
    /// Creates a parser for a new stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the parser is between two frames. A stream that ends elsewhere was cut.
    pub const fn is_between_frames(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Appends a byte if it completes nothing and fits the buffer; otherwise returns false and the byte must
    /// go to [`feed`](Self::feed).
    #[inline]
    pub fn try_push(&mut self, byte: u8) -> bool {
        let fits = self.buffer.len() < self.room;
        if fits {
            self.buffer.push(byte);
        }
        fits
    }

    /// Parses `bytes` and passes every completed frame to `sink`.
    ///
    /// # Errors
    /// Returns an error if a frame is damaged or `sink` fails.
    pub fn feed<E: From<FrameError>>(
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
                result = Err(FrameError::Length(expected).into());
                break;
            }
            let Some(frame) = rest.get(..expected) else {
                self.expected = Some(expected);
                break;
            };
            let read = read_message_from(frame).map_err(|error| FrameError::Damaged(error.to_string()));
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
