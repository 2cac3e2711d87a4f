//! Runs an agent on a model of the catalogue, over HTTP.

use lariat::prelude::*;
use lariat_proofs::server::{Script, Server, Turn, Wire};

#[tokio::test]
async fn agent_runs_on_a_model_of_the_catalogue() {
    let server = Server::start(Script::queue([Turn::new().text("Hello, Ada.")])).await.unwrap();
    let model = ModelConfig::find("anthropic/claude-sonnet-4-5")
        .unwrap()
        .with_base_url(server.base_url(Wire::AnthropicMessages))
        .with_api_key("a-key-that-never-shows");
    assert!(model.cost.is_some());
    let agent = Agent::builder().model(model).build().unwrap();
    assert_eq!(agent.run("Hi, I am Ada.").await.unwrap().text, "Hello, Ada.");
}
