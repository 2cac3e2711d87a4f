//! A streamed reply as the bytes on its connection, from the status line to the last chunk.
//!
//! Invariant: a cut before [`Response::declared_at`] is a reply that the model never said was complete.

use lariat_proofs::server::{Turn, Wire, render};
use lariat_proofs::wire::faults::cell::finish_frames;

/// How the response says where its body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// In chunks, each with its length.
    Chunked,
    /// At the end of the connection, so that a cut body looks like a whole one.
    UntilClose,
}

impl Framing {
    pub(crate) const ALL: [Self; 2] = [Self::Chunked, Self::UntilClose];
}

/// A whole response.
pub(crate) struct Response {
    pub(crate) bytes: Vec<u8>,
    /// Number of bytes after which the model has said why it stopped.
    pub(crate) declared_at: usize,
    /// The ends of the head and of each event.
    pub(crate) ends: Vec<usize>,
}

impl Response {
    pub(crate) fn new(wire: Wire, turn: &Turn, framing: Framing) -> Self {
        let header = match framing {
            Framing::Chunked => "transfer-encoding: chunked",
            Framing::UntilClose => "connection: close",
        };
        let kind = render::content_type(wire);
        let mut bytes = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{header}\r\n\r\n").into_bytes();
        let frames = render::stream(wire, turn);
        let finish = frames.len().saturating_sub(finish_frames(wire));
        let (mut declared_at, mut ends) = (0, vec![bytes.len()]);
        for (number, frame) in frames.iter().enumerate() {
            if framing == Framing::Chunked {
                bytes.extend_from_slice(format!("{:x}\r\n", frame.len()).as_bytes());
            }
            bytes.extend_from_slice(frame);
            if number == finish {
                // Without its blank line the event is already readable.
                declared_at = bytes.len() - (frame.len() - frame.trim_ascii_end().len());
            }
            if framing == Framing::Chunked {
                bytes.extend_from_slice(b"\r\n");
            }
            ends.push(bytes.len());
        }
        if framing == Framing::Chunked {
            bytes.extend_from_slice(b"0\r\n\r\n");
        }
        Self { bytes, declared_at, ends }
    }
}
