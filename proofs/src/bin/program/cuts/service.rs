//! The model server of the cuts: it writes the bytes of a response to the socket and ends the connection after any of
//! them.
//!
//! It speaks HTTP/1.1 itself, because a server library cannot be cut inside a chunk or a header. The path of a request
//! names its conversation.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::conversation::{Conversation, Ending};

const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
/// The last segments of the paths at which models reply.
const REPLIES: [&str; 3] = ["/messages", "/completions", "/responses"];

type Conversations = Arc<Mutex<HashMap<usize, Arc<Conversation>>>>;

/// A running server, stopped on drop.
pub(crate) struct Service {
    address: SocketAddr,
    conversations: Conversations,
    accepting: JoinHandle<()>,
}

impl Service {
    pub(crate) async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (address, conversations) = (listener.local_addr()?, Conversations::default());
        let accepting = tokio::spawn(accept(listener, Arc::clone(&conversations)));
        Ok(Self { address, conversations, accepting })
    }

    /// Adds a conversation and returns its base URL.
    pub(crate) fn add(&self, conversation: &Arc<Conversation>) -> String {
        let mut conversations = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        conversations.insert(conversation.number, Arc::clone(conversation));
        format!("http://{}/case-{}{}", self.address, conversation.number, conversation.wire.base_path())
    }

    /// Forgets a conversation.
    pub(crate) fn remove(&self, conversation: &Conversation) {
        let mut conversations = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        conversations.remove(&conversation.number);
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, conversations: Conversations) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((socket, _)) = accepted else { continue };
                connections.spawn(serve(socket, Arc::clone(&conversations)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves a connection. Errors end it: clients may leave at any time.
async fn serve(mut socket: TcpStream, conversations: Conversations) {
    let _ = socket.set_nodelay(true);
    while let Some((path, body)) = read_request(&mut socket).await {
        let number = path.strip_prefix("/case-").and_then(|rest| rest.split('/').next()?.parse().ok());
        let conversation = number.and_then(|number: usize| {
            conversations.lock().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
        });
        let Some(conversation) = conversation.filter(|_| REPLIES.iter().any(|end| path.ends_with(end)))
        else {
            if socket.write_all(NOT_FOUND).await.is_err() {
                return;
            }
            continue;
        };
        let delivery = conversation.respond(&body);
        let (end, ending) = delivery.cut.unwrap_or((delivery.response.bytes.len(), Ending::Fin));
        // Half of the cut replies arrive at once with their end, the others event by event.
        let pauses = if end % 2 == 0 { delivery.response.ends.as_slice() } else { &[] };
        let mut sent = 0;
        for stop in pauses.iter().copied().filter(|stop| *stop < end).chain([end]) {
            let Some(part) = delivery.response.bytes.get(sent..stop) else { return };
            if socket.write_all(part).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
            sent = stop;
        }
        match (delivery.cut, ending) {
            (None, _) if conversation.framing == super::response::Framing::Chunked => {}
            (_, Ending::Fin) => {
                let _ = socket.shutdown().await;
                return;
            }
            (_, Ending::Reset) => {
                let _ = socket.set_zero_linger();
                return;
            }
            (_, Ending::Silence) => {
                conversation.observed().is_silent = true;
                let _ = socket.read(&mut [0]).await;
                return;
            }
        }
    }
}

/// Reads a request with a length. Returns its path and body, or `None` at the end of the connection.
async fn read_request(socket: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(bytes.get(..head)?).into_owned();
    let mut lines = text.lines();
    let path = lines.next()?.split(' ').nth(1)?.split('?').next()?.to_owned();
    let mut lengths = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let length: usize = lengths.next_back().unwrap_or_default();
    while bytes.len() < head + 4 + length {
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = bytes.get(head + 4..)?;
    Some((path, String::from_utf8_lossy(body).into_owned()))
}
