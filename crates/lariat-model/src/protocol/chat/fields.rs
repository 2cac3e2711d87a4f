//! Reads fields the way compatible providers really send them: text may be a number or missing, counts may be
//! text, content may be a list of parts, and arguments may be an object.
//!
//! Avoids copying where the bytes allow it. Invariant: a field of an unexpected type is read as empty and
//! never fails its frame.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Text. A number is read as text, anything else as empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl Text<'_> {
    /// Borrows the text of an optional field; empty if it is missing.
    pub(crate) fn of(field: &Option<Self>) -> &str {
        field.as_ref().map_or("", |text| &text.0)
    }
}

impl<'a> Text<'a> {
    /// Takes the text of an optional field; empty if it is missing.
    pub(crate) fn take(field: Option<Self>) -> Cow<'a, str> {
        field.map_or(Cow::Borrowed(""), |text| text.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldVisitor;
        impl<'de> Visitor<'de> for FieldVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(number.to_string())))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Text::default())
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Text::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Text::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Text::default())
            }
        }
        deserializer.deserialize_any(FieldVisitor)
    }
}

/// A token count or a position. Text and fractions are read as numbers, anything else as `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Count(pub(crate) Option<u64>);

impl Count {
    pub(crate) fn or_zero(self) -> u64 {
        self.0.unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Avoids a detour through text, because most events of a stream contain a number.
        struct FieldVisitor;
        impl<'de> Visitor<'de> for FieldVisitor {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Count(Some(number)))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Count(u64::try_from(number).ok()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
                Ok(Count((number >= 0.0).then_some(number as u64)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                let fraction = || text.parse().ok().filter(|number: &f64| *number >= 0.0);
                let whole = text.parse().ok();
                Ok(Count(whole.or_else(|| fraction().map(|number| number as u64))))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Count(None))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Count(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Count(None))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Count(None))
            }
        }
        deserializer.deserialize_any(FieldVisitor)
    }
}

/// Content: text, or a list of parts of which some are text and some reasoning.
#[derive(Debug, PartialEq)]
pub(crate) enum Parts<'a> {
    /// A single text.
    Text(Cow<'a, str>),
    /// Parts, each text or reasoning.
    List(Vec<Part>),
}

/// One part of the content.
#[derive(Debug, PartialEq)]
pub(crate) struct Part {
    /// Whether the part is reasoning (Mistral: `{"type":"thinking","thinking":[{"type":"text",…}]}`).
    pub(crate) reasoning: bool,
    pub(crate) text: String,
}

impl<'de: 'a, 'a> Deserialize<'de> for Parts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldVisitor;
        impl<'de> Visitor<'de> for FieldVisitor {
            type Value = Parts<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("content")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Parts::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Parts::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Parts::Text(Cow::Borrowed("")))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Parts::Text(Cow::Borrowed("")))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Parts::Text(Cow::Borrowed("")))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Parts::Text(Cow::Borrowed("")))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Parts::Text(Cow::Borrowed("")))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = seq.next_element::<Value>()? {
                    parts.extend(read_part(&part));
                }
                Ok(Parts::List(parts))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let fields = Map::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(Parts::List(read_part(&Value::Object(fields)).into_iter().collect()))
            }
        }
        deserializer.deserialize_any(FieldVisitor)
    }
}

fn read_part(part: &Value) -> Option<Part> {
    if let Some(text) = part.as_str() {
        return Some(Part { reasoning: false, text: text.to_owned() });
    }
    if let Some(thinking) = part.get("thinking") {
        let text = match thinking {
            Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
            other => other.as_str().unwrap_or_default().to_owned(),
        };
        return Some(Part { reasoning: true, text });
    }
    let text = part.get("text")?.as_str()?.to_owned();
    Some(Part { reasoning: false, text })
}

/// Arguments of a tool call: JSON text, or the object itself from providers that parse it.
#[derive(Debug, PartialEq)]
pub(crate) enum ArgumentsField<'a> {
    /// A part of the JSON text.
    Text(Cow<'a, str>),
    /// The complete, parsed arguments.
    Whole(Value),
}

impl<'de: 'a, 'a> Deserialize<'de> for ArgumentsField<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldVisitor;
        impl<'de> Visitor<'de> for FieldVisitor {
            type Value = ArgumentsField<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("arguments")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(ArgumentsField::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(ArgumentsField::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(ArgumentsField::Text(Cow::Borrowed("")))
            }

            // Numbers and the like stay unchanged, so that the check of the complete tool call rejects them.
            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(ArgumentsField::Whole(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
                Ok(ArgumentsField::Whole(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
                Ok(ArgumentsField::Whole(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
                Ok(ArgumentsField::Whole(value.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                let list = Vec::<Value>::deserialize(serde::de::value::SeqAccessDeserializer::new(seq))?;
                Ok(ArgumentsField::Whole(Value::Array(list)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let fields = Map::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(ArgumentsField::Whole(Value::Object(fields)))
            }
        }
        deserializer.deserialize_any(FieldVisitor)
    }
}
