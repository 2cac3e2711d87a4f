//! Proofs of the model crate: its protocols against the renderings of the scripted server.
//!
//! [`corpus`] makes streams, [`splits`] feeds them cut in every way; [`histories`] builds requests of random histories,
//! [`compactions`] compacts them. Called by `cargo xtask sse` and its siblings, and in
//! small by tests. Knows both sides: the server's [`Wire`] and the client's [`Protocol`].

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

/// The client's protocol that speaks to a server's wire.
pub fn protocol(wire: Wire) -> &'static dyn Protocol {
    api(wire).implementation()
}

/// The name of the protocol that speaks to a server's wire.
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

/// A model of the service behind a wire, as a configuration would name it. The address is the scripted server's.
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

/// A request of one short prompt.
pub fn request(wire: Wire, base_url: &str) -> StreamConfig {
    let (transcript, _) = Transcript::repaired([Arc::new("hello".into())]);
    StreamConfig::new(Arc::new(model(wire, base_url)), transcript.window())
}
