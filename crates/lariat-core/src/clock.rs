//! Contracts for time and randomness, so that the driver runs unchanged under a virtual clock.

use crate::BoxFuture;
use crate::time::{Stamp, Timestamp};

/// A source of time.
pub trait Clock: Send + Sync {
    /// Returns the current time in UTC.
    fn now(&self) -> Timestamp;

    /// Completes at `deadline` or shortly after.
    fn sleep_until(&self, deadline: Timestamp) -> BoxFuture<'static, ()>;
}

/// A source of random bits for ids and jitter.
pub trait EntropySource: Send + Sync {
    /// Returns 64 new random bits.
    fn bits(&self) -> u64;
}

/// Creates the stamp for the next input.
pub fn stamp(clock: &dyn Clock, entropy: &dyn EntropySource) -> Stamp {
    Stamp { now: clock.now(), entropy: entropy.bits() }
}
