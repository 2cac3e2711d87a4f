//! Tests token counting by providers: the request must be accepted and the response understood.

use std::sync::Arc;

use lariat_core::model::{ModelConfig, StreamConfig, StreamProvider, ThinkingLevel};
use lariat_core::tool::ToolDefinition;
use lariat_model::ProviderRegistry;
use lariat_proofs::server::{Script, Server, Turn, Wire};
use lariat_proofs::wire::{protocol, request};
use serde_json::json;

/// A request with settings that affect the token count and some that do not.
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
async fn counts_tokens_with_every_provider_that_can() {
    let server = Server::start(Script::queue([Turn::new()]).counting(|_| 4_321)).await.unwrap();
    for wire in COUNTING {
        let counted = ProviderRegistry::default().count_tokens(asked(wire, &server)).await;
        let problems = server.requests().last().map(|request| request.problems.clone());
        assert_eq!(counted.unwrap(), Some(4_321), "{wire}: {problems:?}");
    }
    assert_eq!(server.requests().len(), COUNTING.len());
}

#[tokio::test]
async fn providers_that_cannot_count_get_no_request() {
    let server = Server::start(Script::queue([Turn::new()])).await.unwrap();
    for wire in [Wire::OpenAiChat, Wire::AzureResponses] {
        let counted = ProviderRegistry::default().count_tokens(asked(wire, &server)).await;
        assert_eq!(counted.unwrap(), None, "{wire}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn rejected_count_request_is_an_error() {
    let server = Server::start(Script::queue([Turn::new()])).await.unwrap();
    let mut asked = asked(Wire::AnthropicMessages, &server);
    let mut model = ModelConfig::clone(&asked.model_config);
    model.base_url.push_str("/nowhere");
    asked.model_config = Arc::new(model);
    let counted = ProviderRegistry::default().count_tokens(asked).await;
    assert!(counted.is_err(), "{counted:?}");
    assert!(protocol(Wire::AnthropicMessages).parse_count(b"{}").is_err());
}
