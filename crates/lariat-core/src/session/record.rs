//! Session and loop records, computed from a journal.
//!
//! Records share their messages with the events.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{
    AgentEvent, ContinuationKind, Event, LoopConfigSnapshot, LoopStart, RunOutcome, SessionFormation,
    SpawnRef,
};
use crate::id::{AgentId, LoopId, SessionId, ToolCallId};
use crate::message::SharedMessage;
use crate::time::Timestamp;
use crate::usage::Usage;

/// A session with its loops in the order in which they started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Session {
    /// Id of the session.
    pub session_id: SessionId,
    /// The agent that started it.
    pub agent_id: AgentId,
    /// Time of the first event.
    pub created_at: Timestamp,
    /// Time of the last event.
    pub last_active_at: Timestamp,
    /// Why the session was created.
    pub formation: SessionFormation,
    /// The tool call that spawned the session, if it belongs to a sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_spawn_ref: Option<SpawnRef>,
    /// All loops of the session.
    pub loops: Vec<LoopRecord>,
}

/// The record of one loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoopRecord {
    /// Id of the loop.
    pub loop_id: LoopId,
    /// Session of the loop.
    pub session_id: SessionId,
    /// Agent of the loop.
    pub agent_id: AgentId,
    /// The loop it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_loop_id: Option<LoopId>,
    /// How this loop relates to the one it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation_kind: Option<ContinuationKind>,
    /// Start time.
    pub started_at: Timestamp,
    /// End time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Status of the loop.
    pub status: LoopStatus,
    /// Reason if the input was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<String>,
    /// Configuration of the loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Arc<LoopConfigSnapshot>>,
    /// Messages that the loop produced.
    pub messages: Vec<SharedMessage>,
    /// Tokens and cost of the loop.
    pub usage: Usage,
    /// Data of the application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Events of the loop.
    pub events: Vec<Event>,
    /// Loops of the same session that continue this one.
    pub children_loop_ids: Vec<LoopId>,
    /// Sub-agents that the loop spawned in other sessions.
    pub child_loop_refs: Vec<ChildLoopRef>,
    /// Set if the loop ran as one of several branches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_group: Option<ParallelGroupRecord>,
}

/// Status of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum LoopStatus {
    /// Announced but not started.
    Pending,
    /// Started but not ended.
    Running,
    /// The model finished.
    Completed,
    /// An input filter rejected the prompt.
    Rejected,
    /// Cancelled, stopped by a hook, or never ended.
    Aborted,
    /// Ended by a limit or loop detection.
    Limited,
    /// The model call failed.
    Failed,
}

impl From<&RunOutcome> for LoopStatus {
    fn from(outcome: &RunOutcome) -> Self {
        match outcome {
            RunOutcome::Completed => Self::Completed,
            RunOutcome::Rejected => Self::Rejected,
            RunOutcome::LimitReached { .. } | RunOutcome::Repetition => Self::Limited,
            RunOutcome::Failed { .. } | RunOutcome::ContextFull(_) => Self::Failed,
            RunOutcome::Aborted | RunOutcome::StoppedByHook => Self::Aborted,
        }
    }
}

/// A sub-agent, as recorded in the loop that spawned it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildLoopRef {
    /// Id of the tool call.
    pub tool_call_id: ToolCallId,
    /// Name of the tool.
    pub tool_name: String,
    /// Loop of the sub-agent.
    pub child_loop_id: LoopId,
    /// Session of the sub-agent.
    pub child_session_id: SessionId,
}

/// The group of parallel branches that a loop belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParallelGroupRecord {
    /// All branches in configuration order.
    pub all_loop_ids: Vec<LoopId>,
    /// Loop of the selected branch.
    pub selected_loop_id: LoopId,
    /// Index of the selected branch.
    pub selected_config_index: usize,
    /// Tokens and cost of the evaluation.
    pub evaluation_usage: Usage,
    /// True only in the record of the selected branch.
    pub is_selected: bool,
}

impl Session {
    /// Computes the session of a journal; `None` if no loop started.
    pub fn of(records: &[Event]) -> Option<Self> {
        let mut loops: Vec<LoopRecord> = Vec::new();
        let mut at: HashMap<LoopId, usize> = HashMap::new();
        let mut branches: Vec<Vec<LoopId>> = Vec::new();
        let mut queued: HashMap<_, SharedMessage> = HashMap::new();
        for record in records {
            match &record.event {
                AgentEvent::AgentStart(start) => {
                    at.insert(start.loop_id.clone(), loops.len());
                    loops.push(LoopRecord::new_running(start, record.timestamp));
                }
                AgentEvent::ParallelLoopStart { loop_ids, .. } => branches.push(loop_ids.clone()),
                AgentEvent::ParallelLoopEnd {
                    selected_loop_id,
                    selected_config_index,
                    evaluation_usage,
                    ..
                } => {
                    let all = branches.iter().rfind(|all| all.contains(selected_loop_id)).cloned();
                    let all_loop_ids = all.unwrap_or_default();
                    for index in all_loop_ids.iter().filter_map(|id| at.get(id)).copied() {
                        let Some(branch) = loops.get_mut(index) else { continue };
                        branch.parallel_group = Some(ParallelGroupRecord {
                            is_selected: branch.loop_id == *selected_loop_id,
                            all_loop_ids: all_loop_ids.clone(),
                            selected_loop_id: selected_loop_id.clone(),
                            selected_config_index: *selected_config_index,
                            evaluation_usage: *evaluation_usage,
                        });
                    }
                }
                AgentEvent::MessageQueued { message, .. } => {
                    queued.insert(message.id(), Arc::clone(message));
                }
                _ => {}
            }
            let own = record.loop_id.as_ref().and_then(|id| at.get(id)).copied();
            if let Some(own) = own.and_then(|index| loops.get_mut(index)) {
                own.apply(record, &mut queued);
            }
        }
        let parents: Vec<_> = loops
            .iter()
            .filter_map(|child| Some((child.parent_loop_id.clone()?, child.loop_id.clone())))
            .collect();
        for (parent, child) in parents {
            if let Some(parent) = at.get(&parent).and_then(|index| loops.get_mut(*index)) {
                parent.children_loop_ids.push(child);
            }
        }
        let first = records.iter().find_map(|record| match &record.event {
            AgentEvent::AgentStart(start) => Some(start),
            _ => None,
        })?;
        Some(Self {
            session_id: first.session_id.clone(),
            agent_id: first.agent_id.clone(),
            created_at: records.first()?.timestamp,
            last_active_at: records.last()?.timestamp,
            formation: formation(records),
            parent_spawn_ref: first.spawned_by.clone(),
            loops,
        })
    }

    /// Returns loops that do not continue another loop of this session.
    pub fn root_loops(&self) -> impl Iterator<Item = &LoopRecord> {
        self.loops
            .iter()
            .filter(|one| one.parent_loop_id.as_ref().is_none_or(|parent| self.get_loop(parent).is_none()))
    }

    /// Returns the loops that continue this one.
    pub fn children_of<'a>(&'a self, loop_id: &'a LoopId) -> impl Iterator<Item = &'a LoopRecord> {
        self.loops.iter().filter(move |one| one.parent_loop_id.as_ref() == Some(loop_id))
    }

    /// Returns the other branches of this loop's group.
    pub fn parallel_siblings(&self, loop_id: &LoopId) -> Vec<&LoopRecord> {
        let group = self.get_loop(loop_id).and_then(|one| one.parallel_group.as_ref());
        let siblings = group.into_iter().flat_map(|group| &group.all_loop_ids).filter(|id| *id != loop_id);
        siblings.filter_map(|id| self.get_loop(id)).collect()
    }

    /// Returns a loop by id.
    pub fn get_loop(&self, loop_id: &LoopId) -> Option<&LoopRecord> {
        self.loops.iter().find(|one| one.loop_id == *loop_id)
    }

    /// Returns the usage of all loops together.
    pub fn total_usage(&self) -> Usage {
        self.loops.iter().fold(Usage::default(), |sum, one| sum + one.usage)
    }
}

impl LoopRecord {
    fn new_running(start: &LoopStart, at: Timestamp) -> Self {
        Self {
            loop_id: start.loop_id.clone(),
            session_id: start.session_id.clone(),
            agent_id: start.agent_id.clone(),
            parent_loop_id: start.parent_loop_id.clone(),
            continuation_kind: start.continuation_kind.clone(),
            started_at: at,
            ended_at: None,
            status: LoopStatus::Running,
            rejection: None,
            config: start.config.clone(),
            messages: Vec::new(),
            usage: Usage::default(),
            metadata: start.metadata.clone(),
            events: Vec::new(),
            children_loop_ids: Vec::new(),
            child_loop_refs: Vec::new(),
            parallel_group: None,
        }
    }

    fn apply(&mut self, record: &Event, queued: &mut HashMap<crate::id::MessageId, SharedMessage>) {
        match &record.event {
            AgentEvent::MessageEnd { message } => {
                let earlier = queued.remove(&message.id());
                if let Some(message) = earlier.or_else(|| message.shared().cloned()) {
                    let usage = message.as_assistant().map(|assistant| assistant.usage);
                    self.usage += usage.unwrap_or_default();
                    self.messages.push(message);
                }
            }
            AgentEvent::SubAgentSpawned { tool_call_id, child_loop_id, child_session_id, .. } => {
                self.child_loop_refs.push(ChildLoopRef {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: String::new(),
                    child_loop_id: child_loop_id.clone(),
                    child_session_id: child_session_id.clone(),
                });
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, tool_name, child_loop_id: Some(child), .. } => {
                let known = self.child_loop_refs.iter_mut().find(|link| link.child_loop_id == *child);
                match known {
                    Some(link) => link.tool_name.clone_from(tool_name),
                    None => self.child_loop_refs.push(ChildLoopRef {
                        tool_call_id: tool_call_id.clone(),
                        tool_name: tool_name.clone(),
                        child_loop_id: child.clone(),
                        child_session_id: child.session(),
                    }),
                }
            }
            AgentEvent::AgentEnd { outcome, usage, rejection, .. } => {
                self.status = LoopStatus::from(outcome);
                self.ended_at = Some(record.timestamp);
                self.usage = *usage;
                self.rejection.clone_from(rejection);
            }
            _ => {}
        }
        self.events.push(Arc::clone(record));
    }
}

/// Returns why a session was created. A journal says so only if the session replaced another one.
fn formation(records: &[Event]) -> SessionFormation {
    let formed = records.iter().find_map(|record| match &record.event {
        AgentEvent::SessionFormed { formation, .. } => Some(formation.clone()),
        _ => None,
    });
    formed.unwrap_or_default()
}
