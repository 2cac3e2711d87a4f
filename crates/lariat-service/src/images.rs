//! Images that a user attaches to a prompt.

use lariat_tools::image;

/// Encodes an image for a prompt: its data in base64 and its media type. `None` if no provider accepts the format: it must
/// be PNG, JPEG, GIF or WebP.
pub fn encode(bytes: &[u8]) -> Option<(String, String)> {
    let kind = image::kind(bytes)?;
    Some((image::base64(bytes), kind.to_owned()))
}
