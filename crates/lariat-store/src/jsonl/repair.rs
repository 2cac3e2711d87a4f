//! Verifies and repairs the files of a session: the file layer on top of the pure functions.
//!
//! The repair writes a new journal next to the damaged one, syncs and verifies it, and replaces the journal in one step.
//! The damaged file stays under another name. The repair includes the ancestors of a fork.
//! Invariant: a journal is replaced only by one that is sound and has every readable event.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

use lariat_core::archive::{Damage, DamageKind, VerificationReport};
use lariat_core::id::SessionId;
use lariat_core::store::{BlobHash, StoreError};

use super::append::{IndexPolicy, take_lock};
use super::audit::{self, examine, survey};
use super::blobs::Blobs;
use super::inner::{
    JsonlStoreInner, MAX_DEPTH, SessionEntry, header_from_epoch_file, is_deleted, lock_unpoisoned,
};
use super::line::{Fork, Header};
use super::paths::AsideKind;
use super::rebuild::{RebuildError, rebuild_without};
use super::section::Section;
use super::tip::JournalTip;
use super::writer::free_name;
use super::{checksummed, not_found, unavailable};
use crate::content::{mentions, moved_out};
use crate::files;
use crate::record::{Chain, check_format};

/// A session, and what a fork shares of it; `None` for all of it.
type SharedPart = (Arc<SessionEntry>, Option<Fork>);

/// The result of checking one file.
struct FileCheck {
    /// Damage in the requested part, and its number of whole records.
    verdict: VerificationReport,
    /// Whole events that cannot be read because a blob they need is missing, with the reason.
    unreadable: BTreeMap<u64, String>,
    /// Whether rebuilding the file would improve it.
    needs_rebuild: bool,
    /// The header that the file should have.
    header: Header,
    /// The minimum number of events that the file should have.
    events: u64,
    /// The chain of the requested part.
    chain: Chain,
}

impl JsonlStoreInner {
    /// Checks a session, including the events it shares.
    pub(super) fn verify(&self, id: &SessionId) -> Result<VerificationReport, StoreError> {
        self.tip(id)?.ok_or_else(|| not_found(id))?;
        let mut verdict = VerificationReport::default();
        for (session, shared) in self.lineage(id)? {
            if self.load_tip(&session)?.is_none() {
                let note = format!("parent session {} is missing", session.id);
                verdict.damage.push(Damage::new(Some(0), None, DamageKind::Missing, note));
                break;
            }
            let mut found = self.check_file(&session, shared.as_ref())?;
            verdict.intact += found.verdict.intact;
            if let Some(fork) = &shared {
                for damage in &mut found.verdict.damage {
                    damage.note = format!("in session {}: {}", session.id, damage.note);
                }
                if fork.chain != found.chain {
                    found.verdict.damage.push(changed_past(fork));
                }
            }
            verdict.damage.append(&mut found.verdict.damage);
        }
        Ok(verdict)
    }

    /// Returns the files that contain a session's events, newest first, and what is shared of each but the first.
    fn lineage(&self, id: &SessionId) -> Result<Vec<SharedPart>, StoreError> {
        let mut line: Vec<SharedPart> = vec![(self.session(id), None)];
        let mut above = self.header_of(&self.session(id))?.fork;
        while let Some(fork) = above.take().filter(|_| line.len() < MAX_DEPTH) {
            let session = self.session(&fork.session);
            // A missing ancestor is the last: its own ancestors are unknown.
            let higher = self.load_tip(&session)?.and_then(|tip| tip.header.fork.clone());
            above = match higher {
                // The fork starts before the parent's own events: all shared events are in older ancestors.
                Some(higher) if fork.seq <= higher.seq => {
                    Some(Fork::new(higher.session, fork.seq, fork.chain))
                }
                higher => {
                    line.push((session, Some(fork)));
                    higher
                }
            };
        }
        Ok(line)
    }

    /// Checks one file: all of it, or the part that a fork shares.
    fn check_file(&self, session: &SessionEntry, shared: Option<&Fork>) -> Result<FileCheck, StoreError> {
        let path = session.paths.journal();
        let failed = |error: io::Error| unavailable(&path, &error);
        let tip = self.load_tip(session)?.ok_or_else(|| not_found(&session.id))?;
        let file = files::open(&path).map_err(failed)?;
        let own = lock_unpoisoned(&session.cached).own;
        let length = if own { tip.end } else { file.metadata().map_err(failed)?.len() };
        let limit = shared.map_or(u64::MAX, |fork| fork.seq);
        let events = tip.synced.max(if own { tip.head } else { 0 }).max(shared.map_or(0, |fork| fork.seq));
        let known = audit::ExpectedJournal::new(header_from_epoch_file(&session.id, &session.paths)?, events);
        let mut blobs = BlobCheck::new(&self.blobs);
        let mut end = 0;
        let mut chain = None;
        let mut intact = audit::Positions::default();
        let mut problem = None;
        let found = survey(Section::new(&file, 0, length), &known, |piece, line, body| {
            if line.seq >= limit {
                return;
            }
            intact.add(line.seq);
            end = end.max(piece.end());
            if line.seq + 1 == limit {
                chain = Some(line.chain);
            }
            if let Err(error) = blobs.check(line.seq, piece.offset, body) {
                problem.get_or_insert(error);
            }
        });
        let survey = found.map_err(failed)?;
        if let Some(error) = problem {
            return Err(error);
        }
        let (start, base) = (survey.header.start(), survey.header.chain());
        let mut verdict = survey.verdict;
        if shared.is_some() {
            let inside = |damage: &Damage| match damage.seq {
                Some(seq) => seq < limit,
                None => damage.offset.is_some_and(|offset| offset < end),
            };
            verdict.damage.retain(inside);
            verdict.intact = intact.count_between(start, limit);
        }
        let needs_rebuild = !verdict.is_sound() || !blobs.unreadable.is_empty();
        verdict.damage.append(&mut blobs.damage);
        let chain = if limit <= start { base } else { chain.unwrap_or(tip.chain) };
        Ok(FileCheck {
            verdict,
            unreadable: blobs.unreadable,
            needs_rebuild,
            header: survey.header,
            events,
            chain,
        })
    }

    /// Repairs a session, including the events it shares. Returns the damage found before the repair.
    pub(super) fn repair(&self, id: &SessionId) -> Result<VerificationReport, StoreError> {
        let session = self.session(id);
        if is_deleted(&session.paths)? {
            return Err(not_found(id));
        }
        self.restore_lost_file(&session)?;
        let verdict = self.verify(id)?;
        if verdict.is_sound() {
            return Ok(verdict);
        }
        let line = self.lineage(id)?;
        // Start with the oldest: the shared events determine the chain of the events that follow.
        let mut before: Option<Chain> = None;
        for (session, shared) in line.iter().rev() {
            before = Some(self.repair_file(session, shared.as_ref(), before)?);
        }
        Ok(verdict)
    }

    fn header_of(&self, session: &SessionEntry) -> Result<Header, StoreError> {
        Ok(self.load_tip(session)?.ok_or_else(|| not_found(&session.id))?.header.clone())
    }

    /// If a journal's file is missing but its index exists, creates an empty journal for the repair to fill.
    fn restore_lost_file(&self, session: &SessionEntry) -> Result<(), StoreError> {
        let path = session.paths.journal();
        let failed = |error: io::Error| unavailable(&path, &error);
        if files::state(&path).map_err(failed)?.is_some() {
            return Ok(());
        }
        let indexed: Option<JournalTip> = checksummed::read(&session.paths.index()).map_err(failed)?;
        match indexed {
            Some(tip) if tip.synced > tip.header.start() => {
                files::put(&path, &tip.header.line()).map_err(failed)
            }
            _ => Err(not_found(&session.id)),
        }
    }

    /// Repairs one file if it is damaged or if the chain before it has changed. Returns the chain of the requested part.
    fn repair_file(
        &self,
        session: &SessionEntry,
        shared: Option<&Fork>,
        before: Option<Chain>,
    ) -> Result<Chain, StoreError> {
        let asked = self.check_file(session, shared)?;
        let renewed = |mut header: Header| {
            if let (Some(fork), Some(before)) = (header.fork.as_mut(), before) {
                fork.chain = before;
            }
            header
        };
        if !asked.needs_rebuild && renewed(asked.header.clone()) == asked.header {
            // Nothing to do, so there is no need to wait for a writer.
            return Ok(asked.chain);
        }
        let mut slot = lock_unpoisoned(&session.writer);
        let _lock = if slot.is_none() { Some(take_lock(session)?) } else { None };
        let whole = self.check_file(session, None)?;
        let header = renewed(whole.header.clone());
        let at_least = asked.events.max(whole.events);
        let path = session.paths.journal();
        let failed = |error: io::Error| unavailable(&path, &error);
        let known = audit::ExpectedJournal::new(whole.header, at_least);
        let temporary = files::temporary(&path);
        let result = write_rebuilt(&path, &temporary, &known, &header, &whole.unreadable);
        if let Err(error) = result {
            let _ = files::remove(&temporary);
            return Err(match error {
                RebuildError::Io(error) => failed(error),
                refused => StoreError::Damaged(format!("session {}: {refused}", session.id)),
            });
        }
        let kept = free_name(&session.paths, AsideKind::Damaged).map_err(failed)?;
        files::link_or_copy(&path, &kept).map_err(failed)?;
        files::rename(&temporary, &path).map_err(failed)?;
        files::remove(&session.paths.index()).map_err(failed)?;
        let own = {
            let mut known = lock_unpoisoned(&session.cached);
            known.tip = None;
            std::mem::take(&mut known.own)
        };
        let tip = self.load_tip(session)?.ok_or_else(|| not_found(&session.id))?;
        if let Some(writer) = slot.as_mut() {
            writer.follow_replacement(&tip);
            lock_unpoisoned(&session.cached).own = own;
            session.note_synced(tip.head);
            let _ = writer.ensure_open(&tip).and_then(|()| self.index(session, writer, IndexPolicy::Always));
        } else {
            let mut tip = Arc::unwrap_or_clone(tip);
            tip.synced = tip.head;
            let _ = files::put_cache(&session.paths.index(), &tip.index());
        }
        Ok(self.check_file(session, shared)?.chain)
    }
}

/// Writes the rebuilt journal to a new file, syncs it, and verifies that it is better than the old one.
fn write_rebuilt(
    path: &Path,
    new: &Path,
    known: &audit::ExpectedJournal,
    header: &Header,
    unreadable: &BTreeMap<u64, String>,
) -> Result<(), RebuildError> {
    let mut out = BufWriter::with_capacity(256 * 1024, files::create(new)?);
    let before = rebuild_without(files::open(path)?, known, Some(header), unreadable, &mut out)?;
    let file: File = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_data()?;
    let length = file.metadata()?.len();
    let known = audit::ExpectedJournal::new(header.clone(), known.events);
    let after = examine(Section::new(&file, 0, length), &known)?;
    if !after.is_sound() || after.intact < before.intact {
        return Err(RebuildError::WouldLose { before: before.intact, after: after.intact });
    }
    Ok(())
}

fn changed_past(fork: &Fork) -> Damage {
    let note = "the shared events changed after the fork";
    Damage::new(fork.seq.checked_sub(1), None, DamageKind::Chain, note)
}

/// Checks the blobs that events reference, each once.
struct BlobCheck<'a> {
    blobs: &'a Blobs,
    seen: HashMap<BlobHash, BlobHealth>,
    damage: Vec<Damage>,
    unreadable: BTreeMap<u64, String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlobHealth {
    Intact,
    Missing,
    Changed,
}

impl<'a> BlobCheck<'a> {
    fn new(blobs: &'a Blobs) -> Self {
        Self { blobs, seen: HashMap::new(), damage: Vec::new(), unreadable: BTreeMap::new() }
    }

    fn check(&mut self, seq: u64, offset: u64, body: &[u8]) -> Result<(), StoreError> {
        check_format(seq, body)?;
        let mentioned = mentions(body);
        if mentioned.is_empty() {
            return Ok(());
        }
        let needed = moved_out(body);
        for hash in mentioned {
            let is_needed = needed.contains(&hash);
            let what = match self.health(&hash)? {
                BlobHealth::Changed => "does not match its hash",
                BlobHealth::Missing if is_needed => "is missing",
                // A missing blob that no event needs may be a text that only looks like an address.
                BlobHealth::Intact | BlobHealth::Missing => continue,
            };
            let note = format!("blob {} {what}", hash.0);
            if is_needed {
                self.unreadable.insert(seq, note.clone());
            }
            self.damage.push(Damage::new(Some(seq), Some(offset), DamageKind::Blob, note));
        }
        Ok(())
    }

    fn health(&mut self, hash: &BlobHash) -> Result<BlobHealth, StoreError> {
        if let Some(known) = self.seen.get(hash) {
            return Ok(*known);
        }
        let health = match self.blobs.read(hash) {
            Ok(_) => BlobHealth::Intact,
            Err(StoreError::NotFound(_)) => BlobHealth::Missing,
            Err(StoreError::Damaged(_)) => BlobHealth::Changed,
            Err(error) => return Err(error),
        };
        self.seen.insert(hash.clone(), health);
        Ok(health)
    }
}
