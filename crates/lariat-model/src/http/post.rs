//! One request with a text and one answer read whole: for whoever needs no stream (hooks by HTTP).
//!
//! Owns the limits of such an exchange: it ends within its time, the answer has at most its size, and only a 2xx is an
//! answer. Follows no redirect, because the [`Transport`] does not.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http::Request;
use http::header::CONTENT_TYPE;

use super::transport::{Transport, TransportError};

/// A request with a JSON text.
#[derive(Clone)]
pub struct Post {
    /// Where to.
    pub url: String,
    /// Headers, as they are sent.
    pub headers: Vec<(String, String)>,
    /// The JSON text.
    pub body: String,
    /// Time for all of it.
    pub timeout: Duration,
    /// The largest answer, in bytes.
    pub limit: usize,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PostError {
    /// Its time is over.
    #[error("it took longer than {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The answer is not a 2xx.
    #[error("the answer is status {0}")]
    Status(u16),
    /// The answer is larger than it may be.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The answer is not UTF-8.
    #[error("the answer is not text")]
    NotText,
    /// The request cannot be made of these parts.
    #[error("the request cannot be made: {0}")]
    Malformed(String),
    /// No bytes came.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Sends a request and reads its answer.
///
/// # Errors
/// When there is no good answer within time and size.
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
