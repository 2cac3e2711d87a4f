//! The `recall` tool: reads messages and outputs that were left out of the context window.
//!
//! Added if no other tool has that name. Shows lines of a message or of a range of messages, or only those
//! that contain a text.

use lariat_core::BoxFuture;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use serde_json::{Value, json};

/// Maximum number of lines, unless the tool call asks for another.
const MAX_LINES: usize = 500;
/// Maximum number of bytes.
const MAX_BYTES: usize = 32 * 1024;

/// The `recall` tool.
pub(crate) struct RecallTool;

impl RecallTool {
    pub(crate) const NAME: &'static str = "recall";
}

impl AgentTool for RecallTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Reads earlier output or messages that were truncated, cleared or left out, by the id shown in their place. Returns \
         their lines, or with `pattern` only the lines that contain that text, with line numbers."
    }

    fn parameters_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The id as shown, such as `m0123456789ab` or `m0123456789ab..mba9876543210`."},
                "offset": {"type": "integer", "minimum": 1, "description": "First line to return (default 1)."},
                "limit": {"type": "integer", "minimum": 1, "description": "Maximum number of lines (default 500)."},
                "pattern": {"type": "string", "description": "Return only lines that contain this text."}
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
            let text = |name: &str| params.get(name).and_then(Value::as_str);
            let number = |name: &str| {
                params
                    .get(name)
                    .and_then(Value::as_u64)
                    .map(|value| usize::try_from(value).unwrap_or(usize::MAX))
            };
            let id = text("id").ok_or_else(|| ToolError::InvalidArgs("`id` must be a string".to_owned()))?;
            let (first, limit) = (number("offset").unwrap_or(1).max(1), number("limit").unwrap_or(MAX_LINES));
            let mut lines = LineCollector::new(first, limit, text("pattern").map(str::to_owned));
            let found = match &context.earlier {
                Some(earlier) => earlier.stream_text(id, &mut |chunk| lines.add(chunk)).await?,
                None => false,
            };
            if !found {
                return Err(ToolError::Failed(format!("nothing in this session has the id `{id}`")));
            }
            Ok(ToolResult::text(lines.finish()))
        })
    }
}

/// Collects the requested lines from text that arrives in chunks.
struct LineCollector {
    first: usize,
    limit: usize,
    pattern: Option<String>,
    /// Number of lines received so far, and number of lines collected.
    line_number: usize,
    count: usize,
    out: String,
    /// The first line that no longer fits.
    next: Option<usize>,
}

impl LineCollector {
    const fn new(first: usize, limit: usize, pattern: Option<String>) -> Self {
        Self { first, limit, pattern, line_number: 0, count: 0, out: String::new(), next: None }
    }

    fn add(&mut self, chunk: &str) {
        for line in chunk.lines() {
            self.line_number += 1;
            let wanted = self.pattern.as_ref().is_none_or(|pattern| line.contains(pattern.as_str()));
            if self.next.is_some() || self.line_number < self.first || !wanted {
                continue;
            }
            if self.count == self.limit || self.out.len() >= MAX_BYTES {
                self.next = Some(self.line_number);
                continue;
            }
            self.count += 1;
            let end = line.floor_char_boundary(MAX_BYTES);
            if self.pattern.is_some() {
                self.out.push_str(&format!("{}: ", self.line_number));
            }
            self.out.push_str(line.get(..end).unwrap_or(line));
            self.out.push('\n');
        }
    }

    fn finish(self) -> String {
        let Self { first, pattern, count, out, next, .. } = self;
        match (count, pattern, next) {
            (_, _, Some(next)) => format!("{out}[More lines follow. Continue with `offset` {next}.]\n"),
            (0, Some(_), _) => format!("No line from line {first} on contains that text.\n"),
            (0, None, _) => format!("No lines from line {first} on.\n"),
            _ => out + "[End of text.]\n",
        }
    }
}

#[cfg(test)]
mod tests {
    //! Which lines of a text `recall` returns.

    use super::*;

    fn recalled(text: &str, first: usize, limit: usize, pattern: Option<&str>) -> String {
        let mut lines = LineCollector::new(first, limit, pattern.map(str::to_owned));
        // In whole lines, as in a real session.
        text.split_inclusive('\n').for_each(|chunk| lines.add(chunk));
        lines.finish()
    }

    #[test]
    fn range_of_lines_names_the_next_offset() {
        let text = "a\nb\nc\nd";
        assert_eq!(recalled(text, 2, 2, None), "b\nc\n[More lines follow. Continue with `offset` 4.]\n");
        assert_eq!(recalled(text, 4, 2, None), "d\n[End of text.]\n");
        assert_eq!(recalled(text, 9, 2, None), "No lines from line 9 on.\n");
    }

    #[test]
    fn matching_lines_have_line_numbers() {
        assert_eq!(
            recalled("x = 1\ny = 2\nx = 3", 1, 9, Some("x =")),
            "1: x = 1\n3: x = 3\n[End of text.]\n"
        );
        assert_eq!(recalled("x", 1, 9, Some("z")), "No line from line 1 on contains that text.\n");
    }
}
