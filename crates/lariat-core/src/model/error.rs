//! Errors of model calls, and which of them allow a retry.
//!
//! Invariant: text from a server is limited in length, and an error never contains a key.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Maximum number of bytes kept of a server's error text.
const MESSAGE_LIMIT: usize = 2048;

/// Why a model call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// Too many requests, or the provider is overloaded (429, 529).
    #[error("rate limited: {0}")]
    RateLimited(ErrorDetail),
    /// The connection failed, stalled or broke. Also 408 and 5xx.
    #[error("network: {0}")]
    Network(ErrorDetail),
    /// The provider rejected the key.
    #[error("authentication: {0}")]
    Auth(ErrorDetail),
    /// The provider rejected the request.
    #[error("provider: {0}")]
    Api(ErrorDetail),
    /// The request does not fit the context window.
    #[error("context overflow: {0}")]
    ContextOverflow(ErrorDetail),
    /// The reply violates its protocol: a wrong format, or a tool call that cannot be parsed.
    #[error("invalid reply: {0}")]
    InvalidReply(ErrorDetail),
    /// The reply ended normally but was empty.
    #[error("empty reply: {0}")]
    EmptyReply(ErrorDetail),
    /// The request cannot be sent as configured: unknown protocol or invalid URL.
    #[error("configuration: {0}")]
    Config(ErrorDetail),
    /// The model call was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// A failure that none of the other kinds describes.
    #[error("{0}")]
    Other(ErrorDetail),
}

/// The kind of a failure, so that programs can decide what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// Too many requests, or the provider is overloaded: retry later.
    RateLimited,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// The key is missing or was rejected.
    Auth,
    /// The provider rejected the request.
    Rejected,
    /// The request does not fit the context window.
    ContextOverflow,
    /// The reply violates its protocol.
    InvalidReply,
    /// The reply was empty.
    EmptyReply,
    /// The model is not configured or not callable as configured.
    Config,
    /// The model call was cancelled.
    Cancelled,
    /// A failure that none of the other kinds describes.
    Other,
}

/// The prefixes that [`ProviderError`] writes for each kind. The journal stores only the text.
const PREFIXES: [(&str, FailureKind); 9] = [
    ("rate limited: ", FailureKind::RateLimited),
    ("network: ", FailureKind::Network),
    ("authentication: ", FailureKind::Auth),
    ("provider: ", FailureKind::Rejected),
    ("context overflow: ", FailureKind::ContextOverflow),
    ("invalid reply: ", FailureKind::InvalidReply),
    ("empty reply: ", FailureKind::EmptyReply),
    ("configuration: ", FailureKind::Config),
    ("cancelled", FailureKind::Cancelled),
];

impl FailureKind {
    /// Determines the kind of a recorded error from its prefix; the rest of the text comes from the provider.
    pub fn from_message(error: &str) -> Self {
        let known = PREFIXES.iter().find(|(begins, _)| error.starts_with(begins));
        known.map_or(Self::Other, |(_, kind)| *kind)
    }

    /// The words before the message in a recorded error.
    pub(super) fn prefix(self) -> &'static str {
        PREFIXES.iter().find(|(_, kind)| *kind == self).map_or("", |(prefix, _)| *prefix)
    }

    /// Returns whether the same request may succeed later.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::RateLimited | Self::Network | Self::EmptyReply | Self::InvalidReply)
    }
}

/// Details of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorDetail {
    /// What happened, or the server's error text.
    pub message: String,
    /// HTTP status, if the server sent one.
    pub status: Option<u16>,
    /// Request id of the provider, for support requests.
    pub request_id: Option<String>,
    /// Delay from `Retry-After`, if given.
    pub retry_after: Option<Duration>,
}

impl ErrorDetail {
    /// Creates a detail from a text and truncates the text if it is too long.
    pub fn new(message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > MESSAGE_LIMIT {
            message.truncate(message.floor_char_boundary(MESSAGE_LIMIT));
            message.push('…');
        }
        Self { message, ..Self::default() }
    }

    /// Sets the HTTP status.
    #[must_use]
    pub const fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets the provider's request id.
    #[must_use]
    pub fn with_request_id(mut self, id: Option<String>) -> Self {
        self.request_id = id;
        self
    }

    /// Sets the delay that the provider asks for.
    #[must_use]
    pub const fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }
}

impl<T: Into<String>> From<T> for ErrorDetail {
    fn from(message: T) -> Self {
        Self::new(message)
    }
}

impl fmt::Display for ErrorDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match (self.status, &self.request_id) {
            (Some(status), Some(id)) => write!(f, " (HTTP {status}, request {id})"),
            (Some(status), None) => write!(f, " (HTTP {status})"),
            (None, Some(id)) => write!(f, " (request {id})"),
            (None, None) => Ok(()),
        }
    }
}

impl ProviderError {
    /// Returns the kind of the failure.
    pub const fn kind(&self) -> FailureKind {
        match self {
            Self::RateLimited(_) => FailureKind::RateLimited,
            Self::Network(_) => FailureKind::Network,
            Self::Auth(_) => FailureKind::Auth,
            Self::Api(_) => FailureKind::Rejected,
            Self::ContextOverflow(_) => FailureKind::ContextOverflow,
            Self::InvalidReply(_) => FailureKind::InvalidReply,
            Self::EmptyReply(_) => FailureKind::EmptyReply,
            Self::Config(_) => FailureKind::Config,
            Self::Cancelled => FailureKind::Cancelled,
            Self::Other(_) => FailureKind::Other,
        }
    }

    /// Returns whether the same request may succeed later.
    pub const fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }

    /// Returns the details of the failure.
    pub const fn detail(&self) -> Option<&ErrorDetail> {
        match self {
            Self::RateLimited(detail)
            | Self::Network(detail)
            | Self::Auth(detail)
            | Self::Api(detail)
            | Self::ContextOverflow(detail)
            | Self::InvalidReply(detail)
            | Self::EmptyReply(detail)
            | Self::Config(detail)
            | Self::Other(detail) => Some(detail),
            Self::Cancelled => None,
        }
    }

    /// Returns the details of the failure, so that the caller can remove secrets before showing them.
    pub const fn detail_mut(&mut self) -> Option<&mut ErrorDetail> {
        match self {
            Self::RateLimited(detail)
            | Self::Network(detail)
            | Self::Auth(detail)
            | Self::Api(detail)
            | Self::ContextOverflow(detail)
            | Self::InvalidReply(detail)
            | Self::EmptyReply(detail)
            | Self::Config(detail)
            | Self::Other(detail) => Some(detail),
            Self::Cancelled => None,
        }
    }

    /// Returns the delay that the provider asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        self.detail().and_then(|detail| detail.retry_after)
    }

    /// Returns the HTTP status, if the server sent one.
    pub fn status(&self) -> Option<u16> {
        self.detail().and_then(|detail| detail.status)
    }

    /// Returns the provider's request id.
    pub fn request_id(&self) -> Option<&str> {
        self.detail().and_then(|detail| detail.request_id.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_shows_server_text_status_and_request_id() {
        let detail = ErrorDetail::new("slow down").with_status(429).with_request_id(Some("req_1".into()));
        let error = ProviderError::RateLimited(detail.with_retry_after(Some(Duration::from_secs(3))));
        assert_eq!(error.to_string(), "rate limited: slow down (HTTP 429, request req_1)");
        assert_eq!((error.status(), error.request_id()), (Some(429), Some("req_1")));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
    }

    /// The kind of a recorded error can be read from its text.
    #[test]
    fn every_error_text_maps_back_to_its_kind() {
        let detail = || ErrorDetail::new("network: text of a server");
        let errors = [
            ProviderError::RateLimited(detail()),
            ProviderError::Network(detail()),
            ProviderError::Auth(detail()),
            ProviderError::Api(detail()),
            ProviderError::ContextOverflow(detail()),
            ProviderError::InvalidReply(detail()),
            ProviderError::EmptyReply(detail()),
            ProviderError::Config(detail()),
            ProviderError::Cancelled,
            ProviderError::Other("nothing known".into()),
        ];
        assert_eq!(errors.len(), PREFIXES.len() + 1);
        for error in errors {
            assert_eq!(FailureKind::from_message(&error.to_string()), error.kind(), "{error}");
        }
    }

    #[test]
    fn long_server_text_is_cut_between_characters() {
        let detail = ErrorDetail::new("é".repeat(5000));
        assert!(detail.message.len() <= MESSAGE_LIMIT + "…".len());
    }
}
