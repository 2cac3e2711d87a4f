//! How often a client repeats a request whose connection broke.

use std::time::Duration;

use lariat_api::Problem;
use tokio::time::sleep;

use super::exchange::ExchangeError;

/// How often to repeat a request whose connection broke. Each wait is twice the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// How often to repeat; 0 to fail at once.
    pub repeats: u32,
    /// The first wait.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    /// About 10 seconds in total: longer than a host needs to hand over to the next.
    fn default() -> Self {
        Self { repeats: 15, first_wait: Duration::from_millis(20), longest_wait: Duration::from_secs(1) }
    }
}

impl RetryPolicy {
    /// Fails at once.
    pub const fn never() -> Self {
        Self { repeats: 0, first_wait: Duration::ZERO, longest_wait: Duration::ZERO }
    }

    /// Starts to count.
    pub(super) const fn attempts(self) -> Attempts {
        Attempts { left: self.repeats, wait: self.first_wait, longest: self.longest_wait }
    }
}

/// The attempts that are left.
#[derive(Debug)]
pub(super) struct Attempts {
    left: u32,
    wait: Duration,
    longest: Duration,
}

impl Attempts {
    /// Waits before the next attempt. Returns the problem if the host refused or is silent, or if no attempt is
    /// left.
    pub(super) async fn wait_after(&mut self, error: ExchangeError) -> Result<(), Problem> {
        let problem = match error {
            ExchangeError::Refused(problem) | ExchangeError::Silent(problem) => return Err(problem),
            ExchangeError::Broken(problem) => problem,
        };
        self.left = self.left.checked_sub(1).ok_or(problem)?;
        sleep(self.wait).await;
        self.wait = self.wait.saturating_mul(2).min(self.longest);
        Ok(())
    }
}
