//! Tests that frames do not depend on where chunks are split, and that damaged frames are rejected.

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue};

use super::*;

fn frame(headers: &[(&'static str, &'static str)], payload: &str) -> Vec<u8> {
    let mut message = Message::new(payload.as_bytes().to_vec());
    for (name, value) in headers {
        message = message.add_header(Header::new(*name, HeaderValue::String((*value).into())));
    }
    let mut bytes = Vec::new();
    write_message_to(&message, &mut bytes).unwrap();
    bytes
}

fn stream() -> Vec<u8> {
    let event = [(":event-type", "contentBlockDelta"), (":message-type", "event")];
    [frame(&event, r#"{"delta":{"text":"Größe"}}"#), frame(&[], ""), frame(&event, &"x".repeat(300))].concat()
}

/// Number of headers, and the payload.
type ParsedFrame = (usize, Vec<u8>);

/// Parses all chunks; returns every frame and the final result.
fn parse_chunks<'a>(
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<ParsedFrame>, Result<(), FrameError>) {
    let mut parser = Parser::new();
    let mut frames = Vec::new();
    for chunk in chunks {
        let fed = parser.feed(chunk, |message| {
            frames.push((message.headers().len(), message.payload().to_vec()));
            Ok::<(), FrameError>(())
        });
        if fed.is_err() {
            return (frames, fed);
        }
    }
    (frames, Ok(()))
}

#[test]
fn reads_frames_with_headers_and_payload() {
    let mut names = Vec::new();
    let fed = Parser::new().feed(&stream(), |message| {
        names.extend(
            message.headers().first().map(|header| header.value().as_string().unwrap().as_str().to_owned()),
        );
        Ok::<(), FrameError>(())
    });
    assert_eq!(
        (fed, names.as_slice()),
        (Ok(()), &["contentBlockDelta".to_owned(), "contentBlockDelta".to_owned()][..])
    );
}

#[test]
fn frames_do_not_depend_on_chunk_boundaries() {
    let bytes = stream();
    let whole = parse_chunks([bytes.as_slice()]);
    assert_eq!((whole.0.len(), &whole.1), (3, &Ok(())));
    for cut in 0..=bytes.len() {
        let (before, after) = bytes.split_at(cut);
        assert_eq!(parse_chunks([before, after]), whole, "cut at {cut}");
    }
    for size in 1..20 {
        assert_eq!(parse_chunks(bytes.chunks(size)), whole, "chunks of {size}");
    }
}

#[test]
fn reports_whether_the_parser_is_between_frames() {
    let bytes = stream();
    let mut parser = Parser::new();
    let mut feed =
        |bytes: &[u8]| parser.feed(bytes, |_| Ok::<(), FrameError>(())).map(|()| parser.is_between_frames());
    assert_eq!([feed(&bytes[..10]), feed(&bytes[10..])], [Ok(false), Ok(true)]);
}

#[test]
fn detects_every_flipped_bit() {
    let bytes = frame(&[(":event-type", "x")], "payload");
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (frames, ended) = parse_chunks([damaged.as_slice()]);
        // A larger stated length makes the parser wait for more. The end of the body then makes the reply
        // incomplete.
        assert!(frames.is_empty(), "bit {bit}");
        assert!(ended.is_err() || bit / 8 < 4, "bit {bit}");
    }
}

#[test]
fn yields_frames_before_a_damaged_one() {
    let mut bytes = stream();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let (frames, ended) = parse_chunks([bytes.as_slice()]);
    assert_eq!(frames.len(), 2);
    assert!(matches!(ended, Err(FrameError::Damaged(_))));
}

#[test]
fn rejects_absurd_length_immediately() {
    for length in [
        0u32,
        15,
        FRAME_LIMIT as u32 + 1,
        u32::MAX,
        u32::from_be_bytes(*b"HTTP"),
        u32::from_be_bytes(*b"<htm"),
    ] {
        let (_, ended) = parse_chunks([&length.to_be_bytes()[..]]);
        assert_eq!(ended, Err(FrameError::Length(length as usize)));
    }
}

#[test]
fn sink_error_stops_feeding() {
    let mut seen = 0;
    let fed = Parser::new().feed(&stream(), |_| {
        seen += 1;
        Err(FrameError::Damaged("no".into()))
    });
    assert_eq!((fed, seen), (Err(FrameError::Damaged("no".into())), 1));
}
