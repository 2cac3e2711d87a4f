//! Tests the rules for event streams (WHATWG, chapter "Server-sent events") one by one, each with every way
//! of splitting the stream.

use proptest::prelude::*;

use super::*;

type Events = Vec<(String, String)>;

/// Parses the chunks into events.
fn feed_chunks(chunks: &[&[u8]]) -> Result<Events, EventTooLarge> {
    let mut parser = Parser::new();
    let mut events = Vec::new();
    for chunk in chunks {
        parser.feed(chunk, |name, data| {
            events.push((name.to_owned(), data.to_owned()));
            Ok::<(), EventTooLarge>(())
        })?;
    }
    Ok(events)
}

/// Parses a stream. Its events must be the same in one chunk, byte by byte, and split in two anywhere.
fn events(stream: impl AsRef<[u8]>) -> Events {
    let stream = stream.as_ref();
    let whole = feed_chunks(&[stream]).unwrap();
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(feed_chunks(&bytes).unwrap(), whole, "byte by byte");
    for cut in 0..=stream.len() {
        let (front, back) = stream.split_at(cut);
        assert_eq!(feed_chunks(&[front, back]).unwrap(), whole, "cut at {cut}");
        assert_eq!(feed_chunks(&[front, b"", back]).unwrap(), whole, "cut at {cut} with nothing in between");
    }
    whole
}

fn unnamed(data: &[&str]) -> Events {
    data.iter().map(|data| (String::new(), (*data).to_owned())).collect()
}

fn named(name: &str, data: &str) -> (String, String) {
    (name.to_owned(), data.to_owned())
}

#[test]
fn lines_may_end_in_any_mix_of_lf_crlf_and_cr() {
    for end in ["\n", "\r\n", "\r"] {
        assert_eq!(
            events(format!("data: a{end}data: b{end}{end}data: c{end}{end}")),
            unnamed(&["a\nb", "c"])
        );
    }
    assert_eq!(events("data: a\rdata: b\r\ndata: c\n\rdata: d\r\n\n"), unnamed(&["a\nb\nc", "d"]));
    assert_eq!(events("data: a\r\rdata: b\r\r"), unnamed(&["a", "b"]));
}

#[test]
fn byte_order_mark_is_skipped_only_at_the_start() {
    assert_eq!(events("\u{feff}data: a\n\n"), unnamed(&["a"]));
    assert_eq!(events("\u{feff}\u{feff}data: a\n\ndata: b\n\n"), unnamed(&["b"]));
    assert_eq!(events("data: a\n\n\u{feff}data: b\n\ndata: \u{feff}c\n\n"), unnamed(&["a", "\u{feff}c"]));
    assert_eq!(events("\u{feff}\n\ndata: a\n\n"), unnamed(&["a"]));
    // Bytes that only start like the mark form an unknown field name.
    assert_eq!(events(b"\xEF\xBBdata: a\n\ndata: b\n\n"), unnamed(&["b"]));
}

#[test]
fn comments_are_ignored() {
    assert_eq!(events(": hello\n:\n:data: x\n\ndata: a\n: in between\ndata: b\n\n"), unnamed(&["a\nb"]));
    assert_eq!(events(format!(":{}\ndata: a\n\n", "x".repeat(3000))), unnamed(&["a"]));
}

#[test]
fn only_one_space_after_the_colon_is_skipped() {
    assert_eq!(
        events("data:a\n\ndata: b\n\ndata:  c\n\ndata:\td\n\ndata: e \n\n"),
        unnamed(&["a", "b", " c", "\td", "e "])
    );
}

#[test]
fn field_without_colon_has_an_empty_value() {
    assert_eq!(events("data\n\n"), unnamed(&[""]));
    assert_eq!(events("data\ndata\n\n"), unnamed(&["\n"]));
    assert_eq!(events("data:\n\n"), unnamed(&[""]));
    assert_eq!(events("event: x\nevent\ndata: a\n\n"), unnamed(&["a"]));
}

#[test]
fn value_starts_after_the_first_colon() {
    assert_eq!(events("data: a: b:c\n\ndata::\n\n"), unnamed(&["a: b:c", ":"]));
}

#[test]
fn unknown_fields_are_ignored_and_names_must_match_exactly() {
    let stream =
        "datas: x\n data: x\nDATA: x\nid: 1\nretry: 1000\nretry: soon\nunknown\ndata : x\ndata: a\n\n";
    assert_eq!(events(stream), unnamed(&["a"]));
}

#[test]
fn event_name_applies_to_one_event_and_the_last_name_wins() {
    let stream = "event: a\nevent: b\ndata: 1\n\ndata: 2\n\nevent:  c\ndata: 3\n\n";
    assert_eq!(events(stream), [named("b", "1"), named("", "2"), named(" c", "3")]);
}

#[test]
fn event_without_data_is_dropped_with_its_name() {
    assert_eq!(events("event: ping\n\ndata: a\n\n\n\n\nid: 3\n\n"), unnamed(&["a"]));
}

#[test]
fn data_lines_are_joined_without_the_last_newline() {
    assert_eq!(events("data: a\ndata:\ndata: b\n\n"), unnamed(&["a\n\nb"]));
    assert_eq!(events("data:\ndata:\n\n"), unnamed(&["\n"]));
}

#[test]
fn event_without_final_empty_line_is_dropped() {
    for stream in ["", "data: a", "data: a\n", "data: a\r", "data: a\r\n", "event: a\ndata: b\n"] {
        assert_eq!(events(stream), unnamed(&[]), "{stream:?}");
    }
}

#[test]
fn nul_and_control_characters_are_data() {
    assert_eq!(
        events("data: a\0b\u{1b}\u{7f}\u{85}\u{2028}\n\n"),
        unnamed(&["a\0b\u{1b}\u{7f}\u{85}\u{2028}"])
    );
    assert_eq!(events("\0data: x\ndata: a\n\n"), unnamed(&["a"]));
}

#[test]
fn characters_split_between_chunks_stay_intact() {
    let text = "é€𝄞 नमस्ते 👩‍👩‍👧";
    assert_eq!(events(format!("event: {text}\ndata: {text}\n\n")), [named(text, text)]);
}

#[test]
fn invalid_utf8_becomes_the_replacement_character() {
    assert_eq!(events(b"data: a\xFFb\xE2\x82\n\n"), unnamed(&["a\u{fffd}b\u{fffd}"]));
}

#[test]
fn too_large_event_is_an_error_in_one_line_or_many() {
    let line = vec![b'x'; 1024 * 1024];
    let mut parser = Parser::new();
    let mut feed = |bytes: &[u8]| parser.feed(bytes, |_, _| Ok::<(), EventTooLarge>(()));
    feed(b"data: ").unwrap();
    let fed = (0..=EVENT_LIMIT / line.len()).try_for_each(|_| feed(&line));
    assert_eq!(fed, Err(EventTooLarge), "one long line");

    let mut parser = Parser::new();
    let mut feed = |bytes: &[u8]| parser.feed(bytes, |_, _| Ok::<(), EventTooLarge>(()));
    let line = [b"data: ", line.as_slice(), b"\n"].concat();
    let fed = (0..=EVENT_LIMIT / line.len()).try_for_each(|_| feed(&line));
    assert_eq!(fed, Err(EventTooLarge), "many lines");
    assert!(EventTooLarge.to_string().contains("32 MB"));
}

#[test]
fn many_events_below_the_size_limit_are_accepted() {
    let mut parser = Parser::new();
    let mut count = 0;
    let event = [b"data: ".as_slice(), &vec![b'x'; EVENT_LIMIT / 2], b"\n\n"].concat();
    for _ in 0..4 {
        let counted = parser.feed(&event, |_, _| {
            count += 1;
            Ok::<(), EventTooLarge>(())
        });
        counted.unwrap();
    }
    assert_eq!(count, 4);
}

#[test]
fn sink_error_is_returned_and_earlier_events_remain() {
    #[derive(Debug, PartialEq)]
    struct Stop;
    impl From<EventTooLarge> for Stop {
        fn from(_: EventTooLarge) -> Self {
            Self
        }
    }
    let mut seen = Vec::new();
    let stopped = Parser::new().feed(b"data: a\n\ndata: b\n\ndata: c\n\n", |_, data| {
        seen.push(data.to_owned());
        if data == "b" { Err(Stop) } else { Ok(()) }
    });
    assert_eq!((stopped, seen), (Err(Stop), vec!["a".to_owned(), "b".to_owned()]));
}

/// A reference parser in the simplest form: all bytes first, then lines, then fields.
fn reference_events(stream: &[u8]) -> Events {
    let text = String::from_utf8_lossy(stream);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n").replace('\r', "\n");
    let (mut events, mut name, mut data) = (Vec::new(), String::new(), None::<String>);
    let Some((lines, _unfinished)) = text.rsplit_once('\n') else { return events };
    for line in lines.split('\n') {
        if line.is_empty() {
            let name = std::mem::take(&mut name);
            events.extend(data.take().map(|data| (name, data)));
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                data = Some(data.map_or_else(|| value.to_owned(), |before| format!("{before}\n{value}")))
            }
            "event" => value.clone_into(&mut name),
            _ => {}
        }
    }
    events
}

proptest! {
    #[test]
    fn any_stream_in_any_chunks_matches_the_reference_parser(
        pieces in proptest::collection::vec("(data|event|id|d)?(: ?)?[aé:\u{feff} ]{0,3}(\n|\r|\r\n){0,2}", 0..30),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let stream = pieces.concat().into_bytes();
        let expected = reference_events(&stream);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        places.extend([0, stream.len()]);
        places.sort_unstable();
        let chunks: Vec<&[u8]> = places.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        prop_assert_eq!(feed_chunks(&chunks).unwrap(), expected);
    }
}
