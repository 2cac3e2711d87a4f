use super::*;

fn session() -> SessionId {
    SessionId::from("s")
}

fn records(bodies: &[&str]) -> Vec<SealedRecord> {
    let mut chain = Chain::start(&session());
    let mut records = Vec::new();
    for (body, seq) in bodies.iter().zip(0..) {
        let record = SealedRecord::new(seq, chain, body.as_bytes().to_vec());
        chain = record.chain;
        records.push(record);
    }
    records
}

/// A file whose frames are valid.
fn file(events: u64, blobs: &[&[u8]], records: &[&SealedRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = FrameWriter::begin(&mut bytes, &session(), events).unwrap();
    blobs.iter().for_each(|blob| file.blob(&content::address(blob), blob).unwrap());
    records.iter().for_each(|record| file.record(record).unwrap());
    file.end().unwrap();
    bytes
}

fn refused(file: &[u8]) -> String {
    super::super::check(file).unwrap_err().to_string()
}

#[test]
fn rejects_missing_moved_or_forged_records_in_valid_frames() {
    let [a, b, c] = &records(&["{}", "{\"b\":1}", "{\"c\":1}"])[..] else { panic!() };
    assert!(super::super::check(&file(3, &[], &[a, b, c])[..]).is_ok());
    for others in [&[b, c][..], &[a, c], &[a, c, b]] {
        assert!(
            refused(&file(others.len() as u64, &[], others)).contains("is missing, changed or out of order")
        );
    }
    let forged = SealedRecord::new(1, Chain::start(&session()), b"{}".to_vec());
    assert!(forged.is_whole());
    assert!(refused(&file(3, &[], &[a, &forged, c])).contains("event 1 is missing, changed or out of order"));
    assert!(
        refused(&file(3, &[], &[a, b])).contains("found 2 events, expected 3"),
        "cut at the end, with a new end frame"
    );
}

#[test]
fn rejects_a_missing_blob() {
    let blob = "large".repeat(10);
    let body = format!("{{\"a\":\"\",\"$blobs\":{{\"/a\":\"{}\"}}}}", content::address(blob.as_bytes()).0);
    let moved_out = &records(&[&body])[..];
    assert!(super::super::check(&file(1, &[blob.as_bytes()], &[&moved_out[0]])[..]).is_ok());
    assert!(refused(&file(1, &[], &[&moved_out[0]])).contains("of event 0 is missing"));

    // A blob that only a tool names: removing its frame leaves valid frames, but the hash of the file changes.
    let records = records(&["{}"]);
    let with = file(1, &[b"blob"], &[&records[0]]);
    let without = file(1, &[], &[&records[0]]);
    let end = 9 + 32 + 4;
    let forged = [&without[..without.len() - end], &with[with.len() - end..]].concat();
    assert!(refused(&forged).contains("the hash of the file does not match its content"));
}

#[test]
fn a_forged_length_allocates_no_memory() {
    let mut forged = MAGIC.to_vec();
    forged.push(HEADER);
    forged.extend_from_slice(&u64::MAX.to_le_bytes());
    forged.extend_from_slice(b"{}");
    assert!(refused(&forged).contains("unexpected end of file"));
}

#[test]
fn rejects_a_newer_file_and_newer_events_by_their_version() {
    let newer = |file: &[u8]| match super::super::check(file).unwrap_err() {
        ArchiveFileError::Store(StoreError::Newer { what, found, supported }) => (what, found, supported),
        other => panic!("{other}"),
    };
    let records = records(&["{\"v\":1,\"seq\":0}", "{\"seq\":1,\"v\":2}"]);
    let of_today = file(1, &[], &[&records[0]]);
    for (line, version) in [("LARIAT SESSION 2\n", 2), ("LARIAT SESSION 12\n", 12)] {
        let next = [line.as_bytes(), &of_today[MAGIC.len()..]].concat();
        assert_eq!(newer(&next), ("the session file".to_owned(), version, 1));
    }
    assert_eq!(newer(&file(2, &[], &[&records[0], &records[1]])), ("event 1".to_owned(), 2, 1));
    assert!(refused(b"LARIAT SESSION 0\n and so on").contains("not a session file"));
}
