//! Tests of sessions whose loops run at the same time: interleaved events, memory per branch, selection.

use super::*;
use crate::budget::{BudgetRequest, BudgetStatus};
use crate::event::{ArgsRef, LimitKind, Resolver};
use crate::id::RequestId;

const A: &str = "s.a.1";
const B: &str = "s.b.2";

fn call(n: u128, tool: &str, arguments: Value) -> SharedMessage {
    let mut message = AgentMessage::clone(&reply(n, &[]));
    if let AgentMessage::Llm(LlmMessage { message: Message::Assistant(assistant), .. }) = &mut message {
        assistant.content.push(Content::tool_call("x", tool, arguments));
        assistant.stop_reason = StopReason::ToolUse;
    }
    Arc::new(message)
}

fn output(n: u128, tool: &str, text: &str, is_error: bool) -> SharedMessage {
    shared(
        n,
        Message::ToolResult(ToolResultMessage {
            tool_call_id: "x".into(),
            tool_name: tool.into(),
            content: vec![text.into()],
            is_error,
            timestamp: Timestamp::default(),
        }),
    )
}

fn started() -> AgentEvent {
    AgentEvent::ToolExecutionStart {
        tool_call_id: "x".into(),
        tool_name: "write".into(),
        args: ArgsRef::default(),
    }
}

fn ended() -> AgentEvent {
    AgentEvent::ToolExecutionEnd {
        tool_call_id: "x".into(),
        tool_name: "write".into(),
        message: MessageRef::unresolved(id(0)),
        details: Value::Null,
        is_error: false,
        child_loop_id: None,
    }
}

/// A loop with messages 1 and 2, then branches A and B after message 2.
fn group() -> Journal {
    let mut journal = Journal::default();
    journal.start("s.c.0", None).message("s.c.0", user(1)).message("s.c.0", reply(2, &[]));
    journal.end("s.c.0", RunOutcome::Completed);
    let (session_id, loop_ids) = ("s".into(), vec![A.into(), B.into()]);
    journal.add(None, AgentEvent::ParallelLoopStart { session_id, loop_ids, prompts: vec![user(99)] });
    journal.start(A, Some(2)).start(B, Some(2));
    journal
}

fn select(journal: &mut Journal, loop_id: &str) {
    let end = AgentEvent::ParallelLoopEnd {
        session_id: "s".into(),
        selected_loop_id: loop_id.into(),
        selected_config_index: 0,
        evaluation_usage: Usage::default(),
    };
    journal.add(None, end);
}

#[test]
fn selected_branch_becomes_the_tip() {
    let mut journal = group();
    journal.message(A, user(10)).message(B, user(20)).message(A, reply(11, &[])).message(B, reply(21, &[]));
    assert_eq!(journal.fold().tip(), Some(id(2)), "no branch is selected yet");
    assert_eq!(journal.fold().last_loop().unwrap().loop_id.as_str(), "s.c.0");
    journal.end(A, RunOutcome::Completed).end(B, RunOutcome::Completed);
    let mut other = Journal { events: journal.events.clone(), now: journal.now };
    select(&mut journal, A);
    let fold = journal.fold();
    assert_eq!(fold.tip(), Some(id(11)), "B is the newest segment");
    assert_eq!(conversation(&fold, Some(11)), [1, 2, 10, 11]);
    assert_eq!(conversation(&fold, Some(21)), [1, 2, 20, 21], "the other branch stays readable");
    assert_eq!(fold.last_loop().unwrap().loop_id.as_str(), A);
    assert!(fold.memory().groups().is_empty());
    select(&mut other, B);
    assert_eq!(other.fold().tip(), Some(id(21)));
    select(&mut other, A);
    assert_eq!(other.fold().tip(), Some(id(11)), "the last decision applies");
}

#[test]
fn group_remembers_how_to_start_branches_and_how_they_ended() {
    let mut journal = group();
    journal.end(B, RunOutcome::Aborted);
    let fold = journal.fold();
    let [group] = fold.memory().groups() else { panic!("one group") };
    assert_eq!(group.prompts.iter().map(|prompt| prompt.id()).collect::<Vec<_>>(), [id(99)]);
    let outcomes: Vec<_> = group.branches.iter().map(|branch| branch.ended.clone()).collect();
    assert_eq!(outcomes, [None, Some((RunOutcome::Aborted, Usage::new(100, 10)))]);
    assert_eq!(fold.open_loops().map(|start| start.loop_id.as_str()).collect::<Vec<_>>(), [A]);
}

#[test]
fn interleaved_calls_with_the_same_id_are_recorded_in_their_own_branch() {
    let mut journal = group();
    journal.message(A, call(10, "write", json!({"path": "a.rs"})));
    journal.message(B, call(20, "write", json!({"path": "b.rs"})));
    journal.add(Some(A), started()).add(Some(B), started()).add(Some(B), ended()).add(Some(A), ended());
    journal.message(A, output(11, "write", "done", false));
    journal.message(B, output(21, "write", "no space", true));
    let fold = journal.fold();
    let files = |memory: &SessionMemory| -> Vec<String> {
        memory.work().files().map(|file| file.path.clone()).collect()
    };
    let (a, b) = (fold.memory().seen_by(&A.into()), fold.memory().seen_by(&B.into()));
    assert_eq!((files(&a), a.failures().len()), (vec!["a.rs".to_owned()], 0));
    assert_eq!((files(&b), b.failures().len()), (vec![], 1));
    assert_eq!(b.failures()[0].target, "b.rs");
    assert!(fold.memory().work().is_empty() && fold.memory().failures().is_empty());
    select(&mut journal, A);
    let fold = journal.fold();
    assert_eq!((files(fold.memory()), fold.memory().failures().len()), (vec!["a.rs".to_owned()], 0));
}

#[test]
fn plan_of_the_selected_branch_remains() {
    let mut journal = group();
    let queue = |summary: &str| AgentEvent::PlanChangeQueued {
        tool_call_id: "x".into(),
        tool_name: "write".into(),
        summary: summary.into(),
    };
    journal.message(A, call(10, "write", json!({"path": "a.rs"})));
    journal.message(B, call(20, "write", json!({"path": "b.rs"})));
    journal.add(Some(A), queue("from a")).add(Some(B), queue("from b"));
    let plan = |memory: &SessionMemory| -> Vec<(String, Value)> {
        memory.plan().iter().map(|change| (change.summary.clone(), change.call.arguments.clone())).collect()
    };
    let of_b = vec![("from b".to_owned(), json!({"path": "b.rs"}))];
    assert_eq!(plan(&journal.fold().memory().seen_by(&B.into())), of_b);
    assert_eq!(plan(journal.fold().memory()), []);
    select(&mut journal, B);
    assert_eq!(plan(journal.fold().memory()), of_b);
}

#[test]
fn loops_without_a_group_look_up_their_own_calls() {
    let mut journal = Journal::default();
    journal.start("s.c.0", None).start("s.c.1", None);
    journal.message("s.c.0", call(10, "write", json!({"path": "a.rs"})));
    journal.message("s.c.1", call(20, "write", json!({"path": "b.rs"})));
    journal.add(Some("s.c.0"), started()).add(Some("s.c.0"), ended());
    journal.message("s.c.0", output(11, "write", "done", false));
    let files: Vec<_> =
        journal.fold().memory().work().files().map(|file| file.path.clone()).collect::<Vec<_>>();
    assert_eq!(files, ["a.rs"]);
}

#[test]
fn messages_for_other_branches_are_dropped_by_the_selection() {
    let mut journal = group();
    journal.add(None, AgentEvent::MessageQueued { queue: QueueKind::FollowUp, message: user(50) });
    journal.queued(A, QueueKind::Steering, user(51)).queued(B, QueueKind::Steering, user(52));
    let ids =
        |fold: &SessionFold| fold.queued_messages().map(|(_, message)| message.id()).collect::<Vec<_>>();
    assert_eq!(ids(&journal.fold()), [id(50)], "each branch delivers its own");
    let fold = journal.fold();
    assert_eq!(fold.queued_for(&B.into()).map(|(_, message)| message.id()).collect::<Vec<_>>(), [id(52)]);
    journal.end(A, RunOutcome::Aborted).end(B, RunOutcome::Aborted);
    select(&mut journal, A);
    assert_eq!(ids(&journal.fold()), [id(50), id(51)]);
}

#[test]
fn compaction_of_a_branch_leaves_its_siblings_unchanged() {
    let mut journal = two_loops();
    let (session_id, loop_ids) = ("s".into(), vec![A.into(), B.into()]);
    journal.add(None, AgentEvent::ParallelLoopStart { session_id, loop_ids, prompts: Vec::new() });
    journal.start(A, Some(7)).start(B, Some(7)).add(Some(A), compaction(2));
    let whole = [1, 2, 3, 4, 5, 6, 7];
    assert_eq!(conversation(&journal.fold(), Some(7)), whole);
    journal.end(A, RunOutcome::Aborted);
    assert_eq!(conversation(&journal.fold(), Some(7)), whole, "also after it ended without a message");
    journal.message(B, user(30));
    assert_eq!(conversation(&journal.fold(), Some(30)), [1, 2, 3, 4, 5, 6, 7, 30]);
    select(&mut journal, A);
    assert_eq!(
        conversation(&journal.fold(), Some(7)),
        [20, 3, 4, 5, 6, 7],
        "the selected branch continues compacted"
    );
}

#[test]
fn observing_a_sibling_takes_its_spending_and_not_its_work() {
    let mut journal = group();
    journal.message(B, call(20, "write", json!({"path": "b.rs"})));
    journal.add(Some(B), started()).add(Some(B), ended()).message(B, output(21, "write", "done", true));
    let before = journal.events.len() - 4;
    let mut memory = SessionFold::of(&journal.events[..before]).memory().seen_by(&A.into());
    let spent = memory.ledger().spent();
    journal.events[before..].iter().for_each(|event| memory.observe(event));
    assert_eq!(memory.ledger().spent().tokens, spent.tokens + 11);
    assert_eq!(memory.ledger().spent().tool_calls, spent.tool_calls + 1);
    assert!(memory.work().is_empty() && memory.failures().is_empty());
}

#[test]
fn time_of_branches_that_run_together_is_counted_once() {
    let mut journal = group();
    // Starts at 6 s and 7 s; every event takes a second.
    journal.message(A, user(10)).message(B, user(20)).end(A, RunOutcome::Completed);
    journal.end(B, RunOutcome::Completed);
    select(&mut journal, A);
    let before = SessionFold::of(&journal.events[..4]).memory().ledger().spent().duration;
    let active = journal.fold().memory().ledger().spent().duration - before;
    assert_eq!(active.as_secs(), 5);
}

#[test]
fn recovery_of_one_branch_forgets_only_its_own_running_calls() {
    let mut journal = group();
    journal.add(Some(A), started()).add(Some(B), started());
    journal.add(Some(A), AgentEvent::LoopRecovered { interrupted: Vec::new(), repairs: Vec::new() });
    journal.add(Some(A), ended()).add(Some(B), ended());
    let ledger = journal.fold().memory().ledger().clone();
    let tool = ledger.of(&crate::ledger::Source::Tool("write".into()));
    assert_eq!((tool.calls, tool.busy.as_secs()), (2, 3), "the time of A's call is unknown");
}

#[test]
fn arguments_are_resolved_from_the_reply_of_the_same_loop() {
    let mut journal = group();
    journal.message(A, call(10, "write", json!({"path": "a.rs"})));
    journal.message(B, call(20, "write", json!({"path": "b.rs"})));
    journal.add(Some(A), started());
    let mut resolver = Resolver::new();
    let last = journal.events.iter().map(|event| resolver.resolve(event)).last().unwrap();
    let AgentEvent::ToolExecutionStart { args, .. } = &last.event else { panic!("a start") };
    assert_eq!(args.get(), Some(&json!({"path": "a.rs"})));
}

#[test]
fn budget_questions_of_two_branches_wait_side_by_side() {
    let mut journal = group();
    let request = |n: u128| RequestId::new(uuid::Uuid::from_u128(n));
    let asks = |n: u128| {
        let standing = BudgetStatus::new(BudgetScope::Run, LimitKind::Turns, 5, 5);
        let request = Arc::new(BudgetRequest::new(request(n), standing));
        AgentEvent::BudgetExtensionRequested { request }
    };
    journal.add(Some(A), asks(1)).add(Some(B), asks(2));
    let waiting = |journal: &Journal| -> Vec<RequestId> {
        let mut clients = ClientState::default();
        journal.events.iter().for_each(|event| clients.apply(event));
        let json = serde_json::to_string(&clients).unwrap();
        let again: ClientState = serde_json::from_str(&json).unwrap();
        assert_eq!(again, clients);
        clients.budget_requests().iter().map(|open| open.request.id).collect()
    };
    assert_eq!(waiting(&journal), [request(1), request(2)]);
    let limits = BudgetLimits::default();
    journal.add(Some(B), AgentEvent::BudgetExtended { scope: BudgetScope::Run, limits, by: "p".into() });
    assert_eq!(waiting(&journal), [request(1)]);
    journal.end(B, RunOutcome::Completed);
    assert_eq!(waiting(&journal), [request(1)], "the end of B ends no question of A");
    journal.end(A, RunOutcome::Aborted);
    assert_eq!(waiting(&journal), []);
}

#[test]
fn client_state_of_an_earlier_program_keeps_its_budget_request() {
    let standing = BudgetStatus::new(BudgetScope::Run, LimitKind::Turns, 5, 5);
    let request = BudgetRequest::new(RequestId::default(), standing);
    let mut json = serde_json::to_value(ClientState::default()).unwrap();
    json["budget_request"] = json!([request, Timestamp::from_millis(7)]);
    let read: ClientState = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(read.budget_requests().iter().map(|open| open.at.as_millis()).collect::<Vec<_>>(), [7]);
    json["budget_request"] = Value::Null;
    assert!(serde_json::from_value::<ClientState>(json).unwrap().budget_requests().is_empty());
}

#[test]
fn undecided_group_is_an_open_run() {
    let mut journal = group();
    journal.end(A, RunOutcome::Completed).end(B, RunOutcome::Completed);
    let is_open = |journal: &Journal| {
        let mut clients = ClientState::default();
        journal.events.iter().for_each(|event| clients.apply(event));
        clients.has_open_run()
    };
    assert!(is_open(&journal));
    select(&mut journal, B);
    assert!(!is_open(&journal));
}

#[test]
fn memory_with_branches_survives_a_snapshot() {
    let mut journal = group();
    journal.message(A, call(10, "write", json!({"path": "a.rs"})));
    journal.add(Some(A), started());
    let memory = journal.fold().memory().clone();
    let again: SessionMemory = serde_json::from_str(&serde_json::to_string(&memory).unwrap()).unwrap();
    assert_eq!(again, memory);
    // The rest of the call is recorded in the branch, although its start came before the snapshot.
    let rest = journal.events.len();
    journal.add(Some(A), ended()).message(A, output(11, "write", "done", false));
    let mut continued = again;
    journal.events[rest..].iter().for_each(|event| continued.apply(event));
    assert_eq!(&continued, journal.fold().memory());
}
