use std::task::Context;

use futures_util::task::noop_waker;
use lariat_core::usage::Usage;

use super::*;

fn tokens(amount: u64) -> SpentAmounts {
    SpentAmounts::reply(&Usage::new(amount, 0))
}

fn poll_admit(pool: &BudgetPool, estimate: SpentAmounts) -> Poll<Result<Reservation, BudgetStatus>> {
    let waker = noop_waker();
    pool.poll_admit(estimate, &Context::from_waker(&waker))
}

fn pool(cap: u64) -> BudgetPool {
    BudgetPool::new(BudgetLimits::none().with_tokens(cap))
}

#[test]
fn calls_that_fit_run_in_parallel_and_others_wait() {
    let pool = pool(100);
    let (Poll::Ready(Ok(one)), Poll::Ready(Ok(two))) =
        (poll_admit(&pool, tokens(40)), poll_admit(&pool, tokens(40)))
    else {
        panic!("both fit")
    };
    assert!(poll_admit(&pool, tokens(40)).is_pending());
    one.settle(tokens(10));
    let Poll::Ready(Ok(three)) = poll_admit(&pool, tokens(40)) else { panic!("it fits now") };
    two.settle(tokens(40));
    three.settle(tokens(40));
    assert_eq!((pool.spent().tokens, pool.spent().turns), (90, 3));
}

#[test]
fn last_call_is_admitted_alone_and_none_after_it() {
    let pool = pool(100);
    pool.try_admit(tokens(95)).unwrap().settle(tokens(95));
    let last = pool.try_admit(tokens(40)).unwrap();
    assert!(poll_admit(&pool, tokens(1)).is_pending(), "no call in parallel with it");
    last.settle(tokens(40));
    let Poll::Ready(Err(standing)) = poll_admit(&pool, tokens(1)) else { panic!("it is used up") };
    assert_eq!((standing.used, standing.cap), (135, 100));
    pool.extend(&BudgetLimits::none().with_tokens(100));
    assert!(pool.try_admit(tokens(10)).is_ok());
}

#[test]
fn dropped_reservation_is_returned() {
    let pool = pool(100);
    drop(pool.try_admit(tokens(100)).unwrap());
    assert!(pool.is_idle());
    assert_eq!(pool.spent(), SpentAmounts::default());
    assert!(pool.try_admit(tokens(100)).is_ok());
}

#[test]
fn child_stays_within_its_own_and_its_parents_limit() {
    let parent = pool(100);
    let (child, other) =
        (parent.child(BudgetLimits::none().with_tokens(30)), parent.child(BudgetLimits::none()));
    child.try_admit(tokens(30)).unwrap().settle(tokens(30));
    assert_eq!(child.try_admit(tokens(1)).unwrap_err().cap, 30);
    other.try_admit(tokens(70)).unwrap().settle(tokens(70));
    assert_eq!(other.try_admit(tokens(1)).unwrap_err().cap, 100);
    assert_eq!((child.spent().tokens, other.spent().tokens, parent.spent().tokens), (30, 70, 100));
    let nearest: Vec<(u64, u64)> = child.statuses().iter().map(|at| (at.used, at.cap)).collect();
    assert_eq!(nearest.len(), 1);
}

#[test]
fn tool_calls_over_the_limit_are_refused_without_waiting() {
    let pool = BudgetPool::new(BudgetLimits::none().with_tool_calls(2).with_tokens(10));
    pool.try_admit(tokens(10)).unwrap().settle(tokens(10));
    let one = pool.try_admit(SpentAmounts::tool_call()).unwrap();
    let two = pool.try_admit(SpentAmounts::tool_call()).unwrap();
    assert!(matches!(poll_admit(&pool, SpentAmounts::tool_call()), Poll::Ready(Err(_))));
    one.settle(SpentAmounts::tool_call());
    two.settle(SpentAmounts::tool_call());
    assert_eq!(pool.spent().tool_calls, 2);
}

#[test]
fn limits_of_a_child_are_reserved_until_it_is_dropped() {
    let parent = pool(100);
    let child = parent.child(BudgetLimits::none().with_tokens(60).with_turns(3));
    let refused = parent.child(BudgetLimits::none()).try_admit(tokens(30)).unwrap();
    refused.settle(tokens(40));
    let standing = parent.try_admit(tokens(1)).unwrap_err();
    assert_eq!((standing.used, standing.cap), (100, 100), "the reserved amount is used for all others");
    for _ in 0..3 {
        child.try_admit(tokens(20)).unwrap().settle(tokens(20));
    }
    assert_eq!(parent.spent().tokens, 100, "the child used its whole reservation");
}

#[test]
fn others_can_spend_what_a_dropped_child_did_not_use() {
    let parent = pool(100);
    let child = parent.child(BudgetLimits::none().with_tokens(80));
    let kept = child.clone();
    child.try_admit(tokens(30)).unwrap().settle(tokens(30));
    drop(child);
    assert!(parent.try_admit(tokens(40)).is_ok(), "twenty are left, and one call is admitted alone");
    let twenty = parent.child(BudgetLimits::none().with_tokens(70));
    drop(kept);
    assert!(
        matches!(poll_admit(&parent, tokens(60)), Poll::Ready(Ok(_))),
        "the dropped child releases what it did not use"
    );
    drop(twenty);
    assert_eq!((parent.spent().tokens, parent.is_idle()), (30, true));
}

#[test]
fn grandchilds_reservation_outlives_its_parents_handle_and_is_not_made_twice() {
    let root = pool(100);
    let child = root.child(BudgetLimits::none().with_tokens(50));
    let grandchild = child.child(BudgetLimits::none().with_tokens(40));
    let left = |pool: &BudgetPool| pool.try_admit(tokens(1)).map_err(|at| (at.used, at.cap)).map(drop);
    let other = root.child(BudgetLimits::none().with_tokens(50));
    assert_eq!(left(&root), Err((100, 100)), "each child has half");
    drop(child);
    drop(other);
    assert_eq!(left(&root), Ok(()));
    let rest = root.child(BudgetLimits::none().with_tokens(100));
    assert_eq!(left(&root), Err((100, 100)), "fifty for the grandchild, fifty for the new child");
    grandchild.try_admit(tokens(40)).unwrap().settle(tokens(40));
    drop((grandchild, rest));
    assert!(root.try_admit(tokens(60)).is_ok());
    assert_eq!(root.spent().tokens, 40);
}

#[test]
fn waiting_call_is_admitted_when_a_child_is_dropped() {
    let root = pool(100);
    let (first, second) =
        (root.child(BudgetLimits::none().with_tokens(50)), root.child(BudgetLimits::none()));
    let call = second.try_admit(tokens(30)).unwrap();
    assert!(poll_admit(&second, tokens(40)).is_pending(), "twenty are left after the reservation");
    drop(first);
    let Poll::Ready(Ok(next)) = poll_admit(&second, tokens(40)) else { panic!("seventy are left") };
    call.settle(tokens(30));
    next.settle(tokens(40));
    assert_eq!(root.spent().tokens, 70);
}
