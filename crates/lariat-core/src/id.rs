//! Ids: strings where providers use strings, UUID v7 where Lariat creates them.
//!
//! This module generates no ids: [`crate::time::Minter`] creates them from entropy that arrives with an
//! input. Cloning an id never copies its text, so naming the loop in every event costs only a reference
//! count.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps the text of an id.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// Returns the text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID.
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Returns the UUID.
            pub const fn uuid(self) -> Uuid {
                self.0
            }

            /// Returns true for the all-zero id, which means "not assigned yet".
            pub const fn is_nil(self) -> bool {
                self.0.is_nil()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

text_id! {
    /// An agent instance that stays the same across all of its sessions.
    AgentId
}
text_id! {
    /// A session, which has one journal.
    SessionId
}
text_id! {
    /// One run of the machine: `{session_id}.{config_id}.{n}`.
    LoopId
}
text_id! {
    /// A tool call, unique within a conversation. The model chooses it; a new one replaces it if it is not
    /// unique.
    ToolCallId
}
uuid_id! {
    /// A message. The journal stores the content once under this id; later events refer to it by id.
    MessageId
}
uuid_id! {
    /// An event in a journal or on a live stream.
    EventId
}
uuid_id! {
    /// A permission request that waits for an answer.
    RequestId
}

/// Hexadecimal digits of a short message id: 48 random bits, enough that ids of one session do not collide in
/// practice.
const SHORT_DIGITS: usize = 12;

impl MessageId {
    /// Returns the name under which the model knows a message: `m` and the last twelve digits of its id.
    pub fn short(&self) -> String {
        let digits = self.0.simple().to_string();
        format!("m{}", digits.get(digits.len() - SHORT_DIGITS..).unwrap_or(&digits))
    }

    /// Returns whether `name` is the short name or the full id of this message.
    pub fn is_named(&self, name: &str) -> bool {
        let name = name.trim();
        self.short() == name || self.to_string() == name
    }
}

impl LoopId {
    /// Builds `{session_id}.{config_id}.{n}`.
    pub fn compose(session: &SessionId, config_id: &str, n: u64) -> Self {
        Self(format!("{session}.{config_id}.{n}").into())
    }

    /// Returns the session of the loop. Configuration ids may contain dots, session ids do not.
    pub fn session(&self) -> SessionId {
        SessionId::from(self.0.split('.').next().unwrap_or_default())
    }

    /// Returns the number of the loop within its session: the last part of the id.
    pub fn number(&self) -> Option<u64> {
        self.0.rsplit('.').next()?.parse().ok()
    }
}

/// A turn within a loop, written as `{loop_id}#{turn_index}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TurnId {
    /// The loop the turn belongs to.
    pub loop_id: LoopId,
    /// Zero-based index of the turn within the loop.
    pub turn_index: u32,
}

impl Serialize for TurnId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}#{}", self.loop_id, self.turn_index))
    }
}

impl<'de> Deserialize<'de> for TurnId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parsed = text.rsplit_once('#').and_then(|(loop_id, index)| {
            Some(Self { loop_id: LoopId::from(loop_id), turn_index: index.parse().ok()? })
        });
        parsed.ok_or_else(|| {
            serde::de::Error::custom(format!("`{text}` is not of the form loop_id#turn_index"))
        })
    }
}
