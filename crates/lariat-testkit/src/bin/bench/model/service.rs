//! The smallest server that streams: it answers whatever is asked with the same frames.
//!
//! Owns a thread and a loopback socket. Blocking and without a runtime, so that it costs the reader's processor nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use lariat_testkit::server::{Wire, render};

/// Bytes of a large write: what a proxy that buffers hands over at once.
const LARGE: usize = 64 * 1024;

/// How frames are put on the wire. Each is an HTTP chunk of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// A write for each.
    Single,
    /// Many in one write.
    Large,
}

/// A running server. Its thread ends with the process.
pub(crate) struct Service {
    pub(super) address: SocketAddr,
    /// When the first byte of the last body was written, in nanoseconds after `origin`.
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
            // A thread for each: a client that keeps its connection must not keep others out.
            let answer = Arc::new((head, writes, stamp));
            for connection in listener.incoming().flatten() {
                let answer = Arc::clone(&answer);
                std::thread::spawn(move || {
                    let (head, writes, stamp) = &*answer;
                    // A reader that hangs up is no concern of the server's.
                    let _ = serve(&connection, head, writes, stamp, origin);
                });
            }
        });
        Ok(Self { address, first_byte, origin })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Nanoseconds from the write of the last body's first byte to `at`.
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

/// Reads a request with its body; false when the connection was closed instead.
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

/// Serves every protocol until standard input closes, for readers in other processes. Prints a line for each: name,
/// number of frames, address.
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
