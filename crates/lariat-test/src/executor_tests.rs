//! Tests of the executor: order, time, stalls, kills and the step budget.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use lariat_core::clock::Clock;

use super::*;
use crate::clock::EPOCH;

/// Returns `Pending` once, after waking itself.
async fn yield_once() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn order_of(seed: u64) -> Vec<(usize, usize)> {
    let order = RefCell::new(Vec::new());
    let mut executor = Executor::new(VirtualClock::new(), SeededRandom::new(seed));
    for task in 0..4 {
        let order = &order;
        executor.spawn(async move {
            for round in 0..4 {
                order.borrow_mut().push((task, round));
                yield_once().await;
            }
        });
    }
    assert_eq!(executor.run(1_000), Ok(()));
    drop(executor);
    order.into_inner()
}

#[test]
fn equal_seeds_give_equal_orders_and_other_seeds_differ() {
    assert_eq!(order_of(1), order_of(1));
    let distinct: std::collections::HashSet<_> = (0..20).map(order_of).collect();
    assert!(distinct.len() > 15, "{}", distinct.len());
}

#[test]
fn when_nothing_is_woken_time_jumps_to_the_next_deadline() {
    let clock = VirtualClock::new();
    let mut executor = Executor::new(clock.clone(), SeededRandom::new(1));
    let log = Rc::new(RefCell::new(Vec::new()));
    for hours in [3, 1, 2] {
        let (clock, log) = (clock.clone(), Rc::clone(&log));
        executor.spawn(async move {
            clock.sleep_until(EPOCH.after(Duration::from_secs(3_600 * hours))).await;
            log.borrow_mut().push(hours);
        });
    }
    assert_eq!(executor.run(100), Ok(()));
    assert_eq!(*log.borrow(), [1, 2, 3]);
    assert_eq!(clock.now().since(EPOCH), Duration::from_secs(3 * 3_600));
}

#[test]
fn a_deadlock_is_reported_and_does_not_hang() {
    let mut executor = Executor::new(VirtualClock::new(), SeededRandom::new(1));
    let stuck = executor.spawn(std::future::pending());
    executor.spawn(async {});
    assert_eq!(executor.run(100), Err(Halt::Stalled));
    assert_eq!(executor.step(), Step::Stalled);
    assert!(executor.is_alive(stuck));
    assert_eq!(executor.alive(), 1);
}

#[test]
fn a_task_that_keeps_waking_itself_runs_out_of_steps() {
    let mut executor = Executor::new(VirtualClock::new(), SeededRandom::new(1));
    executor.spawn(async {
        loop {
            yield_once().await;
        }
    });
    assert_eq!(executor.run(100), Err(Halt::OutOfSteps));
    assert_eq!(executor.steps(), 100);
}

#[test]
fn moving_the_clock_costs_a_step() {
    let clock = VirtualClock::new();
    let mut executor = Executor::new(clock.clone(), SeededRandom::new(1));
    executor.spawn(async move { clock.sleep_until(EPOCH.after(Duration::from_millis(1))).await });
    assert_eq!(executor.run(2), Err(Halt::OutOfSteps), "a poll and a movement");
    assert_eq!(executor.run(1), Ok(()));
}

#[test]
fn a_killed_task_is_dropped_at_once_and_its_wakers_are_harmless() {
    struct DropFlag<'a>(&'a Cell<u32>);
    impl Drop for DropFlag<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Cell::new(0);
    let kept = RefCell::new(None);
    let mut executor = Executor::new(VirtualClock::new(), SeededRandom::new(1));
    let task = executor.spawn(async {
        let _witness = DropFlag(&dropped);
        std::future::poll_fn::<(), _>(|context| {
            *kept.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    });
    assert_eq!(executor.step(), Step::Polled(task));
    assert!(executor.kill(task));
    assert_eq!(dropped.get(), 1);
    assert!(!executor.kill(task), "a dead task is not killed again");
    kept.borrow().as_ref().unwrap().wake_by_ref();
    assert_eq!(executor.step(), Step::Idle);
    assert_eq!(executor.run(10), Ok(()));
}

#[test]
fn a_task_woken_many_times_is_polled_once() {
    let polls = Cell::new(0);
    let kept = RefCell::new(None);
    let mut executor = Executor::new(VirtualClock::new(), SeededRandom::new(1));
    executor.spawn(std::future::poll_fn(|context| {
        polls.set(polls.get() + 1);
        *kept.borrow_mut() = Some(context.waker().clone());
        Poll::Pending
    }));
    executor.step();
    (0..5).for_each(|_| kept.borrow().as_ref().unwrap().wake_by_ref());
    assert_eq!(executor.run(10), Err(Halt::Stalled));
    assert_eq!(polls.get(), 2);
}

#[test]
fn one_task_can_be_run_while_the_others_wait() {
    let clock = VirtualClock::new();
    let mut executor = Executor::new(clock.clone(), SeededRandom::new(1));
    let daemon = executor.spawn(std::future::pending());
    let worker = executor.spawn(async move { clock.sleep_until(EPOCH.after(Duration::from_secs(1))).await });
    assert_eq!(executor.run_task(worker, 100), Ok(()));
    assert!(executor.is_alive(daemon) && !executor.is_alive(worker));
}

#[test]
fn block_on_returns_the_output_or_the_reason_why_not() {
    let clock = VirtualClock::new();
    let borrowed = String::from("borrowed");
    assert_eq!(block_on(&clock, async { borrowed.len() }), Ok(8));
    assert_eq!(block_on(&clock, std::future::pending::<()>()), Err(Halt::Stalled));
}
