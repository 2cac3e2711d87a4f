//! Reads events, each from the file that contains it.
//!
//! The events of a fork come from its ancestors' files and its own. Only acknowledged events are read, as far as the tip
//! says. Invariant: a returned event is as it was written; a missing or damaged event is an error that names its position.

use std::ops::Range;
use std::sync::Arc;

use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;

use super::inner::{JsonlStoreInner, MAX_DEPTH};
use super::line::Fork;
use super::paths::SessionPaths;
use super::scan::{JournalScanner, PieceKind};
use super::section::Section;
use super::tip::JournalTip;
use super::unavailable;
use crate::files;

impl JsonlStoreInner {
    /// Returns events of a session from a position on.
    pub(super) fn read(&self, id: &SessionId, from: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let Some(tip) = self.tip(id)? else { return Ok(Vec::new()) };
        let wanted = from.saturating_add(limit as u64);
        if wanted > tip.head && tip.synced > tip.head {
            let what = format!("session {id}: events {} to {} are missing", tip.head, tip.synced - 1);
            return Err(StoreError::Damaged(what));
        }
        let end = wanted.min(tip.head);
        self.read_range(id.clone(), tip, from..end)
    }

    /// Returns events before a position, newest first.
    pub(super) fn read_backwards(
        &self,
        id: &SessionId,
        before: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let Some(tip) = self.tip(id)? else { return Ok(Vec::new()) };
        let end = before.min(tip.head);
        let mut events = self.read_range(id.clone(), tip, end.saturating_sub(limit as u64)..end)?;
        events.reverse();
        Ok(events)
    }

    /// Returns events that a fork shares, from a position on.
    pub(super) fn read_shared(&self, fork: &Fork, from: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let tip = self.ancestor(fork)?;
        let end = from.saturating_add(limit as u64).min(fork.seq);
        self.read_range(fork.session.clone(), tip, from..end)
    }

    /// Returns the tip of a fork's parent, which must have all shared events.
    pub(super) fn ancestor(&self, fork: &Fork) -> Result<Arc<JournalTip>, StoreError> {
        let tip = self.load_tip(&self.session(&fork.session))?;
        let gone = || StoreError::Damaged(format!("parent session {} is missing", fork.session));
        let tip = tip.ok_or_else(gone)?;
        if tip.head < fork.seq {
            let note = "has fewer events than its fork shares";
            return Err(StoreError::Damaged(format!("parent session {} {note}", fork.session)));
        }
        Ok(tip)
    }

    /// Returns events of a range, each from the file that contains it: own events last.
    fn read_range(
        &self,
        id: SessionId,
        tip: Arc<JournalTip>,
        range: Range<u64>,
    ) -> Result<Vec<Event>, StoreError> {
        let (mut parts, mut end) = (Vec::new(), range.end);
        let (mut id, mut tip) = (id, tip);
        while range.start < end {
            let own = tip.header.start().max(range.start);
            let fork = tip.header.fork.clone();
            if own < end {
                parts.push((id, Arc::clone(&tip), own..end));
                end = own;
            }
            let Some(fork) = fork.filter(|_| range.start < end) else { break };
            if parts.len() > MAX_DEPTH {
                return Err(StoreError::Damaged("the ancestors of a fork form a cycle".to_owned()));
            }
            tip = self.ancestor(&fork)?;
            id = fork.session;
        }
        let mut events = Vec::new();
        for (id, tip, range) in parts.into_iter().rev() {
            self.read_file(&id, &tip, range, &mut events)?;
        }
        Ok(events)
    }

    /// Reads events from a session's own file.
    fn read_file(
        &self,
        id: &SessionId,
        tip: &JournalTip,
        range: Range<u64>,
        events: &mut Vec<Event>,
    ) -> Result<(), StoreError> {
        let path = SessionPaths::of(&self.root, id).journal();
        let failed = |error: std::io::Error| unavailable(&path, &error);
        let file = files::open(&path).map_err(failed)?;
        let from = tip.before(range.start);
        let mut pieces = JournalScanner::new(Section::new(&file, from, tip.end), from);
        let mut next = range.start;
        let damaged = |next: u64, offset: u64, what: &str| {
            StoreError::Damaged(format!("session {id}, event {next}, byte {offset}: {what}"))
        };
        while next < range.end {
            let Some(piece) = pieces.next().map_err(failed)? else {
                let what = match &tip.damage {
                    Some(damage) => damage.note.as_str(),
                    None => "missing",
                };
                return Err(damaged(next, tip.end, what));
            };
            match piece.kind {
                // Before the requested range.
                PieceKind::Record(line, _) if line.seq < range.start => {}
                PieceKind::Record(line, _) if line.seq == next => {
                    let event = self.blobs.event(next, pieces.body());
                    let located = |error| match error {
                        StoreError::Damaged(what) => damaged(next, piece.offset, &what),
                        other => other,
                    };
                    events.push(Arc::new(event.map_err(located)?));
                    next += 1;
                }
                PieceKind::Record(..) => {
                    return Err(damaged(next, piece.offset, "found another event"));
                }
                // Skip a gap before the requested range. If it reaches into the range, the next record shows that.
                PieceKind::Gap(gap) if next > range.start => {
                    return Err(damaged(next, piece.offset, gap.damage().1));
                }
                PieceKind::Header(..) if piece.offset > 0 && next > range.start => {
                    return Err(damaged(next, piece.offset, "unexpected header"));
                }
                PieceKind::Gap(_) | PieceKind::Header(..) => {}
            }
        }
        Ok(())
    }
}
