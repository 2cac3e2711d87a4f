//! Tests proxies of every kind with real handshakes: credentials, tunnels, SOCKS, and proxies with TLS.

use std::sync::{Arc, Mutex};

use lariat_model::http::{ClientConfig, HttpClient, TransportError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::raw_server::{RawServer, ServerAction, answer, drain, post};
use super::routes::{tls_acceptor, tls_server, trusting_client};

/// `Basic` and `me:a word`.
const BASIC: &str = "basic bwu6ysb3b3jk";

fn through(proxy: String) -> ClientConfig {
    let mut config = ClientConfig::default();
    config.proxy = Some(proxy);
    config
}

/// A proxy that makes tunnels, and what clients asked it for.
struct TunnelProxy {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone, Copy)]
enum Handshake {
    Connect,
    /// HTTP CONNECT inside TLS.
    SecureConnect,
    Socks,
}

impl TunnelProxy {
    /// Starts a proxy whose tunnels all lead to `target` on this machine.
    async fn start(handshake: Handshake, target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let record = Arc::clone(&record);
                tokio::spawn(async move {
                    match handshake {
                        Handshake::Connect => connect(stream, target, &record).await,
                        Handshake::Socks => socks(stream, target, &record).await,
                        Handshake::SecureConnect => {
                            let stream = tls_acceptor(&[b"h2", b"http/1.1"]).accept(stream).await.unwrap();
                            assert_eq!(stream.get_ref().1.alpn_protocol(), None);
                            connect(stream, target, &record).await;
                        }
                    }
                });
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn connect(mut stream: impl AsyncRead + AsyncWrite + Unpin, target: u16, record: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    record.lock().unwrap().push(String::from_utf8(head).unwrap().to_ascii_lowercase());
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
    relay(stream, target).await;
}

/// SOCKS 5 (RFC 1928) with user and password (RFC 1929).
async fn socks(mut stream: TcpStream, target: u16, record: &Mutex<Vec<String>>) {
    let text = async |stream: &mut TcpStream| {
        let length = stream.read_u8().await.unwrap();
        let mut bytes = vec![0; length.into()];
        stream.read_exact(&mut bytes).await.unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    assert_eq!(stream.read_u8().await.unwrap(), 5);
    let methods = text(&mut stream).await;
    assert_eq!(methods.as_bytes(), [2], "user and password");
    stream.write_all(&[5, 2]).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), 1);
    let (user, password) = (text(&mut stream).await, text(&mut stream).await);
    let is_known = (user.as_str(), password.as_str()) == ("me", "a word");
    stream.write_all(&[1, u8::from(!is_known)]).await.unwrap();
    if !is_known {
        return;
    }
    let mut head = [0; 4];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(head[..3], [5, 1, 0]);
    let host = match head[3] {
        1 => std::net::Ipv4Addr::from(stream.read_u32().await.unwrap()).to_string(),
        4 => std::net::Ipv6Addr::from(stream.read_u128().await.unwrap()).to_string(),
        _ => text(&mut stream).await,
    };
    let port = stream.read_u16().await.unwrap();
    record.lock().unwrap().push(format!("{host} {port}"));
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    relay(stream, target).await;
}

async fn relay(mut stream: impl AsyncRead + AsyncWrite + Unpin, target: u16) {
    let mut onward = TcpStream::connect(("127.0.0.1", target)).await.unwrap();
    let _ = tokio::io::copy_bidirectional(&mut stream, &mut onward).await;
}

#[tokio::test]
async fn credentials_of_a_proxy_are_sent_to_it_with_plain_requests_and_tunnels() {
    let proxy = RawServer::start(|number| match number {
        0 => ServerAction::Keep(answer("200 OK", "", b"done")),
        _ => ServerAction::Close(answer("407 Proxy Authentication Required", "", b"")),
    })
    .await;
    let client = HttpClient::new(through(proxy.url("").replace("://", "://me:a%20word@")));
    drain(post(&client, "http://model.example/v1").await.unwrap()).await;
    let error = post(&client, "https://model.example/v1").await.unwrap_err();
    assert!(matches!(&error, TransportError::Broken(text) if text.contains("authorization")), "{error}");
    for request in proxy.requests() {
        assert!(
            request.to_ascii_lowercase().contains(&format!("proxy-authorization: {BASIC}\r\n")),
            "{request}"
        );
        assert!(request.to_ascii_lowercase().contains("user-agent: lariat/"), "{request}");
    }
}

#[tokio::test]
async fn servers_behind_a_tunnel_get_no_credentials_and_speak_http_2() {
    for (handshake, scheme) in [(Handshake::Connect, "http"), (Handshake::SecureConnect, "https")] {
        let server = tls_server(&[b"h2", b"http/1.1"]).await;
        let proxy = TunnelProxy::start(handshake, server).await;
        let client = trusting_client(through(format!("{scheme}://me:a%20word@localhost:{}", proxy.port)));
        let incoming = post(&client, "https://localhost:8443/").await.unwrap();
        assert_eq!(drain(incoming).await.0, b"HTTP/2.0", "{scheme}");
        let asked = proxy.asked();
        assert!(asked[0].starts_with("connect localhost:8443 http/1.1\r\n"), "{asked:?}");
        assert!(asked[0].contains(&format!("proxy-authorization: {BASIC}\r\n")), "{asked:?}");
    }
    let server = RawServer::start(|_| ServerAction::Keep(answer("200 OK", "", b"done"))).await;
    let proxy = TunnelProxy::start(Handshake::Socks, server.address.port()).await;
    let client = HttpClient::new(through(format!("socks5h://me:a%20word@127.0.0.1:{}", proxy.port)));
    drain(post(&client, "http://model.example/v1").await.unwrap()).await;
    let request = server.requests().remove(0).to_ascii_lowercase();
    assert!(request.starts_with("post /v1 http/1.1\r\n") && !request.contains("authorization"), "{request}");
}

#[tokio::test]
async fn certificate_of_the_server_is_checked_inside_a_tunnel() {
    let server = tls_server(&[b"h2"]).await;
    let proxy = TunnelProxy::start(Handshake::Connect, server).await;
    let client = trusting_client(through(format!("http://127.0.0.1:{}", proxy.port)));
    let error = post(&client, "https://other.example/").await.unwrap_err();
    assert!(matches!(&error, TransportError::Impossible(text) if text.contains("certificate")), "{error}");
}

#[tokio::test]
async fn socks_proxy_resolves_names_only_if_its_scheme_says_so() {
    let server = RawServer::start(|_| ServerAction::Keep(answer("200 OK", "", b"done"))).await;
    let secure = tls_server(&[b"h2"]).await;
    for (scheme, url, target, expected) in [
        ("socks5h", "http://model.example/", server.address.port(), "model.example 80"),
        ("socks5", "http://127.0.0.1:81/", server.address.port(), "127.0.0.1 81"),
        ("socks5h", "https://localhost/", secure, "localhost 443"),
    ] {
        let proxy = TunnelProxy::start(Handshake::Socks, target).await;
        let client = trusting_client(through(format!("{scheme}://me:a%20word@127.0.0.1:{}", proxy.port)));
        let (_, error) = drain(post(&client, url).await.unwrap()).await;
        assert_eq!((proxy.asked(), error), (vec![expected.to_owned()], None));
    }
    let proxy = TunnelProxy::start(Handshake::Socks, server.address.port()).await;
    let client = HttpClient::new(through(format!("socks5://me:a%20word@127.0.0.1:{}", proxy.port)));
    drain(post(&client, "http://localhost:82/").await.unwrap()).await;
    let asked = proxy.asked().remove(0);
    assert!(["127.0.0.1 82", "::1 82"].contains(&asked.as_str()), "{asked}");
}

#[tokio::test]
async fn wrong_credentials_for_a_socks_proxy_are_an_error_without_them() {
    let proxy = TunnelProxy::start(Handshake::Socks, 9).await;
    let client = HttpClient::new(through(format!("socks5h://me:wrong-word@127.0.0.1:{}", proxy.port)));
    let error = post(&client, "http://model.example/").await.unwrap_err();
    assert!(matches!(error, TransportError::Broken(_)), "{error}");
    assert!(!error.to_string().contains("wrong-word"), "{error}");
}

#[tokio::test]
async fn user_and_password_of_an_address_are_sent_as_a_header() {
    let server = RawServer::start(|_| ServerAction::Keep(answer("200 OK", "", b"done"))).await;
    let client = HttpClient::new(ClientConfig::default());
    drain(post(&client, &server.url("/v1").replace("://", "://me:a%20word@")).await.unwrap()).await;
    let request = server.requests().remove(0).to_ascii_lowercase();
    assert!(request.starts_with("post /v1 http/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("\r\nauthorization: {BASIC}\r\n")), "{request}");
    assert!(!request.contains("@"), "{request}");
}
