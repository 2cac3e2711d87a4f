use std::collections::HashMap;

use lariat_core::event::{AgentEvent, FORMAT_VERSION};
use lariat_core::id::EventId;
use lariat_core::time::Timestamp;
use serde_json::json;

use super::*;
use crate::record::event_of;

fn event(fields: serde_json::Value) -> EventRecord {
    let fields = fields.as_object().unwrap().clone();
    EventRecord {
        v: FORMAT_VERSION,
        seq: 3,
        id: EventId::new(uuid::Uuid::from_u128(7)),
        timestamp: Timestamp::from_millis(1_763_164_800_123),
        loop_id: None,
        event: AgentEvent::Unknown(fields),
    }
}

fn round_trip(event: &EventRecord) -> PackedEvent {
    let packed = pack(event).unwrap();
    let blobs: HashMap<_, _> = packed.blobs.iter().cloned().collect();
    let mut needed = moved_out(&packed.body);
    needed.sort_unstable();
    let mut made: Vec<_> = blobs.keys().cloned().collect();
    made.sort_unstable();
    assert_eq!(needed, made);
    assert!(needed.iter().all(|hash| mentions(&packed.body).contains(hash)));
    let unpacked = unpack(&packed.body, |hash| Ok(blobs[hash].clone())).unwrap();
    let body = unpacked.as_deref().unwrap_or(&packed.body);
    assert_eq!(event_of(3, body).unwrap(), *event);
    packed
}

#[test]
fn keeps_small_text_in_the_event() {
    let packed = round_trip(&event(json!({"type": "Later", "text": "x".repeat(LARGE - 200)})));
    assert!(packed.blobs.is_empty());
}

#[test]
fn moves_large_text_to_one_blob_per_content() {
    let large = "é\"\n".repeat(LARGE);
    let packed = round_trip(&event(
        json!({"type": "Later", "a/b": [{"c~d": large, "small": "s"}, large], "e": "y".repeat(LARGE)}),
    ));
    assert_eq!(packed.blobs.len(), 3);
    assert_eq!(packed.blobs[0].0, packed.blobs[1].0);
    assert!(packed.body.len() < 1000);
}

#[test]
fn ignores_a_blobs_field_in_user_data() {
    let own = json!({"$blobs": {"/text": address(b"other").0}});
    let small = round_trip(&event(json!({"type": "Later", "args": own})));
    assert!(moved_out(&small.body).is_empty());
    round_trip(&event(json!({"type": "Later", "args": own, "text": "z".repeat(LARGE)})));
}

#[test]
fn unpack_fails_for_a_missing_or_invalid_blob() {
    let packed = pack(&event(json!({"type": "Later", "text": "z".repeat(LARGE)}))).unwrap();
    let missing = unpack(&packed.body, |hash| Err(StoreError::NotFound(hash.0.clone())));
    assert!(matches!(missing, Err(StoreError::NotFound(_))));
    assert!(matches!(unpack(&packed.body, |_| Ok(vec![0xFF])), Err(StoreError::Damaged(_))));
}

#[test]
fn finds_blob_addresses_anywhere_in_a_body() {
    let (one, two) = (address(b"1"), address(b"2"));
    let body =
        format!("{{\"a\":\"see {} and\",\"b\":[\"{}\",\"{}\",\"blake3:short\"]}}", two.0, one.0, two.0);
    let mut both = vec![one, two];
    both.sort_unstable();
    assert_eq!(mentions(body.as_bytes()), both);
    assert_eq!(hash_of(&both[0]).map(|hash| address_of(&hash)), Some(both[0].clone()));
    assert_eq!(hash_of(&BlobHash("sha256:00".into())), None);
}
