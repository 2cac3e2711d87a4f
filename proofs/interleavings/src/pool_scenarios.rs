//! Budget pools: what is spent and reserved exceeds the limit only for a call that is alone, and every call that waits is admitted.

use ::std::sync::Arc;

use lariat_core::budget::{BudgetLimits, SpentAmounts};
use lariat_core::usage::Usage;
use shuttle::future::block_on;
use shuttle::sync::Mutex;
use shuttle::thread;

use crate::pool::BudgetPool;

/// The limit, in tokens.
const LIMIT: u64 = 100;
/// What a call reserves, and what it uses.
const RESERVED: u64 = 60;
const USED: u64 = 10;

/// What the calls know of each other: what was spent, and how many are active. A call is entered after it is admitted and removed before it is settled,
/// so the pool never has less than this.
#[derive(Default)]
struct Book {
    spent: u64,
    active: u64,
}

/// Runs a call in a pool and checks the sum of all calls.
fn call(pool: &BudgetPool, book: &Mutex<Book>) {
    let Ok(reservation) = block_on(pool.admit(tokens(RESERVED))) else { panic!("the limit is not used up") };
    {
        let Ok(mut book) = book.lock() else { panic!("no call panicked") };
        book.active += 1;
        let total = book.spent + book.active * RESERVED;
        assert!(book.active == 1 || total <= LIMIT, "{} active calls, {} spent", book.active, book.spent);
    }
    thread::yield_now();
    {
        let Ok(mut book) = book.lock() else { panic!("no call panicked") };
        book.active -= 1;
        book.spent += USED;
    }
    reservation.settle(tokens(USED));
}

fn tokens(amount: u64) -> SpentAmounts {
    SpentAmounts::reply(&Usage::new(amount, 0))
}

/// Three threads with two calls each: two never fit beside each other.
pub(crate) fn calls_share_a_pool_without_overdraft_and_all_are_admitted() {
    let pool = BudgetPool::new(BudgetLimits::none().with_tokens(LIMIT));
    let book = Arc::new(Mutex::new(Book::default()));
    let calls: Vec<_> = (0..3)
        .map(|_| {
            let (pool, book) = (pool.clone(), Arc::clone(&book));
            thread::spawn(move || (0..2).for_each(|_| call(&pool, &book)))
        })
        .collect();
    calls.into_iter().for_each(|call| assert!(call.join().is_ok()));
    assert_eq!(pool.spent().tokens, 6 * USED);
    assert!(pool.is_idle());
}

/// A child with a limit of its own, a child with none, and one that drops its reservation.
pub(crate) fn children_share_what_their_parent_has() {
    let pool = BudgetPool::new(BudgetLimits::none().with_tokens(LIMIT));
    let book = Arc::new(Mutex::new(Book::default()));
    let limits = [BudgetLimits::none().with_tokens(LIMIT), BudgetLimits::none()];
    let mut calls: Vec<_> = limits
        .into_iter()
        .map(|limits| {
            let (pool, book) = (pool.capped(limits), Arc::clone(&book));
            thread::spawn(move || call(&pool, &book))
        })
        .collect();
    let dropped = pool.clone();
    calls.push(thread::spawn(move || drop(block_on(dropped.admit(tokens(RESERVED))))));
    calls.into_iter().for_each(|call| assert!(call.join().is_ok()));
    assert_eq!(pool.spent().tokens, 2 * USED);
    assert!(pool.is_idle());
}
