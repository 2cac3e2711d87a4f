//! A file of settings, parsed: the one reading that rules, hooks and trust share.
//!
//! Owns the formats. What trust shows to a person and what takes effect later come from the same value, so that no
//! byte order mark and no format makes the two differ.

use serde_json::Value;

use crate::origin::Origin;
use crate::settings::SettingsError;

/// How a file of settings is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Claude Code's `settings.json`, `.mcp.json` and their like.
    Json,
    /// `lariat.toml`.
    Toml,
}

impl Format {
    /// By the end of a file's name.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let (_, end) = path.rsplit_once('.')?;
        match end {
            "json" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            _ => None,
        }
    }
}

/// The value of a file of settings, and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// Where it was written.
    pub origin: Origin,
    /// All that it says; a file without words is an empty object.
    pub value: Value,
    text: String,
}

impl Document {
    /// Reads a text.
    ///
    /// # Errors
    /// When it is not of that format.
    pub fn parse(text: &str, format: Format, origin: Origin) -> Result<Self, SettingsError> {
        let value = match value(text, format) {
            Ok(Value::Null) => Value::Object(serde_json::Map::new()),
            Ok(value @ Value::Object(_)) => value,
            Ok(_) => return Err(SettingsError::malformed(&origin, None, &"it is not a table of settings")),
            Err(Flaw { line, reason }) => return Err(SettingsError::malformed(&origin, line, &reason)),
        };
        Ok(Self { origin, value, text: text.to_owned() })
    }

    /// The line on which something is written: each word is looked for after the one before it. For messages: where a
    /// file says the same twice, it is the first.
    pub fn line_of(&self, words: &[&str]) -> Option<usize> {
        let mut at = 0;
        let mut found = false;
        for word in words {
            let quoted = Value::from(*word).to_string();
            let escaped = quoted.trim_matches('"');
            let rest = self.text.get(at..)?;
            // The last word is what the message is about; without it there is no line to name.
            match rest.find(escaped).or_else(|| rest.find(word)) {
                Some(offset) => (at, found) = (at + offset, true),
                None => found = false,
            }
        }
        found.then(|| line_at(&self.text, at))
    }
}

/// What is wrong with a text, and on which line.
#[derive(Debug)]
pub(crate) struct Flaw {
    pub(crate) line: Option<usize>,
    pub(crate) reason: String,
}

fn line_at(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

/// A parser's error in one line, with its place.
fn located(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let (line, words) = (line_at(text, before.len()), error.message().trim().replace('\n', ", "));
    format!("line {line}, column {column}: {words}")
}

/// What a text says.
pub(crate) fn value(text: &str, format: Format) -> Result<Value, Flaw> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    match format {
        Format::Json => serde_json::from_str(text)
            .map_err(|error| Flaw { line: Some(error.line()), reason: error.to_string() }),
        Format::Toml => {
            let table: toml::Table = text.parse().map_err(|error: toml::de::Error| Flaw {
                line: error.span().map(|span| line_at(text, span.start)),
                // The parser's own picture of the place, with a caret below the text, does not survive a prefix.
                reason: located(text, &error),
            })?;
            serde_json::to_value(table).map_err(|error| Flaw { line: None, reason: error.to_string() })
        }
    }
}

/// What a file of settings says, in one spelling: spaces, comments and the order of keys make no difference. `None` for
/// a file that is not of a format of settings, or not well-formed: its bytes are what it says.
pub(crate) fn canonical(path: &str, bytes: &[u8]) -> Option<String> {
    let value = value(std::str::from_utf8(bytes).ok()?, Format::of(path)?).ok()?;
    let mut text = String::new();
    write(&value, &mut text);
    Some(text)
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            text.push('{');
            for name in names {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write(fields.get(name).unwrap_or(&Value::Null), text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write(item, text);
                text.push(',');
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}
