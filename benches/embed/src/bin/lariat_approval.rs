//! Asks the user before a tool call runs.

use lariat::prelude::*;

fn approved(call: &str) -> bool {
    println!("approve {call}?");
    std::io::stdin().lines().next().is_some_and(|line| line.is_ok_and(|line| line == "y"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ModelConfig::local(std::env::var("OPENAI_BASE_URL")?, "gpt");
    let deploy = FunctionTool::new("deploy", "Deploys.", |(target,): (String,), _| async move {
        Ok::<_, String>(format!("deployed to {target}"))
    });
    let agent = Agent::builder().model(model).tool(deploy.names(["target"]));
    let agent = agent.approve_with(|request| async move {
        match approved(&request.summary) {
            true => PermissionDecision::Allow,
            false => PermissionDecision::Deny { reason: None },
        }
    });
    println!("{}", agent.build()?.run("Deploy everywhere.").await?.text);
    Ok(())
}
