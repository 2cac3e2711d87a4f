//! Reading JSON without surprises: a missing or mistyped field is simply not there.
//!
//! Owns the few looks that validators and scripts share. Invariant: nothing here fails or copies.

use serde_json::Value;

/// The JSON in a text; a text that is none is itself, as a string, so that a bad model's arguments stay bad in
/// protocols whose arguments are objects.
pub(crate) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
