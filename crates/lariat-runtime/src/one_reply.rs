//! Asks a model one question outside any loop: for summaries and for judging.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use lariat_core::cancel::CancellationToken;
use lariat_core::message::{AgentMessage, StopReason};
use lariat_core::model::{ModelConfig, StreamConfig, StreamEvent, StreamProvider};
use lariat_core::transcript::Transcript;
use lariat_core::usage::Usage;

/// Returns the model's whole reply and its cost. The reply is `None` if the model failed, was cut off or was cancelled.
pub(crate) async fn one_reply(
    provider: &dyn StreamProvider,
    model: &Arc<ModelConfig>,
    system_prompt: &str,
    prompt: String,
    max_tokens: u32,
    cancel: &CancellationToken,
) -> (Option<String>, Usage) {
    let mut transcript = Transcript::new();
    if transcript.push_user(Arc::new(AgentMessage::user(prompt))).is_err() {
        return (None, Usage::default());
    }
    let mut request = StreamConfig::new(Arc::clone(model), transcript.window());
    request.system_prompt = system_prompt.into();
    request.max_tokens = Some(model.max_tokens.map_or(max_tokens, |own| own.min(max_tokens)));
    // The same request is never sent again.
    request.cache_config.enabled = false;
    let mut stream = provider.stream(request, cancel.child_token());
    let mut text = String::new();
    let mut cancelled = cancel.cancelled();
    loop {
        let next = match select(stream.next(), &mut cancelled).await {
            Either::Left((next, _)) => next,
            Either::Right(_) => return (None, Usage::default()),
        };
        match next {
            Some(Ok(StreamEvent::TextDelta { delta, .. })) => text.push_str(&delta),
            Some(Ok(StreamEvent::Done { stop_reason: StopReason::Stop, usage })) => {
                return (Some(text), usage);
            }
            // A reply that was cut off lacks its end, which matters most.
            Some(Ok(StreamEvent::Done { usage, .. })) => return (None, usage),
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return (None, Usage::default()),
        }
    }
}
