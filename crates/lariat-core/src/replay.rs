//! Replays a recorded loop through the current machine, offline, with the recorded replies and results.
//!
//! The replay drives the machine as the driver does, but answers its effects from the journal and compares
//! the events that the machine records with the journal. The machine creates new ids and times: ids must
//! correspond one to one, times are not compared. Invariant: a replay has no side effects, and it terminates
//! for every journal.

mod answers;
mod compare;

use std::collections::HashSet;
use std::sync::Arc;

use crate::config::RetryConfig;
use crate::event::{AgentEvent, Event, LoopStart, RecordedMessage};
use crate::hooks::LifecycleEventKind;
use crate::id::{LoopId, ToolCallId};
use crate::message::{AgentMessage, AssistantMessage};
use crate::run::{Effect, FallbackModel, Input, Run, RunConfig, ToolTraits};
use crate::session::SessionFold;
use crate::time::Stamp;
use crate::tool::ToolEffects;
use answers::RecordedAnswers;
use compare::IdMap;

/// The outcome of replaying a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replay {
    /// The loop.
    pub loop_id: LoopId,
    /// Number of events that the machine recorded exactly as in the journal.
    pub same: usize,
    /// The first difference, if any.
    pub divergence: Option<Divergence>,
}

/// The first difference between the journal and the replay.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Divergence {
    /// Position of the recorded event in the journal; `None` after its end.
    pub seq: Option<u64>,
    /// The recorded event as JSON, or a note that the journal ends.
    pub recorded: String,
    /// The event that the machine records now, or what it waits for.
    pub replayed: String,
}

/// Derives a configuration from a recorded session: its tools are those that were started, and it has no
/// limits. Use the real configuration if you have it: a difference in limits appears as a divergence.
pub fn config_of(records: &[Event]) -> RunConfig {
    // The journal does not record hooks that returned an empty answer, so enabling them changes nothing.
    let moments = [LifecycleEventKind::Stop, LifecycleEventKind::PostCompact].into();
    let mut config = RunConfig { repetition: None, moments, has_notes: true, ..RunConfig::default() };
    let traits = ToolTraits::new(ToolEffects::READS, true);
    for record in records {
        match &record.event {
            AgentEvent::ToolExecutionStart { tool_name, .. }
            | AgentEvent::PlanChangeQueued { tool_name, .. } => {
                config.tools.insert(tool_name.clone(), traits.clone());
            }
            AgentEvent::PermissionRequired { request } => {
                config.tools.insert(request.tool_name.clone(), traits.clone());
            }
            AgentEvent::AgentStart(start) => {
                if let Some(recorded) = &start.config {
                    config.provider.clone_from(&recorded.provider);
                    config.model.clone_from(&recorded.model);
                }
            }
            AgentEvent::MessageEnd { message } => {
                let reply = message.shared().and_then(|message| message.as_assistant());
                config.fallbacks.extend(reply.and_then(|reply| fallback_model(&config, reply)));
            }
            AgentEvent::InputRejected { .. } | AgentEvent::InputWarned { .. } => config.has_filters = true,
            AgentEvent::ContextCounted { .. } => config.counts_tokens = true,
            AgentEvent::RepetitionDetected { .. } => config.repetition = Some(Default::default()),
            _ => {}
        }
    }
    config
}

/// Returns the model that answered, if it is neither the configured model nor a known fallback.
fn fallback_model(config: &RunConfig, reply: &AssistantMessage) -> Option<FallbackModel> {
    let model = FallbackModel { provider: reply.provider.clone(), model: reply.asked_model().to_owned() };
    let configured = model.provider == config.provider && model.model == config.model;
    let known = configured || config.fallbacks.contains(&model) || config.model.is_empty();
    (!known).then_some(model)
}

/// Replays every loop of a session, in the order in which they started.
pub fn replay_session(config: &Arc<RunConfig>, records: &[Event]) -> Vec<Replay> {
    let starts = records.iter().filter_map(|record| match &record.event {
        AgentEvent::AgentStart(start) => Some(start.loop_id.clone()),
        _ => None,
    });
    starts.filter_map(|loop_id| replay_loop(config, records, &loop_id)).collect()
}

/// Replays one loop; one with a sub-agent in the background up to where its end first mattered. Returns `None` if the journal does not contain its start.
pub fn replay_loop(config: &Arc<RunConfig>, records: &[Event], loop_id: &LoopId) -> Option<Replay> {
    let begin = records.iter().position(
        |record| matches!(&record.event, AgentEvent::AgentStart(start) if start.loop_id == *loop_id),
    )?;
    let own =
        |record: &&Event| record.loop_id.as_ref() == Some(loop_id) && is_recorded_by_machine(&record.event);
    let mut expected: Vec<Event> = records.iter().filter(own).cloned().collect();
    expected.truncate(before_first_report(records, &expected));
    let before = records.get(..begin).unwrap_or_default();
    let AgentEvent::AgentStart(start) = &records.get(begin)?.event else { return None };
    // The replay answers model calls at once, so no retry delay is needed.
    let mut config = RunConfig { retry: RetryConfig::none(), ..RunConfig::clone(config) };
    // The journal answers the calls that started sub-agents, like others: nothing starts here.
    config.tools.values_mut().for_each(|traits| traits.task_argument = None);
    let config = &Arc::new(config);
    let mut replayer = LoopReplayer {
        config,
        records,
        expected: &expected,
        at: 0,
        ids: IdMap::default(),
        answers: RecordedAnswers::new(config),
        entropy: 0,
    };
    let divergence = replayer.play(before, start).err();
    Some(Replay { loop_id: loop_id.clone(), same: replayer.at, divergence: divergence.map(|found| *found) })
}

/// Returns the number of events that do not depend on when a sub-agent in the background ended: up to the first turn that did
/// not continue at once, or to its first request. The journal does not say when it ended, so the rest is not compared.
fn before_first_report(records: &[Event], expected: &[Event]) -> usize {
    let background: HashSet<&ToolCallId> =
        records.iter().filter_map(|record| background_call(&record.event)).collect();
    let mut has_begun = false;
    for (at, event) in expected.iter().enumerate() {
        let next = expected.get(at + 1).map(|next| &next.event);
        match &event.event {
            AgentEvent::ToolExecutionStart { tool_call_id, .. } => {
                has_begun |= background.contains(tool_call_id)
            }
            AgentEvent::PermissionRequired { request }
                if has_begun && background.contains(&request.tool_call_id) =>
            {
                return at;
            }
            AgentEvent::TurnEnd { .. }
                if has_begun && !matches!(next, Some(AgentEvent::TurnStart { .. })) =>
            {
                return at + 1;
            }
            _ => {}
        }
    }
    expected.len()
}

fn background_call(event: &AgentEvent) -> Option<&ToolCallId> {
    match event {
        AgentEvent::SubAgentSpawned { tool_call_id, report: Some(_), .. } => Some(tool_call_id),
        _ => None,
    }
}

/// Returns whether the machine itself must record such an event. Others come from the driver or the user, or depend on a
/// setting that the journal does not contain.
const fn is_recorded_by_machine(event: &AgentEvent) -> bool {
    event.is_durable()
        && !matches!(
            event,
            AgentEvent::Checkpoint { .. }
                | AgentEvent::SessionFormed { .. }
                | AgentEvent::SessionDescribed(_)
                | AgentEvent::SessionImported(_)
                | AgentEvent::SessionTakenOver { .. }
                | AgentEvent::Rewound { .. }
                | AgentEvent::FileRestoreStarted(_)
                | AgentEvent::FileRestoreEnded(_)
                | AgentEvent::UserCommandStarted { .. }
                | AgentEvent::UserCommandEnded(_)
                | AgentEvent::CompactionUndone { .. }
                | AgentEvent::Learned(_)
                | AgentEvent::Unlearned { .. }
                | AgentEvent::PromptAssembled { .. }
                | AgentEvent::GoalChanged(_)
                | AgentEvent::HookMessage { .. }
                | AgentEvent::CommandAccepted(_)
                | AgentEvent::ModeChanged { .. }
                | AgentEvent::ModelChanged { .. }
                | AgentEvent::EventLost { .. }
                | AgentEvent::SubAgentSpawned { .. }
                | AgentEvent::SubAgentCompleted { .. }
                | AgentEvent::FindingShared(_)
                | AgentEvent::Unknown(_)
        )
}

/// The replay of one loop.
struct LoopReplayer<'a> {
    config: &'a Arc<RunConfig>,
    records: &'a [Event],
    expected: &'a [Event],
    at: usize,
    ids: IdMap,
    answers: RecordedAnswers,
    entropy: u64,
}

impl LoopReplayer<'_> {
    fn play(&mut self, before: &[Event], start: &LoopStart) -> Result<(), Box<Divergence>> {
        let others = |record: &&Event| record.loop_id.as_ref() != Some(&start.loop_id);
        let others: Vec<Event> = before.iter().filter(others).cloned().collect();
        let fold = SessionFold::of(&others);
        let (transcript, _) = fold.conversation(start.base);
        let number = start.loop_id.number();
        let mut prompts = self.prompts();
        if prompts.is_empty() && transcript.request().is_err() {
            // The loop ended before its prompt was recorded, or the journal is cut off.
            prompts.push(AgentMessage::user("(not recorded)"));
        }
        let begun =
            Run::new(Arc::clone(self.config), start.clone(), number.unwrap_or_default(), transcript, prompts);
        let mut run = begun.map_err(|error| self.divergence(format!("the loop does not start: {error}")))?;
        run.remember(Arc::new(fold.memory().seen_by(&start.loop_id)));
        // A branch delivers only what was sent to it.
        for (queue, message) in fold.queued_messages().filter(|_| !fold.is_branch(&start.loop_id)) {
            run.queue_earlier_message(queue, Arc::clone(message));
        }
        // Messages that were recorded before the start arrived before the start.
        let early = self.expected.iter().map_while(|record| match &record.event {
            AgentEvent::MessageQueued { queue, message } => Some((*queue, AgentMessage::clone(message))),
            _ => None,
        });
        for (queue, message) in early {
            run.handle(Input::Queued { queue, message }, self.stamp());
        }
        // An abort that is recorded right after the start arrived before the start, or has the same result as
        // if it had.
        let begun =
            self.expected.iter().skip_while(|record| !matches!(record.event, AgentEvent::AgentStart(_)));
        match begun.map(|record| &record.event).nth(1) {
            Some(AgentEvent::AbortRequested) => run.handle(Input::Cancel, self.stamp()),
            Some(AgentEvent::HookStopped { reason }) => {
                run.handle(Input::Halt { reason: reason.clone() }, self.stamp());
            }
            _ => {}
        }
        run.handle(Input::Begin, self.stamp());
        // Every iteration consumes a recorded event or returns.
        loop {
            self.take_effects(&mut run)?;
            let Some(next) = self.expected.get(self.at) else {
                // The journal is cut off; everything in it was replayed.
                return Ok(());
            };
            if matches!(next.event, AgentEvent::LoopRecovered { .. }) {
                run = self.recover(next)?;
                continue;
            }
            let lost = self.lost_repetition_events();
            if lost > 0 {
                self.at += lost;
                continue;
            }
            if run.is_finished() {
                return Err(self.divergence("the loop ended".to_owned()));
            }
            let Some(inputs) =
                self.answers.answer(self.expected.get(self.at..).unwrap_or_default(), &self.ids)
            else {
                let waits = self.answers.describe_pending();
                return Err(self.divergence(waits));
            };
            for input in inputs {
                run.handle(input, self.stamp());
            }
        }
    }

    /// Takes all effects of the machine: compares records, and leaves requests for the world to answer.
    fn take_effects(&mut self, run: &mut Run) -> Result<(), Box<Divergence>> {
        while let Some(effect) = run.next_effect() {
            let Effect::Record(record) = effect else {
                self.answers.ask(effect);
                continue;
            };
            if !record.is_durable() || !is_recorded_by_machine(&record.event) {
                continue;
            }
            match self.expected.get(self.at) {
                Some(expected) if self.ids.matches(&expected.event, &record.event) => self.at += 1,
                None => return Ok(()),
                // Earlier versions did not record these events.
                Some(_) if self.is_missing_kind(&record.event) => {}
                // The machine of the crashed process would have recorded this next, but the crash prevented
                // it.
                Some(expected) if matches!(expected.event, AgentEvent::LoopRecovered { .. }) => return Ok(()),
                Some(_) => return Err(self.divergence(compare::to_text(&record.event))),
            }
        }
        Ok(())
    }

    /// Returns whether the journal was written before events of this kind existed: the loop has none of them.
    fn is_missing_kind(&self, event: &AgentEvent) -> bool {
        let is_same_kind =
            |other: &Event| std::mem::discriminant(&other.event) == std::mem::discriminant(event);
        matches!(event, AgentEvent::ToolBlocked { .. } | AgentEvent::TasksChanged { .. })
            && !self.expected.iter().any(is_same_kind)
    }

    /// Counts events that report a repetition in a result that was lost in a crash. The journal does not
    /// contain that result.
    fn lost_repetition_events(&self) -> usize {
        let rest = self.expected.get(self.at..).unwrap_or_default();
        let life = rest.iter().map(|record| &record.event);
        let mut life = life.take_while(|event| !matches!(event, AgentEvent::LoopRecovered { .. })).peekable();
        let begins = life.next_if(|event| matches!(event, AgentEvent::RepetitionDetected { .. })).is_some();
        let ends = life.next_if(|event| matches!(event, AgentEvent::ToolExecutionEnd { .. })).is_some();
        if begins && life.next().is_none() { 1 + usize::from(ends) } else { 0 }
    }

    /// The process crashed here and the next one resumed from the journal. The replay does the same.
    fn recover(&mut self, recovered: &Event) -> Result<Run, Box<Divergence>> {
        let seen = self.records.iter().take_while(|record| record.seq < recovered.seq).count();
        let prefix = self.records.get(..seen).unwrap_or_default();
        let Some(loop_id) = &recovered.loop_id else {
            return Err(self.divergence("the recovery event has no loop id".to_owned()));
        };
        let recovered_run = Run::recover(Arc::clone(self.config), prefix, loop_id);
        let recovered_run =
            recovered_run.map_err(|error| self.divergence(format!("the loop does not resume: {error}")))?;
        self.ids = IdMap::default();
        self.answers = RecordedAnswers::new(self.config);
        Ok(recovered_run.resume(self.stamp()))
    }

    /// Returns the initial prompts: the messages between the start of the first turn and its reply, without
    /// the text that filters added.
    fn prompts(&self) -> Vec<AgentMessage> {
        let mut warnings = Vec::new();
        let mut prompts = Vec::new();
        let mut opened = false;
        for record in self.expected {
            match &record.event {
                AgentEvent::InputWarned { warning } => warnings.push(format!("[Warning: {warning}]")),
                AgentEvent::TurnStart { .. } if !opened => opened = true,
                AgentEvent::MessageEnd { message: RecordedMessage::Full(message) }
                    if opened
                        && message.as_assistant().is_none()
                        && message.as_tool_result().is_none()
                        && message.note_section().is_none() =>
                {
                    prompts.push(AgentMessage::clone(message));
                }
                // Hooks added the messages after a compaction.
                AgentEvent::MessageEnd { .. }
                | AgentEvent::TurnEnd { .. }
                | AgentEvent::Compaction { .. }
                    if opened =>
                {
                    break;
                }
                _ => {}
            }
        }
        let last = prompts.iter_mut().rev().find(|prompt| prompt.as_user().is_some());
        if let Some(AgentMessage::Llm(llm)) = last {
            let content = llm.message.content_mut();
            content.retain(|block| block.as_text().is_none_or(|text| !warnings.iter().any(|w| w == text)));
        }
        prompts
    }

    fn stamp(&mut self) -> Stamp {
        self.entropy += 1;
        let now = self.expected.get(self.at).or(self.expected.last()).map(|record| record.timestamp);
        Stamp { now: now.unwrap_or_default(), entropy: self.entropy }
    }

    fn divergence(&self, replayed: String) -> Box<Divergence> {
        let expected = self.expected.get(self.at);
        Box::new(Divergence {
            seq: expected.map(|record| record.seq),
            recorded: expected
                .map_or_else(|| "the journal ends here".to_owned(), |record| compare::to_text(&record.event)),
            replayed,
        })
    }
}
