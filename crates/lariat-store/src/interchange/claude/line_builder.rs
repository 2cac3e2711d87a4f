//! Converts messages to chain lines.

use std::collections::HashMap;

use lariat_core::content::joined_text;
use lariat_core::id::ToolCallId;
use lariat_core::message::{AgentMessage, AssistantMessage, ExtensionMessage, Message, ToolResultMessage};
use lariat_core::time::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::journal::Journal;
use super::{BOUNDARY, EXTENSION, KIND, block};
use crate::interchange::lines::text;

/// Builds the lines of one session.
pub(super) struct LineBuilder {
    session: String,
    cwd: Option<String>,
    git_branch: Option<String>,
    begun: Timestamp,
    /// The reply that contains each tool call.
    callers: HashMap<ToolCallId, Uuid>,
    /// The last boundary. The user message after it is the summary.
    boundary: Option<Uuid>,
}

impl LineBuilder {
    pub(super) fn new(session: String, journal: &Journal) -> Self {
        Self {
            session,
            cwd: journal.about.cwd.clone(),
            git_branch: journal.about.git_branch.clone(),
            begun: journal.begun,
            callers: HashMap::new(),
            boundary: None,
        }
    }

    /// Returns the time of the session's first event.
    pub(super) const fn begin_time(&self) -> Timestamp {
        self.begun
    }

    /// Converts a message to a line. `time` is used for messages without a time.
    pub(super) fn line(
        &mut self,
        message: &AgentMessage,
        uuid: Uuid,
        parent: Option<Uuid>,
        time: Timestamp,
    ) -> Map<String, Value> {
        match message {
            AgentMessage::Extension(extension) => self.extension(extension, uuid, parent, time),
            AgentMessage::Llm(llm) => match &llm.message {
                Message::User(user) => {
                    let content = block::content_to_api(&user.content);
                    let mut line = self.user(content, uuid, parent, user.timestamp, time);
                    if parent.is_some() && parent == self.boundary {
                        line.insert("isCompactSummary".to_owned(), Value::Bool(true));
                    }
                    line
                }
                Message::Assistant(reply) => self.reply(reply, uuid, parent, time),
                Message::ToolResult(result) => self.result(result, uuid, parent, time),
            },
        }
    }

    /// Builds a system line.
    pub(super) fn system(
        &self,
        subtype: &str,
        content: &str,
        uuid: Uuid,
        parent: Option<Uuid>,
        time: Timestamp,
    ) -> Map<String, Value> {
        let mut line = self.envelope("system", uuid, parent, time, time);
        line.insert("subtype".to_owned(), json!(subtype));
        line.insert("content".to_owned(), json!(content));
        line.insert("level".to_owned(), json!("info"));
        line
    }

    fn envelope(
        &self,
        kind: &str,
        uuid: Uuid,
        parent: Option<Uuid>,
        own: Timestamp,
        other: Timestamp,
    ) -> Map<String, Value> {
        let time = if own == Timestamp::default() { other } else { own };
        let mut line = Map::new();
        let mut set = |name: &str, value: Value| line.insert(name.to_owned(), value);
        set("type", json!(kind));
        set("uuid", json!(uuid));
        set("parentUuid", json!(parent));
        set("sessionId", json!(self.session));
        set("timestamp", json!(time));
        set("isSidechain", json!(false));
        set("userType", json!("external"));
        set("version", json!(env!("CARGO_PKG_VERSION")));
        set("cwd", json!(self.cwd.as_deref().unwrap_or_default()));
        set("gitBranch", json!(self.git_branch.as_deref().unwrap_or_default()));
        line
    }

    fn user(
        &self,
        content: Value,
        uuid: Uuid,
        parent: Option<Uuid>,
        own: Timestamp,
        other: Timestamp,
    ) -> Map<String, Value> {
        let mut line = self.envelope("user", uuid, parent, own, other);
        line.insert("message".to_owned(), json!({"role": "user", "content": content}));
        line
    }

    fn reply(
        &mut self,
        reply: &AssistantMessage,
        uuid: Uuid,
        parent: Option<Uuid>,
        time: Timestamp,
    ) -> Map<String, Value> {
        for call in reply.tool_calls() {
            self.callers.insert(call.id.clone(), uuid);
        }
        let mut line = self.envelope("assistant", uuid, parent, reply.timestamp, time);
        let message = json!({
            "id": format!("msg_{}", uuid.simple()),
            "type": "message",
            "role": "assistant",
            "model": reply.model,
            "content": reply.content.iter().map(block::to_api).collect::<Value>(),
            "stop_reason": block::stop_reason_to_api(reply.stop_reason),
            "stop_sequence": null,
            "usage": block::usage_to_api(&reply.usage),
        });
        line.insert("message".to_owned(), message);
        line
    }

    fn result(
        &self,
        result: &ToolResultMessage,
        uuid: Uuid,
        parent: Option<Uuid>,
        time: Timestamp,
    ) -> Map<String, Value> {
        let mut content = json!({
            "type": "tool_result",
            "tool_use_id": result.tool_call_id,
            "content": block::content_to_api(&result.content),
        });
        if let (true, Some(content)) = (result.is_error, content.as_object_mut()) {
            content.insert("is_error".to_owned(), Value::Bool(true));
        }
        let mut line = self.user(json!([content]), uuid, parent, result.timestamp, time);
        line.insert("toolUseResult".to_owned(), json!(joined_text(&result.content)));
        if let Some(caller) = self.callers.get(&result.tool_call_id) {
            line.insert("sourceToolAssistantUUID".to_owned(), json!(caller));
        }
        line
    }

    fn extension(
        &mut self,
        extension: &ExtensionMessage,
        uuid: Uuid,
        parent: Option<Uuid>,
        time: Timestamp,
    ) -> Map<String, Value> {
        let kept = extension.data.as_object().filter(|_| extension.kind.starts_with(KIND));
        let Some(kept) = kept else {
            let mut line = self.system(EXTENSION, &extension.kind, uuid, parent, time);
            line.insert("kind".to_owned(), json!(extension.kind));
            line.insert("data".to_owned(), extension.data.clone());
            return line;
        };
        let mut line = kept.clone();
        let known = |kind: &&str| matches!(*kind, "user" | "assistant" | "attachment");
        let kind = text(kept, "type").filter(known).unwrap_or("system");
        let shown = ["isMeta", "isSidechain", "teamName"]
            .iter()
            .all(|flag| kept.get(*flag).is_none_or(|set| set.is_null() || *set == false || *set == ""));
        if shown && matches!(kind, "user" | "assistant") {
            // It was not a message in the original file either. Shown, it could become the end of the conversation.
            line.insert("isMeta".to_owned(), Value::Bool(true));
        }
        for (name, value) in [
            ("type", json!(kind)),
            ("uuid", json!(uuid)),
            ("parentUuid", json!(parent)),
            ("sessionId", json!(self.session)),
        ] {
            line.insert(name.to_owned(), value);
        }
        if text(&line, "subtype") == Some(BOUNDARY) {
            self.boundary = Some(uuid);
        }
        line
    }
}
