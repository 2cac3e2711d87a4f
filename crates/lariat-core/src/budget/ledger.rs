//! Who spent what in a session, as a fold over its journal.
//!
//! Invariant: the entries sum exactly to the total, which is counted on its own.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Spent;
use crate::event::{AgentEvent, EventRecord};
use crate::id::ToolCallId;
use crate::time::Timestamp;
use crate::usage::Usage;

/// Who spent something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Source {
    /// Replies of a model, by its name.
    Model(String),
    /// Calls of a tool, by its name.
    Tool(String),
    /// Sub-agents.
    SubAgent,
    /// Making room in the window.
    Compaction,
    /// Choosing between branches.
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
pub struct Entry {
    /// Tokens and money.
    pub usage: Usage,
    /// How often it was called.
    pub calls: u64,
    /// Time its calls took, one after another. Known for tools.
    pub busy: Duration,
}

/// What was spent in a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    entries: Vec<(Source, Entry)>,
    usage: Usage,
    turns: u64,
    tool_calls: u64,
    /// Time its loops were at work.
    active: Duration,
    last_seen: Option<Timestamp>,
    /// Calls that run, and since when. No snapshot is made meanwhile.
    #[serde(skip)]
    running: Vec<(ToolCallId, Timestamp)>,
}

impl Ledger {
    /// Takes in the next event of the journal.
    pub fn apply(&mut self, record: &EventRecord) {
        self.clock(record);
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
                self.running.push((tool_call_id.clone(), record.timestamp));
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, tool_name, .. } => {
                let Some(at) = self.running.iter().position(|(id, _)| id == tool_call_id) else { return };
                let (_, since) = self.running.swap_remove(at);
                let busy = record.timestamp.since(since);
                self.change(Source::Tool(tool_name.clone()), |entry| entry.busy += busy);
            }
            // Calls of a process that died took nobody knows how long.
            AgentEvent::LoopRecovered { .. } => self.running.clear(),
            _ => {}
        }
    }

    /// Counts the time between the events of a loop. Between loops, and between a crash and its recovery, nobody works.
    fn clock(&mut self, record: &EventRecord) {
        if record.loop_id.is_none() {
            return;
        }
        let rested = matches!(record.event, AgentEvent::AgentStart(_) | AgentEvent::LoopRecovered { .. });
        if let Some(seen) = self.last_seen.filter(|_| !rested) {
            self.active += record.timestamp.since(seen);
        }
        self.last_seen = Some(record.timestamp);
    }

    fn spend(&mut self, source: Source, usage: Usage, calls: u64) {
        self.usage += usage;
        self.change(source, |entry| {
            entry.usage += usage;
            entry.calls += calls;
        });
    }

    /// Changes the entry of a source.
    fn change(&mut self, source: Source, change: impl FnOnce(&mut Entry)) {
        let at = self.entries.partition_point(|(known, _)| *known < source);
        match self.entries.get_mut(at).filter(|(known, _)| *known == source) {
            Some((_, entry)) => change(entry),
            None => {
                let mut entry = Entry::default();
                change(&mut entry);
                // There are many sessions with a source or two.
                self.entries.reserve_exact(1);
                self.entries.insert(at, (source, entry));
            }
        }
    }

    /// What each source spent, in the order of their names.
    pub fn sources(&self) -> impl Iterator<Item = (&Source, &Entry)> {
        self.entries.iter().map(|(source, entry)| (source, entry))
    }

    /// What one source spent.
    pub fn of(&self, source: &Source) -> Entry {
        let found = self.entries.iter().find(|(known, _)| known == source);
        found.map(|(_, entry)| *entry).unwrap_or_default()
    }

    /// Tokens and money in total.
    pub const fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Everything in total, as of a moment while a loop is at work.
    pub fn spent_at(&self, now: Timestamp) -> Spent {
        let mut spent = self.spent();
        spent.duration += self.last_seen.map_or(Duration::ZERO, |seen| now.since(seen));
        spent
    }

    /// Everything in total, as of the last event.
    pub fn spent(&self) -> Spent {
        let mut spent = Spent::usage(&self.usage);
        (spent.turns, spent.tool_calls, spent.duration) = (self.turns, self.tool_calls, self.active);
        spent
    }
}
