//! A race as its session records it. Invariant: a race that was killed anywhere continues from this and the sessions of its
//! branches alone.

use std::collections::BTreeMap;

use lariat_core::event::{AgentEvent, EventRecord};
use lariat_core::message::{AgentMessage, ExtensionMessage};
use lariat_core::usage::Cost;
use serde::{Deserialize, Serialize};

use super::settings::RaceSettings;

/// The kind of the messages that record a race.
const KIND: &str = "lariat/race";

/// A race, from the events of its session.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RaceRecord {
    /// What was asked; `None` if the session is not a race.
    pub settings: Option<RaceSettings>,
    /// The state of the files before the race.
    pub snapshot: String,
    /// The branches that ended, by name.
    pub branches: BTreeMap<String, BranchEnd>,
    /// The branch that was selected, or that none was.
    pub selection: Option<RaceSelection>,
    /// The branch whose changes were applied last.
    pub taken: Option<String>,
    /// An application of a branch that did not end, so the directory may have a part of its changes.
    pub unfinished: Option<UnfinishedTake>,
}

/// An application of a branch that was interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnfinishedTake {
    /// The name of the branch.
    pub branch: String,
    /// The state of the files before it.
    pub from: String,
}

/// A branch that ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BranchEnd {
    /// Its name.
    pub name: String,
    /// The agent, as users name it.
    pub agent: String,
    /// Why it cannot be selected; `None` if it completed.
    #[serde(default)]
    pub problem: Option<String>,
    /// The state of its files; `None` if it could not be saved.
    #[serde(default)]
    pub snapshot: Option<String>,
    /// The number of files that it changed.
    pub files: u64,
    /// The number of lines that it added.
    pub insertions: u64,
    /// The number of lines that it removed.
    pub deletions: u64,
    /// The exit code of the check; `None` if there was none, or it did not end by itself.
    #[serde(default)]
    pub check_exit_code: Option<i64>,
    /// The end of the output of the check.
    #[serde(default)]
    pub check_output: String,
    /// The last reply of the agent.
    pub text: String,
    /// The number of turns; 0 if it is not known.
    pub turns: u64,
    /// How long it worked, in seconds.
    pub seconds: f64,
    /// What it cost, in billionths of a dollar; 0 if it is not known.
    #[serde(default, rename = "cost_nano_usd")]
    pub cost: Cost,
    /// The tool calls of another agent that speaks ACP, each with its status.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<String>,
    /// The session of Lariat in this branch.
    #[serde(default)]
    pub session_id: Option<String>,
}

/// Which branch was selected, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RaceSelection {
    /// The name of the branch; `None` if no branch could be selected.
    pub branch: Option<String>,
    /// The reason of the check or of the judge, for users.
    pub reason: String,
    /// What the judge cost, in billionths of a dollar.
    #[serde(default, rename = "cost_nano_usd")]
    pub cost: Cost,
}

/// One step of a race, as the session records it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RaceEvent {
    Started { settings: Box<RaceSettings>, snapshot: String },
    BranchEnded(Box<BranchEnd>),
    Selected(RaceSelection),
    TakeStarted { branch: String, from: String },
    Taken { branch: String },
}

impl RaceEvent {
    pub(super) fn message(&self) -> AgentMessage {
        let data = serde_json::to_value(self).unwrap_or_default();
        ExtensionMessage::new(KIND, data).into()
    }
}

impl RaceRecord {
    /// Reads a race from the events of its session.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a EventRecord>) -> Self {
        let mut record = Self::default();
        for event in events {
            let AgentEvent::MessagesImported { messages, .. } = &event.event else { continue };
            for message in messages {
                if let AgentMessage::Extension(extension) = &**message
                    && extension.kind == KIND
                    && let Ok(step) = RaceEvent::deserialize(&extension.data)
                {
                    record.apply(step);
                }
            }
        }
        record
    }

    pub(super) fn apply(&mut self, step: RaceEvent) {
        match step {
            RaceEvent::Started { settings, snapshot } => {
                *self = Self { settings: Some(*settings), snapshot, ..Self::default() };
            }
            RaceEvent::BranchEnded(end) => drop(self.branches.insert(end.name.clone(), *end)),
            RaceEvent::Selected(selection) => self.selection = Some(selection),
            RaceEvent::TakeStarted { branch, from } => {
                self.unfinished = Some(UnfinishedTake { branch, from });
            }
            RaceEvent::Taken { branch } => (self.taken, self.unfinished) = (Some(branch), None),
        }
    }

    /// What the ended branches and the judge cost, as far as Lariat knows.
    pub fn cost(&self) -> Cost {
        let branches = self.branches.values().map(|end| end.cost.as_nano_usd());
        let judge = self.selection.as_ref().map_or(0, |selection| selection.cost.as_nano_usd());
        Cost::from_nano_usd(branches.fold(judge, u64::saturating_add))
    }

    /// The branches that can be selected: they completed and, if there is a check, passed it.
    pub(super) fn candidates(&self) -> Vec<&BranchEnd> {
        let has_check = self.settings.as_ref().is_some_and(|settings| settings.check.is_some());
        let is_good = |end: &&BranchEnd| {
            end.problem.is_none() && end.snapshot.is_some() && (!has_check || end.check_exit_code == Some(0))
        };
        self.branches.values().filter(is_good).collect()
    }
}

impl BranchEnd {
    /// The number of changed lines.
    pub fn lines(&self) -> u64 {
        self.insertions.saturating_add(self.deletions)
    }
}
