//! Intercepts tool calls and prompts: `cargo run -p lariat --example hooks`.

use lariat::hooks::FilterResult;
use lariat::message::ToolCallId;
use lariat::serde_json::{Value, json};
use lariat::{Agent, AllowAll, Flow, FunctionTool, Hooks, InputFilter, ToolContext};
use lariat_test::{Reply, ScriptedModel};

/// Blocks every deployment.
struct NoDeploys;

impl Hooks for NoDeploys {
    fn before_tool_execution(&self, tool: &str, _: &ToolCallId, arguments: &Value) -> Flow {
        println!("hook: {tool} {arguments}");
        if tool == "deploy" { Flow::Stop } else { Flow::Continue }
    }
}

/// Rejects prompts that contain a card number, before they reach a provider.
struct NoCardNumbers;

impl InputFilter for NoCardNumbers {
    fn filter(&self, message: &lariat::AgentMessage) -> FilterResult {
        let text = message.as_llm().map(|message| message.text()).unwrap_or_default();
        let digits = text.chars().filter(char::is_ascii_digit).count();
        if digits < 12 {
            FilterResult::Pass
        } else {
            FilterResult::Reject("the prompt contains a card number".to_owned())
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = [Reply::tool_call("call-1", "deploy", json!({})), Reply::text("Then on Monday.")];
    let tool =
        FunctionTool::new("deploy", "Deploys.", |(): (), _: ToolContext| async { Ok::<_, String>(()) });
    let agent = Agent::builder().model(ScriptedModel::new(script)).tool(tool).permission_policy(AllowAll);
    let agent = agent.hooks(NoDeploys).input_filter(NoCardNumbers).build()?;
    println!("{}", agent.run("Deploy.").await?.text);
    println!("{:?}", agent.run("Pay with 4111 1111 1111 1111.").await?.outcome);
    Ok(())
}
