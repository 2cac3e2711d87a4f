//! Rebuilds a sound journal from a damaged one.
//!
//! For each position, the rebuild takes the whole record; of several, the one that fits the chain; and if there is none, an
//! [`AgentEvent::EventLost`]. It seals all records again, because records after a lost one cannot fit the old chain.
//! Invariant: the new journal has the event of every whole record, or of a better-fitting record of the same position.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use lariat_core::archive::VerificationReport;
use lariat_core::event::{AgentEvent, EventRecord, FORMAT_VERSION};
use lariat_core::id::EventId;
use lariat_core::time::Timestamp;
use serde::Deserialize;

use super::audit::{ExpectedJournal, Survey, survey};
use super::line::{Batch, Header, SEAL, seal_of, write};
use super::scan::{Newline, PieceKind};
use crate::record::{Chain, SealedRecord};

/// Maximum number of consecutive lost events. A larger gap means that the record belongs to another journal.
const MAX_LOST: u64 = 1_000_000;

/// Why a journal could not be rebuilt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A record is so far after the previous one that it cannot belong to this journal.
    #[error("event {0} is too far after the previous event to belong to this journal")]
    Foreign(u64),
    /// The new journal would be worse than the old one. Nothing was changed.
    #[error(
        "repair would lose events: the journal has {before} readable events, the repaired one would have {after}"
    )]
    WouldLose {
        /// Number of whole records in the old journal.
        before: u64,
        /// Number of records in the new journal.
        after: u64,
    },
}

/// A record in the damaged file.
#[derive(Clone, Copy, Debug)]
struct RebuiltRecord {
    seq: u64,
    chain: Chain,
    offset: u64,
    length: u64,
}

/// Writes everything that can be saved of a journal to `out`, as a new, sound journal. Returns the damage found.
///
/// # Errors
/// When reading or writing fails, or when a record belongs to another journal.
pub fn rebuild(
    source: impl Read + Seek,
    expected: &ExpectedJournal,
    out: impl Write,
) -> Result<VerificationReport, RebuildError> {
    rebuild_without(source, expected, None, &BTreeMap::new(), out)
}

/// As [`rebuild`], but with another header if one is given. Replaces the events at the positions of `given_up`, although
/// their records are whole, for the reason given there.
pub(super) fn rebuild_without(
    mut source: impl Read + Seek,
    expected: &ExpectedJournal,
    new_header: Option<&Header>,
    given_up: &BTreeMap<u64, String>,
    mut out: impl Write,
) -> Result<VerificationReport, RebuildError> {
    source.seek(SeekFrom::Start(0))?;
    let mut entries: Vec<RebuiltRecord> = Vec::new();
    let Survey { header, verdict } = survey(&mut source, expected, |piece, line, _| {
        let newline = u64::from(matches!(piece.kind, PieceKind::Record(_, Newline::Present)));
        let length = piece.length - newline;
        entries.push(RebuiltRecord { seq: line.seq, chain: line.chain, offset: piece.offset, length });
    })?;
    source.seek(SeekFrom::Start(0))?;
    let mut lines = LineReader::new(source);
    let chosen = choose(entries, &header, &mut lines)?;
    let reasons = verdict.damage.iter().filter_map(|damage| Some((damage.seq?, damage.note.as_str())));
    let reasons: BTreeMap<u64, &str> = reasons.collect();
    let mut journal = JournalBuilder::begin(&mut out, new_header.unwrap_or(&header))?;
    for entry in chosen {
        if entry.seq - journal.next > MAX_LOST {
            return Err(RebuildError::Foreign(entry.seq));
        }
        let body = lines.body(&entry)?;
        journal.lose_until(entry.seq, &reasons, &body)?;
        match given_up.get(&entry.seq) {
            Some(reason) => journal.lose(reason, &body)?,
            None => journal.add(body)?,
        }
    }
    if expected.events.saturating_sub(journal.next) > MAX_LOST {
        return Err(RebuildError::Foreign(expected.events));
    }
    journal.lose_until(expected.events, &reasons, &[])?;
    out.flush()?;
    Ok(verdict)
}

/// Chooses one record for each position, in order.
fn choose<R: Read + Seek>(
    mut entries: Vec<RebuiltRecord>,
    header: &Header,
    lines: &mut LineReader<R>,
) -> io::Result<Vec<RebuiltRecord>> {
    entries.retain(|entry| entry.seq >= header.start());
    entries.sort_by_key(|entry| (entry.seq, entry.offset));
    // Equal chains mean equal events, and equal events before them.
    entries.dedup_by_key(|entry| (entry.seq, entry.chain));
    let groups: Vec<&[RebuiltRecord]> = entries.chunk_by(|one, other| one.seq == other.seq).collect();
    let mut chosen: Vec<RebuiltRecord> = Vec::with_capacity(groups.len());
    for (index, group) in groups.iter().enumerate() {
        let next = groups.get(index + 1).copied().unwrap_or_default();
        let entry = match group {
            [only] => Some(*only),
            several => choose_fitting(several, chosen.last(), header, next, lines)?,
        };
        chosen.extend(entry);
    }
    Ok(chosen)
}

/// Chooses among several records for one position: the one that fits the previous or the next record, else the first.
fn choose_fitting<R: Read + Seek>(
    several: &[RebuiltRecord],
    before: Option<&RebuiltRecord>,
    header: &Header,
    next: &[RebuiltRecord],
    lines: &mut LineReader<R>,
) -> io::Result<Option<RebuiltRecord>> {
    for entry in several {
        let previous = match before {
            Some(before) if before.seq + 1 == entry.seq => before.chain,
            None if entry.seq == header.start() => header.chain(),
            _ => continue,
        };
        if entry.chain == previous.then(&lines.body(entry)?) {
            return Ok(Some(*entry));
        }
    }
    for after in next {
        let body = lines.body(after)?;
        let fits =
            |entry: &&RebuiltRecord| entry.seq + 1 == after.seq && after.chain == entry.chain.then(&body);
        if let Some(entry) = several.iter().find(fits) {
            return Ok(Some(*entry));
        }
    }
    Ok(several.first().copied())
}

/// Reads the records of a damaged file in any order, fastest in file order.
struct LineReader<R> {
    source: BufReader<R>,
    at: u64,
    line: Vec<u8>,
}

impl<R: Read + Seek> LineReader<R> {
    fn new(source: R) -> Self {
        Self { source: BufReader::with_capacity(256 * 1024, source), at: 0, line: Vec::new() }
    }

    fn body(&mut self, entry: &RebuiltRecord) -> io::Result<Vec<u8>> {
        self.source.seek_relative(entry.offset.cast_signed() - self.at.cast_signed())?;
        self.at = entry.offset + entry.length;
        self.line.clear();
        (&mut self.source).take(entry.length).read_to_end(&mut self.line)?;
        let mut body = Vec::new();
        let written = self.line.get(SEAL..).unwrap_or_default();
        match seal_of(&self.line).and_then(|seal| seal.open(written, &mut body)) {
            Some(line) if line.seq == entry.seq => Ok(body),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the file changed during the repair")),
        }
    }
}

/// Writes a new journal.
struct JournalBuilder<'a, W> {
    out: &'a mut W,
    header: &'a Header,
    next: u64,
    chain: Chain,
    /// The body of the last event; empty before the first.
    last: Vec<u8>,
    line: Vec<u8>,
}

impl<'a, W: Write> JournalBuilder<'a, W> {
    fn begin(out: &'a mut W, header: &'a Header) -> io::Result<Self> {
        out.write_all(&header.line())?;
        let (next, chain) = (header.start(), header.chain());
        Ok(Self { out, header, next, chain, last: Vec::new(), line: Vec::new() })
    }

    fn add(&mut self, body: Vec<u8>) -> io::Result<()> {
        let record = SealedRecord::new(self.next, self.chain, body);
        self.line.clear();
        // Each record is a batch of its own: the whole file is synced before it replaces the journal.
        write(&mut self.line, &record, Batch::Begins);
        self.out.write_all(&self.line)?;
        self.next += 1;
        self.chain = record.chain;
        self.last = record.body;
        Ok(())
    }

    /// Writes lost events up to a position. Each has the time of the event before it, or of `next`.
    fn lose_until(&mut self, end: u64, reasons: &BTreeMap<u64, &str>, next: &[u8]) -> io::Result<()> {
        let mut reason = "missing";
        while self.next < end {
            reason = reasons.get(&self.next).copied().unwrap_or(reason);
            self.lose(reason, next)?;
        }
        Ok(())
    }

    fn lose(&mut self, reason: &str, next: &[u8]) -> io::Result<()> {
        let timestamp = time_of(if self.last.is_empty() { next } else { &self.last });
        // Derive the id from the position, so that repairing the same damage gives the same journal.
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.header.session.as_str().as_bytes()).update(&self.next.to_le_bytes());
        let mut random = [0; 10];
        hasher.finalize_xof().fill(&mut random);
        let id = uuid::Builder::from_unix_timestamp_millis(timestamp.as_millis(), &random).into_uuid();
        let event = EventRecord {
            v: FORMAT_VERSION,
            seq: self.next,
            id: EventId::new(id),
            timestamp,
            loop_id: None,
            event: AgentEvent::EventLost { note: reason.to_owned() },
        };
        self.add(serde_json::to_vec(&event)?)
    }
}

fn time_of(body: &[u8]) -> Timestamp {
    #[derive(Deserialize)]
    struct Time {
        timestamp: Timestamp,
    }
    serde_json::from_slice::<Time>(body).map_or_else(|_| Timestamp::default(), |time| time.timestamp)
}

#[cfg(test)]
#[path = "rebuild_tests.rs"]
mod tests;
