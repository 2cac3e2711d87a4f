//! Plan mode: the tool with which a model proposes a change instead of making it.

use lariat_core::BoxFuture;
use lariat_core::content::ToolCall;
use lariat_core::tool::{Access, AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
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
pub(crate) fn proposed_call(call: &ToolCall) -> Option<ToolCall> {
    let name = call.arguments.get("tool")?.as_str()?.to_owned();
    let arguments = call.arguments.get("arguments").filter(|arguments| arguments.is_object())?.clone();
    (call.name == PROPOSE && name != PROPOSE).then(|| ToolCall {
        id: call.id.clone(),
        name,
        arguments,
        signature: None,
    })
}
