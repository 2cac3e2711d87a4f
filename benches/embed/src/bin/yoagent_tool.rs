//! Lets the model call a tool.

use serde_json::{Value, json};
use yoagent::provider::ModelConfig;
use yoagent::*;

struct Add;

#[async_trait::async_trait]
impl AgentTool for Add {
    fn name(&self) -> &str {
        "add"
    }
    fn label(&self) -> &str {
        "Add"
    }
    fn description(&self) -> &str {
        "Adds two numbers."
    }
    fn parameters_schema(&self) -> Value {
        let number = json!({"type": "integer"});
        json!({"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]})
    }
    async fn execute(&self, params: Value, _: ToolContext) -> Result<ToolResult, ToolError> {
        let number = |name| params[name].as_i64().ok_or(ToolError::InvalidArgs(format!("missing {name}")));
        let text = (number("a")? + number("b")?).to_string();
        Ok(ToolResult { content: vec![Content::Text { text }], details: Value::Null })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ModelConfig::ollama(std::env::var("OPENAI_BASE_URL")?, "gpt");
    let mut agent = Agent::from_config(model).with_tools(vec![Box::new(Add)]);
    let mut events = agent.prompt("What is 20 + 22?").await;
    while let Some(event) = events.recv().await {
        if let AgentEvent::MessageUpdate { delta: StreamDelta::Text { delta }, .. } = event {
            print!("{delta}");
        }
    }
    agent.finish().await;
    Ok(())
}
