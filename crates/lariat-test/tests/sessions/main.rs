//! The conformance suite for session hosts against a toy host: a right one passes, each wrong one fails.

mod state;
mod toy;

use std::sync::Arc;

use lariat_test::sessions::{HostFixture, Report, run_all};
use toy::{Mistake, Toy};

async fn run(mistake: Option<Mistake>) -> Report {
    let fixture: Arc<dyn HostFixture> = Arc::new(Toy::new(mistake));
    run_all(&fixture, 25).await
}

/// Time is virtual: it passes when every task waits, so a check that waits in vain costs nothing.
#[tokio::test(start_paused = true)]
async fn a_right_host_passes() {
    let report = run(None).await;
    println!("{report}");
    report.check();
    assert!(report.scripts >= 25 && report.reconnects > 1_000 && report.crashes > 100, "{report}");
}

mod on_threads {
    use super::Toy;

    lariat_test::session_conformance!(Toy::new(None));
}

/// Turns each mistake into a test: the suite must notice it.
macro_rules! mistakes {
    ($($name:ident: $mistake:ident,)*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                let report = run(Some(Mistake::$mistake)).await;
                println!("{report}");
                assert!(!report.failures.is_empty(), "the suite passed a host with {:?}", Mistake::$mistake);
            }
        )*
    };
}

mistakes! {
    notices_a_receipt_before_the_record: AcknowledgesBeforeRecording,
    notices_a_retry_that_runs_twice: ExecutesRetryTwice,
    notices_other_content_taken_for_a_retry: TakesOtherContentForRetry,
    notices_an_unknown_action_in_the_journal: RecordsUnknownAction,
    notices_an_event_skipped_after_a_reconnect: SkipsEventAfterReconnect,
    notices_synced_sent_twice: SendsSyncedTwice,
    notices_synced_sent_too_early: SyncsTooEarly,
    notices_a_cursor_of_another_store: TakesForeignCursor,
    notices_a_second_answer_that_wins: SecondAnswerWins,
    notices_an_ignored_digest: IgnoresDigest,
    notices_a_conflict_that_hides_the_winner: HidesWinner,
    notices_an_ask_that_hangs_without_a_client: HangsWithoutClient,
    notices_an_ask_that_stays_after_its_run: ShowsOldAsk,
    notices_a_view_without_a_queued_message: HidesQueuedMessage,
    notices_a_view_with_wrong_usage: CountsUsageTwice,
    notices_a_queue_that_resumes_by_itself: ResumesQueueByItself,
    notices_a_queue_lost_in_a_crash: LosesQueueInCrash,
    notices_a_tool_call_that_runs_again_after_a_crash: RunsToolAgainAfterCrash,
    notices_a_run_stopped_with_its_last_client: StopsRunWithLastClient,
    notices_steering_delivered_late: DeliversSteeringLate,
    notices_live_items_before_the_log: SendsLiveBeforeLog,
    notices_live_items_dropped_silently: DropsLiveSilently,
    notices_a_session_on_two_pages: RepeatsSessionOnNextPage,
    notices_a_change_that_is_not_reported: ForgetsChange,
}
