//! Decodes a response body into events: a framing splits it into frames, and a protocol's interpreter reads
//! them.
//!
//! Invariant: no event follows `Done` or an error. A body that ends before its protocol's end is an error,
//! never a reply.

#[cfg(feature = "bedrock")]
use aws_smithy_types::event_stream::Message;
use lariat_core::model::{ProviderError, StreamEvent};

#[cfg(feature = "bedrock")]
use super::frames::{self, FrameError};
use super::reply::Reply;
use super::sse::{self, EventTooLarge};

/// How a body is split into frames.
#[derive(Debug)]
pub enum Framing {
    /// Server-sent events.
    Sse(sse::Parser),
    /// Binary AWS event-stream frames.
    #[cfg(feature = "bedrock")]
    Aws(frames::Parser),
}

impl Framing {
    /// Framing of server-sent events.
    pub fn sse() -> Self {
        Self::Sse(sse::Parser::new())
    }

    /// Framing of AWS event streams.
    #[cfg(feature = "bedrock")]
    pub fn aws() -> Self {
        Self::Aws(frames::Parser::new())
    }

    #[inline]
    fn try_push(&mut self, byte: u8) -> bool {
        match self {
            Self::Sse(parser) => parser.try_push(byte),
            #[cfg(feature = "bedrock")]
            Self::Aws(parser) => parser.try_push(byte),
        }
    }
}

/// One frame of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Whether the provider uses the frame to report a failure.
    pub kind: FrameKind,
    /// The event's name; empty if the stream gives none.
    pub name: &'a str,
    /// The payload, usually JSON.
    pub data: &'a str,
}

/// Whether a frame is an event or a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// An ordinary event.
    Event,
    /// An AWS exception frame.
    Exception,
}

/// The protocol-specific part of a decoder.
pub trait StreamInterpreter: Send {
    /// Reads one frame. Calls [`Reply::finish`] on the frame that ends the reply.
    ///
    /// # Errors
    /// Returns an error if the frame reports a failure or violates the protocol.
    fn frame(&mut self, frame: Frame<'_>, reply: &mut Reply) -> Result<(), ProviderError>;

    /// Called at the end of the body. A protocol without a closing event finishes a complete reply here.
    ///
    /// # Errors
    /// Returns an error if the reply was not complete.
    fn end(&mut self, reply: &mut Reply) -> Result<(), ProviderError> {
        let _ = reply;
        Err(ProviderError::Network("the stream ended before the reply was complete".into()))
    }
}

/// Decodes a response body into events.
pub struct Decoder {
    framing: Framing,
    interpret: Box<dyn StreamInterpreter>,
    reply: Reply,
}

impl Decoder {
    /// Creates a decoder for a new body.
    pub fn new(framing: Framing, interpret: impl StreamInterpreter + 'static) -> Self {
        Self { framing, interpret: Box::new(interpret), reply: Reply::default() }
    }

    /// Decodes `bytes`. Events before an error remain available from [`Decoder::next_event`].
    ///
    /// # Errors
    /// Returns an error if the provider reports a failure or the stream violates its protocol. Feed nothing
    /// more after an error.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        match bytes {
            [byte] if self.framing.try_push(*byte) => Ok(()),
            _ => self.feed_frames(bytes),
        }
    }

    fn feed_frames(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        let Self { framing, interpret, reply } = self;
        if reply.is_done() {
            return Ok(());
        }
        let fed = match framing {
            Framing::Sse(parser) => parser.feed(bytes, |name, data| {
                if reply.is_done() {
                    return Ok(());
                }
                Ok::<(), FeedError>(interpret.frame(Frame { kind: FrameKind::Event, name, data }, reply)?)
            }),
            #[cfg(feature = "bedrock")]
            Framing::Aws(parser) => parser.feed(bytes, |message| {
                if reply.is_done() {
                    return Ok(());
                }
                aws_frame(&message, |frame| interpret.frame(frame, reply))
            }),
        };
        fed.map_err(|FeedError(error)| error)
    }

    /// Tells the decoder that the body has ended.
    ///
    /// # Errors
    /// Returns an error if the reply was not complete.
    pub fn end(&mut self) -> Result<(), ProviderError> {
        if self.reply.is_done() {
            return Ok(());
        }
        self.interpret.end(&mut self.reply)
    }

    /// Returns the next decoded event, if one is ready.
    #[inline]
    pub fn next_event(&mut self) -> Option<StreamEvent> {
        self.reply.next_event()
    }

    /// Whether the reply is complete. Its last events may still be waiting in [`Decoder::next_event`].
    pub const fn is_done(&self) -> bool {
        self.reply.is_done()
    }

    /// Number of events so far that advanced the reply. Keep-alives do not.
    pub const fn progress(&self) -> u64 {
        self.reply.progress()
    }
}

/// Why feeding stopped. An oversized or damaged frame becomes an invalid reply.
struct FeedError(ProviderError);

impl From<ProviderError> for FeedError {
    fn from(error: ProviderError) -> Self {
        Self(error)
    }
}

impl From<EventTooLarge> for FeedError {
    fn from(error: EventTooLarge) -> Self {
        Self(ProviderError::InvalidReply(error.to_string().into()))
    }
}

#[cfg(feature = "bedrock")]
impl From<FrameError> for FeedError {
    fn from(error: FrameError) -> Self {
        Self(ProviderError::InvalidReply(error.to_string().into()))
    }
}

#[cfg(feature = "bedrock")]
fn aws_frame(
    message: &Message,
    interpret: impl FnOnce(Frame<'_>) -> Result<(), ProviderError>,
) -> Result<(), FeedError> {
    let header = |name: &str| {
        let found = message.headers().iter().find(|header| header.name().as_str() == name);
        found.and_then(|header| header.value().as_string().ok()).map(|value| value.as_str())
    };
    let invalid = |what: &str| FeedError(ProviderError::InvalidReply(what.into()));
    let data = std::str::from_utf8(message.payload())
        .map_err(|_| invalid("the payload of a frame is not valid UTF-8"))?;
    let (kind, name) = match header(":message-type") {
        Some("event") | None => (FrameKind::Event, header(":event-type")),
        Some("exception") => (FrameKind::Exception, header(":exception-type")),
        Some("error") => {
            let (code, error_message) = (header(":error-code"), header(":error-message"));
            let frame = Frame {
                kind: FrameKind::Exception,
                name: code.unwrap_or_default(),
                data: error_message.unwrap_or_default(),
            };
            return Ok(interpret(frame)?);
        }
        Some(_) => return Ok(()),
    };
    Ok(interpret(Frame { kind, name: name.unwrap_or_default(), data })?)
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
