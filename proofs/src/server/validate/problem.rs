//! Collects the problems of a request, and turns one into the error response of an API.
//!
//! Invariant: a path is formatted only if there is a problem at it; checking valid requests allocates almost
//! nothing.

use std::fmt;

use serde_json::json;

use crate::server::Wire;
use crate::server::render::{ApiError, open_ai_error};

/// A reason for which an API rejects a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The position, in the path style of the API; empty for the request as a whole.
    pub path: String,
    /// The message, in the words of the API as far as they are known.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return formatter.write_str(&self.message);
        }
        write!(formatter, "{}: {}", self.path, self.message)
    }
}

/// The problems found so far.
#[derive(Debug, Default)]
pub(super) struct Problems(pub(super) Vec<Problem>);

impl Problems {
    pub(super) fn at(&mut self, path: fmt::Arguments<'_>, message: impl Into<String>) {
        self.0.push(Problem { path: path.to_string(), message: message.into() });
    }

    pub(super) fn whole(&mut self, message: impl Into<String>) {
        self.0.push(Problem { path: String::new(), message: message.into() });
    }
}

/// The error response to a request with this problem.
pub(super) fn answer(wire: Wire, problem: &Problem) -> ApiError {
    match wire {
        Wire::OpenAiChat | Wire::OpenAiResponses | Wire::AzureResponses => {
            let code = match problem.message.split(' ').next() {
                Some("Unsupported") if problem.message.starts_with("Unsupported parameter") => {
                    "unsupported_parameter"
                }
                Some("Unsupported") => "unsupported_value",
                Some("Missing") => "missing_required_parameter",
                Some("Unknown") => "unknown_parameter",
                Some("Invalid") if problem.message.starts_with("Invalid value") => "invalid_value",
                _ => "",
            };
            ApiError::with_body(
                wire,
                400,
                &open_ai_error(&problem.message, "invalid_request_error", &problem.path, code),
            )
        }
        Wire::Gemini | Wire::Vertex => {
            let text = problem.to_string();
            let violation = json!({"field": problem.path, "description": problem.message});
            let details = json!([{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}]);
            let error =
                json!({"code": 400, "message": text, "status": "INVALID_ARGUMENT", "details": details});
            ApiError::with_body(wire, 400, &json!({"error": error}))
        }
        Wire::AnthropicMessages | Wire::BedrockConverse => ApiError::new(wire, 400, &problem.to_string()),
    }
}
