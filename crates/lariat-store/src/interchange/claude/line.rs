//! Parses a chain line, as far as needed to place it in the tree.

use lariat_core::time::Timestamp;
use serde_json::{Map, Value};

use super::TIP;
use crate::interchange::lines::{JsonLine, text, timestamp};

/// The kinds of chain lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    User,
    Assistant,
    /// System and attachment lines: part of the chain, not of the conversation.
    Aside,
    /// Part of the chain, but not imported.
    Dropped,
}

/// A line of the tree.
#[derive(Debug)]
pub(super) struct ChainLine {
    pub(super) number: usize,
    pub(super) uuid: String,
    pub(super) parent: Option<String>,
    pub(super) kind: LineKind,
    /// Meta, team or side chain lines, which are never shown.
    pub(super) hidden: bool,
    pub(super) at: Option<Timestamp>,
    pub(super) fields: Map<String, Value>,
}

/// The kind of a parsed line.
pub(super) enum ParsedLine {
    Chain(ChainLine),
    /// Describes the session.
    Metadata(Map<String, Value>),
    /// Neither, with the reason.
    Unusable(String),
}

/// Types of lines that describe the session. Other types are reported as unknown.
const KNOWN_METADATA: &[&str] = &[
    "summary",
    "custom-title",
    "ai-title",
    "last-prompt",
    "tag",
    "permission-mode",
    "file-history-snapshot",
    "content-replacement",
    "queue-operation",
    "agent-name",
    "agent-setting",
    "mode",
    "pr-link",
];

impl ChainLine {
    pub(super) fn read(JsonLine { number, fields }: JsonLine) -> ParsedLine {
        let Some(name) = text(&fields, "type") else {
            // Some versions wrote titles without a type.
            return if fields.contains_key("aiTitle") || fields.contains_key("customTitle") {
                ParsedLine::Metadata(fields)
            } else {
                ParsedLine::Unusable("missing type".to_owned())
            };
        };
        let kind = match name {
            "user" => LineKind::User,
            "assistant" => LineKind::Assistant,
            "system" if text(&fields, "subtype") == Some(TIP) => LineKind::Dropped,
            "system" | "attachment" => LineKind::Aside,
            "progress" => LineKind::Dropped,
            known if KNOWN_METADATA.contains(&known) => return ParsedLine::Metadata(fields),
            other => return ParsedLine::Unusable(format!("unknown type `{other}`")),
        };
        let Some(uuid) = text(&fields, "uuid").map(str::to_owned) else {
            return ParsedLine::Unusable(format!("line of type `{name}` has no uuid"));
        };
        let hidden = ["isMeta", "isSidechain", "teamName"].iter().any(|flag| is_set(fields.get(*flag)));
        ParsedLine::Chain(Self {
            number,
            uuid,
            parent: text(&fields, "parentUuid").map(str::to_owned),
            kind,
            hidden,
            at: timestamp(&fields),
            fields,
        })
    }

    /// Returns whether a conversation can end at this line.
    pub(super) fn is_message(&self) -> bool {
        matches!(self.kind, LineKind::User | LineKind::Assistant)
    }

    /// Returns the message, if the line is shown and has one.
    pub(super) fn message(&self) -> Option<&Map<String, Value>> {
        let shown = self.is_message() && !self.hidden;
        self.fields.get("message").and_then(Value::as_object).filter(|message| {
            shown && message.get("content").is_some_and(|content| content.is_string() || content.is_array())
        })
    }

    /// Returns the id of the model's reply that this line is a part of.
    pub(super) fn reply_id(&self) -> Option<&str> {
        text(self.message().filter(|_| self.kind == LineKind::Assistant)?, "id")
    }
}

/// Returns whether a flag is set.
fn is_set(flag: Option<&Value>) -> bool {
    flag.is_some_and(|flag| !flag.is_null() && *flag != false && *flag != "")
}
