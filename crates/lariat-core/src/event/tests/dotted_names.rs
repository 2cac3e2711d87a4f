//! Tests of the dotted event names.

use super::*;

/// Every name of the naming scheme.
const NAMES: [&str; 22] = [
    "iteration.before",
    "llm.start",
    "llm.complete",
    "tool.start",
    "insight.tool",
    "tool.complete",
    "insight.tokens",
    "iteration.after",
    "agent.spawn",
    "agent.complete",
    "insight.context",
    "compaction.warning",
    "compaction.auto",
    "resilience.retry",
    "resilience.recovered",
    "error",
    "plan.change.queued",
    "approval.required",
    "tool.blocked",
    "mode.changed",
    "task.start",
    "task.complete",
];

/// Returns one event of each kind, and the variants that a name depends on.
fn named_events() -> Vec<AgentEvent> {
    let mut events = samples();
    events.push(AgentEvent::MessageStart { message: MessageRef::resolved(assistant(2, Vec::new())) });
    events.push(AgentEvent::AgentEnd {
        messages: Vec::new(),
        usage: Usage::default(),
        outcome: RunOutcome::Failed { error: "no".into() },
        rejection: None,
    });
    events.push(AgentEvent::TasksChanged {
        tool_call_id: "call".into(),
        tasks: vec![Task::new("read", "in_progress")],
        started: vec!["read".into()],
        completed: Vec::new(),
    });
    let auto = |cause| AgentEvent::Compaction {
        cause,
        edits: Arc::default(),
        tokens_before: 2,
        tokens_after: 1,
        usage: Usage::default(),
    };
    events.extend([auto(CompactionCause::Threshold), auto(CompactionCause::Overflow)]);
    events
}

#[test]
fn every_dotted_name_has_an_event_or_a_reason() {
    let listed: Vec<&str> = SEED_NAMES.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, NAMES);
    for (name, how) in SEED_NAMES {
        let kinds: BTreeSet<String> = named_events()
            .into_iter()
            .filter(|event| seed_name(event) == Some(name))
            .map(|event| to_json(&record(event))["type"].as_str().unwrap().to_owned())
            .collect();
        match how {
            DottedNameSource::Event(kind) => {
                assert!(kinds.contains(*kind), "{name} has no event of kind {kind}: {kinds:?}")
            }
            DottedNameSource::Elsewhere(reason) => {
                assert_eq!(kinds, BTreeSet::new(), "{name} has an event");
                assert!(reason.len() > 20, "{name}: {reason}");
            }
        }
    }
}

#[test]
fn events_map_only_to_matching_dotted_names() {
    for event in named_events() {
        if let Some(name) = seed_name(&event) {
            assert!(NAMES.contains(&name), "{name}");
        }
    }
    let of_a_user = AgentEvent::MessageEnd { message: RecordedMessage::Full(user(1, "hi")) };
    assert_eq!(seed_name(&of_a_user), None);
    let of_a_model =
        AgentEvent::MessageEnd { message: RecordedMessage::Full(assistant(2, vec!["hi".into()])) };
    assert_eq!(seed_name(&of_a_model), Some("llm.complete"));
    let manual = AgentEvent::Compaction {
        cause: CompactionCause::Manual,
        edits: Arc::default(),
        tokens_before: 2,
        tokens_after: 1,
        usage: Usage::default(),
    };
    assert_eq!(seed_name(&manual), None);
}
