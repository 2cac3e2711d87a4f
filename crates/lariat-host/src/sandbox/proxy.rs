//! The allow-list proxy: the only way to the network from a sandbox whose network is `Only`.
//!
//! It checks the host name of a request, resolves it, checks the addresses, and connects to exactly one of those. It
//! supports HTTP `CONNECT`, and plain HTTP requests that name their host. It never reads the content of a tunnel.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::denial::{Denial, Rule};
use super::policy::{Destination, is_internal};

/// Maximum size of a request head in bytes.
const HEAD: usize = 16 * 1024;
/// Timeout for receiving a request, and for connecting.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum number of connections at a time; further ones wait.
const CONNECTIONS: usize = 256;

/// Serves until the task is aborted.
pub(super) async fn serve(
    listener: OwnedFd,
    allowed: Arc<[Destination]>,
    denied: impl Fn(Denial) + Clone + Send + 'static,
) {
    let listener = std::net::TcpListener::from(listener);
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < CONNECTIONS => {
                let Ok((stream, _)) = accepted else { return };
                let (allowed, denied) = (Arc::clone(&allowed), denied.clone());
                connections.spawn(async move {
                    // An error affects only this client.
                    let _ = handle(stream, &allowed, denied).await;
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// A client's request.
#[derive(Debug, PartialEq, Eq)]
struct ProxyRequest {
    host: String,
    port: u16,
    /// Bytes to forward first; for a tunnel, only what arrived after the head.
    first: Vec<u8>,
    tunnel: bool,
}

async fn handle(mut client: TcpStream, allowed: &[Destination], denied: impl Fn(Denial)) -> io::Result<()> {
    let Ok(head) = tokio::time::timeout(PATIENCE, read_head(&mut client)).await else { return Ok(()) };
    let (head, rest) = head?;
    let Some(request) = parse(&head, &rest) else {
        return respond_with_error(
            &mut client,
            "400 Bad Request",
            "expected CONNECT or an absolute http URL",
        )
        .await;
    };
    let addresses = match admit(&request, allowed).await {
        Ok(addresses) => addresses,
        Err(rule) => {
            let what = format!("connecting to {}:{}", request.host, request.port);
            let denial = Denial::new(what, rule);
            let words = denial.to_string();
            denied(denial);
            return respond_with_error(&mut client, "403 Forbidden", &words).await;
        }
    };
    let connected = tokio::time::timeout(PATIENCE, connect(&addresses)).await;
    let Ok(Ok(mut server)) = connected else {
        return respond_with_error(&mut client, "502 Bad Gateway", "could not connect to the host").await;
    };
    if request.tunnel {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    }
    server.write_all(&request.first).await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

/// Reads the head of a request; also returns what arrived after it.
async fn read_head(client: &mut TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut head = Vec::new();
    loop {
        if let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = head.split_off(end + 4);
            return Ok((head, rest));
        }
        if head.len() > HEAD || client.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

fn parse(head: &[u8], rest: &[u8]) -> Option<ProxyRequest> {
    let head = std::str::from_utf8(head).ok()?;
    let (line, fields) = head.split_once("\r\n")?;
    let mut words = line.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    if method == "CONNECT" {
        let (host, port) = authority(target, None)?;
        return Some(ProxyRequest { host, port, first: rest.to_vec(), tunnel: true });
    }
    let target = target.strip_prefix("http://")?;
    let slash = target.find('/').unwrap_or(target.len());
    let (host, path) = target.split_at(slash);
    let (host, port) = authority(host, Some(80))?;
    let path = if path.is_empty() { "/" } else { path };
    // One request per connection, because the next might name another host.
    let fields: Vec<_> = fields
        .split("\r\n")
        .filter(|field| !field.is_empty())
        .filter(|field| {
            let name = field.split(':').next().unwrap_or_default().to_ascii_lowercase();
            !name.starts_with("proxy-") && name != "connection"
        })
        .collect();
    let mut first =
        format!("{method} {path} HTTP/1.1\r\n{}\r\nConnection: close\r\n\r\n", fields.join("\r\n"))
            .into_bytes();
    first.extend_from_slice(rest);
    Some(ProxyRequest { host, port, first, tunnel: false })
}

/// Parses host and port. A host may only contain characters of names and addresses.
fn authority(text: &str, default: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            (host, port.strip_prefix(':'))
        }
        None => match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) => port.parse().ok()?,
        None => default?,
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
    (!host.is_empty() && host.len() <= 255 && host.bytes().all(plain)).then(|| (host.to_owned(), port))
}

/// Returns the addresses to which a request may be connected.
async fn admit(request: &ProxyRequest, allowed: &[Destination]) -> Result<Vec<SocketAddr>, Rule> {
    if !allowed.iter().any(|destination| destination.admits(&request.host, request.port)) {
        return Err(Rule::NotListed);
    }
    // The user listed this address explicitly, so internal addresses are allowed.
    if let Ok(address) = request.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, request.port)]);
    }
    let found = tokio::net::lookup_host((request.host.as_str(), request.port)).await;
    let found: Vec<_> = found.map(Iterator::collect).unwrap_or_default();
    let outside: Vec<_> = found.iter().filter(|address| !is_internal(address.ip())).copied().collect();
    if outside.is_empty() && !found.is_empty() { Err(Rule::InternalAddress) } else { Ok(outside) }
}

async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::HostUnreachable);
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn respond_with_error(client: &mut TcpStream, status: &str, words: &str) -> io::Result<()> {
    let length = words.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{words}\n"
    );
    client.write_all(answer.as_bytes()).await
}

#[cfg(test)]
#[path = "proxy_tests.rs"]
mod tests;
