//! Asks the user before a tool call runs.

use rig::agent::{AgentHook, DispatchAction, DispatchEvent, HookContext};
use rig::prelude::*;
use rig::providers::openai::OpenAI;

#[rig::rig_tool(description = "Deploys.")]
fn deploy(target: String) -> Result<String, rig::tool::ToolExecutionError> {
    Ok(format!("deployed to {target}"))
}

fn approved(call: &str) -> bool {
    println!("approve {call}?");
    std::io::stdin().lines().next().is_some_and(|line| line.is_ok_and(|line| line == "y"))
}

struct Approval;

impl AgentHook for Approval {
    async fn on_dispatch(&self, _: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        match event.tool_args() {
            Some(call) if !approved(call) => DispatchAction::skip("denied by the user"),
            _ => DispatchAction::Proceed,
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = OpenAI::from_env()?.chat("gpt");
    let agent = AgentBuilder::new(model).tool(Deploy).add_hook(Approval).build();
    println!("{}", agent.prompt("Deploy everywhere.").max_turns(4).await?.output());
    Ok(())
}
