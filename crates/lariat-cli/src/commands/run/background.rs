//! Tracks background commands, to report those that end together with the program.
//!
//! Folds events: a command is running until a tool result reports its end.

use std::sync::Arc;

use lariat_core::content::ToolCall;
use lariat_core::display;
use lariat_core::event::AgentEvent;
use serde_json::Value;

/// Maximum characters of a command to show.
const MAX_SHOWN: usize = 80;

/// Running background commands, as id and command line.
#[derive(Debug, Default)]
pub(super) struct BackgroundCommands {
    running: Vec<(String, String)>,
}

impl BackgroundCommands {
    /// Handles an event. `calls` are the tool calls of the last reply.
    pub(super) fn event(&mut self, event: &AgentEvent, calls: &[Arc<ToolCall>]) {
        let AgentEvent::ToolExecutionEnd { tool_call_id, tool_name, details, is_error: false, .. } = event
        else {
            return;
        };
        let call = calls.iter().find(|call| call.id == *tool_call_id);
        let argument = |name: &str| call.and_then(|call| call.arguments.get(name)).and_then(Value::as_str);
        match (tool_name.as_str(), details.get("id").and_then(Value::as_str)) {
            ("bash", Some(id)) => {
                let command = argument("command").and_then(|command| command.lines().next());
                self.running.push((id.to_owned(), command.unwrap_or_default().to_owned()));
            }
            ("bash_output" | "bash_stop", _) if details.get("end").is_some() => {
                let ended = argument("id").unwrap_or_default();
                self.running.retain(|(id, _)| id != ended);
            }
            _ => {}
        }
    }

    /// The closing message, or `None` if no command is running.
    pub(super) fn closing_note(&self) -> Option<String> {
        if self.running.is_empty() {
            return None;
        }
        let shorten = |command: &String| command.chars().take(MAX_SHOWN).collect::<String>();
        let names: Vec<String> = self
            .running
            .iter()
            .map(|(_, command)| format!("`{}`", display::line(&shorten(command))))
            .collect();
        Some(match names.as_slice() {
            [one] => format!("stopped the background command {one}"),
            names => {
                format!("stopped {} background commands: {}", names.len(), names.join(", "))
            }
        })
    }
}
