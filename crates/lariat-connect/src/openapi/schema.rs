//! Turns schemas of a document into JSON Schemas that stand alone and that providers accept.
//!
//! References are replaced by what they name, and a schema that contains itself ends there. Invariant: the result contains
//! only the keywords listed here, with values of the right type, and its size is bounded: a schema that would be too large
//! is expanded less deeply.

use lariat_core::display;
use serde_json::{Map, Value, json};

use super::document::OpenApiDocument;

/// Maximum size of the schema of a tool, in bytes of JSON. Larger ones fill the context window of a model.
pub(super) const MAX_SCHEMA: usize = 16 * 1024;
/// Depths to which a schema is expanded, until it fits.
pub(super) const DEPTHS: &[usize] = &[12, 8, 6, 5, 4, 3, 2, 1];
/// Maximum number of values while expanding, so that references in references cost no time.
const MAX_VALUES: usize = 4_000;
/// Maximum size of a description in a schema, in bytes.
const MAX_NOTE: usize = 512;
/// Maximum size of the description of a tool, in bytes.
const MAX_DESCRIPTION: usize = 2 * 1024;

const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object", "null"];
const NUMBERS: &[&str] = &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const COUNTS: &[&str] = &["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];
const LISTS: &[&str] = &["anyOf", "oneOf", "allOf"];

/// A text of a document for the model: neutralised and cut.
pub(super) fn description(text: &str) -> String {
    cut(text, MAX_DESCRIPTION)
}

/// A text of a schema for the model: neutralised and cut.
pub(super) fn note(text: &str) -> String {
    cut(text, MAX_NOTE)
}

fn cut(text: &str, most: usize) -> String {
    let start = text.get(..text.floor_char_boundary(most)).unwrap_or_default();
    let shown = display::block(start.trim()).into_owned();
    if start.len() < text.len() { format!("{shown} …") } else { shown }
}

/// Expands schemas of one operation to a certain depth.
pub(super) struct Expansion<'a> {
    document: &'a OpenApiDocument,
    depth: usize,
    values: usize,
    /// The references that are being expanded.
    open: Vec<&'a str>,
}

impl<'a> Expansion<'a> {
    pub(super) const fn new(document: &'a OpenApiDocument, depth: usize) -> Self {
        Self { document, depth, values: 0, open: Vec::new() }
    }

    /// Whether the schemas had more values than allowed, so the results are not complete.
    pub(super) const fn is_over(&self) -> bool {
        self.values > MAX_VALUES
    }

    /// The schema at `depth` beneath the arguments of the tool.
    pub(super) fn schema(&mut self, value: &'a Value, depth: usize) -> Value {
        self.values += 1;
        let Some(fields) = value.as_object().filter(|_| !self.is_over()) else { return json!({}) };
        let Some(reference) = fields.get("$ref").and_then(Value::as_str) else {
            return self.fields(fields, depth);
        };
        let text = fields.get("description").and_then(Value::as_str);
        let named = self.document.lookup(reference);
        let mut schema = match named {
            Some(named) if !self.open.contains(&reference) && self.open.len() < self.depth * 2 => {
                self.open.push(reference);
                let schema = self.schema(named, depth);
                self.open.pop();
                schema
            }
            // It contains itself, or is not in the document.
            _ => json!({}),
        };
        if let (Some(text), Some(schema)) = (text, schema.as_object_mut()) {
            schema.insert("description".to_owned(), note(text).into());
        }
        schema
    }

    fn fields(&mut self, fields: &'a Map<String, Value>, depth: usize) -> Value {
        let mut schema = Map::new();
        let mut types = types(fields);
        if fields.get("nullable") == Some(&Value::Bool(true)) && !types.is_empty() && !types.contains(&"null")
        {
            types.push("null");
        }
        match types.as_slice() {
            [] => {}
            [one] => drop(schema.insert("type".to_owned(), (*one).into())),
            several => drop(schema.insert("type".to_owned(), several.into())),
        }
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let about = text("description").or_else(|| text("title")).filter(|text| !text.trim().is_empty());
        if let Some(about) = about {
            schema.insert("description".to_owned(), note(about).into());
        }
        if let Some(format) = text("format").filter(|format| is_word(format)) {
            schema.insert("format".to_owned(), format.into());
        }
        self.constants(fields, types.contains(&"null"), &mut schema);
        numbers(fields, &mut schema);
        if depth >= self.depth {
            return Value::Object(schema);
        }
        self.nested(fields, depth, &mut schema);
        if types.contains(&"array") && !schema.contains_key("items") {
            schema.insert("items".to_owned(), json!({}));
        }
        Value::Object(schema)
    }

    fn constants(&mut self, fields: &Map<String, Value>, is_nullable: bool, schema: &mut Map<String, Value>) {
        if let Some(values) = fields.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty())
        {
            let mut list: Vec<Value> = Vec::new();
            for value in values {
                let value = neutral(value);
                if !list.contains(&value) {
                    list.push(value);
                }
            }
            if is_nullable && !list.contains(&Value::Null) {
                list.push(Value::Null);
            }
            self.values += list.len();
            schema.insert("enum".to_owned(), list.into());
        }
        for name in ["const", "default"] {
            // A large default is documentation, and costs tokens.
            if let Some(value) = fields.get(name).filter(|value| value.to_string().len() <= MAX_NOTE) {
                schema.insert(name.to_owned(), neutral(value));
            }
        }
    }

    fn nested(&mut self, fields: &'a Map<String, Value>, depth: usize, schema: &mut Map<String, Value>) {
        if let Some(properties) = fields.get("properties").and_then(Value::as_object) {
            // The server sets them, so a request never has them.
            let is_sent = |value: &&Value| {
                let value = self.document.resolve(value).unwrap_or(value);
                value.get("readOnly") != Some(&Value::Bool(true))
            };
            let sent: Vec<(&String, &Value)> =
                properties.iter().filter(|(_, value)| is_sent(value)).collect();
            let all: Map<String, Value> = sent
                .into_iter()
                .map(|(name, value)| (display::line(name).into_owned(), self.schema(value, depth + 1)))
                .collect();
            let mut required: Vec<String> = Vec::new();
            for name in fields.get("required").and_then(Value::as_array).into_iter().flatten() {
                if let Some(name) = name.as_str().filter(|name| all.contains_key(*name))
                    && !required.iter().any(|known| known == name)
                {
                    required.push(name.to_owned());
                }
            }
            if !required.is_empty() {
                schema.insert("required".to_owned(), required.into());
            }
            schema.insert("properties".to_owned(), Value::Object(all));
        }
        match fields.get("additionalProperties") {
            Some(Value::Bool(allowed)) => {
                schema.insert("additionalProperties".to_owned(), (*allowed).into());
            }
            Some(value @ Value::Object(_)) => {
                let value = self.schema(value, depth + 1);
                schema.insert("additionalProperties".to_owned(), value);
            }
            _ => {}
        }
        for name in ["items", "not"] {
            if let Some(value @ Value::Object(_)) = fields.get(name) {
                let value = self.schema(value, depth + 1);
                schema.insert(name.to_owned(), value);
            }
        }
        for name in LISTS {
            let list = fields.get(*name).and_then(Value::as_array).filter(|list| !list.is_empty());
            if let Some(list) = list {
                let list: Vec<Value> = list.iter().map(|value| self.schema(value, depth + 1)).collect();
                schema.insert((*name).to_owned(), list.into());
            }
        }
    }
}

fn types(fields: &Map<String, Value>) -> Vec<&'static str> {
    let known = |name: &Value| TYPES.iter().copied().find(|known| name.as_str() == Some(known));
    let mut types: Vec<&'static str> = Vec::new();
    let written = match fields.get("type") {
        Some(Value::Array(names)) => names.iter().filter_map(known).collect(),
        Some(name) => known(name).into_iter().collect(),
        None => Vec::new(),
    };
    for name in written {
        if !types.contains(&name) {
            types.push(name);
        }
    }
    types
}

fn numbers(fields: &Map<String, Value>, schema: &mut Map<String, Value>) {
    for name in NUMBERS {
        if let Some(value) = fields.get(*name).filter(|value| value.is_number()) {
            schema.insert((*name).to_owned(), value.clone());
        }
    }
    // In OpenAPI 3.0 these are switches of the other limit.
    for (switch, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if fields.get(switch) == Some(&Value::Bool(true))
            && let Some(value) = schema.remove(limit)
        {
            schema.insert(switch.to_owned(), value);
        }
    }
    if schema.get("multipleOf").and_then(Value::as_f64).is_some_and(|step| step <= 0.0) {
        schema.remove("multipleOf");
    }
    for name in COUNTS {
        if let Some(count) = fields.get(*name).and_then(Value::as_u64) {
            schema.insert((*name).to_owned(), count.into());
        }
    }
    if fields.get("uniqueItems") == Some(&Value::Bool(true)) {
        schema.insert("uniqueItems".to_owned(), true.into());
    }
}

/// A value with neutralised texts. Servers compare constants byte by byte, so only texts with invisible characters change.
fn neutral(value: &Value) -> Value {
    match value {
        Value::String(text) => display::block(text).into_owned().into(),
        Value::Array(items) => items.iter().map(neutral).collect(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| (display::line(name).into_owned(), neutral(value));
            Value::Object(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}

fn is_word(text: &str) -> bool {
    text.len() <= 32
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
}
