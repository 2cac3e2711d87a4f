//! The steps of a process on tokio: every call of a port passes here, and the seed decides who continues first.
//!
//! A world on tokio runs in one thread, on a paused clock. That alone gives one order of the tasks for every seed. So each call
//! (store, model, tool, approver, user) first gives way to the other tasks, a number of times that the seed draws: the order in
//! which tasks continue is that of the seed, and it can be repeated. The calls are also the points at which the process dies.
//! Invariant: after the death, no call returns.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_test::{FaultyStore, SeededRandom};
use tokio::sync::Notify;

/// The most times that a call gives way, plus one.
const MOST_YIELDS: u64 = 4;
/// Maximum calls of a process. The longest legitimate ones make a few thousand.
const MOST_STEPS: u64 = 100_000;

/// How a process ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// It died, at this step.
    Died(u64),
    /// It calls its ports without end.
    TooLong,
}

/// The steps of one process. Clones are the same process.
#[derive(Clone)]
pub(super) struct Steps(Arc<Process>);

struct Process {
    state: Mutex<State>,
    halted: Notify,
}

struct State {
    random: SeededRandom,
    taken: u64,
    death: Option<u64>,
    halt: Option<Halt>,
}

impl Steps {
    /// Starts a process, which dies at this step.
    pub(super) fn new(random: SeededRandom, death: Option<u64>) -> Self {
        let state = State { random, taken: 0, death, halt: None };
        Self(Arc::new(Process { state: Mutex::new(state), halted: Notify::new() }))
    }

    /// Gives way to other tasks, as often as the seed says. Never returns once the process is dead.
    pub(super) async fn pass(&self) {
        let yields = self.take();
        for _ in 0..yields {
            tokio::task::yield_now().await;
        }
        self.while_alive().await;
    }

    /// Performs a call of the store. The process may die before it, while it waits and before its caller knows the result.
    pub(super) async fn call<T>(&self, store: &FaultyStore, call: impl Future<Output = T>) -> T {
        self.pass().await;
        let mut call = std::pin::pin!(call);
        let result = std::future::poll_fn(|context| {
            let result = call.as_mut().poll(context);
            if store.is_crashed() {
                self.die();
            }
            result
        })
        .await;
        self.pass().await;
        result
    }

    /// Ends the process now.
    pub(super) fn die(&self) {
        let mut state = self.lock();
        let at = state.taken;
        state.halt.get_or_insert(Halt::Died(at));
        drop(state);
        self.0.halted.notify_one();
    }

    /// Waits until the process is dead.
    pub(super) async fn halted(&self) -> Halt {
        loop {
            if let Some(halt) = self.lock().halt {
                return halt;
            }
            self.0.halted.notified().await;
        }
    }

    /// Whether the process is dead.
    pub(super) fn is_dead(&self) -> bool {
        self.lock().halt.is_some()
    }

    fn take(&self) -> u64 {
        let mut state = self.lock();
        state.taken += 1;
        let (taken, death) = (state.taken, state.death);
        let yields = state.random.below(MOST_YIELDS);
        let halt = match death {
            Some(death) if taken >= death => Some(Halt::Died(taken)),
            _ if taken >= MOST_STEPS => Some(Halt::TooLong),
            _ => None,
        };
        if state.halt.is_none() && halt.is_some() {
            state.halt = halt;
            self.0.halted.notify_one();
        }
        yields
    }

    async fn while_alive(&self) {
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
