//! Two agents of one tree that change the same files at the same time, with the tools that they share: looks for updates that are lost.
#![expect(
    clippy::disallowed_methods,
    reason = "a proof makes its own files, and reads them without the tools"
)]

use std::path::Path;
use std::sync::Arc;

use lariat_core::cancel::CancellationToken;
use lariat_core::tool::{AgentTool, ToolContext};
use lariat_host::files::Workspace;
use lariat_tools::{Workbench, default_tools};
use serde_json::{Value, json};

/// The sessions of the agents. Each adds a line with its name to every file.
const AGENTS: [&str; 2] = ["one", "two"];

/// What a race for files showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileRaceReport {
    /// Number of files.
    pub files: usize,
    /// Number of writes that were refused, because the other agent had changed the file, and that were repeated.
    pub refused: usize,
    /// Number of lines that are missing in the end.
    pub lost: usize,
}

/// Lets two agents add a line to each of this many files, in a new directory.
///
/// # Errors
/// If the directory cannot be used, or a tool fails in another way than by refusing a write.
pub fn race_for_files(directory: &Path, files: usize) -> Result<FileRaceReport, String> {
    std::fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    for at in 0..files {
        std::fs::write(directory.join(name(at)), "start\n").map_err(|error| error.to_string())?;
    }
    let workspace = Workspace::open(directory).map_err(|error| error.to_string())?;
    let tools: Arc<[Arc<dyn AgentTool>]> = default_tools(&Workbench::new(workspace)).into();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(AGENTS.len()).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let racing = AGENTS.map(|agent| runtime.spawn(add_lines(Arc::clone(&tools), agent, files)));
    let mut report = FileRaceReport { files, ..FileRaceReport::default() };
    for agent in racing {
        report.refused += runtime.block_on(agent).map_err(|error| error.to_string())??;
    }
    for at in 0..files {
        let text = std::fs::read_to_string(directory.join(name(at))).map_err(|error| error.to_string())?;
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        report.lost += AGENTS.iter().filter(|agent| !lines.contains(agent)).count();
        lines.dedup();
        if lines.iter().any(|line| !AGENTS.contains(line) && *line != "start") {
            return Err(format!("{}: a line that no agent wrote: {lines:?}", name(at)));
        }
    }
    Ok(report)
}

fn name(at: usize) -> String {
    format!("file-{at}.txt")
}

/// Adds a line to every file, as an agent does: reads it, writes it, and does both again if the write is refused. Returns how often
/// that was.
async fn add_lines(
    tools: Arc<[Arc<dyn AgentTool>]>,
    agent: &'static str,
    files: usize,
) -> Result<usize, String> {
    let mut refused = 0;
    for at in 0..files {
        let path = name(at);
        loop {
            let read = call(&tools, agent, "read_file", json!({ "path": path, "again": true })).await?;
            // Lines have their numbers before a tab.
            let lines = read.lines().filter_map(|line| line.split_once('\t'));
            let text: String = lines.map(|(_, line)| format!("{line}\n")).collect();
            let write = json!({ "path": path, "content": format!("{text}{agent}\n") });
            match call(&tools, agent, "write_file", write).await {
                Ok(_) => break,
                Err(_) => refused += 1,
            }
        }
    }
    Ok(refused)
}

async fn call(
    tools: &[Arc<dyn AgentTool>],
    agent: &str,
    name: &str,
    arguments: Value,
) -> Result<String, String> {
    let tool = tools.iter().find(|tool| tool.name() == name);
    let tool = tool.ok_or_else(|| format!("the workbench has no tool `{name}`"))?;
    let context =
        ToolContext::new("call".into(), name, agent.into(), "loop".into(), CancellationToken::new());
    let done = tool.execute(arguments, context).await.map_err(|error| error.to_string())?;
    Ok(lariat_core::content::joined_text(&done.content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_agents_lose_no_update() {
        let directory = std::env::temp_dir().join(format!("lariat-file-race-{}", std::process::id()));
        let report = race_for_files(&directory, 200);
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(report.unwrap().lost, 0);
    }
}
