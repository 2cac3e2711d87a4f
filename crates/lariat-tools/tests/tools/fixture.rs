//! A temporary workspace for a test, and tools on it.
#![expect(clippy::disallowed_methods, reason = "tests create their own files")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lariat_core::cancel::CancellationToken;
use lariat_core::content::Content;
use lariat_core::id::{LoopId, SessionId};
use lariat_core::tool::{AgentTool, ToolContext, ToolError, ToolResult};
use lariat_host::files::{Sync, Workspace};
use lariat_host::process::Environment;
use lariat_tools::{Commands, Outputs, Workbench, default_tools};
use serde_json::Value;

pub(crate) struct Fixture {
    pub(crate) base: PathBuf,
    tools: Vec<Arc<dyn AgentTool>>,
}

impl Fixture {
    /// Tools on an empty workspace; commands run unsandboxed.
    pub(crate) fn new() -> Self {
        Self::with(|bench| bench.with_commands(Commands::Unconfined))
    }

    pub(crate) fn with(setting: impl FnOnce(Workbench) -> Workbench) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let base = std::env::temp_dir().join(format!("lariat-tools-{}-{count}", std::process::id()));
        std::fs::create_dir_all(base.join("ws")).unwrap();
        std::fs::create_dir_all(base.join("outputs")).unwrap();
        let base = std::fs::canonicalize(base).unwrap();
        let outputs = Outputs::in_directory(Workspace::open(base.join("outputs")).unwrap());
        let bench = Workbench::new(Workspace::open(base.join("ws")).unwrap().with_sync(Sync::Fast))
            .with_outputs(outputs)
            .with_environment(Environment::from_inherited(std::env::vars_os()));
        let tools = default_tools(&setting(bench));
        Self { base, tools }
    }

    pub(crate) fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.base.join("ws").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn content(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.base.join("ws").join(path)).ok()
    }

    pub(crate) fn tool(&self, name: &str) -> &Arc<dyn AgentTool> {
        self.tools.iter().find(|tool| tool.name() == name).unwrap()
    }

    pub(crate) fn tools(&self) -> &[Arc<dyn AgentTool>] {
        &self.tools
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<ToolResult, ToolError> {
        self.tool(name).execute(arguments, context(name, CancellationToken::new())).await
    }

    /// Returns the text of a tool call that must succeed.
    pub(crate) async fn text(&self, name: &str, arguments: Value) -> String {
        text(&self.call(name, arguments).await.unwrap())
    }

    /// Returns the message of a tool call that must fail.
    pub(crate) async fn error(&self, name: &str, arguments: Value) -> String {
        self.call(name, arguments).await.unwrap_err().to_string()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.tools.clear();
        let _ = std::fs::remove_dir_all(&self.base);
    }
}

pub(crate) fn context(name: &str, cancel: CancellationToken) -> ToolContext {
    ToolContext::new("call".into(), name, SessionId::from("s"), LoopId::from("l"), cancel)
}

pub(crate) fn text(result: &ToolResult) -> String {
    let parts = result.content.iter().map(|content| match content {
        Content::Text { text } => text.clone(),
        other => format!("{other:?}"),
    });
    parts.collect()
}
