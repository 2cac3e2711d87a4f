//! Records tool calls that failed and have not succeeded since.
//!
//! A bounded fold over tool results, so that the model can be reminded of its attempts after they left its
//! context window. An attempt is a tool and its target; a success removes its failures.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::{ToolCall, joined_text};
use crate::message::ToolResultMessage;

/// Maximum number of attempts; the one that failed longest ago is removed first.
const MOST: usize = 12;
/// Maximum characters of a target and of an error.
const WORDS: usize = 200;
/// Arguments that name the target of a tool call, best first.
const TARGETS: [&str; 7] = ["command", "path", "file_path", "pattern", "query", "url", "name"];

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// Name of the tool.
    pub tool: String,
    /// Target of the tool call: a command, a path; empty if unknown.
    pub target: String,
    /// The last error, its first line.
    pub error: String,
    /// Number of failures.
    pub count: u32,
}

/// The attempts, most recent last.
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

/// Returns the first non-empty line, truncated.
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
