//! The connection to the editor: sends messages in order and matches responses with our requests.
//!
//! The queue of outgoing lines is bounded. While the editor does not read, senders wait, and so do the logs behind them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use lariat_core::id::SessionId;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::wire::draft::{self, Activity};
use crate::wire::{Protocol, RpcError, Update, request_line, response_line};

/// Maximum number of messages that wait for the editor to read them.
pub(crate) const MAX_WAITING: usize = 256;

/// The sending side of the connection. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Connection(Arc<Inner>);

struct Inner {
    lines: mpsc::Sender<String>,
    /// Our requests without a response. Each belongs to a question of a session or to a tool call that runs, which bounds
    /// their number; an editor that does not answer about files is not asked about more.
    waiting: Mutex<HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>>,
    next_id: AtomicU64,
    /// Chosen by `initialize`.
    protocol: OnceLock<Protocol>,
}

/// A request to the editor.
pub(crate) struct SentRequest {
    /// Its id.
    pub(crate) id: u64,
    /// Its response; an error without one if the connection ended or the request was withdrawn.
    pub(crate) response: oneshot::Receiver<Result<Value, RpcError>>,
}

impl Connection {
    /// Sends messages to the writer of these lines.
    pub(crate) fn new(lines: mpsc::Sender<String>) -> Self {
        let inner =
            Inner { lines, waiting: Mutex::default(), next_id: AtomicU64::new(1), protocol: OnceLock::new() };
        Self(Arc::new(inner))
    }

    /// Chooses the version of the protocol, once.
    pub(crate) fn set_protocol(&self, protocol: Protocol) {
        let _ = self.0.protocol.set(protocol);
    }

    /// The version of the protocol.
    pub(crate) fn protocol(&self) -> Protocol {
        self.0.protocol.get().copied().unwrap_or_default()
    }

    async fn send(&self, line: String) {
        // Without a writer the editor is gone, and `serve` ends.
        let _ = self.0.lines.send(line).await;
    }

    /// Answers a request of the editor.
    pub(crate) async fn respond(&self, id: &Value, result: Result<Value, RpcError>) {
        self.send(response_line(id, &result)).await;
    }

    /// Reports something that happened in a session.
    pub(crate) async fn update(&self, session_id: &SessionId, update: &Update) {
        match self.protocol() {
            Protocol::Stable => self.notify(session_id, json!(update)).await,
            Protocol::Draft => {
                if let Some(update) = draft::update(update) {
                    self.notify(session_id, update).await;
                }
            }
        }
    }

    /// Reports what a session does. Version 1 says it with the response to a prompt.
    pub(crate) async fn state(&self, session_id: &SessionId, activity: &Activity) {
        if self.protocol() == Protocol::Draft {
            self.notify(session_id, draft::state(activity)).await;
        }
    }

    async fn notify(&self, session_id: &SessionId, update: Value) {
        let params = json!({ "sessionId": session_id.as_str(), "update": update });
        self.send(request_line(None, "session/update", &params)).await;
    }

    /// Sends a request.
    pub(crate) async fn request(&self, method: &str, params: &impl Serialize) -> SentRequest {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, response) = oneshot::channel();
        self.waiting().insert(id, sender);
        self.send(request_line(Some(id), method, params)).await;
        SentRequest { id, response }
    }

    /// Withdraws a request: the editor closes its dialog, and a later response is ignored.
    pub(crate) async fn withdraw(&self, id: u64) {
        let waited = self.waiting().remove(&id).is_some();
        if waited {
            self.send(request_line(None, "$/cancel_request", &json!({ "requestId": id }))).await;
        }
    }

    /// Delivers a response of the editor. One that nothing waits for is ignored.
    pub(crate) fn resolve(&self, id: &Value, result: Result<Value, RpcError>) {
        if let Some(sender) = id.as_u64().and_then(|id| self.waiting().remove(&id)) {
            let _ = sender.send(result);
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
