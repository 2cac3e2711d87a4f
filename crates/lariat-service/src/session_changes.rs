//! Changes to sessions that are not running and that need no model: pins, removed messages, checkpoints, budget extensions,
//! rejected plan changes, goals and learnings.
//!
//! Each change is one event of the journal, the same that the agent would record. Only the session's single writer writes to it.

use std::collections::HashSet;
use std::sync::Arc;

use lariat_core::archive::{Checkpoint, SessionGoal};
use lariat_core::budget::{BudgetLimits, BudgetScope};
use lariat_core::event::{AUTOMATIC_CHECKPOINT, AgentEvent, Event, EventRecord, FORMAT_VERSION, Goal};
use lariat_core::id::{EventId, MessageId, SessionId, ToolCallId};
use lariat_core::message::SharedMessage;
use lariat_core::session::SessionFold;
use lariat_core::time::Timestamp;

use crate::{LocalService, ServiceError};

/// Maximum number of checkpoints of one session that its runs recorded by themselves.
const MOST_AUTOMATIC_CHECKPOINTS: usize = 20;

impl LocalService {
    /// Checks that no other process writes to a session.
    ///
    /// # Errors
    /// If another process does, or the store fails.
    pub async fn check_writable(&self, session_id: &SessionId) -> Result<(), ServiceError> {
        let epoch = self.archive().claim(session_id).await?;
        Ok(self.archive().release(session_id, epoch).await?)
    }

    /// Pins a message, so that compaction leaves it and its exchange unchanged, or unpins it.
    ///
    /// # Errors
    /// If another process writes to the session, or the journal cannot be written.
    pub async fn set_pin(
        &self,
        session_id: &SessionId,
        message_id: MessageId,
        pinned: bool,
    ) -> Result<(), ServiceError> {
        self.append_event(session_id, AgentEvent::MessagePinned { message_id, pinned }).await
    }

    /// Returns the messages of the exchange that a message of the conversation belongs to, oldest first: a reply with tool calls
    /// and all its results belong together; any other message stands alone. Empty if the message is not in the conversation.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn exchange(
        &self,
        session_id: &SessionId,
        message_id: MessageId,
    ) -> Result<Vec<SharedMessage>, ServiceError> {
        let fold = SessionFold::of(&self.events(session_id).await?);
        let messages: Vec<SharedMessage> = fold.conversation(fold.tip()).0.window().iter().cloned().collect();
        Ok(exchange_of(&messages, message_id))
    }

    /// Removes messages from the conversation; the journal keeps them. Returns false and changes nothing if the rest of the
    /// conversation would not stay as it is, for example because a compaction refers to a message.
    ///
    /// # Errors
    /// If another process writes to the session, or the journal cannot be read or written.
    pub async fn remove_messages(
        &self,
        session_id: &SessionId,
        messages: &[MessageId],
    ) -> Result<bool, ServiceError> {
        if !leaves_others(&self.events(session_id).await?, messages) {
            return Ok(false);
        }
        let removed = |message_id: &MessageId| AgentEvent::MessageRemoved { message_id: *message_id };
        self.append_events(session_id, messages.iter().map(removed).collect()).await?;
        Ok(true)
    }

    /// Names the current point of a session, after this message.
    ///
    /// # Errors
    /// If another process writes to the session, or the journal cannot be written.
    pub async fn add_checkpoint(
        &self,
        session_id: &SessionId,
        label: &str,
        message_id: Option<MessageId>,
    ) -> Result<(), ServiceError> {
        self.append_event(session_id, AgentEvent::Checkpoint { label: label.to_owned(), message_id }).await
    }

    /// The checkpoints of a session, oldest first: all that the user named, and the newest that runs recorded by themselves.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn checkpoints(&self, session_id: &SessionId) -> Result<Vec<Checkpoint>, ServiceError> {
        let mut checkpoints = self.archive().checkpoints(session_id).await?;
        let is_automatic = |checkpoint: &Checkpoint| checkpoint.label.starts_with(AUTOMATIC_CHECKPOINT);
        let automatic = checkpoints.iter().filter(|checkpoint| is_automatic(checkpoint)).count();
        let mut too_old = automatic.saturating_sub(MOST_AUTOMATIC_CHECKPOINTS);
        checkpoints.retain(|checkpoint| {
            let is_dropped = too_old > 0 && is_automatic(checkpoint);
            too_old -= usize::from(is_dropped);
            !is_dropped
        });
        Ok(checkpoints)
    }

    /// Raises the limits of a session. What is unlimited stays unlimited.
    ///
    /// # Errors
    /// If another process writes to the session, or the journal cannot be written.
    pub async fn extend_budget(
        &self,
        session_id: &SessionId,
        more: BudgetLimits,
    ) -> Result<(), ServiceError> {
        let (scope, by) = (BudgetScope::Session, "user".to_owned());
        self.append_event(session_id, AgentEvent::BudgetExtended { scope, limits: more, by }).await
    }

    /// Rejects queued changes of a plan; the others stay queued. The model learns of it with the next decision.
    ///
    /// # Errors
    /// If another process writes to the session, or the journal cannot be written.
    pub async fn reject_changes(
        &self,
        session_id: &SessionId,
        rejected: Vec<ToolCallId>,
    ) -> Result<(), ServiceError> {
        if rejected.is_empty() {
            return Ok(());
        }
        self.append_event(session_id, AgentEvent::PlanDecided { approved: Vec::new(), rejected }).await
    }

    /// Sets a goal of a session, or changes its status.
    ///
    /// # Errors
    /// If another process writes to the session, or the journal cannot be written.
    pub async fn set_goal(&self, session_id: &SessionId, goal: Goal) -> Result<(), ServiceError> {
        self.append_event(session_id, AgentEvent::GoalChanged(Box::new(goal))).await
    }

    /// The goals of all sessions, most recent change first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn goals(&self) -> Result<Vec<SessionGoal>, ServiceError> {
        Ok(self.archive().goals().await?)
    }
}

fn exchange_of(messages: &[SharedMessage], message_id: MessageId) -> Vec<SharedMessage> {
    let calls_of = |message: &SharedMessage| -> HashSet<ToolCallId> {
        let reply = message.as_assistant();
        reply.into_iter().flat_map(|reply| reply.tool_calls().map(|call| call.id.clone())).collect()
    };
    let Some(wanted) = messages.iter().find(|message| message.id() == message_id) else { return Vec::new() };
    let calls = match wanted.as_tool_result() {
        Some(result) => messages.iter().map(calls_of).find(|calls| calls.contains(&result.tool_call_id)),
        None => Some(calls_of(wanted)),
    };
    let calls = calls.unwrap_or_default();
    let belongs = |message: &&SharedMessage| {
        message.id() == message_id
            || message.as_tool_result().is_some_and(|result| calls.contains(&result.tool_call_id))
            || !calls.is_disjoint(&calls_of(message))
    };
    messages.iter().filter(belongs).cloned().collect()
}

/// Whether the conversation without these messages is the conversation of today minus these messages.
fn leaves_others(events: &[Event], messages: &[MessageId]) -> bool {
    let fold = SessionFold::of(events);
    let tip = fold.tip();
    let before: Vec<SharedMessage> = fold.conversation(tip).0.window().iter().cloned().collect();
    let expected: Vec<&SharedMessage> =
        before.iter().filter(|message| !messages.contains(&message.id())).collect();
    if expected.len() + messages.len() != before.len() {
        return false;
    }
    let removals: Vec<Event> = messages
        .iter()
        .zip(events.len() as u64..)
        .map(|(message_id, seq)| {
            Arc::new(EventRecord {
                v: FORMAT_VERSION,
                seq,
                id: EventId::new(message_id.uuid()),
                timestamp: Timestamp::from_millis(0),
                loop_id: None,
                event: AgentEvent::MessageRemoved { message_id: *message_id },
            })
        })
        .collect();
    let window = fold.then(&removals).conversation(tip).0.window();
    let after: Vec<&SharedMessage> = window.iter().collect();
    after == expected
}
