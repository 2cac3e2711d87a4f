//! Rebuilds a loop from the journal to resume it after a crash.
//!
//! Reads the conversation that the loop started from, folds the loop's own events, and lets the machine
//! continue as usual. The machine itself treats calls that were started but not ended as interrupted.

use std::collections::HashSet;
use std::sync::Arc;

use super::config::RunConfig;
use super::state::LoopState;
use super::{LoopSnapshot, LoopStartWithId, Run, SessionSnapshot, TransientState};
use crate::event::{AgentEvent, Event, LoopStart, QueueKind};
use crate::id::{LoopId, ToolCallId};
use crate::message::SharedMessage;
use crate::session::SessionFold;
use crate::time::Stamp;
use crate::transcript::Repair;

/// Why a loop cannot be resumed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The journal has no loop with this id.
    #[error("the journal has no loop `{0}`")]
    UnknownLoop(LoopId),
    /// The loop has already ended.
    #[error("loop `{0}` has ended")]
    Ended(LoopId),
}

impl Run {
    /// Rebuilds a loop from any prefix of its session's journal. Continue with [`RecoveredRun::resume`].
    ///
    /// # Errors
    /// Fails if the journal has no such loop, or the loop has ended.
    pub fn recover(
        config: Arc<RunConfig>,
        records: &[Event],
        loop_id: &LoopId,
    ) -> Result<RecoveredRun, RecoverError> {
        let fold = SessionFold::of(records);
        Self::recover_from(config, &fold, None, records, loop_id)
    }

    /// Like [`Run::recover`], with an existing fold. With a snapshot, fold and records start where it was
    /// taken.
    ///
    /// # Errors
    /// Fails if the journal has no such loop, or the loop has ended.
    pub fn recover_from(
        config: Arc<RunConfig>,
        fold: &SessionFold,
        snapshot: Option<&SessionSnapshot>,
        records: &[Event],
        loop_id: &LoopId,
    ) -> Result<RecoveredRun, RecoverError> {
        let start = fold.start_of(loop_id).ok_or_else(|| RecoverError::UnknownLoop(loop_id.clone()))?;
        let own = |record: &&Event| record.loop_id.as_ref() == Some(loop_id);
        let saved = snapshot.and_then(|snapshot| snapshot.saved_loop(loop_id));
        let (mut state, repairs) = match saved {
            Some((conversation, open, _)) => (LoopState::restore(open, conversation, &config), Vec::new()),
            None => {
                let (transcript, repairs) = fold.conversation(start.base);
                let mut state = LoopState::new(transcript);
                let begin = records.iter().position(|record| own(&record)).unwrap_or(records.len());
                let before = records.get(..begin).unwrap_or_default();
                // A branch delivers only what was sent to it.
                let left = match fold.is_branch(loop_id) {
                    true => Vec::new(),
                    false => undelivered_messages(snapshot, before),
                };
                for (queue, message) in left {
                    state.queue_mut(queue).push_back(message);
                }
                state.track(&config);
                (state, repairs)
            }
        };
        let from = saved.map_or(0, |(_, _, at)| at);
        // Decisions from an import are asked again: without them, the loop is in the state before the
        // request.
        let applies =
            |record: &&Event| own(record) && record.seq >= from && !fold.memory().is_foreign(record);
        records.iter().filter(applies).for_each(|record| state.apply(record));
        if state.ended.is_some() {
            return Err(RecoverError::Ended(loop_id.clone()));
        }
        let loop_index = loop_id.number().unwrap_or_default();
        let mut run = Self::assemble(config, start.clone(), loop_index, state, TransientState::default());
        run.now = run.state.last_seen().unwrap_or_default();
        run.memory = Arc::new(fold.memory().seen_by(loop_id));
        run.transient.begun = true;
        Ok(RecoveredRun { run, repairs })
    }

    /// Rebuilds all loops that a crash interrupted, oldest first. `config` returns the configuration of a loop.
    ///
    /// # Errors
    /// Fails if a loop cannot be rebuilt.
    pub fn recover_all(
        mut config: impl FnMut(&LoopStart) -> Arc<RunConfig>,
        fold: &SessionFold,
        snapshot: Option<&SessionSnapshot>,
        records: &[Event],
    ) -> Result<Vec<RecoveredRun>, RecoverError> {
        let recover =
            |start: &LoopStart| Self::recover_from(config(start), fold, snapshot, records, &start.loop_id);
        fold.open_loops().map(recover).collect()
    }

    /// Returns the tool calls that were running at the crash.
    fn interrupted_calls(&self) -> Vec<ToolCallId> {
        let calls = self.state.turn.iter().flat_map(|turn| &turn.calls);
        let running = calls.filter(|call| call.result.is_none() && call.phase.has_started());
        // A sub-agent resumes, so the outcome of its call is not unknown.
        let running = running.filter(|call| call.sub_agent.is_none());
        running.map(|call| call.call.id.clone()).collect()
    }
}

/// Returns the messages that ended loops left in their queues; the next loop delivers them. Of branches, only the selected one
/// leaves messages.
fn undelivered_messages(
    snapshot: Option<&SessionSnapshot>,
    records: &[Event],
) -> Vec<(QueueKind, SharedMessage)> {
    let mut waiting: Vec<(Option<&LoopId>, QueueKind, &SharedMessage)> = Vec::new();
    let (mut ended, mut branches): (HashSet<&LoopId>, HashSet<&LoopId>) = (HashSet::new(), HashSet::new());
    if let Some(snapshot) = snapshot {
        waiting.extend(snapshot.queued.iter().map(|(queue, message)| (None, *queue, message)));
        let owner = snapshot.last_loop.as_ref().map(LoopStartWithId::loop_id);
        let open = snapshot.open.iter().flat_map(LoopSnapshot::queued_messages);
        waiting.extend(open.map(|(queue, message)| (owner, queue, message)));
        for branch in snapshot.saved_branches() {
            let owner = branch.loop_id();
            waiting.extend(branch.queued_messages().map(|(queue, message)| (Some(owner), queue, message)));
            ended.extend(branch.has_ended().then_some(owner));
        }
        let groups = snapshot.memory.groups().iter().flat_map(|group| &group.branches);
        branches.extend(groups.map(|branch| &branch.loop_id));
    }
    let is_included =
        |record: &Event| snapshot.is_some_and(|snapshot| snapshot.includes(record.seq, &record.loop_id));
    for record in records.iter().filter(|record| !is_included(record)) {
        let owner = record.loop_id.as_ref();
        match &record.event {
            AgentEvent::MessageQueued { queue, message } => waiting.push((owner, *queue, message)),
            AgentEvent::MessageEnd { message } => {
                waiting.retain(|(_, _, queued)| queued.id() != message.id())
            }
            AgentEvent::MessageUnqueued { message_id } => {
                waiting.retain(|(_, _, queued)| queued.id() != *message_id)
            }
            AgentEvent::AgentEnd { .. } => ended.extend(owner),
            AgentEvent::ParallelLoopStart { loop_ids, .. } => branches.extend(loop_ids),
            AgentEvent::ParallelLoopEnd { selected_loop_id, .. } => {
                branches.remove(selected_loop_id);
            }
            _ => {}
        }
    }
    let is_left = |owner: &LoopId| ended.contains(owner) && !branches.contains(owner);
    waiting.retain(|(owner, _, _)| owner.is_none_or(is_left));
    waiting.into_iter().map(|(_, queue, message)| (queue, Arc::clone(message))).collect()
}

/// A loop that was rebuilt from a journal and has not resumed yet.
#[derive(Debug)]
pub struct RecoveredRun {
    run: Run,
    repairs: Vec<Repair>,
}

impl RecoveredRun {
    /// Returns the repairs of the conversation before the loop.
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// Returns the run for inspection.
    pub const fn run(&self) -> &Run {
        &self.run
    }

    /// Resumes the run: records the recovery and sends open requests again under the same ids. Afterwards it
    /// runs like any other.
    pub fn resume(mut self, stamp: Stamp) -> Run {
        let run = &mut self.run;
        run.minter.stamp(stamp);
        run.now = run.now.max(stamp.now);
        let interrupted = run.interrupted_calls();
        run.record(AgentEvent::LoopRecovered { interrupted, repairs: self.repairs });
        // Observers of this process have not seen the requests of the previous one.
        if run.state.stop_outcome().is_none() {
            let open: Vec<_> = run.state.pending_approvals().cloned().collect();
            open.into_iter().for_each(|request| run.record(AgentEvent::PermissionRequired { request }));
            if let Some(request) = run.state.budget.asked.clone() {
                run.record(AgentEvent::BudgetExtensionRequested { request });
            }
        }
        run.restart_background();
        run.arm_deadline();
        run.advance();
        self.run
    }
}
