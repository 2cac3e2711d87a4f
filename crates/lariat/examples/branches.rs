//! Two agents answer at the same time, and a check selects: `cargo run -p lariat --example branches`.

use std::sync::Arc;

use lariat::run::{CheckEvaluation, CheckResult};
use lariat::{Agent, BuildError};
use lariat_test::{Reply, ScriptedModel};

/// Stands in for a real model.
fn agent(name: &str, answer: &str) -> Result<Agent, BuildError> {
    Agent::builder().model(ScriptedModel::new([Reply::text(answer)])).config_id(name).build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let branches = [agent("quick", "17 * 23 = 381")?, agent("careful", "17 * 23 = 391")?];
    // A check could run your tests. Here it calculates.
    let check = CheckEvaluation::new(|branch, _| {
        let text = branch.text();
        let is_right = text.ends_with(&(17 * 23).to_string());
        let result =
            if is_right { CheckResult::passed(text.len() as u64) } else { CheckResult::failed("wrong") };
        Box::pin(std::future::ready(result))
    });
    let session = agent("session", "unused")?;
    let output = session.run_branches("What is 17 * 23?", &branches, Arc::new(check)).await?;
    println!("{} (from {})", output.text, output.loop_id);
    println!("The conversation continues with {} messages.", session.messages().len());
    Ok(())
}
