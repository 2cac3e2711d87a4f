//! Writes and parses the lines of a journal.
//!
//! A record is one line of JSON: `{"#":"LLLLLLLL CCCCCCCC H…","v":1,"seq":…}`. The field `#` is the seal: the length of
//! the event's JSON in bytes, its checksum and the chain (8, 8 and 32 hexadecimal digits). Without that field the line is
//! the event. A record that continues the batch of the previous one has the complement of its checksum: a batch is written
//! with one call, so damage before such a record means that the batch was not acknowledged when the power failed.
//! Invariant: the beginning of a seal occurs nowhere inside an event, so a reader can find the next record after damage,
//! and no event can imitate several records.

use std::borrow::Cow;
use std::io::Write as _;

use lariat_core::id::SessionId;
use lariat_core::store::StoreError;
use memchr::memmem;
use serde::{Deserialize, Serialize};

use crate::record::{Chain, SealedRecord, checksum};

/// The first bytes of every record.
pub(super) const OPENING: &[u8] = b"{\"#\":\"";
/// Replaces the same bytes inside an event, where user data has an object that starts with this field. It is equal JSON,
/// and no JSON writer that we use writes it this way.
const HIDDEN: &[u8] = b"{\"\\u0023\":\"";
/// Digits of a seal and the spaces between them.
const DIGITS: usize = 50;
/// The last bytes of a seal.
const SEAL_END: &[u8] = b"\",";
/// Bytes from the beginning of a line to the event's JSON, whose `{` is omitted.
pub(super) const SEAL: usize = OPENING.len() + DIGITS + SEAL_END.len();
/// Bytes of an escaped character such as `\u0061`.
const ESCAPE: usize = 6;
/// The largest event, in bytes. Real events are far smaller, because large text is moved to blobs.
pub(super) const MAX_BODY: usize = 64 * 1024 * 1024;

/// The first bytes of every header.
pub(super) const HEADER_OPENING: &[u8] = b"{\"lariat\":";
const HEADER_CHECK: &[u8] = b",\"check\":\"";
/// The longest header, in bytes.
pub(super) const MAX_HEADER: usize = 1024 * 1024;
const VERSION: u32 = 1;

/// Whether a record was written together with the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Batch {
    /// The first record of a batch: everything before it had been acknowledged.
    Begins,
    /// A later record of a batch.
    Continues,
}

/// The seal of a record, parsed before the record itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seal {
    /// Length of the event's JSON as written, in bytes.
    pub(super) length: usize,
    check: u32,
    chain: Chain,
}

/// A verified record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordLine {
    /// Position in the journal.
    pub(super) seq: u64,
    /// The chain up to and including this record.
    pub(super) chain: Chain,
    /// Whether the record starts a batch.
    pub(super) batch: Batch,
}

/// Writes a record as a line.
pub(super) fn write(line: &mut Vec<u8>, record: &SealedRecord, batch: Batch) {
    let body = escape_openings(&record.body);
    let check = match batch {
        Batch::Begins => record.check,
        Batch::Continues => !record.check,
    };
    // Writing to memory does not fail.
    let _ = write!(line, "{{\"#\":\"{:08x} {check:08x} {}\",", body.len(), record.chain);
    line.extend_from_slice(body.get(1..).unwrap_or_default());
    line.push(b'\n');
}

/// Parses the seal at the start of `bytes`.
pub(super) fn seal_of(bytes: &[u8]) -> Option<Seal> {
    let seal = bytes.get(..SEAL)?.strip_prefix(OPENING)?.strip_suffix(SEAL_END)?;
    let (length, rest) = seal.split_at_checked(8)?;
    let (check, rest) = rest.strip_prefix(b" ")?.split_at_checked(8)?;
    let length = usize::try_from(number(length)?).ok().filter(|length| (2..=MAX_BODY).contains(length))?;
    Some(Seal { length, check: number(check)?, chain: Chain::from_hex(rest.strip_prefix(b" ")?)? })
}

fn number(digits: &[u8]) -> Option<u32> {
    let lower = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let digits = std::str::from_utf8(digits).ok().filter(|_| lower)?;
    u32::from_str_radix(digits, 16).ok()
}

impl Seal {
    /// Returns the length of the whole line in bytes, without the newline.
    pub(super) const fn line_length(&self) -> usize {
        SEAL + self.length - 1
    }

    /// Verifies the record with this seal and puts the event's JSON into `body`. Returns `None` if the record is damaged.
    pub(super) fn open(&self, written: &[u8], body: &mut Vec<u8>) -> Option<RecordLine> {
        body.clear();
        body.push(b'{');
        body.extend_from_slice(written);
        if let Cow::Owned(shown) = unescape_openings(body) {
            *body = shown;
        }
        let seq = seq_of(body)?;
        let check = checksum(seq, self.chain, body);
        let batch = match self.check {
            written if written == check => Batch::Begins,
            written if written == !check => Batch::Continues,
            _ => return None,
        };
        Some(RecordLine { seq, chain: self.chain, batch })
    }
}

/// Returns the position in an event's JSON.
fn seq_of(body: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct SeqField {
        seq: u64,
    }
    // The usual form of events without moved text. The parser handles all others.
    let plain = body.strip_prefix(b"{\"v\":1,\"seq\":").and_then(|rest| {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        std::str::from_utf8(rest.get(..digits)?).ok()?.parse().ok()
    });
    plain.or_else(|| serde_json::from_slice::<SeqField>(body).ok().map(|place| place.seq))
}

/// Escapes every beginning of a seal in an event. In a complete seal it also escapes the last digit: if a disk mixes up
/// blocks, a leftover beginning must not find the rest of a seal in user data.
fn escape_openings(body: &[u8]) -> Cow<'_, [u8]> {
    replace_all(body, OPENING, |hidden, rest| {
        hidden.extend_from_slice(HIDDEN);
        let Some((last, digits)) = rest.get(..DIGITS).and_then(<[u8]>::split_last) else { return 0 };
        if !ends_a_seal(digits, *last, rest.get(DIGITS..)) {
            return 0;
        }
        hidden.extend_from_slice(digits);
        // Writing to memory does not fail.
        let _ = write!(hidden, "\\u{last:04x}");
        DIGITS
    })
}

/// Reverses [`escape_openings`].
fn unescape_openings(body: &[u8]) -> Cow<'_, [u8]> {
    replace_all(body, HIDDEN, |shown, rest| {
        shown.extend_from_slice(OPENING);
        let escaped = rest.split_at_checked(DIGITS - 1).and_then(|(digits, rest)| {
            let (escape, rest) = rest.split_at_checked(ESCAPE)?;
            let last = u8::try_from(number(escape.strip_prefix(b"\\u")?)?).ok()?;
            ends_a_seal(digits, last, Some(rest)).then_some((digits, last))
        });
        let Some((digits, last)) = escaped else { return 0 };
        shown.extend_from_slice(digits);
        shown.push(last);
        DIGITS - 1 + ESCAPE
    })
}

fn ends_a_seal(digits: &[u8], last: u8, rest: Option<&[u8]>) -> bool {
    let closing = rest.and_then(|rest| rest.get(..SEAL_END.len())).unwrap_or_default();
    seal_of(&[OPENING, digits, &[last], closing].concat()).is_some()
}

/// Replaces every occurrence of `from`. `replace` writes the replacement and returns how many of the following bytes it
/// includes.
fn replace_all<'a>(
    bytes: &'a [u8],
    from: &[u8],
    mut replace: impl FnMut(&mut Vec<u8>, &[u8]) -> usize,
) -> Cow<'a, [u8]> {
    let mut found = memmem::find_iter(bytes, from).peekable();
    if found.peek().is_none() {
        return Cow::Borrowed(bytes);
    }
    let (mut changed, mut done) = (Vec::with_capacity(bytes.len() + 64), 0);
    for at in found {
        changed.extend_from_slice(bytes.get(done..at).unwrap_or_default());
        done = at + from.len();
        done += replace(&mut changed, bytes.get(done..).unwrap_or_default());
    }
    changed.extend_from_slice(bytes.get(done..).unwrap_or_default());
    Cow::Owned(changed)
}

/// Where a journal continues another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Fork {
    /// The parent session.
    pub session: SessionId,
    /// Number of shared events.
    pub seq: u64,
    /// The chain after the shared events.
    #[serde(with = "chain_digits")]
    pub chain: Chain,
}

impl Fork {
    /// Shares the first `seq` events of a session, which end with this chain.
    pub const fn new(session: SessionId, seq: u64, chain: Chain) -> Self {
        Self { session, seq, chain }
    }
}

/// The first line of a journal: its session and where it was forked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Header {
    lariat: u32,
    /// The session.
    pub session: SessionId,
    /// Where the session was forked, if it was.
    pub fork: Option<Fork>,
}

impl Header {
    /// Creates the header of a session.
    pub const fn new(session: SessionId, fork: Option<Fork>) -> Self {
        Self { lariat: VERSION, session, fork }
    }

    /// Returns the position of the journal's first own event.
    pub fn start(&self) -> u64 {
        self.fork.as_ref().map_or(0, |fork| fork.seq)
    }

    /// Returns the chain before that event.
    pub fn chain(&self) -> Chain {
        self.fork.as_ref().map_or_else(|| Chain::start(&self.session), |fork| fork.chain)
    }

    /// Returns the header as a line with its newline.
    pub fn line(&self) -> Vec<u8> {
        // Text and numbers always serialize.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.pop();
        let check = crc32fast::hash(&line);
        line.extend_from_slice(HEADER_CHECK);
        let _ = writeln!(line, "{check:08x}\"}}");
        line
    }

    /// Parses the header at the start of `bytes`. Returns it and its length without the newline.
    pub(super) fn of(bytes: &[u8]) -> Option<(Self, usize)> {
        let json = Self::checked(bytes)?;
        let header: Self = serde_json::from_slice(json).ok()?;
        (header.lariat == VERSION).then_some((header, json.len()))
    }

    /// Returns the error for a header of a newer format at the start of `bytes`, if there is one. Every format keeps the
    /// first field and the checksum, so that damage is not taken for a newer format.
    pub(super) fn newer(bytes: &[u8]) -> Option<StoreError> {
        #[derive(Deserialize)]
        struct FormatField {
            lariat: u32,
        }
        let FormatField { lariat: found } = serde_json::from_slice(Self::checked(bytes)?).ok()?;
        (found > VERSION).then(|| StoreError::Newer {
            what: "the session".to_owned(),
            found: u64::from(found),
            supported: u64::from(VERSION),
        })
    }

    /// Returns the JSON of the header at the start of `bytes`, if its checksum matches.
    fn checked(bytes: &[u8]) -> Option<&[u8]> {
        let bytes = bytes.get(..bytes.len().min(MAX_HEADER))?;
        if !bytes.starts_with(HEADER_OPENING) {
            return None;
        }
        let end = memmem::find(bytes, HEADER_CHECK)?;
        let (content, rest) = bytes.split_at_checked(end)?;
        let digits = rest.get(HEADER_CHECK.len()..HEADER_CHECK.len() + 8)?;
        let closed = rest.get(HEADER_CHECK.len() + 8..HEADER_CHECK.len() + 10)? == b"\"}";
        if !closed || number(digits)? != crc32fast::hash(content) {
            return None;
        }
        bytes.get(..end + HEADER_CHECK.len() + 10)
    }
}

/// Serializes a chain as hexadecimal digits.
pub(super) mod chain_digits {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use crate::record::Chain;

    pub(crate) fn serialize<S: Serializer>(chain: &Chain, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(chain)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Chain, D::Error> {
        let digits = String::deserialize(deserializer)?;
        Chain::from_hex(digits.as_bytes()).ok_or_else(|| de::Error::custom("not a chain hash"))
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
