//! Checks that these tests can fail: at least one of them catches each planted mistake of the machine.

use super::{approvals, budget, calls, compaction, every_point, limits, order, recovery, replies};
use crate::planted::{Planted, plant};

/// Returns the tests that catch a mistake; empty for mistakes of the driver, which its own tests catch.
fn catchers(mistake: Planted) -> &'static [fn()] {
    match mistake {
        Planted::ResultsInCompletionOrder => {
            &[calls::parallel_calls_run_together_and_their_results_come_in_call_order]
        }
        Planted::NoAgentEndOnAbort => &[every_point::cancelling_at_any_point_ends_the_run_properly],
        Planted::TwoAgentEnds => &[replies::retries_come_to_an_end],
        Planted::RecoveryRerunsTools => &[recovery::a_tool_that_ran_at_the_crash_is_not_run_again],
        Planted::DropsDeniedResult => &[approvals::a_denial_is_told_to_the_model_with_its_reason],
        Planted::IgnoresTurnLimit => &[limits::the_turn_limit_allows_exactly_that_many_model_calls],
        Planted::IgnoresTokenLimit => &[limits::the_token_limit_counts_all_turns],
        Planted::LosesSteering => {
            &[every_point::what_a_user_says_at_any_point_is_never_lost_and_never_said_twice]
        }
        Planted::AfterTurnTooEarly => &[order::a_reply_in_words_has_the_order_of_the_seed],
        Planted::SkipsBeforeTurn => &[order::before_turn_that_says_no_ends_the_loop_without_a_turn],
        Planted::RetriesAfterDelivery => &[replies::a_reply_that_broke_is_withdrawn_and_asked_for_again],
        Planted::RunsTruncatedCalls => &[calls::calls_of_a_reply_that_was_cut_off_are_not_run],
        Planted::RunsDeniedCalls => &[
            calls::a_call_the_gate_denies_does_not_run_and_the_model_is_told_why,
            approvals::a_denial_is_told_to_the_model_with_its_reason,
        ],
        Planted::IgnoresParallelSafety => &[calls::a_tool_that_is_not_parallel_safe_runs_alone],
        Planted::KeepsDuplicateIds => &[calls::ids_that_repeat_or_are_empty_are_made_unique],
        Planted::RecoveryGrantsPending => &[recovery::a_question_that_was_open_at_the_crash_is_asked_again],
        Planted::RetriesRefusedOverflow => {
            &[compaction::an_overflow_that_cannot_be_compacted_fails_and_says_why]
        }
        Planted::SnapshotForgetsQueues => {
            &[recovery::a_loop_goes_on_from_any_snapshot_as_from_its_whole_journal]
        }
        Planted::ForgetsDeadline => &[recovery::time_between_crash_and_recovery_does_not_count],
        Planted::WarnsTwice => &[budget::each_level_is_warned_of_once],
        _ => &[],
    }
}

#[test]
fn every_planted_mistake_of_the_machine_is_caught() {
    let of_the_driver = [
        Planted::DispatchBeforeAppend,
        Planted::PublishesBeforeAck,
        Planted::IgnoresAppendError,
        Planted::AppendsTwice,
        // Mistakes of the pool.
        Planted::SettlesTwice,
        Planted::ForgetsToRelease,
        Planted::ChildIgnoresPool,
    ];
    for mistake in Planted::ALL.iter().chain(Planted::OF_BUDGETS) {
        let catchers = catchers(*mistake);
        assert_eq!(catchers.is_empty(), of_the_driver.contains(mistake), "{mistake:?}");
        for test in catchers {
            plant(Some(*mistake));
            let outcome = std::panic::catch_unwind(test);
            plant(None);
            assert!(outcome.is_err(), "{mistake:?} was not caught");
            test();
        }
    }
}
