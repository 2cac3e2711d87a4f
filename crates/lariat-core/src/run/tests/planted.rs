//! Checks that these tests can fail: at least one of them catches each planted mistake of the machine.

use super::{approvals, budget, calls, compaction, interruptions, limits, order, recovery, replies};
use crate::planted::{Planted, plant};

/// Returns the tests that catch a mistake; empty for mistakes of the driver, which its own tests catch.
fn catchers(mistake: Planted) -> &'static [fn()] {
    match mistake {
        Planted::ResultsInCompletionOrder => &[calls::parallel_calls_run_together_with_results_in_call_order],
        Planted::NoAgentEndOnAbort => &[interruptions::cancel_at_any_point_ends_the_run],
        Planted::TwoAgentEnds => &[replies::retries_are_limited],
        Planted::RecoveryRerunsTools => &[recovery::tool_running_at_the_crash_does_not_run_again],
        Planted::DropsDeniedResult => &[approvals::model_receives_the_reason_of_a_denial],
        Planted::IgnoresTurnLimit => &[limits::turn_limit_allows_exactly_that_many_model_calls],
        Planted::IgnoresTokenLimit => &[limits::token_limit_includes_all_turns],
        Planted::LosesSteering => &[interruptions::message_at_any_point_is_delivered_or_queued_once],
        Planted::AfterTurnTooEarly => &[order::text_reply_has_the_documented_event_order],
        Planted::SkipsBeforeTurn => &[order::before_turn_false_ends_the_loop_without_a_turn],
        Planted::RetriesAfterDelivery => &[replies::broken_reply_is_withdrawn_and_requested_again],
        Planted::RunsTruncatedCalls => &[calls::calls_of_a_truncated_reply_do_not_run],
        Planted::RunsDeniedCalls => &[
            calls::denied_call_does_not_run_and_the_model_receives_the_reason,
            approvals::model_receives_the_reason_of_a_denial,
        ],
        Planted::IgnoresParallelSafety => &[calls::tool_that_is_not_parallel_safe_runs_alone],
        Planted::KeepsDuplicateIds => &[calls::repeated_and_empty_ids_become_unique],
        Planted::RecoveryGrantsPending => &[recovery::request_open_at_the_crash_is_sent_again],
        Planted::RetriesRefusedOverflow => &[compaction::overflow_without_compaction_fails_with_the_reason],
        Planted::SnapshotForgetsQueues => {
            &[recovery::resume_from_any_snapshot_equals_resume_from_the_journal]
        }
        Planted::ForgetsDeadline => &[recovery::time_between_crash_and_resume_is_not_counted],
        Planted::WarnsTwice => &[budget::each_level_causes_one_warning],
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
