//! Finding messages by their short names.

use uuid::Uuid;

use super::*;
use crate::event::QueueKind;

fn named(n: u128, text: &str) -> SharedMessage {
    let mut message = AgentMessage::user(text);
    message.assign_id(|| MessageId::new(Uuid::from_u128(n)));
    Arc::new(message)
}

fn journal() -> Vec<AgentEvent> {
    let full = |n, text| AgentEvent::MessageEnd { message: Recorded::Full(named(n, text)) };
    let queued = named(3, "three");
    let mention = crate::event::MessageRef::unresolved(queued.id());
    vec![
        full(1, "one"),
        AgentEvent::MessageQueued { queue: QueueKind::Steering, message: queued },
        full(2, "two"),
        AgentEvent::MessageEnd { message: Recorded::Earlier(mention) },
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
fn a_message_comes_back_exactly_by_its_short_name_and_by_its_whole_id() {
    assert_eq!(recall("m000000000002"), Ok(Some("two".to_owned())));
    assert_eq!(recall(&Uuid::from_u128(4).to_string()), Ok(Some("four".to_owned())));
    assert_eq!(recall(" `m000000000003` "), Ok(Some("three".to_owned())), "also one that was queued");
}

#[test]
fn a_range_is_told_in_the_order_it_was_recorded() {
    let told = recall("m000000000001..m000000000003").unwrap().unwrap();
    assert_eq!(told, "[m000000000001 user]\none\n[m000000000002 user]\ntwo\n[m000000000003 user]\nthree\n");
}

#[test]
fn a_name_that_means_two_messages_is_refused_and_one_that_means_none_is_not_found() {
    assert!(recall("m000000000004").unwrap_err().contains("more than one message"));
    for unknown in ["m00000000000f", "o3", "", "m000000000002..m00000000000f", "m000000000003..m000000000001"]
    {
        assert_eq!(recall(unknown), Ok(None), "{unknown}");
    }
}
