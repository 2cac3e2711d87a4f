//! Summarizes a journal up to its end, so that readers need not start at the beginning.
//!
//! A [`JournalTip`] is stored in a sidecar file (the index) and extended with events that were written since. An index
//! is trusted if the record that it names as last is in the journal; only the events after it are read. Without an
//! index, the whole journal is read.
//! Invariants: the tip of a sound journal ends after a whole record; a tip does not include incomplete writes; events that
//! the index lists as synced are reported as missing if they are not in the journal.

use std::fs::File;
use std::io;

use lariat_core::archive::{Damage, DamageKind, SessionSummary};
use lariat_core::event::EventRecord;
use lariat_core::store::Epoch;
use serde::{Deserialize, Serialize};

use super::blobs::Blobs;
use super::checksummed;
use super::line::{Batch, Header, RecordLine, chain_digits};
use super::paths::SessionPaths;
use super::scan::{JournalScanner, Newline, PieceKind, ScannedPiece};
use super::section::Section;
use crate::files;
use crate::record::{Chain, SealedRecord};

/// Number of records between two offsets stored in the index.
const STRIDE: u64 = 256;
/// Minimum number of unindexed bytes before the index is written again: below, reading them is cheaper.
const MIN_BEHIND: u64 = 1024 * 1024;
/// Number of events between two summaries stored in the index: the most that a fork in the middle has to fold.
const SUMMARY_INTERVAL: u64 = 1024;

/// The known state of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct JournalTip {
    /// The first line of the journal.
    pub(super) header: Header,
    /// Number of events, including those before the fork.
    pub(super) head: u64,
    /// The chain after these events.
    #[serde(with = "chain_digits")]
    pub(super) chain: Chain,
    /// Offset of the end of the last record.
    pub(super) end: u64,
    /// Offset of the start of the last record.
    last: u64,
    /// Positions and offsets of every [`STRIDE`]th record.
    marks: Vec<(u64, u64)>,
    /// The fold of all events.
    pub(super) summary: SessionSummary,
    /// The fold after each [`SUMMARY_INTERVAL`] events.
    folds: Vec<SessionSummary>,
    /// Number of synced events when the index was written.
    pub(super) synced: u64,
    /// The writer's epoch when the index was written.
    pub(super) epoch: Epoch,
    /// The first damage, if any. Such a tip ends with the last whole record.
    #[serde(skip)]
    pub(super) damage: Option<Damage>,
    /// Offset of the end of the index that this tip started from; 0 without one.
    #[serde(skip)]
    pub(super) indexed: u64,
    /// State of the journal file that this tip describes.
    #[serde(skip)]
    pub(super) state: files::FileState,
}

impl JournalTip {
    /// Creates the tip of a journal that has only its header. `shared` is the fold of the events before the fork.
    pub(super) fn new(header: Header, shared: SessionSummary) -> Self {
        let end = header.line().len() as u64;
        Self {
            head: header.start(),
            chain: header.chain(),
            end,
            last: end,
            marks: Vec::new(),
            summary: shared,
            folds: Vec::new(),
            synced: 0,
            epoch: Epoch(0),
            damage: None,
            indexed: 0,
            state: files::FileState::default(),
            header,
        }
    }

    /// Reads the index of a journal, if it exists and is valid.
    pub(super) fn from_index(name: &SessionPaths, header: &Header) -> io::Result<Option<Self>> {
        let indexed = checksummed::read::<Self>(&name.index())?.filter(|tip| tip.header == *header);
        Ok(indexed.map(|tip| Self { indexed: tip.end, ..tip }))
    }

    /// Returns the content of the index file.
    pub(super) fn index(&self) -> Vec<u8> {
        checksummed::bytes(self)
    }

    /// Returns whether the file has the last record of this tip at its offset.
    pub(super) fn is_in(&self, file: &File) -> io::Result<bool> {
        if self.head == self.header.start() {
            return Ok(true);
        }
        let mut pieces = JournalScanner::new(Section::new(file, self.last, self.end), self.last);
        Ok(pieces.next()?.is_some_and(|piece| match piece.kind {
            PieceKind::Record(line, Newline::Present) => {
                line.seq + 1 == self.head && line.chain == self.chain && piece.end() == self.end
            }
            _ => false,
        }))
    }

    /// Returns whether the index is so outdated that reading the events after it takes long.
    pub(super) fn is_far_behind(&self, indexed: u64) -> bool {
        // The index grows with its journal. At most one in eight bytes written goes to the index.
        let size = 1024 + 24 * self.marks.len() as u64 + 600 * self.folds.len() as u64;
        self.end.saturating_sub(indexed) > (8 * size).max(MIN_BEHIND)
    }

    /// Returns an offset at or before the event at a position.
    pub(super) fn before(&self, seq: u64) -> u64 {
        let at = self.marks.partition_point(|(marked, _)| *marked <= seq);
        let mark = at.checked_sub(1).and_then(|at| self.marks.get(at));
        mark.map_or(self.header.line().len() as u64, |(_, offset)| *offset)
    }

    /// Returns the newest stored fold of at most `seq` events.
    pub(super) fn summary_at(&self, seq: u64) -> Option<&SessionSummary> {
        let older = self.folds.iter().rev();
        std::iter::once(&self.summary).chain(older).find(|fold| fold.events <= seq && fold.events > 0)
    }

    /// Adds a record that was written at the end.
    pub(super) fn add(&mut self, record: &SealedRecord, length: u64, event: &EventRecord) {
        self.accept(record.seq, record.chain, self.end, self.end + length);
        self.fold(Some(event));
    }

    fn fold(&mut self, event: Option<&EventRecord>) {
        match event {
            Some(event) => self.summary.apply(event),
            // Count it. A reader of the event will report what is wrong with it.
            None => self.summary.events += 1,
        }
        if self.summary.events.is_multiple_of(SUMMARY_INTERVAL) {
            self.folds.push(self.summary.clone());
        }
    }

    fn accept(&mut self, seq: u64, chain: Chain, offset: u64, end: u64) {
        if self.marks.last().is_none_or(|(marked, _)| seq >= marked.saturating_add(STRIDE)) {
            self.marks.push((seq, offset));
        }
        (self.head, self.chain, self.last, self.end) = (seq.saturating_add(1), chain, offset, end);
    }

    /// Extends this tip, which was sound so far, with the rest of the file.
    pub(super) fn extend(self, file: &File, state: files::FileState, blobs: &Blobs) -> io::Result<Self> {
        let mut pieces = JournalScanner::new(Section::new(file, self.end, state.length), self.end);
        let promised = self.synced;
        let mut walk = TipBuilder { tip: self, sound: None, blobs };
        while let Some(piece) = pieces.next()? {
            walk.take(&piece, pieces.body());
        }
        let mut tip = walk.finish(promised);
        tip.state = state;
        Ok(tip)
    }
}

/// Extends a tip piece by piece.
struct TipBuilder<'a> {
    tip: JournalTip,
    /// The tip before the first damage, the damage, and whether a later record was acknowledged.
    sound: Option<(JournalTip, Damage, BatchPosition)>,
    blobs: &'a Blobs,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BatchPosition {
    /// Everything after the damage belongs to the same batch, which was not acknowledged: a power loss.
    SameBatch,
    /// A later batch follows, so the damaged one had been acknowledged.
    NextBatch,
}

impl TipBuilder<'_> {
    fn take(&mut self, piece: &ScannedPiece, body: &[u8]) {
        if self.sound.is_none()
            && let Some((kind, what)) = self.wrong(&piece.kind, body)
        {
            let damage = Damage::new(Some(self.tip.head), Some(piece.offset), kind, what);
            // A whole record in the wrong place is not an incomplete write.
            let later =
                if kind == DamageKind::Chain { BatchPosition::NextBatch } else { BatchPosition::SameBatch };
            self.sound = Some((self.tip.clone(), damage, later));
        } else if let (Some((.., later)), PieceKind::Record(line, _)) = (&mut self.sound, &piece.kind)
            && line.batch == Batch::Begins
        {
            *later = BatchPosition::NextBatch;
        }
        match &piece.kind {
            PieceKind::Record(line, _) if line.seq >= self.tip.head => self.accept(piece, line, body),
            _ => {}
        }
    }

    fn wrong(&self, found: &PieceKind, body: &[u8]) -> Option<(DamageKind, &'static str)> {
        match found {
            PieceKind::Gap(gap) => Some(gap.damage()),
            PieceKind::Header(..) => Some((DamageKind::Chain, "unexpected header")),
            PieceKind::Record(line, _)
                if line.seq != self.tip.head || line.chain != self.tip.chain.then(body) =>
            {
                Some((DamageKind::Chain, "the chain hash does not continue the previous record"))
            }
            PieceKind::Record(_, Newline::Missing) => {
                Some((DamageKind::Torn, "missing newline after a record"))
            }
            PieceKind::Record(_, Newline::Present) => None,
        }
    }

    fn accept(&mut self, piece: &ScannedPiece, line: &RecordLine, body: &[u8]) {
        self.tip.accept(line.seq, line.chain, piece.offset, piece.end());
        self.tip.fold(self.blobs.event(line.seq, body).ok().as_ref());
    }

    fn finish(self, promised: u64) -> JournalTip {
        let Self { mut tip, sound, .. } = self;
        match sound {
            Some((sound, _, BatchPosition::SameBatch)) if sound.head >= promised => tip = sound,
            Some((_, damage, _)) => tip.damage = Some(damage),
            None if tip.head < promised => {
                let note = format!("events {} to {} are missing", tip.head, promised - 1);
                tip.damage = Some(Damage::new(Some(tip.head), Some(tip.end), DamageKind::Missing, note));
            }
            None => {}
        }
        tip
    }
}
