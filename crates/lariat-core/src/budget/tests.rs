use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::config::ExecutionLimits;
use crate::event::{AgentEvent, EventRecord, FORMAT_VERSION, LimitKind, RecordedMessage};
use crate::id::{EventId, MessageId};
use crate::ledger::{Ledger, Source};
use crate::message::{AgentMessage, AssistantMessage, LlmMessage, Message, StopReason};
use crate::time::Timestamp;
use crate::usage::{Cost, Usage};

fn level(limit: LimitKind, used: u64, cap: u64) -> u8 {
    BudgetStatus::new(BudgetScope::Run, limit, used, cap).level()
}

#[test]
fn levels_start_at_their_percentage() {
    let tokens = |used| level(LimitKind::Tokens, used, 1_000);
    assert_eq!(
        [699, 700, 899, 900, 949, 950, 999, 1_000, 5_000].map(tokens),
        [0, 70, 70, 90, 90, 95, 95, 100, 100]
    );
    assert_eq!(level(LimitKind::Tokens, 0, 0), 100, "a limit of zero is used up");
    assert_eq!(level(LimitKind::Cost, u64::MAX, u64::MAX), 100);
}

#[test]
fn last_turn_wraps_up_at_any_percentage() {
    let turns = |used| level(LimitKind::Turns, used, 50);
    assert_eq!([34, 35, 45, 48, 49, 50].map(turns), [0, 70, 90, 90, 95, 100]);
    assert_eq!([2, 3, 4].map(|used| level(LimitKind::Turns, used, 4)), [0, 0, 100]);
    assert_eq!([7, 9, 10, 12].map(|used| level(LimitKind::ToolCalls, used, 10)), [70, 90, 95, 95]);
}

#[test]
fn extension_raises_only_existing_limits() {
    let limits = BudgetLimits::none().with_tokens(10).with_duration(Duration::from_secs(1));
    let more = BudgetLimits::none().with_tokens(5).with_turns(3);
    assert_eq!(
        limits.extended_by(&more),
        BudgetLimits::none().with_tokens(15).with_duration(Duration::from_secs(1))
    );
    assert_eq!(more.plus(&more), BudgetLimits::none().with_tokens(10).with_turns(6));
    assert_eq!(BudgetLimits::none().plus(&more), more);
    for kind in LimitKind::ALL {
        assert_eq!(BudgetLimits::of(kind, 7).cap(kind), Some(7));
    }
}

#[test]
fn execution_limits_without_a_limit_limit_nothing_and_survive_json() {
    let none = ExecutionLimits::none();
    assert!(BudgetLimits::from(&none).is_none());
    let json = serde_json::to_value(&none).unwrap();
    assert_eq!(serde_json::from_value::<ExecutionLimits>(json).unwrap(), none);
    let numbers = serde_json::json!({ "max_turns": 3, "max_duration": { "secs": 60, "nanos": 0 } });
    let read: ExecutionLimits = serde_json::from_value(numbers).unwrap();
    assert_eq!((read.max_turns, read.max_duration), (Some(3), Some(Duration::from_secs(60))));
}

#[test]
fn days_format_as_dates_and_start_at_local_midnight() {
    let at = |text: &str| Timestamp::from_millis(text.parse::<u64>().unwrap());
    assert_eq!(DayStart::UTC.day(at("0")).to_string(), "1970-01-01");
    // 2024-02-29T23:30:00Z
    let leap = at("1709249400000");
    assert_eq!(DayStart::UTC.day(leap).to_string(), "2024-02-29");
    assert_eq!(DayStart::minutes_ahead(60).day(leap).to_string(), "2024-03-01");
    assert_eq!(DayStart::minutes_ahead(-60).day(at("0")).to_string(), "1970-01-01");
}

fn record(at: u64, event: AgentEvent) -> EventRecord {
    EventRecord {
        v: FORMAT_VERSION,
        seq: 0,
        id: EventId::default(),
        timestamp: Timestamp::from_millis(at),
        loop_id: Some("s.c.0".into()),
        event,
    }
}

fn reply(model: &str, usage: Usage) -> AgentEvent {
    let message = Message::Assistant(AssistantMessage {
        content: Vec::new(),
        stop_reason: StopReason::Stop,
        model: model.into(),
        provider: "p".into(),
        requested_model: None,
        usage,
        timestamp: Timestamp::default(),
        error_message: None,
    });
    let message =
        Arc::new(AgentMessage::Llm(LlmMessage { id: MessageId::default(), turn_id: None, message }));
    AgentEvent::MessageEnd { message: RecordedMessage::Full(message) }
}

fn tool(at: u64, name: &str, ends: bool) -> EventRecord {
    let (tool_call_id, tool_name) = (name.into(), name.to_owned());
    record(
        at,
        if ends {
            let message = crate::event::MessageRef::unresolved(MessageId::default());
            let (details, is_error, child_loop_id) = (serde_json::Value::Null, false, None);
            AgentEvent::ToolExecutionEnd {
                tool_call_id,
                tool_name,
                message,
                details,
                is_error,
                child_loop_id,
            }
        } else {
            AgentEvent::ToolExecutionStart { tool_call_id, tool_name, args: Default::default() }
        },
    )
}

#[test]
fn ledger_lists_every_source_and_sums_to_the_total() {
    let cost = |tokens, nanos| Usage { cost: Cost::from_nano_usd(nanos), ..Usage::new(tokens, 1) };
    let events = [
        record(1_000, reply("big", cost(100, 7))),
        tool(2_000, "bash", false),
        tool(5_000, "bash", true),
        record(6_000, reply("small", cost(10, 1))),
        record(7_000, reply("big", cost(200, 9))),
        record(
            7_500,
            AgentEvent::CompactionRefused {
                cause: crate::event::CompactionCause::Threshold,
                reason: "no".into(),
                usage: cost(5, 2),
            },
        ),
        record(
            8_000,
            AgentEvent::SubAgentCompleted {
                tool_call_id: "x".into(),
                child_loop_id: "kid.c.0".into(),
                outcome: crate::event::RunOutcome::Completed,
                usage: cost(1_000, 50),
            },
        ),
        record(
            9_000,
            AgentEvent::ParallelLoopEnd {
                session_id: "s".into(),
                selected_loop_id: "s.c.0".into(),
                selected_config_index: 0,
                evaluation_usage: cost(30, 3),
            },
        ),
    ];
    let mut ledger = Ledger::default();
    events.iter().for_each(|event| ledger.apply(event));
    let names: Vec<String> = ledger.sources().map(|(source, _)| source.to_string()).collect();
    assert_eq!(names, ["model big", "model small", "tool bash", "sub-agents", "compaction", "judge"]);
    let mut sum = Usage::default();
    ledger.sources().for_each(|(_, entry)| sum += entry.usage);
    assert_eq!((&sum, sum.cost.as_nano_usd()), (ledger.usage(), 72));
    let big = ledger.of(&Source::Model("big".into()));
    assert_eq!((big.calls, big.usage.total()), (2, 302));
    assert_eq!(ledger.of(&Source::Tool("bash".into())).busy, Duration::from_secs(3));
    let spent = ledger.spent();
    assert_eq!((spent.turns, spent.tool_calls, spent.duration), (3, 1, Duration::from_secs(8)));
    let json = serde_json::to_string(&ledger).unwrap();
    assert_eq!(serde_json::from_str::<Ledger>(&json).unwrap(), ledger);
}
