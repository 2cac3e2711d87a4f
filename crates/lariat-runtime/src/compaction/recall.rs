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
        "Reads earlier output or messages that were cut, cleared or left out, by the id that was given in their place: lines \
         of it, or with `pattern` the lines that contain that text, with their numbers."
    }

    fn parameters_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The id as it was given, such as `m0123456789ab` or `m0123456789ab..mba9876543210`."},
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
            let (first, most) = (number("offset").unwrap_or(1).max(1), number("limit").unwrap_or(LINES));
            let mut page = Page::new(first, most, word("pattern").map(str::to_owned));
            let found = match &context.earlier {
                Some(earlier) => earlier.tell(id, &mut |piece| page.take(piece)).await?,
                None => false,
            };
            if !found {
                return Err(ToolError::Failed(format!("Nothing in this session has the id `{id}`.")));
            }
            Ok(ToolResult::text(page.shown()))
        })
    }
}

/// Lines of what is told piece by piece.
struct Page {
    first: usize,
    most: usize,
    pattern: Option<String>,
    /// Lines that were told so far, and that are shown.
    told: usize,
    count: usize,
    out: String,
    /// The line that does not fit any more.
    next: Option<usize>,
}

impl Page {
    const fn new(first: usize, most: usize, pattern: Option<String>) -> Self {
        Self { first, most, pattern, told: 0, count: 0, out: String::new(), next: None }
    }

    fn take(&mut self, piece: &str) {
        for line in piece.lines() {
            self.told += 1;
            let wanted = self.pattern.as_ref().is_none_or(|pattern| line.contains(pattern.as_str()));
            if self.next.is_some() || self.told < self.first || !wanted {
                continue;
            }
            if self.count == self.most || self.out.len() >= BYTES {
                self.next = Some(self.told);
                continue;
            }
            self.count += 1;
            let end = line.floor_char_boundary(BYTES);
            if self.pattern.is_some() {
                self.out.push_str(&format!("{}: ", self.told));
            }
            self.out.push_str(line.get(..end).unwrap_or(line));
            self.out.push('\n');
        }
    }

    fn shown(self) -> String {
        let Self { first, pattern, count, out, next, .. } = self;
        match (count, pattern, next) {
            (_, _, Some(next)) => format!("{out}[More follow. Go on with `offset` {next}.]\n"),
            (0, Some(_), _) => format!("No line contains that from line {first} on.\n"),
            (0, None, _) => format!("There are no lines from line {first} on.\n"),
            _ => out + "[That was the end.]\n",
        }
    }
}

#[cfg(test)]
#[path = "recall_tests.rs"]
mod tests;
