//! Parses a settings file once for rules, hooks and trust alike.
//!
//! What the trust prompt shows to the user and what takes effect later come from the same value, so that no byte order mark
//! and no difference between formats can make the two differ.

use serde_json::Value;

use crate::origin::Origin;
use crate::settings_error::SettingsError;

/// The syntax of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Claude Code's `settings.json`, `.mcp.json` and similar files.
    Json,
    /// `lariat.toml`.
    Toml,
}

impl Format {
    /// Detects the format from the extension of a file name.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let (_, end) = path.rsplit_once('.')?;
        match end {
            "json" => Some(Self::Json),
            "toml" => Some(Self::Toml),
            _ => None,
        }
    }
}

/// The parsed value of a settings file and the file it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// The file it came from.
    pub origin: Origin,
    /// The settings; an empty file is an empty object.
    pub value: Value,
    text: String,
}

impl Document {
    /// Parses a text.
    ///
    /// # Errors
    /// The text is not valid in that format, or is not a table.
    pub fn parse(text: &str, format: Format, origin: Origin) -> Result<Self, SettingsError> {
        let value = match value(text, format) {
            Ok(Value::Null) => Value::Object(serde_json::Map::new()),
            Ok(value @ Value::Object(_)) => value,
            Ok(_) => return Err(SettingsError::malformed(&origin, None, &"expected a table of settings")),
            Err(SyntaxError { line, reason }) => {
                return Err(SettingsError::malformed(&origin, line, &reason));
            }
        };
        Ok(Self { origin, value, text: text.to_owned() })
    }

    /// Returns the line of the last of `words`, searching each word after the one before it. For messages only: if the
    /// file contains the same words twice, this is the first place.
    pub fn line_of(&self, words: &[&str]) -> Option<usize> {
        let mut at = 0;
        let mut found = false;
        for word in words {
            let quoted = Value::from(*word).to_string();
            let escaped = quoted.trim_matches('"');
            let rest = self.text.get(at..)?;
            // The message is about the last word; without it there is no line to name.
            match rest.find(escaped).or_else(|| rest.find(word)) {
                Some(offset) => (at, found) = (at + offset, true),
                None => found = false,
            }
        }
        found.then(|| line_at(&self.text, at))
    }
}

/// A syntax error, and the line it is on.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) line: Option<usize>,
    pub(crate) reason: String,
}

fn line_at(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

/// Formats a parser's error on one line, with its line and column.
fn with_position(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let (line, words) = (line_at(text, before.len()), error.message().trim().replace('\n', ", "));
    format!("line {line}, column {column}: {words}")
}

/// Parses a text; `Null` if it is empty.
pub(crate) fn value(text: &str, format: Format) -> Result<Value, SyntaxError> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    match format {
        Format::Json => serde_json::from_str(text)
            .map_err(|error| SyntaxError { line: Some(error.line()), reason: error.to_string() }),
        Format::Toml => {
            let table: toml::Table = text.parse().map_err(|error: toml::de::Error| SyntaxError {
                line: error.span().map(|span| line_at(text, span.start)),
                // The parser's own excerpt with a caret below the text would not survive a prefix.
                reason: with_position(text, &error),
            })?;
            serde_json::to_value(table).map_err(|error| SyntaxError { line: None, reason: error.to_string() })
        }
    }
}

/// Returns the content of a settings file in one spelling, without regard to whitespace, comments and the order of keys.
/// `None` for a file that is not in a settings format or is malformed: compare its bytes instead.
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
