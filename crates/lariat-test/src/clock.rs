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
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn poll(sleep: &mut BoxFuture<'static, ()>, count: &Arc<Count>) -> Poll<()> {
        let waker = Waker::from(Arc::clone(count));
        sleep.as_mut().poll(&mut Context::from_waker(&waker))
    }

    #[test]
    fn sleeps_end_in_the_order_of_their_deadlines() {
        let clock = VirtualClock::new();
        let counts: Vec<Arc<Count>> = (0..3).map(|_| Arc::default()).collect();
        let mut sleeps: Vec<_> =
            [30, 10, 20].map(|ms| clock.sleep_until(EPOCH.after(Duration::from_millis(ms)))).into();
        for (sleep, count) in sleeps.iter_mut().zip(&counts) {
            assert!(poll(sleep, count).is_pending());
        }
        let woken = || counts.iter().map(|count| count.0.load(Ordering::Relaxed)).collect::<Vec<_>>();
        for (expected, elapsed) in [([0, 1, 0], 10), ([0, 1, 1], 20), ([1, 1, 1], 30)] {
            assert!(clock.advance_to_next());
            assert_eq!(woken(), expected);
            assert_eq!(clock.now().since(EPOCH), Duration::from_millis(elapsed));
        }
        assert!(!clock.advance_to_next());
        assert!(sleeps.iter_mut().zip(&counts).all(|(sleep, count)| poll(sleep, count).is_ready()));
    }

    #[test]
    fn a_dropped_sleep_leaves_nothing_behind() {
        let clock = VirtualClock::new();
        let count = Arc::default();
        let mut sleep = clock.sleep_until(EPOCH.after(Duration::from_secs(1)));
        assert_eq!(clock.pending(), 0, "a sleep that was never polled is not pending");
        assert!(poll(&mut sleep, &count).is_pending());
        assert!(poll(&mut sleep, &count).is_pending());
        assert_eq!(clock.pending(), 1, "polling again replaces the waker");
        drop(sleep);
        assert_eq!(clock.pending(), 0);
        assert_eq!(Arc::strong_count(&count), 1);
        assert!(!clock.advance_to_next());
    }

    #[test]
    fn advancing_wakes_only_due_sleeps() {
        let clock = VirtualClock::new();
        let count = Arc::default();
        let mut sleep = clock.sleep_until(EPOCH.after(Duration::from_millis(10)));
        assert!(poll(&mut sleep, &count).is_pending());
        clock.advance(Duration::from_millis(9));
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
        assert!(poll(&mut sleep, &count).is_pending());
        clock.advance(Duration::from_millis(1));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(poll(&mut sleep, &count).is_ready());
    }

    #[test]
    fn sleeps_stay_pending_when_the_clock_is_set_back() {
        let clock = VirtualClock::new();
        let count = Arc::default();
        let deadline = EPOCH.after(Duration::from_secs(1));
        let mut sleep = clock.sleep_until(deadline);
        assert!(poll(&mut sleep, &count).is_pending());
        clock.jump_to(Timestamp::from_millis(EPOCH.as_millis() - 5_000));
        assert!(poll(&mut sleep, &count).is_pending());
        assert!(clock.advance_to_next());
        assert_eq!(clock.now(), deadline);
    }

    #[test]
    fn a_deadline_in_the_past_completes_at_once() {
        let clock = VirtualClock::new();
        assert!(poll(&mut clock.sleep_until(EPOCH), &Arc::default()).is_ready());
        assert_eq!(clock.pending(), 0);
    }
}
