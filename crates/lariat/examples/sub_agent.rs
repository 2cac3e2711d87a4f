//! An agent that delegates to sub-agents: `cargo run -p lariat --example sub_agent`.

use std::sync::Arc;

use lariat::serde_json::json;
use lariat::tool::SubAgentTool;
use lariat::{Agent, AgentEvent, MemoryStore, SessionStore};
use lariat_test::{Reply, ScriptedModel};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Stand in for providers: the agent delegates two tasks in one reply, and each sub-agent answers one.
    let delegate = Reply::calls([
        ("call-1", "researcher", json!({"task": "When was the first lariat made?"})),
        ("call-2", "researcher", json!({"task": "What is a lariat made of?"})),
    ]);
    let boss = ScriptedModel::new([delegate, Reply::text("A lariat is rope, and older than the word.")]);
    let helper = ScriptedModel::new([Reply::text("Before 1830."), Reply::text("Rope or rawhide.")]);
    let researcher = SubAgentTool::new("researcher", helper)
        .with_description("Answers one question about ranch work.")
        .with_system_prompt("You answer in one sentence.")
        .with_turn_limit(5);
    let store = Arc::new(MemoryStore::new());
    let agent = Agent::builder().model(boss).tool(researcher).store(store.clone()).build()?;
    println!("agent: {}", agent.run("What is a lariat?").await?.text);
    // Each sub-agent has a session of its own, which the journal of the agent names.
    for event in store.read(&agent.session_id(), 0, usize::MAX).await? {
        if let AgentEvent::SubAgentSpawned { child_session_id, task, .. } = &event.event {
            let events = store.read(child_session_id, 0, usize::MAX).await?.len();
            println!("sub-agent: {task} ({events} events)");
        }
    }
    Ok(())
}
