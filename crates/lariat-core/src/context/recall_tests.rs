//! Tests of finding messages by their short names.

use uuid::Uuid;

use super::*;
use crate::event::QueueKind;

fn named(n: u128, text: &str) -> SharedMessage {
    let mut message = AgentMessage::user(text);
    message.assign_id(|| MessageId::new(Uuid::from_u128(n)));
    Arc::new(message)
}

fn journal() -> Vec<AgentEvent> {
    let full = |n, text| AgentEvent::MessageEnd { message: RecordedMessage::Full(named(n, text)) };
    let queued = named(3, "three");
    let mention = crate::event::MessageRef::unresolved(queued.id());
    vec![
        full(1, "one"),
        AgentEvent::MessageQueued { queue: QueueKind::Steering, message: queued },
        full(2, "two"),
        AgentEvent::MessageEnd { message: RecordedMessage::Earlier(mention) },
        full(4, "four"),
        full((1 << 64) + 4, "another four"),
    ]
}

fn recall(name: &str) -> Result<Option<String>, String> {
    let Some(mut recall) = Recall::new(name) else { return Ok(None) };
    journal().iter().for_each(|event| recall.take(event));
    recall.text()
}

#[test]
fn finds_a_message_by_short_name_and_full_id() {
    assert_eq!(recall("m000000000002"), Ok(Some("two".to_owned())));
    assert_eq!(recall(&Uuid::from_u128(4).to_string()), Ok(Some("four".to_owned())));
    assert_eq!(recall(" `m000000000003` "), Ok(Some("three".to_owned())), "a queued message");
}

#[test]
fn range_has_the_order_of_the_journal() {
    let text = recall("m000000000001..m000000000003").unwrap().unwrap();
    assert_eq!(text, "[m000000000001 user]\none\n[m000000000002 user]\ntwo\n[m000000000003 user]\nthree\n");
}

#[test]
fn ambiguous_name_is_an_error_and_unknown_name_is_not_found() {
    assert!(recall("m000000000004").unwrap_err().contains("more than one message"));
    for unknown in ["m00000000000f", "o3", "", "m000000000002..m00000000000f", "m000000000003..m000000000001"]
    {
        assert_eq!(recall(unknown), Ok(None), "{unknown}");
    }
}
