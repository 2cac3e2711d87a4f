//! Moves large text out of events into blobs, which events reference by hash.
//!
//! This module decides which text to move, how the stored body records it, and which blobs a body references. A body with
//! moved text has one more field, `$blobs`, which maps JSON pointers to blob addresses; the text itself is empty there.
//! Invariant: a packed event unpacks to the same event, whatever field names the user's data has.

use std::collections::BTreeMap;

use lariat_core::event::EventRecord;
use lariat_core::store::{BlobHash, StoreError};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Text of at least this many bytes becomes a blob. Smaller text costs more as a blob than inside its event.
pub const LARGE: usize = 32 * 1024;

const FIELD: &str = "$blobs";
const PREFIX: &str = "blake3:";
const DIGITS: usize = 64;

/// Returns the blob address of these bytes.
pub fn address(bytes: &[u8]) -> BlobHash {
    BlobHash(format!("{PREFIX}{}", blake3::hash(bytes).to_hex()))
}

/// Returns the hash inside an address, or `None` if the address is not a BLAKE3 address.
pub fn hash_of(address: &BlobHash) -> Option<[u8; 32]> {
    let digits = address.0.strip_prefix(PREFIX).filter(|digits| is_hash(digits.as_bytes()))?;
    blake3::Hash::from_hex(digits).ok().map(|hash| *hash.as_bytes())
}

/// Returns the address of a hash.
pub fn address_of(hash: &[u8; 32]) -> BlobHash {
    BlobHash(format!("{PREFIX}{}", blake3::Hash::from_bytes(*hash).to_hex()))
}

/// An event in its stored form.
#[derive(Debug, PartialEq, Eq)]
pub struct PackedEvent {
    /// The event as JSON, without the moved text.
    pub body: Vec<u8>,
    /// The moved text, by address.
    pub blobs: Vec<(BlobHash, Vec<u8>)>,
}

#[derive(Serialize)]
struct EventWithBlobs<'a> {
    #[serde(flatten)]
    event: &'a Value,
    #[serde(rename = "$blobs")]
    blobs: BTreeMap<String, BlobHash>,
}

/// Serializes an event and moves large text out of its body.
///
/// # Errors
/// When the event cannot be serialized as JSON.
pub fn pack(event: &EventRecord) -> Result<PackedEvent, StoreError> {
    let unwritable = |error: serde_json::Error| StoreError::Damaged(format!("event {}: {error}", event.seq));
    let body = serde_json::to_vec(event).map_err(unwritable)?;
    if body.len() < LARGE {
        return Ok(PackedEvent { body, blobs: Vec::new() });
    }
    let mut json = serde_json::to_value(event).map_err(unwritable)?;
    let (mut places, mut blobs) = (BTreeMap::new(), Vec::new());
    move_out(&mut json, &mut String::new(), &mut |place, text| {
        let hash = address(text.as_bytes());
        places.insert(place.to_owned(), hash.clone());
        blobs.push((hash, text.into_bytes()));
    });
    if blobs.is_empty() {
        return Ok(PackedEvent { body, blobs });
    }
    let body = serde_json::to_vec(&EventWithBlobs { event: &json, blobs: places }).map_err(unwritable)?;
    Ok(PackedEvent { body, blobs })
}

fn move_out(value: &mut Value, place: &mut String, take: &mut impl FnMut(&str, String)) {
    let length = place.len();
    match value {
        Value::String(text) if text.len() >= LARGE => take(place, std::mem::take(text)),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                place.push('/');
                place.push_str(&index.to_string());
                move_out(item, place, take);
                place.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields.iter_mut() {
                place.push('/');
                place.push_str(&name.replace('~', "~0").replace('/', "~1"));
                move_out(item, place, take);
                place.truncate(length);
            }
        }
        _ => {}
    }
}

/// Returns the addresses of the text that was moved out of a body: the blobs needed to unpack it. Almost always empty.
pub fn moved_out(body: &[u8]) -> Vec<BlobHash> {
    let places = places_of(body).unwrap_or_default();
    let mut addresses: Vec<BlobHash> = places.into_values().collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

fn places_of(body: &[u8]) -> Option<BTreeMap<String, BlobHash>> {
    #[derive(Deserialize)]
    struct Places {
        #[serde(rename = "$blobs")]
        blobs: Option<BTreeMap<String, BlobHash>>,
    }
    // User data may have a field of this name at a deeper level. Then the top level has none.
    memmem::find(body, b"\"$blobs\":{")?;
    serde_json::from_slice::<Places>(body).ok()?.blobs
}

/// Restores moved text. `blob` returns the bytes of an address. Returns `None` if no text was moved out.
///
/// # Errors
/// When a blob is missing or is not UTF-8, or the body is not JSON.
pub fn unpack(
    body: &[u8],
    mut blob: impl FnMut(&BlobHash) -> Result<Vec<u8>, StoreError>,
) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(places) = places_of(body) else { return Ok(None) };
    let damaged = |what: String| StoreError::Damaged(what);
    let mut json: Value = serde_json::from_slice(body).map_err(|error| damaged(error.to_string()))?;
    if let Some(fields) = json.as_object_mut() {
        fields.remove(FIELD);
    }
    for (place, address) in places {
        let text = String::from_utf8(blob(&address)?)
            .map_err(|_| damaged(format!("blob {} is not text", address.0)))?;
        let slot = json
            .pointer_mut(&place)
            .ok_or_else(|| damaged(format!("pointer {place} for a blob leads nowhere")))?;
        *slot = Value::String(text);
    }
    serde_json::to_vec(&json).map(Some).map_err(|error| damaged(error.to_string()))
}

/// Returns every blob that a body references, whether [`pack`] moved it out or a tool named it. Garbage collection must
/// keep these.
pub fn mentions(body: &[u8]) -> Vec<BlobHash> {
    let mut found: Vec<BlobHash> = Vec::new();
    for at in memmem::find_iter(body, PREFIX) {
        let digits = body.get(at + PREFIX.len()..at + PREFIX.len() + DIGITS);
        if let Some(digits) = digits.filter(|digits| is_hash(digits)) {
            let digits = String::from_utf8_lossy(digits);
            found.push(BlobHash(format!("{PREFIX}{digits}")));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn is_hash(digits: &[u8]) -> bool {
    digits.len() == DIGITS && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
