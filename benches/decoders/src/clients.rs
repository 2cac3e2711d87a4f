//! The clients under comparison. Each reads the reply at one address to its end, through its own API.

use std::sync::{Arc, OnceLock};

use futures::StreamExt;
use lariat_core::cancel::CancellationToken;
use lariat_core::model::{StreamEvent, StreamProvider};
use lariat_model::http::{HttpClient, HttpProvider};
use lariat_proofs::server::Wire;
use rig_core::completion::CompletionRequest;
use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::gemini::GeminiConfig;
use rig_core::providers::openai::OpenAIConfig;
use yoagent::provider::{
    AnthropicProvider, ApiProtocol, BedrockProvider, GoogleProvider, ModelConfig, OpenAiCompatProvider,
    OpenAiResponsesProvider, StreamConfig as YoRequest, StreamProvider as YoProvider,
};

/// A client library that reads a streamed reply.
#[derive(Clone, Copy)]
pub enum Client {
    Ours,
    Yoagent,
    Rig,
}

impl Client {
    pub const ALL: [Self; 3] = [Self::Ours, Self::Yoagent, Self::Rig];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "lariat-model",
            Self::Yoagent => "yoagent",
            Self::Rig => "rig-core",
        }
    }

    /// Returns the number of events the client produced, or the reason why it cannot be measured.
    pub async fn read(self, wire: &str, url: &str) -> Result<usize, String> {
        match self {
            Self::Ours => ours(wire, url).await,
            Self::Yoagent => yoagent(wire, url).await,
            Self::Rig => rig(wire, url).await,
        }
    }
}

async fn ours(wire: &str, url: &str) -> Result<usize, String> {
    static CLIENT: OnceLock<Arc<HttpClient>> = OnceLock::new();
    let wire = Wire::ALL.into_iter().find(|known| known.name() == wire).ok_or("unknown protocol")?;
    let client = Arc::clone(CLIENT.get_or_init(Arc::default));
    let provider = HttpProvider::new(lariat_proofs::wire::protocol(wire), client);
    let mut stream = provider.stream(lariat_proofs::wire::request(wire, url), CancellationToken::new());
    let (mut events, mut done) = (0, false);
    while let Some(event) = stream.next().await {
        done = matches!(event.map_err(|error| error.to_string())?, StreamEvent::Done { .. });
        events += 1;
    }
    if done { Ok(events) } else { Err("the reply was not complete".to_owned()) }
}

async fn yoagent(wire: &str, url: &str) -> Result<usize, String> {
    let (api, provider): (_, Box<dyn YoProvider>) = match wire {
        "anthropic" => (ApiProtocol::AnthropicMessages, Box::new(AnthropicProvider)),
        "chat" => (ApiProtocol::OpenAiCompletions, Box::new(OpenAiCompatProvider)),
        "responses" => (ApiProtocol::OpenAiResponses, Box::new(OpenAiResponsesProvider)),
        "gemini" => (ApiProtocol::GoogleGenerativeAi, Box::new(GoogleProvider)),
        "bedrock" => (ApiProtocol::BedrockConverseStream, Box::new(BedrockProvider)),
        _ => return Err("unknown protocol".to_owned()),
    };
    let mut request = YoRequest::new("m-1", "test-key-123");
    request.messages = vec![yoagent::types::Message::user("hello")];
    request.model_config = Some(ModelConfig::custom(api, "local", url, "m-1", "m-1"));
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let streamed = provider.stream(request, sender, tokio_util::sync::CancellationToken::new());
    let counted = async {
        let mut events = 0;
        while receiver.recv().await.is_some() {
            events += 1;
        }
        events
    };
    let (reply, events) = futures::join!(streamed, counted);
    reply.map(|_| events).map_err(|error| error.to_string())
}

async fn rig(wire: &str, url: &str) -> Result<usize, String> {
    let request = CompletionRequest::new("hello");
    macro_rules! count {
        ($model:expr) => {{
            let mut stream = $model.stream(request).map_err(|error| error.to_string())?;
            let mut events = 0;
            while let Some(event) = stream.next().await {
                event.map_err(|error| error.to_string())?;
                events += 1;
            }
            Ok(events)
        }};
    }
    match wire {
        "anthropic" => {
            count!(AnthropicConfig::new("key").with_base_url(url).client().completion("claude-sonnet-4-5"))
        }
        "chat" => count!(OpenAIConfig::new("key").with_base_url(url).client().chat("gpt-5")),
        "responses" => count!(OpenAIConfig::new("key").with_base_url(url).client().responses("gpt-5")),
        "gemini" => count!(GeminiConfig::new("key").with_base_url(url).client().completion("gemini-2.5-pro")),
        "bedrock" => {
            Err("this crate does not support Bedrock (a separate crate, built on the AWS SDK, does)"
                .to_owned())
        }
        _ => Err("unknown protocol".to_owned()),
    }
}
