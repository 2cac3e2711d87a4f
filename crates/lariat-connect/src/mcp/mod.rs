//! Connects agents with MCP servers: programs and services that offer tools.
//!
//! - [`McpServerConfig`]: one entry of `.mcp.json`, with its variables expanded. [`McpServerConfig::identity`] changes when
//!   the entry would start or contact something else.
//! - [`McpClient`]: a connection to a server that runs. [`McpToolAdapter`]: one of its tools, for an agent.
//! - [`McpHttpClient`]: sends the requests to a service, with the token of a [`ServerLogin`] if it has one. [`McpLogin`]: one
//!   login of the user.
//! - [`McpServer`]: a server, with its [`AcceptedTool`]s, that starts when a tool is called, and again after it died.
//! - `tool_server`, behind the feature `mcp-server`: serves tools of this program to clients.
//!
//! [`tool_change`](crate::tool_change) tells how the tools of a server differ from the ones that the user accepted.
//!
//! `protocol`, `http` and `tool_server` are the only modules that know `rmcp`. Everything that a server sends is untrusted: its messages
//! have a maximum size, its text is neutralised, and each wait for it has a deadline.

mod accepted_tool;
mod adapter;
mod authorized_client;
mod client;
mod config;
mod content;
mod dialog;
mod elicitation;
mod error;
mod http;
mod login;
mod protocol;
mod server;
mod sse;
#[cfg(feature = "mcp-server")]
pub mod tool_server;
mod variables;

pub use accepted_tool::AcceptedTool;
pub use adapter::{McpToolAdapter, shown_content};
pub use authorized_client::McpHttpClient;
pub use client::{CallObserver, McpClient, McpConnection, McpLimits};
pub use config::{McpConfigError, McpServerConfig, McpTransport, ServerSandbox};
pub use content::{
    McpContent, McpPromptArgument, McpPromptInfo, McpResourceInfo, McpToolCallResult, McpToolInfo,
};
pub use error::McpError;
pub use http::ReachableAddresses;
pub use login::{LoginAddresses, LoginOptions, LoginStore, LoginSummary, McpLogin, ServerLogin};
pub use protocol::ProtocolEra;
pub use server::{McpConnector, McpServer, McpServerState, SaveAccepted};

pub use crate::tool_change::{ToolChange, ToolChangeKind, tool_changes};
