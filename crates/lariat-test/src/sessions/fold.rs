//! A second, simple fold of a journal, to compare views with.
//!
//! It shares no code with a host. It reads which commands were accepted from the journal, and what they asked for from
//! the commands that the suite sent. Invariant: it depends only on the events and those commands.

use std::collections::{BTreeMap, BTreeSet};

use lariat_api::{Action, AskSubject, CheckpointParts, Delivery, Edit, SessionStatus, SessionView};
use lariat_core::event::{AgentEvent, CommandRecord, Event, RunOutcome, UserCommandResult};
use lariat_core::id::{LoopId, MessageId, ToolCallId};
use lariat_core::message::AgentMessage;
use lariat_core::usage::Usage;

use super::model::key_of;

/// Returns the command that an event records.
pub(super) fn accepted_command(event: &Event) -> Option<&CommandRecord> {
    match &event.event {
        AgentEvent::CommandAccepted(command) => Some(command),
        _ => None,
    }
}

/// What the suite knows besides the journal.
#[derive(Default)]
pub(super) struct Context {
    /// The commands that the suite sent, by id.
    pub(super) sent: BTreeMap<String, Action>,
    /// The keys of waiting messages by id, from the views.
    pub(super) queued_ids: BTreeMap<MessageId, String>,
    /// The tool call of each ask, from the views.
    pub(super) asks: BTreeMap<String, ToolCallId>,
    /// Whether the host crashed at least once.
    pub(super) has_crashed: bool,
}

/// How strictly a view is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionMoment {
    /// Something may be between its command and its effect.
    Running,
    /// The session is at rest: every accepted command had its effect.
    AtRest,
}

/// A prompt that waits.
#[derive(Clone, Debug)]
struct WaitingMessage {
    key: String,
    delivery: Delivery,
    /// Whether an event other than its command says that it waits.
    is_recorded: bool,
}

/// A prompt in the conversation.
#[derive(Clone, Debug)]
pub(super) struct DeliveredMessage {
    pub(super) key: String,
    pub(super) run: Option<LoopId>,
}

/// A command of the user that was accepted.
#[derive(Debug)]
pub(super) struct ShellRecord {
    command_id: String,
    pub(super) command: String,
    starts: usize,
    pub(super) ends: Vec<UserCommandResult>,
    /// The message that each end follows.
    messages: Vec<String>,
}

/// The state that a journal says.
#[derive(Default)]
pub(super) struct Fold {
    open_run: Option<LoopId>,
    outcome: Option<RunOutcome>,
    asks: Vec<ToolCallId>,
    answered: BTreeSet<ToolCallId>,
    waiting: Vec<WaitingMessage>,
    is_paused: bool,
    title: Option<String>,
    first_message: Option<String>,
    mode: Option<String>,
    model: Option<String>,
    usage: Usage,
    messages: BTreeMap<MessageId, String>,
    is_closing: bool,
    is_starting: bool,
    newest_prompt: Option<String>,
    /// Position and newest message of each checkpoint.
    checkpoints: BTreeMap<String, (u64, Option<MessageId>)>,
    /// Position of each message.
    positions: BTreeMap<MessageId, u64>,
    /// Position and id of everything that may have changed files.
    changes: Vec<(u64, String)>,
    /// What the newest restore must undo.
    restore: BTreeSet<String>,
    undone: BTreeSet<String>,
    /// Where the conversation must have continued, and where it did.
    expected_tips: Vec<Option<MessageId>>,
    tips: Vec<Option<MessageId>>,
    /// The text of the newest message that no run added.
    newest_import: Option<(u64, String)>,
    pub(super) has_open_restore: bool,
    /// The commands of the user, oldest first.
    pub(super) shells: Vec<ShellRecord>,
    /// The last message of each prompt's reply.
    pub(super) last_messages: BTreeMap<String, MessageId>,
    pub(super) conversation: Vec<DeliveredMessage>,
    /// Prompts that a client removed from the queue.
    pub(super) removed: BTreeSet<String>,
    /// Prompts that were accepted, or replaced one that was.
    pub(super) accepted: Vec<String>,
    /// Tool calls that ended without an error.
    pub(super) succeeded: Vec<ToolCallId>,
}

impl Fold {
    pub(super) fn of(events: &[Event], context: &Context) -> Self {
        let mut fold = Self::default();
        for event in events {
            if let Some(command) = accepted_command(event) {
                if let Some(action) = context.sent.get(&command.command_id) {
                    fold.command(&command.command_id, action, context);
                }
            } else {
                fold.event(event);
            }
        }
        fold
    }

    fn command(&mut self, id: &str, action: &Action, context: &Context) {
        self.is_closing = matches!(action, Action::Close);
        match action {
            Action::Prompt { content, delivery } => {
                let text = lariat_core::content::joined_text(&content.0);
                let key = key_of(&text).unwrap_or(&text).to_owned();
                self.accepted.push(key.clone());
                self.waiting.push(WaitingMessage { key, delivery: *delivery, is_recorded: false });
            }
            Action::Continue => self.is_starting = true,
            Action::Interrupt => self.is_paused = true,
            Action::Answer { ask_id, .. } => {
                self.answered.extend(context.asks.get(ask_id.as_str()).cloned());
            }
            Action::EditQueue { edit } => self.edit(edit, context),
            Action::SetMode { mode } => self.mode = Some(mode.clone()),
            Action::SetModel { model, .. } => self.model = Some(model.clone()),
            Action::Restore { label, parts } => {
                let point = self.checkpoints.get(label).copied();
                self.restore_after(point.map(|(seq, _)| seq), point.and_then(|(_, tip)| tip), *parts);
            }
            Action::RestoreTo { to, parts } => {
                let seq = to.and_then(|id| self.positions.get(&id).copied());
                self.restore_after(seq, *to, *parts);
            }
            Action::Shell { command } => self.shells.push(ShellRecord {
                command_id: id.to_owned(),
                command: command.clone(),
                starts: 0,
                ends: Vec::new(),
                messages: Vec::new(),
            }),
            _ => {}
        }
    }

    /// A restore undoes what began after an event, or everything.
    fn restore_after(&mut self, seq: Option<u64>, tip: Option<MessageId>, parts: CheckpointParts) {
        if parts != CheckpointParts::Files {
            self.expected_tips.push(tip);
        }
        if parts != CheckpointParts::Conversation {
            let later = self.changes.iter().filter(|(at, _)| seq.is_none_or(|seq| *at > seq));
            self.restore = later.map(|(_, id)| id.clone()).collect();
        }
    }

    /// Whether a change was undone.
    pub(super) fn is_undone(&self, change_id: &str) -> bool {
        self.undone.contains(change_id)
    }

    fn edit(&mut self, edit: &Edit, context: &Context) {
        let key_of_id = |id: &MessageId| {
            self.messages.get(id).or_else(|| context.queued_ids.get(id)).cloned().unwrap_or_default()
        };
        match edit {
            Edit::Replace { message_id, content } => {
                let old = key_of_id(message_id);
                let text = lariat_core::content::joined_text(&content.0);
                let new = key_of(&text).unwrap_or(&text).to_owned();
                if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.key == old) {
                    waiting.key.clone_from(&new);
                    waiting.is_recorded = true;
                    self.messages.insert(*message_id, new.clone());
                    self.accepted.push(new);
                    self.removed.insert(old);
                }
            }
            Edit::Remove { message_id } => {
                let key = key_of_id(message_id);
                self.waiting.retain(|waiting| waiting.key != key);
                self.removed.insert(key);
            }
            Edit::Reorder { message_ids } => {
                let keys: Vec<String> = message_ids.iter().map(key_of_id).collect();
                let place = |waiting: &WaitingMessage| keys.iter().position(|key| *key == waiting.key);
                self.waiting.sort_by_key(|waiting| place(waiting).unwrap_or(usize::MAX));
            }
            Edit::Resume => self.is_paused = false,
            _ => {}
        }
    }

    fn event(&mut self, record: &Event) {
        self.changes.extend(record.event.change_id().map(|id| (record.seq, id)));
        match &record.event {
            AgentEvent::Checkpoint { label, message_id } => {
                self.checkpoints.insert(label.clone(), (record.seq, *message_id));
            }
            AgentEvent::FileRestoreStarted(_) => self.has_open_restore = true,
            AgentEvent::FileRestoreEnded(result) => {
                self.has_open_restore = false;
                let undone = std::mem::take(&mut self.restore);
                self.undone.extend(undone.into_iter().filter(|_| result.problem.is_none()));
            }
            AgentEvent::Rewound { tip } => self.tips.push(*tip),
            AgentEvent::UserCommandStarted { command_id, .. } => {
                let shell = self.shells.iter_mut().find(|shell| shell.command_id == *command_id);
                shell.into_iter().for_each(|shell| shell.starts += 1);
            }
            AgentEvent::UserCommandEnded(result) => {
                let before = self.newest_import.take().filter(|(seq, _)| seq + 1 == record.seq);
                let shell = self.shells.iter_mut().find(|shell| shell.command_id == result.command_id);
                if let Some(shell) = shell {
                    shell.ends.push(UserCommandResult::clone(result));
                    shell.messages.extend(before.map(|(_, text)| text));
                }
            }
            AgentEvent::MessagesImported { messages, .. } => {
                for message in messages {
                    self.positions.insert(message.id(), record.seq);
                    self.first_message.get_or_insert_with(|| prompt_text(message));
                    self.newest_import = Some((record.seq, prompt_text(message)));
                }
            }
            AgentEvent::AgentStart(_) => {
                self.open_run.clone_from(&record.loop_id);
                self.is_starting = false;
            }
            AgentEvent::AgentEnd { outcome, .. } if self.open_run == record.loop_id => {
                self.open_run = None;
                self.outcome = Some(outcome.clone());
                self.asks.clear();
            }
            AgentEvent::PermissionRequired { request } => self.asks.push(request.tool_call_id.clone()),
            AgentEvent::PermissionDecided { tool_call_id, .. } => self.asks.retain(|id| id != tool_call_id),
            AgentEvent::ToolExecutionEnd { tool_call_id, is_error: false, .. } => {
                self.succeeded.push(tool_call_id.clone());
            }
            AgentEvent::SessionDescribed(description) => {
                if let Some(title) = &description.title {
                    self.title = Some(title.clone()).filter(|title| !title.is_empty());
                }
            }
            AgentEvent::MessageQueued { message, .. } => {
                self.positions.insert(message.id(), record.seq);
                let Some(key) = prompt_key(message) else { return };
                self.messages.insert(message.id(), key.clone());
                self.first_message.get_or_insert_with(|| prompt_text(message));
                match self.waiting.iter_mut().find(|waiting| waiting.key == key) {
                    Some(waiting) => waiting.is_recorded = true,
                    None => {
                        let delivery = Delivery::Queue;
                        self.waiting.push(WaitingMessage { key, delivery, is_recorded: true });
                    }
                }
            }
            AgentEvent::MessageEnd { message } => {
                let full = message.shared();
                self.usage +=
                    full.and_then(|m| m.as_assistant()).map(|reply| reply.usage).unwrap_or_default();
                let key =
                    full.and_then(|m| prompt_key(m)).or_else(|| self.messages.get(&message.id()).cloned());
                self.positions.insert(message.id(), record.seq);
                self.newest_prompt = key.clone().or(self.newest_prompt.take());
                self.last_messages.extend(self.newest_prompt.clone().map(|prompt| (prompt, message.id())));
                let Some(key) = key else { return };
                if let Some(message) = full {
                    self.first_message.get_or_insert_with(|| prompt_text(message));
                }
                self.waiting.retain(|waiting| waiting.key != key);
                self.conversation.push(DeliveredMessage { key, run: record.loop_id.clone() });
            }
            _ => {}
        }
    }

    /// The serialised kind of the outcome of the newest run.
    pub(super) fn outcome_kind(&self) -> Option<String> {
        let outcome = serde_json::to_value(&self.outcome).ok()?;
        Some(outcome.get("kind")?.as_str()?.to_owned())
    }

    /// The keys of the prompts that wait, in the order of delivery.
    pub(super) fn queue_keys(&self) -> Vec<String> {
        self.queue().into_iter().map(|waiting| waiting.key.clone()).collect()
    }

    /// The prompts that wait, in the order of delivery: steering first.
    fn queue(&self) -> Vec<&WaitingMessage> {
        let is_first = |waiting: &&WaitingMessage| waiting.delivery != Delivery::Queue;
        let first = self.waiting.iter().filter(is_first);
        first.chain(self.waiting.iter().filter(|waiting| !is_first(waiting))).collect()
    }

    /// Whether these prompts are in the conversation, in this order, among others.
    pub(super) fn has_delivered(&self, keys: impl Iterator<Item = String>) -> bool {
        let mut keys = keys.peekable();
        for delivered in &self.conversation {
            keys.next_if(|key| *key == delivered.key);
        }
        keys.peek().is_none()
    }

    /// The run in which a prompt was delivered.
    pub(super) fn run_of(&self, key: &str) -> Result<String, String> {
        let delivered = self.conversation.iter().find(|delivered| delivered.key == key);
        let run = delivered.and_then(|delivered| delivered.run.as_ref());
        run.map(ToString::to_string).ok_or(format!("{key} was not delivered in a run"))
    }

    /// Whether accepted work has not begun.
    pub(super) fn has_pending_prompts(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn statuses(&self, context: &Context) -> Vec<SessionStatus> {
        let mut statuses = Vec::new();
        if self.open_run.is_some() {
            let open_asks = self.asks.iter().filter(|id| !self.answered.contains(*id)).count();
            if open_asks > 0 || !self.asks.is_empty() {
                statuses.push(SessionStatus::RequiresAction);
            }
            if open_asks == 0 {
                statuses.push(SessionStatus::Running);
            }
            if context.has_crashed {
                statuses.push(SessionStatus::Interrupted);
            }
            return statuses;
        }
        if self.has_open_restore || self.shells.iter().any(|shell| shell.starts > shell.ends.len()) {
            statuses.push(SessionStatus::Running);
            statuses.extend(context.has_crashed.then_some(SessionStatus::Interrupted));
            return statuses;
        }
        statuses.push(SessionStatus::Idle);
        if self.is_closing {
            statuses.push(SessionStatus::Closed);
        }
        if self.is_starting || self.has_pending_prompts() {
            statuses.push(SessionStatus::Running);
            if context.has_crashed {
                statuses.push(SessionStatus::Interrupted);
            }
        }
        statuses
    }

    /// Compares a view of exactly these events with them.
    pub(super) fn compare(
        &self,
        view: &SessionView,
        context: &Context,
        moment: SessionMoment,
    ) -> Result<(), String> {
        let differs = |what: &str, seen: &dyn std::fmt::Debug, journal: &dyn std::fmt::Debug| {
            Err(format!("the view at {} has {what} {seen:?}, but the journal says {journal:?}", view.seq))
        };
        let statuses = self.statuses(context);
        if !statuses.contains(&view.status) {
            return differs("status", &view.status, &statuses);
        }
        if view.outcome != self.outcome {
            return differs("outcome", &view.outcome, &self.outcome);
        }
        if view.usage != self.usage {
            return differs("usage", &view.usage, &self.usage);
        }
        self.compare_asks(view, moment)?;
        self.compare_queue(view, moment)?;
        if let Some(title) = &self.title
            && view.title.as_ref() != Some(title)
        {
            return differs("title", &view.title, &title);
        }
        if moment == SessionMoment::Running {
            return Ok(());
        }
        if self.title.is_none()
            && let Some(first) = &self.first_message
        {
            let first: String = first.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let start = view.title.as_deref().unwrap_or_default().trim_end_matches('…');
            if start.is_empty() || !first.starts_with(start) {
                return differs("title", &view.title, &first);
            }
        }
        if self.mode.as_ref().is_some_and(|mode| *mode != view.mode) {
            return differs("mode", &view.mode, &self.mode);
        }
        if self.model.as_ref().is_some_and(|model| *model != view.model.name) {
            return differs("model", &view.model.name, &self.model);
        }
        if !self.waiting.is_empty() && view.is_queue_paused != self.is_paused {
            return differs("a paused queue", &view.is_queue_paused, &self.is_paused);
        }
        Ok(())
    }

    /// Checks at rest that every restore of a conversation and every command of the user had its effects once.
    pub(super) fn check_work_outside_runs(&self) -> Result<(), String> {
        if self.tips != self.expected_tips {
            return Err(format!(
                "the conversation returned to {:?}, but clients asked for {:?}",
                self.tips, self.expected_tips
            ));
        }
        for shell in &self.shells {
            let ShellRecord { command, starts, ends, messages, .. } = shell;
            let is_complete = |text: &String| {
                let has_output = text.contains("is done") || ends.iter().any(|end| end.problem.is_some());
                text.contains(command.as_str()) && has_output
            };
            if *starts != 1 || ends.len() != 1 {
                return Err(format!("{command} began {starts} times and ended {} times", ends.len()));
            }
            if messages.len() != 1 || !messages.iter().all(is_complete) {
                return Err(format!("{command} ended without a message with its output: {messages:?}"));
            }
        }
        Ok(())
    }

    fn compare_asks(&self, view: &SessionView, moment: SessionMoment) -> Result<(), String> {
        let seen: Vec<&ToolCallId> = view.asks.iter().filter_map(|ask| approval_call(&ask.subject)).collect();
        let may_be_gone = |id: &ToolCallId| moment == SessionMoment::Running && self.answered.contains(id);
        let expected: Vec<&ToolCallId> =
            self.asks.iter().filter(|id| seen.contains(id) || !may_be_gone(id)).collect();
        if seen == expected {
            return Ok(());
        }
        Err(format!("the view at {} asks about {seen:?}, but the journal about {expected:?}", view.seq))
    }

    fn compare_queue(&self, view: &SessionView, moment: SessionMoment) -> Result<(), String> {
        let seen = queue_keys(view);
        let may_be_absent =
            |waiting: &WaitingMessage| moment == SessionMoment::Running && !waiting.is_recorded;
        let expected: Vec<String> = self
            .queue()
            .into_iter()
            .filter(|waiting| seen.contains(&waiting.key) || !may_be_absent(waiting))
            .map(|waiting| waiting.key.clone())
            .collect();
        if seen == expected {
            return Ok(());
        }
        Err(format!("the view at {} has the queue {seen:?}, but the journal {expected:?}", view.seq))
    }
}

/// The tool call that an approval is about.
pub(super) fn approval_call(subject: &AskSubject) -> Option<&ToolCallId> {
    match subject {
        AskSubject::Approval { request } => Some(&request.tool_call_id),
        _ => None,
    }
}

/// The keys of the messages that wait, as a view shows them.
pub(super) fn queue_keys(view: &SessionView) -> Vec<String> {
    let text = |content: &lariat_api::PromptContent| lariat_core::content::joined_text(&content.0);
    let key = |text: String| key_of(&text).unwrap_or(&text).to_owned();
    view.queue.iter().map(|message| key(text(&message.content))).collect()
}

fn prompt_text(message: &AgentMessage) -> String {
    message.as_user().map(|user| lariat_core::content::joined_text(&user.content)).unwrap_or_default()
}

fn prompt_key(message: &AgentMessage) -> Option<String> {
    let user = message.as_user().filter(|user| user.origin.is_from_user())?;
    key_of(&lariat_core::content::joined_text(&user.content)).map(str::to_owned)
}
