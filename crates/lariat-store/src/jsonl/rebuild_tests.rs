use std::io::Cursor;

use lariat_core::id::SessionId;

use super::super::audit::examine;
use super::*;

fn header() -> Header {
    Header::new(SessionId::from("s"), None)
}

fn record(seq: u64, chain: Chain, text: &str) -> SealedRecord {
    let id = uuid::Uuid::nil();
    let body = format!(
        "{{\"v\":1,\"seq\":{seq},\"id\":\"{id}\",\"timestamp\":{},\"type\":\"X\",\"text\":\"{text}\"}}",
        serde_json::to_string(&Timestamp::from_millis(1_000 + seq % 1_000)).unwrap()
    );
    SealedRecord::new(seq, chain, body.into_bytes())
}

fn chain_of(count: u64) -> Vec<SealedRecord> {
    let mut chain = header().chain();
    let next = |seq| {
        let record = record(seq, chain, "right");
        chain = record.chain;
        record
    };
    (0..count).map(next).collect()
}

fn rebuilt(records: &[&SealedRecord], events: u64) -> Result<Vec<EventRecord>, RebuildError> {
    let mut bytes = header().line();
    records.iter().for_each(|record| write(&mut bytes, record, Batch::Begins));
    let expected = ExpectedJournal::new(header(), events);
    let mut out = Vec::new();
    rebuild(Cursor::new(bytes), &expected, &mut out)?;
    assert!(examine(out.as_slice(), &expected).unwrap().is_sound());
    let lines = out.split(|byte| *byte == b'\n').skip(1).filter(|line| !line.is_empty());
    Ok(lines.map(|line| EventRecord::from_json(line).unwrap()).collect())
}

fn texts(records: &[&SealedRecord], events: u64) -> String {
    let letter = |event: &EventRecord| match &event.event {
        AgentEvent::EventLost { .. } => '.',
        AgentEvent::Unknown(fields) if fields["text"] == "right" => 'r',
        _ => 'w',
    };
    rebuilt(records, events).unwrap().iter().map(letter).collect()
}

#[test]
fn keeps_the_record_that_fits_the_chain_among_duplicates() {
    let right = chain_of(4);
    let wrong = record(2, Chain::start(&SessionId::from("elsewhere")), "wrong");
    assert_eq!(
        texts(&[&right[0], &right[1], &wrong, &right[2], &right[3]], 4),
        "rrrr",
        "fits what is before"
    );
    assert_eq!(
        texts(&[&right[0], &right[1], &wrong, &right[2]], 3),
        "rrr",
        "fits what is before, nothing after"
    );
    assert_eq!(texts(&[&right[0], &wrong, &right[2], &right[3]], 4), "r.rr", "fits what is after");
    assert_eq!(texts(&[&right[0], &right[1], &wrong, &right[3]], 4), "rrwr", "the only one");
    let first = record(0, Chain::start(&SessionId::from("elsewhere")), "wrong");
    assert_eq!(texts(&[&first, &right[0]], 1), "r", "fits the beginning");
}

#[test]
fn lost_event_gets_the_time_of_its_predecessor_or_the_first_event() {
    let right = chain_of(5);
    let events = rebuilt(&[&right[1], &right[4]], 7).unwrap();
    let times: Vec<u64> = events.iter().map(|event| event.timestamp.as_millis()).collect();
    assert_eq!(times, [1_001, 1_001, 1_001, 1_001, 1_004, 1_004, 1_004]);
    let ids: std::collections::BTreeSet<_> = events.iter().map(|event| event.id.to_string()).collect();
    assert_eq!(ids.len(), 6, "the two remaining events have the same id");
}

#[test]
fn rejects_a_record_millions_of_positions_ahead() {
    let right = chain_of(2);
    let far = record(MAX_LOST + 3, right[1].chain, "wrong");
    let refused = rebuilt(&[&right[0], &right[1], &far], 2);
    assert!(matches!(refused, Err(RebuildError::Foreign(seq)) if seq == MAX_LOST + 3), "{refused:?}");
    let last = record(u64::MAX, right[1].chain, "wrong");
    assert!(matches!(rebuilt(&[&right[0], &last], 2), Err(RebuildError::Foreign(u64::MAX))));
}
