//! Asking services to count: what is sent is what they take, and what they answer is understood.

use std::sync::Arc;

use lariat_core::model::{ModelConfig, StreamConfig, StreamProvider, ThinkingLevel};
use lariat_core::tool::ToolDefinition;
use lariat_model::ProviderRegistry;
use lariat_testkit::server::{Script, Server, Turn, Wire};
use lariat_testkit::wire::{protocol, request};
use serde_json::json;

/// A request with all that does and does not count.
fn asked(wire: Wire, server: &Server) -> StreamConfig {
    let mut asked = request(wire, &server.base_url(wire));
    asked.system_prompt = "You count.".into();
    asked.thinking_level = ThinkingLevel::Low;
    asked.temperature = Some(1.0);
    asked.max_tokens = Some(9_000);
    let parameters =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let tool =
        ToolDefinition { name: "read".to_owned(), description: "Reads a file.".to_owned(), parameters };
    asked.tools = Arc::from([tool]);
    asked
}

const COUNTING: [Wire; 5] =
    [Wire::AnthropicMessages, Wire::OpenAiResponses, Wire::Gemini, Wire::Vertex, Wire::BedrockConverse];

#[tokio::test]
async fn every_service_that_counts_is_asked_for_what_it_takes_and_understood() {
    let server = Server::start(Script::queue([Turn::new()]).counting(|_| 4_321)).await.unwrap();
    for wire in COUNTING {
        let counted = ProviderRegistry::default().count_tokens(asked(wire, &server)).await;
        let problems = server.requests().last().map(|request| request.problems.clone());
        assert_eq!(counted.unwrap(), Some(4_321), "{wire}: {problems:?}");
    }
    assert_eq!(server.requests().len(), COUNTING.len());
}

#[tokio::test]
async fn services_that_cannot_count_are_not_asked() {
    let server = Server::start(Script::queue([Turn::new()])).await.unwrap();
    for wire in [Wire::OpenAiChat, Wire::AzureResponses] {
        let counted = ProviderRegistry::default().count_tokens(asked(wire, &server)).await;
        assert_eq!(counted.unwrap(), None, "{wire}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_service_that_refuses_to_count_is_an_error() {
    let server = Server::start(Script::queue([Turn::new()])).await.unwrap();
    let mut asked = asked(Wire::AnthropicMessages, &server);
    let mut model = ModelConfig::clone(&asked.model_config);
    model.base_url.push_str("/nowhere");
    asked.model_config = Arc::new(model);
    let counted = ProviderRegistry::default().count_tokens(asked).await;
    assert!(counted.is_err(), "{counted:?}");
    assert!(protocol(Wire::AnthropicMessages).counted(b"{}").is_err());
}
