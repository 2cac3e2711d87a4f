//! Bytes in, events out: a framing and an interpreter, whatever the protocol.
//!
//! Owns the order of things at the end of a stream. Invariant: after `Done` or an error nothing more comes; a body that
//! ends before its protocol says so is an error, never a reply.

use aws_smithy_types::event_stream::Message;
use lariat_core::model::{ProviderError, StreamEvent};

use super::frames::{self, BadFrame};
use super::reply::Reply;
use super::sse::{self, TooLarge};

/// How a body is cut into frames.
#[derive(Debug)]
pub enum Framing {
    /// Server-sent events.
    Sse(sse::Parser),
    /// Binary AWS event-stream frames.
    Aws(frames::Parser),
}

impl Framing {
    /// Server-sent events.
    pub fn sse() -> Self {
        Self::Sse(sse::Parser::new())
    }

    /// AWS event-stream frames.
    pub fn aws() -> Self {
        Self::Aws(frames::Parser::new())
    }

    #[inline]
    fn hold(&mut self, byte: u8) -> bool {
        match self {
            Self::Sse(parser) => parser.hold(byte),
            Self::Aws(parser) => parser.hold(byte),
        }
    }
}

/// One frame of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Whether the service reports a failure by it.
    pub kind: FrameKind,
    /// The event's name; empty when the stream gives none.
    pub name: &'a str,
    /// The payload, usually JSON.
    pub data: &'a str,
}

/// Whether a frame is an event or a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// An ordinary event.
    Event,
    /// An exception frame of AWS.
    Exception,
}

/// The part of a decoder that knows a protocol.
pub trait Interpret: Send {
    /// Takes in one frame. Calls [`Reply::finish`] on the one that ends the reply.
    ///
    /// # Errors
    /// When the frame reports a failure or does not follow the protocol.
    fn frame(&mut self, frame: Frame<'_>, reply: &mut Reply) -> Result<(), ProviderError>;

    /// The body ended. For protocols that have no closing event, this is where a complete reply is finished.
    ///
    /// # Errors
    /// When the reply was not complete.
    fn end(&mut self, reply: &mut Reply) -> Result<(), ProviderError> {
        let _ = reply;
        Err(ProviderError::Network("the stream ended before the reply was complete".into()))
    }
}

/// Makes events of a body.
pub struct Decoder {
    framing: Framing,
    interpret: Box<dyn Interpret>,
    reply: Reply,
}

impl Decoder {
    /// A decoder at the start of a body.
    pub fn new(framing: Framing, interpret: impl Interpret + 'static) -> Self {
        Self { framing, interpret: Box::new(interpret), reply: Reply::default() }
    }

    /// Takes in bytes. Events that came before an error can still be taken with [`Decoder::next_event`].
    ///
    /// # Errors
    /// When the service reports a failure or the stream does not follow its protocol. Nothing can be fed after that.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        match bytes {
            [byte] if self.framing.hold(*byte) => Ok(()),
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
                Ok::<(), Broken>(interpret.frame(Frame { kind: FrameKind::Event, name, data }, reply)?)
            }),
            Framing::Aws(parser) => parser.feed(bytes, |message| {
                if reply.is_done() {
                    return Ok(());
                }
                aws_frame(&message, |frame| interpret.frame(frame, reply))
            }),
        };
        fed.map_err(|Broken(error)| error)
    }

    /// The body ended.
    ///
    /// # Errors
    /// When the reply was not complete.
    pub fn end(&mut self) -> Result<(), ProviderError> {
        if self.reply.is_done() {
            return Ok(());
        }
        self.interpret.end(&mut self.reply)
    }

    /// The next event that is ready.
    #[inline]
    pub fn next_event(&mut self) -> Option<StreamEvent> {
        self.reply.next_event()
    }

    /// True when the reply is complete; its last events may still wait to be taken.
    pub const fn is_done(&self) -> bool {
        self.reply.is_done()
    }

    /// Events made so far that show progress; keep-alives make none.
    pub const fn progress(&self) -> u64 {
        self.reply.progress()
    }
}

/// Why feeding stopped, with what the framings call too large or damaged made into an invalid reply.
struct Broken(ProviderError);

impl From<ProviderError> for Broken {
    fn from(error: ProviderError) -> Self {
        Self(error)
    }
}

impl From<TooLarge> for Broken {
    fn from(error: TooLarge) -> Self {
        Self(ProviderError::InvalidReply(error.to_string().into()))
    }
}

impl From<BadFrame> for Broken {
    fn from(error: BadFrame) -> Self {
        Self(ProviderError::InvalidReply(error.to_string().into()))
    }
}

fn aws_frame(
    message: &Message,
    interpret: impl FnOnce(Frame<'_>) -> Result<(), ProviderError>,
) -> Result<(), Broken> {
    let header = |name: &str| {
        let found = message.headers().iter().find(|header| header.name().as_str() == name);
        found.and_then(|header| header.value().as_string().ok()).map(|value| value.as_str())
    };
    let invalid = |what: &str| Broken(ProviderError::InvalidReply(what.into()));
    let data =
        std::str::from_utf8(message.payload()).map_err(|_| invalid("a frame's payload is not text"))?;
    let (kind, name) = match header(":message-type") {
        Some("event") | None => (FrameKind::Event, header(":event-type")),
        Some("exception") => (FrameKind::Exception, header(":exception-type")),
        Some("error") => {
            let (code, words) = (header(":error-code"), header(":error-message"));
            let frame = Frame {
                kind: FrameKind::Exception,
                name: code.unwrap_or_default(),
                data: words.unwrap_or_default(),
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
