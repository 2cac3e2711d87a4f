//! The system's clock and random generator.
//!
//! The only place of this crate that reads the wall clock, and the generator for ids and jitter. Neither is
//! suitable for security.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use lariat_core::BoxFuture;
use lariat_core::clock::{Clock, EntropySource};
use lariat_core::time::Timestamp;

/// The wall clock, with tokio's timer to wait.
///
/// ```
/// use lariat_core::clock::Clock;
/// use lariat_runtime::system::SystemClock;
///
/// let first = SystemClock.now();
/// assert!(SystemClock.now() >= first);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is where the runtime's time comes from")]
    fn now(&self) -> Timestamp {
        // A clock before 1970 is broken; time then stays at zero instead of failing the run.
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Timestamp::default().after(since_epoch)
    }

    fn sleep_until(&self, deadline: Timestamp) -> BoxFuture<'static, ()> {
        let clock = *self;
        Box::pin(async move {
            // Measured once: later steps of the wall clock neither shorten nor prolong the wait. tokio itself limits
            // durations that do not fit into an instant.
            tokio::time::sleep(deadline.since(clock.now())).await;
        })
    }
}

/// Weyl step of splitmix64: the golden ratio in 64 bits.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Random bits for ids and jitter: splitmix64 from a seed of the operating system, one atomic addition per call.
///
/// ```
/// use lariat_core::clock::EntropySource;
/// use lariat_runtime::system::SystemEntropy;
///
/// let entropy = SystemEntropy::new();
/// assert_ne!(entropy.bits(), entropy.bits());
/// ```
#[derive(Debug)]
pub struct SystemEntropy {
    state: AtomicU64,
}

impl SystemEntropy {
    /// Creates a generator with a fresh seed.
    pub fn new() -> Self {
        // The fixed version and variant bits of a UUID v4 are at different positions in its halves, so each bit of
        // the combination has a random part.
        let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
        Self { state: AtomicU64::new(high ^ low) }
    }
}

impl Default for SystemEntropy {
    fn default() -> Self {
        Self::new()
    }
}

impl EntropySource for SystemEntropy {
    fn bits(&self) -> u64 {
        let mut z = self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use futures_util::future::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn sleeps_until_the_deadline() {
        let begin = tokio::time::Instant::now();
        SystemClock.sleep_until(SystemClock.now().after(Duration::from_secs(3_600))).await;
        let slept = begin.elapsed();
        assert!(slept >= Duration::from_secs(3_599) && slept <= Duration::from_secs(3_601), "{slept:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn past_deadline_does_not_wait() {
        let begin = tokio::time::Instant::now();
        SystemClock.sleep_until(Timestamp::from_millis(1)).await;
        assert!(begin.elapsed() <= Duration::from_millis(1));
    }

    #[tokio::test]
    async fn latest_possible_deadline_does_not_panic() {
        let mut never = SystemClock.sleep_until(Timestamp::from_millis(u64::MAX));
        assert_eq!((&mut never).now_or_never(), None);
    }

    #[test]
    fn wall_clock_is_after_2025() {
        assert!(SystemClock.now() > Timestamp::from_millis(1_735_689_600_000));
    }

    #[test]
    fn bits_do_not_repeat_within_a_source_or_between_sources() {
        let sources: Vec<_> = (0..4).map(|_| SystemEntropy::new()).collect();
        let seen: HashSet<u64> =
            sources.iter().flat_map(|source| (0..10_000).map(|_| source.bits())).collect();
        assert_eq!(seen.len(), 40_000);
    }

    #[test]
    fn threads_that_share_a_source_get_different_bits() {
        let source = SystemEntropy::new();
        let mut all: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..10_000).map(|_| source.bits()).collect::<Vec<_>>()))
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 40_000);
    }
}
