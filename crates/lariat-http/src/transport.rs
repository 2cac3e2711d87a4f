//! Defines the interface that sends HTTP requests: the real client implements it, and tests use a scripted
//! one.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;
use http::{HeaderMap, Request};
use lariat_core::BoxFuture;
use lariat_core::model::ProviderError;

/// A response body as it arrives, decompressed.
pub type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, TransportError>> + Send>>;

/// Sends HTTP requests.
pub trait Transport: Send + Sync {
    /// Sends a request. Dropping the future or the body aborts the exchange.
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<HttpResponse, TransportError>>;
}

/// A response whose body is still arriving.
pub struct HttpResponse {
    /// HTTP status code.
    pub status: u16,
    /// Response headers.
    pub headers: HeaderMap,
    /// The body, still arriving.
    pub body: BodyStream,
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

/// Why a transport could not deliver a response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The connection could not be established, or it broke.
    #[error("{0}")]
    Broken(String),
    /// The body was damaged in transit: its compression or its chunks do not decode.
    #[error("{0}")]
    Damaged(String),
    /// The request cannot be sent at all, for example because of an invalid address or certificate file. A
    /// retry would fail too.
    #[error("{0}")]
    Impossible(String),
}

impl From<TransportError> for ProviderError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::Broken(message) | TransportError::Damaged(message) => {
                Self::Network(message.into())
            }
            TransportError::Impossible(message) => Self::Other(message.into()),
        }
    }
}
