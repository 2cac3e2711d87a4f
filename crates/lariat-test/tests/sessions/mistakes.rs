//! The mistakes of the toy host: each with the check of the suite that must notice it, and what the check then says.
//!
//! A macro, so that the tests of the suite and the proof of sessions use one list.

/// Passes the list to another macro.
macro_rules! mistakes {
    ($callback:ident) => {
        $callback! {
            notices_a_receipt_before_the_record:
                AcknowledgesBeforeRecording, a_title_is_set_and_removed, "but the journal records it";
            notices_a_retry_that_runs_twice:
                ExecutesRetryTwice, a_tool_call_runs_once, "is 2 times in the conversation";
            notices_other_content_taken_for_a_retry:
                TakesOtherContentForRetry, a_tool_call_runs_once, "another content under";
            notices_an_unknown_action_in_the_journal:
                RecordsUnknownAction, a_title_is_set_and_removed, "retries at rest changed the journal";
            notices_an_event_skipped_after_a_reconnect:
                SkipsEventAfterReconnect, a_tool_call_runs_once, "client B: `Synced` at 4 after 3 of 3 events";
            notices_synced_sent_twice: SendsSyncedTwice, a_tool_call_runs_once, "said `Synced` twice";
            notices_synced_sent_too_early: SyncsTooEarly, a_tool_call_runs_once, "`Synced` at 0 after 0 of 1 events";
            notices_a_cursor_of_another_store: TakesForeignCursor, a_tool_call_runs_once, "a cursor of another store got";
            notices_an_event_missing_from_the_newest:
                SkipsEventsOfLast, a_tool_call_runs_once, "the last 1 events: ";
            notices_a_log_with_two_starts:
                TakesTwoStarts, a_tool_call_runs_once, "`after` and `last` together got a log";
            notices_a_second_answer_that_wins: SecondAnswerWins, the_first_answer_wins, "expected [AlreadyAnswered]";
            notices_two_answers_that_win: SecondAnswerWins, races, "two answers got [Ok";
            notices_an_ignored_digest: IgnoresDigest, the_first_answer_wins, "expected [DigestMismatch]";
            notices_a_conflict_that_hides_the_winner: HidesWinner, the_first_answer_wins, "does not name the winner";
            notices_an_ask_that_hangs_without_a_client:
                HangsWithoutClient, an_ask_without_a_client_is_denied, "there is RequiresAction";
            notices_an_ask_that_stays_after_its_run: ShowsOldAsk, an_ask_ends_with_its_run, "waited for Asks([])";
            notices_a_view_without_a_queued_message:
                HidesQueuedMessage, the_queue_waits_for_the_run, "has the queue [], but the journal [";
            notices_a_view_with_wrong_usage: CountsUsageTwice, a_tool_call_runs_once, "has usage";
            notices_a_queue_that_resumes_by_itself: ResumesQueueByItself, an_interruption_pauses_the_queue, "Idle";
            notices_a_queue_lost_in_a_crash: LosesQueueInCrash, clients_edit_the_queue, "there is []";
            notices_a_tool_call_that_runs_again_after_a_crash: RunsToolAgainAfterCrash, a_tool_call_runs_once, "ran 2 times";
            notices_a_run_stopped_with_its_last_client:
                StopsRunWithLastClient, a_run_outlives_its_clients, "there is no such mark, status Idle";
            notices_steering_delivered_late:
                DeliversSteeringLate, steering_reaches_the_active_run, "waited for Delivered";
            notices_live_items_before_the_log: SendsLiveBeforeLog, a_tool_call_runs_once, "are durable";
            notices_live_items_dropped_silently:
                DropsLiveSilently, a_slow_live_reader_reads_the_log, "got no `Resync`";
            notices_a_session_on_two_pages: RepeatsSessionOnNextPage, sessions_are_listed, "times over all pages";
            notices_a_change_that_is_not_reported: ForgetsChange, changes_are_reported, "changes gave";
            notices_a_command_that_runs_before_its_record:
                RunsCommandBeforeRecord, a_users_command_runs_once, "ran 2 times";
            notices_a_command_that_runs_again_after_a_crash:
                RunsCommandAgainAfterCrash, a_crash_ends_a_users_command, "ran 2 times";
            notices_a_command_whose_output_is_lost:
                DropsCommandOutput, a_users_command_runs_once, "ended without a message with its output";
            notices_files_restored_too_far: RestoresTooMuch, files_are_restored, "waited for Files";
            notices_a_conversation_that_is_not_restored:
                KeepsConversation, a_conversation_is_restored, "the conversation returned to []";
            notices_a_restore_beside_a_run:
                RestoresBesideRun, a_restore_is_refused_while_a_run_works, "expected [WrongStatus]";
            notices_a_restore_to_an_unknown_message:
                RestoresToUnknownMessage, an_unknown_point_is_not_restored, "expected [NotFound]";
            notices_a_restore_lost_in_a_crash:
                ForgetsRestoreInCrash, a_restore_survives_a_crash, "waited for Files";
        }
    };
}

pub(crate) use mistakes;
