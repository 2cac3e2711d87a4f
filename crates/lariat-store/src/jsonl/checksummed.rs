//! Small JSON files with a checksum: eight hexadecimal digits, a newline, the JSON.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files;

/// Serializes a value with its checksum.
pub(super) fn bytes(value: &impl Serialize) -> Vec<u8> {
    // Plain data always serializes.
    let json = serde_json::to_vec(value).unwrap_or_default();
    let mut bytes = format!("{:08x}\n", crc32fast::hash(&json)).into_bytes();
    bytes.extend_from_slice(&json);
    bytes
}

/// Reads a value, or `None` if the file does not exist or its checksum does not match.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> std::io::Result<Option<T>> {
    Ok(files::read(path)?.and_then(|bytes| {
        let (check, json) = bytes.split_at_checked(9)?;
        let whole = check == format!("{:08x}\n", crc32fast::hash(json)).as_bytes();
        serde_json::from_slice(json).ok().filter(|_| whole)
    }))
}
