//! Judges a run under a fault: the rules for every cell, and the comparison with the outcomes that the fault
//! allows.
//!
//! Each rule is a function from the plan and the observation to a description of what is wrong.

use lariat_core::content::Content;
use lariat_core::event::{AgentEvent, RunOutcome};
use lariat_core::model::StreamEvent;
use lariat_core::usage::Usage;
use serde_json::Value;

use super::cell::{TEXT, TOOL, arguments};
use super::fault::{Fault, Group};
use super::outcome::{Kind, Outcome};
use super::plan::{Completeness, Plan, Text};
use super::run::{Exchange, Observation};

/// The API key in every request; it must not appear anywhere else.
const KEY: &str = "test-key-123";

type Rule = fn(&Plan, &Observation) -> Option<String>;

/// The rules for every cell.
const RULES: &[Rule] = &[
    ends_once,
    ends_in_time,
    runs_only_what_was_asked,
    runs_nothing_of_a_broken_reply,
    takes_no_cut_reply_for_a_whole_one,
    withdraws_what_broke,
    keeps_what_was_delivered,
    delivers_the_text_that_was_sent,
    waits_as_long_as_asked,
    counts_usage_once,
    keeps_the_key_to_itself,
    stays_with_the_server,
];

/// Returns how the run ended.
///
/// # Errors
/// Returns everything that is wrong if a rule was broken or the fault does not allow the outcome.
pub fn judge(fault: &Fault, plan: &Plan, observed: &Observation) -> Result<Outcome, Vec<String>> {
    let outcome = outcome(observed).map_err(|wrong| vec![wrong])?;
    let mut wrong: Vec<String> = RULES.iter().filter_map(|rule| rule(plan, observed)).collect();
    let first = observed.exchanges.first();
    let delivered = first.is_some_and(Exchange::delivered);
    let allowed = if delivered { asked_again(fault.allowed.after) } else { fault.allowed.before.to_owned() };
    // The stream broke only after the reply was complete.
    let complete = fault.group == Group::Stream && plan.reply == Completeness::Declared;
    let complete = complete && outcome == Outcome::Completed && first.is_some_and(Exchange::is_done);
    if !allowed.contains(outcome.letter()) && !complete {
        wrong.push(format!("ended as {outcome}, which is none of {allowed} (delivered before: {delivered})"));
    }
    if wrong.is_empty() { Ok(outcome) } else { Err(wrong) }
}

/// The allowed outcomes if part of the first reply was delivered: transient failures are retried.
fn asked_again(letters: &str) -> String {
    letters.chars().map(|letter| if "lnie".contains(letter) { 'R' } else { letter }).collect()
}

fn outcome(observed: &Observation) -> Result<Outcome, String> {
    let output = observed.output.as_ref().map_err(Clone::clone)?;
    let again =
        |event: &AgentEvent| matches!(event, AgentEvent::ModelRetry { .. } | AgentEvent::Compaction { .. });
    match &output.outcome {
        RunOutcome::Completed if observed.events.iter().any(|event| again(&event.event)) => {
            Ok(Outcome::Retried)
        }
        RunOutcome::Completed => Ok(Outcome::Completed),
        RunOutcome::ContextFull(full) => {
            let error = observed.exchanges.last().and_then(|exchange| exchange.error.as_ref());
            let kind = error.map(|(_, error)| Kind::of(error));
            kind.flatten().map(Outcome::Failed).ok_or_else(|| format!("failed without a typed error: {full}"))
        }
        RunOutcome::Failed { error: said } => {
            let error = observed.exchanges.last().and_then(|exchange| exchange.error.as_ref());
            let kind = match error {
                Some((_, error)) => Kind::of(error),
                // The machine has its own stall timeout, for providers without one.
                None => said.starts_with("network: nothing arrived for").then_some(Kind::Network),
            };
            kind.map(Outcome::Failed).ok_or_else(|| format!("failed without a typed error: {said}"))
        }
        other => Err(format!("ended as {other:?}")),
    }
}

fn ends_once(_: &Plan, observed: &Observation) -> Option<String> {
    let ends =
        observed.events.iter().filter(|event| matches!(event.event, AgentEvent::AgentEnd { .. })).count();
    (ends != 1).then(|| format!("{ends} AgentEnd events"))
}

fn ends_in_time(plan: &Plan, observed: &Observation) -> Option<String> {
    (observed.took > plan.deadline).then(|| format!("took {:?} of {:?}", observed.took, plan.deadline))
}

/// Calls of the scripted tool.
fn calls(exchange: &Exchange) -> impl Iterator<Item = &Value> {
    exchange.events.iter().filter_map(|event| match event {
        StreamEvent::ToolCallEnd { call, .. } if call.name == TOOL => Some(&call.arguments),
        _ => None,
    })
}

/// Checks that every tool call ran at most once, with exactly the scripted arguments.
fn runs_only_what_was_asked(plan: &Plan, observed: &Observation) -> Option<String> {
    let first_counts = observed.exchanges.first().is_some_and(Exchange::is_done);
    let mut left = if first_counts { plan.calls.clone() } else { vec![arguments()] };
    for execution in &observed.executions {
        let Some(at) = left.iter().position(|asked| *asked == execution.args) else {
            return Some(format!(
                "ran the tool with {}, which the model did not request (any more)",
                short(&execution.args)
            ));
        };
        left.swap_remove(at);
    }
    None
}

/// Checks that exactly the tool calls of complete replies ran, and none before the end of its reply.
fn runs_nothing_of_a_broken_reply(_: &Plan, observed: &Observation) -> Option<String> {
    let early =
        observed.exchanges.iter().find(|exchange| !exchange.is_done() && calls(exchange).next().is_some());
    if early.is_some() {
        return Some("a call was delivered although its reply was not complete".to_owned());
    }
    let asked = observed.exchanges.iter().flat_map(calls).count();
    let ran = observed.executions.len();
    (ran != asked).then(|| format!("{asked} calls were delivered, {ran} ran"))
}

fn takes_no_cut_reply_for_a_whole_one(plan: &Plan, observed: &Observation) -> Option<String> {
    let done = observed.exchanges.first().is_some_and(Exchange::is_done);
    (done && plan.reply == Completeness::Undeclared)
        .then(|| "treated a reply as complete although the server never said so".to_owned())
}

/// Checks that exactly the replies that broke after they began to arrive are withdrawn before the retry.
fn withdraws_what_broke(_: &Plan, observed: &Observation) -> Option<String> {
    let (_, before) = observed.exchanges.split_last()?;
    let broke = before.iter().filter(|exchange| !exchange.is_done() && exchange.delivered()).count();
    let withdrawn =
        |event: &&lariat_core::event::Event| matches!(event.event, AgentEvent::MessageWithdrawn { .. });
    let withdrawn = observed.events.iter().filter(withdrawn).count();
    (broke != withdrawn).then(|| format!("{broke} replies broke and were retried, {withdrawn} withdrawn"))
}

/// Checks that the conversation has exactly what was delivered and not withdrawn, reply by reply, and that
/// live deltas show all of it.
fn keeps_what_was_delivered(_: &Plan, observed: &Observation) -> Option<String> {
    let output = observed.output.as_ref().ok()?;
    let last = observed.exchanges.len().saturating_sub(1);
    let kept_exchange = |(at, exchange): (usize, &Exchange)| {
        (exchange.is_done() || at == last).then(|| exchange.text_in_order())
    };
    let delivered: Vec<String> = observed.exchanges.iter().enumerate().filter_map(kept_exchange).collect();
    let replies = output.messages.iter().filter_map(|message| message.as_assistant());
    let kept: Vec<String> =
        replies.map(|reply| reply.content.iter().filter_map(Content::as_text).collect()).collect();
    // Whitespace-only text is not kept, because providers reject it in later requests.
    let same = |(kept, delivered): (&String, &String)| {
        kept == delivered || (kept.is_empty() && delivered.trim().is_empty())
    };
    if kept.len() != delivered.len() || !kept.iter().zip(&delivered).all(same) {
        return Some(format!("delivered {delivered:?}, kept {kept:?}"));
    }
    let live: String = observed.events.iter().filter_map(|event| event.event.text_delta()).collect();
    let came: String = observed.exchanges.iter().map(Exchange::text).collect();
    (live != came).then(|| format!("delivered {delivered:?}, showed {live:?}"))
}

fn delivers_the_text_that_was_sent(plan: &Plan, observed: &Observation) -> Option<String> {
    let text = observed.exchanges.first()?.text();
    (plan.text == Text::Faithful && !TEXT.starts_with(&text)).then(|| format!("delivered {text:?}"))
}

fn waits_as_long_as_asked(plan: &Plan, observed: &Observation) -> Option<String> {
    let asked = plan.wait?;
    let failed = observed.exchanges.first()?.error.as_ref()?.0;
    let waited = observed.sent.get(1)?.at.since(failed);
    (waited != asked).then(|| format!("was asked to wait {asked:?}, waited {waited:?}"))
}

fn counts_usage_once(_: &Plan, observed: &Observation) -> Option<String> {
    let output = observed.output.as_ref().ok()?;
    let mut sum = Usage::default();
    for event in observed.exchanges.iter().flat_map(|exchange| &exchange.events) {
        if let StreamEvent::Done { usage, .. } = event {
            sum += *usage;
        }
    }
    (output.usage != sum).then(|| format!("used {sum:?}, counted {:?}", output.usage))
}

fn keeps_the_key_to_itself(_: &Plan, observed: &Observation) -> Option<String> {
    let errors = observed.exchanges.iter().filter_map(|exchange| exchange.error.as_ref());
    let in_error = errors.map(|(_, error)| format!("{error:?}")).find(|words| words.contains(KEY));
    let in_url = observed.sent.iter().map(|sent| sent.url.clone()).find(|url| url.contains(KEY));
    in_error.or(in_url).map(|words| format!("the key leaked: {words}"))
}

fn stays_with_the_server(_: &Plan, observed: &Observation) -> Option<String> {
    let away = observed.sent.iter().find(|sent| !sent.url.starts_with("http://127.0.0.1/"));
    away.map(|sent| format!("sent a request to {}", sent.url))
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(80).collect()
}
