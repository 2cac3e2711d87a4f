use super::*;

fn sealed(body: &str) -> SealedRecord {
    SealedRecord::new(7, Chain::start(&SessionId::from("s")), body.as_bytes().to_vec())
}

fn write_line(body: &str, batch: Batch) -> Vec<u8> {
    let mut line = Vec::new();
    write(&mut line, &sealed(body), batch);
    line
}

fn open_line(line: &[u8]) -> Option<(RecordLine, Vec<u8>)> {
    let seal = seal_of(line)?;
    let mut body = Vec::new();
    let found = seal.open(line.get(SEAL..seal.line_length())?, &mut body)?;
    Some((found, body))
}

#[test]
fn line_is_json_with_a_seal_before_the_event() {
    let line = write_line(r#"{"v":1,"seq":7,"type":"X"}"#, Batch::Begins);
    let chain = sealed(r#"{"v":1,"seq":7,"type":"X"}"#).chain.to_string();
    let text = String::from_utf8(line.clone()).unwrap();
    assert!(text.starts_with("{\"#\":\"0000001a "), "{text}");
    assert!(text.ends_with(&format!(" {chain}\",\"v\":1,\"seq\":7,\"type\":\"X\"}}\n")), "{text}");
    assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
    assert_eq!(
        open_line(&line).unwrap().0,
        RecordLine { seq: 7, chain: sealed(r#"{"v":1,"seq":7,"type":"X"}"#).chain, batch: Batch::Begins }
    );
}

#[test]
fn checksum_covers_the_batch_flag() {
    let body = r#"{"v":1,"seq":7}"#;
    let (begins, continues) = (write_line(body, Batch::Begins), write_line(body, Batch::Continues));
    assert_eq!(open_line(&begins).unwrap().0.batch, Batch::Begins);
    assert_eq!(open_line(&continues).unwrap().0.batch, Batch::Continues);
    for bit in 0..(begins.len() - 1) * 8 {
        let mut broken = begins.clone();
        broken[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(open_line(&broken), None, "bit {bit}");
    }
}

#[test]
fn escapes_and_restores_a_seal_opening_inside_an_event() {
    for body in [
        r##"{"v":1,"seq":7,"args":{"#":"00000010 00000000 00000000000000000000000000000000","x":[{"#":"y"}]}}"##,
        r##"{"#":"first","seq":7}"##,
        r##"{"seq":7,"a":{"#":"00000010 00000000 0123456789abcdef0123456789abcdef","seq":7},"#":"x"}"##,
        r##"{"seq":7,"a":{"#":"00000010 00000000 0123456789abcdef0123456789abcde\u0001","seq":7}}"##,
        r##"{"seq":7,"a":{"#":"00000010 00000000 0123456789abcdef0123456789abcdef"}}"##,
        r##"{"seq":7,"text":"{\"#\":\"","other":"{\\u0023"}"##,
    ] {
        let line = write_line(body, Batch::Begins);
        assert_eq!(memmem::find_iter(&line, OPENING).collect::<Vec<_>>(), [0], "{body}");
        assert_eq!(open_line(&line).unwrap().1, body.as_bytes());
        let (one, other) = (serde_json::from_slice::<serde_json::Value>(&line).unwrap(), body);
        let other: serde_json::Value = serde_json::from_str(other).unwrap();
        assert_eq!((one.get("args"), one.get("a")), (other.get("args"), other.get("a")));
    }
}

#[test]
fn seal_inside_an_event_stays_invalid_after_block_mixups() {
    let inner = String::from_utf8(write_line(r#"{"seq":7}"#, Batch::Begins)).unwrap();
    let body = format!("{{\"v\":1,\"seq\":7,\"forged\":[{}]}}", inner.trim_end());
    let outer = write_line(&body, Batch::Begins);
    assert_eq!(open_line(&outer).unwrap().1, body.as_bytes());
    for (kept, from) in (1..SEAL).flat_map(|kept| (SEAL..outer.len()).map(move |from| (kept, from))) {
        let spliced = [&outer[..kept], &outer[from..]].concat();
        assert_eq!(open_line(&spliced), None, "{kept} bytes of a seal before byte {from}");
    }
}

#[test]
fn header_round_trips_and_any_flipped_bit_invalidates_it() {
    let fork = Fork::new(SessionId::from("a \"parent\"\n"), 12, Chain::start(&SessionId::from("p")));
    for fork in [None, Some(fork)] {
        let header = Header::new(SessionId::from("s,\"check\":\"00000000\"}"), fork);
        let line = header.line();
        assert_eq!(Header::of(&line), Some((header.clone(), line.len() - 1)));
        assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
        for bit in 0..(line.len() - 1) * 8 {
            let mut broken = line.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::of(&broken), None, "bit {bit}");
        }
    }
}
