//! Tests of the contract, with a strategy that accepts one outcome.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::*;

/// Selects the only outcome.
struct OnlyOutcome;

impl EvaluationStrategy for OnlyOutcome {
    fn evaluate<'a>(
        &'a self,
        _prompts: &'a [AgentMessage],
        outcomes: &'a [ParallelLoopOutcome],
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<(EvaluationDecision, Usage), EvaluationError>> {
        let given = outcomes.len();
        let result = match given {
            1 => Ok((EvaluationDecision::Select(0), Usage::new(3, 1))),
            _ => Err(EvaluationError::WrongCount { expected: 1, given }),
        };
        Box::pin(std::future::ready(result))
    }
}

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

fn evaluate(outcomes: &[ParallelLoopOutcome]) -> Result<(EvaluationDecision, Usage), EvaluationError> {
    let strategy: Box<dyn EvaluationStrategy> = Box::new(OnlyOutcome);
    let prompts = ["go".into()];
    let mut decision = pin!(strategy.evaluate(&prompts, outcomes, CancellationToken::new()));
    match decision.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(decision) => decision,
        Poll::Pending => unreachable!("the strategy does not wait"),
    }
}

#[test]
fn strategy_returns_its_choice_and_what_it_used() {
    let (decision, usage) = evaluate(&[outcome(0, &["go"], 1)]).unwrap();
    assert_eq!((decision, usage.total()), (EvaluationDecision::Select(0), 4));
}

#[test]
fn wrong_number_of_outcomes_is_a_typed_error() {
    let both = [outcome(0, &["go"], 1), outcome(1, &["go"], 1)];
    let error = evaluate(&both).unwrap_err();
    assert_eq!(error, EvaluationError::WrongCount { expected: 1, given: 2 });
    assert_eq!(error.to_string(), "this strategy compares 1 outcome(s), but received 2");
    assert_eq!(evaluate(&[]).unwrap_err(), EvaluationError::WrongCount { expected: 1, given: 0 });
}

#[test]
fn branch_produced_what_follows_the_shared_context() {
    let produced = |outcome: &ParallelLoopOutcome| outcome.added_messages().len();
    assert_eq!(produced(&outcome(0, &["before", "go", "more"], 1)), 2);
    assert_eq!(produced(&outcome(0, &["before"], 1)), 0);
    assert_eq!(produced(&outcome(0, &["compacted"], 5)), 0, "a conversation can become shorter");
}
