//! For each protocol: every rule rejects one example, and a valid request passes.

mod access;
mod anthropic;
mod bedrock;
mod chat;
mod gemini;
mod responses;

use serde_json::Value;

use super::body;
use crate::server::Wire;

/// The smallest image: one transparent pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// A copy of `base` with one value set (created, replaced, or pushed if the pointer ends in `-`).
fn with(base: &Value, pointer: &str, value: Value) -> Value {
    let mut copy = base.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match copy.pointer_mut(parent).unwrap_or_else(|| panic!("no {parent} for {pointer}")) {
        Value::Object(fields) => {
            fields.insert(key.to_owned(), value);
        }
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
        other => panic!("{parent} is {other}"),
    }
    copy
}

/// A copy of `base` without one value.
fn without(base: &Value, pointer: &str) -> Value {
    let mut copy = base.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match copy.pointer_mut(parent).unwrap() {
        Value::Object(fields) => assert!(fields.remove(key).is_some(), "{pointer}"),
        Value::Array(items) => {
            items.remove(key.parse().unwrap());
        }
        other => panic!("{parent} is {other}"),
    }
    copy
}

fn passes(wire: Wire, model: &str, request: &Value) {
    let problems = body(wire, model, request);
    assert!(problems.is_empty(), "{wire}: {problems:#?}\n{request:#}");
}

/// Asserts that the request is rejected, and that one of the reasons contains `expected`.
fn assert_rejected(wire: Wire, model: &str, request: &Value, expected: &str) {
    let problems: Vec<String> = body(wire, model, request).iter().map(ToString::to_string).collect();
    assert!(
        problems.iter().any(|problem| problem.contains(expected)),
        "{wire}: expected {expected:?}, got {problems:#?}\n{request:#}"
    );
}
