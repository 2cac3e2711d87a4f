//! The conformance suite for session hosts against a toy host: a right one passes, each wrong one fails.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test helpers fail the test when something is missing"
)]

mod handle;
mod mistakes;
mod outside_runs;
mod state;
mod toy;

use std::sync::Arc;

use lariat_test::sessions::{HostFixture, Report, run_all};
use toy::{Mistake, Toy};

/// Time is virtual: it passes when every task waits, so a check that fails after its time limit costs nothing.
#[tokio::test(start_paused = true)]
async fn correct_host_passes_the_suite() {
    let fixture: Arc<dyn HostFixture> = Arc::new(Toy::new(None));
    let report = run_all(&fixture, 25).await;
    println!("{report}");
    report.check();
    assert!(report.scripts >= 25 && report.reconnects > 1_000 && report.crashes > 100, "{report}");
}

mod on_threads {
    use super::Toy;

    lariat_test::session_conformance!(Toy::new(None));
}

/// Turns each mistake into a test: this check of the suite must notice it, and say so in these words.
macro_rules! tests {
    ($($name:ident: $mistake:ident, $check:ident, $words:literal;)*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                let fixture: Arc<dyn HostFixture> = Arc::new(Toy::new(Some(Mistake::$mistake)));
                let report = sessions::$check(&fixture).await;
                let is_noticed = report.failures.iter().any(|failure| failure.problem.contains($words));
                assert!(is_noticed, "{:?}: {report}", Mistake::$mistake);
            }
        )*
    };
}

mistakes::mistakes!(tests);

mod sessions {
    use super::{Arc, HostFixture, Report};

    pub(super) use lariat_test::sessions::*;

    pub(super) async fn races(fixture: &Arc<dyn HostFixture>) -> Report {
        race_answers(fixture, 3).await
    }
}
