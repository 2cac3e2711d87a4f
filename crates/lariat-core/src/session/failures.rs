//! What was tried and failed, and has not worked since.
//!
//! Owns a bounded fold over the results of tools, so that a model can be told what it tried after the tries themselves
//! left its window. An attempt is a tool and what it was pointed at; when that works, its failures are forgotten.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::{ToolCall, joined_text};
use crate::message::ToolResultMessage;

/// Attempts that are remembered; the one that failed longest ago goes first.
const MOST: usize = 12;
/// Characters that are kept of what an attempt was pointed at, and of what it said.
const WORDS: usize = 200;
/// Arguments that say what a call is pointed at, best first.
const TARGETS: [&str; 7] = ["command", "path", "file_path", "pattern", "query", "url", "name"];

/// Something that was tried and failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// The tool.
    pub tool: String,
    /// What it was pointed at: a command, a path; empty when it does not say.
    pub target: String,
    /// What it said last.
    pub error: String,
    /// How often it failed.
    pub count: u32,
}

/// The attempts, the one that failed last at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Failures(Vec<Failure>);

impl Failures {
    pub(super) fn list(&self) -> &[Failure] {
        &self.0
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn apply(&mut self, result: &ToolResultMessage, call: Option<&ToolCall>) {
        let target = call.and_then(target).unwrap_or_default();
        let same = |known: &Failure| known.tool == result.tool_name && known.target == target;
        let known = self.0.iter().position(same).map(|at| self.0.remove(at));
        if !result.is_error {
            return;
        }
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(Failure {
            tool: result.tool_name.clone(),
            target,
            error: short(&joined_text(&result.content)),
            count: known.map_or(1, |known| known.count.saturating_add(1)),
        });
    }
}

fn target(call: &ToolCall) -> Option<String> {
    let named = TARGETS.iter().find_map(|name| call.arguments.get(name).and_then(Value::as_str));
    named.map(short)
}

/// The first line that says something, and not too much of it.
fn short(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut short: String = line.chars().take(WORDS).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
#[path = "failures_tests.rs"]
mod tests;
