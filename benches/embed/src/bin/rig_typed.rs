//! Asks for an answer as a Rust type.

use rig::prelude::*;
use rig::providers::openai::OpenAI;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    name: String,
    inhabitants: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = AgentBuilder::new(OpenAI::from_env()?.chat("gpt")).build();
    let city = agent.prompt_typed::<City>("What is the capital of France?").await?.output;
    println!("{} has {} inhabitants.", city.name, city.inhabitants);
    Ok(())
}
