//! Asks the user before a tool call runs.

use serde_json::{Value, json};
use yoagent::provider::ModelConfig;
use yoagent::*;

struct Deploy;

#[async_trait::async_trait]
impl AgentTool for Deploy {
    fn name(&self) -> &str {
        "deploy"
    }
    fn label(&self) -> &str {
        "Deploy"
    }
    fn description(&self) -> &str {
        "Deploys."
    }
    fn parameters_schema(&self) -> Value {
        json!({"type": "object", "properties": {"target": {"type": "string"}}, "required": ["target"]})
    }
    async fn execute(&self, params: Value, _: ToolContext) -> Result<ToolResult, ToolError> {
        let target = params["target"].as_str().ok_or(ToolError::InvalidArgs("missing target".into()))?;
        let text = format!("deployed to {target}");
        Ok(ToolResult { content: vec![Content::Text { text }], details: Value::Null })
    }
}

fn approved(call: &str) -> bool {
    println!("approve {call}?");
    std::io::stdin().lines().next().is_some_and(|line| line.is_ok_and(|line| line == "y"))
}

struct Approval;

#[async_trait::async_trait]
impl ToolMiddleware for Approval {
    async fn before_tool(&self, call: &ToolCallRequest<'_>) -> ToolDecision {
        match approved(&call.args.to_string()) {
            true => ToolDecision::Allow,
            false => ToolDecision::Deny("denied by the user".into()),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ModelConfig::ollama(std::env::var("OPENAI_BASE_URL")?, "gpt");
    let agent = Agent::from_config(model).with_tools(vec![Box::new(Deploy)]);
    let mut agent = agent.with_tool_middleware(Approval);
    let mut events = agent.prompt("Deploy everywhere.").await;
    while let Some(event) = events.recv().await {
        if let AgentEvent::MessageUpdate { delta: StreamDelta::Text { delta }, .. } = event {
            print!("{delta}");
        }
    }
    agent.finish().await;
    Ok(())
}
