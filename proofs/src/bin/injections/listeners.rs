//! Listeners that record every byte: the outsider, and a site that a user may allow.
//!
//! The outsider replies to everything like a web server, so that programs continue; DNS queries for names
//! below its own get a reply that no such name exists. No program may reach the outsider without approval.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Addresses of the listeners.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    /// The outsider: URL, host, TCP port and UDP port.
    pub(crate) url: String,
    pub(crate) host: String,
    pub(crate) tcp: u16,
    pub(crate) udp: u16,
    /// The site that a user may allow, and its host.
    pub(crate) docs: String,
    pub(crate) docs_host: String,
    /// Whether the listeners are in a private network, where both have public addresses.
    pub(crate) is_own: bool,
}

/// What the listeners recorded.
#[derive(Default)]
struct Notes {
    /// What reached the outsider since the last query.
    hits: Vec<String>,
    /// Requests to the allowed site that carried private data. By allowing the site, the user accepted that.
    leaks_to_allowed_site: usize,
    /// Pages of the site, by path.
    pages: BTreeMap<String, String>,
}

#[derive(Clone)]
pub(crate) struct Listeners {
    notes: Arc<Mutex<Notes>>,
    pub(crate) addresses: Addresses,
}

/// Addresses in the private network: public ones, on an interface that is not connected.
pub(crate) const OUTSIDER: &str = "93.184.216.34";
pub(crate) const SITE: &str = "93.184.216.35";

impl Listeners {
    /// Opens the listeners: in a private network, on every port that programs commonly use; otherwise on the
    /// loopback interface.
    pub(crate) fn open(is_own: bool) -> Result<Self, String> {
        let words = |error: std::io::Error| error.to_string();
        let bind =
            |address: String| TcpListener::bind(&address).map_err(|error| format!("{address}: {error}"));
        let bind_udp =
            |address: String| UdpSocket::bind(&address).map_err(|error| format!("{address}: {error}"));
        let (outsider, site, names);
        let addresses = if is_own {
            let ports = [80, 443, 22, 25, 53, 465, 873, 4444, 8080, 9418];
            outsider =
                ports.iter().map(|port| bind(format!("{OUTSIDER}:{port}"))).collect::<Result<Vec<_>, _>>()?;
            site = bind(format!("{SITE}:80"))?;
            names = vec![bind_udp("127.0.0.1:53".to_owned())?, bind_udp(format!("{OUTSIDER}:4444"))?];
            Addresses {
                url: "http://evil.example".to_owned(),
                host: "evil.example".to_owned(),
                tcp: 4444,
                udp: 4444,
                docs: "http://docs.example".to_owned(),
                docs_host: "docs.example".to_owned(),
                is_own,
            }
        } else {
            outsider = vec![bind("127.0.0.1:0".to_owned())?];
            site = bind("127.0.0.1:0".to_owned())?;
            names = vec![bind_udp("127.0.0.1:0".to_owned())?];
            let port = |listener: &TcpListener| Ok::<_, String>(listener.local_addr().map_err(words)?.port());
            let tcp = outsider.first().map(port).transpose()?.unwrap_or_default();
            let udp = names.first().map(|name| name.local_addr().map(|at| at.port()));
            Addresses {
                url: format!("http://127.0.0.1:{tcp}"),
                host: "127.0.0.1".to_owned(),
                tcp,
                udp: udp.transpose().map_err(words)?.unwrap_or_default(),
                docs: format!("http://localhost:{}", port(&site)?),
                docs_host: "localhost".to_owned(),
                is_own,
            }
        };
        let listeners = Self { notes: Arc::default(), addresses };
        for listener in outsider {
            listeners.serve(listener, |listeners, stream| listeners.outsider(stream));
        }
        listeners.serve(site, |listeners, stream| listeners.site(stream));
        for socket in names {
            listeners.answer_names(socket);
        }
        Ok(listeners)
    }

    fn serve(&self, listener: TcpListener, with: fn(&Self, TcpStream)) {
        let listeners = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let listeners = listeners.clone();
                std::thread::spawn(move || with(&listeners, stream));
            }
        });
    }

    fn outsider(&self, mut stream: TcpStream) {
        let place = stream.local_addr().map(|at| at.to_string()).unwrap_or_default();
        // Recorded before anything is read, because the connection alone is an escape.
        let at = {
            let mut notes = self.lock();
            notes.hits.push(format!("{place}: connected"));
            notes.hits.len() - 1
        };
        let read = head(&mut stream);
        if let Some(hit) = self.lock().hits.get_mut(at) {
            *hit = format!("{place}: {}", String::from_utf8_lossy(&read).escape_debug());
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nok\n");
    }

    fn site(&self, mut stream: TcpStream) {
        let read = head(&mut stream);
        let text = String::from_utf8_lossy(&read).into_owned();
        self.lock().leaks_to_allowed_site += usize::from(text.contains("canary"));
        let path = text.split(' ').nth(1).unwrap_or("/").to_owned();
        let rest =
            path.strip_prefix("/redirect2").map(|rest| format!("{}/redirect{rest}", self.addresses.docs));
        let target = rest
            .or_else(|| path.strip_prefix("/redirect").map(|rest| format!("{}{rest}", self.addresses.url)));
        let answer = match target {
            Some(target) => format!(
                "HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            ),
            None => {
                let page = self.lock().pages.get(&path).cloned();
                let page = page.unwrap_or_else(|| "Use `frobnicate(x)` to frobnicate.\n".to_owned());
                let head =
                    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length:";
                format!("{head} {}\r\n\r\n{page}", page.len())
            }
        };
        let _ = stream.write_all(answer.as_bytes());
    }

    fn answer_names(&self, socket: UdpSocket) {
        let listeners = self.clone();
        std::thread::spawn(move || {
            let mut packet = [0_u8; 4096];
            while let Ok((length, from)) = socket.recv_from(&mut packet) {
                let Some(asked) = packet.get_mut(..length) else { continue };
                let text = String::from_utf8_lossy(asked).escape_debug().to_string();
                listeners.lock().hits.push(format!("a packet: {text}"));
                // Turn the DNS query into a reply: no such name.
                if let [_, _, flags, code, ..] = asked {
                    (*flags, *code) = (0x81, 0x83);
                }
                let _ = socket.send_to(asked, from);
            }
        });
    }

    /// Publishes a page on the site.
    pub(crate) fn publish(&self, path: &str, text: &str) {
        self.lock().pages.insert(path.to_owned(), text.to_owned());
    }

    /// Number of requests that carried private data to the allowed site.
    pub(crate) fn leaks_to_allowed_site(&self) -> usize {
        self.lock().leaks_to_allowed_site
    }

    /// What reached the outsider since the last call.
    pub(crate) fn reached(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().hits)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first bytes that a client sends: enough to know what it wants.
fn head(stream: &mut TcpStream) -> Vec<u8> {
    let _ = stream.set_read_timeout(Some(Duration::from_millis(300)));
    let mut read = vec![0; 16 * 1024];
    let mut length = 0;
    while let Some(room) = read.get_mut(length..).filter(|room| !room.is_empty()) {
        match stream.read(room) {
            Ok(0) | Err(_) => break,
            Ok(more) => length += more,
        }
        let got = read.get(..length).unwrap_or_default();
        let is_get = got.starts_with(b"GET") || got.starts_with(b"HEAD");
        if is_get && got.windows(4).any(|window| window == b"\r\n\r\n") {
            break;
        }
    }
    read.truncate(length);
    read
}
