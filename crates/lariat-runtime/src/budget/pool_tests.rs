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
