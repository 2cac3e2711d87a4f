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
