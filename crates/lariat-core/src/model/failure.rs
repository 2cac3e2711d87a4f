//! The failure of a model call as a run records it: the provider's error, the attempts and the wait that it asks for.
//!
//! A journal stores a failure as one text ([`RunOutcome::Failed`]). This type writes that text and reads it, so that no
//! other code depends on its form. Invariant: what it writes, it reads back.
//!
//! [`RunOutcome::Failed`]: crate::event::RunOutcome::Failed

use std::fmt;
use std::time::Duration;

use super::error::{ErrorDetail, FailureKind, ProviderError};

/// A failed model call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelFailure {
    /// The kind.
    pub kind: FailureKind,
    /// Message, status and request id. The wait is in [`asked_wait`](Self::asked_wait).
    pub detail: ErrorDetail,
    /// The number of attempts and the time they took, rounded up to seconds, if there was more than one.
    pub attempts: Option<(u32, Duration)>,
    /// The wait that the provider asks for, if it exceeds the configured patience.
    pub asked_wait: Option<Duration>,
}

impl ModelFailure {
    /// Describes an error of a single attempt.
    pub fn new(error: &ProviderError) -> Self {
        let mut detail = error.detail().cloned().unwrap_or_default();
        detail.retry_after = None;
        Self { kind: error.kind(), detail, attempts: None, asked_wait: None }
    }

    /// Reads a recorded failure. A text of another form is of kind [`FailureKind::Other`].
    pub fn parse(text: &str) -> Self {
        let (text, asked_wait) = match WAITS.iter().find_map(|words| text.rsplit_once(words)) {
            Some((before, wait)) => (before, seconds(wait)),
            None => (text, None),
        };
        let tried = text.rsplit_once("; ").and_then(|(before, tail)| {
            let (attempts, time) = tail.split_once(ATTEMPTS)?;
            Some((before, (attempts.parse().ok()?, seconds(time)?)))
        });
        let (text, attempts) = tried.map_or((text, None), |(before, attempts)| (before, Some(attempts)));
        let kind = FailureKind::from_message(text);
        let text = text.strip_prefix(kind.prefix()).unwrap_or(text);
        Self { kind, detail: detail(text), attempts, asked_wait }
    }
}

impl fmt::Display for ModelFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind.prefix(), self.detail)?;
        if let Some((attempts, time)) = self.attempts {
            write!(f, "; {attempts}{ATTEMPTS}{} s", time.as_secs())?;
        }
        match (self.asked_wait, WAITS) {
            (Some(wait), [words, ..]) => write!(f, "{words}{} s", wait.as_secs()),
            (None, _) => Ok(()),
        }
    }
}

/// The words before the wait. The first are written; both are read.
const WAITS: [&str; 2] = ["; the service asks to wait ", "; the provider asks to wait "];
const ATTEMPTS: &str = " attempts in ";

fn seconds(text: &str) -> Option<Duration> {
    text.strip_suffix(" s")?.parse().ok().map(Duration::from_secs)
}

/// Splits `slow down (HTTP 429, request req_1)` into its parts.
fn detail(text: &str) -> ErrorDetail {
    // The text was cut when it was written.
    let plain = |message: &str| ErrorDetail { message: message.to_owned(), ..ErrorDetail::default() };
    let parsed =
        text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")).and_then(|(message, tail)| {
            if let Some(request) = tail.strip_prefix("request ") {
                return Some(plain(message).with_request_id(Some(request.to_owned())));
            }
            let tail = tail.strip_prefix("HTTP ")?;
            let (status, request) = match tail.split_once(", request ") {
                Some((status, request)) => (status, Some(request.to_owned())),
                None => (tail, None),
            };
            Some(plain(message).with_status(status.parse().ok()?).with_request_id(request))
        });
    parsed.unwrap_or_else(|| plain(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_reads_back_as_it_was_written() {
        type Of = fn(ErrorDetail) -> ProviderError;
        let kinds: [Of; 8] = [
            ProviderError::RateLimited,
            ProviderError::Network,
            ProviderError::Auth,
            ProviderError::Api,
            ProviderError::ContextOverflow,
            ProviderError::InvalidReply,
            ProviderError::EmptyReply,
            ProviderError::Config,
        ];
        let details = [
            ErrorDetail::new("slow down (a bit)").with_status(418).with_request_id(Some("r_1".into())),
            ErrorDetail::new("just; words").with_status(500),
            ErrorDetail::new("two (parts) at once").with_request_id(Some("r_2".into())),
            ErrorDetail::new("é".repeat(5_000)).with_status(413),
        ];
        for (of, detail) in kinds.into_iter().flat_map(|of| details.iter().map(move |detail| (of, detail))) {
            let mut failure = ModelFailure::new(&of(detail.clone()));
            assert_eq!(failure.to_string(), of(detail.clone()).to_string());
            assert_eq!(ModelFailure::parse(&failure.to_string()), failure);
            failure.attempts = Some((4, Duration::from_secs(12)));
            failure.asked_wait = Some(Duration::from_secs(90));
            assert_eq!(ModelFailure::parse(&failure.to_string()), failure);
        }
        let cancelled = ModelFailure::new(&ProviderError::Cancelled);
        assert_eq!(ModelFailure::parse(&cancelled.to_string()), cancelled);
        let other = ModelFailure::parse("anything else");
        assert_eq!((other.kind, other.detail.message.as_str()), (FailureKind::Other, "anything else"));
    }

    #[test]
    fn both_wordings_of_a_wait_are_read() {
        let failure = ModelFailure::parse("network: gone; 3 attempts in 9 s; the provider asks to wait 70 s");
        assert_eq!(failure.asked_wait, Some(Duration::from_secs(70)));
        assert_eq!(failure.attempts, Some((3, Duration::from_secs(9))));
        assert_eq!((failure.kind, failure.detail.message.as_str()), (FailureKind::Network, "gone"));
    }
}
