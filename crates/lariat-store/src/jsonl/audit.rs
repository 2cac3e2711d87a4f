//! Finds damage in a journal by checking its pieces in order.
//!
//! Reads the bytes once, from start to end, and changes nothing.
//! Invariant: every difference from the bytes that were written is reported, except a cut between two records; that cut is
//! reported if the caller knows how many events there should be.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::ops::Range;

use lariat_core::archive::{Damage, DamageKind, VerificationReport};

use super::line::{Header, RecordLine};
use super::scan::{Gap, JournalScanner, Newline, PieceKind, ScannedPiece};
use crate::record::Chain;

/// Checks a journal. `expected` has facts from other sources: the header, in case the journal's own is unreadable, and the
/// minimum number of events.
///
/// # Errors
/// When reading the source fails.
pub fn examine(source: impl Read, expected: &ExpectedJournal) -> io::Result<VerificationReport> {
    Ok(survey(source, expected, |_, _, _| {})?.verdict)
}

/// What a journal should contain, known from other sources.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpectedJournal {
    /// The expected first line.
    pub header: Header,
    /// Minimum number of events, including those before the fork.
    pub events: u64,
}

impl ExpectedJournal {
    /// Expects a journal with this header and at least `events` events, including those before the fork.
    pub const fn new(header: Header, events: u64) -> Self {
        Self { header, events }
    }
}

/// The result of checking a journal.
#[derive(Debug)]
pub(super) struct Survey {
    /// The journal's own header, or the expected one if that is unreadable.
    pub(super) header: Header,
    pub(super) verdict: VerificationReport,
}

/// Checks a journal and calls `visit` for every whole record, in file order.
pub(super) fn survey(
    source: impl Read,
    expected: &ExpectedJournal,
    mut visit: impl FnMut(&ScannedPiece, &RecordLine, &[u8]),
) -> io::Result<Survey> {
    let mut pieces = JournalScanner::new(source, 0);
    let mut piece = pieces.next()?;
    let own = match &piece {
        Some(ScannedPiece { offset: 0, kind: PieceKind::Header(header, _), .. })
            if header.session == expected.header.session =>
        {
            Some(header.clone())
        }
        _ => None,
    };
    let mut audit = Audit::new(own.as_ref().unwrap_or(&expected.header));
    if own.is_none() {
        audit.report(None, 0, DamageKind::Checksum, "the header is damaged".to_owned());
    }
    while let Some(found) = piece {
        audit.take(&found, pieces.body());
        if let PieceKind::Record(line, _) = &found.kind {
            visit(&found, line, pieces.body());
        }
        piece = pieces.next()?;
    }
    let header = own.unwrap_or_else(|| expected.header.clone());
    Ok(Survey { header, verdict: audit.finish(expected.events) })
}

/// Checks the pieces of a journal.
struct Audit {
    start: u64,
    /// The next expected position, and the chain before it.
    next: u64,
    chain: Chain,
    /// Positions of whole records.
    seen: Positions,
    /// First positions of losses that a reported gap already covers.
    explained: BTreeSet<u64>,
    /// Gaps since the last record: offset, length and kind.
    gaps: Vec<(u64, u64, Gap)>,
    /// A line without its newline, as offset and position.
    fused: Option<(u64, Option<u64>)>,
    end: u64,
    damage: Vec<Damage>,
}

impl Audit {
    fn new(header: &Header) -> Self {
        let start = header.start();
        Self {
            start,
            next: start,
            chain: header.chain(),
            seen: Positions::default(),
            explained: BTreeSet::new(),
            gaps: Vec::new(),
            fused: None,
            end: 0,
            damage: Vec::new(),
        }
    }

    fn report(&mut self, seq: Option<u64>, offset: u64, kind: DamageKind, note: String) {
        self.damage.push(Damage::new(seq, Some(offset), kind, note));
    }

    fn take(&mut self, piece: &ScannedPiece, body: &[u8]) {
        if let Some((offset, seq)) = self.fused.take() {
            let note = "missing newline in the middle of the journal".to_owned();
            self.report(seq, offset, DamageKind::Garbage, note);
        }
        self.end = piece.end();
        match &piece.kind {
            PieceKind::Gap(gap) => self.gaps.push((piece.offset, piece.length, *gap)),
            PieceKind::Header(_, newline) => {
                if piece.offset > 0 {
                    let note = "unexpected header".to_owned();
                    self.report(None, piece.offset, DamageKind::Garbage, note);
                }
                self.fused = (*newline == Newline::Missing).then_some((piece.offset, None));
            }
            PieceKind::Record(line, newline) => {
                self.check_record(piece.offset, line, body);
                self.fused = (*newline == Newline::Missing).then_some((piece.offset, Some(line.seq)));
            }
        }
    }

    fn check_record(&mut self, offset: u64, line: &RecordLine, body: &[u8]) {
        let seq = line.seq;
        if seq < self.next {
            self.explain_gaps(0);
            let note = match seq {
                _ if seq < self.start => format!("event {seq} belongs before the fork"),
                _ if self.seen.contains(seq) => format!("event {seq} is duplicated"),
                _ => format!("event {seq} is out of order"),
            };
            self.report(Some(seq), offset, DamageKind::Chain, note);
            if seq >= self.start {
                self.seen.add(seq);
            }
            return;
        }
        let lost = seq - self.next;
        let had_gaps = !self.gaps.is_empty();
        self.explain_gaps(lost);
        if lost > 0 && !had_gaps {
            let note = format!("found event {seq} instead of event {}", self.next);
            self.report(Some(seq), offset, DamageKind::Chain, note);
        } else if lost == 0 && line.chain != self.chain.then(body) {
            let note = format!("the chain hash of event {seq} does not continue the previous event");
            self.report(Some(seq), offset, DamageKind::Chain, note);
        }
        self.seen.add(seq);
        self.next = seq.saturating_add(1);
        self.chain = line.chain;
    }

    /// Reports the gaps before a record, in which `lost` events are missing.
    fn explain_gaps(&mut self, lost: u64) {
        let mut lost = lost;
        let mut next = self.next;
        let gaps = std::mem::take(&mut self.gaps);
        let last = gaps.len().saturating_sub(1);
        for (index, (offset, length, gap)) in gaps.into_iter().enumerate() {
            // Each gap covers one event, like a broken line. The last one covers all that remain.
            let here = if index == last { lost } else { lost.min(1) };
            let (kind, what) = gap.damage();
            let events = match here {
                0 => String::new(),
                1 => format!(" in place of event {next}"),
                _ => format!(" in place of events {next} to {}", next + here - 1),
            };
            let note = format!("{what} of {length} bytes{events}");
            self.report((here > 0).then_some(next), offset, kind, note);
            if here > 0 {
                self.explained.insert(next);
            }
            next += here;
            lost -= here;
        }
    }

    fn finish(mut self, events: u64) -> VerificationReport {
        let events = events.max(self.next);
        self.explain_gaps(events - self.next);
        if let Some((offset, seq)) = self.fused {
            self.report(
                seq,
                offset,
                DamageKind::Torn,
                "missing newline at the end of the journal".to_owned(),
            );
        }
        for missing in self.seen.holes(self.start..events) {
            if self.explained.contains(&missing.start) {
                continue;
            }
            let note = match missing.end - missing.start {
                1 => format!("event {} is missing", missing.start),
                _ => format!("events {} to {} are missing", missing.start, missing.end - 1),
            };
            self.report(Some(missing.start), self.end, DamageKind::Missing, note);
        }
        let mut verdict = VerificationReport::default();
        verdict.intact = self.seen.count();
        verdict.damage = self.damage;
        verdict
    }
}

/// A set of positions that are mostly consecutive.
#[derive(Debug, Default)]
pub(super) struct Positions(Vec<Range<u64>>);

impl Positions {
    pub(super) fn add(&mut self, position: u64) {
        self.add_all(position..position.saturating_add(1));
    }

    fn add_all(&mut self, new: Range<u64>) {
        if new.is_empty() {
            return;
        }
        // The usual case: the new range follows the last one.
        if let Some(last) = self.0.last_mut().filter(|last| last.end == new.start) {
            last.end = new.end;
            return;
        }
        let from = self.0.partition_point(|range| range.end < new.start);
        let to = self.0.partition_point(|range| range.start <= new.end);
        let touched = self.0.get(from..to).unwrap_or_default();
        let start = touched.first().map_or(new.start, |range| range.start.min(new.start));
        let end = touched.last().map_or(new.end, |range| range.end.max(new.end));
        self.0.splice(from..to, std::iter::once(start..end));
    }

    fn contains(&self, position: u64) -> bool {
        let at = self.0.partition_point(|range| range.end <= position);
        self.0.get(at).is_some_and(|range| range.contains(&position))
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// Returns how many positions are in a range.
    pub(super) fn count_between(&self, start: u64, end: u64) -> u64 {
        let inside = |range: &Range<u64>| range.end.min(end).saturating_sub(range.start.max(start));
        self.0.iter().map(inside).sum()
    }

    /// Returns the parts of a range that are not in the set.
    fn holes(&self, whole: Range<u64>) -> Vec<Range<u64>> {
        let (mut holes, mut from) = (Vec::new(), whole.start);
        let first = self.0.partition_point(|range| range.end <= whole.start);
        for range in self.0.iter().skip(first).take_while(|range| range.start < whole.end) {
            if range.start > from {
                holes.push(from..range.start);
            }
            from = from.max(range.end);
        }
        if from < whole.end {
            holes.push(from..whole.end);
        }
        holes
    }
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
