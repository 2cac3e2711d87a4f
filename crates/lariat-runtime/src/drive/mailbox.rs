//! The mailbox of a run: receives commands from handles and updates from running tools.
//!
//! A bounded queue with one reader. If it is full, a command is returned to its sender; a tool's update is
//! dropped, because the next one replaces it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use lariat_core::budget::{BudgetLimits, BudgetScope};
use lariat_core::event::{Finding, QueueKind};
use lariat_core::id::{MessageId, RequestId, ToolCallId};
use lariat_core::message::AgentMessage;
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::tool::ToolResult;
use tokio::sync::oneshot;

use super::command::RunCommand;

/// Maximum number of waiting items. Users send a handful; a verbose tool must not fill the memory.
const CAPACITY: usize = 1024;

/// An item that can be sent to a run: a command or an update of a tool.
#[derive(Debug)]
pub(crate) enum MailboxItem {
    Queue {
        queue: QueueKind,
        message: Box<AgentMessage>,
    },
    Answer {
        request: RequestId,
        decision: PermissionDecision,
    },
    MoreBudget {
        scope: BudgetScope,
        limits: BudgetLimits,
    },
    BudgetAnswer {
        request: RequestId,
        more: Option<BudgetLimits>,
    },
    Pin {
        message: MessageId,
        pinned: bool,
    },
    Command(Box<RunCommand>),
    /// A running tool asks the user, or a sub-agent does.
    Ask {
        request: Box<PermissionRequest>,
        reply: oneshot::Sender<PermissionDecision>,
    },
    /// A running tool does not wait for an answer any more.
    WithdrawQuestion {
        call: ToolCallId,
    },
    /// A sub-agent found something.
    Finding(Arc<Finding>),
    Update {
        call: ToolCallId,
        partial: ToolResult,
    },
    Progress {
        call: ToolCallId,
        text: String,
    },
}

impl MailboxItem {
    const fn is_command(&self) -> bool {
        !matches!(self, Self::Update { .. } | Self::Progress { .. })
    }
}

#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    state: Mutex<MailboxState>,
}

#[derive(Debug, Default)]
struct MailboxState {
    items: VecDeque<MailboxItem>,
    commands: usize,
    closed: bool,
    waker: Option<Waker>,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, MailboxState> {
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
mod tests {
    //! Tests of the bound of the mailbox.

    use super::*;

    fn command() -> MailboxItem {
        MailboxItem::Queue { queue: QueueKind::Steering, message: Box::new("hello".into()) }
    }

    fn update() -> MailboxItem {
        MailboxItem::Progress { call: "c".into(), text: "half".to_owned() }
    }

    #[test]
    fn full_mailbox_returns_commands_to_their_sender() {
        let mailbox = Mailbox::default();
        for sent in 0..1024 {
            assert!(mailbox.send(command()).is_ok(), "{sent}");
        }
        assert!(matches!(mailbox.send(command()), Err(MailboxItem::Queue { .. })));
        assert!(mailbox.send(update()).is_err(), "an update waits behind the commands");
        let mut context = Context::from_waker(Waker::noop());
        assert!(mailbox.poll(&mut context).is_ready());
        assert!(mailbox.send(command()).is_ok(), "one was read");
        assert_eq!(mailbox.close().len(), 1024);
        assert!(mailbox.send(command()).is_err(), "the run is over");
    }

    #[test]
    fn updates_of_tools_take_no_place_of_commands() {
        let mailbox = Mailbox::default();
        let accepted = (0..3_000).filter(|_| mailbox.send(update()).is_ok()).count();
        assert_eq!(accepted, 1024);
        assert!(mailbox.send(command()).is_ok());
        assert_eq!(mailbox.take().len(), 1025);
    }
}
