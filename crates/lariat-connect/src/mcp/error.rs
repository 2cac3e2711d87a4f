//! Why a connection to a server, or a request on it, failed.

use std::io;
use std::time::Duration;

/// An error of a connection to an MCP server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The transport failed: the server did not start, or its bytes are not messages.
    #[error("{0}")]
    Transport(String),
    /// The server broke the protocol.
    #[error("{0}")]
    Protocol(String),
    /// The server answered with an error.
    #[error("{message} (JSON-RPC error {code})")]
    JsonRpc {
        /// The code of the error.
        code: i64,
        /// The server's message, neutralised.
        message: String,
    },
    /// A value could not be written as JSON or read from it.
    #[error("{0}")]
    Serialization(#[from] serde_json::Error),
    /// The system refused an operation.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server ended or closed the connection.
    #[error("the server closed the connection{0}")]
    ConnectionClosed(String),
    /// The server did not answer in time.
    #[error("the server did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The caller cancelled the request.
    #[error("the request was cancelled")]
    Cancelled,
    /// The server wants a login of the user, or one with more rights.
    #[error("the server needs a login{}", .scope.as_ref().map(|scope| format!(" with the scope `{scope}`")).unwrap_or_default())]
    LoginRequired {
        /// The scopes that the user's login lacks, separated by spaces.
        scope: Option<String>,
    },
    /// A login failed.
    #[error("{0}")]
    Login(String),
    /// An authorization server cannot be reached.
    #[error("the authorization server cannot be reached: {0}")]
    LoginUnreachable(String),
    /// The server offers other tools than the user accepted.
    #[error("{0}")]
    ToolsChanged(String),
}

impl McpError {
    /// Changes the text that a server determines, for example to remove secrets from it.
    #[must_use]
    pub fn map_text(self, change: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::Transport(text) => Self::Transport(change(&text)),
            Self::Protocol(text) => Self::Protocol(change(&text)),
            Self::JsonRpc { code, message } => Self::JsonRpc { code, message: change(&message) },
            Self::ConnectionClosed(text) => Self::ConnectionClosed(change(&text)),
            Self::Login(text) => Self::Login(change(&text)),
            Self::LoginUnreachable(text) => Self::LoginUnreachable(change(&text)),
            Self::ToolsChanged(text) => Self::ToolsChanged(change(&text)),
            // Texts of this program and of the system.
            other @ (Self::Serialization(_)
            | Self::Io(_)
            | Self::TimedOut(_)
            | Self::Cancelled
            | Self::LoginRequired { .. }) => other,
        }
    }

    /// Whether the same request may succeed later, on a new connection.
    pub const fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::ConnectionClosed(_) | Self::TimedOut(_) | Self::Io(_) | Self::LoginUnreachable(_)
        )
    }
}
