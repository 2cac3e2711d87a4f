//! `recall`: reads what was left out of the window, where no other tool of that name is offered.
//!
//! Owns the smallest form of it: lines of a message or of a range of messages, and those that contain a text.

use lariat_core::BoxFuture;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use serde_json::{Value, json};

/// Lines that are shown, unless a call asks for others.
const LINES: usize = 500;
/// Bytes that are shown.
const BYTES: usize = 32 * 1024;

/// The tool.
pub(crate) struct Recall;

impl Recall {
    pub(crate) const NAME: &'static str = "recall";
}

impl AgentTool for Recall {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Reads earlier output or messages that were cleared or left out, by the id that was given in their place: lines \
         of it, or with `pattern` the lines that contain that text, with their numbers."
    }

    fn parameters_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The id, such as `m0123456789ab` or `m0123456789ab..mba9876543210`."},
                "offset": {"type": "integer", "minimum": 1, "description": "The line to begin with; 1 if left out."},
                "limit": {"type": "integer", "minimum": 1, "description": "Lines to show; 500 if left out."},
                "pattern": {"type": "string", "description": "Only lines that contain this text."}
            },
            "required": ["id"],
            "additionalProperties": false
        })
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::READS
    }

    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let word = |name: &str| params.get(name).and_then(Value::as_str);
            let number = |name: &str| {
                params
                    .get(name)
                    .and_then(Value::as_u64)
                    .map(|value| usize::try_from(value).unwrap_or(usize::MAX))
            };
            let id = word("id").ok_or_else(|| ToolError::InvalidArgs("`id` must be a text.".to_owned()))?;
            let text = match &context.earlier {
                Some(earlier) => earlier.text(id).await?,
                None => None,
            };
            let unknown = || ToolError::Failed(format!("Nothing in this session has the id `{id}`."));
            let text = text.ok_or_else(unknown)?;
            let (first, most) = (number("offset").unwrap_or(1).max(1), number("limit").unwrap_or(LINES));
            Ok(ToolResult::text(shown(&text, first, most, word("pattern"))))
        })
    }
}

fn shown(text: &str, first: usize, most: usize, pattern: Option<&str>) -> String {
    let wanted = |line: &str| pattern.is_none_or(|pattern| line.contains(pattern));
    let lines = text.lines().zip(1..).filter(|(line, number)| *number >= first && wanted(line));
    let (mut out, mut count) = (String::new(), 0);
    for (line, number) in lines {
        if count == most || out.len() >= BYTES {
            out.push_str(&format!("[More follow. Go on with `offset` {number}.]\n"));
            return out;
        }
        count += 1;
        let end = line.floor_char_boundary(BYTES);
        let lead = if pattern.is_some() { format!("{number}: ") } else { String::new() };
        out.push_str(&format!("{lead}{}\n", line.get(..end).unwrap_or(line)));
    }
    match (count, pattern) {
        (0, Some(_)) => format!("No line contains that from line {first} on.\n"),
        (0, None) => format!("There are no lines from line {first} on.\n"),
        _ => out + "[That was the end.]\n",
    }
}

#[cfg(test)]
#[path = "recall_tests.rs"]
mod tests;
