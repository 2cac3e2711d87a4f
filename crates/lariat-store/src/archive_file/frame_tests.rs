use super::*;

fn session() -> SessionId {
    SessionId::from("s")
}

fn records(bodies: &[&str]) -> Vec<Sealed> {
    let mut chain = Chain::start(&session());
    let mut records = Vec::new();
    for (body, seq) in bodies.iter().zip(0..) {
        let record = Sealed::new(seq, chain, body.as_bytes().to_vec());
        chain = record.chain;
        records.push(record);
    }
    records
}

/// A file that is whole as far as its frames go.
fn file(events: u64, blobs: &[&[u8]], records: &[&Sealed]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = Writer::begin(&mut bytes, &session(), events).unwrap();
    blobs.iter().for_each(|blob| file.blob(&content::address(blob), blob).unwrap());
    records.iter().for_each(|record| file.record(record).unwrap());
    file.end().unwrap();
    bytes
}

fn refused(file: &[u8]) -> String {
    super::super::check(file).unwrap_err().to_string()
}

#[test]
fn records_left_out_moved_or_forged_are_refused_though_every_frame_is_whole() {
    let [a, b, c] = &records(&["{}", "{\"b\":1}", "{\"c\":1}"])[..] else { panic!() };
    assert!(super::super::check(&file(3, &[], &[a, b, c])[..]).is_ok());
    for others in [&[b, c][..], &[a, c], &[a, c, b]] {
        assert!(refused(&file(others.len() as u64, &[], others)).contains("is not what comes here"));
    }
    let forged = Sealed::new(1, Chain::start(&session()), b"{}".to_vec());
    assert!(forged.is_whole());
    assert!(refused(&file(3, &[], &[a, &forged, c])).contains("event 1 is not what comes here"));
    assert!(refused(&file(3, &[], &[a, b])).contains("2 events of 3"), "cut at the end, and ended anew");
}

#[test]
fn a_blob_that_is_missing_is_refused_whoever_needs_it() {
    let blob = "large".repeat(10);
    let body = format!("{{\"a\":\"\",\"$blobs\":{{\"/a\":\"{}\"}}}}", content::address(blob.as_bytes()).0);
    let moved_out = &records(&[&body])[..];
    assert!(super::super::check(&file(1, &[blob.as_bytes()], &[&moved_out[0]])[..]).is_ok());
    assert!(refused(&file(1, &[], &[&moved_out[0]])).contains("of event 0 is missing"));

    // Only named by a tool: taking its frame out leaves frames that fit, but not what was written.
    let records = records(&["{}"]);
    let with = file(1, &[b"blob"], &[&records[0]]);
    let without = file(1, &[], &[&records[0]]);
    let end = 9 + 32 + 4;
    let forged = [&without[..without.len() - end], &with[with.len() - end..]].concat();
    assert!(refused(&forged).contains("what comes before is not what was written"));
}

#[test]
fn a_length_that_says_more_than_there_is_costs_no_memory() {
    let mut forged = MAGIC.to_vec();
    forged.push(HEADER);
    forged.extend_from_slice(&u64::MAX.to_le_bytes());
    forged.extend_from_slice(b"{}");
    assert!(refused(&forged).contains("the file ends here"));
}
