//! The conformance suite notices every mistake of a toy host.

use std::pin::Pin;
use std::sync::Arc;

use lariat_test::sessions::{HostFixture, Report};

use crate::fixtures::mistakes::mistakes;
use crate::fixtures::toy::{Mistake, Toy};

type Check = for<'a> fn(&'a Arc<dyn HostFixture>) -> Pin<Box<dyn Future<Output = Report> + 'a>>;

/// A mistake, the check that must notice it, and what the check then says.
struct Planted {
    mistake: Mistake,
    check: Check,
    words: &'static str,
}

macro_rules! list {
    ($($name:ident: $mistake:ident, $check:ident, $words:literal;)*) => {
        const PLANTED: &[Planted] = &[
            $(Planted {
                mistake: Mistake::$mistake,
                check: |fixture| Box::pin(checks::$check(fixture)),
                words: $words,
            }),*
        ];
    };
}

mistakes!(list);

mod checks {
    use super::{Arc, HostFixture, Report};

    pub(super) use lariat_test::sessions::*;

    pub(super) async fn races(fixture: &Arc<dyn HostFixture>) -> Report {
        race_answers(fixture, 3).await
    }
}

pub(crate) fn run() -> Result<bool, String> {
    let mut noticed = 0;
    for planted in PLANTED {
        // Time is virtual: a check that fails after its time limit costs nothing.
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().start_paused(true).build().map_err(|error| error.to_string())?;
        let fixture: Arc<dyn HostFixture> = Arc::new(Toy::new(Some(planted.mistake)));
        let report = runtime.block_on((planted.check)(&fixture));
        if report.failures.iter().any(|failure| failure.problem.contains(planted.words)) {
            noticed += 1;
        } else {
            println!("planted: {:?} was not noticed: {report}", planted.mistake);
        }
    }
    println!("planted: the suite noticed {noticed} of {} mistakes", PLANTED.len());
    Ok(noticed == PLANTED.len())
}
