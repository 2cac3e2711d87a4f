//! Asks for an answer as a Rust type.

use lariat::prelude::*;

#[derive(serde::Deserialize, JsonSchema)]
struct City {
    name: String,
    inhabitants: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ModelConfig::local(std::env::var("OPENAI_BASE_URL")?, "gpt");
    let agent = Agent::builder().model(model).build()?;
    let city = agent.run_typed::<City>("What is the capital of France?").await?.value;
    println!("{} has {} inhabitants.", city.name, city.inhabitants);
    Ok(())
}
