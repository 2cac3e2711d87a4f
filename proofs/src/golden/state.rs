//! Computes the state of a session from its events, as short hashes, one for each part.

use std::fmt;

use lariat_core::archive::{SessionArchive, SessionSummary};
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::session::{ClientState, Session, SessionFold};
use lariat_store::content;
use serde::Serialize;
use serde_json::{Value, json};

/// Hexadecimal digits of a hash: enough to notice a difference, few enough for a file of 500 lines.
const DIGITS: usize = 12;

/// The state of a session. Two sessions are equal if all parts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionState {
    events: u64,
    /// The name of each part and its hash.
    parts: Vec<(&'static str, String)>,
}

impl fmt::Display for SessionState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.events)?;
        self.parts.iter().try_for_each(|(name, hash)| write!(formatter, " {name}={hash}"))
    }
}

impl SessionState {
    /// Reads a session and folds its events.
    pub(super) async fn read(store: &dyn SessionArchive, id: &SessionId) -> Result<Self, String> {
        let failed = |error: lariat_core::store::StoreError| format!("{id}: {error}");
        let events = store.read(id, 0, usize::MAX).await.map_err(failed)?;
        let summary = store.summary(id).await.map_err(failed)?;
        Ok(Self::of(&events, &summary))
    }

    fn of(events: &[Event], summary: &SessionSummary) -> Self {
        let fold = SessionFold::of(events);
        let tip = fold.tip();
        let (transcript, repairs) = fold.conversation(tip);
        let conversation: Vec<Value> = transcript.window().iter().map(json).collect();
        let queued: Vec<Value> =
            fold.queued_messages().map(|(queue, message)| json(&(queue, message))).collect();
        let open: Vec<Value> = fold.open_loops().map(json).collect();
        let mut clients = ClientState::default();
        events.iter().for_each(|event| clients.apply(event));
        let written: Vec<Value> = events.iter().map(|event| json(&**event)).collect();
        let conversation = json!({"messages": conversation, "repairs": format!("{repairs:?}"), "tip": tip});
        Self {
            events: events.len() as u64,
            parts: vec![
                ("events", hash(&Value::from(written))),
                ("summary", hash(&json(summary))),
                ("conversation", hash(&conversation)),
                ("queue", hash(&json!({"queued": queued, "open": open}))),
                ("memory", hash(&json(fold.memory()))),
                ("clients", hash(&json(&clients))),
                ("record", hash(&json(&Session::of(events)))),
            ],
        }
    }
}

/// The JSON of a value. Its objects are sorted by name.
fn json(value: &(impl Serialize + ?Sized)) -> Value {
    serde_json::to_value(value).unwrap_or_else(|error| Value::String(error.to_string()))
}

fn hash(value: &Value) -> String {
    let address = content::address(value.to_string().as_bytes()).0;
    let digits = address.rsplit(':').next().unwrap_or_default();
    digits.chars().take(DIGITS).collect()
}
