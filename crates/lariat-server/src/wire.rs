//! Defines what both ends of the wire share: limits, names, addresses, and the form of a filter in a query.
//!
//! Invariant: a path or a query that this module writes for a client, the routes read as the same value.

use std::time::Duration;

use lariat_api::{LogRequest, Problem, ProblemCode, SessionFilter};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

/// The version of the routes. It changes when an older client would misunderstand a newer host.
pub(crate) const PROTOCOL: u32 = 1;

/// How long a stream is silent before the host sends a comment.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// The longest body of a request, in bytes: a prompt with pictures fits.
pub(crate) const MAX_BODY: usize = 64 << 20;

/// The content type of a [`Problem`](lariat_api::Problem).
pub(crate) const PROBLEM: &str = "application/problem+json";

/// Names of the events of a stream.
pub(crate) mod name {
    /// A durable event, or a live one.
    pub(crate) const EVENT: &str = "event";
    /// The log reached the newest event.
    pub(crate) const SYNCED: &str = "synced";
    /// The reader missed live events.
    pub(crate) const RESYNC: &str = "resync";
    /// A session changed.
    pub(crate) const CHANGE: &str = "change";
    /// The stream has a problem; the data is a [`Problem`](lariat_api::Problem).
    pub(crate) const PROBLEM: &str = "problem";
    /// The stream is complete. A stream without it was cut.
    pub(crate) const END: &str = "end";
}

/// The problem of a body that is longer than [`MAX_BODY`].
pub(crate) fn too_large() -> Problem {
    Problem::new(ProblemCode::Invalid, format!("the request is larger than {} MiB", MAX_BODY >> 20))
}

/// What may stand for itself in a path segment or a query: RFC 3986 calls these characters unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the text as one segment of a path.
fn segment(text: &str) -> String {
    match text {
        // A path segment of dots alone means a directory, and clients remove it.
        "." | ".." => text.replace('.', "%2E"),
        text => utf8_percent_encode(text, RESERVED).to_string(),
    }
}

/// Returns the path of a session, or of a part of it.
pub(crate) fn session_path(session_id: &str, rest: &[&str]) -> String {
    let parts = rest.iter().map(|part| format!("/{}", segment(part)));
    format!("/v1/sessions/{}{}", segment(session_id), parts.collect::<String>())
}

/// Returns the path and the query that read a log.
pub(crate) fn log_path(session_id: &str, request: &LogRequest) -> String {
    let after = request.after.as_ref().map(|cursor| format!("after={}&", segment(&cursor.to_string())));
    let last = request.last.map(|last| format!("last={last}&"));
    let from = after.into_iter().chain(last).collect::<String>();
    format!("{}?{from}follow={}", session_path(session_id, &["log"]), request.follow)
}

/// Returns the path and the query that list sessions.
pub(crate) fn list_path(filter: &SessionFilter) -> Result<String, serde_json::Error> {
    let Value::Object(fields) = serde_json::to_value(filter)? else {
        return Ok("/v1/sessions".to_owned());
    };
    let pairs = fields.iter().flat_map(|(name, value)| match value {
        Value::Array(values) => values.iter().map(|value| pair(name, value)).collect(),
        value => vec![pair(name, value)],
    });
    let query = pairs.collect::<Vec<_>>().join("&");
    Ok(if query.is_empty() { "/v1/sessions".to_owned() } else { format!("/v1/sessions?{query}") })
}

fn pair(name: &str, value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("{name}={}", segment(&text))
}

/// Reads the filter from the pairs of a query. A condition that it does not know is an error: ignoring it would
/// select too much.
pub(crate) fn read_filter(pairs: Vec<(String, String)>) -> Result<SessionFilter, serde_json::Error> {
    let mut fields = Map::new();
    for (name, text) in pairs {
        match name.as_str() {
            "status" => match fields.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(values) => values.push(Value::String(text)),
                value => *value = Value::String(text),
            },
            "limit" => {
                let value = text.parse::<u64>().map_or(Value::String(text), Value::from);
                fields.insert(name, value);
            }
            _ => {
                fields.insert(name, Value::String(text));
            }
        }
    }
    serde_json::from_value(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dots_and_slashes_in_an_id_stay_one_segment() {
        assert_eq!(session_path("..", &["blobs", "a/b?c"]), "/v1/sessions/%2E%2E/blobs/a%2Fb%3Fc");
    }

    #[test]
    fn refuses_filter_that_selects_other_sessions() {
        for (name, text) in [("owner", "me"), ("limit", "many"), ("active_since", "yesterday")] {
            assert!(read_filter(vec![(name.to_owned(), text.to_owned())]).is_err(), "{name}");
        }
    }

    #[test]
    fn limit_is_a_number_and_text_is_not() {
        let pairs = [("limit", "5"), ("text", "5"), ("status", "idle"), ("status", "dreaming")];
        let filter = read_filter(pairs.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec());
        let expected = json!({ "limit": 5, "text": "5", "status": ["idle", "dreaming"] });
        assert_eq!(serde_json::to_value(filter.unwrap()).unwrap(), expected);
    }
}
