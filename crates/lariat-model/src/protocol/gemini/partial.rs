//! Assembles tool calls whose arguments arrive in parts, each a value at a JSON path (an option of Vertex).
//!
//! This crate does not enable the option, but a proxy or a default may. Only paths of members and positions
//! occur. Invariant: a tool call is emitted only after the provider said that it is complete.

use std::borrow::Cow;

use lariat_core::model::ProviderError;
use serde::Deserialize;
use serde_json::{Map, Number, Value};

use super::stream::FunctionCall;
use crate::wire::Reply;

/// Maximum total size of the events of one tool call, in bytes.
const CALL_LIMIT: usize = 32 * 1024 * 1024;
/// Maximum position in a list of arguments, so that a path cannot exhaust the memory.
const POSITION_LIMIT: usize = 65_536;
/// Maximum number of steps in a path.
const DEPTH_LIMIT: usize = 64;

/// A part of the arguments.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartialArg {
    json_path: Option<String>,
    string_value: Option<String>,
    number_value: Option<Number>,
    bool_value: Option<bool>,
    /// Always `NULL_VALUE`.
    null_value: Option<String>,
}

/// A tool call under construction.
#[derive(Debug)]
pub(super) struct PartialCall {
    index: usize,
    id: String,
    name: String,
    signature: Option<String>,
    arguments: Value,
    bytes: usize,
}

impl PartialCall {
    pub(super) fn new(index: usize) -> Self {
        let arguments = Value::Object(Map::new());
        Self { index, id: String::new(), name: String::new(), signature: None, arguments, bytes: 0 }
    }

    /// Adds the next part, which came in an event of `bytes` bytes.
    pub(super) fn add(
        &mut self,
        call: &FunctionCall<'_>,
        signature: Option<Cow<'_, str>>,
        bytes: usize,
    ) -> Result<(), ProviderError> {
        self.bytes += bytes;
        if self.bytes > CALL_LIMIT {
            return Err(invalid("a tool call is too large"));
        }
        if !call.name().is_empty() {
            if !self.name.is_empty() {
                return Err(invalid("a tool call started before the previous one was complete"));
            }
            call.name().clone_into(&mut self.name);
        }
        let id = call.id();
        if !id.is_empty() {
            self.id = id;
        }
        if let Some(signature) = signature {
            self.signature = Some(signature.into_owned());
        }
        if let Some(Value::Object(whole)) = &call.args
            && let Value::Object(arguments) = &mut self.arguments
        {
            arguments.extend(whole.clone());
        }
        for piece in call.partial_args.iter().flatten() {
            self.place(piece)?;
        }
        Ok(())
    }

    fn place(&mut self, piece: &PartialArg) -> Result<(), ProviderError> {
        let path = piece.json_path.as_deref().unwrap_or("$");
        let steps = steps(path).ok_or_else(|| invalid("a part of a tool call has an invalid path"))?;
        let mut place = &mut self.arguments;
        for step in steps {
            place = step
                .value_in(place)
                .ok_or_else(|| invalid("the parts of a tool call do not fit together"))?;
        }
        match (place, &piece.string_value) {
            (Value::String(text), Some(more)) => text.push_str(more),
            (place @ Value::Null, Some(text)) => *place = text.as_str().into(),
            (place, None) => {
                if let Some(number) = &piece.number_value {
                    *place = Value::Number(number.clone());
                } else if let Some(truth) = piece.bool_value {
                    *place = truth.into();
                } else if piece.null_value.is_some() {
                    *place = Value::Null;
                }
            }
            _ => return Err(invalid("the parts of a tool call do not fit together")),
        }
        Ok(())
    }

    /// Emits the complete tool call.
    pub(super) fn finish(self, reply: &mut Reply) -> Result<(), ProviderError> {
        reply.complete_call(self.index, &self.id, &self.name, self.arguments, self.signature)
    }
}

/// A step of a path.
enum PathStep<'a> {
    Member(&'a str),
    Position(usize),
}

impl PathStep<'_> {
    /// Returns the value at this step, and creates it if it does not exist.
    fn value_in(self, place: &mut Value) -> Option<&mut Value> {
        match self {
            Self::Member(name) => {
                if place.is_null() {
                    *place = Value::Object(Map::new());
                }
                Some(place.as_object_mut()?.entry(name).or_insert(Value::Null))
            }
            Self::Position(at) => {
                if place.is_null() {
                    *place = Value::Array(Vec::new());
                }
                let list = place.as_array_mut()?;
                if at >= list.len() {
                    list.resize(at + 1, Value::Null);
                }
                list.get_mut(at)
            }
        }
    }
}

/// Parses a path such as `$.files[0].name` or `$['odd name']`.
fn steps(path: &str) -> Option<Vec<PathStep<'_>>> {
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == DEPTH_LIMIT {
            return None;
        }
        if let Some(after) = rest.strip_prefix('[') {
            let quote = after.chars().next().filter(|c| matches!(c, '\'' | '"'));
            let end = match quote {
                Some(quote) => after.find(&format!("{quote}]"))? + 1,
                None => after.find(']')?,
            };
            let inside = after.get(..end)?;
            steps.push(match quote {
                Some(quote) => PathStep::Member(inside.trim_matches(quote)),
                None => PathStep::Position(inside.parse().ok().filter(|at| *at < POSITION_LIMIT)?),
            });
            rest = after.get(end + 1..)?;
        } else {
            let after = rest.strip_prefix('.').unwrap_or(rest);
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let name = after.get(..end).filter(|name| !name.is_empty())?;
            steps.push(PathStep::Member(name));
            rest = after.get(end..)?;
        }
    }
    Some(steps)
}

fn invalid(what: &str) -> ProviderError {
    ProviderError::InvalidReply(what.into())
}

#[cfg(test)]
#[path = "partial_tests.rs"]
mod tests;
