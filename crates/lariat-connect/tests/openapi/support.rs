//! A server on this machine that records requests, and tools that call it.

use std::sync::{Arc, Mutex};

use lariat_connect::openapi::{OpenApiAdapter, OpenApiConfig, OperationFilter};
use lariat_core::cancel::CancellationToken;
use lariat_core::id::{LoopId, SessionId, ToolCallId};
use lariat_core::tool::{AgentTool, ToolContext, ToolError};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Answers every request with the same bytes.
pub(crate) struct Server {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server. `response` is a status line with headers, an empty line, and a body.
    pub(crate) async fn start(response: impl Into<Vec<u8>>) -> Self {
        let response: Vec<u8> = response.into();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read(&mut stream).await;
                seen.lock().unwrap().push(request);
                let _ = stream.write_all(&response).await;
                let _ = stream.shutdown().await;
            }
        });
        Self { port, requests }
    }

    /// Starts a server that responds with a JSON text.
    pub(crate) async fn json(body: &str) -> Self {
        Self::start(response("200 OK", "application/json", body)).await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

pub(crate) fn response(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

async fn read(stream: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).await.unwrap_or(0);
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        if count == 0 {
            return text;
        }
    }
}

/// The tools of a document, whose requests go to a server.
pub(crate) fn tools(document: &Value, server: &Server, config: OpenApiConfig) -> Vec<OpenApiAdapter> {
    let config = config.with_base_url(server.url("/v1"));
    OpenApiAdapter::from_str(&document.to_string(), &config, &OperationFilter::All).unwrap()
}

/// Calls a tool and returns its text.
pub(crate) async fn call(tool: &OpenApiAdapter, arguments: Value) -> Result<String, ToolError> {
    let context = ToolContext::new(
        ToolCallId::from("call"),
        tool.name(),
        SessionId::from("session"),
        LoopId::from("loop"),
        CancellationToken::new(),
    );
    let result = tool.execute(arguments, context).await?;
    Ok(result.content.iter().filter_map(|block| block.as_text()).collect())
}
