//! What is known about a journal up to its end, so that nobody has to read it from the beginning.
//!
//! Owns [`Tip`], its sidecar file (the index), and taking in what was written since. An index is believed when the
//! record that it says is last is there; what follows is read. Without an index everything is.
//! Invariants: a tip of a sound journal ends after a whole record; what was not written to its end is not in it; what
//! an index says was synced is missed when it is not there.

use std::fs::File;
use std::io;

use lariat_core::archive::{Damage, DamageKind, SessionSummary};
use lariat_core::event::EventRecord;
use lariat_core::store::Epoch;
use serde::{Deserialize, Serialize};

use super::blobs::Blobs;
use super::checked;
use super::line::{Batch, Header, Line, chain_digits};
use super::name::Name;
use super::scan::{Found, Newline, Piece, Pieces};
use super::section::Section;
use crate::files;
use crate::record::{Chain, Sealed};

/// Records from one place that the index knows to the next.
const STRIDE: u64 = 256;
/// Bytes that are rather read again than indexed.
const MIN_BEHIND: u64 = 1024 * 1024;
/// Events from one fold that the index keeps to the next: what a fork in the middle has to fold at most.
const FOLDED: u64 = 1024;

/// A journal as far as it is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tip {
    /// Its first line.
    pub(super) header: Header,
    /// Number of events, those before the fork included.
    pub(super) head: u64,
    /// The chain of those.
    #[serde(with = "chain_digits")]
    pub(super) chain: Chain,
    /// Where the last record ends, in bytes.
    pub(super) end: u64,
    /// Where it begins.
    last: u64,
    /// Positions and where their records begin, one in [`STRIDE`].
    marks: Vec<(u64, u64)>,
    /// The fold of the events.
    pub(super) summary: SessionSummary,
    /// The same after each [`FOLDED`] events.
    folds: Vec<SessionSummary>,
    /// Number of events that were synced when this was written down.
    pub(super) synced: u64,
    /// The writer when this was written down.
    pub(super) epoch: Epoch,
    /// What is wrong, if anything. Such a tip knows the last whole record.
    #[serde(skip)]
    pub(super) damage: Option<Damage>,
    /// Where the index ended that this began with; 0 without one.
    #[serde(skip)]
    pub(super) indexed: u64,
    /// The file it was made of.
    #[serde(skip)]
    pub(super) state: files::State,
}

impl Tip {
    /// The tip of a journal that has only its header. `shared` is the fold of what is before the fork.
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
            state: files::State::default(),
            header,
        }
    }

    /// The index of a journal, if it has one that is whole.
    pub(super) fn indexed(name: &Name, header: &Header) -> io::Result<Option<Self>> {
        let indexed = checked::read::<Self>(&name.index())?.filter(|tip| tip.header == *header);
        Ok(indexed.map(|tip| Self { indexed: tip.end, ..tip }))
    }

    /// The bytes of the index.
    pub(super) fn index(&self) -> Vec<u8> {
        checked::bytes(self)
    }

    /// Whether the last record of this tip is where it says.
    pub(super) fn is_in(&self, file: &File) -> io::Result<bool> {
        if self.head == self.header.start() {
            return Ok(true);
        }
        let mut pieces = Pieces::new(Section::new(file, self.last, self.end), self.last);
        Ok(pieces.next()?.is_some_and(|piece| match piece.found {
            Found::Record(line, Newline::There) => {
                line.seq + 1 == self.head && line.chain == self.chain && piece.end() == self.end
            }
            _ => false,
        }))
    }

    /// Whether the index is so old that reading what is behind it takes long.
    pub(super) fn is_far_behind(&self, indexed: u64) -> bool {
        // One in eight bytes written at most goes to the index: it grows with its journal.
        let size = 1024 + 24 * self.marks.len() as u64 + 600 * self.folds.len() as u64;
        self.end.saturating_sub(indexed) > (8 * size).max(MIN_BEHIND)
    }

    /// Where to begin reading for the event at a position.
    pub(super) fn before(&self, seq: u64) -> u64 {
        let at = self.marks.partition_point(|(marked, _)| *marked <= seq);
        let mark = at.checked_sub(1).and_then(|at| self.marks.get(at));
        mark.map_or(self.header.line().len() as u64, |(_, offset)| *offset)
    }

    /// The newest fold of at most so many events that is known.
    pub(super) fn folded(&self, seq: u64) -> Option<&SessionSummary> {
        let older = self.folds.iter().rev();
        std::iter::once(&self.summary).chain(older).find(|fold| fold.events <= seq && fold.events > 0)
    }

    /// Takes in a record that was written at the end.
    pub(super) fn add(&mut self, record: &Sealed, length: u64, event: &EventRecord) {
        self.accept(record.seq, record.chain, self.end, self.end + length);
        self.fold(Some(event));
    }

    fn fold(&mut self, event: Option<&EventRecord>) {
        match event {
            Some(event) => self.summary.apply(event),
            // Counted; what is wrong with it is found out by whoever reads it.
            None => self.summary.events += 1,
        }
        if self.summary.events.is_multiple_of(FOLDED) {
            self.folds.push(self.summary.clone());
        }
    }

    fn accept(&mut self, seq: u64, chain: Chain, offset: u64, end: u64) {
        if self.marks.last().is_none_or(|(marked, _)| seq >= marked.saturating_add(STRIDE)) {
            self.marks.push((seq, offset));
        }
        (self.head, self.chain, self.last, self.end) = (seq.saturating_add(1), chain, offset, end);
    }

    /// Takes in what is in the file behind this tip, which was sound so far.
    pub(super) fn extend(self, file: &File, state: files::State, blobs: &Blobs) -> io::Result<Self> {
        let mut pieces = Pieces::new(Section::new(file, self.end, state.length), self.end);
        let promised = self.synced;
        let mut walk = Walk { tip: self, sound: None, blobs };
        while let Some(piece) = pieces.next()? {
            walk.take(&piece, pieces.body());
        }
        let mut tip = walk.finish(promised);
        tip.state = state;
        Ok(tip)
    }
}

/// Takes in the pieces behind a tip.
struct Walk<'a> {
    tip: Tip,
    /// The tip before the first thing that is wrong, what that is, and whether something later was acknowledged.
    sound: Option<(Tip, Damage, Later)>,
    blobs: &'a Blobs,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Later {
    /// Everything behind it was written with it, and not acknowledged: the power went.
    SameBatch,
    /// Something behind it was written when it had been acknowledged.
    NextBatch,
}

impl Walk<'_> {
    fn take(&mut self, piece: &Piece, body: &[u8]) {
        if self.sound.is_none()
            && let Some((kind, what)) = self.wrong(&piece.found, body)
        {
            let damage = Damage::new(Some(self.tip.head), Some(piece.offset), kind, what);
            // A record that is whole and in the wrong place was not torn.
            let later = if kind == DamageKind::Chain { Later::NextBatch } else { Later::SameBatch };
            self.sound = Some((self.tip.clone(), damage, later));
        } else if let (Some((.., later)), Found::Record(line, _)) = (&mut self.sound, &piece.found)
            && line.batch == Batch::Begins
        {
            *later = Later::NextBatch;
        }
        match &piece.found {
            Found::Record(line, _) if line.seq >= self.tip.head => self.accept(piece, line, body),
            _ => {}
        }
    }

    fn wrong(&self, found: &Found, body: &[u8]) -> Option<(DamageKind, &'static str)> {
        match found {
            Found::Gap(gap) => Some(gap.damage()),
            Found::Header(..) => Some((DamageKind::Chain, "a header in the middle")),
            Found::Record(line, _)
                if line.seq != self.tip.head || line.chain != self.tip.chain.then(body) =>
            {
                Some((DamageKind::Chain, "a record that does not follow the one before it"))
            }
            Found::Record(_, Newline::Missing) => Some((DamageKind::Torn, "a record without its newline")),
            Found::Record(_, Newline::There) => None,
        }
    }

    fn accept(&mut self, piece: &Piece, line: &Line, body: &[u8]) {
        self.tip.accept(line.seq, line.chain, piece.offset, piece.end());
        self.tip.fold(self.blobs.event(line.seq, body).ok().as_ref());
    }

    fn finish(self, promised: u64) -> Tip {
        let Self { mut tip, sound, .. } = self;
        match sound {
            Some((sound, _, Later::SameBatch)) if sound.head >= promised => tip = sound,
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
