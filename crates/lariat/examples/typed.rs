//! An answer as a Rust type: `cargo run -p lariat --example typed`.

use lariat::Agent;
use lariat_test::{Reply, ScriptedModel};

/// The result of a review.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Review {
    verdict: Verdict,
    /// From 1 to 5.
    #[schemars(range(min = 1, max = 5))]
    stars: u8,
    remarks: Vec<String>,
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
enum Verdict {
    Merge,
    Change,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Stands in for a provider: its first answer has too many stars.
    let script = [
        Reply::text(r#"{"verdict": "Merge", "stars": 9, "remarks": []}"#),
        Reply::text(r#"{"verdict": "Merge", "stars": 5, "remarks": ["A test would be nice."]}"#),
    ];
    let agent = Agent::builder().model(ScriptedModel::new(script)).build()?;
    let typed = agent.run_typed::<Review>("Review the last commit.").await?;
    for message in typed.output.messages.iter().filter_map(|message| message.as_user()) {
        println!("user: {}", message.content.iter().filter_map(lariat::Content::as_text).collect::<String>());
    }
    let Review { verdict, stars, remarks } = typed.value;
    println!("{verdict:?} with {stars} stars after {} attempts: {remarks:?}", typed.tries);
    Ok(())
}
