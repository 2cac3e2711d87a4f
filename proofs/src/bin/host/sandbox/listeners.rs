//! Listeners on the machine that no sandboxed program may reach.
//!
//! No thread accepts connections while a case runs; the attempts are counted afterwards, from the kernel's
//! queues.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;

use super::super::words_of;

pub(super) struct Listeners {
    tcp: Vec<(&'static str, TcpListener)>,
    udp: Vec<(&'static str, UdpSocket)>,
    streams: Vec<(&'static str, UnixListener)>,
    datagrams: Vec<(&'static str, UnixDatagram)>,
    /// Environment variables through which programs find the listeners.
    pub(super) variables: Vec<(String, String)>,
}

impl Listeners {
    /// Opens all listeners; those with a path are in `place`.
    pub(super) fn open(place: &Path, name: &str) -> Result<Self, String> {
        let text = |path: &Path| path.display().to_string();
        let (stream, datagram) = (place.join("stream"), place.join("datagram"));
        let (hidden_stream, hidden_datagram) = (format!("{name}-stream"), format!("{name}-datagram"));
        let abstracted = |name: &str| SocketAddr::from_abstract_name(name).map_err(words_of);
        let listeners = Self {
            tcp: vec![
                ("TCP4", TcpListener::bind("127.0.0.1:0").map_err(words_of)?),
                ("TCP6", TcpListener::bind("[::1]:0").map_err(words_of)?),
                ("TCPANY", TcpListener::bind("0.0.0.0:0").map_err(words_of)?),
            ],
            udp: vec![
                ("UDP4", UdpSocket::bind("127.0.0.1:0").map_err(words_of)?),
                ("UDP6", UdpSocket::bind("[::1]:0").map_err(words_of)?),
            ],
            streams: vec![
                ("STREAM", UnixListener::bind(&stream).map_err(words_of)?),
                ("ABSTRACT_STREAM", UnixListener::bind_addr(&abstracted(&hidden_stream)?).map_err(words_of)?),
            ],
            datagrams: vec![
                ("DATAGRAM", UnixDatagram::bind(&datagram).map_err(words_of)?),
                (
                    "ABSTRACT_DATAGRAM",
                    UnixDatagram::bind_addr(&abstracted(&hidden_datagram)?).map_err(words_of)?,
                ),
            ],
            variables: Vec::new(),
        };
        listeners.with_variables(vec![
            ("STREAM".to_owned(), text(&stream)),
            ("DATAGRAM".to_owned(), text(&datagram)),
            ("ABSTRACT_STREAM".to_owned(), hidden_stream),
            ("ABSTRACT_DATAGRAM".to_owned(), hidden_datagram),
        ])
    }

    fn with_variables(mut self, mut variables: Vec<(String, String)>) -> Result<Self, String> {
        for (name, listener) in &self.tcp {
            listener.set_nonblocking(true).map_err(words_of)?;
            variables.push(((*name).to_owned(), listener.local_addr().map_err(words_of)?.port().to_string()));
        }
        for (name, socket) in &self.udp {
            socket.set_nonblocking(true).map_err(words_of)?;
            variables.push(((*name).to_owned(), socket.local_addr().map_err(words_of)?.port().to_string()));
        }
        for (_, listener) in &self.streams {
            listener.set_nonblocking(true).map_err(words_of)?;
        }
        for (_, socket) in &self.datagrams {
            socket.set_nonblocking(true).map_err(words_of)?;
        }
        self.variables = variables;
        Ok(self)
    }

    /// The listeners that received a connection or packet since the last call.
    pub(super) fn reached(&self) -> Vec<String> {
        let mut bytes = [0_u8; 2048];
        let mut found: Vec<&str> = Vec::new();
        for (name, listener) in &self.tcp {
            drain(name, || listener.accept().map(drop), &mut found);
        }
        for (name, socket) in &self.udp {
            drain(name, || socket.recv(&mut bytes).map(drop), &mut found);
        }
        for (name, listener) in &self.streams {
            drain(name, || listener.accept().map(drop), &mut found);
        }
        for (name, socket) in &self.datagrams {
            drain(name, || socket.recv(&mut bytes).map(drop), &mut found);
        }
        found.iter().map(|name| format!("the listener {name} was reached")).collect()
    }
}

fn drain<'a>(name: &'a str, mut take: impl FnMut() -> std::io::Result<()>, found: &mut Vec<&'a str>) {
    loop {
        match take() {
            Ok(()) => found.push(name),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
