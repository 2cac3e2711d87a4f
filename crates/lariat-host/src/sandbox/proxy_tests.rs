use std::sync::Mutex;

use super::*;

fn asked(head: &str) -> Option<(String, u16, bool)> {
    parse(head.as_bytes(), b"").map(|request| (request.host, request.port, request.tunnel))
}

#[test]
fn parses_connection_requests() {
    assert_eq!(asked("CONNECT a.b:443 HTTP/1.1\r\n\r\n"), Some(("a.b".into(), 443, true)));
    assert_eq!(asked("CONNECT [::1]:443 HTTP/1.1\r\n\r\n"), Some(("::1".into(), 443, true)));
    assert_eq!(asked("GET http://a.b/x HTTP/1.1\r\nHost: a.b\r\n\r\n"), Some(("a.b".into(), 80, false)));
    assert_eq!(asked("GET http://a.b:8080 HTTP/1.1\r\n\r\n"), Some(("a.b".into(), 8080, false)));
    let bad = [
        "CONNECT a.b HTTP/1.1\r\n\r\n",
        "CONNECT a.b:443 x HTTP/1.1\r\n\r\n",
        "CONNECT a.b\0.evil.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT user@a.b:443 HTTP/1.1\r\n\r\n",
        "CONNECT :443 HTTP/1.1\r\n\r\n",
        "CONNECT a.b:99999 HTTP/1.1\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: a.b\r\n\r\n",
        "GET http://evil.com@a.b/ HTTP/1.1\r\n\r\n",
        "GET https://a.b/ HTTP/1.1\r\n\r\n",
    ];
    for head in bad {
        assert_eq!(asked(head), None, "{head:?}");
    }
}

#[test]
fn forwarded_request_loses_proxy_headers() {
    let head = "GET http://a.b/x?y HTTP/1.1\r\nHost: a.b\r\nProxy-Authorization: k\r\nConnection: keep-alive\r\n\r\n";
    let request = parse(head.as_bytes(), b"body").unwrap();
    let first = String::from_utf8(request.first).unwrap();
    assert_eq!(first, "GET /x?y HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\nbody");
}

/// Sends a request to a proxy with this allow-list; returns the response and the denials.
async fn through(allowed: &[Destination], ask: &str) -> (String, Vec<Denial>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = listener.local_addr().unwrap();
    let denials = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&denials);
    let task = tokio::spawn(serve(listener.into(), allowed.into(), move |denial| {
        noted.lock().unwrap().push(denial);
    }));
    let mut client = TcpStream::connect(proxy).await.unwrap();
    client.write_all(ask.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    task.abort();
    let denials = denials.lock().unwrap().clone();
    (String::from_utf8_lossy(&answer).into_owned(), denials)
}

/// Starts a server that sends the same text to every client.
async fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"hello from inside").await;
        }
    });
    port
}

#[tokio::test]
async fn connects_to_a_listed_address() {
    let port = server().await;
    let list = [Destination::host("127.0.0.1")];
    let (answer, denials) = through(&list, &format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello from inside"), "{answer}");
    assert!(denials.is_empty());
}

#[tokio::test]
async fn denies_and_reports_an_unlisted_host() {
    let port = server().await;
    let list = [Destination::host("example.com")];
    let (answer, denials) = through(&list, &format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 403") && !answer.contains("hello"), "{answer}");
    assert_eq!(denials.first().map(|denial| &denial.rule), Some(&Rule::NotListed));
}

#[tokio::test]
async fn denies_a_listed_name_with_an_internal_address() {
    let port = server().await;
    let list = [Destination::host("localhost")];
    let (answer, denials) = through(&list, &format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 403") && !answer.contains("hello"), "{answer}");
    assert_eq!(denials.first().map(|denial| &denial.rule), Some(&Rule::InternalAddress));
}
