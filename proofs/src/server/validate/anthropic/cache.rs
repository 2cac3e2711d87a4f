//! Validates cache breakpoints: their number, kind and order, in the order in which the API reads a prompt:
//! tools, system, messages.
//!
//! Invariant: a breakpoint is found wherever the API accepts one, also inside a tool result.

use serde_json::Value;

use super::super::problem::Problems;
use crate::server::json;

/// Maximum number of breakpoints in a request.
const MOST: usize = 4;

pub(super) fn check(found: &mut Problems, body: &Value) {
    let mut breakpoints = Vec::new();
    for (name, places) in [("tools", json::list(body, "tools")), ("system", json::list(body, "system"))] {
        for (index, place) in places.iter().enumerate() {
            note(&mut breakpoints, place, || format!("{name}.{index}"));
        }
    }
    for (turn, message) in json::list(body, "messages").iter().enumerate() {
        for (index, block) in json::list(message, "content").iter().enumerate() {
            for (inner, part) in json::list(block, "content").iter().enumerate() {
                note(&mut breakpoints, part, || format!("messages.{turn}.content.{index}.content.{inner}"));
            }
            note(&mut breakpoints, block, || format!("messages.{turn}.content.{index}"));
        }
    }
    note(&mut breakpoints, body, String::new);
    if breakpoints.len() > MOST {
        let number = breakpoints.len();
        found
            .whole(format!("A maximum of {MOST} blocks with cache_control may be provided. Found {number}."));
    }
    let mut short_seen = false;
    for (path, control) in &breakpoints {
        if json::text(control, "type") != Some("ephemeral") {
            found.at(format_args!("{path}.cache_control.type"), "Input should be 'ephemeral'");
        }
        for name in json::unknown(control, &["type", "ttl"]) {
            found.at(format_args!("{path}.cache_control.{name}"), super::EXTRA);
        }
        match control.get("ttl").map(Value::as_str) {
            None | Some(Some("5m")) => short_seen = true,
            Some(Some("1h")) if short_seen => found.at(
                format_args!("{path}.cache_control.ttl"),
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks \
                 are processed in the following order: `tools`, `system`, `messages`.",
            ),
            Some(Some("1h")) => {}
            Some(_) => found.at(format_args!("{path}.cache_control.ttl"), "Input should be '5m' or '1h'"),
        }
    }
}

fn note<'a>(breakpoints: &mut Vec<(String, &'a Value)>, place: &'a Value, path: impl Fn() -> String) {
    if let Some(control) = place.get("cache_control").filter(|control| !control.is_null()) {
        breakpoints.push((path(), control));
    }
}
