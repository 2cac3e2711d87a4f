//! What a call would change, before it does.
//!
//! Owns how a tool is asked for that: one that panics or fails cannot say, and no secret is shown.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use serde_json::Value;

use super::ports::Ports;
use super::redaction;

/// What a change would come to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preview {
    /// This, for example a diff.
    Known(String),
    /// That is known only when it is made: a command, for example.
    Unknown,
    /// It cannot be made as things are, or depends on a change before it.
    Impossible(String),
}

impl Preview {
    /// What a call would come to now.
    pub(crate) async fn of(tool: &str, arguments: &Value, ports: &Ports) -> Self {
        let Some(tool) = ports.tools.get(tool) else {
            return Self::Impossible(format!("There is no tool named `{tool}`."));
        };
        let looking = AssertUnwindSafe(async { tool.preview(arguments).await }).catch_unwind();
        let redacted = |mut text: String| {
            redaction::text(&ports.redactor, &mut text);
            text
        };
        match looking.await {
            Ok(Ok(Some(text))) => Self::Known(redacted(text)),
            Ok(Ok(None)) => Self::Unknown,
            Ok(Err(error)) => Self::Impossible(redacted(error.to_string())),
            Err(_) => Self::Impossible("the tool panicked".to_owned()),
        }
    }

    /// The words, if there are any.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Known(text) | Self::Impossible(text) => text,
            Self::Unknown => "",
        }
    }

    /// What is known.
    pub(crate) fn into_known(self) -> Option<String> {
        match self {
            Self::Known(text) => Some(text),
            _ => None,
        }
    }
}
