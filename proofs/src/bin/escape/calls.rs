//! Every argument through which a tool for files or for searches accepts a path.

use std::sync::Arc;

use futures_util::FutureExt;
use lariat_core::cancel::CancellationToken;
use lariat_core::id::{LoopId, SessionId};
use lariat_core::tool::{AgentTool, ToolContext, ToolError, ToolResult};
use lariat_tools::{Workbench, file_tools, search_tools};
use serde_json::{Value, json};

/// A tool and the arguments that pass it a path.
pub(crate) type PathArgument = (&'static str, fn(&str) -> Value);

/// Always returns the content, never the note that it was shown before.
pub(crate) const READ: PathArgument = ("read_file", |path| json!({ "path": path, "again": true }));

/// A pattern that finds what is outside and what is inside. It does not match itself, because a result may repeat it.
pub(crate) const SOUGHT: &str = "C[A]NARY|insid[e]";

/// All tools and arguments. What they write is distinct from all other content.
pub(crate) const PATH_ARGUMENTS: &[PathArgument] = &[
    READ,
    ("list_files", |path| json!({ "path": path })),
    ("search", |path| json!({ "path": path, "pattern": SOUGHT, "all": true })),
    ("glob", |path| json!({ "path": path, "pattern": "**/*", "all": true })),
    ("repo_map", |path| json!({ "path": path })),
    ("write_file", |path| json!({ "path": path, "content": "ESCAPED" })),
    ("edit_file", |path| json!({ "path": path, "old_string": "CANARY", "new_string": "ESCAPED" })),
    ("edit_file", |path| json!({ "path": path, "old_string": "hard", "new_string": "soft" })),
    (
        "multi_edit",
        |path| json!({ "path": path, "edits": [{ "old_string": "a", "new_string": "e", "replace_all": true }] }),
    ),
    ("apply_patch", |path| patch(&format!("*** Add File: {path}\n+ESCAPED\n"))),
    ("apply_patch", |path| patch(&format!("*** Update File: {path}\n@@\n+ESCAPED\n"))),
    ("apply_patch", |path| patch(&format!("*** Update File: {path}\n*** Move to: taken\n"))),
    ("apply_patch", |path| patch(&format!("*** Update File: given\n*** Move to: {path}\n"))),
    ("apply_patch", |path| patch(&format!("*** Delete File: {path}\n"))),
    (
        "apply_patch",
        |path| json!({ "patch": format!("--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+ESCAPED\n") }),
    ),
];

pub(crate) fn patch(body: &str) -> Value {
    json!({ "patch": format!("*** Begin Patch\n{body}*** End Patch\n") })
}

/// The tools of [`PATH_ARGUMENTS`], as a model gets them.
pub(crate) fn tools(bench: &Workbench) -> Vec<Arc<dyn AgentTool>> {
    let mut tools = file_tools(bench);
    tools.extend(search_tools(bench));
    tools
}

/// Calls a tool. Without a runtime, these tools complete at once.
pub(crate) fn call(
    tools: &[Arc<dyn AgentTool>],
    name: &str,
    arguments: Value,
) -> Result<ToolResult, ToolError> {
    let tool = tools.iter().find(|tool| tool.name() == name);
    let tool = tool.ok_or_else(|| ToolError::NotFound(format!("no tool {name}")))?;
    let (session, running) = (SessionId::from("s"), LoopId::from("l"));
    let context = ToolContext::new("call".into(), name, session, running, CancellationToken::new());
    let done = tool.execute(arguments, context).now_or_never();
    done.unwrap_or_else(|| Err(ToolError::Interrupted("the tool did not complete at once".to_owned())))
}

/// Everything that a tool call returns, as one text to search in.
pub(crate) fn answer(result: &Result<ToolResult, ToolError>) -> String {
    match result {
        Ok(result) => serde_json::to_string(result).unwrap_or_default(),
        Err(error) => error.to_string(),
    }
}
