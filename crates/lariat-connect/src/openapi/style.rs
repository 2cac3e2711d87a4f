//! Writes the values of parameters as documents ask for: styles of paths, queries and forms.
//!
//! Invariant: everything but letters, digits, `-`, `.`, `_` and `~` of a value is percent-encoded, so a value can end
//! neither its path segment nor its query parameter.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Everything that is not unreserved in RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Maximum depth of a value in a query or a form.
const MAX_DEPTH: usize = 8;
/// How often a value may be encoded for the check of path segments: servers behind proxies decode more than once.
const DECODINGS: usize = 3;

/// How a value is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ParameterStyle {
    /// `a,b` in a path or a header.
    #[default]
    Simple,
    /// `.a.b` in a path.
    Label,
    /// `;name=a` in a path.
    Matrix,
    /// `name=a&name=b`, or `name=a,b`.
    Form,
    /// `name=a%20b`.
    SpaceDelimited,
    /// `name=a|b`.
    PipeDelimited,
    /// `name[field]=a`.
    DeepObject,
}

impl ParameterStyle {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "simple" => Self::Simple,
            "label" => Self::Label,
            "matrix" => Self::Matrix,
            "form" => Self::Form,
            "spaceDelimited" => Self::SpaceDelimited,
            "pipeDelimited" => Self::PipeDelimited,
            "deepObject" => Self::DeepObject,
            _ => return None,
        })
    }
}

/// Percent-encodes a text.
pub(super) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// A value as the text of a parameter: texts without quotes, everything else as JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Writes a path parameter.
///
/// # Errors
/// Why the value cannot be part of a path.
pub(super) fn path(
    name: &str,
    value: &Value,
    style: ParameterStyle,
    explode: bool,
) -> Result<String, String> {
    let text = |value: &Value| {
        let text = plain(value);
        check_segment(name, &text)?;
        Ok::<_, String>(encode(&text))
    };
    let (first, between) = match (style, explode) {
        (ParameterStyle::Label, true) => (".".to_owned(), "."),
        (ParameterStyle::Label, false) => (".".to_owned(), ","),
        (ParameterStyle::Matrix, true) => (format!(";{}=", encode(name)), ""),
        (ParameterStyle::Matrix, false) => (format!(";{}=", encode(name)), ","),
        _ => (String::new(), ","),
    };
    match value {
        Value::Array(items) if items.is_empty() => Err(format!("`{name}` is empty")),
        Value::Array(items) => {
            let items = items.iter().map(text).collect::<Result<Vec<_>, _>>()?;
            if style == ParameterStyle::Matrix && explode {
                return Ok(items.iter().map(|item| format!("{first}{item}")).collect());
            }
            Ok(format!("{first}{}", items.join(between)))
        }
        Value::Object(fields) => {
            let sign = if explode { '=' } else { ',' };
            let field =
                |(name, value): (&String, &Value)| Ok(format!("{}{sign}{}", encode(name), text(value)?));
            let fields = fields.iter().map(field).collect::<Result<Vec<_>, String>>()?;
            let (first, between) = match (style, explode) {
                (ParameterStyle::Matrix, true) => (";".to_owned(), ";"),
                _ => (first, between),
            };
            Ok(format!("{first}{}", fields.join(between)))
        }
        one => Ok(format!("{first}{}", text(one)?)),
    }
}

/// Refuses values that a server or a proxy could read as another path. Some decode `%2F` before they resolve `..`.
fn check_segment(name: &str, text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err(format!("`{name}` is empty, which would be another path"));
    }
    let mut decoded = text.to_owned();
    for _ in 0..=DECODINGS {
        if decoded.chars().any(char::is_control) {
            return Err(format!("`{name}` contains a control character"));
        }
        if decoded.split(['/', '\\']).any(|part| matches!(part.trim(), "." | "..")) {
            return Err(format!("`{name}` contains `.` or `..` as a path segment"));
        }
        decoded = percent_decode_str(&decoded).decode_utf8_lossy().into_owned();
    }
    Ok(())
}

/// Adds the pairs of a query parameter, encoded.
pub(super) fn query(
    pairs: &mut Vec<String>,
    name: &str,
    value: &Value,
    style: ParameterStyle,
    explode: bool,
) {
    match (value, style) {
        (Value::Object(_), ParameterStyle::DeepObject) => brackets(pairs, &encode(name), value, 0),
        (Value::Array(items), ParameterStyle::DeepObject) => {
            array_in_brackets(pairs, &encode(name), items, 0)
        }
        (Value::Object(fields), _) if explode => {
            pairs.extend(fields.iter().map(|(name, value)| pair(&encode(name), value)));
        }
        (Value::Object(fields), _) => {
            let each = fields.iter().flat_map(|(name, value)| [encode(name), encode(&plain(value))]);
            pairs.push(format!("{}={}", encode(name), each.collect::<Vec<_>>().join(delimiter(style))));
        }
        (Value::Array(items), _) if explode => {
            pairs.extend(items.iter().map(|item| pair(&encode(name), item)));
        }
        (Value::Array(items), _) => {
            let each: Vec<String> = items.iter().map(|item| encode(&plain(item))).collect();
            pairs.push(format!("{}={}", encode(name), each.join(delimiter(style))));
        }
        (one, _) => pairs.push(pair(&encode(name), one)),
    }
}

const fn delimiter(style: ParameterStyle) -> &'static str {
    match style {
        ParameterStyle::SpaceDelimited => "%20",
        ParameterStyle::PipeDelimited => "%7C",
        _ => ",",
    }
}

fn pair(name: &str, value: &Value) -> String {
    format!("{name}={}", encode(&plain(value)))
}

/// A form, as `application/x-www-form-urlencoded`. Nested values are in brackets; a list of texts repeats its name, unless
/// the document asks for brackets.
pub(super) fn form(fields: &Map<String, Value>, in_brackets: &[String]) -> String {
    let mut pairs = Vec::new();
    for (name, value) in fields {
        let is_nested = |item: &Value| item.is_object() || item.is_array();
        match value {
            Value::Array(items) if in_brackets.contains(name) || items.iter().any(is_nested) => {
                array_in_brackets(&mut pairs, &encode(name), items, 0);
            }
            Value::Array(items) => pairs.extend(items.iter().map(|item| pair(&encode(name), item))),
            Value::Object(_) => brackets(&mut pairs, &encode(name), value, 0),
            one => pairs.push(pair(&encode(name), one)),
        }
    }
    pairs.join("&")
}

fn brackets(pairs: &mut Vec<String>, name: &str, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) if depth < MAX_DEPTH => {
            for (field, value) in fields {
                brackets(pairs, &format!("{name}%5B{}%5D", encode(field)), value, depth + 1);
            }
        }
        Value::Array(items) if depth < MAX_DEPTH => array_in_brackets(pairs, name, items, depth),
        one => pairs.push(pair(name, one)),
    }
}

fn array_in_brackets(pairs: &mut Vec<String>, name: &str, items: &[Value], depth: usize) {
    for (index, item) in items.iter().enumerate() {
        brackets(pairs, &format!("{name}%5B{index}%5D"), item, depth + 1);
    }
}
