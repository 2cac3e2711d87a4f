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

/// A header like that of this format, with another version and a field that this format does not have.
fn header_of_version(version: u32) -> Vec<u8> {
    let mut line =
        format!("{{\"lariat\":{version},\"session\":\"s\",\"fork\":null,\"more\":[1]").into_bytes();
    let check = crc32fast::hash(&line);
    line.extend_from_slice(HEADER_CHECK);
    line.extend_from_slice(format!("{check:08x}\"}}\n").as_bytes());
    line
}

#[test]
fn a_damaged_header_is_not_taken_for_a_newer_one() {
    let today = Header::new(SessionId::from("s"), None).line();
    assert_eq!(Header::newer(&today), None);
    for bit in 0..today.len() * 8 {
        let mut changed = today.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Header::newer(&changed), None, "bit {bit}");
    }
    assert!(Header::newer(&header_of_version(VERSION + 1)).is_some());
    assert_eq!(Header::newer(&header_of_version(VERSION)), None);
}

#[tokio::test]
async fn a_journal_of_a_newer_format_is_refused_unchanged_and_others_stay_listed() {
    use lariat_core::archive::SessionArchive as _;
    use lariat_core::store::SessionStore as _;

    use crate::files;

    let root = std::env::temp_dir().join(format!("lariat-newer-{}", uuid::Uuid::new_v4().simple()));
    let store = crate::jsonl::JsonlStore::open(&root, crate::StoreOptions::default()).await.unwrap();
    let journal = root.join("sessions").join("s.jsonl");
    let bytes = [header_of_version(VERSION + 1), b"records of an unknown form\n".to_vec()].concat();
    files::put(&journal, &bytes).unwrap();
    let id = SessionId::from("s");
    let newer = StoreError::Newer { what: "the session".to_owned(), found: 2, supported: 1 };
    assert_eq!(store.read(&id, 0, 9).await, Err(newer.clone()));
    assert_eq!(store.head(&id).await, Err(newer.clone()));
    assert_eq!(store.claim(&id).await, Err(newer.clone()));
    assert_eq!(store.verify(&id).await, Err(newer.clone()));
    assert_eq!(store.repair(&id).await, Err(newer.clone()));
    assert_eq!(store.fork(&id, 0, &SessionId::from("t")).await, Err(newer));
    assert_eq!(store.list(&Default::default()).await, Ok(Vec::new()));
    store.collect_garbage(std::time::Duration::ZERO).await.unwrap();
    assert_eq!(files::read(&journal).unwrap().unwrap(), bytes);
    #[expect(clippy::disallowed_methods, reason = "a test removes its directory")]
    std::fs::remove_dir_all(&root).unwrap();
}
