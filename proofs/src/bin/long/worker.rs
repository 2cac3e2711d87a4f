//! The agent of a long run: real tools, a durable journal and a real connection, in a separate process.
//!
//! It measures the time of each turn and its own memory, and reports them as one line of JSON.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lariat_core::config::ContextConfig;
use lariat_core::event::AgentEvent;
use lariat_core::model::ThinkingLevel;
use lariat_core::permission::AllowAll;
use lariat_host::files::Workspace;
use lariat_model::ProviderRegistry;
use lariat_proofs::server::Wire;
use lariat_proofs::wire;
use lariat_runtime::Agent;
use lariat_store::StoreOptions;
use lariat_store::sqlite::SqliteStore;
use lariat_tools::{Commands, Workbench, default_tools};
use serde::{Deserialize, Serialize};

use super::facts::{self, Act};
use super::model::SMALL;

/// Result of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// How it ended.
    pub(crate) outcome: String,
    /// Microseconds of each turn.
    pub(crate) turns: Vec<u64>,
    /// Microseconds of processor time of each turn.
    pub(crate) cpu: Vec<u64>,
    /// Compactions, and attempts that were rejected.
    pub(crate) compactions: u64,
    pub(crate) refused: Vec<String>,
    /// Turns with a compaction.
    pub(crate) compacted_turns: Vec<u64>,
    /// Messages of the user that were sent.
    pub(crate) wishes: u64,
    /// Peak memory in kilobytes.
    pub(crate) peak_kb: u64,
}

/// Runs the agent in a directory against a server.
pub(crate) async fn run(
    directory: &Path,
    base_url: &str,
    turns: u64,
    window: usize,
) -> Result<Report, String> {
    let root = directory.join("work");
    std::fs::create_dir_all(root.join("pages")).map_err(|error| error.to_string())?;
    std::fs::create_dir_all(root.join("out")).map_err(|error| error.to_string())?;
    let planted = facts::planting(turns);
    for turn in (0..turns).filter(|turn| matches!(facts::act(*turn), Act::Read | Act::Command)) {
        let page = facts::page(turn, planted.contains(&turn));
        std::fs::write(root.join(format!("pages/{turn}.rs")), page).map_err(|error| error.to_string())?;
    }
    let workspace = Workspace::open(&root).map_err(|error| error.to_string())?;
    let bench = Workbench::new(workspace).with_commands(Commands::Unconfined);
    let store = SqliteStore::open(directory.join("sessions.db"), StoreOptions::default())
        .await
        .map_err(|error| error.to_string())?;
    let model = wire::model(Wire::AnthropicMessages, base_url);
    let mut small = model.clone();
    SMALL.clone_into(&mut small.id);
    let agent = Agent::builder()
        .model(ProviderRegistry::default())
        .model_config(model)
        .compaction_model(small)
        .system_prompt("You work through the pages of this workspace, one after another.")
        .thinking_level(ThinkingLevel::Low)
        .max_tokens(4_096)
        .tools(default_tools(&bench))
        .permission_policy(AllowAll)
        .context(Some(ContextConfig::with_window(window)))
        .without_limits()
        .repetition(None)
        .store(Arc::new(store))
        .build()
        .map_err(|error| error.to_string())?;

    let mut report = Report { wishes: 1, ..Report::default() };
    let mut stream = agent.run_stream(facts::instruction(0));
    let (mut since, mut cpu) = (Instant::now(), cpu_micros());
    while let Some(event) = stream.next().await {
        match &event.event {
            AgentEvent::TurnEnd { .. } => {
                let now = Instant::now();
                report.turns.push(micros(now - since));
                since = now;
                let spent = cpu_micros();
                report.cpu.push(spent.saturating_sub(cpu));
                cpu = spent;
                let turn = report.turns.len() as u64;
                if turn.is_multiple_of(facts::STEER_EVERY) && turn < turns {
                    agent.steer(facts::instruction(turn / facts::STEER_EVERY));
                    report.wishes += 1;
                }
            }
            AgentEvent::Compaction { .. } => {
                report.compactions += 1;
                report.compacted_turns.push(report.turns.len() as u64);
            }
            AgentEvent::CompactionRefused { reason, .. } => report.refused.push(reason.clone()),
            _ => {}
        }
    }
    let output = stream.finish().await.map_err(|error| error.to_string())?;
    report.outcome = format!("{:?}", output.outcome);
    report.peak_kb = peak_kb();
    Ok(report)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Processor time that this process has used.
fn cpu_micros() -> u64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let whole = u64::try_from(spent.tv_sec).unwrap_or_default();
    whole * 1_000_000 + u64::try_from(spent.tv_nsec).unwrap_or_default() / 1_000
}

/// Peak memory of this process.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or_default()
}
