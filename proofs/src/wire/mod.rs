//! Proofs of the model crate: tests its protocols with the bytes of the scripted server.
//!
//! [`corpus`] makes streams, [`splits`] feeds them in all splits; [`histories`] builds requests from random
//! histories, [`compactions`] compacts them. Called by `cargo xtask sse` and its siblings, and, on a small
//! scale, by tests. Connects both sides: the server's [`Wire`] and the client's [`Protocol`].

pub mod compactions;
pub mod corpus;
pub mod faults;
pub mod fuzz;
pub mod histories;
pub mod prefix;
pub mod splits;

use std::sync::Arc;

use lariat_core::model::{ModelConfig, StreamConfig};
use lariat_core::transcript::Transcript;
use lariat_model::{ApiProtocol, Protocol};

use crate::server::Wire;

/// The client's protocol for a server's wire.
pub fn protocol(wire: Wire) -> &'static dyn Protocol {
    api(wire).implementation()
}

/// The name of the protocol for a server's wire.
pub const fn api(wire: Wire) -> ApiProtocol {
    match wire {
        Wire::AnthropicMessages => ApiProtocol::AnthropicMessages,
        Wire::OpenAiChat => ApiProtocol::OpenAiChat,
        Wire::OpenAiResponses => ApiProtocol::OpenAiResponses,
        Wire::AzureResponses => ApiProtocol::AzureResponses,
        Wire::Gemini => ApiProtocol::GoogleGemini,
        Wire::Vertex => ApiProtocol::GoogleVertex,
        Wire::BedrockConverse => ApiProtocol::BedrockConverse,
    }
}

/// A model of the provider behind a wire, as a configuration would name it, with the address of the scripted
/// server.
pub fn model(wire: Wire, base_url: &str) -> ModelConfig {
    let (provider, id) = match wire {
        Wire::AnthropicMessages => ("anthropic", "claude-sonnet-4-5"),
        Wire::OpenAiChat => ("openai", "gpt-5"),
        Wire::OpenAiResponses => ("openai", "gpt-5"),
        Wire::AzureResponses => ("azure", "gpt-5"),
        Wire::Gemini => ("google", "gemini-2.5-pro"),
        Wire::Vertex => ("google-vertex", "gemini-2.5-pro"),
        Wire::BedrockConverse => ("amazon-bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
    };
    let mut model =
        ModelConfig::new(api(wire).as_str(), id).with_base_url(base_url).with_api_key("test-key-123");
    model.provider = provider.to_owned();
    model.reasoning = true;
    model.compat = match wire {
        Wire::Vertex => serde_json::json!({"project": "p", "region": "us-central1"}),
        Wire::BedrockConverse => serde_json::json!({"region": "us-east-1"}),
        _ => serde_json::Value::Null,
    };
    model
}

/// A request with one short prompt.
pub fn request(wire: Wire, base_url: &str) -> StreamConfig {
    let (transcript, _) = Transcript::repair([Arc::new("hello".into())]);
    StreamConfig::new(Arc::new(model(wire, base_url)), transcript.window())
}
