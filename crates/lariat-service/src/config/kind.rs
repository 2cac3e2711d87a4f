//! A row of the table of settings, and the kinds of values: how they are validated and compared.

use std::time::Duration;

use lariat_core::nearest::nearest;
use serde_json::Value;

use super::settings::{AllowedHost, Settings};

/// A setting.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Key {
    /// Its path; `*` stands for a name that the user chooses.
    pub name: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// Whether it can raise permissions. Only the user's own settings may contain it.
    pub raises: bool,
    /// Whether it restricts. An invalid value stops the session.
    pub restricts: bool,
    /// Whether it is a limit: the smaller of the user's and the project's value applies.
    pub caps: bool,
    /// An example for the template, if there is no default.
    pub example: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// Stores a value in the setting's field. The text is the name that the user chose for `*`.
    pub(super) set: fn(&mut Settings, &str, &Value) -> Result<(), String>,
    /// The value of the setting's field; `None` if it is not set.
    pub(super) get: fn(&Settings, &str) -> Option<Value>,
}

/// The type of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Any text.
    Text,
    /// On or off.
    Flag,
    /// A whole number, 0 or more.
    Count,
    /// A whole number, 1 or more.
    Positive,
    /// A percentage from 0 to 100.
    Percent,
    /// An amount in US dollars.
    Money,
    /// A duration: `90s`, `10m`, `2h`.
    Time,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// A list of hosts, each with an optional port.
    Hosts,
}

impl Key {
    /// Marks the setting as restricting.
    pub(super) const fn as_restricting(self) -> Self {
        Self { restricts: true, ..self }
    }

    /// Marks the setting as a limit.
    pub(super) const fn cap(self) -> Self {
        Self { restricts: true, caps: true, ..self }
    }

    /// Sets the example for the template.
    pub(super) const fn with_example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    /// The default, as a settings file would contain it.
    pub fn default_value(&self) -> Option<Value> {
        (self.get)(&Settings::default(), "")
    }

    /// Stores a value in the field that `path` names.
    pub(super) fn store(&self, settings: &mut Settings, path: &str, value: &Value) -> Result<(), String> {
        let mut words = self.name.split('.').zip(path.split('.'));
        let chosen = words.find(|(name, _)| *name == "*").map(|(_, word)| word);
        (self.set)(settings, chosen.unwrap_or_default(), value)
    }
}

impl Kind {
    /// Whether one value of a limit is smaller than another.
    pub(super) fn is_less(self, value: &Value, than: &Value) -> bool {
        let amount = |value: &Value| match self {
            Self::Time => value.as_str().and_then(time).map(|time| time.as_secs_f64()),
            _ => value.as_f64(),
        };
        matches!((amount(value), amount(than)), (Some(value), Some(than)) if value < than)
    }

    /// Validates a value. The error text follows the key's name in a sentence.
    pub(super) fn read(self, value: &Value) -> Result<Value, String> {
        let wrong = |wanted: &str| Err(format!("must be {wanted}, not {value}"));
        match (self, value) {
            (Self::Text, Value::String(_)) | (Self::Flag, Value::Bool(_)) => Ok(value.clone()),
            (Self::Count, Value::Number(number)) if number.is_u64() => Ok(value.clone()),
            (Self::Positive, Value::Number(number)) if number.as_u64().is_some_and(|n| n > 0) => {
                Ok(value.clone())
            }
            (Self::Percent, Value::Number(number)) if number.as_u64().is_some_and(|n| n <= 100) => {
                Ok(value.clone())
            }
            (Self::Money, Value::Number(number)) if number.as_f64().is_some_and(|n| n >= 0.0) => {
                Ok(value.clone())
            }
            (Self::Time, Value::String(text)) if time(text).is_some() => Ok(value.clone()),
            (Self::Time, Value::Number(number)) if number.is_u64() => Ok(Value::from(format!("{number}s"))),
            (Self::Word(words), Value::String(text)) => {
                if words.contains(&text.as_str()) {
                    return Ok(value.clone());
                }
                let meant = nearest(text, words.iter().copied());
                let hint = meant.map(|meant| format!("; did you mean \"{meant}\"?")).unwrap_or_default();
                Err(format!("must be one of \"{}\", not {value}{hint}", words.join("\", \"")))
            }
            (Self::Texts, Value::Array(items)) if items.iter().all(Value::is_string) => Ok(value.clone()),
            (Self::Hosts, Value::Array(items)) => {
                let is_host =
                    |item: &&Value| item.as_str().is_some_and(|text| AllowedHost::parse(text).is_some());
                match items.iter().find(|item| !is_host(item)) {
                    None => Ok(value.clone()),
                    Some(item) => Err(format!(
                        "contains {item}, which is not a host such as \"crates.io\" or \"*.crates.io:443\""
                    )),
                }
            }
            (Self::Text, _) => wrong("a string"),
            (Self::Flag, _) => wrong("true or false"),
            (Self::Count, _) => wrong("a whole number"),
            (Self::Positive, _) => wrong("a whole number above 0"),
            (Self::Percent, _) => wrong("a number from 0 to 100"),
            (Self::Money, _) => wrong("an amount in dollars"),
            (Self::Time, _) => wrong("a duration such as \"90s\", \"10m\" or \"2h\""),
            (Self::Word(words), _) => wrong(&format!("one of \"{}\"", words.join("\", \""))),
            (Self::Texts, _) => wrong("a list of strings"),
            (Self::Hosts, _) => wrong("a list of hosts such as [\"crates.io\", \"*.crates.io:443\"]"),
        }
    }
}

/// Parses a duration.
pub(super) fn time(text: &str) -> Option<Duration> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(end)?;
    let number: u64 = number.parse().ok()?;
    let seconds = match unit.trim() {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    Some(Duration::from_secs(number.checked_mul(seconds)?))
}

/// Writes a duration of whole seconds with the largest unit that fits.
pub(super) fn time_text(time: Duration) -> String {
    let seconds = time.as_secs();
    let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
    let unit = units.into_iter().find(|(unit, _)| seconds >= *unit && seconds.is_multiple_of(*unit));
    let (unit, word) = unit.unwrap_or((1, "s"));
    format!("{}{word}", seconds / unit)
}
