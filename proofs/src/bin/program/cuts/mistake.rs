//! Planted mistakes that an agent could make when a stream breaks, and that the proof must notice.
//!
//! They wrap the product's provider or the tools of the proof.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt as _, stream};
use lariat_core::cancel::CancellationToken;
use lariat_core::content::ToolCall;
use lariat_core::message::StopReason;
use lariat_core::model::{ModelStream, ProviderError, StreamConfig, StreamEvent, StreamProvider};
use lariat_core::usage::Usage;
use lariat_model::ProviderRegistry;
use serde_json::Value;

use super::conversation::{Conversation, SentCall};

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Runs the calls of a broken reply whose arguments arrived whole.
    RunsBrokenReplies,
    /// Completes the arguments of a broken reply and runs the call.
    CompletesArguments,
    /// Sends an earlier request again after its calls ran.
    SendsAgain,
    /// Executes a call twice.
    RunsTwice,
    /// Loses a part of the arguments.
    CutsArguments,
    /// Begins again after a kill, as if the session had recorded nothing.
    StartsOver,
    /// Does not report to the model that a killed call may have happened.
    HidesUnknownOutcomes,
}

impl Mistake {
    pub(crate) const ALL: [Self; 7] = [
        Self::RunsBrokenReplies,
        Self::CompletesArguments,
        Self::SendsAgain,
        Self::RunsTwice,
        Self::CutsArguments,
        Self::StartsOver,
        Self::HidesUnknownOutcomes,
    ];

    /// A part of the fault that the proof must find.
    pub(crate) const fn trace(self) -> &'static str {
        match self {
            Self::RunsBrokenReplies | Self::CompletesArguments => "before it was complete",
            Self::SendsAgain | Self::StartsOver => "requested again after its call",
            Self::RunsTwice => "ran 2 times",
            Self::CutsArguments => " instead of ",
            Self::HidesUnknownOutcomes => "0 outcomes are reported as unknown",
        }
    }

    pub(crate) const fn is_of_the_provider(self) -> bool {
        matches!(self, Self::RunsBrokenReplies | Self::CompletesArguments | Self::SendsAgain)
    }

    /// Whether the mistake is about kills of the program.
    pub(crate) const fn is_about_kills(self) -> bool {
        matches!(self, Self::StartsOver | Self::HidesUnknownOutcomes)
    }
}

/// The product's provider with a mistake.
pub(crate) struct MistakenProvider {
    inner: ProviderRegistry,
    conversation: Arc<Conversation>,
    mistake: Mistake,
    first: Mutex<Option<StreamConfig>>,
}

impl MistakenProvider {
    pub(crate) const fn new(
        inner: ProviderRegistry,
        conversation: Arc<Conversation>,
        mistake: Mistake,
    ) -> Self {
        Self { inner, conversation, mistake, first: Mutex::new(None) }
    }
}

impl StreamProvider for MistakenProvider {
    fn provider_id(&self) -> &str {
        self.inner.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        if self.mistake == Mistake::SendsAgain {
            let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(earlier) = first.clone() else {
                *first = Some(request.clone());
                return self.inner.stream(request, cancel);
            };
            let again = self.inner.stream(earlier, cancel.clone()).filter(|_| std::future::ready(false));
            return Box::pin(again.chain(self.inner.stream(request, cancel)));
        }
        let (conversation, mistake) = (Arc::clone(&self.conversation), self.mistake);
        let mut arguments: BTreeMap<usize, String> = BTreeMap::new();
        let stream = self.inner.stream(request, cancel).flat_map(move |item| {
            if let Ok(StreamEvent::ToolCallDelta { index, delta }) = &item {
                arguments.entry(*index).or_default().push_str(delta);
            }
            let items = match item {
                Err(error) => invented(error, &arguments, &conversation, mistake),
                Ok(event) => vec![Ok(event)],
            };
            stream::iter(items)
        });
        Box::pin(stream)
    }
}

/// The end of a broken reply: its calls, and that it is complete. Without a call, the error.
fn invented(
    error: ProviderError,
    arguments: &BTreeMap<usize, String>,
    conversation: &Conversation,
    mistake: Mistake,
) -> Vec<Result<StreamEvent, ProviderError>> {
    let last: Vec<SentCall> = {
        let observed = conversation.observed();
        let of = |call: &SentCall| (call.stage, call.attempt);
        let newest = observed.sent.last().map(of);
        observed.sent.iter().filter(|call| Some(of(call)) == newest).cloned().collect()
    };
    let mut items = Vec::new();
    for ((index, text), sent) in arguments.iter().zip(last) {
        let parsed: Option<Value> = match (serde_json::from_str(text), mistake) {
            (Ok(whole), Mistake::RunsBrokenReplies) => Some(whole),
            (Err(_), Mistake::CompletesArguments) => serde_json::from_str(&format!("{text}\"}}")).ok(),
            _ => None,
        };
        if let Some(parsed) = parsed {
            let call = ToolCall {
                id: sent.id.as_str().into(),
                name: sent.tool.to_owned(),
                arguments: parsed,
                signature: None,
            };
            items.push(Ok(StreamEvent::ToolCallEnd { index: *index, call }));
        }
    }
    if items.is_empty() {
        return vec![Err(error)];
    }
    items.push(Ok(StreamEvent::Done { stop_reason: StopReason::ToolUse, usage: Usage::default() }));
    items
}
