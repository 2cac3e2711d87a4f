//! Tests `lariat mcp login` and what a run says about a server that needs a login.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use crate::fixture::{Fixture, last_result, wait};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lariat-connect/tests/mcp/oauth_server.py");

/// A service with a login.
struct Service {
    child: Child,
    port: String,
}

impl Service {
    fn start(behaviour: &str) -> Self {
        let mut child =
            Command::new("python3").args([SERVER, behaviour]).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { child, port: port.trim().to_owned() }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Requests an address of this machine, and returns the response as text.
fn get(address: &str) -> String {
    let rest = address.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn location(response: &str) -> Option<&str> {
    response.lines().find_map(|line| line.strip_prefix("location: "))
}

/// A model that calls the tool of the service and repeats its result.
fn script() -> Script {
    Script::answer(|request| match last_result(&request.body) {
        None => Turn::new().call("toolu_1", "mcp__svc__echo", &json!({})).into(),
        Some((_, text, _)) => Turn::new().text(format!("result: {text}")).into(),
    })
}

async fn fixture(service: &Service) -> Fixture {
    let fixture = Fixture::new(script()).await;
    fixture.run(&["mcp", "add", "svc", "--transport", "http", &service.url()]).expect(0);
    fixture
}

/// Logs in as a user with a browser on this machine.
fn log_in(fixture: &Fixture) -> Value {
    let mut child = fixture.spawn(&["mcp", "login", "svc", "--json"]);
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let address = loop {
        let mut line = String::new();
        assert!(errors.read_line(&mut line).unwrap() > 0, "no address was printed");
        if let Some(at) = line.find("http://127.0.0.1") {
            break line[at..].trim().to_owned();
        }
    };
    let page = get(location(&get(&address)).unwrap());
    assert!(page.contains("You can close this page"), "{page}");
    // The rest of standard error is read, so that the program can write it.
    let reader = std::thread::spawn(move || errors.lines().map_while(Result::ok).count());
    let ran = wait(child).expect(0);
    reader.join().unwrap();
    assert!(!ran.stdout.contains("-token-"), "{}", ran.stdout);
    ran.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_says_that_a_server_needs_a_login_and_uses_the_login() {
    let service = Service::start("plain");
    let fixture = fixture(&service).await;
    let ran = fixture.run(&["run", "go", "--output", "stream-json"]).expect(0);
    assert_eq!(ran.lines()[0]["mcp_servers"], json!([{ "name": "svc", "status": "needs-auth" }]));
    assert!(ran.stderr.contains("needs login: lariat mcp login svc"), "{}", ran.stderr);
    let listed = fixture.run(&["mcp", "list"]).expect(0).stdout;
    assert!(listed.contains("needs login: lariat mcp login svc"), "{listed}");
    let tested = fixture.run(&["mcp", "test", "svc"]).expect(1);
    assert!(tested.stderr.contains("lariat mcp login svc"), "{tested:?}");

    let said = log_in(&fixture);
    assert_eq!((&said["status"], &said["tools"]), (&json!("logged-in"), &json!(1)));
    let keys = fixture.path("state/lariat/keys.json");
    assert_eq!(std::fs::metadata(&keys).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(&keys).unwrap().contains("access-token-"));
    let status = fixture.run(&["auth", "status", "--json"]).expect(0).stdout;
    assert!(!status.contains("mcp.svc"), "{status}");

    let ran = fixture.run(&["run", "go", "--output", "stream-json"]).expect(0);
    assert_eq!(ran.lines()[0]["mcp_servers"][0]["status"], "pending");
    let all = format!("{}{}", ran.stdout, fixture.requests().pop().unwrap().body);
    assert!(all.contains("called with [redacted: login at svc]"), "{all}");
    assert!(!all.contains("access-token-"), "{all}");

    let out = fixture.run(&["mcp", "logout", "svc", "--json"]).expect(0).json();
    assert_eq!(out, json!({ "name": "svc", "status": "logged-out" }));
    assert!(!std::fs::read_to_string(&keys).unwrap().contains("-token-"));
    fixture.run(&["mcp", "logout", "svc"]).expect(1);
    let ran = fixture.run(&["run", "go"]).expect(0);
    assert!(ran.stdout.contains("lariat mcp login svc"), "{ran:?}");
    let listed = fixture.run(&["mcp", "list", "--json"]).expect(0).json();
    assert_eq!(listed[0]["status"], "needs-auth");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_token_is_redacted_too() {
    let service = Service::start("revoked");
    let fixture = fixture(&service).await;
    log_in(&fixture);
    for _ in 0..2 {
        let ran = fixture.run(&["run", "go"]).expect(0);
        assert!(ran.stdout.contains("called with [redacted: login at svc]"), "{ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_and_an_unknown_server_have_no_login() {
    let fixture = Fixture::new(script()).await;
    fixture.run(&["mcp", "add", "mine", "--", "python3"]).expect(0);
    let refused = fixture.run(&["mcp", "login", "mine"]).expect(1);
    assert!(refused.stderr.contains("a program"), "{refused:?}");
    fixture.run(&["mcp", "login", "other"]).expect(2);
    fixture.run(&["mcp", "logout", "other"]).expect(2);
}
