//! Making room: within a turn after an overflow, by itself at the threshold, and not for ever.

use super::catalogue;
use super::harness::Harness;
use super::story::*;
use super::truths::{self, own};
use crate::event::{AgentEvent, CompactionCause, RunOutcome};

fn refusals(harness: &Harness) -> Vec<(CompactionCause, String)> {
    let refused = |event: &AgentEvent| match event {
        AgentEvent::CompactionRefused { cause, reason, .. } => Some((*cause, reason.clone())),
        _ => None,
    };
    own(&harness.journal).filter_map(refused).collect()
}

#[test]
fn an_overflow_is_compacted_and_retried_within_the_same_turn() {
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
    assert_eq!(harness.conversation(), ["user: and now?", "assistant: better"]);
    assert_eq!((harness.sent[0].len(), harness.sent[1].len()), (3, 1));
    truths::check(&harness);
}

#[test]
fn what_compaction_says_it_saved_it_saved() {
    let harness = catalogue::overflowed().play();
    let (before, after) = own(&harness.journal)
        .find_map(|event| match event {
            AgentEvent::Compaction { tokens_before, tokens_after, .. } => {
                Some((*tokens_before, *tokens_after))
            }
            _ => None,
        })
        .unwrap();
    assert!(before > 300 && after < 20, "from {before} to {after}");
}

#[test]
fn a_second_overflow_in_the_same_turn_fails() {
    let harness = catalogue::overflowed_twice().play();
    assert_eq!(harness.count("effect Compact Overflow"), 1);
    assert_eq!(harness.count("effect CallModel"), 2);
    assert!(matches!(harness.outcome(), RunOutcome::Failed { error } if error.contains("context overflow")));
    assert_eq!(harness.count("hook on_error"), 1);
    truths::check(&harness);
}

#[test]
fn an_overflow_in_a_later_turn_is_compacted_again() {
    let story = catalogue::in_small_window(1).reply(overflow()).reply(calls(&["a"])).reply(overflow());
    let harness = story.scripted(|script| script.compactor = Compactor::AllButLast).play();
    assert_eq!(harness.count("effect Compact Overflow"), 2);
}

#[test]
pub(super) fn an_overflow_that_cannot_be_compacted_fails_and_says_why() {
    for (compactor, why) in
        [(Compactor::Nothing, "nothing left"), (Compactor::Nonsense, "not in the conversation")]
    {
        let story = catalogue::in_small_window(1).reply(overflow());
        let harness = story.scripted(|script| script.compactor = compactor).play();
        assert_eq!(refusals(&harness).len(), 1);
        assert!(refusals(&harness)[0].1.contains(why), "{:?}", refusals(&harness));
        assert!(matches!(harness.outcome(), RunOutcome::Failed { error } if error.contains(why)));
        assert_eq!(harness.count("effect CallModel"), 1);
        truths::check(&harness);
    }
}

#[test]
fn without_a_context_configuration_nothing_is_compacted() {
    let story = Story::new("and now?").after(long_talk(3)).reply(overflow());
    let harness = story.scripted(|script| script.compactor = Compactor::AllButLast).play();
    assert!(harness.lines(&["effect Compact"]).is_empty());
    assert!(matches!(harness.outcome(), RunOutcome::Failed { .. }));
}

#[test]
fn a_conversation_above_the_threshold_is_compacted_before_the_model_is_called() {
    let harness = catalogue::compacted().play();
    assert!(harness.is_before("effect Compact Threshold", "effect CallModel"));
    assert_eq!(harness.sent[0].len(), 1);
    assert_eq!(harness.outcome(), &RunOutcome::Completed);
    truths::check(&harness);
}

#[test]
fn a_conversation_below_the_threshold_is_left_alone() {
    let story = catalogue::in_small_window(1).scripted(|script| script.compactor = Compactor::AllButLast);
    let harness = story.play();
    assert!(harness.lines(&["effect Compact"]).is_empty());
    assert_eq!(harness.sent[0].len(), 3);
}

#[test]
fn compaction_that_was_refused_twice_is_not_tried_a_third_time() {
    let harness = catalogue::compaction_refused().play();
    assert_eq!(harness.count("event TurnStart"), 4);
    assert_eq!(
        harness.lines(&["effect Compact", "effect CallModel"]),
        [
            "effect Compact Threshold",
            "effect CallModel",
            "effect Compact Threshold",
            "effect CallModel",
            "effect CallModel",
            "effect CallModel"
        ],
        "once a turn"
    );
    let causes: Vec<_> = refusals(&harness).into_iter().map(|(cause, _)| cause).collect();
    assert_eq!(causes, [CompactionCause::Threshold, CompactionCause::Threshold]);
    assert_eq!(
        harness.outcome(),
        &RunOutcome::Completed,
        "refusal is no failure while the model still answers"
    );
    truths::check(&harness);
}

#[test]
fn compaction_that_hardly_shrinks_is_refused() {
    // Next to the system prompt the conversation is small: dropping nearly all of it saves less than a fifth.
    let story = Story::new("and now?").after(long_talk(8)).configured(|config| {
        let mut context = crate::config::ContextConfig::with_window(1_000);
        context.system_prompt_tokens = 100_000;
        config.context = Some(context);
    });
    let harness = story.scripted(|script| script.compactor = Compactor::AllButLast).play();
    let reason = &refusals(&harness)[0].1;
    assert!(reason.contains("shrink only"), "{reason}");
    truths::check(&harness);
}

#[test]
fn cancelling_while_compacting_ends_the_run() {
    let mut harness = catalogue::compacted().begin();
    while !harness.logged("effect Compact Threshold") {
        harness.step();
    }
    harness.say(Say::Cancel);
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
    harness.drive();
    assert!(!harness.logged("event Compaction"), "an overlay that comes too late is not laid");
    truths::check(&harness);
}
