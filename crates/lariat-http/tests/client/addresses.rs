//! Tests that a client with an address check connects only to what passed it, on real sockets.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::Request;
use lariat_http::{AddressCheck, ClientConfig, HttpClient, Transport, TransportError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Denies addresses of this machine for every host but `allowed`.
struct OnlyHost(&'static str);

impl AddressCheck for OnlyHost {
    fn check(&self, host: &str, address: IpAddr) -> Result<(), String> {
        if address.is_loopback() && host != self.0 {
            return Err(format!("`{host}` is denied"));
        }
        Ok(())
    }
}

/// Starts a server that answers every request with its first line; also returns the number of connections.
async fn server() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let mut buffer = vec![0; 4096];
            let read = stream.read(&mut buffer).await.unwrap_or_default();
            let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
            let line = request.lines().next().unwrap_or_default();
            let head = format!("HTTP/1.1 200 OK\r\nx-line: {line}\r\nconnection: close\r\n");
            let _ = stream.write_all(format!("{head}content-length: 0\r\n\r\n").as_bytes()).await;
        }
    });
    (port, connections)
}

async fn get(client: &HttpClient, url: String) -> Result<String, TransportError> {
    let response = client.send(Request::get(url).body(Bytes::new()).unwrap()).await?;
    Ok(response.headers["x-line"].to_str().unwrap().to_owned())
}

#[tokio::test]
async fn denied_names_and_addresses_get_no_connection_and_no_retry() {
    let (port, connections) = server().await;
    let client = HttpClient::new(ClientConfig::default()).with_address_check(Arc::new(OnlyHost("allowed")));
    for host in ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"] {
        let error = get(&client, format!("http://{host}:{port}/")).await.unwrap_err();
        let is_denied = matches!(&error, TransportError::Impossible(text) if text.contains("is denied"));
        assert!(is_denied, "{host}: {error}");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
    let client = HttpClient::new(ClientConfig::default()).with_address_check(Arc::new(OnlyHost("127.0.0.1")));
    assert_eq!(get(&client, format!("http://127.0.0.1:{port}/a")).await.unwrap(), "GET /a HTTP/1.1");
    assert!(get(&client, format!("http://localhost:{port}/a")).await.is_err());
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn configured_proxy_is_not_checked_but_hosts_without_proxy_are() {
    let (proxy, connections) = server().await;
    let mut config = ClientConfig::default();
    config.proxy = Some(format!("http://127.0.0.1:{proxy}"));
    config.no_proxy = Some("localhost".to_owned());
    let client = HttpClient::new(config).with_address_check(Arc::new(OnlyHost("allowed")));
    let line = get(&client, "http://page.example/a".to_owned()).await.unwrap();
    assert_eq!(line, "GET http://page.example/a HTTP/1.1");
    // Also if the target is the proxy itself.
    assert!(get(&client, format!("http://localhost:{proxy}/")).await.is_err());
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn names_that_are_resolved_here_for_a_socks_proxy_are_checked() {
    let (proxy, _) = server().await;
    let mut config = ClientConfig::default();
    config.proxy = Some(format!("socks5://127.0.0.1:{proxy}"));
    let client = HttpClient::new(config).with_address_check(Arc::new(OnlyHost("allowed")));
    for host in ["localhost", "127.0.0.1"] {
        let error = get(&client, format!("http://{host}/")).await.unwrap_err();
        assert!(error.to_string().contains("is denied"), "{host}: {error}");
    }
}
