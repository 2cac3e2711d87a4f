//! Reads a front matter as YAML.
//!
//! Only keys, texts and lists of texts are of use, so a nested table becomes the lines of a text. The reader fails for
//! everything that is not a table in valid YAML; the caller then reads the lines leniently.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::front_matter::FrontMatterField;

/// Returns the keys and values of a table, in the order of the text.
pub(super) fn entries(text: &str) -> Option<Vec<(String, FrontMatterField)>> {
    // Not the old spellings: a skill may have the name `on`.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).ok().map(|Table(entries)| entries)
}

struct Table(Vec<(String, FrontMatterField)>);

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TableVisitor)
    }
}

struct TableVisitor;

impl<'de> Visitor<'de> for TableVisitor {
    type Value = Table;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Table(entries))
    }
}

impl<'de> Deserialize<'de> for FrontMatterField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

struct EntryVisitor;

impl EntryVisitor {
    fn text(text: impl ToString) -> FrontMatterField {
        FrontMatterField { text: text.to_string().trim_end().to_owned(), items: Vec::new() }
    }
}

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = FrontMatterField;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a list or a table")
    }

    fn visit_str<E>(self, value: &str) -> Result<FrontMatterField, E> {
        Ok(Self::text(value))
    }

    fn visit_bool<E>(self, value: bool) -> Result<FrontMatterField, E> {
        Ok(Self::text(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<FrontMatterField, E> {
        Ok(Self::text(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<FrontMatterField, E> {
        Ok(Self::text(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<FrontMatterField, E> {
        Ok(Self::text(value))
    }

    fn visit_unit<E>(self) -> Result<FrontMatterField, E> {
        Ok(FrontMatterField::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<FrontMatterField, A::Error> {
        let mut items = Vec::new();
        while let Some(FrontMatterField { text, .. }) = seq.next_element()? {
            items.push(text);
        }
        Ok(FrontMatterField { text: String::new(), items })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FrontMatterField, A::Error> {
        let Table(entries) = TableVisitor.visit_map(map)?;
        let lines: Vec<String> =
            entries.iter().map(|(key, entry)| format!("{key}: {}", entry.text)).collect();
        Ok(Self::text(lines.join("\n")))
    }
}
