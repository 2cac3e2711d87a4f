//! The work queue of a walk, which delivers results in the order of the walk.
//!
//! Holds a list of turns in that order, and a stack of jobs whose top is the earliest turn that no thread has taken.
//! Invariant: results are delivered turn by turn in that order, each once. Memory holds the results of turns that come
//! after an unfinished one.

use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A position in the order of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueTurn(usize);

/// Jobs for several threads, and the receiver of their results.
pub(super) struct WorkQueue<J, F, T> {
    state: Mutex<QueueState<J, F, T>>,
    ready: Condvar,
}

struct QueueState<J, F, T> {
    turns: Vec<TurnSlot<F>>,
    jobs: Vec<(QueueTurn, J)>,
    /// The first turn whose results are not delivered yet.
    cursor: Option<usize>,
    working: usize,
    waiting: usize,
    stopped: bool,
    take: T,
}

struct TurnSlot<F> {
    next: Option<usize>,
    found: Option<Vec<F>>,
}

impl<J, F, T: FnMut(Vec<F>) -> ControlFlow<()>> WorkQueue<J, F, T> {
    pub(super) fn new(take: T) -> Self {
        let first = TurnSlot { next: None, found: None };
        let state = QueueState {
            turns: vec![first],
            jobs: Vec::new(),
            cursor: Some(0),
            working: 1,
            waiting: 0,
            stopped: false,
            take,
        };
        Self { state: Mutex::new(state), ready: Condvar::new() }
    }

    /// The first turn, which belongs to the caller.
    pub(super) const fn first(&self) -> QueueTurn {
        QueueTurn(0)
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<J, F, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next job; waits while other threads may still add some. `None` at the end.
    pub(super) fn next(&self) -> Option<(QueueTurn, J)> {
        let mut state = self.lock();
        while !state.stopped && state.jobs.is_empty() && state.working > 0 {
            state.waiting += 1;
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        if state.stopped {
            return None;
        }
        let job = state.jobs.pop()?;
        state.working += 1;
        Some(job)
    }

    /// Adds jobs whose turns come right after a turn that is being worked on.
    pub(super) fn add(&self, after: QueueTurn, jobs: Vec<J>) {
        let mut state = self.lock();
        let first = state.turns.len();
        let count = jobs.len();
        let next = state.turns.get(after.0).and_then(|line| line.next);
        for index in first..first + count {
            let next = if index + 1 < first + count { Some(index + 1) } else { next };
            state.turns.push(TurnSlot { next, found: None });
        }
        if let Some(line) = state.turns.get_mut(after.0).filter(|_| count > 0) {
            line.next = Some(first);
        }
        state
            .jobs
            .extend(jobs.into_iter().enumerate().rev().map(|(index, job)| (QueueTurn(first + index), job)));
        if state.waiting > 0 {
            self.ready.notify_all();
        }
    }

    /// Ends a turn. `Break` if the receiver has enough.
    pub(super) fn done(&self, turn: QueueTurn, found: Vec<F>) -> ControlFlow<()> {
        let mut state = self.lock();
        let state = &mut *state;
        state.working -= 1;
        if let Some(line) = state.turns.get_mut(turn.0) {
            line.found = Some(found);
        }
        while let Some(line) = state.cursor.and_then(|cursor| state.turns.get_mut(cursor)) {
            let Some(found) = line.found.take() else { break };
            state.cursor = line.next;
            if !state.stopped && !found.is_empty() && (state.take)(found).is_break() {
                state.stopped = true;
            }
        }
        if state.waiting > 0 && (state.stopped || state.working == 0) {
            self.ready.notify_all();
        }
        if state.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Prevents all threads from starting another job.
    pub(super) fn stop(&self) {
        self.lock().stopped = true;
        self.ready.notify_all();
    }
}
