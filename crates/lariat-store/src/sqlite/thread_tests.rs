use std::time::Duration;

use lariat_core::id::SessionId;

use super::*;
use crate::sqlite::append;

struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("lariat-writer-{}", uuid::Uuid::new_v4())))
    }

    fn thread(&self, durability: Durability) -> Thread {
        let path = self.0.join("sessions.db");
        let mut options = StoreOptions::with_durability(durability);
        options.batch_window = Duration::ZERO;
        let mut thread = Thread::new(Home::File(path), options, None, Arc::default());
        thread.open(Missing::Create).unwrap();
        thread
    }
}

impl Drop for Place {
    #[expect(clippy::disallowed_methods, reason = "a directory of this test")]
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs one task in a transaction.
fn write<T: Send + 'static>(
    thread: &mut Thread,
    work: impl FnMut(&mut Desk<'_>) -> Result<T, Fault> + Send + 'static,
) -> Result<T, StoreError> {
    let (task, mut answer) = Task::new(work);
    thread.group(vec![Box::new(task)]);
    answer.try_recv().unwrap()
}

fn claim(thread: &mut Thread, id: &str) -> Result<u64, StoreError> {
    let id = SessionId::from(id);
    write(thread, move |desk| desk.claim(&id))
}

#[test]
fn failed_sync_makes_a_new_connection_write_everything_again() {
    let place = Place::new();
    let mut thread = place.thread(Durability::Batched);
    claim(&mut thread, "s").unwrap();
    thread.sync(Due::Now);
    assert!(thread.connection.is_some() && !thread.in_doubt, "the real file can be synced");
    claim(&mut thread, "s").unwrap();
    // `/dev/null` accepts all writes and fails to sync.
    let broken = WalSync::open(std::path::Path::new("/dev/null"), Duration::ZERO).unwrap();
    thread.connection.as_mut().unwrap().sync = Some(broken);
    assert_eq!(claim(&mut thread, "s"), Ok(3));
    thread.sync(Due::Now);
    assert!(thread.connection.is_none() && thread.in_doubt, "the connection is not used again");
    assert_eq!(claim(&mut thread, "s"), Ok(4), "nothing was lost");
    assert!(!thread.in_doubt);
    let opened = thread.connection.as_ref().unwrap();
    // Everything but the last claim was moved into the database before.
    let log: i64 =
        opened.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1)).unwrap();
    assert!(log <= 2, "{log} pages in the WAL");
}

#[test]
fn recovery_from_a_failed_sync_waits_for_readers_of_old_data() {
    let place = Place::new();
    let mut thread = place.thread(Durability::Batched);
    let reader = Home::File(place.0.join("sessions.db")).open(Durability::Fast, Missing::Fail).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM sessions").unwrap();
    claim(&mut thread, "s").unwrap();
    thread.in_doubt = true;
    abandon(thread.connection.take().unwrap().connection);
    let connection = thread.home.open(Durability::Fast, Missing::Fail).unwrap();
    connection.busy_timeout(Duration::from_millis(20)).unwrap();
    let waits: Result<(), StoreError> = rewrite(&connection).map_err(Into::into);
    assert!(matches!(waits, Err(StoreError::Unavailable(_))), "{waits:?}");
    reader.execute_batch("COMMIT").unwrap();
    rewrite(&connection).unwrap();
}

#[test]
fn full_disk_rolls_back_and_later_writes_succeed() {
    let place = Place::new();
    let mut thread = place.thread(Durability::Durable);
    claim(&mut thread, "s").unwrap();
    let fill = |desk: &mut Desk<'_>| {
        let address = crate::content::address(&[7; 300_000]);
        append::put_blob(desk.connection, &address, &[7; 300_000])
    };
    let pages: i64 = write(&mut thread, |desk| {
        Ok(desk.connection.pragma_query_value(None, "page_count", |row| row.get(0))?)
    })
    .unwrap();
    let limit = |thread: &mut Thread| {
        let connection = &thread.connection.as_ref().unwrap().connection;
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    };
    limit(&mut thread);
    let failed = write(&mut thread, fill);
    assert!(matches!(failed, Err(StoreError::Unavailable(_))), "{failed:?}");
    assert!(thread.connection.is_none(), "the connection is not used again");
    // The next connection has no page limit: there is room again.
    assert_eq!(claim(&mut thread, "s"), Ok(2));
    let blobs = |desk: &mut Desk<'_>| {
        Ok(desk.connection.query_row("SELECT count(*) FROM blobs", [], |row| row.get::<_, i64>(0))?)
    };
    assert_eq!(write(&mut thread, blobs), Ok(0));
    write(&mut thread, fill).unwrap();
    assert_eq!(write(&mut thread, blobs), Ok(1));
}

#[test]
fn due_sync_does_not_wait_for_another_writing_process() {
    let place = Place::new();
    let mut thread = place.thread(Durability::Batched);
    claim(&mut thread, "s").unwrap();
    let mut broken = WalSync::open(std::path::Path::new("/dev/null"), Duration::ZERO).unwrap();
    broken.wrote();
    thread.connection.as_mut().unwrap().sync = Some(broken);
    let other = Connection::open(place.0.join("sessions.db")).unwrap();
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
    let mut thread = Thread::new(Home::Memory, options, None, Arc::default());
    thread.open(Missing::Create).unwrap();
    claim(&mut thread, "s").unwrap();
    let failed: Result<(), _> = write(&mut thread, |desk| {
        desk.claim(&SessionId::from("s"))?;
        Ok(desk.connection.execute_batch("INSERT INTO no_such_table VALUES (1)")?)
    });
    assert!(failed.is_err());
    assert_eq!(claim(&mut thread, "s"), Ok(2));
}

#[test]
fn uncommitted_claim_holds_no_lock() {
    let place = Place::new();
    let mut thread = place.thread(Durability::Fast);
    let failed: Result<(), _> = write(&mut thread, |desk| {
        desk.claim(&SessionId::from("s"))?;
        desk.connection.execute_batch("INSERT INTO no_such_table VALUES (1)")?;
        Ok(())
    });
    assert!(failed.is_err());
    let mut other = place.thread(Durability::Fast);
    assert_eq!(claim(&mut other, "another"), Ok(1), "it gets the number of the session that was rolled back");
    assert_eq!(claim(&mut thread, "s"), Ok(1));
    assert!(matches!(claim(&mut thread, "another"), Err(StoreError::Busy { .. })));
}

#[test]
fn rejected_task_leaves_no_writes_behind() {
    let place = Place::new();
    let mut thread = place.thread(Durability::Fast);
    claim(&mut thread, "s").unwrap();
    let refused: Result<(), _> = write(&mut thread, |desk| {
        desk.whole(|desk| {
            desk.connection.execute_batch("DELETE FROM sessions")?;
            Err(StoreError::Damaged("on second thoughts".to_owned()).into())
        })
    });
    assert!(matches!(refused, Err(StoreError::Damaged(_))));
    assert_eq!(claim(&mut thread, "s"), Ok(2));
}

/// Runs one task on this thread, if that is possible.
fn at_once(thread: &mut Thread, id: &str) -> Option<(Result<u64, StoreError>, After)> {
    let id = SessionId::from(id);
    let (task, mut answer) = Task::new(move |desk: &mut Desk<'_>| desk.claim(&id));
    let after = thread.at_once(Box::new(task)).ok()?;
    Some((answer.try_recv().unwrap(), after))
}

#[test]
fn tasks_that_need_a_sync_or_a_new_connection_do_not_run_inline() {
    let place = Place::new();
    let mut durable = place.thread(Durability::Durable);
    assert!(at_once(&mut durable, "s").is_none());
    drop(durable);
    let mut fast = place.thread(Durability::Fast);
    assert_eq!(at_once(&mut fast, "s"), Some((Ok(1), After::Nothing)));
    fast.in_doubt = true;
    assert!(at_once(&mut fast, "s").is_none());
    fast.in_doubt = false;
    fast.connection = None;
    assert!(at_once(&mut fast, "s").is_none());
    assert_eq!(claim(&mut fast, "s"), Ok(2), "the tasks that were returned did nothing");
}

#[test]
fn inline_task_does_not_wait_for_another_process() {
    let place = Place::new();
    let mut thread = place.thread(Durability::Fast);
    claim(&mut thread, "s").unwrap();
    let other = Connection::open(place.0.join("sessions.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(at_once(&mut thread, "s").is_none());
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(at_once(&mut thread, "s"), Some((Ok(2), After::Nothing)));
}

#[test]
fn thread_checkpoints_the_wal_after_many_inline_tasks() {
    let place = Place::new();
    let mut thread = place.thread(Durability::Fast);
    let pages = |thread: &Thread| -> (i64, i64) {
        let connection = &thread.connection.as_ref().unwrap().connection;
        connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| Ok((row.get(1)?, row.get(2)?))).unwrap()
    };
    let large = |thread: &mut Thread| {
        let (task, _) = Task::new(|desk: &mut Desk<'_>| {
            Ok(desk
                .connection
                .execute_batch("INSERT INTO quarantine (no, note) VALUES (1, zeroblob(200000))")?)
        });
        thread.at_once(Box::new(task)).is_ok()
    };
    let count = (0..).take_while(|_| large(&mut thread)).count();
    assert_eq!(count, usize::try_from(UNATTENDED).unwrap());
    let (written, moved) = pages(&thread);
    assert!(written > i64::from(WAL_PAGES) && moved == 0, "{written} pages, {moved} of them moved");
    claim(&mut thread, "s").unwrap();
    let (written, moved) = pages(&thread);
    assert_eq!(written, moved);
    assert!(large(&mut thread), "inline tasks run again");
}

#[test]
fn inline_task_wakes_the_thread_when_a_sync_becomes_due() {
    let place = Place::new();
    let mut thread = place.thread(Durability::Batched);
    assert_eq!(at_once(&mut thread, "s"), Some((Ok(1), After::Wake)));
    assert_eq!(at_once(&mut thread, "s"), Some((Ok(2), After::Nothing)), "the thread already knows");
    thread.sync(Due::Now);
    assert_eq!(at_once(&mut thread, "s"), Some((Ok(3), After::Wake)));
}
