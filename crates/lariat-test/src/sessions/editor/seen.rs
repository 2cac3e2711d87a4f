//! Collects what an editor received from an agent, as the conversation that it shows.

use lariat_core::content::Content;
use lariat_core::event::{AgentEvent, Event};
use serde_json::Value;

/// The messages of an agent on one connection.
#[derive(Default)]
pub(super) struct ReceivedMessages {
    messages: Vec<Value>,
    /// The ids of requests that the editor answered.
    answered: Vec<Value>,
}

/// A conversation as a user sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EditorConversation {
    prompts: Vec<String>,
    /// The text of each reply that has text.
    replies: Vec<String>,
    /// The tool calls, each with whether it succeeded; `None` without an end.
    calls: Vec<(String, Option<bool>)>,
}

/// The tool call that a request for approval is about.
pub(super) fn asked_call(request: &Value) -> String {
    text(request, "/params/toolCall/toolCallId").unwrap_or_default()
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

impl ReceivedMessages {
    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn extend(&mut self, messages: Vec<Value>) {
        self.messages.extend(messages);
    }

    pub(super) fn set_answered(&mut self, id: &Value) {
        self.answered.push(id.clone());
    }

    /// The newest messages, for a report.
    pub(super) fn newest(&self, count: usize) -> String {
        let start = self.messages.len().saturating_sub(count);
        let newest = self.messages.get(start..).unwrap_or_default();
        newest.iter().map(|message| format!("\n    {message}")).collect()
    }

    fn responses(&self, id: u64) -> impl Iterator<Item = &Value> {
        let is_it =
            move |message: &&Value| message.get("id") == Some(&id.into()) && message.get("method").is_none();
        self.messages.iter().filter(is_it)
    }

    /// The result or the error of a request.
    pub(super) fn response(&self, id: u64) -> Option<Result<Value, Value>> {
        let response = self.responses(id).next()?;
        match response.get("error") {
            Some(error) => Some(Err(error.clone())),
            None => Some(Ok(response.get("result").cloned().unwrap_or_default())),
        }
    }

    pub(super) fn stop_reason(&self, id: u64) -> Option<String> {
        text(&self.response(id)?.ok()?, "/stopReason")
    }

    /// Every prompt has one response, and no request for approval waits.
    pub(super) fn check_responses(&self, prompts: impl Iterator<Item = u64>) -> Result<(), String> {
        for id in prompts {
            let count = self.responses(id).count();
            if count != 1 {
                return Err(format!("the prompt {id} got {count} responses"));
            }
            if let Some(Err(error)) = self.response(id) {
                return Err(format!("the prompt {id} got an error: {error}"));
            }
        }
        match self.asks().first() {
            Some(ask) => Err(format!("no prompt is active, but this request waits: {ask}")),
            None => Ok(()),
        }
    }

    /// The requests for approval that wait, oldest first.
    pub(super) fn asks(&self) -> Vec<Value> {
        let is_withdrawn = |id: &Value| {
            let is_it = |message: &Value| {
                message.get("method") == Some(&"$/cancel_request".into())
                    && message.pointer("/params/requestId") == Some(id)
            };
            self.messages.iter().any(is_it)
        };
        let asks = self.messages.iter().filter(|message| {
            message.get("method") == Some(&"session/request_permission".into())
                && message.get("id").is_some_and(|id| !self.answered.contains(id) && !is_withdrawn(id))
        });
        asks.cloned().collect()
    }

    /// The permission mode that the editor shows.
    pub(super) fn mode(&self) -> Option<String> {
        let of = |message: &Value| {
            text(message, "/result/modes/currentModeId")
                .or_else(|| text(message, "/params/update/currentModeId"))
        };
        self.messages.iter().rev().find_map(of)
    }

    /// The value of an option that the editor shows.
    pub(super) fn option(&self, id: &str) -> Option<String> {
        let of = |message: &Value| {
            let options = message
                .pointer("/result/configOptions")
                .or_else(|| message.pointer("/params/update/configOptions"))?;
            let is_it = |option: &&Value| option.get("id") == Some(&id.into());
            text(options.as_array()?.iter().find(is_it)?, "/currentValue")
        };
        self.messages.iter().rev().find_map(of)
    }

    /// The conversation that the messages from a place on show.
    pub(super) fn conversation(&self, from: usize) -> EditorConversation {
        let mut shown = EditorConversation::default();
        let mut reply_id = None;
        for message in self.messages.get(from..).unwrap_or_default() {
            let Some(update) = message.pointer("/params/update") else { continue };
            let chunk = || text(update, "/content/text").unwrap_or_default();
            match update.get("sessionUpdate").and_then(Value::as_str) {
                Some("user_message_chunk") => shown.prompts.push(chunk()),
                Some("agent_message_chunk") => {
                    let id = text(update, "/messageId");
                    match shown.replies.last_mut().filter(|_| id == reply_id) {
                        Some(reply) => reply.push_str(&chunk()),
                        None => shown.replies.push(chunk()),
                    }
                    reply_id = id;
                }
                Some("tool_call") => {
                    shown.calls.push((text(update, "/toolCallId").unwrap_or_default(), None));
                }
                Some("tool_call_update") => {
                    let id = text(update, "/toolCallId").unwrap_or_default();
                    let end = match text(update, "/status").as_deref() {
                        Some("completed") => Some(true),
                        Some("failed") => Some(false),
                        _ => continue,
                    };
                    if let Some((_, ended)) = shown.calls.iter_mut().rev().find(|(call, _)| *call == id) {
                        *ended = end;
                    }
                }
                _ => {}
            }
        }
        shown
    }
}

impl EditorConversation {
    /// The conversation that a journal records. The scripts rewind nothing.
    pub(super) fn of(journal: &[Event]) -> Self {
        let mut recorded = Self::default();
        let mut queued = std::collections::BTreeMap::new();
        for event in journal {
            match &event.event {
                AgentEvent::MessageQueued { message, .. } => {
                    queued.insert(message.id(), message);
                }
                AgentEvent::MessageEnd { message } => {
                    let Some(message) = message.shared().or_else(|| queued.get(&message.id()).copied())
                    else {
                        continue;
                    };
                    if let Some(user) = message.as_user().filter(|user| user.origin.is_from_user()) {
                        recorded.prompts.push(lariat_core::content::joined_text(&user.content));
                    } else if let Some(reply) = message.as_assistant() {
                        let text = lariat_core::content::joined_text(&reply.content);
                        recorded.replies.extend(Some(text).filter(|text| !text.is_empty()));
                        let calls = reply.content.iter().filter_map(|block| match block {
                            Content::ToolCall(call) => Some((call.id.as_str().to_owned(), None)),
                            _ => None,
                        });
                        recorded.calls.extend(calls);
                    } else if let Some(result) = message.as_tool_result() {
                        let id = result.tool_call_id.as_str();
                        let call = recorded.calls.iter_mut().rev().find(|(call, _)| call == id);
                        call.into_iter().for_each(|(_, ended)| *ended = Some(!result.is_error));
                    }
                }
                // A call without a result does not run any more.
                AgentEvent::AgentEnd { .. } => {
                    recorded.calls.iter_mut().for_each(|(_, ended)| *ended = Some(*ended == Some(true)));
                }
                _ => {}
            }
        }
        recorded
    }

    /// The same without prompts: an editor shows its own by itself.
    pub(super) fn without_prompts(&self) -> Self {
        Self { prompts: Vec::new(), ..self.clone() }
    }

    pub(super) fn compare(&self, what: &str, journal: &Self) -> Result<(), String> {
        if self == journal {
            return Ok(());
        }
        Err(format!("{what} is {self:?}, but the journal has {journal:?}"))
    }
}
