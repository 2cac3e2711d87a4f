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
}

impl Document {
    /// Reads a text.
    ///
    /// # Errors
    /// When it is not of that format.
    pub fn parse(text: &str, format: Format, origin: Origin) -> Result<Self, SettingsError> {
        match value(text, format) {
            Ok(Value::Null) => Ok(Self { origin, value: Value::Object(serde_json::Map::new()) }),
            Ok(value @ Value::Object(_)) => Ok(Self { origin, value }),
            Ok(_) => Err(SettingsError::malformed(&origin, &"it is not a table of settings")),
            Err(reason) => Err(SettingsError::malformed(&origin, &reason)),
        }
    }
}

/// A parser's error in one line. Its own picture of the place, with a caret below the text, does not survive a prefix.
fn located(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {line}, column {column}: {}", error.message().trim().replace('\n', ", "))
}

/// What a text says.
pub(crate) fn value(text: &str, format: Format) -> Result<Value, String> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    match format {
        Format::Json => serde_json::from_str(text).map_err(|error| error.to_string()),
        Format::Toml => {
            let table: toml::Table = text.parse().map_err(|error: toml::de::Error| located(text, &error))?;
            serde_json::to_value(table).map_err(|error| error.to_string())
        }
    }
}
