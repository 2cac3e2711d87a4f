//! Tests of attaching messages to the events of a journal that was read.

use super::*;
use crate::id::LoopId;

/// Returns a loop of one turn with a tool call and a delivered queued message, as events that went through
/// JSON.
fn journal_from_json() -> Vec<Event> {
    let call = Content::tool_call("call", "read", json!({"path": "a"}));
    let events = vec![
        AgentEvent::AgentStart(Box::new(LoopStart::new("agent".into(), "s".into(), "s.c.1".into()))),
        AgentEvent::MessageQueued { queue: QueueKind::Steering, message: user(1, "hi") },
        AgentEvent::TurnStart { turn_index: 0, triggered_by: TurnTrigger::User },
        AgentEvent::MessageEnd { message: RecordedMessage::Earlier(MessageRef::unresolved(message_id(1))) },
        AgentEvent::MessageEnd { message: RecordedMessage::Full(assistant(2, vec![call])) },
        AgentEvent::ToolExecutionStart {
            tool_call_id: "call".into(),
            tool_name: "read".into(),
            args: ArgsRef::Unresolved,
        },
        AgentEvent::ToolExecutionEnd {
            tool_call_id: "call".into(),
            tool_name: "read".into(),
            message: MessageRef::unresolved(message_id(3)),
            details: Value::Null,
            is_error: false,
            child_loop_id: None,
        },
        AgentEvent::MessageEnd { message: RecordedMessage::Full(tool_result(3, "call", "out")) },
        AgentEvent::TurnEnd {
            message: MessageRef::unresolved(message_id(2)),
            usage: Usage::default(),
            tool_results: vec![MessageRef::unresolved(message_id(3))],
        },
        AgentEvent::AgentEnd {
            messages: [1, 2, 3].map(|n| MessageRef::unresolved(message_id(n))).to_vec(),
            usage: Usage::default(),
            outcome: RunOutcome::Completed,
            rejection: None,
        },
    ];
    let through_json = |event| Arc::new(from_json(&to_json(&record(event))).unwrap());
    events.into_iter().map(through_json).collect()
}

#[test]
fn resolver_attaches_messages_and_arguments() {
    let mut resolver = Resolver::new();
    let resolved: Vec<Event> = journal_from_json().iter().map(|event| resolver.resolve(event)).collect();
    let text = |reference: &MessageRef| reference.get().and_then(|m| m.as_llm()).map(Message::text);
    let mut seen = 0;
    for event in &resolved {
        match &event.event {
            AgentEvent::MessageEnd { message: RecordedMessage::Earlier(message) } => {
                assert_eq!(text(message).as_deref(), Some("hi"));
            }
            AgentEvent::ToolExecutionStart { args, .. } => {
                assert_eq!(args.get(), Some(&json!({"path": "a"})))
            }
            AgentEvent::TurnEnd { message, tool_results, .. } => {
                assert!(message.get().unwrap().as_assistant().is_some());
                assert_eq!(text(&tool_results[0]).as_deref(), Some("out"));
            }
            AgentEvent::AgentEnd { messages, .. } => assert!(messages.iter().all(|m| m.get().is_some())),
            _ => continue,
        }
        seen += 1;
    }
    assert_eq!(seen, 4);
    // Attaching changes what observers see, not what is serialised.
    for (read, resolved) in journal_from_json().iter().zip(&resolved) {
        assert_eq!(to_json(read), to_json(resolved));
    }
}

#[test]
fn resolver_keeps_a_queued_message_for_a_later_loop() {
    let mut resolver = Resolver::new();
    let of = |loop_id: &str, event| {
        let mut record = record(event);
        record.loop_id = Some(LoopId::from(loop_id));
        Arc::new(record)
    };
    let end = AgentEvent::AgentEnd {
        messages: Vec::new(),
        usage: Usage::default(),
        outcome: RunOutcome::Aborted,
        rejection: None,
    };
    resolver.resolve(&of(
        "s.c.0",
        AgentEvent::MessageQueued { queue: QueueKind::FollowUp, message: user(1, "later") },
    ));
    resolver.resolve(&of("s.c.0", end));
    let earlier = RecordedMessage::Earlier(MessageRef::unresolved(message_id(1)));
    let taken_up = resolver.resolve(&of("s.c.1", AgentEvent::MessageEnd { message: earlier }));
    let AgentEvent::MessageEnd { message } = &taken_up.event else { panic!("unexpected event") };
    assert_eq!(message.shared().map(|m| m.id()), Some(message_id(1)));
}
