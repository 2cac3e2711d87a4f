//! Why a model call failed, and whether it may be made again.
//!
//! Invariant: what a server said is bounded, and an error holds no key.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bytes kept of a server's words.
const MESSAGE_LIMIT: usize = 2048;

/// Why a model call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// Too many requests, or the service is overloaded (429, 529).
    #[error("rate limited: {0}")]
    RateLimited(ErrorDetail),
    /// The connection failed, stalled or broke; 408 and 5xx too.
    #[error("network: {0}")]
    Network(ErrorDetail),
    /// The key was refused.
    #[error("authentication: {0}")]
    Auth(ErrorDetail),
    /// The service rejected the request.
    #[error("provider: {0}")]
    Api(ErrorDetail),
    /// The request does not fit the context window.
    #[error("context overflow: {0}")]
    ContextOverflow(ErrorDetail),
    /// The reply does not follow its protocol: not the promised format, or a tool call that does not parse.
    #[error("invalid reply: {0}")]
    InvalidReply(ErrorDetail),
    /// The reply ended well and said nothing.
    #[error("empty reply: {0}")]
    EmptyReply(ErrorDetail),
    /// The request cannot be made as configured: no such protocol, or not an address.
    #[error("configuration: {0}")]
    Config(ErrorDetail),
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Anything else.
    #[error("{0}")]
    Other(ErrorDetail),
}

/// What kind of failure it was, for programs: what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// Too many requests, or the service is overloaded: try again later.
    RateLimited,
    /// The service could not be reached, or the connection broke.
    Network,
    /// The key is missing or was refused.
    Auth,
    /// The service rejected the request.
    Rejected,
    /// The request does not fit the context window.
    ContextOverflow,
    /// The reply does not follow its protocol.
    InvalidReply,
    /// The reply said nothing.
    EmptyReply,
    /// The model is not configured, or not so that it can be called.
    Config,
    /// The call was cancelled.
    Cancelled,
    /// Anything else.
    Other,
}

/// How the words of each kind begin, as [`ProviderError`] writes them. A journal has the words only.
const BEGINNINGS: [(&str, FailureKind); 9] = [
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
    /// The kind of a failure that was recorded in words. Only their beginning is looked at: the rest is a service's.
    pub fn of_words(error: &str) -> Self {
        let known = BEGINNINGS.iter().find(|(begins, _)| error.starts_with(begins));
        known.map_or(Self::Other, |(_, kind)| *kind)
    }

    /// Whether the same request may succeed later.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::RateLimited | Self::Network | Self::EmptyReply | Self::InvalidReply)
    }
}

/// What is known about a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorDetail {
    /// What happened, or the server's words.
    pub message: String,
    /// HTTP status, when the failure came as one.
    pub status: Option<u16>,
    /// The service's name for the request, for its support.
    pub request_id: Option<String>,
    /// From `Retry-After`, when given.
    pub retry_after: Option<Duration>,
}

impl ErrorDetail {
    /// A failure in words, cut to a bound.
    pub fn new(message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > MESSAGE_LIMIT {
            message.truncate(message.floor_char_boundary(MESSAGE_LIMIT));
            message.push('…');
        }
        Self { message, ..Self::default() }
    }

    /// With an HTTP status.
    #[must_use]
    pub const fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// With the service's name for the request.
    #[must_use]
    pub fn with_request_id(mut self, id: Option<String>) -> Self {
        self.request_id = id;
        self
    }

    /// With the time the service asks to wait.
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
    /// What kind of failure it is.
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

    /// Whether the same request may succeed later.
    pub const fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }

    /// What is known about the failure.
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

    /// What is known about the failure, to be cleaned before it is told.
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

    /// How long the server asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.detail().and_then(|detail| detail.retry_after)
    }

    /// HTTP status, when the failure came as one.
    pub fn status(&self) -> Option<u16> {
        self.detail().and_then(|detail| detail.status)
    }

    /// The service's name for the request.
    pub fn request_id(&self) -> Option<&str> {
        self.detail().and_then(|detail| detail.request_id.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_the_server_said_and_where_to_ask() {
        let detail = ErrorDetail::new("slow down").with_status(429).with_request_id(Some("req_1".into()));
        let error = ProviderError::RateLimited(detail.with_retry_after(Some(Duration::from_secs(3))));
        assert_eq!(error.to_string(), "rate limited: slow down (HTTP 429, request req_1)");
        assert_eq!((error.status(), error.request_id()), (Some(429), Some("req_1")));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
    }

    /// L4: what is recorded in words still has its kind.
    #[test]
    fn every_error_has_the_same_kind_in_words() {
        let detail = || ErrorDetail::new("network: said by a server");
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
        assert_eq!(errors.len(), BEGINNINGS.len() + 1);
        for error in errors {
            assert_eq!(FailureKind::of_words(&error.to_string()), error.kind(), "{error}");
        }
    }

    #[test]
    fn a_servers_words_are_cut_between_characters() {
        let detail = ErrorDetail::new("é".repeat(5000));
        assert!(detail.message.len() <= MESSAGE_LIMIT + "…".len());
    }
}
