//! The state of a toy session, computed from its journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use lariat_api::{Action, Answer, Delivery, Edit, PromptContent};
use lariat_core::content::ToolCall;
use lariat_core::event::{AgentEvent, Event, FileRestore, RunOutcome};
use lariat_core::id::{LoopId, MessageId};
use lariat_core::message::{Message, SharedMessage};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::usage::Usage;
use serde_json::Value;

/// A message that waits.
#[derive(Clone)]
pub(crate) struct Waiting {
    pub(crate) id: MessageId,
    pub(crate) content: PromptContent,
    pub(crate) delivery: Delivery,
    /// Whether it starts a run although the queue is paused.
    pub(crate) is_direct: bool,
}

/// An approval that was asked for.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) request: Arc<PermissionRequest>,
    /// The answer of a client and who gave it.
    pub(crate) answer: Option<(PermissionDecision, String)>,
    pub(crate) is_over: bool,
}

/// A tool call of the newest reply.
pub(crate) struct Call {
    pub(crate) call: Arc<ToolCall>,
    pub(crate) decision: Option<PermissionDecision>,
    pub(crate) has_started: bool,
}

/// What a session does outside runs.
#[derive(Clone)]
pub(crate) enum Work {
    Restore(FileRestore),
    Command(String),
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) run: Option<LoopId>,
    pub(crate) runs: usize,
    pub(crate) outcome: Option<RunOutcome>,
    pub(crate) conversation: Vec<SharedMessage>,
    pub(crate) call: Option<Call>,
    pub(crate) asks: Vec<Asked>,
    pub(crate) waiting: Vec<Waiting>,
    pub(crate) is_paused: bool,
    delivery: Delivery,
    pub(crate) must_stop: bool,
    pub(crate) wants_run: bool,
    pub(crate) is_closed: bool,
    pub(crate) mode: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Usage,
    /// Content and position of each command.
    pub(crate) commands: BTreeMap<String, (Value, u64)>,
    newest_command: String,
    /// Position and newest message of each checkpoint.
    pub(crate) checkpoints: BTreeMap<String, (u64, Option<MessageId>)>,
    /// Position of each message in the journal.
    pub(crate) positions: BTreeMap<MessageId, u64>,
    /// Position and id of everything that may have changed files.
    pub(crate) changes: Vec<(u64, String)>,
    /// Work outside a run that has not ended, with the id of its command.
    pub(crate) work: Option<(String, Work)>,
    pub(crate) must_stop_work: bool,
}

impl State {
    pub(crate) fn of(journal: &[Event]) -> Self {
        let mut state = Self::default();
        journal.iter().for_each(|event| state.apply(event));
        state.waiting.sort_by_key(|waiting| waiting.delivery == Delivery::Queue);
        state
    }

    fn apply(&mut self, record: &Event) {
        self.changes.extend(record.event.change_id().map(|id| (record.seq, id)));
        match &record.event {
            AgentEvent::Checkpoint { label, message_id } => {
                self.checkpoints.insert(label.clone(), (record.seq, *message_id));
            }
            AgentEvent::FileRestoreStarted(restore) => {
                let restore = FileRestore::clone(restore);
                self.work = Some((self.newest_command.clone(), Work::Restore(restore)));
            }
            AgentEvent::UserCommandStarted { command_id, command } => {
                self.work = Some((command_id.clone(), Work::Command(command.clone())));
            }
            AgentEvent::FileRestoreEnded(_) | AgentEvent::UserCommandEnded(_) => {
                (self.work, self.must_stop_work) = (None, false);
            }
            AgentEvent::Rewound { tip } => {
                let place = self.conversation.iter().position(|message| Some(message.id()) == *tip);
                self.conversation.truncate(place.map_or(0, |place| place + 1));
            }
            AgentEvent::MessagesImported { messages, .. } => {
                self.positions.extend(messages.iter().map(|message| (message.id(), record.seq)));
                self.conversation.extend(messages.iter().cloned());
            }
            AgentEvent::CommandAccepted(command) => {
                // The toy keeps the whole action as its digest.
                let action: Value = serde_json::from_str(&command.digest).unwrap();
                self.commands.insert(command.command_id.clone(), (action.clone(), record.seq));
                self.newest_command.clone_from(&command.command_id);
                self.command(serde_json::from_value(action).unwrap(), &command.by);
            }
            AgentEvent::AgentStart(_) => {
                self.run.clone_from(&record.loop_id);
                self.runs += 1;
                (self.wants_run, self.must_stop) = (false, false);
            }
            AgentEvent::AgentEnd { outcome, .. } => {
                (self.run, self.call) = (None, None);
                self.outcome = Some(outcome.clone());
                self.asks.iter_mut().for_each(|ask| ask.is_over = true);
            }
            AgentEvent::AbortRequested => self.must_stop = true,
            AgentEvent::MessageQueued { message, .. } => {
                let content = PromptContent(message.as_user().unwrap().content.clone());
                let delivery = self.delivery;
                let is_direct = self.run.is_none() || delivery == Delivery::Interrupt;
                let id = message.id();
                self.waiting.push(Waiting { id, content, delivery, is_direct });
            }
            AgentEvent::MessageEnd { message } => {
                let message = message.shared().unwrap();
                self.positions.insert(message.id(), record.seq);
                self.waiting.retain(|waiting| waiting.id != message.id());
                self.conversation.push(Arc::clone(message));
                if let Some(reply) = message.as_assistant() {
                    self.usage += reply.usage;
                    let call = reply.tool_calls().next().cloned();
                    self.call = call.map(|call| Call { call, decision: None, has_started: false });
                } else if matches!(message.as_llm(), Some(Message::ToolResult(_))) {
                    self.call = None;
                }
            }
            AgentEvent::PermissionRequired { request } => {
                let request = Arc::clone(request);
                self.asks.push(Asked { request, answer: None, is_over: false });
            }
            AgentEvent::PermissionDecided { decision, .. } => {
                self.asks.last_mut().unwrap().is_over = true;
                self.call.as_mut().unwrap().decision = Some(decision.clone());
            }
            AgentEvent::ToolExecutionStart { .. } => self.call.as_mut().unwrap().has_started = true,
            _ => {}
        }
    }

    fn command(&mut self, action: Action, by: &str) {
        self.is_closed = matches!(action, Action::Close);
        match action {
            // The next event queues the message.
            Action::Prompt { delivery, .. } => self.delivery = delivery,
            Action::Interrupt if self.work.is_some() => self.must_stop_work = true,
            Action::Interrupt => self.is_paused = true,
            Action::Continue => self.wants_run = self.run.is_none(),
            Action::EditQueue { edit } => self.edit(edit),
            Action::SetMode { mode } => self.mode = Some(mode),
            Action::SetModel { model, .. } => self.model = Some(model),
            Action::Answer { ask_id, answer: Answer::Approval { decision }, .. } => {
                let ask =
                    self.asks.iter_mut().find(|ask| ask.request.tool_call_id.as_str() == ask_id.as_str());
                ask.unwrap().answer = Some((decision, by.to_owned()));
            }
            _ => {}
        }
    }

    fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Replace { message_id, content } => {
                let waiting = self.waiting.iter_mut().find(|waiting| waiting.id == message_id);
                waiting.unwrap().content = content;
            }
            Edit::Remove { message_id } => self.waiting.retain(|waiting| waiting.id != message_id),
            Edit::Reorder { message_ids } => {
                let place = |waiting: &Waiting| message_ids.iter().position(|id| *id == waiting.id);
                self.waiting.sort_by_key(place);
            }
            Edit::Resume => self.is_paused = false,
            _ => unreachable!(),
        }
    }

    pub(crate) fn open_asks(&self) -> impl Iterator<Item = &Asked> {
        self.asks.iter().filter(|ask| !ask.is_over)
    }
}
