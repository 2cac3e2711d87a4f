//! Stepping in with hooks: `cargo run -p lariat --example hooks`.

use lariat::serde_json::{Value, json};
use lariat::{Agent, AllowAll, FilterResult, FunctionTool, Hooks, InputFilter, ToolCallId, ToolContext};
use lariat_testkit::{Reply, ScriptedModel};

/// Nothing is deployed on a Friday.
struct Friday;

impl Hooks for Friday {
    fn before_tool_execution(&self, tool: &str, _: &ToolCallId, arguments: &Value) -> bool {
        println!("hook: {tool} {arguments}");
        tool != "deploy"
    }
}

/// Prompts with a card number are not sent anywhere.
struct NoCards;

impl InputFilter for NoCards {
    fn filter(&self, message: &lariat::AgentMessage) -> FilterResult {
        let text = message.as_llm().map(|message| message.text()).unwrap_or_default();
        let digits = text.chars().filter(char::is_ascii_digit).count();
        if digits < 12 { FilterResult::Pass } else { FilterResult::Reject("a card number".to_owned()) }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = [Reply::tool_call("call-1", "deploy", json!({})), Reply::text("Then on Monday.")];
    let tool =
        FunctionTool::new("deploy", "Deploys.", |(): (), _: ToolContext| async { Ok::<_, String>(()) });
    let agent = Agent::builder().model(ScriptedModel::new(script)).tool(tool).permission_policy(AllowAll);
    let agent = agent.hooks(Friday).input_filter(NoCards).build()?;
    println!("{}", agent.run("Deploy.").await?.text);
    println!("{:?}", agent.run("Pay with 4111 1111 1111 1111.").await?.outcome);
    Ok(())
}
