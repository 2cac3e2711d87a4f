//! The envelope of JSON-RPC 2.0: requests, notifications, responses and errors.

use lariat_api::{Problem, ProblemCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A message of the editor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Incoming {
    /// Needs a response with the same id.
    Request { id: Value, method: String, params: Value },
    /// Needs no response.
    Notification { method: String, params: Value },
    /// Answers a request of ours.
    Response { id: Value, result: Result<Value, RpcError> },
}

/// An error of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Value>,
}

impl RpcError {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn parse_error(message: impl Into<String>) -> Self {
        Self::new(-32_700, message)
    }

    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32_600, message)
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        Self::new(-32_601, format!("unknown method `{method}`"))
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32_602, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(-32_603, message)
    }
}

/// Editors show the message alone, so it has everything that a user needs. The data has the parts for programs.
impl From<Problem> for RpcError {
    fn from(problem: Problem) -> Self {
        let code = match problem.code {
            ProblemCode::NotFound => -32_002,
            ProblemCode::Invalid | ProblemCode::Unsupported => -32_602,
            _ => -32_603,
        };
        let mut message = problem.message.clone();
        if let Some(place) = &problem.place {
            message.push_str(&format!(" ({place})"));
        }
        if let Some(hint) = &problem.hint {
            message.push_str(&format!("\nhint: {hint}"));
        }
        Self { code, message, data: serde_json::to_value(&problem).ok() }
    }
}

/// Reads a message.
///
/// # Errors
/// If it is not valid: the id to answer with (null if the message has none) and the error.
pub(crate) fn parse(line: &[u8]) -> Result<Incoming, (Value, RpcError)> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|error| (Value::Null, RpcError::parse_error(format!("the message is not JSON: {error}"))))?;
    let Value::Object(mut fields) = value else {
        let reason = "a message is a JSON object; batches are not supported";
        return Err((Value::Null, RpcError::invalid_request(reason)));
    };
    let id = fields.remove("id");
    let answered = id.clone().filter(is_id).unwrap_or_default();
    let invalid = |reason: &str| (answered.clone(), RpcError::invalid_request(reason));
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid("`jsonrpc` must be \"2.0\""));
    }
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        return Err(invalid("`id` must be a number, a string or null"));
    }
    let params = fields.remove("params").unwrap_or_default();
    match (fields.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Ok(Incoming::Request { id, method, params }),
        (Some(Value::String(method)), None) => Ok(Incoming::Notification { method, params }),
        (Some(_), _) => Err(invalid("`method` must be a string")),
        (None, Some(id)) => match (fields.remove("result"), fields.remove("error")) {
            (Some(result), None) => Ok(Incoming::Response { id, result: Ok(result) }),
            (None, Some(error)) => match serde_json::from_value(error) {
                Ok(error) => Ok(Incoming::Response { id, result: Err(error) }),
                Err(_) => Err(invalid("`error` must have `code` and `message`")),
            },
            _ => Err(invalid("a message has `method`, or one of `result` and `error`")),
        },
        (None, None) => Err(invalid("a message has `method`, or `id` with `result` or `error`")),
    }
}

fn is_id(id: &Value) -> bool {
    matches!(id, Value::Null | Value::Number(_) | Value::String(_))
}

/// Writes a request, or a notification without an id.
pub(crate) fn request_line(id: Option<u64>, method: &str, params: &impl Serialize) -> String {
    let params = serde_json::to_value(params).unwrap_or_default();
    match id {
        Some(id) => json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }),
        None => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
    }
    .to_string()
}

/// Writes a response.
pub(crate) fn response_line(id: &Value, result: &Result<Value, RpcError>) -> String {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use lariat_api::{Problem, ProblemCode};
    use serde_json::{Value, json};

    use super::{Incoming, RpcError, parse};

    #[test]
    fn messages_that_are_not_valid_get_an_error_with_their_id() {
        let cases: &[(&str, Value, i64)] = &[
            ("", Value::Null, -32_700),
            ("{", Value::Null, -32_700),
            ("[]", Value::Null, -32_600),
            ("17", Value::Null, -32_600),
            (r#"{"id":1,"method":"x"}"#, json!(1), -32_600),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"x"}"#, Value::Null, -32_600),
            (r#"{"jsonrpc":"2.0","id":"a","method":5}"#, json!("a"), -32_600),
            (r#"{"jsonrpc":"2.0","id":2}"#, json!(2), -32_600),
            (r#"{"jsonrpc":"2.0","id":2,"result":1,"error":{"code":1,"message":""}}"#, json!(2), -32_600),
            (r#"{"jsonrpc":"2.0","id":2,"error":5}"#, json!(2), -32_600),
            (r#"{"jsonrpc":"2.0"}"#, Value::Null, -32_600),
        ];
        for (line, id, code) in cases {
            let (found, error) = parse(line.as_bytes()).unwrap_err();
            assert_eq!((&found, error.code), (id, *code), "{line}");
        }
        assert_eq!(parse(b"\xff").unwrap_err().1.code, -32_700);
        let deep = "[".repeat(100_000);
        assert_eq!(parse(deep.as_bytes()).unwrap_err().1.code, -32_700);
    }

    #[test]
    fn requests_notifications_and_responses_differ_by_their_fields() {
        let request = parse(br#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}}"#).unwrap();
        assert_eq!(
            request,
            Incoming::Request { id: json!("a"), method: "m".to_owned(), params: json!({"x": 1}) }
        );
        let notification = parse(br#"{"jsonrpc":"2.0","method":"m"}"#).unwrap();
        assert_eq!(notification, Incoming::Notification { method: "m".to_owned(), params: Value::Null });
        let response = parse(br#"{"jsonrpc":"2.0","id":7,"result":null}"#).unwrap();
        assert_eq!(response, Incoming::Response { id: json!(7), result: Ok(Value::Null) });
    }

    #[test]
    fn a_problem_keeps_its_text_its_hint_and_its_code() {
        let problem = Problem::new(ProblemCode::NotFound, "session `x` not found").with_hint("look");
        let error = RpcError::from(problem);
        assert_eq!((error.code, error.message.as_str()), (-32_002, "session `x` not found\nhint: look"));
        assert_eq!(error.data.unwrap()["code"], "not_found");
    }
}
