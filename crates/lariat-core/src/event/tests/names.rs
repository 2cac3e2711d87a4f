//! Tests of serialised names and default values, which are part of the API.

use std::time::Duration;

use super::*;
use crate::config::{
    ContextConfig, ExecutionLimits, QueueMode, RepetitionConfig, RetryConfig, ToolExecutionStrategy,
};
use crate::message::ExtensionMessage;
use crate::model::{CacheConfig, CacheStrategy};
use crate::run::RunConfig;

#[test]
fn blocks_have_their_documented_names() {
    let blocks = [
        (Content::text("a"), json!({"type": "text", "text": "a"})),
        (
            Content::Image { data: "AA".into(), mime_type: "image/png".into() },
            json!({"type": "image", "data": "AA", "mime_type": "image/png"}),
        ),
        (
            Content::Thinking { thinking: "hm".into(), signature: Some("sig".into()) },
            json!({"type": "thinking", "thinking": "hm", "signature": "sig"}),
        ),
        (
            Content::tool_call("c", "read", json!({"a": 1})),
            json!({"type": "toolCall", "id": "c", "name": "read", "arguments": {"a": 1}}),
        ),
        (Content::RedactedThinking { data: "x".into() }, json!({"type": "redactedThinking", "data": "x"})),
    ];
    for (block, json) in blocks {
        assert_eq!(serde_json::to_value(&block).unwrap(), json);
        assert_eq!(serde_json::from_value::<Content>(json).unwrap(), block);
    }
}

#[test]
fn stop_reasons_have_their_documented_names() {
    let names = [
        (StopReason::Stop, "stop"),
        (StopReason::Length, "length"),
        (StopReason::ToolUse, "toolUse"),
        (StopReason::Error, "error"),
        (StopReason::Aborted, "aborted"),
    ];
    for (reason, name) in names {
        assert_eq!(serde_json::to_value(reason).unwrap(), json!(name));
    }
}

#[test]
fn messages_have_their_documented_roles_and_fields() {
    let extension: AgentMessage = ExtensionMessage::new("ui_update", json!({"a": 1})).into();
    let role = |message: &AgentMessage| serde_json::to_value(message).unwrap()["role"].clone();
    assert_eq!(role(&user(1, "hi")), "user");
    assert_eq!(role(&assistant(2, vec!["hi".into()])), "assistant");
    assert_eq!(role(&tool_result(3, "call", "out")), "toolResult");
    assert_eq!(role(&extension), "extension");

    let fields = |message: &AgentMessage| {
        let json = serde_json::to_value(message).unwrap();
        assert_eq!(&serde_json::from_value::<AgentMessage>(json.clone()).unwrap(), message);
        json.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(fields(&user(1, "hi")), "content id role timestamp");
    assert_eq!(
        fields(&assistant(2, vec!["hi".into()])),
        "content id model provider role stop_reason timestamp usage"
    );
    assert_eq!(
        fields(&tool_result(3, "call", "out")),
        "content id is_error role timestamp tool_call_id tool_name"
    );
    assert_eq!(fields(&extension), "data id kind role");
    let timestamp = serde_json::to_value(&*user(1, "hi")).unwrap()["timestamp"].clone();
    assert_eq!(timestamp, json!(AT.as_millis()), "messages use milliseconds");
}

#[test]
fn extension_message_requires_the_extension_role() {
    let not_an_extension = json!({"role": "user", "kind": "ui_update", "data": 1});
    assert!(serde_json::from_value::<AgentMessage>(not_an_extension).is_err());
}

#[test]
fn defaults_have_their_documented_values() {
    let context = ContextConfig::default();
    assert_eq!(
        [
            context.max_context_tokens,
            context.system_prompt_tokens,
            context.keep_recent,
            context.keep_first,
            context.tool_output_max_lines
        ],
        [100_000, 4_000, 10, 2, 50]
    );
    assert_eq!(context.budget(), 96_000);
    assert_eq!(
        [context.warn_at_percent, context.compact_at_percent, context.emergency_at_percent],
        [80, 90, 98]
    );
    let limits = ExecutionLimits::default();
    assert_eq!((limits.max_turns, limits.max_total_tokens), (Some(50), Some(1_000_000)));
    assert_eq!(limits.max_duration, Some(Duration::from_secs(600)));
    let retry = RetryConfig::default();
    assert_eq!((retry.max_retries, retry.initial_delay_ms, retry.max_delay_ms), (3, 1_000, 30_000));
    assert_eq!(retry.backoff_multiplier, 2.0);
    assert_eq!(
        CacheConfig::default(),
        CacheConfig {
            enabled: true,
            strategy: CacheStrategy::Auto,
            ttl: crate::model::CacheTtl::FiveMinutes
        }
    );
    assert_eq!(QueueMode::default(), QueueMode::OneAtATime);
    let run = RunConfig::default();
    assert_eq!(run.stall_timeout, Duration::from_secs(660));
    assert_eq!(run.repetition, Some(RepetitionConfig::new(3, 6)));
    assert_eq!((run.steering_mode, run.follow_up_mode), (QueueMode::OneAtATime, QueueMode::OneAtATime));
    assert_eq!(ToolExecutionStrategy::default(), ToolExecutionStrategy::Parallel);
    assert_eq!(TurnTrigger::default(), TurnTrigger::User);
    assert_eq!(ContinuationKind::default(), ContinuationKind::Default);
}

#[test]
fn usage_sums_even_without_a_provider_total() {
    let unreported = Usage { total_tokens: 0, cache_read: 10, ..Usage::new(5, 1) };
    let sum = unreported + Usage::new(2, 3);
    assert_eq!(sum.total(), 16 + 5);
    assert_eq!((sum + Usage::default()).total(), 21);
    assert_eq!(Usage { cache_read: 30, cache_write: 50, ..Usage::new(20, 9) }.cache_hit_rate(), 0.3);
    assert_eq!(Usage::default().cache_hit_rate(), 0.0);
}
