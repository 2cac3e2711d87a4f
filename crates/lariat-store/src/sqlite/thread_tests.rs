use std::time::Duration;

use lariat_core::id::SessionId;

use super::*;
use crate::sqlite::append;

struct TempStore(PathBuf);

impl TempStore {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("lariat-writer-{}", uuid::Uuid::new_v4())))
    }

    fn thread(&self, durability: Durability) -> WriterThread {
        let path = self.0.join("sessions.db");
        let mut options = StoreOptions::with_durability(durability);
        options.batch_window = Duration::ZERO;
        let mut thread = WriterThread::new(DatabaseLocation::File(path), options, None, Arc::default());
        thread.open(IfMissing::Create).unwrap();
        thread
    }
}

impl Drop for TempStore {
    #[expect(clippy::disallowed_methods, reason = "a directory of this test")]
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs one task in a transaction.
fn write<T: Send + 'static>(
    thread: &mut WriterThread,
    work: impl FnMut(&mut WriteTransaction<'_>) -> Result<T, SqliteFault> + Send + 'static,
) -> Result<T, StoreError> {
    let (task, mut answer) = PendingWrite::new(work);
    thread.group(vec![Box::new(task)]);
    answer.try_recv().unwrap()
}

fn claim(thread: &mut WriterThread, id: &str) -> Result<u64, StoreError> {
    let id = SessionId::from(id);
    write(thread, move |transaction| transaction.claim(&id))
}

#[test]
fn failed_sync_makes_a_new_connection_write_everything_again() {
    let temp = TempStore::new();
    let mut thread = temp.thread(Durability::Batched);
    claim(&mut thread, "s").unwrap();
    thread.sync(SyncScope::Due);
    assert!(thread.connection.is_some() && !thread.in_doubt, "the real file can be synced");
    claim(&mut thread, "s").unwrap();
    // `/dev/null` accepts all writes and fails to sync.
    let broken = WalSync::open(std::path::Path::new("/dev/null"), Duration::ZERO).unwrap();
    thread.connection.as_mut().unwrap().sync = Some(broken);
    assert_eq!(claim(&mut thread, "s"), Ok(3));
    thread.sync(SyncScope::Due);
    make_old(&temp);
    assert!(thread.connection.is_none() && thread.in_doubt, "the connection is not used again");
    assert_eq!(claim(&mut thread, "s"), Ok(4), "nothing was lost");
    assert!(!thread.in_doubt);
    assert!(is_new(&temp), "the WAL was written again");
}

const OLD: Duration = Duration::from_secs(1_000_000_000);

/// Makes the WAL look as if it had not been written for years.
fn make_old(temp: &TempStore) {
    let wal = files::open_to_write(&temp.0.join("sessions.db-wal")).unwrap();
    wal.set_modified(std::time::UNIX_EPOCH + OLD).unwrap();
}

/// Whether the WAL was written since.
fn is_new(temp: &TempStore) -> bool {
    let modified = std::fs::metadata(temp.0.join("sessions.db-wal")).unwrap().modified().unwrap();
    modified > std::time::UNIX_EPOCH + OLD
}

#[test]
fn a_new_process_writes_what_an_earlier_one_left_again() {
    let temp = TempStore::new();
    let mut ended = temp.thread(Durability::Batched);
    claim(&mut ended, "s").unwrap();
    abandon(ended.connection.take().unwrap().connection);
    drop(ended);
    make_old(&temp);
    let mut thread = temp.thread(Durability::Batched);
    assert!(is_new(&temp));
    assert_eq!(claim(&mut thread, "s"), Ok(2), "nothing was lost");
}

#[test]
fn writing_the_wal_again_waits_for_another_writer() {
    let temp = TempStore::new();
    let mut thread = temp.thread(Durability::Batched);
    claim(&mut thread, "s").unwrap();
    let location = DatabaseLocation::File(temp.0.join("sessions.db"));
    let other = location.open(Durability::Fast, IfMissing::Fail).unwrap();
    other.busy_timeout(Duration::from_millis(20)).unwrap();
    execute(&thread.connection.as_ref().unwrap().connection, "BEGIN IMMEDIATE").unwrap();
    make_old(&temp);
    let wal = location.sibling("-wal").unwrap();
    assert!(rewrite_wal(&other, &wal).is_err() && !is_new(&temp));
    execute(&thread.connection.as_ref().unwrap().connection, "ROLLBACK").unwrap();
    rewrite_wal(&other, &wal).unwrap();
    assert!(is_new(&temp));
}

#[test]
fn full_disk_rolls_back_and_later_writes_succeed() {
    let temp = TempStore::new();
    let mut thread = temp.thread(Durability::Durable);
    claim(&mut thread, "s").unwrap();
    let fill = |transaction: &mut WriteTransaction<'_>| {
        let address = crate::content::address(&[7; 300_000]);
        append::put_blob(transaction.connection, &address, &[7; 300_000])
    };
    let pages: i64 = write(&mut thread, |transaction| {
        Ok(transaction.connection.pragma_query_value(None, "page_count", |row| row.get(0))?)
    })
    .unwrap();
    let limit = |thread: &mut WriterThread| {
        let connection = &thread.connection.as_ref().unwrap().connection;
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    };
    limit(&mut thread);
    let failed = write(&mut thread, fill);
    assert!(matches!(failed, Err(StoreError::Unavailable(_))), "{failed:?}");
    assert!(thread.connection.is_none(), "the connection is not used again");
    // The next connection has no page limit: there is room again.
    assert_eq!(claim(&mut thread, "s"), Ok(2));
    let blobs = |transaction: &mut WriteTransaction<'_>| {
        Ok(transaction.connection.query_row("SELECT count(*) FROM blobs", [], |row| row.get::<_, i64>(0))?)
    };
    assert_eq!(write(&mut thread, blobs), Ok(0));
    write(&mut thread, fill).unwrap();
    assert_eq!(write(&mut thread, blobs), Ok(1));
}

#[test]
fn due_sync_does_not_wait_for_another_writing_process() {
    let temp = TempStore::new();
    let mut thread = temp.thread(Durability::Batched);
    claim(&mut thread, "s").unwrap();
    let mut broken = WalSync::open(std::path::Path::new("/dev/null"), Duration::ZERO).unwrap();
    broken.wrote();
    thread.connection.as_mut().unwrap().sync = Some(broken);
    let other = Connection::open(temp.0.join("sessions.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The sync fails, which shows that the store tried it although the other process never ends its transaction.
    let failed = claim(&mut thread, "s");
    assert!(matches!(failed, Err(StoreError::Unavailable(_))), "{failed:?}");
    assert!(thread.in_doubt);
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(claim(&mut thread, "s"), Ok(2));
}

#[test]
fn in_memory_database_survives_a_failure() {
    let options = StoreOptions::with_durability(Durability::Memory);
    let mut thread = WriterThread::new(DatabaseLocation::Memory, options, None, Arc::default());
    thread.open(IfMissing::Create).unwrap();
    claim(&mut thread, "s").unwrap();
    let failed: Result<(), _> = write(&mut thread, |transaction| {
        transaction.claim(&SessionId::from("s"))?;
        Ok(transaction.connection.execute_batch("INSERT INTO no_such_table VALUES (1)")?)
    });
    assert!(failed.is_err());
    assert_eq!(claim(&mut thread, "s"), Ok(2));
}

#[test]
fn uncommitted_claim_holds_no_lock() {
    let temp = TempStore::new();
    let mut thread = temp.thread(Durability::Fast);
    let failed: Result<(), _> = write(&mut thread, |transaction| {
        transaction.claim(&SessionId::from("s"))?;
        transaction.connection.execute_batch("INSERT INTO no_such_table VALUES (1)")?;
        Ok(())
    });
    assert!(failed.is_err());
    let mut other = temp.thread(Durability::Fast);
    assert_eq!(claim(&mut other, "another"), Ok(1), "it gets the number of the session that was rolled back");
    assert_eq!(claim(&mut thread, "s"), Ok(1));
    assert!(matches!(claim(&mut thread, "another"), Err(StoreError::Busy { .. })));
}

#[test]
fn rejected_task_leaves_no_writes_behind() {
    let temp = TempStore::new();
    let mut thread = temp.thread(Durability::Fast);
    claim(&mut thread, "s").unwrap();
    let refused: Result<(), _> = write(&mut thread, |transaction| {
        transaction.with_savepoint(|transaction| {
            transaction.connection.execute_batch("DELETE FROM sessions")?;
            Err(StoreError::Damaged("on second thoughts".to_owned()).into())
        })
    });
    assert!(matches!(refused, Err(StoreError::Damaged(_))));
    assert_eq!(claim(&mut thread, "s"), Ok(2));
}

/// Runs one task on this thread, if that is possible.
fn run_inline(thread: &mut WriterThread, id: &str) -> Option<(Result<u64, StoreError>, FollowUp)> {
    let id = SessionId::from(id);
    let (task, mut answer) =
        PendingWrite::new(move |transaction: &mut WriteTransaction<'_>| transaction.claim(&id));
    let after = thread.run_inline(Box::new(task)).ok()?;
    Some((answer.try_recv().unwrap(), after))
}

#[test]
fn tasks_that_need_a_sync_or_a_new_connection_do_not_run_inline() {
    let temp = TempStore::new();
    let mut durable = temp.thread(Durability::Durable);
    assert!(run_inline(&mut durable, "s").is_none());
    drop(durable);
    let mut fast = temp.thread(Durability::Fast);
    assert_eq!(run_inline(&mut fast, "s"), Some((Ok(1), FollowUp::None)));
    fast.in_doubt = true;
    assert!(run_inline(&mut fast, "s").is_none());
    fast.in_doubt = false;
    fast.connection = None;
    assert!(run_inline(&mut fast, "s").is_none());
    assert_eq!(claim(&mut fast, "s"), Ok(2), "the tasks that were returned did nothing");
}

#[test]
fn inline_task_does_not_wait_for_another_process() {
    let temp = TempStore::new();
    let mut thread = temp.thread(Durability::Fast);
    claim(&mut thread, "s").unwrap();
    let other = Connection::open(temp.0.join("sessions.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(run_inline(&mut thread, "s").is_none());
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(run_inline(&mut thread, "s"), Some((Ok(2), FollowUp::None)));
}

#[test]
fn thread_checkpoints_the_wal_after_many_inline_tasks() {
    let temp = TempStore::new();
    let mut thread = temp.thread(Durability::Fast);
    let large = |thread: &mut WriterThread| {
        let (task, _) = PendingWrite::new(|transaction: &mut WriteTransaction<'_>| {
            Ok(transaction
                .connection
                .execute_batch("INSERT INTO quarantine (no, note) VALUES (1, zeroblob(200000))")?)
        });
        thread.run_inline(Box::new(task)).is_ok()
    };
    let pages = |thread: &WriterThread| -> (i64, i64) {
        let connection = &thread.connection.as_ref().unwrap().connection;
        connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| Ok((row.get(1)?, row.get(2)?))).unwrap()
    };
    let count = (0..).take_while(|_| large(&mut thread)).count();
    assert_eq!(count, usize::try_from(MAX_INLINE).unwrap());
    let (written, moved) = pages(&thread);
    assert!(written > i64::from(WAL_PAGES) && moved == 0, "{written} pages, {moved} of them moved");
    claim(&mut thread, "s").unwrap();
    let (written, moved) = pages(&thread);
    assert_eq!(written, moved);
    assert!(large(&mut thread), "inline tasks run again");
}

#[test]
fn inline_task_wakes_the_thread_when_a_sync_becomes_due() {
    let temp = TempStore::new();
    let mut thread = temp.thread(Durability::Batched);
    assert_eq!(run_inline(&mut thread, "s"), Some((Ok(1), FollowUp::WakeThread)));
    assert_eq!(run_inline(&mut thread, "s"), Some((Ok(2), FollowUp::None)), "the thread already knows");
    thread.sync(SyncScope::Due);
    assert_eq!(run_inline(&mut thread, "s"), Some((Ok(3), FollowUp::WakeThread)));
}
