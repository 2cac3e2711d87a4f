//! An actor works, a critic judges, and its feedback goes back: `cargo run -p lariat --example actor_critic`.

use lariat::Agent;
use lariat_test::{Reply, ScriptedModel};

/// What the critic decides.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Decision {
    is_done: bool,
    /// What is wrong or missing; a summary if the task is done.
    words: String,
}

const TASK: &str = "What is 17 * 23?";
const ITERATIONS: usize = 5;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Stand in for real models. A real actor has tools, and a real critic can read what they changed.
    let answers = [Reply::text("17 * 23 = 381"), Reply::text("17 * 23 = 391")];
    let decisions = [
        Reply::text(r#"{"is_done": false, "words": "7 * 3 is 21, so carry the 2."}"#),
        Reply::text(r#"{"is_done": true, "words": "17 * 23 is 391."}"#),
    ];
    let actor = Agent::builder().model(ScriptedModel::new(answers)).build()?;
    let critic = Agent::builder().model(ScriptedModel::new(decisions)).build()?;
    let mut prompt = TASK.to_owned();
    for iteration in 1..=ITERATIONS {
        let answer = actor.run(prompt).await?.text;
        let review = critic.run_typed::<Decision>(format!("Task: {TASK}\nAnswer: {answer}")).await?;
        let Decision { is_done, words } = review.value;
        println!("{iteration}: {answer}\n   {words}");
        if is_done {
            break;
        }
        prompt = words;
    }
    Ok(())
}
