//! A position in the log of a session, opaque to clients.
//!
//! Invariant: a cursor names the history that it belongs to. A restored or replaced store has another history, so it
//! refuses old cursors instead of silently skipping events. The epoch of the writer is not part of it: readers continue
//! over a change of the writer.

use std::fmt;
use std::str::FromStr;

use lariat_core::id::EventId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Identifies a history: best the last event before a position, because another history has another event there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoreGeneration(String);

impl StoreGeneration {
    /// Wraps the name of a generation.
    ///
    /// # Errors
    /// If it is empty, longer than 64 characters, or has others than ASCII letters and digits.
    pub fn new(name: impl Into<String>) -> Result<Self, CursorError> {
        let name = name.into();
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if name.is_empty() || name.len() > 64 || !is_plain { Err(CursorError) } else { Ok(Self(name)) }
    }

    /// The history that ends with this event; `None` is the start of a session.
    pub fn after(event: Option<EventId>) -> Self {
        Self(event.map_or_else(|| "start".to_owned(), |id| id.to_string().replace('-', "")))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A position in the log of a session: the events before it are known to the client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    generation: StoreGeneration,
    next: u64,
}

/// The text is not a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is not valid; read the view of the session and use its cursor")]
pub struct CursorError;

impl Cursor {
    /// Creates the cursor after the first `next` events.
    pub const fn new(generation: StoreGeneration, next: u64) -> Self {
        Self { generation, next }
    }

    /// Creates the cursor before the first event of any session.
    pub fn start() -> Self {
        Self::new(StoreGeneration::after(None), 0)
    }

    /// Returns the generation of the store.
    pub const fn generation(&self) -> &StoreGeneration {
        &self.generation
    }

    /// Returns the position of the next event that the client does not know.
    pub const fn next(&self) -> u64 {
        self.next
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.generation.0, self.next)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (generation, next) = text.rsplit_once('-').ok_or(CursorError)?;
        // Accept only what `Display` writes, so that equal positions have equal texts.
        let is_canonical = next == "0" || !next.starts_with(['0', '+']);
        let next = next.parse().ok().filter(|_| is_canonical).ok_or(CursorError)?;
        Ok(Self { generation: StoreGeneration::new(generation)?, next })
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Cursor {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cursor".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A position in the log of a session. Opaque: a client only stores it and sends it back."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cursor, StoreGeneration};

    #[test]
    fn cursor_survives_its_text() {
        let cursor = Cursor::new(StoreGeneration::new("a1").unwrap(), 17);
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
    }

    #[test]
    fn refuses_texts_that_no_store_writes() {
        for text in ["", "17", "a1-", "a1-x", "-5", "a1-+5", "a1-05", "a b-5", "a1-18446744073709551616"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
    }
}
