//! Replaying a recorded loop through today's machine: offline, with the replies and results that were recorded.
//!
//! The machine is driven as the driver would drive it, but the world's answers come from the journal, and what the
//! machine records is compared with what was recorded. Owns finding those answers and the comparison. Ids and times are
//! the machine's own each time: ids must correspond one to one, times are not compared.
//! Invariant: a replay touches nothing, and ends, whatever the journal says.

mod compare;
mod world;

use std::sync::Arc;

use crate::config::RetryConfig;
use crate::event::{AgentEvent, Event, LoopStart, Recorded};
use crate::hooks::MomentKind;
use crate::id::LoopId;
use crate::message::{AgentMessage, AssistantMessage};
use crate::run::{Effect, FallbackModel, Input, Run, RunConfig, ToolTraits};
use crate::session::SessionFold;
use crate::time::Stamp;
use crate::tool::ToolEffects;
use compare::Names;
use world::World;

/// What replaying a loop came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replay {
    /// The loop.
    pub loop_id: LoopId,
    /// Events that the machine recorded as the journal has them.
    pub same: usize,
    /// The first difference, if there is one.
    pub divergence: Option<Divergence>,
}

/// Where today's machine goes another way.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Divergence {
    /// Position in the journal of what was recorded there; `None` after its end.
    pub seq: Option<u64>,
    /// What was recorded, as JSON, or in words that nothing was.
    pub recorded: String,
    /// What the machine records today, or in words what it waits for.
    pub replayed: String,
}

/// A configuration that fits a recorded session: its tools are those that were started, and nothing is limited. Use the
/// real one where it is known; a difference in limits shows as a divergence.
pub fn config_of(records: &[Event]) -> RunConfig {
    // What hooks had nothing to say about is not recorded, so asking them changes nothing.
    let moments = [MomentKind::Stop, MomentKind::PostCompact].into();
    let mut config = RunConfig { repetition: None, moments, has_notes: true, ..RunConfig::default() };
    let traits = ToolTraits { effects: ToolEffects::READS, parallel_safe: true };
    for record in records {
        match &record.event {
            AgentEvent::ToolExecutionStart { tool_name, .. }
            | AgentEvent::PlanChangeQueued { tool_name, .. } => {
                config.tools.insert(tool_name.clone(), traits);
            }
            AgentEvent::PermissionRequired { request } => {
                config.tools.insert(request.tool_name.clone(), traits);
            }
            AgentEvent::AgentStart(start) => {
                if let Some(recorded) = &start.config {
                    config.provider.clone_from(&recorded.provider);
                    config.model.clone_from(&recorded.model);
                }
            }
            AgentEvent::MessageEnd { message } => {
                let reply = message.shared().and_then(|message| message.as_assistant());
                config.fallbacks.extend(reply.and_then(|reply| stood_in(&config, reply)));
            }
            AgentEvent::InputRejected { .. } | AgentEvent::InputWarned { .. } => config.has_filters = true,
            AgentEvent::RepetitionDetected { .. } => config.repetition = Some(Default::default()),
            _ => {}
        }
    }
    config
}

/// The model that answered, when it is neither the configured one nor one that is known to stand by.
fn stood_in(config: &RunConfig, reply: &AssistantMessage) -> Option<FallbackModel> {
    let model = FallbackModel { provider: reply.provider.clone(), model: reply.asked_model().to_owned() };
    let configured = model.provider == config.provider && model.model == config.model;
    let known = configured || config.fallbacks.contains(&model) || config.model.is_empty();
    (!known).then_some(model)
}

/// Replays every loop of a session, in the order they began.
pub fn replay_session(config: &Arc<RunConfig>, records: &[Event]) -> Vec<Replay> {
    let starts = records.iter().filter_map(|record| match &record.event {
        AgentEvent::AgentStart(start) => Some(start.loop_id.clone()),
        _ => None,
    });
    starts.filter_map(|loop_id| replay_loop(config, records, &loop_id)).collect()
}

/// Replays one loop; `None` when the journal does not have its start.
pub fn replay_loop(config: &Arc<RunConfig>, records: &[Event], loop_id: &LoopId) -> Option<Replay> {
    let begin = records.iter().position(
        |record| matches!(&record.event, AgentEvent::AgentStart(start) if start.loop_id == *loop_id),
    )?;
    let own = |record: &&Event| record.loop_id.as_ref() == Some(loop_id) && is_the_machines(&record.event);
    let expected: Vec<Event> = records.iter().filter(own).cloned().collect();
    let before = records.get(..begin).unwrap_or_default();
    let AgentEvent::AgentStart(start) = &records.get(begin)?.event else { return None };
    // Models are answered for at once, so nobody waits to try again.
    let config = &Arc::new(RunConfig { retry: RetryConfig::none(), ..RunConfig::clone(config) });
    let mut player = Player {
        config,
        records,
        expected: &expected,
        at: 0,
        names: Names::default(),
        world: World::new(config),
        entropy: 0,
    };
    let divergence = player.play(before, start).err();
    Some(Replay { loop_id: loop_id.clone(), same: player.at, divergence: divergence.map(|found| *found) })
}

/// Whether the machine records such an event by itself. Others come from the driver or from people.
const fn is_the_machines(event: &AgentEvent) -> bool {
    event.is_durable()
        && !matches!(
            event,
            AgentEvent::Checkpoint { .. }
                | AgentEvent::SessionDescribed(_)
                | AgentEvent::SessionImported(_)
                | AgentEvent::SessionTakenOver { .. }
                | AgentEvent::Rewound { .. }
                | AgentEvent::CompactionUndone { .. }
                | AgentEvent::Learned(_)
                | AgentEvent::Unlearned { .. }
                | AgentEvent::PromptAssembled { .. }
                | AgentEvent::GoalChanged(_)
                | AgentEvent::EventLost { .. }
                | AgentEvent::SubAgentSpawned { .. }
                | AgentEvent::SubAgentCompleted { .. }
                | AgentEvent::Unknown(_)
        )
}

/// One loop being replayed.
struct Player<'a> {
    config: &'a Arc<RunConfig>,
    records: &'a [Event],
    expected: &'a [Event],
    at: usize,
    names: Names,
    world: World,
    entropy: u64,
}

impl Player<'_> {
    fn play(&mut self, before: &[Event], start: &LoopStart) -> Result<(), Box<Divergence>> {
        let others = |record: &&Event| record.loop_id.as_ref() != Some(&start.loop_id);
        let others: Vec<Event> = before.iter().filter(others).cloned().collect();
        let fold = SessionFold::of(&others);
        let (transcript, _) = fold.conversation(start.base);
        let number = start.loop_id.as_str().rsplit('.').next().and_then(|n| n.parse().ok());
        let mut prompts = self.prompts();
        if prompts.is_empty() && transcript.request().is_err() {
            // It came to its end before its prompt was recorded, or the journal broke off.
            prompts.push(AgentMessage::user("(not recorded)"));
        }
        let begun =
            Run::new(Arc::clone(self.config), start.clone(), number.unwrap_or_default(), transcript, prompts);
        let mut run = begun.map_err(|error| self.diverged(format!("the loop does not start: {error}")))?;
        run.remember(Arc::new(fold.memory().clone()));
        for (queue, message) in fold.queued() {
            run.carry_over(queue, Arc::clone(message));
        }
        // What was said before the start was heard before the start.
        let early = self.expected.iter().map_while(|record| match &record.event {
            AgentEvent::MessageQueued { queue, message } => Some((*queue, AgentMessage::clone(message))),
            _ => None,
        });
        for (queue, message) in early {
            run.handle(Input::Queued { queue, message }, self.stamp());
        }
        // A stop that is recorded right after the start was heard before it, or leads to the same.
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
        // Every round takes in something that was recorded, or ends.
        loop {
            self.take_effects(&mut run)?;
            let Some(next) = self.expected.get(self.at) else {
                // A journal that broke off was replayed as far as it goes.
                return Ok(());
            };
            if matches!(next.event, AgentEvent::LoopRecovered { .. }) {
                run = self.recover(next)?;
                continue;
            }
            let cut_off = self.cut_off();
            if cut_off > 0 {
                self.at += cut_off;
                continue;
            }
            if run.is_finished() {
                return Err(self.diverged("the loop has ended".to_owned()));
            }
            let Some(inputs) =
                self.world.answer(self.expected.get(self.at..).unwrap_or_default(), &self.names)
            else {
                let waits = self.world.waits_for();
                return Err(self.diverged(waits));
            };
            for input in inputs {
                run.handle(input, self.stamp());
            }
        }
    }

    /// What the machine wants: records are compared, questions wait for their answer.
    fn take_effects(&mut self, run: &mut Run) -> Result<(), Box<Divergence>> {
        while let Some(effect) = run.next_effect() {
            let Effect::Record(record) = effect else {
                self.world.ask(effect);
                continue;
            };
            if !record.is_durable() {
                continue;
            }
            match self.expected.get(self.at) {
                Some(expected) if self.names.same(&expected.event, &record.event) => self.at += 1,
                None => return Ok(()),
                // What this process would have recorded next was lost with it.
                Some(expected) if matches!(expected.event, AgentEvent::LoopRecovered { .. }) => return Ok(()),
                Some(_) => return Err(self.diverged(compare::to_text(&record.event))),
            }
        }
        Ok(())
    }

    /// Events that tell of a repetition in a result which was lost with its process: nothing says what it was.
    fn cut_off(&self) -> usize {
        let rest = self.expected.get(self.at..).unwrap_or_default();
        let life = rest.iter().map(|record| &record.event);
        let mut life = life.take_while(|event| !matches!(event, AgentEvent::LoopRecovered { .. })).peekable();
        let begins = life.next_if(|event| matches!(event, AgentEvent::RepetitionDetected { .. })).is_some();
        let ends = life.next_if(|event| matches!(event, AgentEvent::ToolExecutionEnd { .. })).is_some();
        if begins && life.next().is_none() { 1 + usize::from(ends) } else { 0 }
    }

    /// The process died here, and the next one went on from the journal. So does the replay.
    fn recover(&mut self, recovered: &Event) -> Result<Run, Box<Divergence>> {
        let seen = self.records.iter().take_while(|record| record.seq < recovered.seq).count();
        let prefix = self.records.get(..seen).unwrap_or_default();
        let Some(loop_id) = &recovered.loop_id else {
            return Err(self.diverged("the recovery names no loop".to_owned()));
        };
        let going = Run::recover(Arc::clone(self.config), prefix, loop_id);
        let going = going.map_err(|error| self.diverged(format!("it is not recovered: {error}")))?;
        self.names = Names::default();
        self.world = World::new(self.config);
        Ok(going.resume(self.stamp()))
    }

    /// What the user said to begin with: the messages between the first turn's start and its reply, without the words
    /// that filters added.
    fn prompts(&self) -> Vec<AgentMessage> {
        let mut warnings = Vec::new();
        let mut prompts = Vec::new();
        let mut opened = false;
        for record in self.expected {
            match &record.event {
                AgentEvent::InputWarned { warning } => warnings.push(format!("[Warning: {warning}]")),
                AgentEvent::TurnStart { .. } if !opened => opened = true,
                AgentEvent::MessageEnd { message: Recorded::Full(message) }
                    if opened
                        && message.as_assistant().is_none()
                        && message.as_tool_result().is_none()
                        && message.note_section().is_none() =>
                {
                    prompts.push(AgentMessage::clone(message));
                }
                // What comes after a compaction was said by hooks.
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

    fn diverged(&self, replayed: String) -> Box<Divergence> {
        let expected = self.expected.get(self.at);
        Box::new(Divergence {
            seq: expected.map(|record| record.seq),
            recorded: expected
                .map_or_else(|| "the journal ends here".to_owned(), |record| compare::to_text(&record.event)),
            replayed,
        })
    }
}
