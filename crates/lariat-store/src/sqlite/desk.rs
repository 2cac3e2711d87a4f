//! What the writer knows while it works: the sessions it has in mind, the locks it holds, whom to wake.
//!
//! Owns the cache of sessions and its truth: it is what the database says as long as nobody else committed
//! (`PRAGMA data_version`), is checked again after somebody did, and is thrown away when a transaction fails.
//! Invariant: within a transaction, [`Desk::session`] is what is in the database.

use std::collections::HashMap;
use std::path::PathBuf;

use lariat_core::archive::SessionSummary;
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;
use rusqlite::{Connection, params};

use super::fault::{Fault, no_session};
use super::rows::{self, SessionRow, Tail, int};
use super::settle;
use crate::files::{Lock, Locked, make_cache_folder};
use crate::record::Chain;

/// Sessions in mind at most, about 2 KB each. Beyond, all are settled and forgotten at once.
const SESSIONS: usize = 4096;

/// Events that are folded into a summary when a session comes to mind; more are left to whoever lists.
const FOLD_AT_ONCE: u64 = 512;

/// A session in mind.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) no: i64,
    pub(super) epoch: u64,
    pub(super) head: u64,
    pub(super) chain: Chain,
    /// Where its last own event is, if that is known.
    pub(super) place: Option<i64>,
    /// What its row says about `head`.
    pub(super) settled: u64,
    /// How many events the summary in its row counts.
    pub(super) folded: u64,
    /// Whether its row says that there may be more.
    pub(super) unsettled: bool,
    /// The fold of the events it counts; behind `head` when that would have been long work.
    pub(super) summary: SessionSummary,
    /// When it was last compared with the database.
    seen: u64,
}

/// The writer's desk: outlives transactions.
#[derive(Debug, Default)]
pub(super) struct Memory {
    sessions: HashMap<SessionId, Session>,
    locks: HashMap<i64, Lock>,
    /// Counts how often somebody else committed.
    round: u64,
    data_version: Option<i64>,
    next_place: Option<i64>,
}

impl Memory {
    /// Takes in what a committed transaction did. The journals that changed.
    pub(super) fn committed(&mut self, outcome: Outcome) -> Grown {
        self.locks.extend(outcome.taken);
        for no in outcome.released {
            self.locks.remove(&no);
        }
        outcome.grown
    }

    /// Forgets all sessions: what was in mind may not have been written. Locks stay.
    pub(super) fn forget(&mut self) {
        self.sessions.clear();
        self.next_place = None;
        self.data_version = None;
    }
}

/// Journals that changed, and their number of events; `None` when the session is gone.
pub(super) type Grown = Vec<(SessionId, Option<u64>)>;

/// What a transaction did besides writing.
#[derive(Debug)]
pub(super) struct Outcome {
    taken: Vec<(i64, Lock)>,
    released: Vec<i64>,
    grown: Grown,
}

/// A transaction at work.
#[derive(Debug)]
pub(super) struct Desk<'a> {
    pub(super) connection: &'a Connection,
    memory: &'a mut Memory,
    locks: Option<PathBuf>,
    taken: Vec<(i64, Lock)>,
    released: Vec<i64>,
    /// Sessions that this transaction appended to.
    pub(super) appended: Vec<i64>,
    /// Whom to wake.
    pub(super) grown: Grown,
}

impl<'a> Desk<'a> {
    /// Begins work in a transaction that was begun on this connection.
    pub(super) fn new(
        connection: &'a Connection,
        memory: &'a mut Memory,
        locks: Option<PathBuf>,
    ) -> Result<Self, Fault> {
        let (taken, released, appended, grown) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut desk = Self { connection, memory, locks, taken, released, appended, grown };
        let mut statement = connection.prepare_cached("PRAGMA data_version")?;
        let version = Some(statement.query_row([], |row| row.get::<_, i64>(0))?);
        if desk.memory.data_version != version {
            desk.memory.data_version = version;
            desk.memory.round += 1;
            desk.memory.next_place = None;
        }
        if desk.memory.sessions.len() > SESSIONS {
            desk.settle_all(settle::Then::Forget)?;
        }
        Ok(desk)
    }

    /// What remains to be done once the transaction is committed. Dropped instead, the locks it took are free again.
    pub(super) fn finish(self) -> Outcome {
        Outcome { taken: self.taken, released: self.released, grown: self.grown }
    }

    /// Does something that writes before it knows whether it can be done: refused, it leaves nothing behind.
    pub(super) fn whole<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.connection.execute_batch("SAVEPOINT whole")?;
        let done = work(self);
        if matches!(done, Err(Fault::Refused(_))) {
            self.connection.execute_batch("ROLLBACK TO whole")?;
            self.forget_all();
        }
        if !matches!(done, Err(Fault::Failed(_))) {
            self.connection.execute_batch("RELEASE whole")?;
        }
        done
    }

    /// A session that exists, as the database has it.
    pub(super) fn session(&mut self, session_id: &SessionId) -> Result<&mut Session, Fault> {
        let round = self.memory.round;
        let fresh = self.memory.sessions.get(session_id).is_some_and(|session| session.seen == round);
        if !fresh {
            let known = self.memory.sessions.remove(session_id);
            let session = self.load(session_id, known)?;
            self.memory.sessions.insert(session_id.clone(), session);
        }
        self.memory.sessions.get_mut(session_id).ok_or_else(|| no_session(session_id))
    }

    fn load(&self, session_id: &SessionId, known: Option<Session>) -> Result<Session, Fault> {
        let row = SessionRow::existing(self.connection, session_id)?.ok_or_else(|| no_session(session_id))?;
        let tail = Tail::of(self.connection, &row)?;
        let known = known.filter(|known| known.head == tail.head && known.chain == tail.chain);
        let summary = match known {
            Some(known) => known.summary,
            None if tail.head <= row.folded + FOLD_AT_ONCE => settle::fold(self.connection, &row, tail.head)?,
            None => settle::summary(self.connection, row.no)?,
        };
        Ok(Session {
            no: row.no,
            epoch: row.epoch,
            head: tail.head,
            chain: tail.chain,
            place: tail.place,
            settled: row.head,
            folded: row.folded,
            unsettled: row.unsettled,
            summary,
            seen: self.memory.round,
        })
    }

    /// Writes what is in mind about sessions into their rows. Returns the numbers of those that are settled now.
    pub(super) fn settle_all(&mut self, then: settle::Then) -> Result<Vec<i64>, Fault> {
        let mut settled = Vec::new();
        let round = self.memory.round;
        for session in self.memory.sessions.values_mut() {
            // Of others, somebody else may know more by now: they are looked at when they are needed.
            if session.seen == round && settle::settle(self.connection, session, then)? {
                settled.push(session.no);
            }
        }
        if then == settle::Then::Forget {
            self.memory.sessions.clear();
        }
        Ok(settled)
    }

    /// What the database says about a session has changed by other means than this desk.
    pub(super) fn forget(&mut self, session_id: &SessionId) {
        self.memory.sessions.remove(session_id);
    }

    /// As [`Desk::forget`], for all of them.
    pub(super) fn forget_all(&mut self) {
        self.memory.sessions.clear();
        self.memory.next_place = None;
    }

    /// The place for the next event.
    pub(super) fn next_place(&mut self) -> Result<i64, Fault> {
        let place = match self.memory.next_place {
            Some(place) => place,
            None => {
                let mut statement =
                    self.connection.prepare_cached("SELECT coalesce(max(place), 0) + 1 FROM events")?;
                statement.query_row([], |row| row.get(0))?
            }
        };
        self.memory.next_place = Some(place + 1);
        Ok(place)
    }

    /// Makes this store the only one of this machine that writes to a session.
    pub(super) fn lock(&mut self, no: i64) -> Result<(), Fault> {
        // A claim in the same transaction as a release keeps the lock.
        self.released.retain(|released| *released != no);
        let Some(folder) = &self.locks else { return Ok(()) };
        if self.memory.locks.contains_key(&no) || self.taken.iter().any(|(taken, _)| *taken == no) {
            return Ok(());
        }
        let unavailable = |error: std::io::Error| {
            Fault::Refused(StoreError::Unavailable(format!("locks in {}: {error}", folder.display())))
        };
        make_cache_folder(folder).map_err(unavailable)?;
        match Lock::take(&folder.join(no.to_string())) {
            Ok(lock) => self.taken.push((no, lock)),
            Err(Locked::By(holder)) => return Err(Fault::Refused(StoreError::Busy { holder })),
            Err(Locked::Failed(error)) => return Err(unavailable(error)),
        }
        Ok(())
    }

    /// Gives a session free when this is committed.
    pub(super) fn unlock(&mut self, no: i64) {
        self.taken.retain(|(taken, _)| *taken != no);
        self.released.push(no);
    }

    /// Makes a session that has no events of its own. Its number.
    pub(super) fn create(&self, new: &NewSession<'_>) -> Result<i64, Fault> {
        let summary = settle::written(new.summary)?;
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

    /// Makes the caller the writer of a session.
    pub(super) fn claim(&mut self, session_id: &SessionId) -> Result<u64, Fault> {
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
        if let Some(session) = self.memory.sessions.get_mut(session_id) {
            session.epoch += 1;
        }
        let epoch = self.session(session_id)?.epoch;
        debug_assert_eq!(Some(epoch), SessionRow::of(self.connection, session_id)?.map(|row| row.epoch));
        Ok(epoch)
    }

    /// Ends the claim of a writer: settles the session, fences the epoch off, and gives lock and memory back. A claim
    /// that is not the newest has nothing to give back.
    pub(super) fn release(&mut self, session_id: &SessionId, epoch: u64) -> Result<(), Fault> {
        let row = SessionRow::of(self.connection, session_id)?;
        let Some(row) = row.filter(|row| row.kept.is_none() && row.epoch == epoch) else { return Ok(()) };
        let connection = self.connection;
        settle::settle(connection, self.session(session_id)?, settle::Then::Forget)?;
        let mut statement = connection.prepare_cached("UPDATE sessions SET epoch = ? WHERE no = ?")?;
        statement.execute([int(epoch + 1), row.no])?;
        self.forget(session_id);
        self.unlock(row.no);
        Ok(())
    }

    /// Whether this transaction has appended to a session.
    pub(super) fn wrote(&self, no: i64) -> bool {
        self.appended.contains(&no)
    }

    /// Number of events of a session that exists.
    pub(super) fn head(&self, session_id: &SessionId) -> Result<u64, Fault> {
        rows::head(self.connection, session_id)
    }
}

/// A session to be made.
#[derive(Debug)]
pub(super) struct NewSession<'a> {
    pub(super) session_id: &'a SessionId,
    pub(super) epoch: u64,
    pub(super) fork_of: Option<i64>,
    pub(super) fork_seq: u64,
    pub(super) base: Chain,
    pub(super) summary: &'a SessionSummary,
}
