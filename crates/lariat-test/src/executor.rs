//! A deterministic single-threaded executor: a seed decides which task runs next, the virtual clock decides
//! when.
//!
//! If no task is woken, the executor moves the clock to the next deadline; if there is none, it reports a
//! stall instead of hanging.
//! Invariant: the same seed, tasks and clock give the same sequence of polls. Task ids are never reused.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use crate::clock::VirtualClock;
use crate::random::SeededRandom;

/// Maximum number of steps of [`block_on`]: far more than any test needs, seconds of real time at most.
pub const BLOCK_ON_STEPS: u64 = 10_000_000;

/// Identifies a task of an [`Executor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(usize);

/// What one step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A task was polled and is not finished.
    Polled(TaskId),
    /// A task was polled and finished.
    Finished(TaskId),
    /// No task was woken; the clock moved to the next deadline.
    Advanced,
    /// There are no tasks left.
    Idle,
    /// There are tasks, but nothing will ever wake one of them.
    Stalled,
}

/// Why an executor stopped before its tasks finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Halt {
    /// No task is woken and no deadline is pending.
    #[error("stalled: every task waits for something that will never happen")]
    Stalled,
    /// The step budget is used up.
    #[error("out of steps")]
    OutOfSteps,
}

/// Polls tasks in a seeded order under a virtual clock.
///
/// ```
/// use lariat_test::{Executor, Halt, SeededRandom, VirtualClock};
///
/// let mut executor = Executor::new(VirtualClock::new(), SeededRandom::new(1));
/// executor.spawn(async { /* the thing under test */ });
/// assert_eq!(executor.run(1_000), Ok(()));
///
/// executor.spawn(std::future::pending());
/// assert_eq!(executor.run(1_000), Err(Halt::Stalled));
/// ```
pub struct Executor<'a> {
    clock: VirtualClock,
    order: SeededRandom,
    tasks: Vec<Option<ExecutorTask<'a>>>,
    alive: usize,
    ready: Arc<Ready>,
    steps: u64,
}

struct ExecutorTask<'a> {
    future: Pin<Box<dyn Future<Output = ()> + 'a>>,
    flag: Arc<ReadyFlag>,
    waker: Waker,
}

/// The tasks that were woken and not polled since.
#[derive(Default)]
struct Ready {
    tasks: Mutex<Vec<TaskId>>,
}

impl Ready {
    fn lock(&self) -> MutexGuard<'_, Vec<TaskId>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prevents a task from being in the ready list twice.
struct ReadyFlag {
    task: TaskId,
    woken: AtomicBool,
    ready: Arc<Ready>,
}

impl Wake for ReadyFlag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.ready.lock().push(self.task);
        }
    }
}

impl<'a> Executor<'a> {
    /// Creates an executor without tasks.
    pub fn new(clock: VirtualClock, order: SeededRandom) -> Self {
        Self { clock, order, tasks: Vec::new(), alive: 0, ready: Arc::default(), steps: 0 }
    }

    /// Adds a task; a later step polls it for the first time.
    pub fn spawn(&mut self, future: impl Future<Output = ()> + 'a) -> TaskId {
        let task = TaskId(self.tasks.len());
        let flag =
            Arc::new(ReadyFlag { task, woken: AtomicBool::new(false), ready: Arc::clone(&self.ready) });
        let waker = Waker::from(Arc::clone(&flag));
        waker.wake_by_ref();
        self.tasks.push(Some(ExecutorTask { future: Box::pin(future), flag, waker }));
        self.alive += 1;
        task
    }

    /// Drops a task in its current state, as a crash does. Returns false if it is not alive any more.
    pub fn kill(&mut self, task: TaskId) -> bool {
        let killed = self.tasks.get_mut(task.0).and_then(Option::take);
        self.alive -= usize::from(killed.is_some());
        killed.is_some()
    }

    /// Whether a task is neither finished nor killed.
    pub fn is_alive(&self, task: TaskId) -> bool {
        self.tasks.get(task.0).is_some_and(Option::is_some)
    }

    /// Number of tasks that are neither finished nor killed.
    pub const fn alive(&self) -> usize {
        self.alive
    }

    /// Steps taken so far: polls and movements of the clock.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// The clock that it moves.
    pub const fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    /// Polls one woken task, or moves the clock if there is none.
    pub fn step(&mut self) -> Step {
        while let Some(id) = self.take_ready() {
            // A task that finished or was killed after it was woken is still listed.
            let Some(slot) = self.tasks.get_mut(id.0) else { continue };
            let Some(task) = slot else { continue };
            self.steps += 1;
            // Cleared before the poll, because a task that wakes itself during the poll must be polled again.
            task.flag.woken.store(false, Ordering::Release);
            return match task.future.as_mut().poll(&mut Context::from_waker(&task.waker)) {
                Poll::Pending => Step::Polled(id),
                Poll::Ready(()) => {
                    *slot = None;
                    self.alive -= 1;
                    Step::Finished(id)
                }
            };
        }
        if self.alive == 0 {
            return Step::Idle;
        }
        if self.clock.advance_to_next() {
            self.steps += 1;
            return Step::Advanced;
        }
        Step::Stalled
    }

    /// Runs until every task is finished.
    ///
    /// # Errors
    /// Fails if the tasks stall, or if `budget` steps are not enough.
    pub fn run(&mut self, budget: u64) -> Result<(), Halt> {
        self.run_while(budget, |executor| executor.alive > 0)
    }

    /// Runs until one task is finished; the others keep their state.
    ///
    /// # Errors
    /// Fails if everything stalls, or if `budget` steps are not enough.
    pub fn run_task(&mut self, task: TaskId, budget: u64) -> Result<(), Halt> {
        self.run_while(budget, |executor| executor.is_alive(task))
    }

    /// Steps while `go_on`, which is called before every step, returns true.
    ///
    /// # Errors
    /// Fails if everything stalls, or if `budget` steps are not enough.
    pub fn run_while(&mut self, budget: u64, mut go_on: impl FnMut(&Self) -> bool) -> Result<(), Halt> {
        let limit = self.steps.saturating_add(budget);
        while go_on(self) {
            if self.steps >= limit {
                return Err(Halt::OutOfSteps);
            }
            match self.step() {
                Step::Polled(_) | Step::Finished(_) | Step::Advanced => {}
                Step::Idle => return Ok(()),
                Step::Stalled => return Err(Halt::Stalled),
            }
        }
        Ok(())
    }

    fn take_ready(&mut self) -> Option<TaskId> {
        let mut ready = self.ready.lock();
        let at = match ready.len() {
            0 => return None,
            // No random draw if there is only one choice: keeps the common case cheap.
            1 => 0,
            len => self.order.index(len),
        };
        Some(ready.swap_remove(at))
    }
}

impl std::fmt::Debug for Executor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor")
            .field("alive", &self.alive)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

/// Runs one future to its end under a virtual clock.
///
/// # Errors
/// Fails if it stalls, or does not end within [`BLOCK_ON_STEPS`].
pub fn block_on<T>(clock: &VirtualClock, future: impl Future<Output = T>) -> Result<T, Halt> {
    let mut output = None;
    let mut executor = Executor::new(clock.clone(), SeededRandom::new(0));
    executor.spawn(async { output = Some(future.await) });
    executor.run(BLOCK_ON_STEPS)?;
    drop(executor);
    // The task finished, so it has written its output.
    output.ok_or(Halt::Stalled)
}

#[cfg(test)]
#[path = "executor_tests.rs"]
mod tests;
