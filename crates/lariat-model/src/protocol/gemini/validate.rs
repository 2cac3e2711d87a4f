//! Rejects requests that Gemini would reject with status 400, before they are sent.
//!
//! Each part is checked as it is built, so that a long conversation is checked once. Transcripts are valid by
//! construction; these checks catch mistakes of the builder before they cost a request. Invariant: an
//! accepted conversation starts and ends with the user, has exactly one response right after each tool call,
//! no empty part and, since Gemini 3, a signature on the first tool call of each step.

use lariat_core::model::ProviderError;
use serde_json::{Map, Value};

use super::generation::Era;

/// Maximum length of a function name, in bytes.
const NAME_LIMIT: usize = 128;
/// Image types that Gemini accepts. It responds with status 400 to others, including `image/gif`.
pub(super) const IMAGES: [&str; 5] = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
/// Part types that the runtime understands. A part has exactly one type.
const DATA: [&str; 4] = ["text", "inlineData", "functionCall", "functionResponse"];
/// Part types that go back unchanged.
const OPAQUE: [&str; 5] = ["fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"];

/// The roles of contents.
pub(super) const USER: &str = "user";
pub(super) const MODEL: &str = "model";

/// Checks parts as they are appended, and remembers what the rules need to know about earlier ones.
#[derive(Debug)]
pub(super) struct RequestValidator {
    era: Era,
    role: Option<&'static str>,
    /// Tool calls that wait for their response: name and id.
    open: Vec<(String, Option<String>)>,
}

impl RequestValidator {
    pub(super) const fn new(era: Era) -> Self {
        Self { era, role: None, open: Vec::new() }
    }

    /// Checks the next part.
    pub(super) fn part(&mut self, role: &'static str, part: &Value) -> Result<(), ProviderError> {
        let Some(fields) = part.as_object() else { return Err(rejection("a part is not a JSON object")) };
        if self.role.is_none() && role != USER {
            return Err(rejection("the conversation starts with a reply"));
        }
        let starts = self.role != Some(role);
        if starts && role == MODEL && !self.open.is_empty() {
            return Err(rejection("a reply follows tool calls that have no response"));
        }
        self.role = Some(role);
        let kinds = DATA.iter().chain(&OPAQUE).filter(|kind| fields.contains_key(**kind)).count();
        if kinds != 1 {
            return Err(rejection(&format!("a part has {kinds} types instead of one")));
        }
        if let Some(call) = fields.get("functionCall") {
            return self.call(role, fields, call);
        }
        if let Some(response) = fields.get("functionResponse") {
            return self.response(role, response);
        }
        if role == USER && !self.open.is_empty() {
            return Err(rejection("other content precedes the response to a tool call"));
        }
        let signed = fields.contains_key("thoughtSignature");
        if let Some(text) = fields.get("text").and_then(Value::as_str)
            && text.is_empty()
            && !signed
        {
            return Err(rejection("a text part is empty"));
        }
        if let Some(image) = fields.get("inlineData") {
            check_image(image)?;
        }
        Ok(())
    }

    fn call(&mut self, role: &str, part: &Map<String, Value>, call: &Value) -> Result<(), ProviderError> {
        let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
        if role != MODEL {
            return Err(rejection("a user message contains a tool call"));
        }
        if !is_function_name(name) {
            return Err(rejection(&format!("invalid function name `{name}`")));
        }
        if !call.get("args").is_some_and(Value::is_object) {
            return Err(rejection(&format!("the arguments of the tool call `{name}` are not a JSON object")));
        }
        // Gemini 3: "Function call is missing a thought_signature in functionCall parts" (400).
        if self.era == Era::Modern && self.open.is_empty() && !part.contains_key("thoughtSignature") {
            return Err(rejection(&format!("the first tool call of a step, `{name}`, has no signature")));
        }
        let id = call.get("id").and_then(Value::as_str).map(str::to_owned);
        if id.is_some() && self.open.iter().any(|(_, open)| *open == id) {
            return Err(rejection("two tool calls of a step have the same id"));
        }
        self.open.push((name.to_owned(), id));
        Ok(())
    }

    fn response(&mut self, role: &str, response: &Value) -> Result<(), ProviderError> {
        let name = response.get("name").and_then(Value::as_str).unwrap_or_default();
        let id = response.get("id").and_then(Value::as_str);
        if role != USER {
            return Err(rejection("a reply contains a response to a tool call"));
        }
        if !response.get("response").is_some_and(Value::is_object) {
            return Err(rejection(&format!("the response of `{name}` is not a JSON object")));
        }
        for part in response.get("parts").and_then(Value::as_array).into_iter().flatten() {
            check_image(part.get("inlineData").unwrap_or(&Value::Null))?;
        }
        let answered = self.open.iter().position(|(call, open)| call == name && open.as_deref() == id);
        let Some(at) = answered else {
            return Err(rejection(&format!("the response of `{name}` has no tool call")));
        };
        self.open.remove(at);
        Ok(())
    }

    /// Whether the last part belongs to the model.
    pub(super) fn ends_with_model(&self) -> bool {
        self.role == Some(MODEL)
    }

    /// Checks the conversation as a whole.
    pub(super) fn end(&self) -> Result<(), ProviderError> {
        if !self.open.is_empty() {
            return Err(rejection("a tool call has no response"));
        }
        match self.role {
            None => Err(rejection("the request has no messages")),
            Some(USER) => Ok(()),
            // "Please ensure that multiturn requests end with a user role or a function response" (400).
            Some(_) => Err(rejection("the conversation ends in a reply")),
        }
    }
}

fn check_image(blob: &Value) -> Result<(), ProviderError> {
    let field = |name: &str| blob.get(name).and_then(Value::as_str).unwrap_or_default();
    if !IMAGES.contains(&field("mimeType")) {
        return Err(rejection(&format!("unsupported image type `{}`", field("mimeType"))));
    }
    if field("data").is_empty() {
        return Err(rejection("an image is empty"));
    }
    Ok(())
}

/// Whether a name is valid: a letter or an underscore, then letters, digits, `_`, `.`, `:` and `-`.
pub(super) fn is_function_name(name: &str) -> bool {
    let first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.len() <= NAME_LIMIT
        && name.bytes().next().is_some_and(first)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'-'))
}

/// Whether these are the fields of a part that goes back without being interpreted.
pub(super) fn is_opaque_part(fields: &Map<String, Value>) -> bool {
    let has = |kinds: &[&str]| kinds.iter().filter(|kind| fields.contains_key(**kind)).count();
    has(&OPAQUE) == 1 && has(&DATA) == 0
}

pub(super) fn rejection(why: &str) -> ProviderError {
    ProviderError::Api(format!("the provider would reject this request: {why}").into())
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
