//! Asks a model one question outside any loop: for summaries and for judging.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use lariat_core::cancel::CancellationToken;
use lariat_core::clock::Clock;
use lariat_core::message::{AgentMessage, StopReason};
use lariat_core::model::{ModelConfig, StreamConfig, StreamEvent, StreamProvider};
use lariat_core::run::STALL_TIMEOUT;
use lariat_core::transcript::Transcript;
use lariat_core::usage::Usage;

/// A question to a model.
pub(crate) struct ModelQuestion<'a> {
    pub(crate) provider: &'a dyn StreamProvider,
    pub(crate) model: &'a Arc<ModelConfig>,
    /// Ends the wait for a model that sends nothing more, as in a run.
    pub(crate) clock: &'a dyn Clock,
    pub(crate) system_prompt: &'a str,
    pub(crate) prompt: String,
    pub(crate) max_tokens: u32,
}

impl ModelQuestion<'_> {
    /// Returns the model's whole reply and its cost. The reply is `None` if the model failed, was cut off, stalled or was
    /// cancelled.
    pub(crate) async fn ask(self, cancel: &CancellationToken) -> (Option<String>, Usage) {
        let Self { provider, model, clock, system_prompt, prompt, max_tokens } = self;
        let mut transcript = Transcript::new();
        if transcript.push_user(Arc::new(AgentMessage::user(prompt))).is_err() {
            return (None, Usage::default());
        }
        let mut request = StreamConfig::new(Arc::clone(model), transcript.window());
        request.system_prompt = system_prompt.into();
        request.max_tokens = Some(model.max_tokens.map_or(max_tokens, |own| own.min(max_tokens)));
        // The same request is never sent again.
        request.cache_config.enabled = false;
        let attempt = cancel.child_token();
        let mut stream = provider.stream(request, attempt.clone());
        let mut text = String::new();
        let mut cancelled = cancel.cancelled();
        let mut quiet_until = clock.now().after(STALL_TIMEOUT);
        let mut timer = clock.sleep_until(quiet_until);
        loop {
            let next = match select(stream.next(), select(&mut cancelled, &mut timer)).await {
                Either::Left((next, _)) => next,
                Either::Right((Either::Left(_), _)) => return (None, Usage::default()),
                Either::Right((Either::Right(_), _)) => {
                    if clock.now() >= quiet_until {
                        attempt.cancel();
                        return (None, Usage::default());
                    }
                    timer = clock.sleep_until(quiet_until);
                    continue;
                }
            };
            quiet_until = clock.now().after(STALL_TIMEOUT);
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
}
