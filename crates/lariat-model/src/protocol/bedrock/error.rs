//! Classifies Bedrock's exceptions, sent as a status or as a frame in a stream.
//!
//! The exception's name decides. It arrives in `x-amzn-errortype`, in the body's `__type` or as the name of
//! an exception frame, each decorated differently. If the name is unknown, the status decides.

use lariat_core::model::{ErrorDetail, ProviderError};
use serde_json::Value;

use crate::wire::{Failure, error_message, is_overflow};

/// Classifies a response that is not a stream.
pub(super) fn classify(failure: &Failure<'_>) -> ProviderError {
    let json = failure.json().unwrap_or_default();
    let header = failure.headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok());
    let in_body = ["__type", "code"].iter().find_map(|field| json.get(field)?.as_str());
    let name = header.or(in_body).unwrap_or_default();
    match failure.status {
        // Whatever the name, the status says that the same request may succeed later.
        408 | 409 => failure.classify_by_status(),
        _ => {
            classify_exception(name, &json, failure.detail()).unwrap_or_else(|_| failure.classify_by_status())
        }
    }
}

/// Classifies an exception frame.
pub(super) fn in_stream(name: &str, data: &str) -> ProviderError {
    let json = serde_json::from_str(data).unwrap_or_default();
    let detail = ErrorDetail::new(error_message(data.as_bytes()));
    classify_exception(name, &json, detail).unwrap_or_else(ProviderError::Network)
}

/// Removes the decoration: `com.amazon.coral.service#ThrottlingException:http://…` and `throttlingException`
/// are the same.
fn plain_name(name: &str) -> String {
    let name = name.rsplit_once('#').map_or(name, |(_, name)| name);
    let name = name.split(':').next().unwrap_or_default().trim();
    name.trim_end_matches("Exception").to_ascii_lowercase()
}

fn classify_exception(name: &str, json: &Value, detail: ErrorDetail) -> Result<ProviderError, ErrorDetail> {
    // The model's own status, if the model failed behind Bedrock.
    let original = json.get("originalStatusCode").and_then(Value::as_u64);
    Ok(match plain_name(name).as_str() {
        "throttling" | "toomanyrequests" | "servicequotaexceeded" | "modelnotready" => {
            ProviderError::RateLimited(detail)
        }
        "validation" | "modelerror" | "modelstreamerror" if is_overflow(&detail.message) => {
            ProviderError::ContextOverflow(detail)
        }
        "modelerror" | "modelstreamerror" if matches!(original, Some(429 | 529)) => {
            ProviderError::RateLimited(detail)
        }
        "validation" | "resourcenotfound" => ProviderError::Api(detail),
        "accessdenied"
        | "unrecognizedclient"
        | "invalidsignature"
        | "signaturedoesnotmatch"
        | "incompletesignature"
        | "expiredtoken"
        | "invalidclienttokenid"
        | "missingauthenticationtoken" => ProviderError::Auth(detail),
        "internalserver" | "internalfailure" | "serviceunavailable" | "modeltimeout" | "modelerror"
        | "modelstreamerror" => ProviderError::Network(detail),
        _ => return Err(detail),
    })
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
