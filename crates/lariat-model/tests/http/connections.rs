//! Tests connections that are reused, found dead, refused or dropped.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;
use lariat_core::cancel::CancellationToken;
use lariat_core::model::{ModelConfig, ProviderError, StreamConfig, StreamProvider};
use lariat_core::transcript::Transcript;
use lariat_model::ApiProtocol;
use lariat_model::http::{ClientConfig, HttpClient, HttpProvider, TransportError};
use tokio::net::TcpListener;

use super::raw_server::{RawServer, ServerAction, answer, chunk, chunked, client, drain, post};

fn request(base_url: &str) -> StreamConfig {
    let model = ModelConfig::new(ApiProtocol::OpenAiChat.as_str(), "gpt-5");
    let model = model.with_base_url(base_url).with_api_key("a-key-to-try");
    let (transcript, _) = Transcript::repair([Arc::new("hello".into())]);
    StreamConfig::new(Arc::new(model), transcript.window())
}

/// Fails the test instead of letting it hang.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), future).await.expect("it ends within ten seconds")
}

#[tokio::test]
async fn sequential_requests_share_a_connection() {
    let server = RawServer::start(|_| ServerAction::Keep(answer("200 OK", "", b"done"))).await;
    let client = client();
    for _ in 0..5 {
        let (read, error) = drain(post(&client, &server.url("/")).await.unwrap()).await;
        assert_eq!((read.as_slice(), error), (&b"done"[..], None));
    }
    assert_eq!(server.requests().len(), 5);
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn closed_idle_connection_causes_at_most_one_retryable_error() {
    let server = RawServer::start(|number| match number {
        0 => ServerAction::Close(answer("200 OK", "", b"first")),
        _ => ServerAction::Keep(answer("200 OK", "", b"second")),
    })
    .await;
    let client = client();
    drain(post(&client, &server.url("/")).await.unwrap()).await;
    let second = match post(&client, &server.url("/")).await {
        Ok(second) => second,
        Err(error) => {
            assert!(matches!(error, TransportError::Broken(_)), "{error}");
            post(&client, &server.url("/")).await.unwrap()
        }
    };
    assert_eq!(drain(second).await.0, b"second");
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn connection_closed_before_the_response_is_a_broken_error() {
    let server = RawServer::start(|_| ServerAction::Close(Vec::new())).await;
    let error = post(&client(), &server.url("/")).await.unwrap_err();
    assert!(matches!(error, TransportError::Broken(_)), "{error}");
    assert_eq!(server.requests().len(), 1, "the client itself does not retry");
}

#[tokio::test]
async fn refused_connection_error_contains_no_address() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    };
    let error = post(&client(), &format!("http://127.0.0.1:{port}/a-path?secret=1")).await.unwrap_err();
    assert!(matches!(error, TransportError::Broken(_)), "{error}");
    assert!(!format!("{error:?}").contains("a-path"), "{error:?}");
}

/// The server accepts the connection and never answers the TLS handshake, so the client is not connected yet.
#[tokio::test]
async fn connect_timeout_covers_the_tls_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut config = ClientConfig::default();
    config.connect_timeout = Duration::from_millis(300);
    let client = HttpClient::new(config);
    let error = soon(post(&client, &format!("https://{address}/"))).await.unwrap_err();
    assert!(matches!(error, TransportError::Broken(_)), "{error}");
}

#[tokio::test]
async fn invalid_address_cannot_be_retried() {
    let error = post(&client(), "gopher://127.0.0.1/").await.unwrap_err();
    assert!(matches!(error, TransportError::Impossible(_)), "{error}");
}

#[tokio::test]
async fn cancelled_exchange_closes_its_connection() {
    let event = br#"data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}"#;
    let bytes =
        [chunked("content-type: text/event-stream\r\n"), chunk(&[event, &b"\n\n"[..]].concat())].concat();
    let server = RawServer::start(move |_| ServerAction::WatchFor(bytes.clone())).await;
    let provider = HttpProvider::new(ApiProtocol::OpenAiChat.implementation(), Arc::new(client()));
    let cancel = CancellationToken::new();
    let mut stream = provider.stream(request(&server.url("/v1")), cancel.clone());
    loop {
        let event = stream.next().await.unwrap().unwrap();
        if event.has_content() {
            break;
        }
    }
    cancel.cancel();
    let mut last = None;
    while let Some(next) = soon(stream.next()).await {
        last = Some(next);
    }
    assert_eq!(last, Some(Err(ProviderError::Cancelled)));
    drop(stream);
    let mut disconnected = server.disconnected.clone();
    soon(disconnected.wait_for(|disconnected| *disconnected)).await.unwrap();
}
