//! A minimal HTTP/1.1 server, small enough that tests can make it break the protocol.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::StreamExt;
use http::Request;
use lariat_model::http::{ClientConfig, HttpClient, HttpResponse, Transport, TransportError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the server does after reading a request.
#[derive(Clone)]
pub(crate) enum ServerAction {
    /// Writes this and keeps the connection open.
    Keep(Vec<u8>),
    /// Writes this and closes the connection.
    Close(Vec<u8>),
    /// Writes the first part, and the second when the test continues the server.
    InTwo(Vec<u8>, Vec<u8>),
    /// Writes this, then reports when the client has disconnected.
    WatchFor(Vec<u8>),
}

/// A server on a port of its own.
pub(crate) struct RawServer {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
    /// The head of every request so far.
    pub(crate) heads: Arc<Mutex<Vec<String>>>,
    pub(crate) resume: watch::Sender<bool>,
    pub(crate) disconnected: watch::Receiver<bool>,
}

impl RawServer {
    /// Starts a server that answers the n-th request (from 0) with `action(n)`.
    pub(crate) async fn start(action: impl Fn(usize) -> ServerAction + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (connections, heads): (Arc<AtomicUsize>, Arc<Mutex<Vec<String>>>) = Default::default();
        let ((resume, resumed), (disconnect_sender, disconnected)) =
            (watch::channel(false), watch::channel(false));
        let (action, disconnect_sender) = (Arc::new(action), Arc::new(disconnect_sender));
        let (counter, recorded) = (Arc::clone(&connections), Arc::clone(&heads));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                let (action, recorded, resumed, disconnect_sender) = (
                    Arc::clone(&action),
                    Arc::clone(&recorded),
                    resumed.clone(),
                    Arc::clone(&disconnect_sender),
                );
                tokio::spawn(
                    async move { serve(stream, &*action, &recorded, resumed, &disconnect_sender).await },
                );
            }
        });
        Self { address, connections, heads, resume, disconnected }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    action: &(dyn Fn(usize) -> ServerAction + Send + Sync),
    heads: &Mutex<Vec<String>>,
    mut resumed: watch::Receiver<bool>,
    disconnect_sender: &watch::Sender<bool>,
) {
    while let Some(head) = read_request(&mut stream).await {
        let number = {
            let mut heads = heads.lock().unwrap();
            heads.push(head);
            heads.len() - 1
        };
        match action(number) {
            ServerAction::Keep(bytes) => stream.write_all(&bytes).await.unwrap(),
            ServerAction::Close(bytes) => {
                stream.write_all(&bytes).await.unwrap();
                return;
            }
            ServerAction::InTwo(first, second) => {
                stream.write_all(&first).await.unwrap();
                resumed.wait_for(|resume| *resume).await.unwrap();
                stream.write_all(&second).await.unwrap();
            }
            ServerAction::WatchFor(bytes) => {
                stream.write_all(&bytes).await.unwrap();
                let mut rest = [0; 64];
                while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
                disconnect_sender.send_replace(true);
                return;
            }
        }
    }
}

/// Reads one request including its body and returns its head. Returns `None` if the client closed the
/// connection.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).await.ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(head)
}

/// A response with a `content-length`.
pub(crate) fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The head of a chunked response.
pub(crate) fn chunked(headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{headers}transfer-encoding: chunked\r\n\r\n").into_bytes()
}

/// One chunk of a chunked body.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// A client with the default configuration.
pub(crate) fn client() -> HttpClient {
    HttpClient::new(ClientConfig::default())
}

pub(crate) async fn post(client: &HttpClient, url: &str) -> Result<HttpResponse, TransportError> {
    client.send(Request::post(url).body(Bytes::from_static(b"{}")).unwrap()).await
}

/// Reads the whole body; returns it with the error that ended it, if any.
pub(crate) async fn drain(incoming: HttpResponse) -> (Vec<u8>, Option<TransportError>) {
    let (mut body, mut read) = (incoming.body, Vec::new());
    while let Some(next) = body.next().await {
        match next {
            Ok(bytes) => read.extend_from_slice(&bytes),
            Err(error) => return (read, Some(error)),
        }
    }
    (read, None)
}
