//! Tests of conversations and records computed from hand-written journals.

mod branches;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::budget::{BudgetLimits, BudgetScope};
use crate::content::Content;
use crate::event::{
    AgentEvent, CompactionCause, CompactionEdit, ContinuationKind, Event, EventRecord, FORMAT_VERSION,
    Import, LoopStart, MessageRef, QueueKind, RecordedMessage, RunOutcome, SpawnRef,
};
use crate::id::{EventId, LoopId, MessageId};
use crate::message::{
    AgentMessage, AssistantMessage, LlmMessage, Message, SharedMessage, StopReason, ToolResultMessage,
    UserMessage,
};
use crate::model::{PromptSection, SectionStability};
use crate::permission::{PermissionDecision, PermissionRequest};
use crate::time::Timestamp;
use crate::transcript::{RepairKind, Transcript};
use crate::usage::Usage;

fn id(n: u128) -> MessageId {
    MessageId::new(uuid::Uuid::from_u128(n))
}

fn shared(n: u128, message: Message) -> SharedMessage {
    Arc::new(AgentMessage::Llm(LlmMessage { id: id(n), turn_id: None, message }))
}

fn user(n: u128) -> SharedMessage {
    let content = vec![format!("words {n}").into()];
    shared(n, Message::User(UserMessage::new(content)))
}

fn reply(n: u128, calls: &[&str]) -> SharedMessage {
    let mut content = vec![Content::text(format!("reply {n}"))];
    content.extend(calls.iter().map(|call| Content::tool_call(*call, "read", json!({}))));
    shared(
        n,
        Message::Assistant(AssistantMessage {
            content,
            stop_reason: if calls.is_empty() { StopReason::Stop } else { StopReason::ToolUse },
            model: "m".into(),
            provider: "p".into(),
            requested_model: None,
            usage: Usage::new(10, 1),
            timestamp: Timestamp::default(),
            error_message: None,
        }),
    )
}

fn result(n: u128, call: &str) -> SharedMessage {
    shared(
        n,
        Message::ToolResult(ToolResultMessage {
            tool_call_id: call.into(),
            tool_name: "read".into(),
            content: vec![format!("output {n}").into()],
            is_error: false,
            timestamp: Timestamp::default(),
        }),
    )
}

/// A journal that is built by hand and read back from JSON.
#[derive(Default)]
struct Journal {
    events: Vec<Event>,
    now: u64,
}

impl Journal {
    fn add(&mut self, loop_id: Option<&str>, event: AgentEvent) -> &mut Self {
        self.now += 1_000;
        let record = EventRecord {
            v: FORMAT_VERSION,
            seq: self.events.len() as u64,
            id: EventId::default(),
            timestamp: Timestamp::from_millis(self.now),
            loop_id: loop_id.map(LoopId::from),
            event,
        };
        let json = serde_json::to_vec(&record).unwrap();
        self.events.push(Arc::new(EventRecord::from_json(&json).unwrap()));
        self
    }

    fn start(&mut self, loop_id: &str, base: Option<u128>) -> &mut Self {
        self.start_with(loop_id, |start| start.base = base.map(id))
    }

    fn start_with(&mut self, loop_id: &str, change: impl FnOnce(&mut LoopStart)) -> &mut Self {
        let mut start = LoopStart::new("agent".into(), "s".into(), loop_id.into());
        change(&mut start);
        self.add(Some(loop_id), AgentEvent::AgentStart(Box::new(start)))
    }

    fn message(&mut self, loop_id: &str, message: SharedMessage) -> &mut Self {
        self.add(Some(loop_id), AgentEvent::MessageEnd { message: RecordedMessage::Full(message) })
    }

    fn queued(&mut self, loop_id: &str, queue: QueueKind, message: SharedMessage) -> &mut Self {
        self.add(Some(loop_id), AgentEvent::MessageQueued { queue, message })
    }

    fn injected(&mut self, loop_id: &str, message: u128) -> &mut Self {
        let message = RecordedMessage::Earlier(MessageRef::unresolved(id(message)));
        self.add(Some(loop_id), AgentEvent::MessageEnd { message })
    }

    fn end(&mut self, loop_id: &str, outcome: RunOutcome) -> &mut Self {
        let end = AgentEvent::AgentEnd {
            messages: Vec::new(),
            usage: Usage::new(100, 10),
            outcome,
            rejection: None,
        };
        self.add(Some(loop_id), end)
    }

    fn fold(&self) -> SessionFold {
        SessionFold::of(&self.events)
    }

    fn session(&self) -> Session {
        Session::of(&self.events).unwrap()
    }
}

fn numbers(transcript: &Transcript) -> Vec<u128> {
    transcript.window().iter().map(|message| message.id().uuid().as_u128()).collect()
}

/// Returns the message numbers of a conversation that needs no repair.
fn conversation(fold: &SessionFold, tip: Option<u128>) -> Vec<u128> {
    let (transcript, repairs) = fold.conversation(tip.map(id));
    assert_eq!(repairs, []);
    numbers(&transcript)
}

/// Loop 0: 1 → 2. Loop 1 after it: 3 → 4 (calls a, b), results 6 and 5 in completion order, 7.
fn two_loops() -> Journal {
    let mut journal = Journal::default();
    journal.start("s.c.0", None).message("s.c.0", user(1)).message("s.c.0", reply(2, &[]));
    journal.end("s.c.0", RunOutcome::Completed);
    journal.start("s.c.1", Some(2)).message("s.c.1", user(3)).message("s.c.1", reply(4, &["a", "b"]));
    journal.message("s.c.1", result(6, "b")).message("s.c.1", result(5, "a")).message("s.c.1", reply(7, &[]));
    journal.end("s.c.1", RunOutcome::Completed);
    journal
}

#[test]
fn conversation_includes_the_loops_before_its_base() {
    let fold = two_loops().fold();
    assert_eq!(fold.tip(), Some(id(7)));
    assert_eq!(conversation(&fold, Some(7)), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(conversation(&fold, Some(2)), [1, 2]);
    assert_eq!(conversation(&fold, Some(3)), [1, 2, 3]);
    assert_eq!(conversation(&fold, None), [] as [u128; 0]);
    assert_eq!(conversation(&fold, Some(42)), [] as [u128; 0]);
}

#[test]
fn conversation_never_splits_an_exchange() {
    let fold = two_loops().fold();
    for tip in [4, 5, 6] {
        assert_eq!(conversation(&fold, Some(tip)), [1, 2, 3, 4, 5, 6]);
    }
}

#[test]
fn branch_does_not_include_its_sibling() {
    let mut journal = two_loops();
    journal.start("s.d.0", Some(1)).message("s.d.0", reply(8, &[]));
    let fold = journal.fold();
    assert_eq!(fold.tip(), Some(id(8)));
    assert_eq!(conversation(&fold, Some(8)), [1, 8]);
    assert_eq!(conversation(&fold, Some(7)), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn loop_based_on_a_tool_result_has_all_results() {
    let mut journal = two_loops();
    // In call order the last result is 6, in the journal it is 5.
    journal.start("s.c.2", Some(6)).message("s.c.2", user(8));
    assert_eq!(conversation(&journal.fold(), Some(8)), [1, 2, 3, 4, 5, 6, 8]);
}

#[test]
fn imported_messages_can_be_a_base() {
    let mut journal = Journal::default();
    journal.add(None, AgentEvent::MessagesImported { base: None, messages: vec![user(1), reply(2, &[])] });
    journal.start("s.c.0", Some(2)).message("s.c.0", user(3)).message("s.c.0", reply(4, &[]));
    journal.add(None, AgentEvent::MessagesImported { base: Some(id(3)), messages: vec![reply(5, &[])] });
    let fold = journal.fold();
    assert_eq!(conversation(&fold, Some(4)), [1, 2, 3, 4]);
    assert_eq!(conversation(&fold, Some(5)), [1, 2, 3, 5]);
    assert_eq!(fold.tip(), Some(id(5)));
    assert_eq!(fold.loops().count(), 1);
}

#[test]
fn interrupted_exchange_is_repaired_and_reported() {
    let mut journal = Journal::default();
    journal.start("s.c.0", None).message("s.c.0", user(1)).message("s.c.0", reply(2, &["a", "b"]));
    journal.message("s.c.0", result(3, "b"));
    let (transcript, repairs) = journal.fold().conversation(Some(id(3)));
    assert_eq!(repairs.iter().map(|repair| repair.kind).collect::<Vec<_>>(), [RepairKind::MissingResult]);
    assert_eq!(transcript.len(), 4);
    assert_eq!(
        journal.fold().open_loops().map(|start| start.loop_id.as_str()).collect::<Vec<_>>(),
        ["s.c.0"]
    );
}

#[test]
fn rewinding_to_a_failed_reply_of_a_snapshot_leaves_out_what_followed_it() {
    let start = LoopStart::new("agent".into(), "s".into(), "s.c.1".into());
    let snapshot = fold::FoldStart {
        memory: &SessionMemory::default(),
        at: 0,
        last_loop: Some(start),
        is_open: true,
        conversation: &[user(1)],
        tip: Some(id(2)),
    };
    let mut journal = Journal::default();
    journal.message("s.c.1", reply(3, &[])).end("s.c.1", RunOutcome::Completed);
    let fold = SessionFold::from_start(snapshot, std::iter::empty()).then(&journal.events);
    assert_eq!((fold.tip(), conversation(&fold, Some(3))), (Some(id(3)), vec![1, 3]));
    journal.add(None, AgentEvent::Rewound { tip: Some(id(2)) });
    let fold = fold.then(&journal.events[2..]);
    assert!(!fold.lacks_history());
    assert_eq!((fold.tip(), conversation(&fold, Some(2))), (Some(id(2)), vec![1]));
}

#[test]
fn removed_message_is_in_no_conversation() {
    let mut journal = two_loops();
    journal.add(None, AgentEvent::MessageRemoved { message_id: id(2) });
    assert_eq!(conversation(&journal.fold(), Some(7)), [1, 3, 4, 5, 6, 7]);
    journal.add(None, AgentEvent::MessageRemoved { message_id: id(4) });
    let (transcript, repairs) = journal.fold().conversation(Some(id(7)));
    assert_eq!(numbers(&transcript), [1, 3, 7]);
    assert!(repairs.iter().all(|repair| repair.kind == RepairKind::OrphanResult) && repairs.len() == 2);
}

/// Replaces messages 1 to `last` with message 20.
fn compaction(last: u128) -> AgentEvent {
    AgentEvent::Compaction {
        cause: CompactionCause::Threshold,
        edits: Arc::new(vec![CompactionEdit::Summarise { first: id(1), last: id(last), summary: user(20) }]),
        tokens_before: 10,
        tokens_after: 1,
        usage: Usage::default(),
    }
}

#[test]
fn compaction_of_a_loop_without_messages_applies_at_its_base() {
    let mut journal = two_loops();
    journal.start("s.c.2", Some(7)).add(Some("s.c.2"), compaction(2));
    assert_eq!(conversation(&journal.fold(), Some(7)), [20, 3, 4, 5, 6, 7]);
    journal.message("s.c.2", user(8));
    assert_eq!(conversation(&journal.fold(), Some(7)), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(conversation(&journal.fold(), Some(8)), [20, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn compaction_applies_from_the_message_before_it() {
    let mut journal = two_loops();
    journal.start("s.c.2", Some(7)).message("s.c.2", user(8));
    journal.add(Some("s.c.2"), compaction(7));
    journal.message("s.c.2", reply(9, &[]));
    let fold = journal.fold();
    assert_eq!(conversation(&fold, Some(9)), [20, 8, 9]);
    assert_eq!(conversation(&fold, Some(8)), [20, 8]);
    assert_eq!(conversation(&fold, Some(7)), [1, 2, 3, 4, 5, 6, 7]);
    journal.start("s.c.3", Some(9)).message("s.c.3", user(10));
    assert_eq!(conversation(&journal.fold(), Some(10)), [20, 8, 9, 10]);
}

#[test]
fn cyclic_base_terminates() {
    let mut journal = Journal::default();
    journal.start("s.c.0", Some(2)).message("s.c.0", user(1));
    journal.start("s.c.1", Some(1)).message("s.c.1", user(2));
    assert_eq!(conversation(&journal.fold(), Some(2)), [1, 2]);
}

#[test]
fn undelivered_messages_stay_queued_in_order() {
    let mut journal = Journal::default();
    journal.start("s.c.0", None).message("s.c.0", user(1));
    journal.queued("s.c.0", QueueKind::FollowUp, user(2)).queued("s.c.0", QueueKind::Steering, user(3));
    journal.queued("s.c.0", QueueKind::Steering, user(4)).injected("s.c.0", 3);
    journal.end("s.c.0", RunOutcome::Aborted);
    let left = |journal: &Journal| -> Vec<(QueueKind, MessageId)> {
        journal.fold().queued_messages().map(|(queue, message)| (queue, message.id())).collect()
    };
    assert_eq!(left(&journal), [(QueueKind::FollowUp, id(2)), (QueueKind::Steering, id(4))]);
    assert_eq!(conversation(&journal.fold(), Some(3)), [1, 3]);
    // A later loop delivers one of them: only the earlier loop contains its content.
    journal.start("s.c.1", Some(3)).injected("s.c.1", 4);
    assert_eq!(left(&journal), [(QueueKind::FollowUp, id(2))]);
    assert_eq!(conversation(&journal.fold(), Some(4)), [1, 3, 4]);
}

#[test]
fn journal_without_a_loop_has_no_session() {
    let mut journal = Journal::default();
    assert!(Session::of(&journal.events).is_none());
    journal.add(None, AgentEvent::MessagesImported { base: None, messages: vec![user(1)] });
    assert!(Session::of(&journal.events).is_none());
}

#[test]
fn session_has_a_record_per_loop() {
    let mut journal = two_loops();
    journal.start_with("s.c.2", |start| {
        start.parent_loop_id = Some("s.c.1".into());
        start.continuation_kind = Some(ContinuationKind::Default);
        start.metadata = Some(json!({"k": 1}));
    });
    journal.message("s.c.2", user(8)).message("s.c.2", reply(9, &[]));
    let session = journal.session();
    assert_eq!((session.session_id.as_str(), session.agent_id.as_str()), ("s", "agent"));
    assert_eq!(session.created_at, Timestamp::from_millis(1_000));
    assert_eq!(session.last_active_at, Timestamp::from_millis(journal.now));
    let statuses: Vec<LoopStatus> = session.loops.iter().map(|record| record.status).collect();
    assert_eq!(statuses, [LoopStatus::Completed, LoopStatus::Completed, LoopStatus::Running]);

    let first = &session.loops[0];
    assert_eq!(first.messages.iter().map(|message| message.id()).collect::<Vec<_>>(), [1, 2].map(id));
    assert_eq!(first.ended_at, Some(Timestamp::from_millis(4_000)));
    assert_eq!(first.usage, Usage::new(100, 10), "the usage of AgentEnd wins");
    assert_eq!(first.events.len(), 4);
    let last = &session.loops[2];
    assert_eq!(last.usage, Usage::new(10, 1), "before the end it is the sum of the replies");
    assert_eq!((last.ended_at, last.metadata.clone()), (None, Some(json!({"k": 1}))));
    assert_eq!(session.total_usage(), Usage::new(210, 21));
}

#[test]
fn roots_and_children_follow_parent_ids() {
    let mut journal = Journal::default();
    journal.start("s.c.0", None);
    journal.start_with("s.c.1", |start| start.parent_loop_id = Some("s.c.0".into()));
    journal.start_with("s.c.2", |start| start.parent_loop_id = Some("s.c.0".into()));
    journal.start_with("s.c.3", |start| start.parent_loop_id = Some("other.c.0".into()));
    let session = journal.session();
    let ids = |loops: Vec<&LoopRecord>| -> Vec<String> {
        loops.iter().map(|record| record.loop_id.to_string()).collect()
    };
    assert_eq!(
        ids(session.root_loops().collect()),
        ["s.c.0", "s.c.3"],
        "a loop with a parent in another session is a root"
    );
    assert_eq!(ids(session.children_of(&"s.c.0".into()).collect()), ["s.c.1", "s.c.2"]);
    assert_eq!(session.loops[0].children_loop_ids, ["s.c.1".into(), "s.c.2".into()]);
    assert!(session.get_loop(&"s.c.9".into()).is_none());
}

#[test]
fn branches_record_siblings_and_selection() {
    let mut journal = Journal::default();
    let loop_ids: Vec<LoopId> = vec!["s.a.0".into(), "s.b.0".into(), "s.c.0".into()];
    let (session_id, prompts) = ("s".into(), Vec::new());
    journal.add(None, AgentEvent::ParallelLoopStart { session_id, loop_ids: loop_ids.clone(), prompts });
    for loop_id in &loop_ids {
        journal.start(loop_id.as_str(), None);
    }
    // Interleaved: each message belongs to the loop in its envelope.
    journal.message("s.b.0", user(2)).message("s.a.0", user(1));
    assert!(journal.session().parallel_siblings(&"s.a.0".into()).is_empty(), "not decided yet");
    let end = AgentEvent::ParallelLoopEnd {
        session_id: "s".into(),
        selected_loop_id: "s.b.0".into(),
        selected_config_index: 1,
        evaluation_usage: Usage::new(5, 5),
    };
    journal.add(None, end);
    let session = journal.session();
    let siblings: Vec<&str> =
        session.parallel_siblings(&"s.b.0".into()).iter().map(|record| record.loop_id.as_str()).collect();
    assert_eq!(siblings, ["s.a.0", "s.c.0"]);
    let selected: Vec<bool> = session
        .loops
        .iter()
        .map(|record| record.parallel_group.as_ref().is_some_and(|group| group.is_selected))
        .collect();
    assert_eq!(selected, [false, true, false]);
    assert_eq!(session.loops[0].messages[0].id(), id(1));
    assert_eq!(session.loops[0].parallel_group.as_ref().unwrap().all_loop_ids, loop_ids);
}

#[test]
fn sub_agents_are_linked_in_both_directions() {
    let mut journal = Journal::default();
    let parent = SpawnRef {
        parent_session_id: "p".into(),
        parent_loop_id: "p.c.0".into(),
        tool_call_id: "x".into(),
        tool_name: "task".into(),
    };
    journal.start_with("s.c.0", |start| start.spawned_by = Some(parent.clone()));
    journal.add(
        Some("s.c.0"),
        AgentEvent::SubAgentSpawned {
            tool_call_id: "a".into(),
            child_loop_id: "kid.c.0".into(),
            child_session_id: "kid".into(),
            task: "look".into(),
            report: None,
        },
    );
    for (call, child) in [("a", "kid.c.0"), ("b", "other.c.5.0")] {
        journal.add(
            Some("s.c.0"),
            AgentEvent::ToolExecutionEnd {
                tool_call_id: call.into(),
                tool_name: "task".into(),
                message: MessageRef::unresolved(id(1)),
                details: Value::Null,
                is_error: false,
                child_loop_id: Some(child.into()),
            },
        );
    }
    let session = journal.session();
    assert_eq!(session.parent_spawn_ref, Some(parent));
    let links: Vec<(&str, &str, &str)> = session.loops[0]
        .child_loop_refs
        .iter()
        .map(|link| (link.tool_call_id.as_str(), link.tool_name.as_str(), link.child_session_id.as_str()))
        .collect();
    assert_eq!(links, [("a", "task", "kid"), ("b", "task", "other")]);
}

#[test]
fn every_outcome_has_a_status() {
    use crate::event::LimitKind;
    let statuses = [
        (RunOutcome::Completed, LoopStatus::Completed),
        (RunOutcome::Rejected, LoopStatus::Rejected),
        (RunOutcome::Aborted, LoopStatus::Aborted),
        (RunOutcome::StoppedByHook, LoopStatus::Aborted),
        (RunOutcome::LimitReached { limit: LimitKind::Turns, scope: BudgetScope::Run }, LoopStatus::Limited),
        (RunOutcome::Repetition, LoopStatus::Limited),
        (RunOutcome::Failed { error: "x".into() }, LoopStatus::Failed),
    ];
    for (outcome, status) in statuses {
        let mut journal = Journal::default();
        journal.start("s.c.0", None).end("s.c.0", outcome);
        assert_eq!(journal.session().loops[0].status, status);
    }
}

#[test]
fn session_record_round_trips_through_json() {
    let session = two_loops().session();
    let json = serde_json::to_string(&session).unwrap();
    assert_eq!(serde_json::from_str::<Session>(&json).unwrap(), session);
}

/// Adds every kind of decision of a user or a policy once.
fn decide(journal: &mut Journal) {
    let call = crate::content::ToolCall {
        id: "a".into(),
        name: "read".into(),
        arguments: json!({}),
        signature: None,
    };
    let request = PermissionRequest::new(&call, "read").with_remember("Read");
    let (request_id, tool_call_id) = (request.id, call.id.clone());
    let limits = BudgetLimits { tokens: Some(5), ..BudgetLimits::none() };
    journal.add(None, AgentEvent::MessageEnd { message: RecordedMessage::Full(reply(1, &["a"])) });
    journal.add(None, AgentEvent::PermissionRequired { request: Arc::new(request) });
    let decision = PermissionDecision::AllowSession;
    journal.add(None, AgentEvent::PermissionDecided { request_id, tool_call_id, decision });
    let (tool_name, summary) = ("read".to_owned(), "harmless".to_owned());
    journal.add(None, AgentEvent::PlanChangeQueued { tool_call_id: "a".into(), tool_name, summary });
    journal.add(None, AgentEvent::PlanDecided { approved: vec!["a".into()], rejected: Vec::new() });
    journal.add(None, AgentEvent::BudgetExtended { scope: BudgetScope::Session, limits, by: "user".into() });
    let sections = [PromptSection::new("system", SectionStability::Static, "obey")].into();
    journal.add(None, AgentEvent::PromptAssembled { sections });
}

fn is_undecided(memory: &SessionMemory) -> bool {
    memory.answers().is_empty()
        && memory.plan().is_empty()
        && memory.prompt().is_none()
        && *memory.budget().more() == BudgetLimits::none()
}

/// Decisions from before this machine took the session over do not apply.
#[test]
fn decisions_of_an_import_do_not_apply() {
    let import = |id: &str| AgentEvent::SessionImported(Box::new(Import::new(id, "lariat", "s".into())));
    let taken = |id: &str| AgentEvent::SessionTakenOver { import_id: id.to_owned() };
    let mut own = Journal::default();
    decide(&mut own);
    let memory = SessionFold::of(&own.events).memory().clone();
    assert!(memory.session_import().is_none() && memory.answers().len() == 1 && memory.plan().len() == 1);
    assert!(memory.prompt().is_some() && memory.budget().more().tokens == Some(5));

    let mut journal = Journal::default();
    journal.add(None, import("outer"));
    decide(&mut journal);
    // A nested import that claims to have been taken over.
    journal.add(None, import("inner")).add(None, taken("inner"));
    decide(&mut journal);
    let fold = SessionFold::of(&journal.events);
    assert!(is_undecided(fold.memory()), "{:?}", fold.memory());
    assert_eq!(fold.memory().pending_import().map(|import| import.import_id.as_str()), Some("outer"));
    let foreign = journal.events.len();
    let decisions = |events: &[Event], fold: &SessionFold| {
        events.iter().filter(|event| fold.memory().is_foreign(event)).count()
    };
    assert_eq!(decisions(&journal.events, &fold), 12);

    journal.add(None, taken("outer"));
    decide(&mut journal);
    let fold = SessionFold::of(&journal.events);
    assert!(fold.memory().pending_import().is_none() && fold.memory().session_import().is_some());
    assert_eq!((fold.memory().answers().len(), fold.memory().plan().len()), (1, 1));
    assert_eq!(decisions(&journal.events, &fold), 12);
    assert_eq!(decisions(&journal.events[foreign..], &fold), 0);
}

#[test]
fn loop_stopped_before_its_start_has_no_record() {
    let mut journal = Journal::default();
    journal.end("s.c.0", RunOutcome::StoppedByHook);
    assert_eq!(Session::of(&journal.events), None);
    journal.start("s.c.1", None).end("s.c.1", RunOutcome::Completed);
    let loops: Vec<String> = journal.session().loops.iter().map(|one| one.loop_id.to_string()).collect();
    assert_eq!(loops, ["s.c.1"]);
}

#[test]
fn session_read_from_its_journal_is_formed_by_its_first_loop() {
    assert_eq!(two_loops().session().formation, SessionFormation::FirstLoop);
}

#[test]
fn run_starts_at_its_last_message_before_the_first_reply() {
    let mut journal = Journal::default();
    journal.start("s.c.0", None).message("s.c.0", user(1)).message("s.c.0", reply(2, &[]));
    journal.message("s.c.0", user(3)).message("s.c.0", reply(4, &[])).end("s.c.0", RunOutcome::Completed);
    journal.start("s.c.1", Some(4)).queued("s.c.1", QueueKind::FollowUp, user(5)).injected("s.c.1", 5);
    journal.message("s.c.1", user(6)).message("s.c.1", reply(7, &[])).end("s.c.1", RunOutcome::Completed);
    journal.start("s.c.2", Some(6)).message("s.c.2", reply(8, &[]));
    let point = |number| run_start(&journal.events, number).and_then(|start| start.message_id);
    assert_eq!(point(Some(0)), Some(id(1)), "not the message in the middle of the run");
    assert_eq!(point(Some(1)), Some(id(6)));
    assert_eq!(point(Some(2)), Some(id(6)), "a run without a prompt starts at its base");
    assert_eq!(point(None), point(Some(2)));
    assert_eq!(run_start(&journal.events, Some(3)), None);
}
