//! Where a run receives what comes from outside its task: commands of handles, words of running tools.
//!
//! Owns a bounded queue with one reader. When it is full, a command is refused to its sender; a tool's update is
//! dropped, because the next one says more.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use lariat_core::event::QueueKind;
use lariat_core::id::{MessageId, RequestId, ToolCallId};
use lariat_core::message::AgentMessage;
use lariat_core::permission::PermissionDecision;
use lariat_core::tool::ToolResult;

/// Letters that may wait. A person types a handful; a chatty tool must not fill the memory.
const CAPACITY: usize = 1024;

/// What can be sent to a run.
#[derive(Debug)]
pub(crate) enum Letter {
    Queue { queue: QueueKind, message: Box<AgentMessage> },
    Answer { request: RequestId, decision: PermissionDecision },
    Pin { message: MessageId, pinned: bool },
    Update { call: ToolCallId, partial: ToolResult },
    Progress { call: ToolCallId, text: String },
}

impl Letter {
    const fn is_command(&self) -> bool {
        matches!(self, Self::Queue { .. } | Self::Answer { .. } | Self::Pin { .. })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    letters: VecDeque<Letter>,
    commands: usize,
    closed: bool,
    waker: Option<Waker>,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a letter in. Gives it back when the run is over or has too many waiting.
    pub(crate) fn send(&self, letter: Letter) -> Result<(), Letter> {
        let waker = {
            let mut state = self.lock();
            let full = if letter.is_command() { state.commands } else { state.letters.len() } >= CAPACITY;
            if state.closed || full {
                return Err(letter);
            }
            state.commands += usize::from(letter.is_command());
            state.letters.push_back(letter);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Letter> {
        let mut state = self.lock();
        match state.letters.pop_front() {
            Some(letter) => {
                state.commands -= usize::from(letter.is_command());
                Poll::Ready(letter)
            }
            None => {
                match &mut state.waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    slot => *slot = Some(context.waker().clone()),
                }
                Poll::Pending
            }
        }
    }

    /// Everything that waits.
    pub(crate) fn take(&self) -> VecDeque<Letter> {
        let mut state = self.lock();
        state.commands = 0;
        std::mem::take(&mut state.letters)
    }

    /// Nothing is received any more. Returns what was not read.
    pub(crate) fn close(&self) -> VecDeque<Letter> {
        let mut state = self.lock();
        state.closed = true;
        state.waker = None;
        std::mem::take(&mut state.letters)
    }
}
