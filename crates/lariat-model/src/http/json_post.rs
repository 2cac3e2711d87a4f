//! Sends one JSON text by POST and reads the whole response, for callers that need no stream (HTTP hooks).
//!
//! The exchange ends within its timeout, the response is at most as large as its limit, and any status other
//! than 2xx is an error. Redirects are not followed, because the [`Transport`] does not follow them.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http::Request;
use http::header::CONTENT_TYPE;

use lariat_http::{Transport, TransportError};

/// A POST request with a JSON body.
#[derive(Clone)]
pub struct Post {
    /// Target address.
    pub url: String,
    /// Additional headers.
    pub headers: Vec<(String, String)>,
    /// JSON text.
    pub body: String,
    /// Timeout for the whole exchange.
    pub timeout: Duration,
    /// Maximum size of the response in bytes.
    pub limit: usize,
}

/// Why a [`post`] failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PostError {
    /// The timeout passed.
    #[error("timed out after {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The status is not 2xx.
    #[error("the server responded with HTTP {0}")]
    Status(u16),
    /// The response exceeds the size limit.
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
    /// The response is not UTF-8.
    #[error("the response is not valid UTF-8")]
    NotText,
    /// The address or a header is invalid.
    #[error("invalid request: {0}")]
    Malformed(String),
    /// The connection failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Sends a request and returns the response body.
///
/// # Errors
/// Returns an error if no 2xx response with valid UTF-8 arrives within the timeout and the size limit.
pub async fn post(transport: &dyn Transport, post: Post) -> Result<String, PostError> {
    let (timeout, limit) = (post.timeout, post.limit);
    let request = request(post)?;
    let exchange = async {
        let mut incoming = transport.send(request).await?;
        if !(200..300).contains(&incoming.status) {
            return Err(PostError::Status(incoming.status));
        }
        let mut body = Vec::new();
        while let Some(bytes) = incoming.body.next().await {
            body.extend_from_slice(&bytes?);
            if body.len() > limit {
                return Err(PostError::TooLarge(limit));
            }
        }
        String::from_utf8(body).map_err(|_| PostError::NotText)
    };
    tokio::time::timeout(timeout, exchange).await.unwrap_or(Err(PostError::TimedOut(timeout)))
}

fn request(post: Post) -> Result<Request<Bytes>, PostError> {
    let mut request = Request::post(post.url);
    let typed = |(name, _): &(String, String)| name.eq_ignore_ascii_case(CONTENT_TYPE.as_str());
    if !post.headers.iter().any(typed) {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    for (name, value) in post.headers {
        request = request.header(name, value);
    }
    request.body(Bytes::from(post.body)).map_err(|error| PostError::Malformed(error.to_string()))
}
