//! Turns the events of a sub-agent into one line of status for the user of its parent.

use lariat_core::display;
use lariat_core::event::{AgentEvent, Event};
use lariat_core::tool::ProgressFn;
use lariat_core::usage::Usage;

/// Reports what a sub-agent does now.
pub(super) struct StatusReporter {
    progress: ProgressFn,
    name: String,
    turns: u32,
    usage: Usage,
}

impl StatusReporter {
    pub(super) fn new(progress: ProgressFn, name: &str) -> Self {
        Self { progress, name: name.to_owned(), turns: 0, usage: Usage::default() }
    }

    pub(super) fn observe(&mut self, event: &Event) {
        let doing = match &event.event {
            AgentEvent::TurnStart { .. } => {
                self.turns += 1;
                "thinking".to_owned()
            }
            AgentEvent::TurnEnd { usage, .. } | AgentEvent::SubAgentCompleted { usage, .. } => {
                self.usage += *usage;
                return;
            }
            AgentEvent::ToolExecutionStart { tool_name, .. } => display::line(tool_name).into_owned(),
            AgentEvent::PermissionRequired { .. } => "waiting for approval".to_owned(),
            _ => return,
        };
        let mut line = format!("{}: {doing} · turn {}", self.name, self.turns);
        if self.usage.total() > 0 {
            line.push_str(&format!(" · {} tokens", self.usage.total()));
        }
        if !self.usage.cost.is_zero() {
            line.push_str(&format!(" · {}", self.usage.cost));
        }
        (self.progress)(line);
    }
}
