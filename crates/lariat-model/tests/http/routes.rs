//! Tests the route to a server: proxies, certificates, HTTP/2, and that redirects are not followed.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use lariat_model::http::{ClientConfig, HttpClient, TransportError};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::raw_server::{RawServer, ServerAction, answer, client, drain, post};

pub(super) const AUTHORITY: &[u8] = include_bytes!("tls/authority.pem");
const CERTIFICATE: &[u8] = include_bytes!("tls/server.pem");
const KEY: &[u8] = include_bytes!("tls/server.key");

#[tokio::test]
async fn returns_redirect_without_following_it() {
    let elsewhere = RawServer::start(|_| ServerAction::Keep(answer("200 OK", "", b"caught"))).await;
    let location = format!("location: {}\r\n", elsewhere.url("/"));
    let server =
        RawServer::start(move |_| ServerAction::Keep(answer("307 Temporary Redirect", &location, b""))).await;
    let incoming = post(&client(), &server.url("/")).await.unwrap();
    assert_eq!(incoming.status, 307);
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn proxy_gets_the_full_address_and_tunnels_https() {
    let proxy = RawServer::start(|number| match number {
        0 => ServerAction::Keep(answer("200 OK", "", b"by the proxy")),
        _ => ServerAction::Close(answer("403 Forbidden", "", b"")),
    })
    .await;
    let mut config = ClientConfig::default();
    config.proxy = Some(proxy.url(""));
    let client = HttpClient::new(config);
    let incoming = post(&client, "http://model.example/v1/x").await.unwrap();
    assert_eq!(drain(incoming).await.0, b"by the proxy");
    let error = post(&client, "https://model.example/v1/x").await.unwrap_err();
    assert!(matches!(error, TransportError::Broken(_)), "{error}");
    let requests = proxy.requests();
    assert!(requests[0].starts_with("POST http://model.example/v1/x HTTP/1.1\r\n"), "{}", requests[0]);
    assert!(requests[1].starts_with("CONNECT model.example:443 HTTP/1.1\r\n"), "{}", requests[1]);
}

#[tokio::test]
async fn no_proxy_hosts_bypass_the_proxy() {
    let proxy = RawServer::start(|_| ServerAction::Keep(answer("200 OK", "", b"by the proxy"))).await;
    let server = RawServer::start(|_| ServerAction::Keep(answer("200 OK", "", b"directly"))).await;
    for (no_proxy, expected) in [(Some("127.0.0.1"), "directly"), (None, "by the proxy")] {
        let mut config = ClientConfig::default();
        config.proxy = Some(proxy.url(""));
        config.no_proxy = no_proxy.map(str::to_owned);
        let incoming = post(&HttpClient::new(config), &server.url("/")).await.unwrap();
        assert_eq!(drain(incoming).await.0, expected.as_bytes());
    }
}

#[tokio::test]
async fn invalid_proxy_error_does_not_show_the_password() {
    let mut config = ClientConfig::default();
    config.proxy = Some("http://someone:a-password@[bad".to_owned());
    let error = post(&HttpClient::new(config), "http://127.0.0.1:9/").await.unwrap_err();
    assert!(matches!(error, TransportError::Impossible(_)), "{error}");
    assert!(!error.to_string().contains("a-password"), "{error}");
}

/// TLS with the certificate of `localhost`.
pub(super) fn tls_acceptor(protocols: &[&[u8]]) -> TlsAcceptor {
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let mut tls =
        builder.with_single_cert(vec![certificate], PrivateKeyDer::from_pem_slice(KEY).unwrap()).unwrap();
    tls.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    TlsAcceptor::from(Arc::new(tls))
}

/// Starts a server that responds with the HTTP version of the request. It speaks HTTP/2 if it may.
pub(super) async fn tls_server(protocols: &[&[u8]]) -> u16 {
    let acceptor = tls_acceptor(protocols);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let service = service_fn(async |request: http::Request<hyper::body::Incoming>| {
                    let version = format!("{:?}", request.version());
                    Ok::<_, std::convert::Infallible>(http::Response::new(Full::new(Bytes::from(version))))
                });
                let stream = TokioIo::new(stream);
                if is_http2 {
                    let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    let _ = builder.serve_connection(stream, service).await;
                } else {
                    let _ =
                        hyper::server::conn::http1::Builder::new().serve_connection(stream, service).await;
                }
            });
        }
    });
    port
}

/// A client that trusts the authority of the tests.
pub(super) fn trusting_client(mut config: ClientConfig) -> HttpClient {
    config.extra_certificates = vec![AUTHORITY.into()];
    HttpClient::new(config)
}

#[tokio::test]
async fn trusts_extra_authority_and_negotiates_the_http_version() {
    let cases: [(&[&[u8]], &[u8]); 3] =
        [(&[b"h2", b"http/1.1"], b"HTTP/2.0"), (&[b"http/1.1"], b"HTTP/1.1"), (&[], b"HTTP/1.1")];
    for (protocols, version) in cases {
        let port = tls_server(protocols).await;
        let client = trusting_client(ClientConfig::default());
        let incoming = post(&client, &format!("https://localhost:{port}/")).await.unwrap();
        assert_eq!(drain(incoming).await.0, version);
    }
}

#[tokio::test]
async fn untrusted_authority_cannot_be_retried() {
    let port = tls_server(&[b"h2"]).await;
    let error = post(&client(), &format!("https://localhost:{port}/")).await.unwrap_err();
    assert!(matches!(&error, TransportError::Impossible(words) if words.contains("certificate")), "{error}");
}

#[tokio::test]
async fn invalid_extra_certificate_cannot_be_retried() {
    let mut config = ClientConfig::default();
    config.extra_certificates =
        vec![b"-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n".as_slice().into()];
    let error = post(&HttpClient::new(config), "http://127.0.0.1:9/").await.unwrap_err();
    assert!(matches!(error, TransportError::Impossible(_)), "{error}");
}
