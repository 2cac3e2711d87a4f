//! Turns a response body into a stream of bytes, decompressed where the server compressed it.
//!
//! Invariant: a body that ends early or does not decode ends in an error, and a small compressed piece never becomes a
//! large one in memory: the decoder fills one buffer at a time.

use futures_util::{StreamExt, TryStreamExt};
use http::HeaderMap;
use http_body_util::BodyDataStream;
use hyper::body::{Body, Incoming};

use crate::failure::cause;
use crate::transport::{BodyStream, TransportError};

/// Returns the body as a stream. Removes the headers that describe the compressed form, if it was compressed.
pub(crate) fn stream(headers: &mut HeaderMap, body: Incoming) -> BodyStream {
    let is_empty = body.is_end_stream();
    let stream = BodyDataStream::new(body).map_err(|error| convert(&error)).boxed();
    if is_empty { stream } else { decoded(headers, stream) }
}

fn convert(error: &hyper::Error) -> TransportError {
    let message = cause(error);
    match error.is_parse() {
        true => TransportError::Damaged(format!("the body is damaged: {message}")),
        false => TransportError::Broken(format!("the connection broke: {message}")),
    }
}

#[cfg(not(feature = "compression"))]
fn decoded(_headers: &mut HeaderMap, stream: BodyStream) -> BodyStream {
    stream
}

#[cfg(feature = "compression")]
fn decoded(headers: &mut HeaderMap, stream: BodyStream) -> BodyStream {
    use std::io;
    use std::pin::Pin;

    use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder};
    use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
    use tokio::io::AsyncRead;
    use tokio_util::io::{ReaderStream, StreamReader};

    /// Size of the buffer that the decoder fills, in bytes.
    const BUFFER: usize = 16 * 1024;

    let encoding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let encoding = encoding.trim().to_ascii_lowercase();
    if !matches!(encoding.as_str(), "gzip" | "x-gzip" | "br") {
        return stream;
    }
    let compressed = StreamReader::new(stream.map_err(io::Error::other));
    let plain: Pin<Box<dyn AsyncRead + Send>> = if encoding == "br" {
        Box::pin(BrotliDecoder::new(compressed))
    } else {
        let mut decoder = GzipDecoder::new(compressed);
        decoder.multiple_members(true);
        Box::pin(decoder)
    };
    headers.remove(CONTENT_ENCODING);
    headers.remove(CONTENT_LENGTH);
    let damaged =
        |error: io::Error| match error.get_ref().and_then(|inner| inner.downcast_ref::<TransportError>()) {
            Some(broken) => broken.clone(),
            None => TransportError::Damaged(format!("the body is damaged: {error}")),
        };
    ReaderStream::with_capacity(plain, BUFFER).map_err(damaged).boxed()
}
