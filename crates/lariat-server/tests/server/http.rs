//! What other programs see: statuses, content types and the text of streams.

use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::double::{FAILS, Memory, cursor};
use crate::fixture::{Fixture, SOON};

/// Sends a request as text and returns the response as text.
async fn exchange(socket: &Path, head: &str, body: &str) -> String {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let length = body.len();
    let text = format!("{head}\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await.unwrap();
    String::from_utf8(response).unwrap()
}

fn status(response: &str) -> u16 {
    response.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn each_code_has_its_status() {
    let fixture = Fixture::new(Memory::new()).await;
    for (code, expected) in [
        ("not_found", 404),
        ("command_conflict", 409),
        ("already_answered", 409),
        ("digest_mismatch", 409),
        ("wrong_status", 409),
        ("forbidden", 403),
        ("invalid", 400),
        ("unsupported", 501),
        ("owned_elsewhere", 423),
        ("cursor_gone", 410),
        ("unavailable", 503),
        ("damaged", 500),
        ("internal", 500),
        ("teapot", 500),
    ] {
        let id = format!("{FAILS}{code}").replace(' ', "%20");
        let path = format!("GET /v1/sessions/{id} HTTP/1.1");
        let response = exchange(&fixture.place.socket(), &path, "").await;
        assert_eq!(status(&response), expected, "{response}");
        assert!(response.contains("content-type: application/problem+json\r\n"), "{response}");
    }
}

#[tokio::test]
async fn refuses_requests_that_it_cannot_read_with_a_problem() {
    let fixture = Fixture::new(Memory::with_events("s", 1)).await;
    let json = "\r\ncontent-type: application/json";
    for (head, body, expected, message) in [
        ("GET /v1/nothing HTTP/1.1", "", 404, "no such route"),
        ("GET / HTTP/1.1", "", 404, "no such route"),
        ("DELETE /v1/sessions HTTP/1.1", "", 405, "does not accept this method"),
        ("GET /v1/sessions?owner=me HTTP/1.1", "", 400, "unknown field `owner`"),
        ("GET /v1/sessions?limit=x HTTP/1.1", "", 400, "the filter is not valid"),
        ("GET /v1/sessions/%FF HTTP/1.1", "", 400, "the path is not valid"),
        ("GET /v1/sessions/s/log?after=x HTTP/1.1", "", 400, "the cursor is not valid"),
        ("GET /v1/sessions/s/log?follow=1 HTTP/1.1", "", 400, "the query is not valid"),
        ("GET /v1/sessions/s/log?since=1 HTTP/1.1", "", 400, "unknown field `since`"),
        ("GET /v1/sessions/s/log HTTP/1.1\r\nlast-event-id: x", "", 400, "`Last-Event-ID` is not a cursor"),
        ("POST /v1/sessions/s/interrupt HTTP/1.1", "{}", 415, "application/json"),
        (&format!("POST /v1/sessions/s/interrupt HTTP/1.1{json}"), "{", 400, "the body is not valid"),
        (&format!("POST /v1/sessions/s/interrupt HTTP/1.1{json}"), "{}", 400, "missing field `id`"),
    ] {
        let response = exchange(&fixture.place.socket(), head, body).await;
        assert_eq!(status(&response), expected, "{head}: {response}");
        assert!(response.contains("content-type: application/problem+json\r\n"), "{head}: {response}");
        assert!(response.contains(message), "{head}: {response}");
    }
}

#[tokio::test]
async fn refuses_a_body_above_the_limit_before_and_while_it_arrives() {
    let fixture = Fixture::new(Memory::new()).await;
    let says_so = format!("content-length: {}\r\n\r\n", (64 << 20) + 1);
    refuses_body(&fixture.place.socket(), &says_so, 0).await;
    let chunk = format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n", 65 << 20);
    refuses_body(&fixture.place.socket(), &chunk, 64 << 20).await;
}

/// Sends a head and a part of a body, and reads the refusal.
async fn refuses_body(socket: &Path, rest: &str, part: usize) {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let head = format!("POST /v1/sessions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{rest}");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b' '; part]).await.unwrap();
    // One byte too many.
    let _ = stream.write_all(b" ").await;
    let mut response = [0; 1024];
    let length = tokio::time::timeout(SOON, stream.read(&mut response)).await.unwrap().unwrap();
    let response = String::from_utf8_lossy(&response[..length]).into_owned();
    assert_eq!(status(&response), 413, "{response}");
    assert!(response.contains("larger than 64 MiB"), "{response}");
}

#[tokio::test]
async fn short_routes_send_the_command_that_they_name() {
    let fixture = Fixture::new(Memory::with_events("s", 1)).await;
    let remote = fixture.remote();
    for (route, body, action) in [
        (
            "prompts",
            r#"{"id":"c1","client":"t","content":[{"type":"text","text":"hi"}],"delivery":"steer"}"#,
            r#"{"type":"prompt","content":[{"type":"text","text":"hi"}],"delivery":"steer"}"#,
        ),
        ("interrupt", r#"{"id":"c2","client":"t"}"#, r#"{"type":"interrupt"}"#),
        (
            "asks/a%2F1",
            r#"{"id":"c3","client":"t","digest":"d","answer":{"kind":"decline"}}"#,
            r#"{"type":"answer","ask_id":"a/1","digest":"d","answer":{"kind":"decline"}}"#,
        ),
    ] {
        let head = format!("POST /v1/sessions/s/{route} HTTP/1.1\r\ncontent-type: application/json");
        let response = exchange(&fixture.place.socket(), &head, body).await;
        assert_eq!(status(&response), 200, "{response}");
        // The same command by its full name is the same one, so it is not a conflict.
        let id = body[7..9].to_owned();
        let command = format!(r#"{{"id":"{id}","client":"t","action":{action}}}"#);
        let command = serde_json::from_str(&command).unwrap();
        let receipt = lariat_api::Sessions::send(&remote, &"s".into(), command).await.unwrap();
        assert_eq!(receipt.command_id.as_str(), id);
    }
    assert_eq!(fixture.memory.applied.load(std::sync::atomic::Ordering::SeqCst), 3);
}

#[tokio::test]
async fn log_has_cursors_as_ids_and_honours_the_last_one() {
    let fixture = Fixture::new(Memory::with_events("s", 3)).await;
    // The header is newer than the query: a browser that connects again repeats its first address.
    let head = format!("GET /v1/sessions/s/log?after={} HTTP/1.1\r\nlast-event-id: {}", cursor(0), cursor(2));
    let response = exchange(&fixture.place.socket(), &head, "").await;
    assert!(response.contains("content-type: text/event-stream\r\n"), "{response}");
    let lines: Vec<&str> =
        response.lines().filter(|line| line.starts_with("id:") || line.starts_with("event:")).collect();
    assert_eq!(lines, ["event: event", "id: g1-3", "event: synced", "id: g1-3", "event: end"]);
}

#[tokio::test]
async fn host_describes_itself() {
    let fixture = Fixture::new(Memory::new()).await;
    let host = fixture.remote().host().await.unwrap();
    assert_eq!((host.version.as_str(), host.pid), ("9.9", std::process::id()));
    assert_eq!((host.protocol, host.running), (1, 3));
}
