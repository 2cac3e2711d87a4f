//! A tool made from an async function: `cargo run -p lariat --example tool`.

use lariat::serde_json::json;
use lariat::{Agent, Content, FunctionTool, ToolContext, ToolEffects};
use lariat_test::{Reply, ScriptedModel};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Distance {
    /// In kilometres.
    km: f64,
}

async fn miles(distance: Distance, _: ToolContext) -> Result<String, String> {
    if distance.km < 0.0 {
        return Err("a distance cannot be negative".to_owned());
    }
    Ok(format!("{:.2} miles", distance.km * 0.621_371))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Stands in for a provider: two wrong tool calls, then a correct one.
    let script = [
        Reply::tool_call("call-1", "miles", json!({"km": "ten"})),
        Reply::tool_call("call-2", "miles", json!({"km": -10})),
        Reply::tool_call("call-3", "miles", json!({"km": 10})),
        Reply::text("Ten kilometres are 6.21 miles."),
    ];
    let tool = FunctionTool::new("miles", "Converts kilometres to miles.", miles).effects(ToolEffects::NONE);
    let agent = Agent::builder().model(ScriptedModel::new(script)).tool(tool).build()?;
    let output = agent.run("How many miles are ten kilometres?").await?;
    for result in output.messages.iter().filter_map(|message| message.as_tool_result()) {
        println!("tool: {}", result.content.first().and_then(Content::as_text).unwrap_or_default());
    }
    println!("model: {}", output.text);
    Ok(())
}
