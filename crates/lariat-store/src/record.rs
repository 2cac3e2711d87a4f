//! Seals events for storage with a checksum and a chain hash.
//!
//! The checksum detects a changed record without reading any other. The chain hash covers the record and, through its
//! predecessor, everything before it: it detects a record that was removed, moved, changed or taken from another journal.
//! The body of a record is the event's JSON.
//! Invariant: equal journals have equal chains in every store, so a journal can be compared and moved between stores.

use std::fmt;

use lariat_core::event::{EventParseError, EventRecord, FORMAT_VERSION};
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;

/// Sixteen bytes of BLAKE3 over all records up to and including one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chain([u8; 16]);

impl Chain {
    /// Returns the chain before the first record of a session. A fork continues the chain of the events that it shares.
    pub fn start(session_id: &SessionId) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"lariat journal 1\n").update(session_id.as_str().as_bytes());
        Self::of(&hasher)
    }

    /// Returns the chain after one more record.
    pub fn then(self, body: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0).update(body);
        Self::of(&hasher)
    }

    /// Wraps the bytes of a chain hash.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the chain hash.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Parses 32 lower-case hexadecimal digits.
    pub fn from_hex(digits: &[u8]) -> Option<Self> {
        let digits = std::str::from_utf8(digits).ok().filter(|text| text.len() == 32)?;
        let lower = !digits.bytes().any(|digit| digit.is_ascii_uppercase() || digit == b'+');
        u128::from_str_radix(digits, 16).ok().filter(|_| lower).map(|number| Self(number.to_be_bytes()))
    }

    fn of(hasher: &blake3::Hasher) -> Self {
        let mut bytes = [0; 16];
        hasher.finalize_xof().fill(&mut bytes);
        Self(bytes)
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({self})")
    }
}

/// An event in its stored form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedRecord {
    /// Position in the journal.
    pub seq: u64,
    /// The chain hash up to and including this record.
    pub chain: Chain,
    /// CRC-32 over the three other fields.
    pub check: u32,
    /// The event as JSON, without the large text that was moved to blobs (see [`crate::content`]).
    pub body: Vec<u8>,
}

impl SealedRecord {
    /// Seals a body that follows the chain `previous`.
    pub fn new(seq: u64, previous: Chain, body: Vec<u8>) -> Self {
        let chain = previous.then(&body);
        Self { seq, chain, check: checksum(seq, chain, &body), body }
    }

    /// Returns whether the checksum matches: the record is as it was written.
    pub fn is_whole(&self) -> bool {
        self.check == checksum(self.seq, self.chain, &self.body)
    }

    /// Returns whether the record continues this chain.
    pub fn follows(&self, previous: Chain) -> bool {
        self.chain == previous.then(&self.body)
    }
}

/// Returns the CRC-32 over position, chain hash and body.
pub fn checksum(seq: u64, chain: Chain, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&seq.to_le_bytes());
    hasher.update(chain.as_bytes());
    hasher.update(body);
    hasher.finalize()
}

/// Parses an event from its body. The position in the body must equal the position of the record.
///
/// # Errors
/// When the body is not an event, has a newer format, or has another position.
pub fn event_of(seq: u64, body: &[u8]) -> Result<EventRecord, StoreError> {
    let damaged = |what: String| StoreError::Damaged(format!("event {seq}: {what}"));
    let event = EventRecord::from_json(body).map_err(|error| match error {
        EventParseError::Newer(found) => newer_event(seq, found),
        error => damaged(error.to_string()),
    })?;
    if event.seq != seq {
        return Err(damaged(format!("the body has position {}", event.seq)));
    }
    Ok(event)
}

/// Checks that a body has a format that this version reads.
///
/// # Errors
/// When the format is newer.
pub(crate) fn check_format(seq: u64, body: &[u8]) -> Result<(), StoreError> {
    // The usual form of events. The parser handles all others.
    if body.starts_with(b"{\"v\":1,") {
        return Ok(());
    }
    match EventRecord::format_of(body) {
        Some(found) if found > FORMAT_VERSION => Err(newer_event(seq, found)),
        _ => Ok(()),
    }
}

fn newer_event(seq: u64, found: u16) -> StoreError {
    StoreError::Newer {
        what: format!("event {seq}"),
        found: u64::from(found),
        supported: u64::from(FORMAT_VERSION),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(bodies: &[&str]) -> Vec<SealedRecord> {
        let mut chain = Chain::start(&SessionId::from("s"));
        let seal = |(seq, body): (usize, &&str)| {
            let record = SealedRecord::new(seq as u64, chain, body.as_bytes().to_vec());
            chain = record.chain;
            record
        };
        bodies.iter().enumerate().map(seal).collect()
    }

    #[test]
    fn sealed_records_verify_and_chain() {
        let records = sealed(&["a", "b", "c"]);
        let mut chain = Chain::start(&SessionId::from("s"));
        for record in &records {
            assert!(record.is_whole() && record.follows(chain));
            chain = record.chain;
        }
        assert_eq!(Chain::from_hex(chain.to_string().as_bytes()), Some(chain));
    }

    #[test]
    fn every_flipped_bit_breaks_the_checksum() {
        let record = &sealed(&["some body"])[0];
        for bit in 0..record.body.len() * 8 {
            let mut broken = record.clone();
            broken.body[bit / 8] ^= 1 << (bit % 8);
            assert!(!broken.is_whole());
        }
        assert!(!SealedRecord { seq: 1, ..record.clone() }.is_whole());
    }

    #[test]
    fn removing_moving_or_replacing_a_record_breaks_the_chain() {
        let records = sealed(&["a", "b", "c"]);
        assert!(!records[2].follows(records[0].chain), "removed");
        assert!(!records[1].follows(records[2].chain), "moved");
        let forged = SealedRecord::new(1, records[0].chain, b"B".to_vec());
        assert!(forged.is_whole() && forged.follows(records[0].chain));
        assert!(!records[2].follows(forged.chain), "changed, with a new checksum");
        let foreign = SealedRecord::new(0, Chain::start(&SessionId::from("other")), b"a".to_vec());
        assert!(!foreign.follows(Chain::start(&SessionId::from("s"))), "from another journal");
    }

    #[test]
    fn parses_only_32_lower_case_hex_digits() {
        assert!(Chain::from_hex(b"0123456789abcdef0123456789abcdef").is_some());
        for digits in ["", "0123", "0123456789ABCDEF0123456789abcdef", "+123456789abcdef0123456789abcdef"] {
            assert_eq!(Chain::from_hex(digits.as_bytes()), None, "{digits}");
        }
    }
}
