//! The model of the suite: it replies to a prompt as the script planned for that prompt.
//!
//! A reply depends only on the conversation, not on the number of earlier requests. So a host that crashed and asks
//! again receives the same reply. A reply with a gate waits until the script opens that gate.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{Either, select};
use futures_util::{FutureExt as _, stream};
use lariat_core::cancel::CancellationToken;
use lariat_core::content::ToolCall;
use lariat_core::message::{Message, StopReason};
use lariat_core::model::{ModelStream, ProviderError, StreamConfig, StreamEvent, StreamProvider};
use serde_json::Value;
use tokio::sync::watch;

use crate::model::DEFAULT_USAGE;

/// What the model replies to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Turn {
    /// A text, in this many pieces.
    Text {
        /// The text.
        text: String,
        /// The number of pieces.
        pieces: usize,
    },
    /// A call of the fixture's tool, whose effect is to leave a mark.
    Call {
        /// The mark, which is also the id of the tool call.
        mark: String,
        /// Whether the call needs approval.
        approval: Approval,
    },
    /// An error that no retry helps against, as long as the gate is closed; then a text.
    Fail {
        /// The gate.
        until: String,
    },
    /// The same as `then`, but only after the script opened the gate.
    Gate {
        /// The gate.
        gate: String,
        /// What follows.
        then: Box<Self>,
    },
}

/// Whether a tool call needs approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// It runs without.
    Free,
    /// It needs one.
    Needed,
}

/// Makes a call of the fixture's tool that leaves a mark: the name of the tool and its arguments.
pub type MakeCall = dyn Fn(&str, Approval) -> (String, Value) + Send + Sync;

/// What a [`ModelScript`] replies, for a host that calls no [`StreamProvider`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlannedReply {
    /// The pieces of a text.
    Text(Vec<String>),
    /// A tool call.
    Call(ToolCall),
    /// An error that no retry helps against.
    Failure(String),
}

/// The plans of the model and its gates. Clones share them.
#[derive(Clone)]
pub struct ModelScript {
    make_call: Arc<MakeCall>,
    plans: Arc<Mutex<BTreeMap<String, Vec<Turn>>>>,
    /// The keys of the messages of the user in the newest request.
    newest_request: Arc<Mutex<Vec<String>>>,
    gates: watch::Sender<Gates>,
}

#[derive(Clone, Debug, Default)]
struct Gates {
    open: BTreeSet<String>,
    all_open: BTreeSet<String>,
}

impl Gates {
    fn is_open(&self, gate: &str) -> bool {
        self.open.contains(gate) || self.all_open.iter().any(|run| gate.starts_with(run.as_str()))
    }
}

impl ModelScript {
    /// Creates a model that replies `ok` until a script plans something else.
    pub fn new(make_call: impl Fn(&str, Approval) -> (String, Value) + Send + Sync + 'static) -> Self {
        let gates = watch::Sender::new(Gates::default());
        let (plans, newest_request) = Default::default();
        Self { make_call: Arc::new(make_call), plans, newest_request, gates }
    }

    /// Plans the replies to the prompt with this key: the first reply, the reply after the first tool call, and so on.
    pub fn plan(&self, key: impl Into<String>, turns: Vec<Turn>) {
        lock(&self.plans).insert(key.into(), turns);
    }

    /// Opens a gate, for waiting and later replies.
    pub fn release(&self, gate: &str) {
        self.gates.send_modify(|gates| {
            gates.open.insert(gate.to_owned());
        });
    }

    /// Opens every gate whose name starts with this text.
    pub fn release_all(&self, start: &str) {
        self.gates.send_modify(|gates| {
            gates.all_open.insert(start.to_owned());
        });
    }

    /// Waits until a gate is open.
    pub(super) async fn pass(&self, gate: &str) {
        // The sender is a field of this value, so the wait does not fail.
        let _ = self.gates.subscribe().wait_for(|gates| gates.is_open(gate)).await;
    }

    /// The keys of the messages of the user in the newest request, in order.
    pub(super) fn newest_request(&self) -> Vec<String> {
        lock(&self.newest_request).clone()
    }

    /// Returns the reply to a conversation, after its gate is open.
    pub async fn reply<'a>(&self, conversation: impl IntoIterator<Item = &'a Message>) -> PlannedReply {
        let mut turn = self.turn(conversation);
        while let Turn::Gate { gate, then } = turn {
            self.pass(&gate).await;
            turn = *then;
        }
        match turn {
            Turn::Text { text, pieces } => PlannedReply::Text(split(&text, pieces)),
            Turn::Call { mark, approval } => {
                let (name, arguments) = (self.make_call)(&mark, approval);
                PlannedReply::Call(ToolCall { id: mark.into(), name, arguments, signature: None })
            }
            Turn::Fail { until } if !self.gates.borrow().is_open(&until) => {
                PlannedReply::Failure("the script says that the request fails".to_owned())
            }
            Turn::Fail { .. } | Turn::Gate { .. } => PlannedReply::Text(vec!["recovered".to_owned()]),
        }
    }

    /// Chooses by the newest prompt and the number of replies after it.
    fn turn<'a>(&self, conversation: impl IntoIterator<Item = &'a Message>) -> Turn {
        let plans = lock(&self.plans);
        let mut prompts = Vec::new();
        let mut replies = 0;
        for message in conversation {
            match message {
                Message::User(_) => {
                    if let Some(key) = key_of(&message.text()) {
                        prompts.push(key.to_owned());
                        replies = 0;
                    }
                }
                Message::Assistant(_) => replies += 1,
                Message::ToolResult(_) => {}
            }
        }
        let key = prompts.last().cloned().unwrap_or_default();
        *lock(&self.newest_request) = prompts;
        let planned = plans.get(&key).and_then(|turns| turns.get(replies));
        planned
            .cloned()
            .unwrap_or_else(|| Turn::Text { text: format!("reply {replies} to {key}"), pieces: 2 })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StreamProvider for ModelScript {
    fn provider_id(&self) -> &str {
        "scripted"
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        let script = self.clone();
        let events = async move {
            let messages: Vec<Message> =
                request.messages.iter().filter_map(|m| m.as_llm().cloned()).collect();
            let reply = Box::pin(script.reply(&messages));
            match select(reply, cancel.cancelled()).await {
                Either::Left((reply, _)) => stream_events(&request.model_config.id, reply),
                Either::Right(_) => vec![Err(ProviderError::Cancelled)],
            }
        };
        Box::pin(events.map(stream::iter).flatten_stream())
    }
}

fn stream_events(model: &str, reply: PlannedReply) -> Vec<Result<StreamEvent, ProviderError>> {
    let start = Ok(StreamEvent::Start { model: model.to_owned() });
    let done = |stop_reason| Ok(StreamEvent::Done { stop_reason, usage: DEFAULT_USAGE });
    match reply {
        PlannedReply::Text(pieces) => {
            let deltas = pieces.into_iter().map(|delta| Ok(StreamEvent::TextDelta { index: 0, delta }));
            std::iter::once(start).chain(deltas).chain([done(StopReason::Stop)]).collect()
        }
        PlannedReply::Call(call) => {
            vec![start, Ok(StreamEvent::ToolCallEnd { index: 0, call }), done(StopReason::ToolUse)]
        }
        PlannedReply::Failure(text) => vec![Err(ProviderError::Api(text.into()))],
    }
}

/// Splits a text into about this many pieces, never inside a character.
fn split(text: &str, pieces: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let length = characters.len().div_ceil(pieces.max(1)).max(1);
    characters.chunks(length).map(|piece| piece.iter().collect()).collect()
}

/// Returns the key of a prompt: its first text in brackets. Every prompt of a script has one.
pub(super) fn key_of(text: &str) -> Option<&str> {
    let start = text.find("[r")?;
    let rest = text.get(start..)?;
    rest.get(..=rest.find(']')?)
}
