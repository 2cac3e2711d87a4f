//! Contracts for time and randomness, so that the driver runs unchanged under a virtual clock.

use crate::BoxFuture;
use crate::time::{Stamp, Timestamp};

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// Now, UTC.
    fn now(&self) -> Timestamp;

    /// Completes at `deadline` or soon after it.
    fn sleep_until(&self, deadline: Timestamp) -> BoxFuture<'static, ()>;
}

/// Where random bits come from: ids and jitter are made of them.
pub trait EntropySource: Send + Sync {
    /// Sixty-four fresh bits.
    fn bits(&self) -> u64;
}

/// A stamp for the next input.
pub fn stamp(clock: &dyn Clock, entropy: &dyn EntropySource) -> Stamp {
    Stamp { now: clock.now(), entropy: entropy.bits() }
}
