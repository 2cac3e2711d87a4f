//! Removes secrets from messages of servers and libraries before an error leaves the exchange.
//!
//! Providers echo keys in their errors ("Incorrect API key provided: sk-…"). Invariant: an error that leaves
//! an exchange contains none of the exchange's secrets, neither whole nor in the parts that providers print.

use lariat_core::model::{ErrorDetail, ProviderError};

/// Replaces a secret.
const MASK: &str = "****";
/// Minimum length of a secret. Shorter ones (an empty key, `x`) would mask ordinary words.
const MIN_SECRET_LENGTH: usize = 6;

/// Collects the secrets of one exchange and masks them in errors.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    secrets: Vec<String>,
}

impl Redactor {
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.len() >= MIN_SECRET_LENGTH {
            self.secrets.push(secret.to_owned());
        }
    }

    fn text(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASK))
    }

    /// Returns the error with all secrets masked.
    pub(crate) fn error(&self, error: ProviderError) -> ProviderError {
        let clean = |detail: ErrorDetail| {
            let (status, id, wait) = (detail.status, detail.request_id, detail.retry_after);
            let mut clean = ErrorDetail::new(self.text(&detail.message)).with_retry_after(wait);
            clean.status = status;
            clean.with_request_id(id.map(|id| self.text(&id)))
        };
        match error {
            ProviderError::RateLimited(detail) => ProviderError::RateLimited(clean(detail)),
            ProviderError::Network(detail) => ProviderError::Network(clean(detail)),
            ProviderError::Auth(detail) => ProviderError::Auth(clean(detail)),
            ProviderError::Api(detail) => ProviderError::Api(clean(detail)),
            ProviderError::ContextOverflow(detail) => ProviderError::ContextOverflow(clean(detail)),
            ProviderError::InvalidReply(detail) => ProviderError::InvalidReply(clean(detail)),
            ProviderError::EmptyReply(detail) => ProviderError::EmptyReply(clean(detail)),
            ProviderError::Config(detail) => ProviderError::Config(clean(detail)),
            ProviderError::Other(detail) => ProviderError::Other(clean(detail)),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_key_that_a_server_echoes() {
        let mut redactor = Redactor::default();
        redactor.add("sk-12345678");
        redactor.add("x");
        let detail = ErrorDetail::new("Incorrect key: sk-12345678, fix it").with_status(401);
        let error = redactor.error(ProviderError::Auth(detail.with_request_id(Some("r-sk-12345678".into()))));
        assert_eq!(
            error.to_string(),
            "authentication: Incorrect key: ****, fix it (HTTP 401, request r-****)"
        );
    }
}
