//! Plan mode: the model proposes changes instead of making them.
//!
//! Provides the tool with which a model proposes a change, and tracks the tool calls that the user approved
//! from a plan. Such a tool call is allowed once and exactly as shown: by its id and a seal of its tool and
//! arguments.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lariat_core::BoxFuture;
use lariat_core::content::ToolCall;
use lariat_core::id::ToolCallId;
use lariat_core::tool::{Access, AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_guard::ApprovalHash;
use serde_json::{Value, json};

/// The name of the tool that proposes changes.
pub(crate) const PROPOSE: &str = "plan_change";

/// The tool that proposes a change: a call of another tool, queued for the user's approval.
pub(crate) struct ProposeChange;

impl AgentTool for ProposeChange {
    fn name(&self) -> &str {
        PROPOSE
    }

    fn label(&self) -> &str {
        "Plan"
    }

    fn description(&self) -> &str {
        "Plan mode is on, so nothing can be changed now. Proposes one change instead: the call of a tool that would make it (`write_file`, `edit_file`, `multi_edit`, `apply_patch`, `bash` and others), with exactly the arguments it would have. \
         Propose every change of the plan, in order. The user reviews them with their diffs and approves all or some; those are then carried out."
    }

    fn parameters_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "tool": { "type": "string", "description": "The tool that would make the change." },
                "arguments": { "type": "object", "description": "Its arguments." },
                "why": { "type": "string", "description": "The reason, in one sentence." },
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
        // In plan mode, the gate queues the proposal and this never runs.
        let message = "Plan mode is off: call the tool itself.".to_owned();
        Box::pin(std::future::ready(Err(ToolError::Failed(message))))
    }
}

/// Returns the tool call that a proposal is about; `None` if the call is not a valid proposal.
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

/// Tool calls that the user approved from a plan and that have not ended yet.
#[derive(Default)]
pub(super) struct ApprovedCalls(Mutex<BTreeMap<ToolCallId, ApprovalHash>>);

impl ApprovedCalls {
    pub(super) fn add(&self, call: &ToolCall) {
        self.calls().insert(call.id.clone(), seal(&call.name, &call.arguments));
    }

    /// Whether the user approved exactly this tool call.
    pub(super) fn covers(&self, call: &ToolCall, arguments: &Value) -> bool {
        self.calls().get(&call.id) == Some(&seal(&call.name, arguments))
    }

    pub(super) fn end(&self, id: &ToolCallId) {
        self.calls().remove(id);
    }

    fn calls(&self) -> MutexGuard<'_, BTreeMap<ToolCallId, ApprovalHash>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn seal(tool: &str, arguments: &Value) -> ApprovalHash {
    ApprovalHash::of([tool, &arguments.to_string()])
}
