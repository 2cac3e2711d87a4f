//! One chain line, read as far as finding its place needs.

use lariat_core::time::Timestamp;
use serde_json::{Map, Value};

use super::TIP;
use crate::interchange::lines::{JsonLine, text, timestamp};

/// The kinds of chain lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    User,
    Assistant,
    /// System and attachment lines: part of the chain, not of the conversation.
    Aside,
    /// Part of the chain, kept by nobody.
    Dropped,
}

/// A line that has a place in the tree.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) uuid: String,
    pub(super) parent: Option<String>,
    pub(super) kind: Kind,
    /// Meta, of a team, or of a side chain: never shown.
    pub(super) hidden: bool,
    pub(super) at: Option<Timestamp>,
    pub(super) fields: Map<String, Value>,
}

/// What a line is.
pub(super) enum Read {
    Chain(Line),
    /// About the session.
    Metadata(Map<String, Value>),
    /// Neither, and why.
    Unusable(String),
}

/// Lines about the session that say nothing we keep.
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

impl Line {
    pub(super) fn read(JsonLine { number, fields }: JsonLine) -> Read {
        let Some(name) = text(&fields, "type") else {
            // Some versions wrote titles without a type.
            return if fields.contains_key("aiTitle") || fields.contains_key("customTitle") {
                Read::Metadata(fields)
            } else {
                Read::Unusable("no type".to_owned())
            };
        };
        let kind = match name {
            "user" => Kind::User,
            "assistant" => Kind::Assistant,
            "system" if text(&fields, "subtype") == Some(TIP) => Kind::Dropped,
            "system" | "attachment" => Kind::Aside,
            "progress" => Kind::Dropped,
            known if KNOWN_METADATA.contains(&known) => return Read::Metadata(fields),
            other => return Read::Unusable(format!("unknown type `{other}`")),
        };
        let Some(uuid) = text(&fields, "uuid").map(str::to_owned) else {
            return Read::Unusable(format!("a line of type `{name}` without uuid"));
        };
        let hidden = ["isMeta", "isSidechain", "teamName"].iter().any(|flag| holds(fields.get(*flag)));
        Read::Chain(Self {
            number,
            uuid,
            parent: text(&fields, "parentUuid").map(str::to_owned),
            kind,
            hidden,
            at: timestamp(&fields),
            fields,
        })
    }

    /// Whether the rule can end a conversation here.
    pub(super) fn is_spoken(&self) -> bool {
        matches!(self.kind, Kind::User | Kind::Assistant)
    }

    /// The message, where the line is shown and has one.
    pub(super) fn message(&self) -> Option<&Map<String, Value>> {
        let shown = self.is_spoken() && !self.hidden;
        self.fields.get("message").and_then(Value::as_object).filter(|message| {
            shown && message.get("content").is_some_and(|content| content.is_string() || content.is_array())
        })
    }

    /// The id of the model's reply that this line is a part of.
    pub(super) fn reply_id(&self) -> Option<&str> {
        text(self.message().filter(|_| self.kind == Kind::Assistant)?, "id")
    }
}

/// Whether a flag is set.
fn holds(flag: Option<&Value>) -> bool {
    flag.is_some_and(|flag| !flag.is_null() && *flag != false && *flag != "")
}
