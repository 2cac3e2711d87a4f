//! Tests how a decoder handles the end of a stream.

use lariat_core::message::StopReason;

use super::*;

/// Emits the data of every frame as text; `end` ends the reply, `bad` breaks it.
struct Echo;

impl StreamInterpreter for Echo {
    fn frame(&mut self, frame: Frame<'_>, reply: &mut Reply) -> Result<(), ProviderError> {
        match frame.data {
            "end" => {
                reply.stop(StopReason::Stop);
                reply.finish()
            }
            "bad" => Err(ProviderError::Api("bad".into())),
            data => reply.text(0, data.into()),
        }
    }
}

fn decoder() -> Decoder {
    Decoder::new(Framing::sse(), Echo)
}

fn count(decoder: &mut Decoder) -> usize {
    std::iter::from_fn(|| decoder.next_event()).count()
}

#[test]
fn events_before_an_error_can_still_be_taken() {
    let mut decoder = decoder();
    let fed = decoder.feed(b"data: a\n\ndata: b\n\ndata: bad\n\ndata: c\n\n");
    assert_eq!(fed, Err(ProviderError::Api("bad".into())));
    assert_eq!(count(&mut decoder), 2);
}

#[test]
fn no_event_follows_the_end() {
    let mut decoder = decoder();
    decoder.feed(b"data: a\n\ndata: end\n\ndata: b\n\ndata: bad\n\n").unwrap();
    decoder.feed(b"data: bad\n\n").unwrap();
    decoder.end().unwrap();
    assert_eq!(count(&mut decoder), 2, "the text and Done");
}

#[test]
fn body_that_ends_too_soon_is_an_error() {
    let mut decoder = decoder();
    decoder.feed(b"data: a\n\n").unwrap();
    assert!(matches!(decoder.end(), Err(ProviderError::Network(_))));
    assert!(!decoder.is_done());
}

#[test]
fn endless_event_is_an_invalid_reply() {
    let mut decoder = decoder();
    let line = vec![b'x'; sse::EVENT_LIMIT + 1];
    assert!(matches!(decoder.feed(&line), Err(ProviderError::InvalidReply(_))));
}

#[test]
fn keep_alives_are_not_progress() {
    let mut decoder = decoder();
    decoder.feed(b": ping\n\n:\n\nevent: ping\n\n").unwrap();
    assert_eq!(decoder.progress(), 0);
    decoder.feed(b"data: a\n\n").unwrap();
    assert_eq!(decoder.progress(), 1);
}
