//! Where Gemini is.
//!
//! Invariant: a model's id can name a model but not leave the path it belongs to.

use std::borrow::Cow;

use lariat_core::model::ModelConfig;

const DEFAULT: &str = "https://generativelanguage.googleapis.com";
/// Thinking configuration and JSON schemas are part of this version only.
const VERSION: &str = "v1beta";
/// More than there are, so that one page holds all: the service's limit.
const PAGE: u32 = 1000;

/// Where a model streams its replies.
pub(super) fn generate(model: &ModelConfig) -> String {
    format!("{}/{}:streamGenerateContent?alt=sse", base(model), named(model))
}

/// Where a request's tokens are counted.
pub(super) fn count(model: &ModelConfig) -> String {
    format!("{}/{}:countTokens", base(model), named(model))
}

/// A model's name with its collection.
pub(super) fn named(model: &ModelConfig) -> String {
    let id = bare(&model.id);
    // Tuned models are a collection of their own and are named with it.
    let (collection, id) = id.split_once('/').unwrap_or(("models", id));
    format!("{}/{}", escaped(collection), escaped(id))
}

/// Where the models are listed.
pub(super) fn list(model: &ModelConfig) -> String {
    format!("{}/models?pageSize={PAGE}", base(model))
}

/// The address with the version, whether or not the configuration names one.
fn base(model: &ModelConfig) -> String {
    let base = model.base_url.trim().trim_end_matches('/');
    let base = if base.is_empty() { DEFAULT } else { base };
    let last = base.rsplit('/').next().unwrap_or_default();
    let versioned = last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if versioned { base.to_owned() } else { format!("{base}/{VERSION}") }
}

/// A model's id without the collection that Google's lists put before it.
pub(in crate::protocol) fn bare(id: &str) -> &str {
    let id = id.trim_start_matches('/');
    id.strip_prefix("publishers/google/models/").or_else(|| id.strip_prefix("models/")).unwrap_or(id)
}

/// A name as one segment of a path: what could end it is percent-encoded.
pub(in crate::protocol) fn escaped(id: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'@');
    if id.bytes().all(plain) && !matches!(id, "." | "..") {
        return Cow::Borrowed(id);
    }
    let mut segment = String::with_capacity(id.len() + 8);
    for byte in id.bytes() {
        if plain(byte) && byte != b'.' {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    Cow::Owned(segment)
}
