//! Renders failures in the form of each API: bodies, headers, and errors in the middle of a stream.
//!
//! Invariant: every body parses as JSON and has the message where the official SDK looks for it.

use serde_json::{Value, json};

use super::event_stream;
use super::frame::{crlf, named, unnamed};
use crate::server::Wire;

/// A failed reply, sent instead of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// Headers in addition to the content type.
    pub headers: Vec<(String, String)>,
    /// The body, in JSON.
    pub body: Vec<u8>,
}

impl ApiError {
    /// The error that the API of `wire` sends with this status.
    #[must_use]
    pub fn new(wire: Wire, status: u16, message: &str) -> Self {
        Self::with_body(wire, status, &value(wire, status, message))
    }

    /// An error with this body.
    #[must_use]
    pub fn with_body(wire: Wire, status: u16, body: &Value) -> Self {
        Self { status, headers: error_headers(wire, status), body: body.to_string().into_bytes() }
    }

    /// Adds a header, such as `retry-after`.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// The body of an error.
#[must_use]
pub fn error(wire: Wire, status: u16, message: &str) -> Vec<u8> {
    value(wire, status, message).to_string().into_bytes()
}

/// The headers of an error: the request id under the API's name for it, and Amazon's error type.
#[must_use]
pub fn error_headers(wire: Wire, status: u16) -> Vec<(String, String)> {
    let id = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    match wire {
        Wire::AnthropicMessages => vec![id("request-id", REQUEST_ID)],
        Wire::OpenAiChat | Wire::OpenAiResponses => vec![id("x-request-id", REQUEST_ID)],
        Wire::AzureResponses => vec![id("apim-request-id", REQUEST_ID), id("x-request-id", REQUEST_ID)],
        Wire::Gemini | Wire::Vertex => Vec::new(),
        Wire::BedrockConverse => {
            vec![id("x-amzn-requestid", REQUEST_ID), id("x-amzn-errortype", amazon(status))]
        }
    }
}

/// The id of every failed request.
pub(crate) const REQUEST_ID: &str = "req_scripted_0001";

/// The error for a prompt that does not fit the context window, in the words of each API.
#[must_use]
pub fn overflow(wire: Wire) -> ApiError {
    match wire {
        Wire::AnthropicMessages => {
            ApiError::new(wire, 400, "prompt is too long: 208310 tokens > 200000 maximum")
        }
        Wire::OpenAiChat => {
            let message = "This model's maximum context length is 128000 tokens. However, your messages resulted \
                           in 150000 tokens. Please reduce the length of the messages.";
            ApiError::with_body(
                wire,
                400,
                &open_ai(message, "invalid_request_error", "messages", CONTEXT_CODE),
            )
        }
        Wire::OpenAiResponses | Wire::AzureResponses => {
            let message = "Your input exceeds the context window of this model. Please adjust your input and try again.";
            ApiError::with_body(wire, 400, &open_ai(message, "invalid_request_error", "input", CONTEXT_CODE))
        }
        Wire::Gemini => {
            let message =
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).";
            ApiError::new(wire, 400, message)
        }
        Wire::Vertex => {
            let message = "Unable to submit request because the input token count is 1200000 but the model only \
                           supports up to 1048576. Reduce the input token count and try again.";
            ApiError::new(wire, 400, message)
        }
        Wire::BedrockConverse => ApiError::new(wire, 400, "Input is too long for requested model."),
    }
}

const CONTEXT_CODE: &str = "context_length_exceeded";

/// An error in the middle of a stream that began with status 200, as one frame. `status` is the one that the
/// same failure would have at the beginning.
#[must_use]
pub fn stream_error(wire: Wire, status: u16, message: &str) -> Vec<u8> {
    match wire {
        Wire::AnthropicMessages => named("error", &value(wire, status, message)),
        Wire::OpenAiChat => unnamed(&value(wire, status, message)),
        Wire::OpenAiResponses | Wire::AzureResponses => {
            let code = open_ai_names(status).1;
            named(
                "error",
                &json!({"type": "error", "code": code, "message": message, "param": null, "sequence_number": 7}),
            )
        }
        Wire::Gemini | Wire::Vertex => crlf(&value(wire, status, message)),
        Wire::BedrockConverse => {
            let mut name = match status {
                424 => "ModelStreamErrorException",
                _ => amazon(status),
            }
            .to_owned();
            // In a stream, the exception is named like the member of the union: in camel case.
            if let Some(first) = name.get_mut(..1) {
                first.make_ascii_lowercase();
            }
            let headers = [
                (":exception-type", name.as_str()),
                (":content-type", "application/json"),
                (":message-type", "exception"),
            ];
            event_stream::message(&headers, json!({"message": message}).to_string().as_bytes())
        }
    }
}

fn value(wire: Wire, status: u16, message: &str) -> Value {
    match wire {
        Wire::AnthropicMessages => json!({
            "type": "error",
            "error": {"type": anthropic(status), "message": message},
            "request_id": REQUEST_ID,
        }),
        Wire::OpenAiChat | Wire::OpenAiResponses => {
            let (kind, code) = open_ai_names(status);
            json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
        }
        Wire::AzureResponses => match status {
            // OpenAI itself rejects invalid requests; what its gateway rejects has no type.
            400 | 500 => {
                let (kind, code) = open_ai_names(status);
                json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
            }
            404 => json!({"error": {"code": "DeploymentNotFound", "message": message}}),
            _ => json!({"error": {"code": status.to_string(), "message": message}}),
        },
        Wire::Gemini | Wire::Vertex => {
            json!({"error": {"code": status, "message": message, "status": google(status)}})
        }
        Wire::BedrockConverse => json!({"message": message}),
    }
}

/// An OpenAI error with all four fields.
pub(crate) fn open_ai(message: &str, kind: &str, param: &str, code: &str) -> Value {
    let or_null = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
    json!({"error": {"message": message, "type": kind, "param": or_null(param), "code": or_null(code)}})
}

const fn anthropic(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500..=599 => "api_error",
        _ => "invalid_request_error",
    }
}

/// Type and code of an OpenAI error.
const fn open_ai_names(status: u16) -> (&'static str, Option<&'static str>) {
    match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        403 => ("invalid_request_error", Some("unsupported_country_region_territory")),
        404 => ("invalid_request_error", Some("model_not_found")),
        429 => ("requests", Some("rate_limit_exceeded")),
        503 => ("service_unavailable_error", Some("server_is_overloaded")),
        500..=599 => ("server_error", Some("server_error")),
        _ => ("invalid_request_error", None),
    }
}

const fn google(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500..=599 => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}

const fn amazon(status: u16) -> &'static str {
    match status {
        401 | 403 => "AccessDeniedException",
        404 => "ResourceNotFoundException",
        408 => "ModelTimeoutException",
        424 => "ModelErrorException",
        429 => "ThrottlingException",
        503 => "ServiceUnavailableException",
        500..=599 => "InternalServerException",
        _ => "ValidationException",
    }
}
