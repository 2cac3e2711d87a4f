//! Plan mode: tracks the tool calls that the user approved from a plan.
//!
//! Such a tool call is allowed once and exactly as shown: by its id and a seal of its tool and arguments.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lariat_core::content::ToolCall;
use lariat_core::id::ToolCallId;
use lariat_guard::ApprovalHash;
use serde_json::Value;

/// Tool calls that the user approved from a plan and that have not ended yet.
#[derive(Default)]
pub(super) struct ApprovedCalls(Mutex<BTreeMap<ToolCallId, ApprovalHash>>);

impl ApprovedCalls {
    pub(super) fn add(&self, call: &ToolCall) {
        self.calls().insert(call.id.clone(), hash_call(&call.name, &call.arguments));
    }

    /// Whether the user approved exactly this tool call.
    pub(super) fn covers(&self, call: &ToolCall, arguments: &Value) -> bool {
        self.calls().get(&call.id) == Some(&hash_call(&call.name, arguments))
    }

    pub(super) fn end(&self, id: &ToolCallId) {
        self.calls().remove(id);
    }

    fn calls(&self) -> MutexGuard<'_, BTreeMap<ToolCallId, ApprovalHash>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn hash_call(tool: &str, arguments: &Value) -> ApprovalHash {
    ApprovalHash::of([tool, &arguments.to_string()])
}
