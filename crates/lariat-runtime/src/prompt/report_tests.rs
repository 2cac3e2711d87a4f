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
    Transcript::repair(named).0.window()
}

#[test]
fn counts_every_part_and_attributes_cached_tokens_to_the_first_ones() {
    let tool = ToolDefinition {
        name: "read".into(),
        description: "Reads.".into(),
        parameters: json!({"type": "object"}),
    };
    let sections = [
        PromptSection::new("base", SectionStability::Static, "x".repeat(400)),
        PromptSection::new("memory", SectionStability::SemiStatic, "y".repeat(800)),
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
    let parts: Vec<_> = report.parts.iter().map(|part| (part.kind, &*part.name)).collect();
    assert_eq!(
        parts,
        [
            (PartKind::Tools, "tools"),
            (PartKind::Static, "base"),
            (PartKind::SemiStatic, "memory"),
            (PartKind::Person, "person"),
            (PartKind::Note, "environment"),
            (PartKind::Reply, "replies"),
        ]
    );
    let part = |name: &str| report.parts.iter().find(|part| part.name == name).unwrap();
    assert_eq!(part("base").tokens, estimate_tokens(&sections[0].text));
    assert_eq!((part("base").cached, part("replies").cached), (part("base").tokens, 0));
    assert_eq!(report.cached, 300);
    // 320 reported tokens, then the reply and the next message.
    let new: u64 = messages.iter_from(2).map(|message| message_tokens(message)).sum();
    assert_eq!(report.used, 320 + new);
    assert_eq!(report.used_percent, Some((320 + new) / 10));
    assert!(serde_json::to_string(&report).unwrap().contains("\"semiStatic\""));
}

#[test]
fn without_reported_usage_all_tokens_are_estimates_and_none_are_cached() {
    let report = ContextReport::of(&[], &[], &window(vec!["Hello.".into()]), None);
    assert_eq!((report.cached, report.used_percent), (0, None));
    assert!(report.used > 0);
}
