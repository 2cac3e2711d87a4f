//! Validates the conversation: roles, parts, and the pairing of function calls with responses.
//!
//! Includes the rule of the third generation: in the current turn, the first function call of each step has
//! its thought signature.
//! Invariant: a turn with calls is followed by a turn with as many responses, of the same names and in any
//! order.

use serde_json::Value;

use super::super::problem::Problems;
use super::super::{images, names};
use super::{is_third, unknown_name};
use crate::server::{Wire, base64, json};

/// A part has exactly one of these fields.
const DATA: &[&str] = &[
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
];

/// Fields that may accompany the data.
const BESIDE: &[&str] = &["thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"];

pub(super) fn check(found: &mut Problems, wire: Wire, model: &str, body: &Value) {
    let contents = json::list(body, "contents");
    if contents.is_empty() {
        return found.at(format_args!("GenerateContentRequest.contents"), "contents is not specified");
    }
    let mut previous: Option<&Value> = None;
    for (index, content) in contents.iter().enumerate() {
        let role = json::text(content, "role").unwrap_or_default();
        for name in json::unknown(content, &["role", "parts"]) {
            found.whole(unknown_name(name, &format!("contents[{index}]")));
        }
        if !["user", "model"].contains(&role) {
            found.whole("Please use a valid role: user, model.");
        }
        if previous.is_none() && role != "user" {
            found.whole("Please ensure that the first content has the role user.");
        }
        if previous.is_some_and(|before| json::text(before, "role") == Some(role)) {
            found.at(
                format_args!("contents[{index}]"),
                "Please ensure that multiturn requests alternate between user and model.",
            );
        }
        parts(found, wire, model, index, content, role);
        pairs(found, index, previous, content);
        previous = Some(content);
    }
    if let Some(last) = previous {
        if with(last, "functionCall").next().is_some() {
            found.whole("Please ensure that function call turns are followed by a function response turn.");
        } else if json::text(last, "role") == Some("model") {
            found.whole("Please ensure that multiturn requests end with a user role or a function response.");
        }
    }
    if is_third(model) {
        signatures(found, contents);
    }
}

fn with<'a>(content: &'a Value, field: &'a str) -> impl Iterator<Item = &'a Value> {
    json::list(content, "parts").iter().filter_map(move |part| part.get(field))
}

fn pairs(found: &mut Problems, index: usize, previous: Option<&Value>, content: &Value) {
    let calls: Vec<&Value> = previous.into_iter().flat_map(|before| with(before, "functionCall")).collect();
    let responses: Vec<&Value> = with(content, "functionResponse").collect();
    if calls.len() != responses.len() {
        let message = if calls.is_empty() {
            "Please ensure that function response turn comes immediately after a function call turn."
        } else {
            "Please ensure that the number of function response parts is equal to the number of function call parts of \
             the function call turn."
        };
        return found.at(format_args!("contents[{index}]"), message);
    }
    let mut open = calls;
    for response in responses {
        let name = json::text(response, "name");
        let id = json::text(response, "id");
        let fits = |call: &&Value| {
            json::text(call, "name") == name && (id.is_none() || json::text(call, "id") == id)
        };
        match open.iter().position(fits) {
            Some(place) => {
                open.remove(place);
            }
            None => {
                let message = format!(
                    "function response {} answers no function call of the turn before",
                    name.unwrap_or("?")
                );
                found.at(format_args!("contents[{index}]"), message);
            }
        }
    }
}

fn parts(found: &mut Problems, wire: Wire, model: &str, index: usize, content: &Value, role: &str) {
    let parts = json::list(content, "parts");
    if parts.is_empty() {
        let message = "contents.parts must not be empty.";
        found.at(format_args!("GenerateContentRequest.contents[{index}].parts"), message);
    }
    for (place, part) in parts.iter().enumerate() {
        let at = format_args!("contents[{index}].parts[{place}]");
        for name in json::unknown(part, DATA).filter(|name| !BESIDE.contains(name)) {
            found.whole(unknown_name(name, &at.to_string()));
        }
        let data: Vec<&str> = DATA.iter().copied().filter(|name| json::has(part, name)).collect();
        if data.len() != 1 {
            found
                .at(format_args!("{at}.data"), "required oneof field 'data' must have one initialized field");
            continue;
        }
        if let Some(signature) = part.get("thoughtSignature") {
            if signature.as_str().is_none_or(|text| base64::decode(text).is_none()) {
                found.at(format_args!("{at}.thought_signature"), "Base64 decoding failed");
            }
            if role != "model" {
                found.at(
                    format_args!("{at}.thought_signature"),
                    "Thought signature is not valid in this role.",
                );
            }
        }
        // Gemini itself sends an empty text to carry a signature, and accepts it back.
        if json::text(part, "text") == Some("") && !json::has(part, "thoughtSignature") {
            found.at(at, "Unable to submit request because it has an empty text parameter. Add a value to the parameter and try again.");
        }
        if let Some(blob) = part.get("inlineData") {
            inline(found, at, blob);
        }
        if let Some(call) = part.get("functionCall") {
            let known = json::unknown(call, &["id", "name", "args"]).next();
            if let Some(name) = known {
                found.whole(unknown_name(name, &format!("{at}.function_call")));
            }
            if role != "model" {
                found.at(at, "function call parts are only valid in the role model");
            }
            if !json::text(call, "name").is_some_and(names::is_google_function) {
                found.at(format_args!("{at}.function_call.name"), "Name cannot be empty or malformed.");
            }
            if call.get("args").is_some_and(|args| !args.is_object()) {
                found.at(format_args!("{at}.function_call.args"), "args must be a struct.");
            }
        }
        if let Some(response) = part.get("functionResponse") {
            self::response(found, wire, model, at, response, role);
        }
    }
}

fn response(
    found: &mut Problems,
    wire: Wire,
    model: &str,
    at: std::fmt::Arguments<'_>,
    response: &Value,
    role: &str,
) {
    let known = ["id", "name", "response", "parts", "willContinue", "scheduling"];
    for name in json::unknown(response, &known) {
        found.whole(unknown_name(name, &format!("{at}.function_response")));
    }
    if role != "user" {
        found.at(at, "function response parts are only valid in the role user");
    }
    if !json::text(response, "name").is_some_and(names::is_google_function) {
        found.at(format_args!("{at}.function_response.name"), "Name cannot be empty.");
    }
    if !response.get("response").is_some_and(Value::is_object) {
        found.at(format_args!("{at}.function_response.response"), "response must be a struct.");
    }
    let parts = json::list(response, "parts");
    if !parts.is_empty() && !is_third(model) {
        let message = format!("Multimodal function responses are not supported for this model ({wire}).");
        found.at(format_args!("{at}.function_response.parts"), message);
    }
    for part in parts {
        match part.get("inlineData") {
            Some(blob) => inline(found, at, blob),
            None if json::has(part, "fileData") => {}
            None => found
                .at(format_args!("{at}.function_response.parts"), "a part of a function response is a blob"),
        }
    }
}

fn inline(found: &mut Problems, at: std::fmt::Arguments<'_>, blob: &Value) {
    if !json::text(blob, "mimeType").is_some_and(|kind| kind.contains('/')) {
        found.at(format_args!("{at}.inline_data.mime_type"), "mimeType is required.");
    }
    if !json::text(blob, "data").is_some_and(images::is_data) {
        found.at(format_args!("{at}.inline_data.data"), "Base64 decoding failed");
    }
}

/// Checks thought signatures. The current turn begins with the last user content without a function response.
fn signatures(found: &mut Problems, contents: &[Value]) {
    let prompts = |content: &Value| {
        json::text(content, "role") == Some("user") && with(content, "functionResponse").next().is_none()
    };
    let start = contents.iter().rposition(prompts).unwrap_or(0);
    for (index, content) in contents.iter().enumerate().skip(start) {
        let parts = json::list(content, "parts");
        let first = parts.iter().enumerate().find(|(_, part)| json::has(part, "functionCall"));
        if let Some((place, part)) = first
            && json::text(part, "thoughtSignature").is_none_or(str::is_empty)
        {
            let name = part.get("functionCall").and_then(|call| json::text(call, "name")).unwrap_or_default();
            let message = format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
                 correctly, and missing thought_signature may lead to degraded model performance. Additional data, \
                 function call `default_api:{name}`, position {}.",
                place + 1
            );
            found.at(format_args!("contents[{index}]"), message);
        }
    }
}
