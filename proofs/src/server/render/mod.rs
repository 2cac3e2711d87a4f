//! Renders a scripted turn as the bytes of each protocol: streamed, whole, or failed.
//!
//! Pure: no socket, no clock, no randomness. Each protocol has its own module.
//! Invariant: the concatenated frames of a stream are exactly the body that the real API would send for the
//! turn; each frame is one whole server-sent event with its blank line, or one whole binary message.

mod anthropic;
mod bedrock;
mod chat;
mod error;
mod event_stream;
mod frame;
mod gemini;
mod models;
mod pieces;
mod responses;

pub(crate) use error::open_ai as open_ai_error;
pub use error::{ApiError, error, error_headers, overflow, stream_error};
pub use event_stream::{
    Headers as EventStreamHeaders, message as event_stream_message, parse as parse_event_stream,
};
pub use models::{MODELS, models};

use super::{Turn, Wire};

/// The body of a streamed reply, frame by frame.
#[must_use]
pub fn stream(wire: Wire, turn: &Turn) -> Vec<Vec<u8>> {
    match wire {
        Wire::AnthropicMessages => anthropic::stream(turn),
        Wire::OpenAiChat => chat::stream(turn),
        Wire::OpenAiResponses | Wire::AzureResponses => responses::stream(turn),
        Wire::Gemini | Wire::Vertex => gemini::stream(wire, turn),
        Wire::BedrockConverse => bedrock::stream(turn),
    }
}

/// The body of a reply that is not streamed.
#[must_use]
pub fn whole(wire: Wire, turn: &Turn) -> Vec<u8> {
    let body = match wire {
        Wire::AnthropicMessages => anthropic::whole(turn),
        Wire::OpenAiChat => chat::whole(turn),
        Wire::OpenAiResponses | Wire::AzureResponses => responses::whole(turn),
        Wire::Gemini | Wire::Vertex => gemini::whole(wire, turn),
        Wire::BedrockConverse => bedrock::whole(turn),
    };
    body.to_string().into_bytes()
}

/// The content type of a streamed reply.
#[must_use]
pub const fn content_type(wire: Wire) -> &'static str {
    match wire {
        Wire::BedrockConverse => "application/vnd.amazon.eventstream",
        Wire::AnthropicMessages | Wire::OpenAiResponses | Wire::AzureResponses => {
            "text/event-stream; charset=utf-8"
        }
        Wire::OpenAiChat | Wire::Gemini | Wire::Vertex => "text/event-stream",
    }
}

#[cfg(test)]
mod tests;
