//! Serves tools to clients that speak MCP, over standard input and output or HTTP, in both eras.
//!
//! - [`ServedTools`]: the tools, which the caller implements. [`ToolServer`]: the server.
//! - `handler`: the protocol, by `rmcp`. `call`: a tool call, which may ask the user of the client. `http`: HTTP on this
//!   machine only.
//!
//! Invariants: a message has a maximum size, and calls a maximum number at a time; a client that cancels a call or goes away
//! ends the call; a call that waits for an answer ends after a while.

mod call;
mod handler;
mod http;

use std::sync::Arc;

use lariat_core::BoxFuture;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};

pub use call::{CallClient, ClientAnswer};
pub use http::HttpServer;

use super::content::{McpToolCallResult, McpToolInfo};
use super::error::McpError;
use handler::Handler;

/// Tools that a server offers to its clients.
pub trait ServedTools: Send + Sync + 'static {
    /// Lists the tools. Each call returns the same ones.
    fn tools(&self) -> Vec<McpToolInfo>;

    /// Calls a tool. Dropping the future cancels the call. The failure of a tool is a result with
    /// [`is_error`](McpToolCallResult::is_error), which the model of the client reads.
    fn call<'a>(&'a self, call: ServedCall, client: CallClient) -> BoxFuture<'a, McpToolCallResult>;
}

/// A tool call of a client.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServedCall {
    /// The name of the tool, one of [`ServedTools::tools`].
    pub tool: String,
    /// The arguments, which nothing has checked.
    pub arguments: Map<String, Value>,
    /// The name of the client's program, as it says itself; neutralised.
    pub client: Option<String>,
}

impl ServedCall {
    /// Creates a tool call of an unnamed client.
    pub fn new(tool: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self { tool: tool.into(), arguments, client: None }
    }
}

/// An MCP server in this process. Cheap to clone; clones share their limits.
#[derive(Clone)]
pub struct ToolServer(Handler);

impl ToolServer {
    /// Creates a server. `instructions` tells the model of a client what the tools are for.
    pub fn new(tools: Arc<dyn ServedTools>, instructions: impl Into<String>) -> Self {
        Self(Handler::new(tools, instructions.into()))
    }

    /// Serves one client on a pair of streams, such as standard input and output, until the input ends. Then calls have a few
    /// seconds to end.
    ///
    /// # Errors
    /// If the client does not begin as either era does.
    pub async fn serve_streams<R, W>(&self, input: R, output: W) -> Result<(), McpError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        handler::serve_streams(self.0.clone(), input, output).await
    }
}
