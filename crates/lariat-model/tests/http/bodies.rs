//! Tests compressed, truncated and damaged bodies.

use std::io::Write;

use futures_util::StreamExt;
use lariat_model::http::TransportError;

use super::raw_server::{RawServer, ServerAction, answer, chunk, chunked, client, drain, post};

const FIRST: &[u8] = b"data: {\"first\":1}\n\n";
const SECOND: &[u8] = b"data: {\"second\":2}\n\n";

/// Both events, compressed so that the first can be read before the second is written.
fn gzip() -> (Vec<u8>, Vec<u8>) {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(FIRST).unwrap();
    encoder.flush().unwrap();
    let first = encoder.get_ref().clone();
    encoder.write_all(SECOND).unwrap();
    let whole = encoder.finish().unwrap();
    let second = whole[first.len()..].to_vec();
    (first, second)
}

fn brotli() -> (Vec<u8>, Vec<u8>) {
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 20);
    encoder.write_all(FIRST).unwrap();
    encoder.flush().unwrap();
    let first = encoder.get_ref().clone();
    encoder.write_all(SECOND).unwrap();
    let whole = encoder.into_inner();
    let second = whole[first.len()..].to_vec();
    (first, second)
}

#[tokio::test]
async fn reads_compressed_streams_incrementally() {
    for (name, (first, second)) in [("gzip", gzip()), ("br", brotli())] {
        let head = chunked(&format!("content-encoding: {name}\r\n"));
        let begin = [head, chunk(&first)].concat();
        let end = [chunk(&second), b"0\r\n\r\n".to_vec()].concat();
        let server = RawServer::start(move |_| ServerAction::InTwo(begin.clone(), end.clone())).await;
        let incoming = post(&client(), &server.url("/")).await.unwrap();
        let mut body = incoming.body;
        let mut read = Vec::new();
        while read.len() < FIRST.len() {
            read.extend_from_slice(&body.next().await.unwrap().unwrap());
        }
        assert_eq!(read, FIRST, "{name}: the first event arrives before the server continues");
        server.resume.send_replace(true);
        while let Some(next) = body.next().await {
            read.extend_from_slice(&next.unwrap());
        }
        assert_eq!(read, [FIRST, SECOND].concat(), "{name}");
        let accepted = server.requests()[0].to_ascii_lowercase();
        assert!(accepted.contains("accept-encoding:") && accepted.contains(name), "{accepted}");
    }
}

#[tokio::test]
async fn truncated_or_damaged_compressed_body_ends_in_an_error() {
    for (name, (first, second)) in [("gzip", gzip()), ("br", brotli())] {
        let encoding = format!("content-encoding: {name}\r\n");
        // By HTTP the body is complete; only the decompression detects the cut.
        let cut = [&first[..], &second[..second.len() / 2]].concat();
        let body = answer("200 OK", &encoding, &cut);
        let server = RawServer::start(move |_| ServerAction::Keep(body.clone())).await;
        let (read, error) = drain(post(&client(), &server.url("/")).await.unwrap()).await;
        assert!(read.starts_with(FIRST), "{name}: {read:?}");
        assert!(matches!(error, Some(TransportError::Damaged(_))), "{name}: {error:?}");

        let body = answer("200 OK", &encoding, b"\xde\xad\xbe\xef this is not compressed");
        let server = RawServer::start(move |_| ServerAction::Keep(body.clone())).await;
        let (_, error) = drain(post(&client(), &server.url("/")).await.unwrap()).await;
        assert!(matches!(error, Some(TransportError::Damaged(_))), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn truncated_body_ends_in_an_error_after_its_data() {
    let by_length = [b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", FIRST].concat();
    let by_chunks = [chunked(""), chunk(FIRST)].concat();
    for bytes in [by_length, by_chunks] {
        let server = RawServer::start(move |_| ServerAction::Close(bytes.clone())).await;
        let (read, error) = drain(post(&client(), &server.url("/")).await.unwrap()).await;
        assert_eq!(read, FIRST);
        let error = error.expect("a truncated body must be an error");
        assert!(!error.to_string().contains("127.0.0.1"), "{error}");
    }
}

#[tokio::test]
async fn invalid_chunk_sizes_are_errors() {
    let bytes = [chunked(""), chunk(FIRST), b"zz\r\nnonsense".to_vec()].concat();
    let server = RawServer::start(move |_| ServerAction::Keep(bytes.clone())).await;
    let (read, error) = drain(post(&client(), &server.url("/")).await.unwrap()).await;
    assert_eq!(read, FIRST);
    assert!(error.is_some());
}
