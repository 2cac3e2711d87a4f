//! Validates requests like Bedrock's Converse, including what Claude behind it rejects.
//! `bedrock/parameters.rs` has the parameters.
//!
//! Call ids must match the narrow character set of Claude, not the wider one of the service model (which also
//! accepts `.` and `:`).
//! Invariant: roles alternate, and every turn with tool calls is followed by one with exactly their results.

mod parameters;

use std::collections::HashSet;
use std::fmt::Arguments;

use serde_json::Value;

use super::problem::{Problem, Problems};
use super::{images, names};
use crate::server::{json, signature_fits};

pub(super) fn problems(model: &str, body: &Value) -> Vec<Problem> {
    let mut found = Problems::default();
    parameters::check(&mut found, model, body);
    let messages = json::list(body, "messages");
    let role = |message: &Value| json::text(message, "role").map(str::to_owned);
    if messages.first().and_then(role).as_deref() != Some("user") {
        found.whole(
            "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        );
    }
    if messages.last().and_then(role).as_deref() == Some("assistant") {
        found.whole(
            "The model you are using requires the last turn in the conversation to be a user message.",
        );
    }
    let mut ids = HashSet::new();
    let mut calls: Vec<&str> = Vec::new();
    let mut uses_tools = false;
    let mut last = String::new();
    for (index, message) in messages.iter().enumerate() {
        let role = role(message).unwrap_or_default();
        if !["user", "assistant"].contains(&role.as_str()) {
            let message = "Value should be one of [user, assistant]";
            found.at(format_args!("messages.{index}.role"), message);
        }
        if role == last {
            found.whole(
                "A conversation must alternate between user and assistant roles. Make sure the conversation alternates \
                 between user and assistant roles and try again.",
            );
        }
        let content = json::list(message, "content");
        if content.is_empty() {
            let message = format!(
                "The content field in the Message object at messages.{index} is empty. Add a ContentBlock object to the content field and try again."
            );
            found.whole(message);
        }
        for (place, block) in content.iter().enumerate() {
            self::block(&mut found, index, place, block, &role);
        }
        if content.first().is_some_and(|block| json::has(block, "cachePoint")) {
            let message = "cachePoint cannot be the first content block of a message";
            found.at(format_args!("messages.{index}.content.0"), message);
        }
        results(&mut found, index, content, &calls);
        calls = content.iter().filter_map(|block| json::text(block.get("toolUse")?, "toolUseId")).collect();
        for id in &calls {
            if !ids.insert(*id) {
                let message =
                    format!("The toolUse blocks at messages.{index}.content contain duplicate Ids: {id}");
                found.whole(message);
            }
        }
        uses_tools |=
            content.iter().any(|block| json::has(block, "toolUse") || json::has(block, "toolResult"));
        last = role;
    }
    if !calls.is_empty() {
        results(&mut found, messages.len(), &[], &calls);
    }
    if uses_tools && !json::has(body, "toolConfig") {
        found.whole("The toolConfig field must be defined when using toolUse and toolResult content blocks.");
    }
    found.0
}

fn results(found: &mut Problems, index: usize, content: &[Value], calls: &[&str]) {
    let mut answered: Vec<&str> = Vec::new();
    for id in content.iter().filter_map(|block| json::text(block.get("toolResult")?, "toolUseId")) {
        if answered.contains(&id) {
            found.whole(format!(
                "The toolResult blocks at messages.{index}.content contain duplicate Ids: {id}"
            ));
        } else if !calls.contains(&id) {
            found.whole(format!("The toolResult block at messages.{index}.content has an Id that no toolUse block of the previous turn has: {id}"));
        }
        answered.push(id);
    }
    let missing: Vec<&str> = calls.iter().copied().filter(|id| !answered.contains(id)).collect();
    if !missing.is_empty() {
        let ids = missing.join(", ");
        found.whole(format!(
            "Expected toolResult blocks at messages.{index}.content for the following Ids: {ids}"
        ));
    }
    if answered.len() > calls.len() {
        found.whole(format!("The number of toolResult blocks at messages.{index}.content exceeds the number of toolUse blocks of previous turn."));
    }
}

fn block(found: &mut Problems, index: usize, place: usize, block: &Value, role: &str) {
    let at = format_args!("messages.{index}.content.{place}");
    let mut members = json::fields(block);
    let (Some((kind, inner)), None) = (members.next(), members.next()) else {
        return found.at(at, "a content block must set exactly one of its members");
    };
    let home = match kind {
        "toolUse" | "reasoningContent" => "assistant",
        "toolResult" | "image" | "document" | "video" | "audio" => "user",
        "text" | "cachePoint" | "guardContent" | "citationsContent" | "searchResult" => role,
        other => return found.at(at, format!("unknown member {other} of a content block")),
    };
    if home != role {
        found.at(at, format!("{kind} blocks are only supported in {home} messages"));
    }
    match kind {
        "text" => text(found, at, inner),
        "image" => image(found, at, inner),
        "cachePoint" => parameters::cache_point(found, at, inner),
        "toolUse" => {
            known(found, at, inner, &["toolUseId", "name", "input", "type"]);
            tool_id(found, at, inner);
            if !json::text(inner, "name").is_some_and(|name| names::is_word(name, 64)) {
                found.at(
                    format_args!("{at}.toolUse.name"),
                    "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
                );
            }
            if !inner.get("input").is_some_and(Value::is_object) {
                let message = format!(
                    "The format of the value at {at}.toolUse.input is invalid. Provide a json object for the field and try again."
                );
                found.whole(message);
            }
        }
        "toolResult" => {
            known(found, at, inner, &["toolUseId", "content", "status", "type"]);
            tool_id(found, at, inner);
            if !matches!(json::text(inner, "status"), None | Some("success" | "error")) {
                found.at(
                    format_args!("{at}.toolResult.status"),
                    "Member must satisfy enum value set: [success, error]",
                );
            }
            let parts = json::list(inner, "content");
            if parts.is_empty() {
                found.at(format_args!("{at}.toolResult.content"), "must not be empty");
            }
            for part in parts {
                let mut members = json::fields(part);
                match (members.next(), members.next()) {
                    (Some(("text", value)), None) => text(found, at, value),
                    (Some(("image", value)), None) => image(found, at, value),
                    (Some(("json", value)), None) if !value.is_object() => {
                        found.at(format_args!("{at}.toolResult.content"), "json must be an object");
                    }
                    (Some(("json" | "document" | "video" | "searchResult", _)), None) => {}
                    _ => found.at(
                        format_args!("{at}.toolResult.content"),
                        "a content block must set exactly one of its members",
                    ),
                }
            }
        }
        "reasoningContent" => reasoning(found, at, inner),
        _ => {}
    }
}

fn text(found: &mut Problems, at: Arguments<'_>, value: &Value) {
    if value.as_str().is_none_or(|text| text.trim().is_empty()) {
        let message = format!(
            "The text field in the ContentBlock object at {at} is blank. Add text to the text field, and try again."
        );
        found.whole(message);
    }
}

fn image(found: &mut Problems, at: Arguments<'_>, image: &Value) {
    known(found, at, image, &["format", "source"]);
    if !matches!(json::text(image, "format"), Some("png" | "jpeg" | "gif" | "webp")) {
        found.at(
            format_args!("{at}.image.format"),
            "Member must satisfy enum value set: [png, jpeg, gif, webp]",
        );
    }
    let source = image.get("source").unwrap_or(&Value::Null);
    let bytes = json::text(source, "bytes").is_some_and(images::is_data);
    if !bytes && !json::has(source, "s3Location") {
        found.at(format_args!("{at}.image.source"), "Could not process image: bytes must be base64");
    }
}

fn reasoning(found: &mut Problems, at: Arguments<'_>, inner: &Value) {
    if let Some(redacted) = inner.get("redactedContent") {
        if !redacted.as_str().is_some_and(images::is_data) {
            found.at(format_args!("{at}.reasoningContent.redactedContent"), "must be base64");
        }
        return;
    }
    let Some(spoken) = inner.get("reasoningText") else {
        return found.at(format_args!("{at}.reasoningContent"), "must set exactly one of its members");
    };
    let thinking = json::text(spoken, "text").unwrap_or_default();
    if thinking.is_empty() {
        found.at(format_args!("{at}.reasoningContent.reasoningText.text"), "must not be empty");
    }
    match json::text(spoken, "signature") {
        None | Some("") => {
            found.at(format_args!("{at}.reasoningContent.reasoningText.signature"), "Field required")
        }
        Some(signature) if !signature_fits(signature, thinking) => {
            found.at(at, "Invalid `signature` in `thinking` block");
        }
        Some(_) => {}
    }
}

fn tool_id(found: &mut Problems, at: Arguments<'_>, inner: &Value) {
    if !json::text(inner, "toolUseId").is_some_and(|id| names::is_word(id, 64)) {
        let message = "Value failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+ \
                       and have length between 1 and 64";
        found.at(format_args!("{at}.toolUseId"), message);
    }
}

fn known(found: &mut Problems, at: Arguments<'_>, value: &Value, known: &[&str]) {
    for name in json::unknown(value, known) {
        found.at(at, format!("extraneous key [{name}] is not permitted"));
    }
}
