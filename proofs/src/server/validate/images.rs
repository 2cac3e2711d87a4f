//! Validates images: their type, and that their data is base64.

use crate::server::base64;

/// The image types that every API accepts.
pub(super) const TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Whether `data` is base64 of at least one byte.
pub(super) fn is_data(data: &str) -> bool {
    !data.is_empty() && base64::decode(data).is_some()
}

/// Whether OpenAI accepts a URL: https, http, or a data URL with an image in base64.
pub(super) fn is_url(url: &str) -> bool {
    if let Some(rest) = url.strip_prefix("data:") {
        return rest
            .split_once(";base64,")
            .is_some_and(|(kind, data)| TYPES.contains(&kind) && is_data(data));
    }
    url.starts_with("https://") || url.starts_with("http://")
}
