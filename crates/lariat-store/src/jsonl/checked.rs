//! Small files of JSON that say whether they are whole: eight digits of checksum, a newline, the JSON.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files;

/// The bytes of such a file.
pub(super) fn bytes(value: &impl Serialize) -> Vec<u8> {
    // Plain data: there is nothing in it that JSON could not say.
    let json = serde_json::to_vec(value).unwrap_or_default();
    let mut bytes = format!("{:08x}\n", crc32fast::hash(&json)).into_bytes();
    bytes.extend_from_slice(&json);
    bytes
}

/// What such a file says; `None` when there is none, or it is not as it was written.
///
/// # Errors
/// When it cannot be read.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> std::io::Result<Option<T>> {
    Ok(files::read(path)?.and_then(|bytes| {
        let (check, json) = bytes.split_at_checked(9)?;
        let whole = check == format!("{:08x}\n", crc32fast::hash(json)).as_bytes();
        serde_json::from_slice(json).ok().filter(|_| whole)
    }))
}
