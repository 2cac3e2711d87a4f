//! The contract of what carries requests: the real client, or a scripted one in tests.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;
use http::{HeaderMap, Request};
use lariat_core::BoxFuture;
use lariat_core::model::ProviderError;

/// A body as it arrives, decompressed.
pub type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, TransportError>> + Send>>;

/// Carries one HTTP request.
pub trait Transport: Send + Sync {
    /// Sends a request. Dropping the future or the body ends it.
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Incoming, TransportError>>;
}

/// An answer whose body is still arriving.
pub struct Incoming {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: BodyStream,
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

/// Why bytes did not come.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// No connection came about, or it broke.
    #[error("{0}")]
    Broken(String),
    /// The body was damaged on its way: its compression or its chunks do not decode.
    #[error("{0}")]
    Damaged(String),
    /// The request cannot be sent at all: a bad address, a bad certificate file.
    #[error("{0}")]
    Impossible(String),
}

impl From<TransportError> for ProviderError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::Broken(words) | TransportError::Damaged(words) => Self::Network(words.into()),
            TransportError::Impossible(words) => Self::Other(words.into()),
        }
    }
}
