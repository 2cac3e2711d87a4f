//! A clock whose time passes only when the test moves it.
//!
//! [`VirtualClock`] has the current virtual instant and the sleeps that wait for a later one. The simulation
//! moves it; nothing here waits for real time.
//! Invariant: a sleep is registered exactly while it is polled and unfinished; dropping it leaves nothing
//! behind.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::clock::Clock;
use lariat_core::time::Timestamp;

/// Start of virtual time: 2025-11-15T00:00:00Z. Fixed, so that ids and timestamps are reproducible.
pub const EPOCH: Timestamp = Timestamp::from_millis(1_763_164_800_000);

/// A clock for simulations. Clones share the same time.
///
/// ```
/// use std::time::Duration;
/// use lariat_core::clock::Clock;
/// use lariat_test::{EPOCH, VirtualClock};
///
/// let clock = VirtualClock::new();
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now().since(EPOCH), Duration::from_secs(60));
/// ```
#[derive(Clone, Debug)]
pub struct VirtualClock {
    shared: Arc<ClockState>,
}

#[derive(Debug)]
struct ClockState {
    now: AtomicU64,
    sleepers: Mutex<Sleepers>,
}

/// Sorted by deadline, then by registration: sleeps with the same deadline wake in the order of registration.
#[derive(Debug, Default)]
struct Sleepers {
    wakers: BTreeMap<(u64, u64), Waker>,
    next_key: u64,
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl VirtualClock {
    /// Creates a clock at [`EPOCH`].
    pub fn new() -> Self {
        Self::at(EPOCH)
    }

    /// Creates a clock at another instant.
    pub fn at(now: Timestamp) -> Self {
        let shared = ClockState { now: AtomicU64::new(now.as_millis()), sleepers: Mutex::default() };
        Self { shared: Arc::new(shared) }
    }

    /// The clock as a trait object.
    pub fn shared(&self) -> Arc<dyn Clock> {
        Arc::new(self.clone())
    }

    /// Number of pending sleeps.
    pub fn pending(&self) -> usize {
        self.shared.lock().wakers.len()
    }

    /// The earliest deadline of a pending sleep.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.shared.lock().wakers.keys().next().map(|(deadline, _)| Timestamp::from_millis(*deadline))
    }

    /// Jumps to the earliest deadline and wakes everything due then. Returns false if no sleep is pending.
    pub fn advance_to_next(&self) -> bool {
        let Some(deadline) = self.next_deadline() else { return false };
        // After the clock was set back, a deadline can be in the past; time must not go back here.
        self.jump_to(deadline.max(self.now()));
        true
    }

    /// Advances the time and wakes everything due.
    pub fn advance(&self, duration: Duration) {
        self.jump_to(self.now().after(duration));
    }

    /// Sets the clock, also backwards, like a correction of a wall clock.
    pub fn jump_to(&self, now: Timestamp) {
        self.shared.now.store(now.as_millis(), Ordering::Release);
        let due = {
            let mut sleepers = self.shared.lock();
            // Keys sort by deadline first, so everything from here on is later than now.
            let later = match now.as_millis().checked_add(1) {
                Some(after) => sleepers.wakers.split_off(&(after, 0)),
                None => BTreeMap::new(),
            };
            std::mem::replace(&mut sleepers.wakers, later)
        };
        due.into_values().for_each(Waker::wake);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.shared.now.load(Ordering::Acquire))
    }

    fn sleep_until(&self, deadline: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(Sleep { shared: Arc::clone(&self.shared), deadline: deadline.as_millis(), key: None })
    }
}

impl ClockState {
    fn lock(&self) -> MutexGuard<'_, Sleepers> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Future of [`VirtualClock::sleep_until`].
#[derive(Debug)]
struct Sleep {
    shared: Arc<ClockState>,
    deadline: u64,
    key: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.shared.now.load(Ordering::Acquire) >= this.deadline {
            this.forget();
            return Poll::Ready(());
        }
        let mut sleepers = this.shared.lock();
        let key = *this.key.get_or_insert_with(|| {
            sleepers.next_key += 1;
            sleepers.next_key
        });
        sleepers.wakers.insert((this.deadline, key), context.waker().clone());
        Poll::Pending
    }
}

impl Sleep {
    fn forget(&mut self) {
        if let Some(key) = self.key.take() {
            self.shared.lock().wakers.remove(&(self.deadline, key));
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.forget();
    }
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
