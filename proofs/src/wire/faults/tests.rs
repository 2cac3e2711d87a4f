use lariat_core::event::AgentEvent;
use lariat_core::model::ProviderError;
use lariat_core::time::Timestamp;

use super::run::{Observation, observe};
use super::*;

#[test]
fn the_matrix_has_the_documented_size() {
    assert!(faults().count() >= 60);
    let mut names: Vec<_> = faults().map(|fault| fault.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), faults().count(), "every fault has a name of its own");
}

fn named(name: &str) -> &'static Fault {
    faults().find(|fault| fault.name == name).unwrap()
}

/// The judge's complaints about a run after the observation was changed.
fn complaints(name: &str, position: Position, change: impl FnOnce(&mut Observation)) -> String {
    let fault = named(name);
    let plan = (fault.plan)(&Cell::new(Wire::AnthropicMessages, position));
    let mut observed = observe(Wire::AnthropicMessages, plan.clone());
    let judge = |observed: &Observation| judge::judge(fault, &plan, observed);
    assert!(judge(&observed).is_ok(), "{:?}", judge(&observed));
    change(&mut observed);
    judge(&observed).unwrap_err().join("\n")
}

#[test]
fn a_call_that_runs_twice_or_with_other_arguments_is_noticed() {
    let twice = complaints("nothing wrong", Position::Start, |observed| {
        let again = observed.executions[0].clone();
        observed.executions.push(again);
    });
    assert!(twice.contains("the model did not request"), "{twice}");
    let other = complaints("nothing wrong", Position::Start, |observed| {
        observed.executions[0].args = serde_json::json!({"a": 2});
    });
    assert!(other.contains("the model did not request"), "{other}");
    let none = complaints("nothing wrong", Position::Start, |observed| observed.executions.clear());
    assert!(none.contains("1 calls were delivered, 0 ran"), "{none}");
}

#[test]
fn a_retry_that_does_not_withdraw_what_was_delivered_is_noticed() {
    let wrong = complaints("reset", Position::Quarter, |observed| {
        observed.events.retain(|event| !matches!(event.event, AgentEvent::MessageWithdrawn { .. }));
    });
    assert!(wrong.contains("1 replies broke and were retried, 0 withdrawn"), "{wrong}");
}

#[test]
fn a_cut_reply_treated_as_complete_is_noticed() {
    let whole = observe(
        Wire::AnthropicMessages,
        (named("nothing wrong").plan)(&Cell::new(Wire::AnthropicMessages, Position::Start)),
    );
    let wrong = complaints("clean end", Position::Quarter, |observed| *observed = whole);
    assert!(wrong.contains("the server never said so"), "{wrong}");
    assert!(wrong.contains("ended as C, which is none of R"), "{wrong}");
}

#[test]
fn text_that_is_lost_or_shown_twice_is_noticed() {
    let lost = complaints("reset", Position::ThreeQuarters, |observed| {
        observed.output.as_mut().unwrap().messages.clear();
    });
    assert!(lost.contains("kept []"), "{lost}");
    let doubled = complaints("reset", Position::ThreeQuarters, |observed| {
        observed.events = observed.events.iter().flat_map(|event| [event.clone(), event.clone()]).collect();
    });
    assert!(doubled.contains("showed") && doubled.contains("2 AgentEnd events"), "{doubled}");
}

#[test]
fn a_wait_of_another_length_a_late_end_and_usage_that_is_counted_twice_are_noticed() {
    let early = complaints("429, Retry-After: 7", Position::End, |observed| {
        let at = observed.sent[1].at.as_millis() - 1;
        observed.sent[1].at = Timestamp::from_millis(at);
    });
    assert!(early.contains("was asked to wait 7s, waited 6.999s"), "{early}");
    let late =
        complaints("nothing wrong", Position::End, |observed| observed.took = Duration::from_secs(10_000));
    assert!(late.contains("took 10000s"), "{late}");
    let counted = complaints("nothing wrong", Position::End, |observed| {
        let usage = &mut observed.output.as_mut().unwrap().usage;
        *usage += *usage;
    });
    assert!(counted.contains("counted"), "{counted}");
}

#[test]
fn a_key_in_an_error_or_an_address_and_a_strange_address_are_noticed() {
    let shown = complaints("401, the key echoed", Position::End, |observed| {
        let error = ProviderError::Auth("Incorrect API key provided: test-key-123.".into());
        observed.exchanges[0].error.as_mut().unwrap().1 = error;
    });
    assert!(shown.contains("the key leaked"), "{shown}");
    let away = complaints("302 to elsewhere", Position::End, |observed| {
        observed.sent[1].url = "https://elsewhere.example/v1/messages?key=test-key-123".to_owned();
    });
    assert!(
        away.contains("sent a request to https://elsewhere") && away.contains("the key leaked"),
        "{away}"
    );
}

#[test]
fn a_run_that_hangs_or_fails_without_a_type_is_noticed() {
    let hang = complaints("stall", Position::Quarter, |observed| {
        observed.output = Err("HANG: stalled".to_owned());
    });
    assert!(hang.contains("HANG"), "{hang}");
    let untyped =
        complaints("error: bad request", Position::Quarter, |observed| observed.exchanges[0].error = None);
    assert!(untyped.contains("without a typed error"), "{untyped}");
}
