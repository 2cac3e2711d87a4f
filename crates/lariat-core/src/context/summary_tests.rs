//! Tests of the summary message.

use std::sync::Arc;

use uuid::Uuid;

use super::*;
use crate::config::ContextConfig;
use crate::event::CompactionCause;
use crate::id::MessageId;
use crate::message::AgentMessage;
use crate::transcript::Window;

fn named(n: u128, mut message: AgentMessage) -> SharedMessage {
    message.assign_id(|| MessageId::new(Uuid::from_u128(n)));
    Arc::new(message)
}

fn query() -> CompactionQuery {
    let config = ContextConfig::with_window(10_000);
    CompactionQuery::new(Window::default(), CompactionCause::Threshold, config, 9_000)
}

#[test]
fn summary_names_the_range_to_recall() {
    let (a, b) = (named(0xa, AgentMessage::user("a")), named(0xb, AgentMessage::user("b")));
    let text = text(&query(), Some("We talked."), &[&a, &b]);
    assert!(text.contains("We talked."));
    assert!(text.contains("`m00000000000a..m00000000000b`"), "{text}");
}

#[test]
fn summary_includes_text_and_range_of_the_one_it_replaces() {
    let (a, b) = (named(0xa, AgentMessage::user("a")), named(0xb, AgentMessage::user("b")));
    let earlier = text(&query(), Some("Topic: the parser was fixed."), &[&a, &b]);
    let earlier = named(0xc, AgentMessage::summary(earlier));
    let later = named(0xd, AgentMessage::user("d"));
    let text = text(&query(), None, &[&earlier, &later]);
    assert!(text.contains("the parser was fixed"), "{text}");
    assert!(text.contains("`m00000000000a..m00000000000d`"), "{text}");
}

#[test]
fn included_text_is_bounded_and_starts_at_a_line() {
    assert_eq!(tail("one\ntwo\nthree", 9), "three");
    assert_eq!(tail("one", 3), "one");
    assert_eq!(tail("äöü\nß", 4), "ß");
}
