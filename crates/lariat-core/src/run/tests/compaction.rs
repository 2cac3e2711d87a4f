//! Tests of compaction: after an overflow, at the thresholds, and its limits.

use super::super::Input;
use super::catalogue;
use super::harness::Harness;
use super::invariants::{self, own};
use super::scenario::*;
use crate::event::{AgentEvent, CompactionCause, RunOutcome};
use crate::model::ProviderError;
use crate::usage::Usage;

fn refusals(harness: &Harness) -> Vec<(CompactionCause, String)> {
    let refused = |event: &AgentEvent| match event {
        AgentEvent::CompactionRefused { cause, reason, .. } => Some((*cause, reason.clone())),
        _ => None,
    };
    own(&harness.journal).filter_map(refused).collect()
}

#[test]
fn overflow_compacts_and_retries_in_the_same_turn() {
    let harness = catalogue::overflowed().play();
    assert_eq!(
        harness.lines(&["effect", "event TurnStart", "event TurnEnd", "event Compaction"]),
        [
            "event TurnStart",
            "effect CallModel",
            "effect Compact Overflow",
            "event Compaction",
            "effect CallModel",
            "event TurnEnd",
            "effect Finish",
        ]
    );
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    assert_eq!(harness.conversation(), ["user: question 0", "user: and now?", "assistant: better"]);
    assert_eq!((harness.sent[0].len(), harness.sent[1].len()), (3, 2));
    invariants::check(&harness);
}

#[test]
fn compaction_event_reports_the_saved_tokens() {
    let harness = catalogue::overflowed().play();
    let (before, after) = own(&harness.journal)
        .find_map(|event| match event {
            AgentEvent::Compaction { tokens_before, tokens_after, .. } => {
                Some((*tokens_before, *tokens_after))
            }
            _ => None,
        })
        .unwrap();
    assert!(before > 300 && after < 30, "from {before} to {after}");
}

#[test]
fn repeated_overflow_ends_with_the_largest_messages() {
    let harness = catalogue::overflowed_twice().play();
    assert_eq!(harness.count("effect Compact Overflow"), 2);
    assert_eq!(harness.count("effect CallModel"), 2);
    let RunOutcome::ContextFull(full) = harness.outcome() else { panic!("{:?}", harness.outcome()) };
    assert!(full.reason.contains("nothing left"), "{full}");
    assert_eq!(full.window, Some(1_000));
    assert_eq!(full.largest.len(), 2, "two prompts remain");
    assert_eq!(harness.count("hook on_error"), 1);
    invariants::check(&harness);
}

#[test]
fn overflow_in_a_later_turn_compacts_again() {
    let scenario = catalogue::in_small_window(1).reply(overflow()).reply(calls(&["a"])).reply(overflow());
    let harness = scenario.scripted(|script| script.compactor = Compactor::Replies).play();
    assert_eq!(harness.count("effect Compact Overflow"), 2);
}

#[test]
fn overflow_without_compaction_fails_with_the_reason() {
    for (compactor, why) in
        [(Compactor::Nothing, "nothing left"), (Compactor::Nonsense, "not in the conversation")]
    {
        let scenario = catalogue::in_small_window(1).reply(overflow());
        let harness = scenario.scripted(|script| script.compactor = compactor).play();
        assert_eq!(refusals(&harness).len(), 1);
        assert!(refusals(&harness)[0].1.contains(why), "{:?}", refusals(&harness));
        let RunOutcome::ContextFull(full) = harness.outcome() else { panic!("{:?}", harness.outcome()) };
        assert!(full.reason.contains(why), "{full}");
        assert_eq!(full.largest[0].message_id, harness.sent[0].iter().nth(1).unwrap().id());
        assert!(
            full.largest[0].tokens > 400 && full.to_string().contains("the largest: message m"),
            "{full}"
        );
        assert_eq!(harness.count("effect CallModel"), 1);
        invariants::check(&harness);
    }
}

#[test]
fn no_compaction_without_a_context_configuration() {
    let scenario = Scenario::new("and now?").after(long_talk(3)).reply(overflow());
    let harness = scenario.scripted(|script| script.compactor = Compactor::Replies).play();
    assert!(harness.lines(&["effect Compact"]).is_empty());
    let RunOutcome::ContextFull(full) = harness.outcome() else { panic!("{:?}", harness.outcome()) };
    assert_eq!((full.window, full.largest.len()), (None, 5));
    assert!(!harness.logged("event CompactionWarning"));
}

#[test]
fn emergency_compacts_before_the_model_call() {
    let harness = catalogue::compacted().play();
    assert!(harness.is_before("event CompactionWarning", "effect Compact Emergency"));
    assert!(harness.is_before("effect Compact Emergency", "effect CallModel"));
    assert!(harness.is_before("event Compaction", "effect CallModel"));
    assert_eq!(harness.sent[0].len(), 4, "the user messages");
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    invariants::check(&harness);
}

#[test]
fn compaction_is_prepared_during_a_reply_and_applied_before_the_next() {
    let harness = catalogue::prepared().play();
    assert_eq!(
        harness.lines(&["effect Compact", "effect CallModel", "event Compaction"]),
        [
            "event CompactionWarning",
            "effect Compact Threshold",
            "effect CallModel",
            "event Compaction",
            "effect CallModel"
        ]
    );
    assert_eq!(harness.sent.iter().map(|window| window.len()).collect::<Vec<_>>(), [3, 4]);
    invariants::check(&harness);
}

#[test]
fn count_below_the_estimate_avoids_compaction() {
    let harness = catalogue::counted_by_provider(Some(300)).play();
    assert_eq!(
        harness.count("effect CountTokens"),
        1,
        "the result of the tool adds too little to count again"
    );
    assert!(harness.is_before("event ContextCounted", "effect CallModel"));
    assert!(harness.lines(&["effect Compact", "event CompactionWarning"]).is_empty());
    invariants::check(&harness);
}

#[test]
fn count_above_the_estimate_compacts_before_the_model_call() {
    let harness = catalogue::counted_by_provider(Some(485)).play();
    assert!(harness.is_before("event ContextCounted", "effect Compact Emergency"));
    assert!(harness.is_before("event Compaction", "effect CallModel"));
    invariants::check(&harness);
}

#[test]
fn provider_that_cannot_count_is_asked_once_per_turn() {
    let harness = catalogue::counted_by_provider(None).play();
    assert_eq!(harness.count("effect CountTokens"), 2, "in each of the two turns");
    assert!(!harness.logged("event ContextCounted"));
    assert_eq!(harness.count("effect Compact Threshold"), 1, "the estimate decides");
    invariants::check(&harness);
}

#[test]
fn nothing_is_counted_far_from_the_window() {
    let scenario = catalogue::in_small_window(1).configured(|config| config.counts_tokens = true);
    let harness = scenario.scripted(|script| script.count = Some(990)).play();
    assert_eq!(harness.count("effect CountTokens"), 0);
}

#[test]
fn cancel_ends_a_token_count() {
    let mut harness = catalogue::counted_by_provider(Some(300)).begin();
    while !harness.logged("effect CountTokens") {
        harness.step();
    }
    harness.inject(TestAction::Cancel);
    harness.drive();
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
    assert!(!harness.logged("event ContextCounted"), "a late count is not recorded");
    invariants::check(&harness);
}

#[test]
fn prepared_compaction_is_applied_at_the_end_of_the_run() {
    let harness = catalogue::prepared_at_the_end().play();
    assert!(harness.is_before("effect CallModel", "event Compaction"));
    assert!(harness.is_before("event Compaction", "event AgentEnd"));
    assert_eq!(harness.conversation(), ["user: question 0", "user: and now?", "assistant: fine"]);
    invariants::check(&harness);
}

/// Found by the simulator: `AgentEnd` was recorded without what the compaction cost.
#[test]
fn failed_run_includes_the_usage_of_a_compaction_that_it_discards() {
    let failure = fails(ProviderError::Auth("no".into()));
    let scenario = catalogue::prepared_at_the_end().scripted(|script| script.replies = [failure].into());
    let harness = scenario.play();
    assert!(harness.is_before("event CompactionRefused", "event AgentEnd"));
    let end = own(&harness.journal).find_map(|event| match event {
        AgentEvent::AgentEnd { usage, .. } => Some(*usage),
        _ => None,
    });
    assert_eq!(end, Some(Usage::new(3, 1)));
}

#[test]
fn run_does_not_wait_for_unprepared_compaction() {
    let harness = catalogue::prepared_too_late().play();
    assert_eq!(
        harness.lines(&["effect Compact", "effect CallModel", "event Compaction"]),
        ["event CompactionWarning", "effect Compact Threshold", "effect CallModel", "effect CallModel"]
    );
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    invariants::check(&harness);
}

#[test]
fn edit_of_a_user_message_is_refused() {
    let harness = catalogue::prepared_for_nothing().play();
    let words = harness.sent[1].iter().filter(|message| message.as_user().is_some()).count();
    assert_eq!(words, 2);
    assert!(refusals(&harness)[0].1.contains("must stay as it is"), "{:?}", refusals(&harness));
    invariants::check(&harness);
}

#[test]
fn message_pinned_after_preparation_stays() {
    let pinned = long_talk(1)[1].id();
    let mut harness = catalogue::prepared().begin();
    while !harness.logged("effect RunTool a") {
        harness.step();
    }
    harness.give(Input::Pin { message: pinned, pinned: true });
    harness.drive();
    assert!(harness.logged("event MessagePinned"));
    assert!(harness.sent[1].iter().any(|message| message.id() == pinned));
    assert!(refusals(&harness)[0].1.contains("must stay as it is"), "{:?}", refusals(&harness));
    invariants::check(&harness);
}

#[test]
fn cancel_discards_a_compaction_in_preparation() {
    let mut harness = catalogue::prepared_too_late().begin();
    while !harness.logged("effect CallModel") {
        harness.step();
    }
    harness.inject(TestAction::Cancel);
    harness.drive();
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
    assert!(!harness.logged("event Compaction"), "a late compaction is not applied");
    invariants::check(&harness);
}

#[test]
fn no_compaction_below_the_threshold() {
    let scenario = catalogue::in_small_window(1).scripted(|script| script.compactor = Compactor::Replies);
    let harness = scenario.play();
    assert!(harness.lines(&["effect Compact"]).is_empty());
    assert_eq!(harness.sent[0].len(), 3);
}

#[test]
fn compaction_is_not_tried_after_two_refusals() {
    let harness = catalogue::compaction_refused().play();
    assert_eq!(harness.count("event TurnStart"), 4);
    assert_eq!(
        harness.lines(&["effect Compact", "effect CallModel"]),
        [
            "effect Compact Emergency",
            "effect CallModel",
            "effect Compact Emergency",
            "effect CallModel",
            "effect CallModel",
            "effect CallModel"
        ],
        "once per turn"
    );
    let causes: Vec<_> = refusals(&harness).into_iter().map(|(cause, _)| cause).collect();
    assert_eq!(causes, [CompactionCause::Emergency, CompactionCause::Emergency]);
    assert_eq!(
        harness.outcome(),
        &RunOutcome::Completed,
        "a refusal is not a failure while the model still answers"
    );
    invariants::check(&harness);
}

#[test]
fn compaction_that_saves_too_little_is_refused() {
    // The conversation is small compared with the system prompt: dropping nearly all of it saves less than a
    // fifth.
    let scenario = Scenario::new("and now?").after(long_talk(8)).configured(|config| {
        let mut context = crate::config::ContextConfig::with_window(1_000);
        (context.keep_first, context.keep_recent) = (0, 1);
        context.system_prompt_tokens = 100_000;
        config.context = Some(context);
    });
    let harness = scenario.scripted(|script| script.compactor = Compactor::Replies).play();
    let reason = &refusals(&harness)[0].1;
    assert!(reason.contains("shrink only"), "{reason}");
    invariants::check(&harness);
}

#[test]
fn cancel_during_compaction_ends_the_run() {
    let mut harness = catalogue::compacted().begin();
    while !harness.logged("effect Compact Emergency") {
        harness.step();
    }
    harness.inject(TestAction::Cancel);
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
    harness.drive();
    assert!(!harness.logged("event Compaction"), "late edits are not applied");
    invariants::check(&harness);
}
