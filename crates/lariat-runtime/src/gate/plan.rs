//! Plan mode: changes are proposed, not made.
//!
//! Owns the tool by which a model proposes a change where it has no tool to make one, and the calls that a person approved
//! out of a plan. Such a call is let through once, as it was shown: by its id and a seal of its tool and arguments.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lariat_core::BoxFuture;
use lariat_core::content::ToolCall;
use lariat_core::id::ToolCallId;
use lariat_core::tool::{Access, AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_guard::Seal;
use serde_json::{Value, json};

/// The name of the tool that proposes changes.
pub(crate) const PROPOSE: &str = "plan_change";

/// Proposes a change: another tool's call, which is queued for a person.
pub(crate) struct ProposeChange;

impl AgentTool for ProposeChange {
    fn name(&self) -> &str {
        PROPOSE
    }

    fn label(&self) -> &str {
        "Plan"
    }

    fn description(&self) -> &str {
        "Nothing can be changed now: this is plan mode. Proposes one change instead: the call of a tool that would make it (`write_file`, `edit_file`, `multi_edit`, `apply_patch`, `bash` and others), with exactly the arguments it would have. \
         Propose every change of the plan, in order; the person sees them with their differences, approves all or some, and those are then carried out."
    }

    fn parameters_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "tool": { "type": "string", "description": "The tool that would make the change." },
                "arguments": { "type": "object", "description": "Its arguments." },
                "why": { "type": "string", "description": "Why, in a sentence." },
            },
            "required": ["tool", "arguments"],
        })
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::NONE
    }

    fn is_offered(&self, access: Access) -> bool {
        access == Access::Reads
    }

    fn execute<'a>(&'a self, _: Value, _: ToolContext) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        // The gate queues it, so that it never comes as far as this.
        let words = "Not in plan mode: call the tool itself.".to_owned();
        Box::pin(std::future::ready(Err(ToolError::Failed(words))))
    }
}

/// The call that a proposal is about; `None` when it is none.
pub(crate) fn proposed(call: &ToolCall) -> Option<ToolCall> {
    let name = call.arguments.get("tool")?.as_str()?.to_owned();
    let arguments = call.arguments.get("arguments").filter(|arguments| arguments.is_object())?.clone();
    (call.name == PROPOSE && name != PROPOSE).then(|| ToolCall {
        id: call.id.clone(),
        name,
        arguments,
        signature: None,
    })
}

/// Calls that a person approved out of a plan and that did not end yet.
#[derive(Default)]
pub(super) struct Approved(Mutex<BTreeMap<ToolCallId, Seal>>);

impl Approved {
    pub(super) fn add(&self, call: &ToolCall) {
        self.calls().insert(call.id.clone(), seal(&call.name, &call.arguments));
    }

    /// Whether exactly this was approved.
    pub(super) fn covers(&self, call: &ToolCall, arguments: &Value) -> bool {
        self.calls().get(&call.id) == Some(&seal(&call.name, arguments))
    }

    pub(super) fn end(&self, id: &ToolCallId) {
        self.calls().remove(id);
    }

    fn calls(&self) -> MutexGuard<'_, BTreeMap<ToolCallId, Seal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn seal(tool: &str, arguments: &Value) -> Seal {
    Seal::of([tool, &arguments.to_string()])
}
