//! Lets the model call a tool.

use rig::prelude::*;
use rig::providers::openai::OpenAI;

#[rig::rig_tool(description = "Adds two numbers.")]
fn add(a: i64, b: i64) -> Result<i64, rig::tool::ToolExecutionError> {
    Ok(a + b)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = AgentBuilder::new(OpenAI::from_env()?.chat("gpt")).tool(Add).build();
    println!("{}", agent.prompt("What is 20 + 22?").max_turns(3).await?.output());
    Ok(())
}
