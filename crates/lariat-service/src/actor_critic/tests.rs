//! Tests of the record of a loop: what it says to do next after a crash at any event, and the metrics.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::event::{AgentEvent, EventRecord, FORMAT_VERSION, LoopStart, RunOutcome};
use lariat_core::id::EventId;
use lariat_core::message::{AgentMessage, SharedMessage};
use lariat_core::time::Timestamp;
use lariat_core::usage::{Cost, Usage};
use serde_json::json;

use super::record::{IterationDetails, end_message, iteration_messages, start_messages};
use super::run::{loop_end, with_check};
use super::*;

fn event(second: u64, event: AgentEvent) -> EventRecord {
    EventRecord {
        v: FORMAT_VERSION,
        seq: second,
        id: EventId::default(),
        timestamp: Timestamp::from_millis(second * 1000),
        loop_id: None,
        event,
    }
}

fn imported(second: u64, messages: Vec<AgentMessage>) -> EventRecord {
    let messages: Vec<SharedMessage> = messages.into_iter().map(Arc::new).collect();
    event(second, AgentEvent::MessagesImported { base: None, messages })
}

fn ended(second: u64, outcome: RunOutcome, nanos: u64) -> EventRecord {
    let mut usage = Usage::new(1, 1);
    usage.cost = Cost::from_nano_usd(nanos);
    event(second, AgentEvent::AgentEnd { messages: Vec::new(), usage, outcome, rejection: None })
}

fn begun(second: u64) -> EventRecord {
    event(second, AgentEvent::AgentStart(Box::new(LoopStart::new("a".into(), "s".into(), "l".into()))))
}

fn settings() -> LoopSettings {
    let mut settings = LoopSettings::new("fix the tests");
    settings.check = Some("make test".to_owned());
    settings
}

fn start() -> EventRecord {
    let now = Timestamp::from_millis(1_000);
    imported(0, start_messages(&settings(), Some("tree".to_owned()), "/w", (None, None), now))
}

fn iteration(second: u64, number: u64, decision: &CriticDecision, diff: &str) -> EventRecord {
    let details = IterationDetails {
        iteration: number,
        seconds: 5.0,
        cost: Cost::from_nano_usd(7),
        has_diff: true,
        ..Default::default()
    };
    let now = Timestamp::from_millis(second * 1000);
    imported(second, iteration_messages(&ActorOutput::default(), diff, 1, decision, &details, now))
}

fn not_done() -> CriticDecision {
    CriticDecision::Continue { feedback: "add a test".to_owned() }
}

#[test]
fn every_prefix_of_a_loop_says_what_to_do_next() {
    let end = loop_end(LoopOutcome::Success, 2, None, Duration::from_secs(9));
    let events = [
        start(),
        begun(1),
        ended(2, RunOutcome::Completed, 3),
        iteration(3, 1, &not_done(), "a"),
        begun(4),
        ended(5, RunOutcome::Failed { error: "overloaded".to_owned() }, 3),
        begun(6),
        ended(7, RunOutcome::Completed, 4),
        imported(8, vec![end_message(&end, Timestamp::default())]),
    ];
    let step = |count: usize| LoopRecord::of(&events[..count]).next_step();
    assert_eq!(step(1), LoopStep::Prompt("fix the tests".to_owned()));
    assert_eq!(step(2), LoopStep::Continue, "the run was killed");
    assert_eq!(step(3), LoopStep::Review, "a finished run is not repeated");
    assert!(matches!(step(4), LoopStep::Prompt(prompt) if prompt.contains("add a test")));
    assert_eq!(step(6), LoopStep::Continue, "a failed run continues");
    assert_eq!(step(8), LoopStep::Review);
    assert_eq!(step(9), LoopStep::Ended(end));
    let record = LoopRecord::of(&events[..8]);
    assert_eq!((record.number(), record.cost()), (2, Cost::from_nano_usd(7 + 3 + 4)));
    assert_eq!((record.settings, record.snapshot), (Some(settings()), Some("tree".to_owned())));
    let ActorProgress::Ended(actor) = record.actor else { panic!("the actor ended") };
    assert!((actor.seconds - 2.0).abs() < 1e-9, "only the time of its runs: {}", actor.seconds);
}

#[test]
fn iteration_that_changes_nothing_is_recognised() {
    let events = [
        start(),
        iteration(1, 1, &not_done(), ""),
        iteration(2, 2, &not_done(), "a"),
        iteration(3, 3, &not_done(), "a"),
    ];
    let unchanged: Vec<bool> =
        LoopRecord::of(&events).iterations.iter().map(|one| one.is_unchanged).collect();
    assert_eq!(unchanged, [true, false, true]);
}

#[test]
fn finished_run_of_another_agent_is_reviewed_after_a_kill() {
    let mut output = ActorOutput::default();
    (output.text, output.exit_code) = ("done".to_owned(), 3);
    let record = LoopRecord::of(&[start(), imported(1, vec![AgentMessage::user("x"), output.message()])]);
    assert_eq!(record.next_step(), LoopStep::Review);
    assert_eq!(record.actor, ActorProgress::Ended(output));
}

#[test]
fn lines_have_the_fields_of_the_format() {
    let fields = |message: &AgentMessage| match message {
        AgentMessage::Extension(extension) => {
            extension.data.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
        }
        _ => panic!("not a record"),
    };
    let start = start_messages(&settings(), None, "/w", (None, None), Timestamp::from_millis(1_000));
    assert_eq!(fields(&start[0]).len(), 9);
    let AgentMessage::Extension(line) = &start[0] else { panic!() };
    assert_eq!(line.data["timestamp"], "1970-01-01T00:00:01Z");
    let details = IterationDetails::default();
    let now = Timestamp::default();
    let line = iteration_messages(&ActorOutput::default(), "", 0, &not_done(), &details, now);
    assert_eq!(fields(&line[0]).len(), 11);
    let end = loop_end(LoopOutcome::MaxIterationsReached, 2, None, Duration::from_secs(9));
    let AgentMessage::Extension(end) = end_message(&end, now) else { panic!() };
    assert_eq!(end.data["outcome"], "max_iterations_reached");
    assert_eq!(end.data.as_object().unwrap().len(), 7);
}

#[test]
fn task_is_not_done_while_its_check_fails() {
    let done = || CriticDecision::Done { summary: "all".to_owned(), confidence: Some(0.9) };
    let failed = ("make test", (Some(2), "1 failed".to_owned()));
    let decision = with_check(done(), Some(&failed));
    assert!(decision.feedback().unwrap().contains("`make test` ended with 2:\n\n1 failed"), "{decision:?}");
    assert_eq!(with_check(done(), Some(&("make test", (None, String::new())))).name(), "CONTINUE");
    assert_eq!(with_check(done(), Some(&("make test", (Some(0), String::new())))), done());
    assert_eq!(with_check(not_done(), Some(&failed)), not_done());
}

fn measured(outcome: Option<LoopOutcome>, decisions: &[&str], unchanged: usize) -> MeasuredLoop {
    let iteration = |(at, decision): (usize, &&str)| LoopIteration {
        number: at as u64 + 1,
        decision: (*decision).to_owned(),
        feedback: None,
        files_changed: 1,
        seconds: 10.0,
        cost: Cost::from_usd(0.5),
        is_unchanged: at < unchanged,
    };
    MeasuredLoop {
        session_id: "s".into(),
        at: Timestamp::default(),
        prompt: "x".to_owned(),
        outcome,
        iterations: decisions.iter().enumerate().map(iteration).collect(),
    }
}

#[test]
fn metrics_count_ended_loops_and_all_iterations() {
    let loops = [
        measured(Some(LoopOutcome::Success), &["DONE"], 0),
        measured(Some(LoopOutcome::Success), &["CONTINUE", "ERROR", "DONE"], 1),
        measured(Some(LoopOutcome::MaxIterationsReached), &["CONTINUE", "CONTINUE"], 0),
        measured(None, &["CONTINUE", "CONTINUE"], 0),
    ];
    let metrics = LoopMetrics::of(&loops);
    assert_eq!((metrics.loops, metrics.ended, metrics.iterations), (4, 3, 8));
    let close = |rate: Option<f64>, expected: f64| (rate.unwrap() - expected).abs() < 1e-9;
    assert!(close(metrics.success_rate, 2.0 / 3.0) && close(metrics.first_try_rate, 1.0 / 3.0));
    assert!(close(metrics.iterations_per_loop, 2.0), "of the loops that ended");
    assert_eq!(metrics.wasted_iterations, 1 + 2);
    assert!(close(metrics.approval_rate, 2.0 / 8.0) && close(metrics.cost_usd_per_iteration, 0.5));
    assert!(close(metrics.seconds_per_iteration, 10.0));
    assert_eq!(metrics.iterations_to_success, [1, 0, 1]);
    assert_eq!(LoopMetrics::of(&[]).success_rate, None);
}

#[test]
fn imported_session_without_details_is_a_loop_too() {
    let data = json!({"type": "session_start", "prompt": "old task", "max_iterations": 3});
    let line = lariat_core::message::ExtensionMessage::new("codeloops/session_start", data);
    let record = LoopRecord::of(&[imported(0, vec![line.into()])]);
    assert_eq!(
        record.settings.map(|settings| (settings.prompt, settings.max_iterations)),
        Some(("old task".to_owned(), 3))
    );
}
