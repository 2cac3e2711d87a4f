//! Tests `fetch` with a local server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lariat_tools::{OutgoingHttp, Workbench};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::fixture::Fixture;

/// Starts a server that responds by path; also returns the number of requests.
pub(crate) async fn server() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            let mut buffer = vec![0; 8_192];
            let read = stream.read(&mut buffer).await.unwrap_or_default();
            let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default();
            // A proxy gets the whole address.
            let path = path.strip_prefix("http://page.invalid").unwrap_or(path).to_owned();
            let _ = stream.write_all(&answer(&path, port)).await;
            if path == "/hangs" {
                tokio::time::sleep(std::time::Duration::from_secs(60)).await;
            }
        }
    });
    (port, asked)
}

fn answer(path: &str, port: u16) -> Vec<u8> {
    let page = |status: &str, headers: &str, body: &str| {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}")
            .into_bytes()
    };
    let html = "content-type: text/html\r\n";
    match path {
        "/page" => page("200 OK", html, "<h1>Hello</h1><p>there</p>"),
        "/long" => page("200 OK", "content-type: text/plain\r\n", &"a line of text\n".repeat(10_000)),
        "/huge" => page("200 OK", "content-type: text/plain\r\n", &"a line of text\n".repeat(500_000)),
        "/image" => page("200 OK", "content-type: image/png\r\n", "PNG"),
        "/moved" => page("302 Found", "location: /page\r\n", ""),
        "/around" => page("302 Found", "location: /around\r\n", ""),
        "/inside" => page("302 Found", &format!("location: http://localhost:{port}/page\r\n"), ""),
        "/metadata" => page("302 Found", "location: http://169.254.169.254/latest\r\n", ""),
        "/file" => page("302 Found", "location: file:///etc/passwd\r\n", ""),
        "/hangs" => b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_vec(),
        _ => page("404 Not Found", html, "<p>no such page</p>"),
    }
}

fn fixture() -> Fixture {
    Fixture::with(|bench: Workbench| bench.with_internal_host("127.0.0.1"))
}

#[tokio::test]
async fn fetches_a_page_through_redirects_as_markdown() {
    let (port, _) = server().await;
    let fixture = fixture();
    let at = |path: &str| json!({ "url": format!("http://127.0.0.1:{port}{path}") });
    for path in ["/page", "/moved"] {
        let text = fixture.text("fetch", at(path)).await;
        assert_eq!(text, format!("http://127.0.0.1:{port}/page (200, text/html)\n\n# Hello\n\nthere"));
    }
    assert!(fixture.error("fetch", at("/around")).await.contains("More than 5 redirects"));
    assert!(fixture.error("fetch", at("/image")).await.contains("not text but `image/png`"));
    let missing = fixture.error("fetch", at("/missing")).await;
    assert!(missing.contains("404") && missing.contains("no such page"), "{missing}");
}

#[tokio::test]
async fn cuts_and_recalls_a_long_page_and_limits_a_huge_one() {
    let (port, _) = server().await;
    let fixture = fixture();
    let at = |path: &str| json!({ "url": format!("http://127.0.0.1:{port}{path}") });
    let long = fixture.call("fetch", at("/long")).await.unwrap();
    assert!(crate::fixture::text(&long).len() < 34_000);
    let id = long.details["output_id"].as_str().unwrap();
    let part = fixture.text("recall", json!({ "id": id, "offset": 9_999 })).await;
    assert!(part.starts_with("a line of text\na line of text\n[End of the output"), "{part}");
    let huge = fixture.call("fetch", at("/huge")).await.unwrap();
    assert_eq!(huge.details["bytes"], 5 * 1024 * 1024);
    assert!(crate::fixture::text(&huge).contains("the rest was not read"));
}

#[tokio::test]
async fn denies_internal_addresses_by_number_and_name() {
    let (port, asked) = server().await;
    let strict = Fixture::new();
    for host in
        ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "127.1", "0"]
    {
        let error = strict.error("fetch", json!({ "url": format!("http://{host}:{port}/page") })).await;
        assert!(error.contains("internal network"), "{host}: {error}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    let fixture = fixture();
    for url in ["file:///etc/passwd", "ftp://example.org/", "http://user:word@example.org/", "no address"] {
        assert!(!fixture.error("fetch", json!({ "url": url })).await.is_empty());
    }
}

#[tokio::test]
async fn uses_an_internal_proxy_but_asks_it_for_no_internal_address() {
    let (port, asked) = server().await;
    let mut egress = OutgoingHttp::default();
    egress.proxy = Some(format!("http://127.0.0.1:{port}"));
    egress.no_proxy = Some("localhost".to_owned());
    let strict = Fixture::with(|bench: Workbench| bench.with_egress(egress));
    let text = strict.text("fetch", json!({ "url": "http://page.invalid/moved" })).await;
    assert_eq!(text, "http://page.invalid/page (200, text/html)\n\n# Hello\n\nthere");
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    // The proxy itself, by its address and past `no_proxy`, and another address of this machine.
    for host in
        [format!("127.0.0.1:{port}"), format!("localhost:{port}"), "127.0.0.2".to_owned(), "[::1]".to_owned()]
    {
        let error = strict.error("fetch", json!({ "url": format!("http://{host}/page") })).await;
        assert!(error.contains("internal network"), "{host}: {error}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}
