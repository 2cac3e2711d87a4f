//! A document: its text becomes a value, and references in it are looked up. Nothing outside the document is read.

use std::path::Path;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use url::Url;

use super::address;
use super::error::OpenApiError;

/// Maximum size of a document, in bytes. The largest public ones have about 14 MB.
pub const MAX_DOCUMENT: usize = 32 * 1024 * 1024;
/// Maximum number of references that lead to each other.
const MAX_REFERENCES: usize = 16;
/// Maximum number of values in a YAML document. The largest public ones have about 400,000.
const MAX_VALUES: usize = 2_000_000;

/// A document of OpenAPI 3.0 or 3.1.
#[derive(Clone, Debug)]
pub struct OpenApiDocument {
    root: Value,
    hash: String,
}

impl OpenApiDocument {
    /// Reads a document. It is JSON if its first character is `{` or `[`, else YAML.
    ///
    /// # Errors
    /// If the text is too large, or not a document of OpenAPI 3.0 or 3.1.
    pub fn parse(text: &str) -> Result<Self, OpenApiError> {
        if text.len() > MAX_DOCUMENT {
            return Err(OpenApiError::TooLarge(MAX_DOCUMENT));
        }
        let text = text.trim_start_matches('\u{feff}');
        let root: Value = if text.trim_start().starts_with(['{', '[']) {
            serde_json::from_str(text)
                .map_err(|error| OpenApiError::Invalid(format!("the document is not valid JSON: {error}")))?
        } else {
            yaml(text)?
        };
        match root.get("openapi").and_then(Value::as_str) {
            Some(version) if version.starts_with("3.0") || version.starts_with("3.1") => {}
            Some(version) => {
                let version = lariat_core::display::line(version);
                return Err(OpenApiError::Invalid(format!(
                    "the document is OpenAPI {version}; Lariat reads 3.0 and 3.1"
                )));
            }
            None if root.get("swagger").is_some() => {
                return Err(OpenApiError::Invalid(
                    "the document is Swagger 2.0; convert it to OpenAPI 3".to_owned(),
                ));
            }
            None => {
                return Err(OpenApiError::Invalid(
                    "the text is not an OpenAPI document: `openapi` is missing".to_owned(),
                ));
            }
        }
        Ok(Self { root, hash: hash_of(text) })
    }

    /// Reads a document from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or as in [`parse`](Self::parse).
    pub async fn read(path: &Path) -> Result<Self, OpenApiError> {
        let path = path.to_owned();
        let reading = tokio::task::spawn_blocking(move || Self::parse(&text_of(&path)?));
        reading.await.map_err(|error| OpenApiError::Invalid(error.to_string()))?
    }

    /// The [`hash`](Self::hash) that the document in a file has.
    ///
    /// # Errors
    /// If the file cannot be read, or is too large.
    pub fn hash_of_file(path: &Path) -> Result<String, OpenApiError> {
        Ok(hash_of(&text_of(path)?))
    }

    /// A hash of the text.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The title, neutralised.
    pub fn title(&self) -> String {
        let title = self.root.pointer("/info/title").and_then(Value::as_str).unwrap_or_default();
        lariat_core::display::line(title).chars().take(100).collect()
    }

    /// The address of the first server, with the defaults of its variables. `source` is the address of the document, to
    /// which a server can be relative.
    ///
    /// # Errors
    /// If the document names no server, or its address is not a valid one.
    pub fn server_url(&self, source: Option<&str>) -> Result<String, OpenApiError> {
        let source = source.map(address::parse).transpose()?;
        address::server(&self.root, source.as_ref()).map(|url| url.to_string())
    }

    pub(super) fn server(&self, source: Option<&Url>) -> Result<Url, OpenApiError> {
        address::server(&self.root, source)
    }

    pub(super) fn root(&self) -> &Value {
        &self.root
    }

    /// The value itself, or what it refers to in this document.
    pub(super) fn resolve<'a>(&'a self, value: &'a Value) -> Result<&'a Value, String> {
        let mut value = value;
        for _ in 0..MAX_REFERENCES {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Ok(value) };
            value = self.lookup(reference).ok_or_else(|| {
                let shown: String = lariat_core::display::line(reference).chars().take(100).collect();
                format!("it refers to `{shown}`, which is not in the document")
            })?;
        }
        Err("its references lead to each other".to_owned())
    }

    /// What a reference like `#/components/schemas/Pet` names.
    pub(super) fn lookup(&self, reference: &str) -> Option<&Value> {
        let pointer = reference.strip_prefix('#')?;
        let pointer = percent_decode_str(pointer).decode_utf8().ok()?;
        self.root.pointer(&pointer)
    }

    /// A field that is an object; an empty one if it is missing.
    pub(super) fn object<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
        value.get(name).and_then(Value::as_object).into_iter().flat_map(Map::iter)
    }
}

fn hash_of(text: &str) -> String {
    blake3::hash(text.trim_start_matches('\u{feff}').as_bytes()).to_hex().to_string()
}

fn yaml(text: &str) -> Result<Value, OpenApiError> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        budget: serde_saphyr::budget! {
            max_events: 2 * MAX_VALUES,
            max_nodes: MAX_VALUES,
            max_depth: 128,
        },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        OpenApiError::Invalid(format!(
            "the document is not valid YAML: {}",
            lariat_core::display::line(first)
        ))
    })
}

/// Reads at most the limit and one byte, so that a huge file costs no memory.
#[expect(
    clippy::disallowed_methods,
    reason = "the caller names the file; no path of a model or a document is read"
)]
fn text_of(path: &Path) -> Result<String, OpenApiError> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_DOCUMENT as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_DOCUMENT {
        return Err(OpenApiError::TooLarge(MAX_DOCUMENT));
    }
    String::from_utf8(bytes).map_err(|_| OpenApiError::Invalid("the document is not UTF-8".to_owned()))
}
