//! Asks for an answer as a Rust type.

use yoagent::{Agent, provider::ModelConfig};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    name: String,
    inhabitants: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut agent = Agent::from_config(ModelConfig::ollama(std::env::var("OPENAI_BASE_URL")?, "gpt"));
    let schema = serde_json::to_value(schemars::schema_for!(City))?;
    let city: City = agent.prompt_structured("What is the capital of France?", schema).await?;
    println!("{} has {} inhabitants.", city.name, city.inhabitants);
    Ok(())
}
