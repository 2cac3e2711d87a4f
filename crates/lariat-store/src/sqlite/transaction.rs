//! The writer's cache of sessions and its current transaction.
//!
//! The cache equals the database as long as no other process committed (`PRAGMA data_version`). It is compared with the
//! database again after another process did, and dropped when a transaction fails.
//! Invariant: within a transaction, [`WriteTransaction::session`] returns the state of the database.

use std::collections::HashMap;
use std::path::PathBuf;

use lariat_core::archive::SessionSummary;
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;
use rusqlite::{Connection, params};

use super::fault::{SqliteFault, no_session};
use super::rows::{self, JournalEnd, SessionRow, int};
use super::settle;
use crate::files::{Lock, LockError, create_cache_dir};
use crate::record::Chain;

/// Maximum number of cached sessions, about 2 KB each. If there are more, all are settled and dropped at once.
const SESSIONS: usize = 4096;

/// Maximum number of events to fold when a session enters the cache. A listing folds longer ones.
const MAX_FOLD_ON_LOAD: u64 = 512;

/// A cached session.
#[derive(Debug)]
pub(super) struct CachedSession {
    pub(super) no: i64,
    pub(super) epoch: u64,
    pub(super) head: u64,
    pub(super) chain: Chain,
    /// Row of its last own event in `events`, if known.
    pub(super) place: Option<i64>,
    /// Value of `head` in its row.
    pub(super) settled: u64,
    /// Number of events in the summary of its row.
    pub(super) folded: u64,
    /// Whether its row is marked as possibly outdated.
    pub(super) unsettled: bool,
    /// The fold of its events. Has fewer events than `head` if folding them would have taken long.
    pub(super) summary: SessionSummary,
    /// The cache round in which it was last compared with the database.
    seen: u64,
}

/// The writer's cache, which outlives transactions.
#[derive(Debug, Default)]
pub(super) struct WriterCache {
    sessions: HashMap<SessionId, CachedSession>,
    locks: HashMap<i64, Lock>,
    /// Number of commits by other processes that were noticed.
    round: u64,
    data_version: Option<i64>,
    next_place: Option<i64>,
}

impl WriterCache {
    /// Applies the effects of a committed transaction. Returns the journals that changed.
    pub(super) fn apply_committed(&mut self, outcome: TransactionEffects) -> JournalChanges {
        self.locks.extend(outcome.taken);
        for no in outcome.released {
            self.locks.remove(&no);
        }
        outcome.changes
    }

    /// Drops all sessions, because their cached state may not have been written. Keeps the locks.
    pub(super) fn forget(&mut self) {
        self.sessions.clear();
        self.next_place = None;
        self.data_version = None;
    }
}

/// Journals that changed, with their number of events; `None` if the session was deleted.
pub(super) type JournalChanges = Vec<(SessionId, Option<u64>)>;

/// Effects of a transaction outside the database, which take place after its commit.
#[derive(Debug)]
pub(super) struct TransactionEffects {
    taken: Vec<(i64, Lock)>,
    released: Vec<i64>,
    changes: JournalChanges,
}

/// A write transaction.
#[derive(Debug)]
pub(super) struct WriteTransaction<'a> {
    pub(super) connection: &'a Connection,
    cache: &'a mut WriterCache,
    locks: Option<PathBuf>,
    taken: Vec<(i64, Lock)>,
    released: Vec<i64>,
    /// Sessions that this transaction appended to.
    pub(super) appended: Vec<i64>,
    /// Journals whose watchers to notify.
    pub(super) changes: JournalChanges,
}

impl<'a> WriteTransaction<'a> {
    /// Wraps a transaction that was begun on this connection.
    pub(super) fn new(
        connection: &'a Connection,
        cache: &'a mut WriterCache,
        locks: Option<PathBuf>,
    ) -> Result<Self, SqliteFault> {
        let (taken, released, appended, changes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut transaction = Self { connection, cache, locks, taken, released, appended, changes };
        let mut statement = connection.prepare_cached("PRAGMA data_version")?;
        let version = Some(statement.query_row([], |row| row.get::<_, i64>(0))?);
        if transaction.cache.data_version != version {
            transaction.cache.data_version = version;
            transaction.cache.round += 1;
            transaction.cache.next_place = None;
        }
        if transaction.cache.sessions.len() > SESSIONS {
            transaction.settle_all(settle::SettleMode::Close)?;
        }
        Ok(transaction)
    }

    /// Returns what to do after the commit. If the transaction is dropped instead, the locks it took are released.
    pub(super) fn finish(self) -> TransactionEffects {
        TransactionEffects { taken: self.taken, released: self.released, changes: self.changes }
    }

    /// Runs `work` in a savepoint, so that work that is rejected after it wrote leaves nothing behind.
    pub(super) fn with_savepoint<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, SqliteFault>,
    ) -> Result<T, SqliteFault> {
        self.connection.execute_batch("SAVEPOINT whole")?;
        let done = work(self);
        if matches!(done, Err(SqliteFault::Refused(_))) {
            self.connection.execute_batch("ROLLBACK TO whole")?;
            self.forget_all();
        }
        if !matches!(done, Err(SqliteFault::Failed(_))) {
            self.connection.execute_batch("RELEASE whole")?;
        }
        done
    }

    /// Returns an existing session in the state of the database.
    pub(super) fn session(&mut self, session_id: &SessionId) -> Result<&mut CachedSession, SqliteFault> {
        let round = self.cache.round;
        let fresh = self.cache.sessions.get(session_id).is_some_and(|session| session.seen == round);
        if !fresh {
            let known = self.cache.sessions.remove(session_id);
            let session = self.load(session_id, known)?;
            self.cache.sessions.insert(session_id.clone(), session);
        }
        self.cache.sessions.get_mut(session_id).ok_or_else(|| no_session(session_id))
    }

    fn load(
        &self,
        session_id: &SessionId,
        known: Option<CachedSession>,
    ) -> Result<CachedSession, SqliteFault> {
        let row = SessionRow::existing(self.connection, session_id)?.ok_or_else(|| no_session(session_id))?;
        let tail = JournalEnd::of(self.connection, &row)?;
        let known = known.filter(|known| known.head == tail.head && known.chain == tail.chain);
        let summary = match known {
            Some(known) => known.summary,
            None if tail.head <= row.folded + MAX_FOLD_ON_LOAD => {
                settle::fold(self.connection, &row, tail.head)?
            }
            None => settle::summary(self.connection, row.no)?,
        };
        Ok(CachedSession {
            no: row.no,
            epoch: row.epoch,
            head: tail.head,
            chain: tail.chain,
            place: tail.place,
            settled: row.head,
            folded: row.folded,
            unsettled: row.unsettled,
            summary,
            seen: self.cache.round,
        })
    }

    /// Writes the cached state of sessions to their rows. Returns the numbers of those whose rows are complete.
    pub(super) fn settle_all(&mut self, mode: settle::SettleMode) -> Result<Vec<i64>, SqliteFault> {
        let mut settled = Vec::new();
        let round = self.cache.round;
        for session in self.cache.sessions.values_mut() {
            // Another process may have changed other sessions. They are compared when they are used.
            if session.seen == round && settle::settle(self.connection, session, mode)? {
                settled.push(session.no);
            }
        }
        if mode == settle::SettleMode::Close {
            self.cache.sessions.clear();
        }
        Ok(settled)
    }

    /// Drops a session from the cache, because its rows were changed without updating the cache.
    pub(super) fn forget(&mut self, session_id: &SessionId) {
        self.cache.sessions.remove(session_id);
    }

    /// As [`WriteTransaction::forget`], for all sessions.
    pub(super) fn forget_all(&mut self) {
        self.cache.sessions.clear();
        self.cache.next_place = None;
    }

    /// Returns the row number for the next event.
    pub(super) fn next_position(&mut self) -> Result<i64, SqliteFault> {
        let place = match self.cache.next_place {
            Some(place) => place,
            None => {
                let mut statement =
                    self.connection.prepare_cached("SELECT coalesce(max(place), 0) + 1 FROM events")?;
                statement.query_row([], |row| row.get(0))?
            }
        };
        self.cache.next_place = Some(place + 1);
        Ok(place)
    }

    /// Makes this store the only one on this machine that writes to a session.
    pub(super) fn lock(&mut self, no: i64) -> Result<(), SqliteFault> {
        // A claim in the same transaction as a release keeps the lock.
        self.released.retain(|released| *released != no);
        let Some(dir) = &self.locks else { return Ok(()) };
        if self.cache.locks.contains_key(&no) || self.taken.iter().any(|(taken, _)| *taken == no) {
            return Ok(());
        }
        let unavailable = |error: std::io::Error| {
            SqliteFault::Refused(StoreError::Unavailable(format!(
                "lock directory {}: {error}",
                dir.display()
            )))
        };
        create_cache_dir(dir).map_err(unavailable)?;
        match Lock::take(&dir.join(no.to_string())) {
            Ok(lock) => self.taken.push((no, lock)),
            Err(LockError::HeldBy(holder)) => return Err(SqliteFault::Refused(StoreError::Busy { holder })),
            Err(LockError::Io(error)) => return Err(unavailable(error)),
        }
        Ok(())
    }

    /// Releases the lock of a session after the commit.
    pub(super) fn unlock(&mut self, no: i64) {
        self.taken.retain(|(taken, _)| *taken != no);
        self.released.push(no);
    }

    /// Creates a session without own events. Returns its number.
    pub(super) fn create(&self, new: &NewSession<'_>) -> Result<i64, SqliteFault> {
        let summary = settle::to_json(new.summary)?;
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO sessions (id, epoch, fork_of, fork_seq, base, head, chain, unsettled, folded, summary,
             last_active, cwd, parent) VALUES (?1, ?2, ?3, ?4, ?5, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?;
        statement.execute(params![
            new.session_id.as_str(),
            int(new.epoch),
            new.fork_of,
            int(new.fork_seq),
            new.base.as_bytes(),
            new.summary.events < new.fork_seq,
            int(new.summary.events),
            summary,
            int(new.summary.last_active_at.as_millis()),
            new.summary.cwd,
            new.summary.parent.as_ref().map(SessionId::as_str),
        ])?;
        Ok(self.connection.last_insert_rowid())
    }

    /// Makes the caller the writer of a session. Returns its epoch.
    pub(super) fn claim(&mut self, session_id: &SessionId) -> Result<u64, SqliteFault> {
        match SessionRow::of(self.connection, session_id)? {
            Some(row) if row.kept.is_some() => return Err(no_session(session_id)),
            Some(row) => {
                self.lock(row.no)?;
                let mut statement =
                    self.connection.prepare_cached("UPDATE sessions SET epoch = ? WHERE no = ?")?;
                statement.execute([int(row.epoch + 1), row.no])?;
            }
            None => {
                let no = self.create(&NewSession {
                    session_id,
                    epoch: 1,
                    fork_of: None,
                    fork_seq: 0,
                    base: Chain::start(session_id),
                    summary: &SessionSummary::new(session_id.clone()),
                })?;
                self.lock(no)?;
            }
        }
        if let Some(session) = self.cache.sessions.get_mut(session_id) {
            session.epoch += 1;
        }
        let epoch = self.session(session_id)?.epoch;
        debug_assert_eq!(Some(epoch), SessionRow::of(self.connection, session_id)?.map(|row| row.epoch));
        Ok(epoch)
    }

    /// Ends a writer's claim: settles the session, fences off the epoch, releases the lock and drops the cache entry. Does
    /// nothing for a claim that is not the newest.
    pub(super) fn release(&mut self, session_id: &SessionId, epoch: u64) -> Result<(), SqliteFault> {
        let row = SessionRow::of(self.connection, session_id)?;
        let Some(row) = row.filter(|row| row.kept.is_none() && row.epoch == epoch) else { return Ok(()) };
        let connection = self.connection;
        settle::settle(connection, self.session(session_id)?, settle::SettleMode::Close)?;
        let mut statement = connection.prepare_cached("UPDATE sessions SET epoch = ? WHERE no = ?")?;
        statement.execute([int(epoch + 1), row.no])?;
        self.forget(session_id);
        self.unlock(row.no);
        Ok(())
    }

    /// Returns whether this transaction appended to a session.
    pub(super) fn wrote(&self, no: i64) -> bool {
        self.appended.contains(&no)
    }

    /// Returns the number of events of an existing session.
    pub(super) fn head(&self, session_id: &SessionId) -> Result<u64, SqliteFault> {
        rows::head(self.connection, session_id)
    }
}

/// The row of a session to create.
#[derive(Debug)]
pub(super) struct NewSession<'a> {
    pub(super) session_id: &'a SessionId,
    pub(super) epoch: u64,
    pub(super) fork_of: Option<i64>,
    pub(super) fork_seq: u64,
    pub(super) base: Chain,
    pub(super) summary: &'a SessionSummary,
}
