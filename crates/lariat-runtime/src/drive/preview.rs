//! Previews what a tool call would change.
//!
//! A tool that panics or fails has no preview. Secrets are redacted.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use serde_json::Value;

use super::ports::Ports;
use super::redaction;

/// A preview of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preview {
    /// The change, for example as a diff.
    Known(String),
    /// The change is only known once it is made: for example a command.
    Unknown,
    /// The change is not possible now, or depends on an earlier change.
    Impossible(String),
}

impl Preview {
    /// Previews a tool call.
    pub(crate) async fn of(tool: &str, arguments: &Value, ports: &Ports) -> Self {
        let Some(tool) = ports.tools.get(tool) else {
            return Self::Impossible(format!("no tool is named `{tool}`"));
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

    /// Returns the text of the preview, if it has one.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Known(text) | Self::Impossible(text) => text,
            Self::Unknown => "",
        }
    }

    /// Returns the preview if it is known.
    pub(crate) fn into_text(self) -> Option<String> {
        match self {
            Self::Known(text) => Some(text),
            _ => None,
        }
    }
}
