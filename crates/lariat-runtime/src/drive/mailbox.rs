//! The mailbox of a run: receives commands from handles and updates from running tools.
//!
//! A bounded queue with one reader. If it is full, a command is returned to its sender; a tool's update is
//! dropped, because the next one replaces it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use lariat_core::budget::{BudgetLimits, BudgetScope};
use lariat_core::event::QueueKind;
use lariat_core::id::{MessageId, RequestId, ToolCallId};
use lariat_core::message::AgentMessage;
use lariat_core::permission::PermissionDecision;
use lariat_core::tool::ToolResult;

/// Maximum number of waiting items. Users send a handful; a verbose tool must not fill the memory.
const CAPACITY: usize = 1024;

/// An item that can be sent to a run: a command or an update of a tool.
#[derive(Debug)]
pub(crate) enum MailboxItem {
    Queue { queue: QueueKind, message: Box<AgentMessage> },
    Answer { request: RequestId, decision: PermissionDecision },
    MoreBudget { scope: BudgetScope, limits: BudgetLimits },
    BudgetAnswer { request: RequestId, more: Option<BudgetLimits> },
    Pin { message: MessageId, pinned: bool },
    Update { call: ToolCallId, partial: ToolResult },
    Progress { call: ToolCallId, text: String },
}

impl MailboxItem {
    const fn is_command(&self) -> bool {
        !matches!(self, Self::Update { .. } | Self::Progress { .. })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<MailboxItem>,
    commands: usize,
    closed: bool,
    waker: Option<Waker>,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item. Returns it if the run is over or too many items wait.
    pub(crate) fn send(&self, item: MailboxItem) -> Result<(), MailboxItem> {
        let waker = {
            let mut state = self.lock();
            let full = if item.is_command() { state.commands } else { state.items.len() } >= CAPACITY;
            if state.closed || full {
                return Err(item);
            }
            state.commands += usize::from(item.is_command());
            state.items.push_back(item);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<MailboxItem> {
        let mut state = self.lock();
        match state.items.pop_front() {
            Some(item) => {
                state.commands -= usize::from(item.is_command());
                Poll::Ready(item)
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

    /// Takes all waiting items.
    pub(crate) fn take(&self) -> VecDeque<MailboxItem> {
        let mut state = self.lock();
        state.commands = 0;
        std::mem::take(&mut state.items)
    }

    /// Closes the mailbox. Returns the unread items.
    pub(crate) fn close(&self) -> VecDeque<MailboxItem> {
        let mut state = self.lock();
        state.closed = true;
        state.waker = None;
        std::mem::take(&mut state.items)
    }
}

#[cfg(test)]
#[path = "mailbox_tests.rs"]
mod tests;
