//! Accessors for JSON in which a missing field and a field of the wrong type are the same. Nothing here fails
//! or copies.

use serde_json::Value;

/// The field as a string.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// The elements of a list field; empty if there is none.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a field exists and is not null.
pub(crate) fn has(value: &Value, key: &str) -> bool {
    value.get(key).is_some_and(|field| !field.is_null())
}

/// The fields of an object; none for any other value.
pub(crate) fn fields(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(key, field)| (key.as_str(), field))
}

/// The names of an object's fields that are not in `known`.
pub(crate) fn unknown<'a>(value: &'a Value, known: &[&str]) -> impl Iterator<Item = &'a str> {
    fields(value).map(|(key, _)| key).filter(|key| !known.contains(key))
}

/// Parses a text as JSON. Text that is not JSON becomes a string, so that the arguments of a bad model stay
/// bad in protocols whose arguments are objects.
pub(crate) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
