//! A model that plays a script and rejects what real APIs reject.
//!
//! It responds to an invalid request with an error, as an API does with HTTP 400, without consuming a reply
//! of the script.
//! Invariant: the same requests get the same replies, and every request is validated before the reply.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_core::cancel::CancellationToken;
use lariat_core::clock::Clock;
use lariat_core::model::{ModelConfig, ModelStream, ProviderError, StreamConfig, StreamProvider};

use super::checker::StrictChecker;
use super::reply::Reply;
use super::stream::{Pacing, ReplyStream, StreamContext};
use super::strict::Violation;

/// The model's reply after the end of its script.
const FINAL_WORDS: &str = "done";

/// A violation and the request it was found in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestViolation {
    /// Index of the request, from 0.
    pub request: usize,
    /// The rule that the request violates, and where.
    pub violation: Violation,
}

/// A strict model that follows a script.
///
/// ```
/// use lariat_test::{Reply, ScriptedModel};
/// use serde_json::json;
///
/// let model = ScriptedModel::new([
///     Reply::tool_call("c1", "read", json!({"path": "a.rs"})),
///     Reply::text("It says hello."),
/// ]);
/// assert_eq!(model.requests(), 0);
/// assert!(model.violations().is_empty());
/// ```
pub struct ScriptedModel {
    provider_id: String,
    clock: Option<Arc<dyn Clock>>,
    pacing: Pacing,
    finale: Reply,
    state: Mutex<ScriptState>,
}

type ReplyFn = Box<dyn FnMut(usize, &StreamConfig) -> Reply + Send>;

enum Script {
    List(VecDeque<Reply>),
    Function(ReplyFn),
}

struct ScriptState {
    script: Script,
    requests: usize,
    checker: StrictChecker,
    breaches: Vec<RequestViolation>,
    /// The requests themselves, if recording is enabled.
    recorded: Option<Vec<StreamConfig>>,
}

impl ScriptedModel {
    /// Creates a model that gives these replies in order.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::of(Script::List(replies.into_iter().collect()))
    }

    /// Creates a model that calls a function for every reply, with the index of the request from 0 and the
    /// request.
    pub fn from_fn(script: impl FnMut(usize, &StreamConfig) -> Reply + Send + 'static) -> Self {
        Self::of(Script::Function(Box::new(script)))
    }

    fn of(script: Script) -> Self {
        let state = ScriptState {
            script,
            requests: 0,
            checker: StrictChecker::new(),
            breaches: Vec::new(),
            recorded: None,
        };
        Self {
            provider_id: "scripted".to_owned(),
            clock: None,
            pacing: Pacing::Ready,
            finale: Reply::text(FINAL_WORDS),
            state: Mutex::new(state),
        }
    }

    /// Sets the clock for replies that wait.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Replaces the provider's id.
    pub fn with_provider_id(mut self, id: impl Into<String>) -> Self {
        self.provider_id = id.into();
        self
    }

    /// Replaces the reply after the end of the script.
    pub fn with_finale(mut self, reply: Reply) -> Self {
        self.finale = reply;
        self
    }

    /// Returns `Pending` once before every event.
    pub const fn with_yields(mut self) -> Self {
        self.pacing = Pacing::Yielding;
        self
    }

    /// Records every request, for [`Self::recorded_requests`].
    pub fn with_recording(self) -> Self {
        self.lock().recorded = Some(Vec::new());
        self
    }

    /// Number of requests so far, including rejected ones.
    pub fn requests(&self) -> usize {
        self.lock().requests
    }

    /// The requests so far, if recording is enabled.
    pub fn recorded_requests(&self) -> Vec<StreamConfig> {
        self.lock().recorded.clone().unwrap_or_default()
    }

    /// Everything that a real API would have rejected.
    pub fn violations(&self) -> Vec<RequestViolation> {
        self.lock().breaches.clone()
    }

    /// Appends replies to the script; has no effect on a function.
    pub fn extend(&self, replies: impl IntoIterator<Item = Reply>) {
        if let Script::List(list) = &mut self.lock().script {
            list.extend(replies);
        }
    }

    fn lock(&self) -> MutexGuard<'_, ScriptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: StreamConfig) -> Reply {
        let mut state = self.lock();
        let index = state.requests;
        state.requests += 1;
        let violations = state.checker.check(&request);
        let reply = if violations.is_empty() {
            match &mut state.script {
                Script::List(list) => list.pop_front().unwrap_or_else(|| self.finale.clone()),
                Script::Function(function) => function(index, &request),
            }
        } else {
            let reasons: Vec<String> = violations.iter().map(Violation::to_string).collect();
            let message = format!("HTTP 400: invalid_request_error: {}", reasons.join("; "));
            state.breaches.extend(
                violations.into_iter().map(|violation| RequestViolation { request: index, violation }),
            );
            Reply::error(ProviderError::Api(message.into()))
        };
        if let Some(recorded) = &mut state.recorded {
            recorded.push(request);
        }
        reply
    }
}

impl StreamProvider for ScriptedModel {
    fn provider_id(&self) -> &str {
        &self.provider_id
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        let model = Arc::clone(&request.model_config);
        let reply = self.answer(request);
        let setting = StreamContext { clock: self.clock.clone(), cancel, pacing: self.pacing };
        Box::pin(ReplyStream::new(reply, &model.id, setting))
    }

    /// Replies report the cost that the script says.
    fn reports_cost(&self, _: &ModelConfig) -> bool {
        true
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("ScriptedModel")
            .field("requests", &state.requests)
            .field("violations", &state.breaches.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "scripted_tests.rs"]
mod tests;
