//! A tool call of a client: it runs in a task of its own, and asks and reports through channels.
//!
//! A stateless client answers a question with a second request. The call waits for it in [`WaitingCalls`], with a deadline.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::{ServedCall, ServedTools};
use crate::mcp::content::McpToolCallResult;

/// How long a call waits for the answer of a user. Then the call is cancelled.
pub(super) const ANSWER_WAIT: Duration = Duration::from_secs(10 * 60);
/// How many reports of progress wait to be sent; further ones are dropped.
const REPORTS: usize = 16;

/// The answer of a client's user to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientAnswer {
    /// The user agreed.
    Approved,
    /// The user declined, or closed the question.
    Declined,
    /// The client cannot ask its user.
    Unavailable,
}

/// What a tool call can do with the client that made it.
#[derive(Clone, Debug)]
pub struct CallClient {
    questions: Option<mpsc::Sender<ClientQuestion>>,
    reports: mpsc::Sender<String>,
}

impl CallClient {
    /// Asks the user of the client to agree to something. Waits for the answer.
    pub async fn ask(&self, text: impl Into<String>) -> ClientAnswer {
        let Some(questions) = &self.questions else { return ClientAnswer::Unavailable };
        let (answer, answered) = oneshot::channel();
        if questions.send(ClientQuestion { text: text.into(), answer }).await.is_err() {
            return ClientAnswer::Unavailable;
        }
        answered.await.unwrap_or(ClientAnswer::Unavailable)
    }

    /// Tells the client what the tool does at the moment.
    pub fn report(&self, text: impl Into<String>) {
        let _ = self.reports.try_send(text.into());
    }
}

/// A question that waits for its answer.
pub(super) struct ClientQuestion {
    pub(super) text: String,
    pub(super) answer: oneshot::Sender<ClientAnswer>,
}

/// A call that runs. Dropping it cancels the call.
pub(super) struct RunningClientCall {
    call: ServedCall,
    pub(super) task: JoinHandle<McpToolCallResult>,
    pub(super) questions: mpsc::Receiver<ClientQuestion>,
    pub(super) reports: mpsc::Receiver<String>,
    /// Counts against the maximum number of calls until the call ends.
    _permit: OwnedSemaphorePermit,
}

impl RunningClientCall {
    /// Starts a call. `can_ask` tells whether the client can ask its user.
    pub(super) fn start(
        tools: Arc<dyn ServedTools>,
        call: ServedCall,
        can_ask: bool,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let (ask, questions) = mpsc::channel(1);
        let (report, reports) = mpsc::channel(REPORTS);
        let client = CallClient { questions: can_ask.then_some(ask), reports: report };
        let own = call.clone();
        let task = tokio::spawn(async move { tools.call(own, client).await });
        Self { call, task, questions, reports, _permit: permit }
    }
}

impl Drop for RunningClientCall {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The calls whose clients were asked, by the state that the client repeats with its answer. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct WaitingCalls(Arc<Mutex<CallsByState>>);

/// The calls, each with the way to give it its answer.
type CallsByState = HashMap<String, (RunningClientCall, oneshot::Sender<ClientAnswer>)>;

impl WaitingCalls {
    fn with<T>(&self, act: impl FnOnce(&mut CallsByState) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps a call until its answer arrives. Returns the state with which the client finds it again.
    pub(super) fn put(&self, call: RunningClientCall, answer: oneshot::Sender<ClientAnswer>) -> String {
        let state = Uuid::new_v4().simple().to_string();
        self.with(|waiting| waiting.insert(state.clone(), (call, answer)));
        let (calls, expired) = (self.clone(), state.clone());
        tokio::spawn(async move {
            tokio::time::sleep(ANSWER_WAIT).await;
            calls.with(|waiting| waiting.remove(&expired));
        });
        state
    }

    /// Gives a call its answer and returns it. `None` if no call waits in this state, or if it is another call than the one
    /// that the client repeats.
    pub(super) fn answer(
        &self,
        state: &str,
        repeated: &ServedCall,
        answer: ClientAnswer,
    ) -> Option<RunningClientCall> {
        let (call, sender) = self.with(|waiting| {
            let is_same = waiting.get(state).is_some_and(|(call, _)| call.call == *repeated);
            is_same.then(|| waiting.remove(state)).flatten()
        })?;
        let _ = sender.send(answer);
        Some(call)
    }
}

/// Reads the answer that a client returns for a question: agreement needs the field `allow` to be true.
pub(super) fn answer_of(action: &str, content: Option<&Value>) -> ClientAnswer {
    let is_allowed = content.and_then(|content| content.get("allow")) == Some(&Value::Bool(true));
    if action == "accept" && is_allowed { ClientAnswer::Approved } else { ClientAnswer::Declined }
}
