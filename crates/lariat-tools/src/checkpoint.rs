//! Records undo checkpoints before and after a tool call.
//!
//! The state is saved before a tool call begins; if that fails, the tool call does not run. If the second checkpoint
//! fails, or the tool call is dropped, its changes are treated as the user's and are never undone without asking.

use lariat_core::tool::{ToolContext, ToolError};
use lariat_host::undo::{Change, RecordedKind, Undo, UndoError};
use serde_json::{Value, json};

use crate::Workbench;

/// Maximum number of files in the details of a command's result, because details are journaled.
const FILES: usize = 500;

/// A tool call between its two checkpoints. Dropping it without ending it abandons the call.
pub(crate) struct CheckpointGuard {
    undo: Undo,
    call: String,
}

impl CheckpointGuard {
    /// Saves these files before a tool call changes them.
    pub(crate) fn paths(
        bench: &Workbench,
        context: &ToolContext,
        paths: &[String],
    ) -> Result<Option<Self>, ToolError> {
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        Self::begin(bench, context, Some(&paths))
    }

    /// Saves the workspace before a tool call that may change any file.
    pub(crate) async fn everything(
        bench: &Workbench,
        context: &ToolContext,
    ) -> Result<Option<Self>, ToolError> {
        if !bench.keeps_undo() {
            return Ok(None);
        }
        let (bench, context) = (bench.clone(), context.clone());
        blocking(move || Self::begin(&bench, &context, None)).await
    }

    fn begin(
        bench: &Workbench,
        context: &ToolContext,
        paths: Option<&[&str]>,
    ) -> Result<Option<Self>, ToolError> {
        let (call, loop_id) = (context.tool_call_id.as_str(), context.loop_id.as_str());
        let begin = |undo: &Undo| -> Result<Self, UndoError> {
            Ok(Self { undo: undo.clone(), call: undo.begin_call_of_loop(call, loop_id, paths)? })
        };
        bench.undo().and_then(|undo| undo.map(begin).transpose()).map_err(|error| {
            ToolError::Failed(format!(
                "The tool call did not run, because its changes could not be undone later: {error}."
            ))
        })
    }

    /// Records what the tool call changed in these files.
    pub(crate) fn end_paths(self, paths: &[String]) {
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let _ = self.undo.end_call_on_paths(&self.call, &paths);
    }

    /// Records what the tool call changed, and returns the changed files for the details of its result.
    pub(crate) async fn end(self) -> Vec<Value> {
        let changed = blocking(move || {
            let _ = self.undo.end_call(&self.call);
            Ok(self.undo.changes(&self.call).unwrap_or_default())
        });
        let is_file = |side: &Option<(RecordedKind, u32)>| {
            matches!(side, Some((RecordedKind::File(_) | RecordedKind::Link(_), _)))
        };
        let file_entry = |change: Change| {
            let word = match (is_file(&change.before), is_file(&change.after)) {
                (false, true) => "added",
                (true, true) => "modified",
                (true, false) => "deleted",
                (false, false) => return None,
            };
            Some(json!({ "path": change.path.as_path().display().to_string(), "change": word }))
        };
        changed.await.unwrap_or_default().into_iter().filter_map(file_entry).take(FILES).collect()
    }
}

impl Drop for CheckpointGuard {
    fn drop(&mut self) {
        self.undo.abandon(&self.call);
    }
}

async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, ToolError> + Send + 'static,
) -> Result<R, ToolError> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime
            .spawn_blocking(work)
            .await
            .unwrap_or_else(|error| Err(ToolError::Interrupted(error.to_string()))),
        Err(_) => work(),
    }
}
