//! The conformance suite for stores, run against each of them.
//!
//! Checks the contract of [`SessionArchive`], also with random operations that are compared with a model. A
//! check panics with the difference. Use [`crate::store_conformance!`], which turns each check into a test.
//! Invariant: a check relies only on the contract of a store.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a check that fails panics")]

mod events;
mod managing;
mod random;
mod writing;

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::archive::SessionArchive;

pub use events::{Script, described, said};
pub use managing::*;
pub use random::random_operations_agree_with_a_model;
pub use writing::*;

/// A location where a store keeps its data.
pub trait Place: Send + Sync {
    /// Opens the store at this location; the first time, it is empty. Handles opened before have been
    /// dropped.
    fn open(&self) -> BoxFuture<'_, Arc<dyn SessionArchive>>;

    /// Whether the data is still there when the store is opened again. An in-memory store forgets.
    fn keeps(&self) -> bool {
        true
    }
}

/// Turns each check into a test. The argument is an expression that creates a new [`Place`].
#[macro_export]
macro_rules! store_conformance {
    ($place:expr) => {
        $crate::store_conformance!(@tests $place;
            what_was_appended_is_read_back_in_order
            an_append_at_the_wrong_place_is_refused
            a_writer_that_was_replaced_is_fenced_off
            a_released_session_refuses_its_old_writer_and_takes_a_new_one
            a_release_of_another_claim_changes_nothing
            of_writers_that_race_for_one_place_exactly_one_wins
            a_session_nobody_claimed_is_empty_and_takes_nothing
            a_journal_is_read_from_any_place_in_both_directions
            sessions_written_beside_each_other_each_keep_their_order
            large_content_comes_back
            kinds_of_events_nobody_knows_come_back
            blobs_are_kept_under_their_address
            session_ids_may_be_anything
            the_level_that_was_met_is_stated
            somebody_who_waits_is_told_that_a_journal_grew
            a_summary_is_what_the_journal_says
            sessions_are_listed_newest_first_by_page_and_condition
            sessions_are_found_by_what_was_said
            a_fork_shares_the_past_and_goes_its_own_way
            a_fork_in_the_middle_of_a_long_session_has_its_own_summary
            a_fork_of_a_fork_reads_through
            a_fork_that_makes_no_sense_is_refused
            what_is_deleted_is_gone_and_stays_gone
            a_fork_keeps_what_was_deleted_elsewhere
            garbage_is_collected_and_nothing_else
            snapshots_are_found_by_how_much_they_cover
            a_sound_journal_is_called_sound
            random_operations_agree_with_a_model
        );
    };
    (@tests $place:expr; $($check:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $check() {
                $crate::conformance::$check(&$place).await;
            }
        )*
    };
}
