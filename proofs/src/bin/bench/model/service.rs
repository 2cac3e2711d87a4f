//! A minimal streaming server that sends the same frames in response to every request.
//!
//! It runs on its own thread with blocking sockets and no async runtime, so that it takes no CPU time from
//! the reader.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use lariat_proofs::server::{Wire, render};

/// Bytes of a large write: what a buffering proxy forwards at once.
const LARGE: usize = 64 * 1024;

/// How frames are written to the connection. Each frame is an HTTP chunk of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// One write per frame.
    Single,
    /// Many frames in one write.
    Large,
}

/// A running server. Its thread ends with the process.
pub(crate) struct Service {
    pub(super) address: SocketAddr,
    /// When the first byte of the last body was written, in nanoseconds since `origin`.
    first_byte: Arc<AtomicU64>,
    origin: Instant,
}

impl Service {
    pub(crate) fn start(wire: Wire, frames: &[Vec<u8>], delivery: Delivery) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\n\r\n",
            render::content_type(wire)
        );
        let writes = writes(frames, delivery);
        let (first_byte, origin) = (Arc::new(AtomicU64::new(0)), Instant::now());
        let stamp = Arc::clone(&first_byte);
        std::thread::spawn(move || {
            // One thread per connection: a client that keeps its connection open must not block others.
            let answer = Arc::new((head, writes, stamp));
            for connection in listener.incoming().flatten() {
                let answer = Arc::clone(&answer);
                std::thread::spawn(move || {
                    let (head, writes, stamp) = &*answer;
                    // The server ignores clients that disconnect early.
                    let _ = serve(&connection, head, writes, stamp, origin);
                });
            }
        });
        Ok(Self { address, first_byte, origin })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Nanoseconds between the write of the last body's first byte and `at`.
    pub(super) fn since_first_byte(&self, at: Instant) -> f64 {
        at.duration_since(self.origin).as_nanos() as f64 - self.first_byte.load(Ordering::Acquire) as f64
    }
}

fn writes(frames: &[Vec<u8>], delivery: Delivery) -> Vec<Vec<u8>> {
    let chunk = |frame: &Vec<u8>| {
        [format!("{:x}\r\n", frame.len()).as_bytes(), frame.as_slice(), b"\r\n".as_slice()].concat()
    };
    let mut chunks: Vec<Vec<u8>> = frames.iter().map(chunk).collect();
    chunks.push(b"0\r\n\r\n".to_vec());
    if delivery == Delivery::Single {
        return chunks;
    }
    let mut large: Vec<Vec<u8>> = Vec::new();
    for chunk in chunks {
        match large.last_mut().filter(|open| open.len() < LARGE) {
            Some(open) => open.extend_from_slice(&chunk),
            None => large.push(chunk),
        }
    }
    large
}

fn serve(
    connection: &TcpStream,
    head: &str,
    writes: &[Vec<u8>],
    stamp: &AtomicU64,
    origin: Instant,
) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection);
    let mut writer = connection;
    while take_request(&mut reader)? {
        writer.write_all(head.as_bytes())?;
        let now = u64::try_from(origin.elapsed().as_nanos()).unwrap_or_default();
        stamp.store(now, Ordering::Release);
        for write in writes {
            writer.write_all(write)?;
        }
    }
    Ok(())
}

/// Reads a request with its body. Returns false if the client closed the connection instead.
fn take_request(reader: &mut BufReader<&TcpStream>) -> std::io::Result<bool> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink())?;
    Ok(true)
}

/// Serves every protocol until standard input closes, for readers in other processes. Prints one line per
/// protocol: name, delivery, number of frames, address.
pub(super) fn print_addresses(events: usize) -> Option<bool> {
    let mut services = Vec::new();
    for wire in super::WIRES {
        for (name, delivery) in [("single", Delivery::Single), ("large", Delivery::Large)] {
            let frames = super::frames(wire, events);
            let service = Service::start(wire, &frames, delivery).ok()?;
            println!("{} {name} {} {}", wire.name(), frames.len(), service.url());
            services.push(service);
        }
    }
    println!("end");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).ok()?;
    Some(true)
}
