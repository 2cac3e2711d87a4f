//! Records which tool ran when, concurrently with which others, and how it ended. Tests query it for "at most once" and
//! "never two at a time".

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_core::clock::Clock;
use lariat_core::id::ToolCallId;
use lariat_core::time::Timestamp;
use serde_json::Value;

/// One execution of a tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Execution {
    /// The call.
    pub call_id: ToolCallId,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Value,
    /// When it began.
    pub started: Timestamp,
    /// When it ended, for whatever reason.
    pub finished: Option<Timestamp>,
    /// How it ended.
    pub ending: Ending,
    /// Positions in the ledger of executions that ran at the same time.
    pub beside: Vec<usize>,
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// It has not ended.
    Running,
    /// It returned a result.
    Returned,
    /// It returned an error.
    Failed,
    /// It stopped because it was cancelled.
    Cancelled,
    /// It panicked.
    Panicked,
    /// Its future was dropped before it ended.
    Dropped,
}

/// All executions of the tools that share it. Clones share the same ledger.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    state: Arc<Mutex<LedgerState>>,
}

#[derive(Debug, Default)]
struct LedgerState {
    executions: Vec<Execution>,
    running: Vec<usize>,
    max_overlap: usize,
}

impl Ledger {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// Every execution, in the order of their start.
    pub fn all(&self) -> Vec<Execution> {
        self.lock().executions.clone()
    }

    /// Number of executions.
    pub fn len(&self) -> usize {
        self.lock().executions.len()
    }

    /// Whether nothing ran.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The executions of one tool call. More than one means that it ran again.
    pub fn executions(&self, call_id: &ToolCallId) -> Vec<Execution> {
        self.lock().executions.iter().filter(|execution| execution.call_id == *call_id).cloned().collect()
    }

    /// Tool calls that ran more than once.
    pub fn repeated_calls(&self) -> Vec<ToolCallId> {
        let mut seen = std::collections::HashMap::new();
        let mut repeated = Vec::new();
        for execution in &self.lock().executions {
            let count = seen.entry(execution.call_id.clone()).or_insert(0u32);
            *count += 1;
            if *count == 2 {
                repeated.push(execution.call_id.clone());
            }
        }
        repeated
    }

    /// Executions that have not ended.
    pub fn running(&self) -> usize {
        self.lock().running.len()
    }

    /// The maximum number of executions at one time.
    pub fn max_overlap(&self) -> usize {
        self.lock().max_overlap
    }

    /// Executions of a tool that ran concurrently with others, of the same or of another tool.
    pub fn overlapping(&self, tool: &str) -> Vec<Execution> {
        let beside = |execution: &&Execution| execution.tool == tool && !execution.beside.is_empty();
        self.lock().executions.iter().filter(beside).cloned().collect()
    }

    pub(super) fn begin(
        &self,
        call_id: &ToolCallId,
        tool: &str,
        args: Value,
        clock: &Arc<dyn Clock>,
    ) -> RunningExecution {
        let mut state = self.lock();
        let LedgerState { executions, running, max_overlap } = &mut *state;
        let at = executions.len();
        for other in running.iter() {
            if let Some(execution) = executions.get_mut(*other) {
                execution.beside.push(at);
            }
        }
        executions.push(Execution {
            call_id: call_id.clone(),
            tool: tool.to_owned(),
            args,
            started: clock.now(),
            finished: None,
            ending: Ending::Running,
            beside: running.clone(),
        });
        running.push(at);
        *max_overlap = running.len().max(*max_overlap);
        RunningExecution { ledger: self.clone(), clock: Arc::clone(clock), at }
    }

    fn close(&self, at: usize, ending: Ending, now: Timestamp) {
        let mut state = self.lock();
        state.running.retain(|running| *running != at);
        if let Some(execution) = state.executions.get_mut(at)
            && execution.ending == Ending::Running
        {
            execution.ending = ending;
            execution.finished = Some(now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, LedgerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running execution. Dropping it without an end records one.
pub(super) struct RunningExecution {
    ledger: Ledger,
    clock: Arc<dyn Clock>,
    at: usize,
}

impl RunningExecution {
    pub(super) fn end(self, ending: Ending) {
        self.ledger.close(self.at, ending, self.clock.now());
    }
}

impl Drop for RunningExecution {
    fn drop(&mut self) {
        let ending = if std::thread::panicking() { Ending::Panicked } else { Ending::Dropped };
        self.ledger.close(self.at, ending, self.clock.now());
    }
}
