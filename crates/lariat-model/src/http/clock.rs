//! The clock that exchanges use in production.

use std::time::{Duration, SystemTime};

use lariat_core::BoxFuture;
use lariat_core::clock::Clock;
use lariat_core::time::Timestamp;

/// Reads wall time and waits with tokio's timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokioClock;

impl Clock for TokioClock {
    #[expect(clippy::disallowed_methods, reason = "providers made without a clock read the machine's")]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Timestamp::default().after(since_epoch)
    }

    fn sleep_until(&self, deadline: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(deadline.since(self.now())))
    }
}
