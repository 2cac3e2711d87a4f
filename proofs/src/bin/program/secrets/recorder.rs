//! A server besides the model: a collector of telemetry, and services of MCP. It records every byte, and answers with
//! an error that echoes what it received.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A part of a request: where it was, and its bytes.
pub(super) type Part = (String, Vec<u8>);

/// A connection that is silent for longer ends.
const SILENCE: Duration = Duration::from_secs(5);

/// The server. It runs as long as the process.
pub(super) struct Recorder {
    pub(super) address: SocketAddr,
    parts: Arc<Mutex<Vec<Part>>>,
}

impl Recorder {
    pub(super) fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (address, parts) = (listener.local_addr()?, Arc::new(Mutex::new(Vec::new())));
        let seen = Arc::clone(&parts);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || serve(socket, &seen));
            }
        });
        Ok(Self { address, parts })
    }

    /// Everything that was received. The first segment of a request's path names its place.
    pub(super) fn parts(&self) -> Vec<Part> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn serve(mut socket: TcpStream, parts: &Mutex<Vec<Part>>) {
    let _ = socket.set_read_timeout(Some(SILENCE));
    let mut bytes = Vec::new();
    while let Some((head, body)) = read(&mut socket, &mut bytes) {
        let mut lines = head.lines();
        let path = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
        let place = path.trim_start_matches('/').split(['/', '?']).next().unwrap_or_default().to_owned();
        let mut found = vec![(format!("{place}: path"), path.into_bytes())];
        for line in lines {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let name = name.trim().to_ascii_lowercase();
            found.push((format!("{place}: header {name}"), value.as_bytes().to_vec()));
        }
        found.push((format!("{place}: body"), body));
        parts.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        let is_collector = place == "collector";
        let (status, answer) = if is_collector { ("200 OK", "") } else { ("400 Bad Request", head.as_str()) };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        if socket.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads a request: its head, and its body if it has a length.
fn read(socket: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    let mut more = |bytes: &mut Vec<u8>| {
        let mut buffer = [0; 16 * 1024];
        match socket.read(&mut buffer) {
            Ok(0) | Err(_) => None,
            Ok(count) => {
                bytes.extend_from_slice(buffer.get(..count)?);
                Some(())
            }
        }
    };
    let end = loop {
        match bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            Some(at) => break at,
            None => more(bytes)?,
        }
    };
    let head = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
    let mut lengths = head.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = lengths.next_back().unwrap_or_default();
    while bytes.len() < end + 4 + length {
        more(bytes)?;
    }
    let body = bytes.get(end + 4..end + 4 + length)?.to_vec();
    bytes.drain(..end + 4 + length);
    Some((head, body))
}
