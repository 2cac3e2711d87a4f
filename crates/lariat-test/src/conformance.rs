//! The conformance suite for stores, run against each of them.
//!
//! Every store is a [`SessionStore`], which a running loop needs:
//! [`store_conformance!`](crate::store_conformance) checks it. A store that also manages sessions is a
//! [`SessionArchive`]: [`archive_conformance!`](crate::archive_conformance) checks both contracts, also with
//! random operations that are compared with a model. Both macros turn each check into a test of its own. A
//! check panics with the difference.
//!
//! Your crate needs `tokio` with the features `macros` and `rt-multi-thread` among its dev-dependencies.
//!
//! ```
//! use std::sync::Arc;
//!
//! use lariat_core::BoxFuture;
//! use lariat_core::store::SessionStore;
//! use lariat_runtime::MemoryStore;
//! use lariat_test::conformance::StoreFixture;
//!
//! struct InMemory;
//!
//! impl StoreFixture for InMemory {
//!     fn open(&self) -> BoxFuture<'_, Arc<dyn SessionStore>> {
//!         Box::pin(async { Arc::new(MemoryStore::new()) as Arc<dyn SessionStore> })
//!     }
//!
//!     fn is_persistent(&self) -> bool {
//!         false
//!     }
//! }
//!
//! mod memory_store {
//!     lariat_test::store_conformance!(super::InMemory);
//! }
//!
//! # fn main() {
//! #     let runtime = tokio::runtime::Runtime::new().unwrap();
//! #     runtime.block_on(lariat_test::conformance::a_writer_that_was_replaced_is_fenced_off(&InMemory));
//! # }
//! ```
//!
//! Invariant: a check relies only on the contract of a store.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a check that fails panics")]

mod events;
mod managing;
mod random;
mod recorded;
mod writing;

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::archive::SessionArchive;
use lariat_core::store::SessionStore;

pub use events::{Script, description_event, message_event};
pub use managing::*;
pub use random::random_operations_agree_with_a_model;
pub use recorded::*;
pub use writing::*;

/// A location where a store keeps its data. Implement [`ArchiveFixture`] instead if the store is a
/// [`SessionArchive`].
pub trait StoreFixture: Send + Sync {
    /// Opens the store at this location; the first time, it is empty. Handles opened before have been
    /// dropped.
    fn open(&self) -> BoxFuture<'_, Arc<dyn SessionStore>>;

    /// Whether the data is still there when the store is opened again. An in-memory store forgets.
    fn is_persistent(&self) -> bool {
        true
    }
}

/// A location where a store that manages sessions keeps its data.
pub trait ArchiveFixture: Send + Sync {
    /// Opens the store at this location, as [`StoreFixture::open`] does.
    fn open(&self) -> BoxFuture<'_, Arc<dyn SessionArchive>>;

    /// Whether the data is still there when the store is opened again. An in-memory store forgets.
    fn is_persistent(&self) -> bool {
        true
    }
}

impl<F: ArchiveFixture> StoreFixture for F {
    fn open(&self) -> BoxFuture<'_, Arc<dyn SessionStore>> {
        Box::pin(async move { ArchiveFixture::open(self).await as Arc<dyn SessionStore> })
    }

    fn is_persistent(&self) -> bool {
        ArchiveFixture::is_persistent(self)
    }
}

/// Turns each check of a [`SessionStore`] into a test. The argument is an expression that creates a new
/// [`StoreFixture`].
#[macro_export]
macro_rules! store_conformance {
    ($place:expr) => {
        $crate::store_conformance!(@tests $place;
            appended_events_are_read_back_in_order
            an_append_at_the_wrong_position_is_rejected
            a_writer_that_was_replaced_is_fenced_off
            a_released_session_rejects_its_old_writer_and_accepts_a_new_one
            a_release_of_another_claim_changes_nothing
            exactly_one_of_several_racing_writers_wins
            an_unclaimed_session_is_empty_and_rejects_appends
            a_journal_is_read_from_any_position
            sessions_written_concurrently_keep_their_order
            large_content_is_read_back
            unknown_kinds_of_events_are_preserved
            blobs_are_kept_under_their_address
            session_ids_may_be_anything
            an_append_reports_its_durability_level
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

/// Turns each check of a [`SessionArchive`] into a test, and each check of
/// [`store_conformance!`](crate::store_conformance). The argument is an expression that creates a new
/// [`ArchiveFixture`].
#[macro_export]
macro_rules! archive_conformance {
    ($place:expr) => {
        $crate::store_conformance!($place);
        $crate::store_conformance!(@tests $place;
            an_unknown_session_has_no_history_and_no_summary
            a_journal_is_read_backwards_from_any_position
            sessions_with_any_id_are_listed
            a_watcher_is_notified_when_a_journal_grows
            a_summary_matches_the_journal
            sessions_are_listed_newest_first_by_page_and_condition
            sessions_are_listed_by_agent
            sessions_are_found_by_their_messages
            a_fork_shares_the_past_and_continues_independently
            a_fork_in_the_middle_of_a_long_session_has_its_own_summary
            a_fork_of_a_fork_reads_through
            an_invalid_fork_is_rejected
            a_deleted_session_is_gone_for_good
            a_fork_keeps_what_was_deleted_elsewhere
            learnings_and_goals_are_the_newest_of_all_sessions
            a_fork_has_the_checkpoints_that_it_shares
            garbage_is_collected_and_nothing_else
            the_newest_snapshot_within_the_limit_is_found
            an_intact_journal_verifies_as_sound
            random_operations_agree_with_a_model
        );
    };
}
