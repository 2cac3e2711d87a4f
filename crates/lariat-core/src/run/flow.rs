//! Runs the loop from its start through its turns to its end.
//!
//! Decides the order of callbacks and events. Each function looks at what is recorded and takes one step.

use std::sync::Arc;

use super::background_agents::is_report;
use super::state::LastTurn;
use super::{Activity, Effect, FilterOutcome, HookCall, Run, RunEnd, hook_note};
use crate::config::QueueMode;
use crate::content::Content;
use crate::event::{
    AUTOMATIC_CHECKPOINT, AgentEvent, ContinuationKind, MessageRef, QueueKind, RecordedMessage, RunOutcome,
    TurnTrigger,
};
use crate::hooks::HookInterest;
use crate::message::{AgentMessage, SharedMessage};

/// Maximum bytes of a task in the name of a checkpoint.
const MOST_CHECKPOINT_NAME: usize = 60;

/// Whether a step was taken or the run has to wait.
#[derive(PartialEq, Eq)]
pub(super) enum StepResult {
    Taken,
    Waiting,
}

impl Run {
    /// Takes steps until the run has to wait for an input.
    pub(super) fn advance(&mut self) {
        while matches!(self.activity, Activity::None) && !self.is_finished() {
            let step = match &self.state.turn {
                _ if !self.state.started => self.run_before_loop(),
                None => self.between_turns(),
                Some(turn) if turn.reply.is_none() => self.get_reply(),
                Some(_) => self.run_calls(),
            };
            if step == StepResult::Waiting {
                return;
            }
        }
    }

    pub(super) fn hook(&mut self, call: HookCall) {
        if self.config.hooks == HookInterest::All {
            self.out.push_back(Effect::Hook(call));
        }
    }

    fn run_before_loop(&mut self) -> StepResult {
        if self.config.hooks == HookInterest::None {
            self.start_loop();
            return StepResult::Taken;
        }
        let window = self.state.transcript.window();
        self.hook(HookCall::BeforeLoop { window, loop_index: self.loop_index });
        self.activity = Activity::BeforeLoop;
        StepResult::Waiting
    }

    fn start_loop(&mut self) {
        self.record(AgentEvent::AgentStart(self.start.clone()));
        if self.state.aborted {
            self.record(AgentEvent::AbortRequested);
        }
        if let Some(reason) = self.state.halted.clone() {
            self.record(AgentEvent::HookStopped { reason });
        }
        self.arm_deadline();
        for (scope, limits, by) in std::mem::take(&mut self.transient.early_extensions) {
            self.on_extended(scope, limits, by);
        }
    }

    pub(super) fn on_hook_answered(&mut self, proceed: bool) {
        match std::mem::take(&mut self.activity) {
            Activity::BeforeLoop if proceed => self.start_loop(),
            Activity::BeforeTurn if proceed => self.transient.turn_hook_passed = true,
            // Sub-agents in the background end first.
            Activity::BeforeTurn if !self.state.background.is_empty() => {
                self.on_halt("a callback stopped the run".to_owned());
            }
            Activity::BeforeLoop | Activity::BeforeTurn => {
                self.end(self.state.stop_outcome().unwrap_or(RunOutcome::StoppedByHook));
            }
            other => self.activity = other,
        }
    }

    pub(super) fn on_filtered(&mut self, filtered: FilterOutcome) {
        if !matches!(self.activity, Activity::Filtering { .. }) {
            return;
        }
        self.activity = Activity::None;
        self.transient.filtered = true;
        match filtered {
            FilterOutcome::Reject { reason } => self.record(AgentEvent::InputRejected { reason }),
            FilterOutcome::Pass { context, warnings } => {
                context.iter().for_each(|context| self.append_to_prompt(hook_note(context)));
                for warning in warnings {
                    self.append_to_prompt(format!("[Warning: {warning}]"));
                    self.record(AgentEvent::InputWarned { warning });
                }
            }
        }
    }

    fn append_to_prompt(&mut self, text: String) {
        let last = self.transient.prompts.iter_mut().rev().find(|prompt| prompt.as_user().is_some());
        if let Some(AgentMessage::Llm(llm)) = last {
            llm.message.content_mut().push(Content::text(text));
        }
    }

    /// Ends the loop or starts the next turn, when no turn is open.
    fn between_turns(&mut self) -> StepResult {
        self.queue_reports();
        if let Some(outcome) = self.due_outcome() {
            if self.waits_for_background(&outcome) {
                return StepResult::Waiting;
            }
            // The prepared compaction was paid for, and the next prompt finds space. With hooks for
            // compaction it must wait for a turn, because their answers belong in one.
            if outcome == RunOutcome::Completed && !self.has_compaction_hooks() && self.apply_prepared() {
                return StepResult::Taken;
            }
            if outcome == RunOutcome::Completed && self.has_stop_hooks() {
                self.call_stop_hooks();
                return StepResult::Waiting;
            }
            if self.call_failure_hooks(&outcome) {
                return StepResult::Waiting;
            }
            self.end(outcome);
            return StepResult::Taken;
        }
        if self.config.has_filters && !self.transient.filtered && !self.transient.prompts.is_empty() {
            let op = self.op();
            self.out.push_back(Effect::Filter { op, prompts: self.transient.prompts.clone() });
            self.activity = Activity::Filtering { op };
            return StepResult::Waiting;
        }
        if self.sends_budget_request() {
            return StepResult::Waiting;
        }
        if let Some(standing) = self.exceeded_limit().or_else(|| self.used_up()) {
            self.on_used_up(standing);
            return StepResult::Taken;
        }
        let ask_hook = self.config.hooks == HookInterest::All;
        if ask_hook && !self.transient.turn_hook_passed {
            let window = self.state.transcript.window();
            self.hook(HookCall::BeforeTurn { window, turn_index: self.state.turns });
            self.activity = Activity::BeforeTurn;
            return StepResult::Waiting;
        }
        self.start_turn();
        StepResult::Taken
    }

    /// Returns the outcome if the loop ends here.
    fn due_outcome(&self) -> Option<RunOutcome> {
        let state = &self.state;
        if let Some(outcome) = state.stop_outcome() {
            return Some(outcome);
        }
        if state.rejection.is_some() {
            return Some(RunOutcome::Rejected);
        }
        if let Some(guard) = &self.config.repetition
            && state.repetition.detected.count >= guard.stop_after.max(1)
        {
            return Some(RunOutcome::Repetition);
        }
        let queued = !state.steering.is_empty() || !state.follow_up.is_empty();
        match &state.last {
            LastTurn::Failed(error) => Some(match &state.full {
                Some(full) => RunOutcome::ContextFull(full.clone()),
                None => RunOutcome::Failed { error: error.clone() },
            }),
            LastTurn::WantsMore => None,
            LastTurn::Settled if queued => None,
            LastTurn::Settled => Some(RunOutcome::Completed),
            LastTurn::None if queued || !self.transient.prompts.is_empty() => None,
            LastTurn::None => {
                state.transcript.request().err().map(|why| RunOutcome::Failed { error: why.to_string() })
            }
        }
    }

    fn start_turn(&mut self) {
        let turn_index = self.state.turns;
        self.transient.turn_hook_passed = false;
        self.transient.compaction_requested = false;
        self.transient.waited_for_compaction = false;
        self.transient.notes_requested = false;
        self.transient.count_requested = false;
        self.transient.may_stop = false;
        self.transient.admitted = false;
        self.call_activities.clear();
        self.record(AgentEvent::TurnStart { turn_index, triggered_by: self.trigger(turn_index) });
        for mut prompt in std::mem::take(&mut self.transient.prompts) {
            prompt.assign_id(|| self.message_id());
            self.stamp_message(&mut prompt);
            if let AgentMessage::Llm(llm) = &mut prompt {
                llm.turn_id = self.turn_id();
            }
            self.record_message(Arc::new(prompt));
        }
        self.deliver(self.messages_to_deliver());
    }

    fn deliver(&mut self, messages: Vec<SharedMessage>) {
        for message in messages {
            self.record(AgentEvent::MessageStart { message: MessageRef::resolved(Arc::clone(&message)) });
            self.record(AgentEvent::MessageEnd {
                message: RecordedMessage::Earlier(MessageRef::resolved(message)),
            });
        }
    }

    /// Delivers messages that a crash separated from the start of their turn. Returns whether there were any.
    pub(super) fn deliver_late(&mut self) -> bool {
        let waiting = self.messages_to_deliver();
        let any = !waiting.is_empty();
        self.deliver(waiting);
        any
    }

    /// Returns the messages to deliver now: steering always, follow-ups only if the loop would otherwise
    /// stop.
    fn messages_to_deliver(&self) -> Vec<SharedMessage> {
        let take = |queue: QueueKind| {
            let (messages, mode) = match queue {
                QueueKind::Steering => (&self.state.steering, self.config.steering_mode),
                QueueKind::FollowUp => (&self.state.follow_up, self.config.follow_up_mode),
            };
            let count = match mode {
                QueueMode::OneAtATime => 1,
                QueueMode::All => messages.len(),
            };
            // Reports of sub-agents do not wait for each other.
            let due = messages.iter().enumerate().filter(|(at, message)| *at < count || is_report(message));
            due.map(|(_, message)| Arc::clone(message)).collect::<Vec<_>>()
        };
        let steering = take(QueueKind::Steering);
        let would_stop = match self.state.last {
            LastTurn::Settled => true,
            LastTurn::None => self.state.transcript.request().is_err(),
            _ => false,
        };
        if steering.is_empty() && would_stop { take(QueueKind::FollowUp) } else { steering }
    }

    fn trigger(&self, turn_index: u32) -> TurnTrigger {
        match &self.start.continuation_kind {
            _ if turn_index > 0 => TurnTrigger::Continuation,
            Some(ContinuationKind::Branch { .. }) => TurnTrigger::Branch,
            Some(_) => TurnTrigger::Continuation,
            None => self.config.first_turn_trigger,
        }
    }

    /// Closes the open turn, whose tool calls all have results.
    pub(super) fn end_turn(&mut self) {
        let Some(turn) = &self.state.turn else { return };
        let Some(reply) = &turn.reply else { return };
        let usage = reply.as_assistant().map(|assistant| assistant.usage).unwrap_or_default();
        let tool_results: Vec<MessageRef> =
            turn.calls.iter().filter_map(|call| call.result.clone()).map(MessageRef::resolved).collect();
        let message = MessageRef::resolved(Arc::clone(reply));
        let completed_task = turn.completed_task.clone();
        self.record(AgentEvent::TurnEnd { message, usage, tool_results });
        self.call_activities.clear();
        if let Some(task) = completed_task {
            self.record_checkpoint(&format!("task/{}", checkpoint_name(&task)));
        }
        if self.config.hooks == HookInterest::All {
            let window = self.state.transcript.window();
            self.hook(HookCall::AfterTurn { window, usage });
        }
    }

    /// Records a checkpoint at the last message, if the configuration says so.
    fn record_checkpoint(&mut self, name: &str) {
        if self.config.checkpoints {
            let label = format!("{AUTOMATIC_CHECKPOINT}{name}");
            self.record(AgentEvent::Checkpoint { label, message_id: self.state.tip.or(self.start.base) });
        }
    }

    fn end(&mut self, outcome: RunOutcome) {
        if let Some(op) = self.deadline.take() {
            self.out.push_back(Effect::Abandon { op });
        }
        // Before the usage is read: what a prepared compaction cost is part of it.
        self.abandon_prepared();
        let usage = self.state.usage;
        let ending = RunEnd { outcome: outcome.clone(), usage, turns: self.state.turns };
        let messages = std::mem::take(&mut self.state.produced);
        let rejection = self.state.rejection.clone();
        if !messages.is_empty() {
            self.record_checkpoint(&format!("run-{}", self.loop_index));
        }
        self.record(AgentEvent::AgentEnd { messages, usage, outcome, rejection });
        if self.config.hooks == HookInterest::All {
            let window = self.state.transcript.window();
            self.hook(HookCall::AfterLoop { window, usage });
        }
        self.out.push_back(Effect::Finish(ending));
    }
}

/// Returns the first line of a task, short enough for the name of a checkpoint.
fn checkpoint_name(task: &str) -> &str {
    let line = task.trim().lines().next().unwrap_or_default();
    line.get(..line.floor_char_boundary(MOST_CHECKPOINT_NAME)).unwrap_or(line).trim_end()
}
