//! `todo`: the agent's list of tasks, for itself and for users who watch.
//!
//! Every call replaces the whole list, so the last result is the current state, and nothing is stored here.

use lariat_core::BoxFuture;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::bench_tool::BenchTool;

/// The tool `todo`.
pub(crate) struct Todo;

/// The arguments of a tool call.
#[derive(Deserialize)]
pub(crate) struct Arguments {
    items: Vec<TodoItem>,
}

#[derive(Serialize, Deserialize)]
struct TodoItem {
    content: String,
    status: ItemStatus,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ItemStatus {
    Pending,
    InProgress,
    Completed,
}

impl BenchTool for Todo {
    type Arguments = Arguments;
    const NAME: &'static str = "todo";
    const LABEL: &'static str = "Plan";
    const DESCRIPTION: &'static str = "Replace your list of tasks, which the user can see. Use it for work with three or more steps. Send the whole list each time. Keep at most one item `in_progress`. Set \
        an item to `completed` as soon as it is done, and not before.";
    const FIELDS: &'static [Field] = &[Field::required(
        "items",
        ArgumentKind::List(
            &ArgumentKind::Object(&[
                Field::required("content", ArgumentKind::Text, "The task."),
                Field::required(
                    "status",
                    ArgumentKind::Word(&["pending", "in_progress", "completed"]),
                    "The state of the task.",
                ),
            ]),
            0,
            100,
        ),
        "All items, in order.",
    )];
    const EFFECTS: ToolEffects = ToolEffects::NONE;

    fn run(
        _: &Workbench,
        arguments: Arguments,
        _: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(std::future::ready(plan(&arguments.items)))
    }
}

fn plan(items: &[TodoItem]) -> Result<ToolResult, ToolError> {
    let count = |status| items.iter().filter(|item| item.status == status).count();
    if let Some(empty) = items.iter().position(|item| item.content.trim().is_empty()) {
        return Err(ToolError::InvalidArgs(format!("`items[{empty}].content` must not be empty.")));
    }
    if count(ItemStatus::InProgress) > 1 {
        return Err(ToolError::InvalidArgs(format!(
            "{} items are `in_progress`; at most one is allowed. Set the others to `pending`.",
            count(ItemStatus::InProgress)
        )));
    }
    let mut text = String::new();
    for item in items {
        let mark = match item.status {
            ItemStatus::Pending => " ",
            ItemStatus::InProgress => ">",
            ItemStatus::Completed => "x",
        };
        text.push_str(&format!("[{mark}] {}\n", item.content.trim()));
    }
    if items.is_empty() {
        text.push_str("The list is empty.\n");
    }
    let details = json!({ "items": items, "completed": count(ItemStatus::Completed), "total": items.len() });
    Ok(ToolResult::text(text).with_details(details))
}
