//! Decides what an agent may do: its requests for permission pass the gate, and so do the files that it reads and writes.
//!
//! Invariant: what the gate neither allows nor a user approves is denied. A file is opened only with the check of its real path.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lariat_acp::client::{AgentError, ExternalCall, judged_calls};
use lariat_core::content::ToolCall;
use lariat_core::id::{LoopId, SessionId, ToolCallId};
use lariat_core::permission::{Approver, CallPermit, PermissionPolicy as _, PolicyQuery, Verdict};
use lariat_core::tool::ToolEffects;
use lariat_host::files::text::Text;
use lariat_host::files::{FileError, FileVersion, Workspace, WriteCondition};
use lariat_runtime::Gate;
use serde_json::json;

/// Maximum size of a file that an agent reads or replaces, in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// What one agent may do.
pub(crate) struct CallAccess<'a> {
    gate: Arc<Gate>,
    workspace: Workspace,
    session_id: SessionId,
    /// The start of the ids of its calls.
    prefix: String,
    next: AtomicU64,
    approver: Option<&'a dyn Approver>,
}

impl<'a> CallAccess<'a> {
    pub(crate) fn new(
        gate: Arc<Gate>,
        workspace: Workspace,
        session_id: SessionId,
        prefix: &str,
        approver: Option<&'a dyn Approver>,
    ) -> Self {
        let prefix = prefix.to_owned();
        Self { gate, workspace, session_id, prefix, next: AtomicU64::new(1), approver }
    }

    /// Decides about a tool call of the agent.
    ///
    /// # Errors
    /// Why it is denied.
    pub(super) async fn permit(&self, call: &ExternalCall) -> Result<(), String> {
        for judged in judged_calls(call) {
            self.judge(&self.call(judged.tool, judged.arguments), judged.effects).await?;
        }
        Ok(())
    }

    /// Reads a text file, or some of its lines.
    ///
    /// # Errors
    /// If it is denied, or the file cannot be read.
    pub(super) async fn read(
        &self,
        path: String,
        line: Option<u64>,
        limit: Option<u64>,
    ) -> Result<String, AgentError> {
        let judged = self.call("read_file", json!({ "path": path }));
        let permit = self.start(&judged, ToolEffects::READS).await?;
        let workspace = self.workspace_for(&permit);
        let read = move || {
            let content = workspace.read(&path, MAX_FILE).map_err(|error| file_error(&error))?;
            let text = Text::decode(&content.bytes)
                .ok_or_else(|| AgentError::file(format!("`{path}` is not a text file")))?;
            if line.is_none() && limit.is_none() {
                return Ok(text.as_str().to_owned());
            }
            let first = usize::try_from(line.unwrap_or(1).saturating_sub(1)).unwrap_or(usize::MAX);
            let count = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
            Ok(text.as_str().split_inclusive('\n').skip(first).take(count).collect())
        };
        let read = blocking(read).await;
        drop(permit);
        read
    }

    /// Writes a whole text file. An existing one keeps its encoding and its line endings.
    ///
    /// # Errors
    /// If it is denied, or the file cannot be written.
    pub(super) async fn write(&self, path: String, content: String) -> Result<(), AgentError> {
        let judged = self.call("write_file", json!({ "path": path, "content": content }));
        let permit = self.start(&judged, ToolEffects::READS.and(ToolEffects::WRITES)).await?;
        let workspace = self.workspace_for(&permit);
        let write = move || {
            let (text, expected) = match workspace.read(&path, MAX_FILE) {
                Ok(old) => {
                    let text = match Text::decode(&old.bytes) {
                        Some(text) => text.with_text(&content),
                        None => Text::new(content),
                    };
                    (text, WriteCondition::Unchanged(FileVersion::of(old.stamp, &old.bytes)))
                }
                Err(FileError::NotFound { .. }) => (Text::new(content), WriteCondition::Absent),
                Err(error) => return Err(file_error(&error)),
            };
            let bytes = text
                .encode()
                .map_err(|letter| AgentError::file(format!("`{path}` cannot contain `{letter}`")))?;
            workspace.write(&path, &bytes, &expected).map_err(|error| file_error(&error))?;
            Ok(())
        };
        let written = blocking(write).await;
        drop(permit);
        written
    }

    fn call(&self, tool: &str, arguments: serde_json::Value) -> ToolCall {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = ToolCallId::from(format!("{}-acp-{number}", self.prefix));
        ToolCall { id, name: tool.to_owned(), arguments, signature: None }
    }

    /// Permits and starts a call that Lariat itself performs.
    async fn start(&self, call: &ToolCall, effects: ToolEffects) -> Result<CallPermit, AgentError> {
        self.judge(call, effects).await.map_err(AgentError::refused)?;
        let loop_id = LoopId::from("");
        let query = PolicyQuery::new(&self.session_id, &loop_id, call, effects);
        self.gate.on_start(query).map_err(AgentError::refused)
    }

    async fn judge(&self, call: &ToolCall, effects: ToolEffects) -> Result<(), String> {
        let loop_id = LoopId::from("");
        let query = PolicyQuery::new(&self.session_id, &loop_id, call, effects);
        match self.gate.check(query).await {
            Verdict::Allow => Ok(()),
            Verdict::Ask(request) => {
                let why = request.reason.clone().unwrap_or_else(|| "it requires approval".to_owned());
                let Some(approver) = self.approver else {
                    return Err(format!("no user can approve it: {why}"));
                };
                let decision = approver.ask(&request).await;
                self.gate.on_answered(&request, &decision);
                match decision.scope() {
                    Some(_) => Ok(()),
                    None => Err("the user denied it".to_owned()),
                }
            }
            Verdict::Deny(why) => Err(why),
            Verdict::Queue { .. } => Err("only reading is allowed".to_owned()),
            // Its own tool runs with its own arguments.
            Verdict::Rewrite(_) => {
                Err("a hook changes it, and another agent cannot run what a hook changed".to_owned())
            }
            _ => Err("a hook skipped it".to_owned()),
        }
    }

    fn workspace_for(&self, permit: &CallPermit) -> Workspace {
        let workspace = self.workspace.clone();
        match &permit.files {
            Some(check) => workspace.with_access_check(Arc::clone(check)),
            None => workspace,
        }
    }
}

fn file_error(error: &FileError) -> AgentError {
    AgentError::file(error.to_string())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AgentError> + Send + 'static,
) -> Result<T, AgentError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(AgentError::refused(error.to_string())))
}
