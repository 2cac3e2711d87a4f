//! Builds Gemini's addresses.
//!
//! Invariant: a model id cannot escape its path segment.

use std::borrow::Cow;

use lariat_core::model::ModelConfig;

const DEFAULT: &str = "https://generativelanguage.googleapis.com";
/// Only this version has the thinking configuration and JSON schemas.
const VERSION: &str = "v1beta";
/// The largest page size that the provider accepts, which is more models than exist, so one page lists all.
const PAGE: u32 = 1000;

/// The address that streams a model's replies.
pub(super) fn generate(model: &ModelConfig) -> String {
    format!("{}/{}:streamGenerateContent?alt=sse", base(model), named(model))
}

/// The address that counts a request's tokens.
pub(super) fn count(model: &ModelConfig) -> String {
    format!("{}/{}:countTokens", base(model), named(model))
}

/// A model's name including its collection.
pub(super) fn named(model: &ModelConfig) -> String {
    let id = bare(&model.id);
    // Tuned models have a collection of their own, which is part of their name.
    let (collection, id) = id.split_once('/').unwrap_or(("models", id));
    format!("{}/{}", escaped(collection), escaped(id))
}

/// The address that lists models.
pub(super) fn list(model: &ModelConfig) -> String {
    format!("{}/models?pageSize={PAGE}", base(model))
}

/// The base URL with the API version, whether or not the configuration contains one.
fn base(model: &ModelConfig) -> String {
    let base = model.base_url.trim().trim_end_matches('/');
    let base = if base.is_empty() { DEFAULT } else { base };
    let last = base.rsplit('/').next().unwrap_or_default();
    let versioned = last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if versioned { base.to_owned() } else { format!("{base}/{VERSION}") }
}

/// A model id without the collection that Google's lists put before it.
pub(in crate::protocol) fn bare(id: &str) -> &str {
    let id = id.trim_start_matches('/');
    id.strip_prefix("publishers/google/models/").or_else(|| id.strip_prefix("models/")).unwrap_or(id)
}

/// Percent-encodes a name as one path segment.
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
