use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::message::{AssistantMessage, StopReason};
use lariat_core::time::Timestamp;
use lariat_core::transcript::Transcript;
use lariat_core::usage::Usage;
use serde_json::json;

use super::*;

fn reply(usage: Usage) -> AgentMessage {
    Message::Assistant(AssistantMessage {
        content: vec![Content::text("Done.")],
        stop_reason: StopReason::Stop,
        model: "m".into(),
        requested_model: None,
        provider: "p".into(),
        usage,
        timestamp: Timestamp::default(),
        error_message: None,
    })
    .into()
}

fn window(messages: Vec<AgentMessage>) -> Window {
    let named = messages.into_iter().enumerate().map(|(n, mut message)| {
        message.assign_id(|| lariat_core::id::MessageId::new(uuid::Uuid::from_u128(n as u128 + 1)));
        Arc::new(message)
    });
    Transcript::repaired(named).0.window()
}

#[test]
fn every_part_is_counted_and_the_cached_ones_are_the_first_ones() {
    let tool = ToolDefinition {
        name: "read".into(),
        description: "Reads.".into(),
        parameters: json!({"type": "object"}),
    };
    let sections = [
        PromptSection::new("base", Place::Static, "x".repeat(400)),
        PromptSection::new("memory", Place::SemiStatic, "y".repeat(800)),
    ];
    let mut usage = Usage::new(20, 5);
    usage.cache_read = 300;
    let messages = window(vec![
        "Hello, Ada here.".into(),
        AgentMessage::note("environment", "date: today"),
        reply(usage),
        "And now?".into(),
    ]);
    let report = ContextReport::of(&[tool], &sections, &messages, Some(1_000));
    let parts: Vec<_> = report.parts.iter().map(|part| (part.kind, &*part.name, part.tokens)).collect();
    assert_eq!(
        parts,
        [
            (PartKind::Tools, "tools", 8),
            (PartKind::Static, "base", 100),
            (PartKind::SemiStatic, "memory", 200),
            (PartKind::Person, "person", 14),
            (PartKind::Note, "environment", 7),
            (PartKind::Reply, "replies", 6),
        ]
    );
    let cached = |name: &str| report.parts.iter().find(|part| part.name == name).map(|part| part.cached);
    assert_eq!((cached("base"), cached("replies")), (Some(100), Some(0)));
    assert_eq!(report.cached, 300);
    // 320 reported, then the reply and the next words.
    assert_eq!(report.used, 320 + 6 + 6);
    assert_eq!(report.used_percent, Some(33));
    assert!(serde_json::to_string(&report).unwrap().contains("\"semiStatic\""));
}

#[test]
fn without_a_report_of_the_service_it_is_all_estimates_and_nothing_is_cached() {
    let report = ContextReport::of(&[], &[], &window(vec!["Hello.".into()]), None);
    assert_eq!((report.used, report.cached, report.used_percent), (6, 0, None));
}
