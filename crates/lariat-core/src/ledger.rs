//! Records who spent what in a session, computed from its journal.
//!
//! Invariant: the entries sum exactly to the total, which is counted separately.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::budget::SpentAmounts;
use crate::event::{AgentEvent, EventRecord};
use crate::id::{LoopId, ToolCallId};
use crate::time::Timestamp;
use crate::usage::Usage;

/// What spent tokens, money or time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Source {
    /// Replies of a model, by model name.
    Model(String),
    /// Calls of a tool, by tool name.
    Tool(String),
    /// Sub-agents.
    SubAgent,
    /// Compaction of the context.
    Compaction,
    /// Choosing between parallel branches.
    Judge,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(name) => write!(f, "model {name}"),
            Self::Tool(name) => write!(f, "tool {name}"),
            Self::SubAgent => f.write_str("sub-agents"),
            Self::Compaction => f.write_str("compaction"),
            Self::Judge => f.write_str("judge"),
        }
    }
}

/// What one source spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LedgerEntry {
    /// Tokens and cost.
    pub usage: Usage,
    /// Number of calls.
    pub calls: u64,
    /// Total time of its calls. Known for tools only.
    pub busy: Duration,
}

/// What a session spent, per source and in total.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    entries: Vec<(Source, LedgerEntry)>,
    usage: Usage,
    turns: u64,
    tool_calls: u64,
    /// Time during which its loops were active.
    active: Duration,
    last_seen: Option<Timestamp>,
    /// Branches of groups without a decision, and whether each is running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    branches: Vec<(LoopId, bool)>,
    /// Tool calls that are running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    running: Vec<RunningCall>,
}

/// A tool call that is running. Loops that run at the same time may use the same ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RunningCall {
    loop_id: Option<LoopId>,
    id: ToolCallId,
    since: Timestamp,
}

impl Ledger {
    /// Updates the ledger with the next event of the journal.
    pub fn apply(&mut self, record: &EventRecord) {
        self.add_active_time(record);
        match &record.event {
            AgentEvent::MessageEnd { message } => {
                let Some(reply) = message.shared().and_then(|message| message.as_assistant()) else { return };
                self.turns += 1;
                self.spend(Source::Model(reply.model.clone()), reply.usage, 1);
            }
            AgentEvent::Compaction { usage, .. } | AgentEvent::CompactionRefused { usage, .. } => {
                self.spend(Source::Compaction, *usage, 1);
            }
            AgentEvent::SubAgentCompleted { usage, .. } => self.spend(Source::SubAgent, *usage, 1),
            AgentEvent::ParallelLoopEnd { evaluation_usage, .. } => {
                self.spend(Source::Judge, *evaluation_usage, 1);
            }
            AgentEvent::ToolExecutionStart { tool_call_id, tool_name, .. } => {
                self.tool_calls += 1;
                self.spend(Source::Tool(tool_name.clone()), Usage::default(), 1);
                let (loop_id, id) = (record.loop_id.clone(), tool_call_id.clone());
                self.running.push(RunningCall { loop_id, id, since: record.timestamp });
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, tool_name, .. } => {
                let is_it = |call: &RunningCall| call.id == *tool_call_id && call.loop_id == record.loop_id;
                let Some(at) = self.running.iter().position(is_it) else { return };
                let busy = record.timestamp.since(self.running.swap_remove(at).since);
                self.update_entry(Source::Tool(tool_name.clone()), |entry| entry.busy += busy);
            }
            // The duration of tool calls that a crash interrupted is unknown.
            AgentEvent::LoopRecovered { .. } => self.running.retain(|call| call.loop_id != record.loop_id),
            _ => {}
        }
    }

    /// Adds the time between the events of loops. Time between loops, and between a crash and the resume, is
    /// not active time. Branches that run at the same time count once.
    fn add_active_time(&mut self, record: &EventRecord) {
        match &record.event {
            AgentEvent::ParallelLoopStart { loop_ids, .. } => {
                self.branches.extend(loop_ids.iter().map(|id| (id.clone(), false)));
            }
            AgentEvent::ParallelLoopEnd { .. } => self.branches.clear(),
            _ => {}
        }
        let Some(loop_id) = &record.loop_id else { return };
        let was_idle = match record.event {
            AgentEvent::AgentStart(_) => {
                let is_branch = self.branches.iter().any(|(id, _)| id == loop_id);
                !is_branch || self.branches.iter().all(|(_, is_running)| !is_running)
            }
            AgentEvent::LoopRecovered { .. } => true,
            _ => false,
        };
        if let Some(seen) = self.last_seen.filter(|_| !was_idle) {
            self.active += record.timestamp.since(seen);
        }
        self.last_seen = self.last_seen.max(Some(record.timestamp));
        if let Some((_, is_running)) = self.branches.iter_mut().find(|(id, _)| id == loop_id) {
            *is_running = !matches!(record.event, AgentEvent::AgentEnd { .. });
        }
    }

    fn spend(&mut self, source: Source, usage: Usage, calls: u64) {
        self.usage += usage;
        self.update_entry(source, |entry| {
            entry.usage += usage;
            entry.calls += calls;
        });
    }

    /// Changes the entry of a source, and creates it if needed.
    fn update_entry(&mut self, source: Source, change: impl FnOnce(&mut LedgerEntry)) {
        let at = self.entries.partition_point(|(known, _)| *known < source);
        match self.entries.get_mut(at).filter(|(known, _)| *known == source) {
            Some((_, entry)) => change(entry),
            None => {
                let mut entry = LedgerEntry::default();
                change(&mut entry);
                // Most sessions have only one or two sources.
                self.entries.reserve_exact(1);
                self.entries.insert(at, (source, entry));
            }
        }
    }

    /// Returns what each source spent, sorted by source.
    pub fn sources(&self) -> impl Iterator<Item = (&Source, &LedgerEntry)> {
        self.entries.iter().map(|(source, entry)| (source, entry))
    }

    /// Returns what one source spent.
    pub fn of(&self, source: &Source) -> LedgerEntry {
        let found = self.entries.iter().find(|(known, _)| known == source);
        found.map(|(_, entry)| *entry).unwrap_or_default()
    }

    /// Returns tokens and cost in total.
    pub const fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Returns the totals at `now`, while a loop is active.
    pub fn spent_at(&self, now: Timestamp) -> SpentAmounts {
        let mut spent = self.spent();
        spent.duration += self.last_seen.map_or(Duration::ZERO, |seen| now.since(seen));
        spent
    }

    /// Returns the totals at the last event.
    pub fn spent(&self) -> SpentAmounts {
        let mut spent = SpentAmounts::usage(&self.usage);
        (spent.turns, spent.tool_calls, spent.duration) = (self.turns, self.tool_calls, self.active);
        spent
    }
}
