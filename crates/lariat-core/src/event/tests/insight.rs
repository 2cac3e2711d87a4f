//! Tests of the figures that are computed from events.

use super::*;

fn at(millis: u64, event: AgentEvent) -> EventRecord {
    EventRecord { timestamp: Timestamp::from_millis(AT.as_millis() + millis), ..record(event) }
}

fn turn_with_a_tool() -> Vec<EventRecord> {
    let mut start = LoopStart::new("agent".into(), "s".into(), "s.c.1".into());
    start.config =
        Some(Arc::new(LoopConfigSnapshot { context_window: 1_000, ..LoopConfigSnapshot::default() }));
    let result = tool_result(3, "call", "out\u{e4}");
    vec![
        at(0, AgentEvent::AgentStart(Box::new(start))),
        at(1, AgentEvent::TurnStart { turn_index: 4, triggered_by: TurnTrigger::User }),
        at(
            10,
            AgentEvent::ToolExecutionStart {
                tool_call_id: "call".into(),
                tool_name: "read".into(),
                args: ArgsRef::default(),
            },
        ),
        at(
            260,
            AgentEvent::ToolExecutionEnd {
                tool_call_id: "call".into(),
                tool_name: "read".into(),
                message: MessageRef::unresolved(message_id(3)),
                details: Value::Null,
                is_error: false,
                child_loop_id: None,
            },
        ),
        at(261, AgentEvent::MessageEnd { message: RecordedMessage::Full(result) }),
        at(
            262,
            AgentEvent::TurnEnd {
                message: MessageRef::unresolved(message_id(2)),
                usage: Usage { cache_read: 100, cache_write: 7, ..Usage::new(20, 3) },
                tool_results: vec![MessageRef::unresolved(message_id(3))],
            },
        ),
    ]
}

#[test]
fn turn_gives_tool_tokens_and_context_in_this_order() {
    let mut fold = InsightFold::default();
    let insights: Vec<Insight> = turn_with_a_tool().iter().flat_map(|record| fold.apply(record)).collect();
    let names: Vec<&str> = insights.iter().map(Insight::name).collect();
    assert_eq!(names, ["insight.tool", "insight.tokens", "insight.context"]);
    for insight in &insights {
        let json = serde_json::to_value(insight).unwrap();
        assert_eq!(json["name"], insight.name());
    }
    let Insight::Tool { duration_ms, bytes, is_error, .. } = &insights[0] else { panic!() };
    assert_eq!((*duration_ms, *bytes, *is_error), (250, 5, false), "bytes, not characters");
    let Insight::Tokens { turn_index, usage } = &insights[1] else { panic!() };
    assert_eq!((*turn_index, usage.output, usage.cache_read), (4, 3, 100));
    assert_eq!(insights[2], Insight::Context { turn_index: 4, used: 130, window: 1_000 });
}

#[test]
fn tool_call_that_did_not_run_gives_no_figures() {
    let mut fold = InsightFold::default();
    let events = turn_with_a_tool();
    let unrun = events.iter().filter(|record| !matches!(record.event, AgentEvent::ToolExecutionStart { .. }));
    let names: Vec<&str> =
        unrun.flat_map(|record| fold.apply(record)).map(|insight| insight.name()).collect();
    assert_eq!(names, ["insight.tokens", "insight.context"]);
}
