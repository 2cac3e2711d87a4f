//! A collector of OTLP spans. It reads of each span its trace, its id, its parent and its name.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::fixture::Fixture;

/// The bodies of all posts to `/v1/traces`.
type Posts = Arc<Mutex<Vec<Vec<u8>>>>;

pub(crate) struct Collector {
    address: String,
    posts: Posts,
}

#[derive(Debug)]
struct ReceivedSpan {
    trace: Vec<u8>,
    id: Vec<u8>,
    /// Empty for a root.
    parent: Vec<u8>,
    name: String,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let posts = Posts::default();
        let received = Arc::clone(&posts);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let received = Arc::clone(&received);
                std::thread::spawn(move || serve(stream, &received));
            }
        });
        Self { address, posts }
    }

    /// Lets the program send its spans here.
    pub(crate) fn receive_from(&self, fixture: &Fixture) {
        let settings = fixture.path("config/lariat/config.toml");
        let base = std::fs::read_to_string(&settings).unwrap();
        std::fs::write(&settings, format!("{base}\n[telemetry]\nendpoint = \"{}\"\n", self.address)).unwrap();
    }

    /// Asserts that all spans are in one trace below a span with this name, and that this many runs are right below it.
    #[track_caller]
    pub(crate) fn assert_one_tree(&self, root: &str, runs: usize) {
        let spans: Vec<ReceivedSpan> =
            self.posts.lock().unwrap().iter().flat_map(|body| spans(body)).collect();
        let roots: Vec<&ReceivedSpan> = spans.iter().filter(|span| span.parent.is_empty()).collect();
        let names: Vec<&str> = roots.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(names, [root], "{spans:#?}");
        assert!(spans.iter().all(|span| span.trace == roots[0].trace), "{spans:#?}");
        let below = spans.iter().filter(|span| span.name == "invoke_agent" && span.parent == roots[0].id);
        assert_eq!(below.count(), runs, "{spans:#?}");
        let has_parent = |span: &ReceivedSpan| spans.iter().any(|other| other.id == span.parent);
        assert!(spans.iter().all(|span| span.parent.is_empty() || has_parent(span)), "{spans:#?}");
    }
}

fn serve(mut stream: TcpStream, posts: &Posts) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut line, mut length) = (String::new(), 0);
        if reader.read_line(&mut line).unwrap_or_default() == 0 {
            return;
        }
        let is_traces = line.starts_with("POST /v1/traces ");
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            match line.trim().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().unwrap();
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        if is_traces {
            posts.lock().unwrap().push(body);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
}

/// The spans of a request: resource spans (1), scope spans (2), spans (2).
fn spans(request: &[u8]) -> Vec<ReceivedSpan> {
    let mut found = Vec::new();
    for resource in values(request, 1) {
        for scope in values(resource, 2) {
            for span in values(scope, 2) {
                let text =
                    |number| values(span, number).first().map(|value| value.to_vec()).unwrap_or_default();
                let name = String::from_utf8(text(5)).unwrap();
                found.push(ReceivedSpan { trace: text(1), id: text(2), parent: text(4), name });
            }
        }
    }
    found
}

/// The values of a field of a protobuf message that have a length.
fn values(mut message: &[u8], wanted: u64) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let key = number(&mut message);
        let length = match key & 7 {
            0 => {
                number(&mut message);
                continue;
            }
            1 => 8,
            2 => usize::try_from(number(&mut message)).unwrap(),
            5 => 4,
            kind => panic!("protobuf has no kind {kind}"),
        };
        let (value, rest) = message.split_at(length);
        if key & 7 == 2 && key >> 3 == wanted {
            found.push(value);
        }
        message = rest;
    }
    found
}

/// Reads a number of variable length.
fn number(message: &mut &[u8]) -> u64 {
    let mut sum = 0;
    for shift in (0..).step_by(7) {
        let (byte, rest) = message.split_first().unwrap();
        *message = rest;
        sum |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    sum
}
