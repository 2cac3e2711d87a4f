//! The older HTTP transport (2024-11-05): messages arrive as server-sent events, and each message to the server is a request
//! to the address that its first event names.
//!
//! That address must be on the same host, so that headers with secrets reach only the configured one.

use std::collections::BTreeMap;
use std::io;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::uri::PathAndQuery;
use http::{Method, Request, Uri};
use lariat_core::display;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::authorized_client::McpHttpClient;
use super::error::McpError;
use super::http::{events, parsed_address};
use super::protocol::{MessagePipe, ProtocolEra, ServerConnection};

/// Messages that may wait in each direction.
const QUEUE: usize = 64;

/// The messages of one service.
struct SsePipe {
    incoming: mpsc::Receiver<Vec<u8>>,
    outgoing: mpsc::Sender<Vec<u8>>,
    tasks: [JoinHandle<()>; 2],
}

/// Opens a connection to a service.
pub(super) async fn open(
    client: McpHttpClient,
    url: &str,
    headers: &BTreeMap<String, String>,
    has_questions: bool,
) -> Result<ServerConnection, McpError> {
    let address = parsed_address(url)?;
    let (incoming, outgoing) = (mpsc::channel(QUEUE), mpsc::channel::<Vec<u8>>(QUEUE));
    let get = request(Method::GET, &address, headers, Bytes::new())?;
    let response = client.send(get).await.map_err(|error| McpError::Transport(error.to_string()))?;
    if response.status != 200 {
        return Err(McpError::Transport(format!("HTTP {}", response.status)));
    }
    let mut stream = events(response.body);
    let endpoint = loop {
        let event = stream.next().await.ok_or_else(|| McpError::ConnectionClosed(String::new()))?;
        let event = event.map_err(|error| McpError::Transport(error.to_string()))?;
        if event.event.as_deref() == Some("endpoint") {
            break endpoint(&address, event.data.as_deref().unwrap_or_default())?;
        }
    };
    let (arrived, received) = incoming;
    let reader = tokio::spawn(async move {
        while let Some(Ok(event)) = stream.next().await {
            let data = event.data.unwrap_or_default();
            if arrived.send(data.into_bytes()).await.is_err() {
                return;
            }
        }
    });
    let (queue, mut waiting) = outgoing;
    let headers = headers.clone();
    let end = reader.abort_handle();
    let writer = tokio::spawn(async move {
        while let Some(message) = waiting.recv().await {
            let Ok(post) = request(Method::POST, &endpoint, &headers, message.into()) else { return };
            match client.send(post).await {
                Ok(response) if (200..300).contains(&response.status) => {}
                // Without this message the server never answers, so the connection ends.
                _ => return end.abort(),
            }
        }
    });
    let pipe = SsePipe { incoming: received, outgoing: queue, tasks: [reader, writer] };
    ServerConnection::open_pipe(pipe, Some(ProtocolEra::Initialize), has_questions).await
}

fn request(
    method: Method,
    address: &Uri,
    headers: &BTreeMap<String, String>,
    body: Bytes,
) -> Result<Request<Bytes>, McpError> {
    let mut request = Request::builder().method(method.clone()).uri(address);
    request = match method {
        Method::GET => request.header("accept", "text/event-stream"),
        _ => request.header("content-type", "application/json"),
    };
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.body(body).map_err(|_| McpError::Transport("a header is not valid".to_owned()))
}

/// The address for messages to the service: a path on its host, or a whole address with the same host.
fn endpoint(service: &Uri, text: &str) -> Result<Uri, McpError> {
    let refused = || {
        let shown = display::line(text);
        McpError::Protocol(format!("the server wants messages at another address: {shown}"))
    };
    let named: Uri = text.parse().map_err(|_| refused())?;
    let is_elsewhere = named
        .authority()
        .is_some_and(|_| (named.scheme(), named.authority()) != (service.scheme(), service.authority()));
    let path = named.path_and_query().filter(|path| path.as_str().starts_with('/'));
    let path: PathAndQuery = path.filter(|_| !is_elsewhere).cloned().ok_or_else(refused)?;
    let mut parts = service.clone().into_parts();
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).map_err(|_| refused())
}

impl MessagePipe for SsePipe {
    fn send(&mut self, message: Vec<u8>) -> io::Result<()> {
        self.outgoing.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => io::Error::other("the server does not accept messages"),
            mpsc::error::TrySendError::Closed(_) => io::Error::other("the server refused a message"),
        })
    }

    async fn receive(&mut self) -> Option<Vec<u8>> {
        self.incoming.recv().await
    }

    async fn close(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for SsePipe {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_is_on_the_same_host() {
        let service: Uri = "https://example.com/sse".parse().unwrap();
        let at = |text: &str| endpoint(&service, text).map(|uri| uri.to_string()).ok();
        assert_eq!(at("/messages?id=1").as_deref(), Some("https://example.com/messages?id=1"));
        assert_eq!(at("https://example.com/messages").as_deref(), Some("https://example.com/messages"));
        for other in ["https://evil.example/m", "http://example.com/m", "https://example.com:8443/m", ""] {
            assert_eq!(at(other), None, "{other}");
        }
    }
}
