//! An agent with one tool, on a scripted model: `cargo run -p lariat --example embed`.

use lariat::serde_json::{Value, json};
use lariat::{Agent, Tool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_test::{Reply, ScriptedModel};

struct Clock;

impl Tool for Clock {
    fn name(&self) -> &str {
        "clock"
    }
    fn description(&self) -> &str {
        "Returns the current time."
    }
    fn parameters_schema(&self) -> Value {
        json!({"type": "object", "properties": {}})
    }
    fn effects(&self) -> ToolEffects {
        ToolEffects::READS
    }
    async fn execute(&self, _: Value, _: ToolContext) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text("half past nine"))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Stands in for a provider: calls the tool, then answers.
    let script =
        [Reply::tool_call("call-1", "clock", json!({})), Reply::text("It is half past nine.").split(4)];
    let print = |event: &lariat::AgentEvent| print!("{}", event.text_delta().unwrap_or_default());
    let agent = Agent::builder().model(ScriptedModel::new(script)).tool(Clock).on_event(print).build()?;
    let output = agent.run("What time is it?").await?;
    println!("\n{:?} after {} turns, {} tokens", output.outcome, output.turns, output.usage.total());
    Ok(())
}
