use std::task::Context;

use futures_util::task::noop_waker;
use lariat_core::usage::Usage;

use super::*;

fn tokens(amount: u64) -> Spent {
    Spent::reply(&Usage::new(amount, 0))
}

fn polled(pool: &BudgetPool, estimate: Spent) -> Poll<Result<Reservation, Standing>> {
    let waker = noop_waker();
    pool.poll_admit(estimate, &Context::from_waker(&waker))
}

fn pool(cap: u64) -> BudgetPool {
    BudgetPool::new(BudgetLimits::none().with_tokens(cap))
}

#[test]
fn calls_that_fit_run_together_and_one_that_does_not_waits() {
    let pool = pool(100);
    let (Poll::Ready(Ok(one)), Poll::Ready(Ok(two))) = (polled(&pool, tokens(40)), polled(&pool, tokens(40)))
    else {
        panic!("both fit")
    };
    assert!(polled(&pool, tokens(40)).is_pending());
    one.settle(tokens(10));
    let Poll::Ready(Ok(three)) = polled(&pool, tokens(40)) else { panic!("there is room now") };
    two.settle(tokens(40));
    three.settle(tokens(40));
    assert_eq!((pool.spent().tokens, pool.spent().turns), (90, 3));
}

#[test]
fn the_last_call_goes_in_alone_and_nothing_after_it() {
    let pool = pool(100);
    pool.try_admit(tokens(95)).unwrap().settle(tokens(95));
    let last = pool.try_admit(tokens(40)).unwrap();
    assert!(polled(&pool, tokens(1)).is_pending(), "nothing beside it");
    last.settle(tokens(40));
    let Poll::Ready(Err(standing)) = polled(&pool, tokens(1)) else { panic!("it is used up") };
    assert_eq!((standing.used, standing.cap), (135, 100));
    pool.extend(&BudgetLimits::none().with_tokens(100));
    assert!(pool.try_admit(tokens(10)).is_ok());
}

#[test]
fn what_is_dropped_is_given_back() {
    let pool = pool(100);
    drop(pool.try_admit(tokens(100)).unwrap());
    assert!(pool.is_idle());
    assert_eq!(pool.spent(), Spent::default());
    assert!(pool.try_admit(tokens(100)).is_ok());
}

#[test]
fn a_child_keeps_its_own_cap_and_its_parents() {
    let parent = pool(100);
    let (child, other) =
        (parent.child(BudgetLimits::none().with_tokens(30)), parent.child(BudgetLimits::none()));
    child.try_admit(tokens(30)).unwrap().settle(tokens(30));
    assert_eq!(child.try_admit(tokens(1)).unwrap_err().cap, 30);
    other.try_admit(tokens(70)).unwrap().settle(tokens(70));
    assert_eq!(other.try_admit(tokens(1)).unwrap_err().cap, 100);
    assert_eq!((child.spent().tokens, other.spent().tokens, parent.spent().tokens), (30, 70, 100));
    let nearest: Vec<(u64, u64)> = child.standings().iter().map(|at| (at.used, at.cap)).collect();
    assert_eq!(nearest.len(), 1);
}

#[test]
fn tool_calls_are_refused_and_never_wait() {
    let pool = BudgetPool::new(BudgetLimits::none().with_tool_calls(2).with_tokens(10));
    pool.try_admit(tokens(10)).unwrap().settle(tokens(10));
    let one = pool.try_admit(Spent::tool_call()).unwrap();
    let two = pool.try_admit(Spent::tool_call()).unwrap();
    assert!(matches!(polled(&pool, Spent::tool_call()), Poll::Ready(Err(_))));
    one.settle(Spent::tool_call());
    two.settle(Spent::tool_call());
    assert_eq!(pool.spent().tool_calls, 2);
}

#[test]
fn what_a_child_is_capped_with_is_set_aside_for_it_until_it_is_gone() {
    let parent = pool(100);
    let child = parent.child(BudgetLimits::none().with_tokens(60).with_turns(3));
    let refused = parent.child(BudgetLimits::none()).try_admit(tokens(30)).unwrap();
    refused.settle(tokens(40));
    let standing = parent.try_admit(tokens(1)).unwrap_err();
    assert_eq!((standing.used, standing.cap), (100, 100), "what is set aside counts as used for others");
    for _ in 0..3 {
        child.try_admit(tokens(20)).unwrap().settle(tokens(20));
    }
    assert_eq!(parent.spent().tokens, 100, "the child had all that was set aside");
}

#[test]
fn what_a_child_leaves_is_there_for_others() {
    let parent = pool(100);
    let child = parent.child(BudgetLimits::none().with_tokens(80));
    let kept = child.clone();
    child.try_admit(tokens(30)).unwrap().settle(tokens(30));
    drop(child);
    assert!(parent.try_admit(tokens(40)).is_ok(), "twenty are left, and a call goes in alone");
    let twenty = parent.child(BudgetLimits::none().with_tokens(70));
    drop(kept);
    assert!(
        matches!(polled(&parent, tokens(60)), Poll::Ready(Ok(_))),
        "the child is gone with what it did not use"
    );
    drop(twenty);
    assert_eq!((parent.spent().tokens, parent.is_idle()), (30, true));
}

#[test]
fn a_grandchilds_share_outlives_its_parents_handle_and_is_not_set_aside_twice() {
    let root = pool(100);
    let child = root.child(BudgetLimits::none().with_tokens(50));
    let grandchild = child.child(BudgetLimits::none().with_tokens(40));
    let left = |pool: &BudgetPool| pool.try_admit(tokens(1)).map_err(|at| (at.used, at.cap)).map(drop);
    let other = root.child(BudgetLimits::none().with_tokens(50));
    assert_eq!(left(&root), Err((100, 100)), "half and half");
    drop(child);
    drop(other);
    assert_eq!(left(&root), Ok(()));
    let rest = root.child(BudgetLimits::none().with_tokens(100));
    assert_eq!(left(&root), Err((100, 100)), "fifty are the grandchild's, fifty the new child's");
    grandchild.try_admit(tokens(40)).unwrap().settle(tokens(40));
    drop((grandchild, rest));
    assert!(root.try_admit(tokens(60)).is_ok());
    assert_eq!(root.spent().tokens, 40);
}

#[test]
fn one_who_waits_goes_on_when_a_child_is_gone() {
    let root = pool(100);
    let (first, second) =
        (root.child(BudgetLimits::none().with_tokens(50)), root.child(BudgetLimits::none()));
    let call = second.try_admit(tokens(30)).unwrap();
    assert!(polled(&second, tokens(40)).is_pending(), "twenty are left beside what is set aside");
    drop(first);
    let Poll::Ready(Ok(next)) = polled(&second, tokens(40)) else { panic!("seventy are left") };
    call.settle(tokens(30));
    next.settle(tokens(40));
    assert_eq!(root.spent().tokens, 70);
}
