//! The wall clock of a world on tokio: virtual time, which survives the process and jumps.
//!
//! Sleeps wait for a duration of tokio's paused time, as those of the product do. So a jump changes what the clock shows, and
//! wakes no sleep.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::clock::Clock;
use lariat_core::time::Timestamp;
use lariat_test::EPOCH;
use tokio::time::Instant;

/// A clock on tokio's time. Clones show the same time.
#[derive(Clone)]
pub(super) struct WallClock(Arc<Mutex<Reading>>);

#[derive(Clone, Copy)]
struct Reading {
    /// What it showed when the runtime of this process began.
    base: Timestamp,
    began: Option<Instant>,
}

impl WallClock {
    /// Creates a clock at the start of virtual time.
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Reading { base: EPOCH, began: None })))
    }

    /// Continues in the runtime of the caller, this long after the last process.
    pub(super) fn begin_process(&self, pause: Duration) {
        let base = self.now().after(pause);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Reading { base, began: Some(Instant::now()) };
    }

    /// Stops with the runtime of a process.
    pub(super) fn end_process(&self) {
        let base = self.now();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Reading { base, began: None };
    }

    /// Shows another time from now on. Never one before the start of virtual time.
    pub(super) fn jump(&self, distance: Duration, is_back: bool) {
        let mut reading = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let back = u64::try_from(distance.as_millis()).unwrap_or(u64::MAX);
        reading.base = if is_back {
            Timestamp::from_millis(reading.base.as_millis().saturating_sub(back).max(EPOCH.as_millis()))
        } else {
            reading.base.after(distance)
        };
    }
}

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let Reading { base, began } = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        base.after(began.map(|began| began.elapsed()).unwrap_or_default())
    }

    fn sleep_until(&self, deadline: Timestamp) -> BoxFuture<'static, ()> {
        // `since` is zero for a deadline in the past.
        Box::pin(tokio::time::sleep(deadline.since(self.now())))
    }
}
