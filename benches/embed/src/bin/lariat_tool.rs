//! Lets the model call a tool.

use lariat::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ModelConfig::local(std::env::var("OPENAI_BASE_URL")?, "gpt");
    let add = FunctionTool::pure("add", "Adds two numbers.", |(a, b): (i64, i64)| Ok::<_, String>(a + b));
    let agent = Agent::builder().model(model).tool(add.names(["a", "b"])).build()?;
    println!("{}", agent.run("What is 20 + 22?").await?.text);
    Ok(())
}
