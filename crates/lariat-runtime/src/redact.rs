//! Removes secrets from everything that is written, shown or sent.
//!
//! Secrets are the values that the caller registers, in every encoding in which they may appear, and texts with the shape of
//! a known kind of key. The replacement says what it replaced, so that a model or a user does not take it for content.
//! The debug output of a [`Redactor`] never shows a value.

mod shapes;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use regex::{Captures, Regex};
use serde_json::Value;

use shapes::{SHAPES, SecretShape};

/// Minimum bytes of a registered value; a shorter one would be found everywhere.
const MIN_VALUE_BYTES: usize = 8;

/// Replaces secrets. Clones share the registered values, so a secret that is added later applies to all of them.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<Arc<KnownSecrets>>>);

#[derive(Clone, Default)]
struct KnownSecrets {
    /// The name of the secret, by the index of the encoding in `forms`.
    names: Vec<String>,
    /// The encodings of all values.
    forms: Vec<String>,
    matcher: Option<AhoCorasick>,
}

impl Redactor {
    /// Registers secrets, each a name and a value, in addition to the known shapes.
    pub fn new<N: Into<String>, V: AsRef<str>>(secrets: impl IntoIterator<Item = (N, V)>) -> Self {
        let redactor = Self::default();
        redactor.add(secrets);
        redactor
    }

    /// Registers more secrets, for example tokens that were renewed while an agent works.
    pub fn add<N: Into<String>, V: AsRef<str>>(&self, secrets: impl IntoIterator<Item = (N, V)>) {
        let mut slot = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut known = KnownSecrets::clone(&slot);
        let count = known.forms.len();
        for (name, value) in secrets {
            let (name, value) = (name.into(), value.as_ref().trim());
            if value.len() < MIN_VALUE_BYTES || known.forms.iter().any(|form| form == value) {
                continue;
            }
            for form in forms_of(value) {
                known.forms.push(form);
                known.names.push(name.clone());
            }
        }
        if known.forms.len() == count {
            return;
        }
        let builder = &mut AhoCorasick::builder();
        known.matcher = builder.match_kind(MatchKind::LeftmostLongest).build(&known.forms).ok();
        *slot = Arc::new(known);
    }

    fn known(&self) -> Arc<KnownSecrets> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the text without secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.replace_known(text) {
            Cow::Borrowed(text) => replace_by_shape(text),
            Cow::Owned(text) => match replace_by_shape(&text) {
                Cow::Borrowed(_) => Cow::Owned(text),
                Cow::Owned(text) => Cow::Owned(text),
            },
        }
    }

    /// Removes secrets from every text in a value, including field names.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.text(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                fields.iter_mut().for_each(|(_, field)| self.value(field));
                if fields.keys().any(|name| matches!(self.text(name), Cow::Owned(_))) {
                    let clean = |(name, field): (String, Value)| (self.text(&name).into_owned(), field);
                    *fields = std::mem::take(fields).into_iter().map(clean).collect();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn replace_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.known();
        let Some(forms) = known.matcher.as_ref().filter(|forms| forms.is_match(text)) else {
            return Cow::Borrowed(text);
        };
        let mut clean = String::with_capacity(text.len());
        forms.replace_all_with(text, &mut clean, |found, _, clean| {
            let name = known.names.get(found.pattern().as_usize()).map_or("secret", String::as_str);
            clean.push_str(&mark(name));
            true
        });
        Cow::Owned(clean)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("forms", &self.known().names.len()).finish_non_exhaustive()
    }
}

fn mark(name: &str) -> String {
    format!("[redacted: {name}]")
}

/// Returns a value as it is, and as JSON, URLs and base64 encode it.
fn forms_of(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let json = Value::from(value).to_string();
    forms.extend(json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).map(str::to_owned));
    let percent = |letter: u8| match letter {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(letter).to_string(),
        letter => format!("%{letter:02X}"),
    };
    forms.push(value.bytes().map(percent).collect());
    // In a longer text, base64 has one of three forms; the characters that depend on the neighbours are left out.
    for shift in 0..3 {
        let bytes: Vec<u8> = std::iter::repeat_n(0, shift).chain(value.bytes()).collect();
        let end = bytes.len() / 3 * 4;
        let start = [0, 2, 3].get(shift).copied().unwrap_or_default();
        let coded = BASE64_STANDARD.encode(&bytes);
        let Some(inner) = coded.get(start..end).filter(|inner| inner.len() >= MIN_VALUE_BYTES) else {
            continue;
        };
        forms.push(inner.to_owned());
        forms.push(inner.replace('+', "-").replace('/', "_"));
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// One expression for all shapes, so that a text is searched once. It is never `None` for the table, as a test checks; if it
/// were, every text that contains a sign of a secret would be replaced.
static SHAPES_EXPRESSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let part = |(at, shape): (usize, &SecretShape)| {
        shape.pattern.replace("?<s>", &format!("?<s{at}>")).replace(r"\b", r"(?-u:\b)")
    };
    let parts: Vec<String> = SHAPES.iter().enumerate().map(part).collect();
    Regex::new(&parts.join("|")).ok()
});

/// A text that contains none of the signs of any shape needs no expression, and most texts contain none.
static SIGNS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new(SHAPES.iter().flat_map(|shape| shape.signs)).ok());

fn replace_by_shape(text: &str) -> Cow<'_, str> {
    if !SIGNS.as_ref().is_none_or(|signs| signs.is_match(text)) {
        return Cow::Borrowed(text);
    }
    let Some(shapes) = &*SHAPES_EXPRESSION else { return Cow::Owned(mark("text that may contain a secret")) };
    shapes.replace_all(text, |found: &Captures<'_>| {
        let whole = found.get(0).map_or("", |whole| whole.as_str());
        let secret = SHAPES
            .iter()
            .enumerate()
            .find_map(|(at, shape)| Some((shape.name, found.name(&format!("s{at}"))?)));
        let start = found.get(0).map_or(0, |whole| whole.start());
        match secret {
            Some((name, secret)) => {
                let before = whole.get(..secret.start().saturating_sub(start)).unwrap_or_default();
                let after = whole.get(secret.end().saturating_sub(start)..).unwrap_or_default();
                format!("{before}{}{after}", mark(name))
            }
            None => mark("secret"),
        }
    })
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
