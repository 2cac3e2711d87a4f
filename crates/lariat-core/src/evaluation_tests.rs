//! Tests of the strategies that need no model.

use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use super::*;

/// A branch that finished.
fn outcome(config_index: usize, messages: &[&str], original_context_len: usize) -> ParallelLoopOutcome {
    let messages = messages.iter().map(|text| Arc::new(AgentMessage::from(*text))).collect();
    let loop_id = LoopId::from(format!("s.c.{config_index}"));
    ParallelLoopOutcome::new(
        loop_id,
        config_index,
        messages,
        original_context_len,
        Usage::new(10, 2),
        RunOutcome::Completed,
    )
}

/// Evaluates, and returns the decision with the status texts.
fn evaluate(
    strategy: &dyn EvaluationStrategy,
    outcomes: &[ParallelLoopOutcome],
) -> (EvaluationResult, Vec<String>) {
    let prompts = ["go".into()];
    let texts = Mutex::new(Vec::new());
    let progress = |text: String| texts.lock().unwrap().push(text);
    let evaluated = {
        let mut decision = pin!(strategy.evaluate(&prompts, outcomes, &progress, CancellationToken::new()));
        match decision.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(decision) => decision,
            Poll::Pending => unreachable!("the strategy does not wait"),
        }
    };
    (evaluated, texts.into_inner().unwrap())
}

fn selected(strategy: &dyn EvaluationStrategy, outcomes: &[ParallelLoopOutcome]) -> usize {
    let (decision, usage) = evaluate(strategy, outcomes).0.unwrap();
    assert_eq!(usage, Usage::default());
    let EvaluationDecision::Select(index) = decision;
    index
}

/// Three branches: 30, 10 and 20 tokens.
fn three() -> [ParallelLoopOutcome; 3] {
    let mut index = 0;
    [30, 10, 20].map(|tokens| {
        let branch =
            ParallelLoopOutcome { usage: Usage::new(tokens, 0), ..outcome(index, &["go", "done"], 1) };
        index += 1;
        branch
    })
}

#[test]
fn transparent_accepts_exactly_one_outcome() {
    assert_eq!(selected(&TransparentEvaluation, &[outcome(0, &["go"], 1)]), 0);
    let error = evaluate(&TransparentEvaluation, &three()).0.unwrap_err();
    assert_eq!(error, EvaluationError::WrongCount { expected: 1, given: 3 });
    assert_eq!(error.to_string(), "this strategy compares 1 outcome(s), but received 3");
    let none = evaluate(&TransparentEvaluation, &[]).0.unwrap_err();
    assert_eq!(none, EvaluationError::WrongCount { expected: 1, given: 0 });
}

#[test]
fn strategies_compare_tokens() {
    let outcomes = three();
    assert_eq!(selected(&PickFirstEvaluation, &outcomes), 0);
    assert_eq!(selected(&TokenEfficientEvaluation, &outcomes), 1);
    assert_eq!(selected(&ElaborateEvaluation, &outcomes), 0);
    assert_eq!(evaluate(&PickFirstEvaluation, &[]).0.unwrap_err(), EvaluationError::NoBranches);
    assert_eq!(evaluate(&ElaborateEvaluation, &[]).0.unwrap_err(), EvaluationError::NoBranches);
}

#[test]
fn first_branch_wins_a_tie() {
    let equal = [outcome(0, &["go"], 1), outcome(1, &["go"], 1)];
    assert_eq!(selected(&TokenEfficientEvaluation, &equal), 0);
    assert_eq!(selected(&ElaborateEvaluation, &equal), 0);
}

#[test]
fn branch_that_failed_at_once_is_not_the_most_efficient() {
    let mut outcomes = three();
    outcomes[1].outcome = RunOutcome::Failed { error: "overloaded".into() };
    outcomes[0].outcome = RunOutcome::Aborted;
    assert_eq!(selected(&TokenEfficientEvaluation, &outcomes), 2);
    assert_eq!(selected(&ElaborateEvaluation, &outcomes), 2);
    assert_eq!(selected(&FirstFinishedEvaluation, &outcomes), 2);
    outcomes[2].outcome = RunOutcome::Aborted;
    assert_eq!(selected(&TokenEfficientEvaluation, &outcomes), 1, "if none finished, all count");
}

#[test]
fn check_selects_the_smallest_change_that_passes() {
    let sizes = [5, 3, 1];
    let check = CheckEvaluation::new(move |outcome, _| {
        let result = match outcome.config_index {
            2 => CheckResult::failed("2 tests failed"),
            index => CheckResult::passed(sizes[index]),
        };
        Box::pin(std::future::ready(result))
    });
    assert_eq!(selected(&check, &three()), 1);
    let (_, texts) = evaluate(&check, &three());
    assert_eq!(texts, ["branch 1: passed", "branch 2: passed", "branch 3: failed 2 tests failed"]);
    let mut outcomes = three();
    outcomes[0].outcome = RunOutcome::Aborted;
    outcomes[1].outcome = RunOutcome::Aborted;
    let error = evaluate(&check, &outcomes).0.unwrap_err();
    assert_eq!(error.to_string(), "no branch passed the check: branch 3: 2 tests failed");
}

#[test]
fn branch_produced_what_follows_the_shared_context() {
    let produced = |outcome: &ParallelLoopOutcome| outcome.added_messages().len();
    assert_eq!(produced(&outcome(0, &["before", "go", "more"], 1)), 2);
    assert_eq!(produced(&outcome(0, &["before"], 1)), 0);
    assert_eq!(produced(&outcome(0, &["compacted"], 5)), 0, "a conversation can become shorter");
}
