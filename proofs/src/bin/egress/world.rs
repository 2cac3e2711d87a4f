//! A network of the proof's own, in which every address of the internet is this machine, with a resolver that can change
//! its answers and a listener that records the address of each connection.
//!
//! Starts this program again inside such a network. Only root can create one.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// All names below this one exist.
pub(crate) const ZONE: &str = "egress.example";
/// A public address: every client may connect to it.
pub(crate) const SITE: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);
/// Ports with a listener.
const PORTS: [u16; 5] = [80, 443, 3000, 4318, 8080];

/// Creates the network, then executes the program. `$1` is a directory for files.
const SCRIPT: &str = r#"
set -e
place=$1; shift
ip link set lo up
ip route add local 0.0.0.0/0 dev lo
ip -6 route add local ::/0 dev lo
printf '127.0.0.1 localhost\n::1 localhost\n' > "$place/hosts"
printf 'nameserver 127.0.0.1\noptions timeout:2 attempts:1\n' > "$place/resolv.conf"
mount --bind "$place/hosts" /etc/hosts
mount --bind "$place/resolv.conf" /etc/resolv.conf
exec "$@"
"#;

/// This program with other arguments, inside a new network.
pub(crate) fn restart_inside(place: &Path) -> Result<Command, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("only root can create a network namespace".to_owned());
    }
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", SCRIPT, "sh"]).arg(place).arg(program);
    Ok(command)
}

/// A connection that was made.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    /// The address that the client connected to.
    pub(crate) peer: IpAddr,
    pub(crate) port: u16,
    /// The first line that it sent.
    pub(crate) line: String,
}

impl std::fmt::Display for Hit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} port {}: {}", self.peer, self.port, self.line)
    }
}

/// The listener and the resolver.
#[derive(Clone, Default)]
pub(crate) struct World {
    hits: Arc<Mutex<Vec<Hit>>>,
    /// How often each name was asked for an IPv4 address.
    asked: Arc<Mutex<HashMap<String, u32>>>,
}

impl World {
    pub(crate) fn open() -> Result<Self, String> {
        let world = Self::default();
        for port in PORTS {
            let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
                .map_err(|error| format!("port {port}: {error}"))?;
            let world = world.clone();
            std::thread::spawn(move || {
                for stream in listener.incoming().filter_map(Result::ok) {
                    let world = world.clone();
                    std::thread::spawn(move || world.serve(stream));
                }
            });
        }
        let socket =
            UdpSocket::bind((Ipv4Addr::LOCALHOST, 53)).map_err(|error| format!("resolver: {error}"))?;
        let answering = world.clone();
        std::thread::spawn(move || answering.resolve(&socket));
        Ok(world)
    }

    /// The connections since the last call.
    pub(crate) fn hits(&self) -> Vec<Hit> {
        std::mem::take(&mut self.hits.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives every name its first address again.
    pub(crate) fn forget_queries(&self) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn serve(&self, mut stream: TcpStream) {
        let Ok(local) = stream.local_addr() else { return };
        let at = {
            // Recorded before anything is read, because the connection alone is a fault.
            let mut hits = self.hits.lock().unwrap_or_else(PoisonError::into_inner);
            hits.push(Hit { peer: local.ip().to_canonical(), port: local.port(), line: String::new() });
            hits.len() - 1
        };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
        let mut head = Vec::new();
        let mut byte = [0_u8; 1024];
        while !head.windows(4).any(|window| window == b"\r\n\r\n") && head.len() < 64 * 1024 {
            match stream.read(&mut byte) {
                Ok(0) | Err(_) => break,
                Ok(count) => head.extend_from_slice(byte.get(..count).unwrap_or_default()),
            }
        }
        let text = String::from_utf8_lossy(&head).into_owned();
        let line = text.lines().next().unwrap_or_default().to_owned();
        let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
        if let Some(hit) = self.hits.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
            hit.line = line;
        }
        let _ = stream.write_all(answer(&path).as_bytes());
        let _ = stream.flush();
        // A client that still sends its body must not get a reset instead of the answer.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        while matches!(stream.read(&mut byte), Ok(count) if count > 0) {}
    }

    fn resolve(&self, socket: &UdpSocket) {
        let mut packet = [0_u8; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut packet) {
            let query = packet.get(..length).unwrap_or_default();
            if let Some(reply) = self.reply(query) {
                let _ = socket.send_to(&reply, from);
            }
        }
    }

    /// The answer to a query: the addresses in the name, or "no such name".
    fn reply(&self, query: &[u8]) -> Option<Vec<u8>> {
        let (name, kind, end) = question(query)?;
        let label = name.strip_suffix(ZONE).and_then(|rest| rest.strip_suffix('.'));
        let addresses = label.and_then(|label| self.addresses(label, kind));
        let mut reply = query.get(..end)?.to_vec();
        // A response of an authority, with recursion; 3 is "no such name".
        let code = if addresses.is_some() { 0x80 } else { 0x83 };
        let addresses = addresses.unwrap_or_default();
        for (at, byte) in
            [(2, 0x85), (3, code), (6, 0), (7, addresses.len() as u8), (8, 0), (9, 0), (10, 0), (11, 0)]
        {
            *reply.get_mut(at)? = byte;
        }
        for address in addresses {
            // The name of the question, class IN, no time to live.
            reply.extend_from_slice(&[0xc0, 12]);
            match address {
                IpAddr::V4(v4) => {
                    reply.extend_from_slice(&[0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
                    reply.extend_from_slice(&v4.octets());
                }
                IpAddr::V6(v6) => {
                    reply.extend_from_slice(&[0, 28, 0, 1, 0, 0, 0, 0, 0, 16]);
                    reply.extend_from_slice(&v6.octets());
                }
            }
        }
        Some(reply)
    }

    /// The addresses of a label: `v4-10-0-0-1`, `v6-` and 32 digits, `both-` and `flip-` with two IPv4 addresses: both at
    /// once, or the first one once and then the second.
    fn addresses(&self, label: &str, kind: Kind) -> Option<Vec<IpAddr>> {
        let (way, rest) = label.split_once('-')?;
        if way == "v6" {
            let v6 = u128::from_str_radix(rest.get(..32)?, 16).ok()?;
            return Some(if kind == Kind::V6 { vec![Ipv6Addr::from(v6).into()] } else { Vec::new() });
        }
        let numbers: Vec<u8> = rest.split('-').map_while(|part| part.parse().ok()).collect();
        let found: Vec<IpAddr> = numbers
            .chunks_exact(4)
            .map(|octets| <[u8; 4]>::try_from(octets).unwrap_or_default().into())
            .collect();
        if kind == Kind::V6 {
            return Some(Vec::new());
        }
        match way {
            "v4" | "both" => Some(found),
            "flip" => {
                let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
                let count = asked.entry(label.to_owned()).or_default();
                *count += 1;
                let at = usize::from(*count > 1);
                found.get(at).map(|address| vec![*address])
            }
            _ => None,
        }
    }
}

/// The kind of address that a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    V4,
    V6,
}

/// The name and kind of a query, and where the question ends.
fn question(query: &[u8]) -> Option<(String, Kind, usize)> {
    let mut at = 12;
    let mut labels = Vec::new();
    loop {
        let length = usize::from(*query.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(query.get(at..at + length)?).to_ascii_lowercase());
        at += length;
    }
    let kind = match query.get(at..at + 2)? {
        [0, 28] => Kind::V6,
        _ => Kind::V4,
    };
    Some((labels.join("."), kind, at + 4))
}

/// What the site replies: a redirect for `/redirect/STATUS/DIGITS`, whose digits are the target in hexadecimal.
fn answer(path: &str) -> String {
    let redirect = path.strip_prefix("/redirect/").and_then(|rest| {
        let (status, digits) = rest.split_once('/')?;
        let digits = digits.split(['?', '/']).next()?;
        let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        let target: Vec<u8> = (0..digits.len()).step_by(2).filter_map(byte).collect();
        Some((status.to_owned(), String::from_utf8(target).ok()?))
    });
    let (status, extra) = match redirect {
        Some((status, target)) => (status, format!("Location: {target}\r\n")),
        None => ("200".to_owned(), String::new()),
    };
    let head = format!("HTTP/1.1 {status} Said\r\n{extra}Content-Type: text/plain\r\n");
    format!("{head}Content-Length: 3\r\nConnection: close\r\n\r\nok\n")
}

/// An address of the site that redirects to `target`.
pub(crate) fn redirect(status: u16, target: &str) -> String {
    let digits: String = target.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("http://{SITE}/redirect/{status}/{digits}")
}
