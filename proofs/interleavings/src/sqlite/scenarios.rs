//! The writer thread: every task is answered, and an acknowledged task is in the database, whichever thread ran it and whatever failed beside it.
//!
//! The database is in memory, because what is proven is the order of steps, not the disk.

use ::std::sync::Arc;
use ::std::time::Duration;

use lariat_core::store::{Durability, StoreError};
use rusqlite::{Connection, ffi};
use shuttle::future::block_on;
use shuttle::thread;

use super::database::DatabaseLocation;
use super::fault::SqliteFault;
use super::writer::WriterHandle;
use crate::StoreOptions;

/// Tasks of each caller.
const TASKS: i64 = 2;

fn writer() -> WriterHandle {
    let options = StoreOptions { durability: Durability::Fast, batch_window: Duration::ZERO };
    let started = WriterHandle::start(DatabaseLocation::Memory, options, None, Arc::default());
    let Ok(writer) = started else { panic!("a database in memory opens") };
    let made = block_on(writer.write(0, |transaction| {
        transaction.connection.execute("CREATE TABLE acknowledged (number INTEGER PRIMARY KEY)", [])?;
        Ok(())
    }));
    assert!(made.is_ok(), "{made:?}");
    writer
}

/// The failure of a disk.
fn broken_disk() -> SqliteFault {
    SqliteFault::Failed(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_IOERR), None))
}

fn insert(connection: &Connection, number: i64) -> Result<i64, SqliteFault> {
    connection.execute("INSERT INTO acknowledged VALUES (?1)", [number])?;
    Ok(number)
}

/// Writes a number, as a task for the thread or as one that may run inline.
fn write(writer: &WriterHandle, number: i64) -> Result<i64, StoreError> {
    block_on(async {
        if number % 2 == 0 {
            writer.write(0, move |transaction| insert(transaction.connection, number)).await
        } else {
            writer.write_short(0, move |transaction| insert(transaction.connection, number)).await
        }
    })
}

/// The numbers in the database.
fn numbers(writer: &WriterHandle) -> Vec<i64> {
    let read = block_on(writer.write(0, |transaction| {
        let mut statement =
            transaction.connection.prepare("SELECT number FROM acknowledged ORDER BY number")?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<Vec<i64>, _>>()?)
    }));
    read.unwrap_or_else(|error| panic!("{error}"))
}

/// Two callers write while the tasks of a third fail after they wrote, which rolls back those in the same transaction.
pub(crate) fn what_is_acknowledged_is_in_the_database() {
    let writer = Arc::new(writer());
    let callers: Vec<_> = (0..2)
        .map(|caller| {
            let writer = Arc::clone(&writer);
            thread::spawn(move || {
                let numbers = (0..TASKS).map(|task| caller * 10 + task);
                numbers.filter(|number| write(&writer, *number).is_ok()).collect::<Vec<i64>>()
            })
        })
        .collect();
    let failed = block_on(writer.write(0, |transaction| {
        insert(transaction.connection, 99)?;
        Err::<(), _>(broken_disk())
    }));
    assert!(failed.is_err(), "a task that failed is not acknowledged");
    let mut acknowledged: Vec<i64> =
        callers.into_iter().filter_map(|caller| caller.join().ok()).flatten().collect();
    acknowledged.sort_unstable();
    assert_eq!(acknowledged, [0, 1, 10, 11], "the tasks beside a failed one succeed without it");
    assert_eq!(numbers(&writer), acknowledged);
}

/// The handle is dropped while a caller, which does not wait, has tasks in the queue: they run before the thread ends.
pub(crate) fn tasks_before_the_end_are_answered() {
    let writer = Arc::new(writer());
    let callers: Vec<_> = (0..2)
        .map(|caller| {
            let writer = Arc::clone(&writer);
            thread::spawn(move || write(&writer, caller))
        })
        .collect();
    // The last of them to end drops the handle and joins the thread.
    drop(writer);
    for (caller, number) in callers.into_iter().zip(0..) {
        assert_eq!(caller.join().ok(), Some(Ok(number)));
    }
}
