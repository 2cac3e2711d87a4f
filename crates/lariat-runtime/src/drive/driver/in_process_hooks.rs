//! Calls the hooks and input filters of the embedding program. A hook that panics is treated as one that
//! returned `Flow::Stop`, a filter that panics as one that rejected the prompt.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use lariat_core::event::AgentEvent;
use lariat_core::hooks::{FilterResult, Flow, HookInterest};
use lariat_core::id::ToolCallId;
use lariat_core::message::AgentMessage;
use lariat_core::run::{HookCall, Input};
use lariat_core::tool::ToolResult;

use super::Driver;

impl Driver {
    pub(super) fn call_hook(&mut self, call: HookCall) {
        let hooks = Arc::clone(&self.ports.hooks);
        let expects_answer = call.expects_answer();
        let flow = call_guarded(|| match call {
            HookCall::BeforeLoop { window, loop_index } => hooks.before_loop(&window, loop_index),
            HookCall::BeforeTurn { window, turn_index } => hooks.before_turn(&window, turn_index),
            HookCall::AfterLoop { window, usage } => {
                hooks.after_loop(&window, &usage);
                Flow::Continue
            }
            HookCall::AfterTurn { window, usage } => {
                hooks.after_turn(&window, &usage);
                Flow::Continue
            }
            HookCall::AfterTool { tool_name, tool_call_id, is_error } => {
                hooks.after_tool_execution(&tool_name, &tool_call_id, is_error);
                Flow::Continue
            }
            HookCall::OnError { error } => {
                hooks.on_error(&error);
                Flow::Continue
            }
            _ => Flow::Continue,
        });
        if expects_answer {
            self.feed(Input::HookAnswered { proceed: flow == Flow::Continue });
        }
    }

    /// Returns the warnings of the input filters, or the reason of the first rejection.
    pub(super) fn filter(&self, prompts: &[AgentMessage]) -> Result<Vec<String>, String> {
        let mut warnings = Vec::new();
        for filter in &self.ports.filters {
            for prompt in prompts {
                let result = catch_unwind(AssertUnwindSafe(|| filter.filter(prompt)));
                match result.unwrap_or_else(|_| FilterResult::Reject("an input filter failed".to_owned())) {
                    FilterResult::Pass => {}
                    FilterResult::Warn(warning) => warnings.push(warning),
                    FilterResult::Reject(reason) => return Err(reason),
                }
            }
        }
        Ok(warnings)
    }

    pub(super) fn on_update(&mut self, call: ToolCallId, partial: ToolResult) {
        let Some(tool_name) = self.tool_name(&call) else { return };
        let hooks = Arc::clone(&self.ports.hooks);
        let interested = hooks.interest() == HookInterest::All;
        let text =
            if interested { lariat_core::content::joined_text(&partial.content) } else { String::new() };
        if interested
            && call_guarded(|| hooks.before_tool_execution_update(&tool_name, &call, &text)) == Flow::Stop
        {
            return;
        }
        self.record_live(AgentEvent::ToolExecutionUpdate {
            tool_call_id: call.clone(),
            tool_name: tool_name.clone(),
            partial_result: Arc::new(partial),
        });
        if interested {
            let _ = call_guarded(|| {
                hooks.after_tool_execution_update(&tool_name, &call, &text);
                Flow::Continue
            });
        }
    }
}

/// Calls a hook; a panic stops.
fn call_guarded(hook: impl FnOnce() -> Flow) -> Flow {
    catch_unwind(AssertUnwindSafe(hook)).unwrap_or(Flow::Stop)
}
