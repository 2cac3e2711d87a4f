//! Collects what an agent says about each of its tool calls until the call ends.
//!
//! Agents name a call several times, each time with a part of it. Invariant: the number of calls and the size of what is kept of
//! each are limited, and a call ends once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::messages::{ToolCallChange, bounded};

/// Maximum number of tool calls of one prompt.
const MAX_CALLS: usize = 10_000;
/// Maximum number of tool calls that run at the same time.
const MAX_OPEN: usize = 256;
/// Maximum number of bytes of a title.
const MAX_TITLE: usize = 300;
/// Maximum number of bytes of the arguments of a call, as JSON.
const MAX_ARGUMENTS: usize = 16 * 1024;
/// Maximum number of bytes of the output of a call.
const MAX_OUTPUT: usize = 16 * 1024;
/// Maximum number of files of a call.
const MAX_FILES: usize = 256;
/// Maximum number of bytes of the new content of a file.
const MAX_CONTENT: usize = 256 * 1024;

/// The name of the only argument of a call whose arguments are too large to keep.
pub(super) const TOO_LARGE: &str = "bytes_left_out";
/// The end of a text that was cut.
pub(super) const CUT: char = '…';

/// How a tool call goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallStatus {
    /// It has not started.
    #[default]
    Pending,
    /// It runs.
    Running,
    /// It ended as it should.
    Completed,
    /// It failed.
    Failed,
}

impl CallStatus {
    pub(super) fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "pending" => Self::Pending,
            "in_progress" => Self::Running,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            _ => return None,
        })
    }

    /// Whether it ended.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// A tool call of an agent.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ExternalCall {
    /// Its id.
    pub id: String,
    /// What it does, for users.
    pub title: String,
    /// `read`, `edit`, `execute` and so on; empty if the agent did not say.
    pub kind: String,
    /// Whether it waits, runs, completed or failed.
    pub status: CallStatus,
    /// The arguments of the agent's own tool; null if they are not known.
    pub arguments: Value,
    /// The files that it uses.
    pub paths: Vec<String>,
    /// The files that it changes, with their new content.
    pub changes: Vec<(String, String)>,
    /// Its output.
    pub output: String,
}

/// What a change means for the user.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallStep {
    /// A call began, or is known better than before.
    Began(ExternalCall),
    /// A call ended.
    Ended(ExternalCall),
}

/// The agent makes more tool calls than Lariat follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyCalls;

/// The tool calls of one prompt.
#[derive(Debug, Default)]
pub struct ToolCalls {
    open: BTreeMap<String, ExternalCall>,
    ended: BTreeSet<String>,
}

impl ToolCalls {
    /// Adds what is new about a call. Returns what to show; `None` if there is nothing to show.
    ///
    /// # Errors
    /// If there are too many calls.
    pub fn apply(&mut self, change: ToolCallChange) -> Result<Option<CallStep>, TooManyCalls> {
        if self.ended.contains(&change.id) {
            return Ok(None);
        }
        let is_end = change.status.is_some_and(CallStatus::is_end);
        let (id, call) = (change.id.clone(), self.merge(change)?);
        let step = if is_end {
            let ended = self.open.remove(&id).unwrap_or_default();
            self.ended.insert(id);
            Some(CallStep::Ended(ended))
        } else {
            call.map(CallStep::Began)
        };
        Ok(step)
    }

    /// Adds what a request for permission says about a call, and returns the call.
    ///
    /// # Errors
    /// If there are too many calls.
    pub fn asked(&mut self, mut change: ToolCallChange) -> Result<ExternalCall, TooManyCalls> {
        // A call that asks has not ended, whatever the agent says.
        change.status = None;
        let id = change.id.clone();
        self.ended.remove(&id);
        self.merge(change)?;
        Ok(self.open.get(&id).cloned().unwrap_or_default())
    }

    /// Ends a call that was denied; later news about it is ignored.
    pub fn deny(&mut self, id: &str) -> Option<ExternalCall> {
        let denied = self.open.remove(id)?;
        self.ended.insert(id.to_owned());
        Some(denied)
    }

    /// The calls that did not end.
    pub fn take_open(&mut self) -> Vec<ExternalCall> {
        std::mem::take(&mut self.open).into_values().collect()
    }

    /// The number of all calls.
    pub fn count(&self) -> usize {
        self.open.len() + self.ended.len()
    }

    /// Returns the call if its title is new.
    fn merge(&mut self, change: ToolCallChange) -> Result<Option<ExternalCall>, TooManyCalls> {
        let is_new = !self.open.contains_key(&change.id);
        if is_new && (self.open.len() >= MAX_OPEN || self.count() >= MAX_CALLS) {
            return Err(TooManyCalls);
        }
        let call = self.open.entry(change.id.clone()).or_default();
        call.id = change.id;
        let mut is_news = is_new;
        if let Some(title) = change.title.filter(|title| !title.trim().is_empty()) {
            let title = bounded(title.trim(), MAX_TITLE);
            is_news |= call.title != title;
            call.title = title;
        }
        if let Some(kind) = change.kind {
            call.kind = kind;
        }
        if let Some(status) = change.status {
            call.status = status;
        }
        if let Some(arguments) = change.arguments {
            call.arguments = kept(arguments);
        }
        if !change.paths.is_empty() {
            call.paths = change.paths;
            call.paths.truncate(MAX_FILES);
        }
        if !change.changes.is_empty() {
            let files = change.changes.into_iter().take(MAX_FILES);
            call.changes = files.map(|(path, content)| (path, bounded(&content, MAX_CONTENT))).collect();
        }
        if let Some(output) = change.output {
            call.output = bounded(&output, MAX_OUTPUT);
        }
        Ok(is_news.then(|| call.clone()))
    }
}

/// Arguments of bounded size. Larger ones are left out as a whole: a part of them could look harmless.
fn kept(arguments: Value) -> Value {
    let size = arguments.to_string().len();
    if size <= MAX_ARGUMENTS { arguments } else { json!({ TOO_LARGE: size }) }
}
