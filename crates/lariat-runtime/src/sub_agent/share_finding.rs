//! The tool `share_finding`, with which a sub-agent gives what it found to the other agents of its tree.
//!
//! The tool only checks its arguments. The driver records the finding in the same write as the end of the tool call
//! (`drive/driver/findings.rs`), and delivers it.

use lariat_core::BoxFuture;
use lariat_core::event::Finding;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use serde_json::{Value, json};

use crate::drive::SHARE_FINDING;

/// The tool `share_finding`.
pub(super) struct ShareFinding;

impl AgentTool for ShareFinding {
    fn name(&self) -> &str {
        SHARE_FINDING
    }

    fn description(&self) -> &str {
        "Shares a fact with the other agents that work on this task, which read it before their next reply. Use it for what \
         changes their work: a cause, a trap, where something is. Your own results belong in your report."
    }

    fn parameters_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "The fact, in one or two sentences (at most 2000 bytes)."},
                "files": {"type": "array", "items": {"type": "string"}, "description": "Paths of the files that it is about (at most 20)."}
            },
            "required": ["text"],
            "additionalProperties": false
        })
    }

    /// None: it changes nothing outside the sessions of the tree.
    fn effects(&self) -> ToolEffects {
        ToolEffects::NONE
    }

    fn execute<'a>(
        &'a self,
        params: Value,
        _context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(std::future::ready(accept(&params)))
    }
}

fn accept(params: &Value) -> Result<ToolResult, ToolError> {
    let refused = |why: String| Err(ToolError::InvalidArgs(why));
    let text = params.get("text").and_then(Value::as_str).unwrap_or_default().trim();
    if text.is_empty() {
        return refused("`text` must be a text that is not empty".to_owned());
    }
    if text.len() > Finding::MAX_TEXT {
        return refused(format!("`text` has {} bytes; the maximum is {}", text.len(), Finding::MAX_TEXT));
    }
    let given = params.get("files").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let files: Vec<&str> = given.iter().filter_map(Value::as_str).map(str::trim).collect();
    if files.len() > Finding::MAX_FILES {
        return refused(format!(
            "`files` has {} entries; the maximum is {}",
            files.len(),
            Finding::MAX_FILES
        ));
    }
    if let Some(file) = files.iter().find(|file| file.len() > Finding::MAX_FILE) {
        return refused(format!("a path has {} bytes; the maximum is {}", file.len(), Finding::MAX_FILE));
    }
    let details = json!({"text": text, "files": files});
    Ok(ToolResult::text("Shared with the other agents.").with_details(details))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_bounded() {
        let text = |length: usize| json!({"text": "x".repeat(length)});
        assert!(accept(&text(Finding::MAX_TEXT)).is_ok());
        let files =
            |count: usize, length: usize| json!({"text": "x", "files": vec!["f".repeat(length); count]});
        assert!(accept(&files(Finding::MAX_FILES, Finding::MAX_FILE)).is_ok());
        for params in [
            json!({}),
            json!({"text": " "}),
            text(Finding::MAX_TEXT + 1),
            files(Finding::MAX_FILES + 1, 1),
            files(1, Finding::MAX_FILE + 1),
        ] {
            assert!(matches!(accept(&params), Err(ToolError::InvalidArgs(_))), "{params}");
        }
    }

    #[test]
    fn schema_names_the_limits() {
        let schema = ShareFinding.parameters_schema().to_string();
        for limit in [Finding::MAX_TEXT, Finding::MAX_FILES] {
            assert!(schema.contains(&format!("at most {limit}")), "{schema}");
        }
    }
}
