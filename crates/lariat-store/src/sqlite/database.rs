//! Opens and configures connections, and pools those that read.
//!
//! This module sets every setting of a connection. Only SQLite may open the database file or its `-shm` file: closing any
//! other handle would drop the locks that SQLite holds for the whole process (POSIX advisory locks).
//! Invariant: only the writer's connection can write; connections of the pool cannot.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lariat_core::store::{Durability, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use super::fault::{SqliteFault, is_busy};
use super::schema;
use crate::files;

/// The first SQLite without the WAL-reset bug, which can lose commits when two connections checkpoint at once.
const OLDEST_SQLITE: i32 = 3_051_003;

/// How long a connection waits for another process that writes.
pub(super) const BUSY: Duration = Duration::from_secs(10);

/// Maximum number of concurrent readers. More would only wait for the same disk.
const READERS: usize = 4;

/// Prepared statements cached per connection; the store has fewer in all.
const STATEMENTS: usize = 64;

/// Size to which SQLite truncates the WAL file after a burst.
const WAL_LIMIT_BYTES: i64 = 64 << 20;

/// Location of a database.
#[derive(Clone, Debug)]
pub(super) enum DatabaseLocation {
    /// In the memory of one connection.
    Memory,
    /// In a file.
    File(PathBuf),
}

/// What to do if the database does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IfMissing {
    /// Create it.
    Create,
    /// Fail: the database existed before, and an empty one in its place would hide the loss.
    Fail,
}

impl DatabaseLocation {
    /// Returns a path next to the database: its name with a suffix, as SQLite names its files.
    pub(super) fn sibling(&self, suffix: &str) -> Option<PathBuf> {
        match self {
            Self::Memory => None,
            Self::File(path) => {
                let mut name = OsString::from(path);
                name.push(suffix);
                Some(PathBuf::from(name))
            }
        }
    }

    /// Opens the writing connection.
    pub(super) fn open(&self, durability: Durability, missing: IfMissing) -> Result<Connection, SqliteFault> {
        if rusqlite::version_number() < OLDEST_SQLITE {
            let version = rusqlite::version();
            return Err(unavailable(format!(
                "SQLite {version} can lose commits; version 3.51.3 or newer is required"
            )));
        }
        let mut connection = match self {
            Self::Memory => Connection::open_in_memory()?,
            Self::File(path) => {
                if missing == IfMissing::Create {
                    let dir = path.parent().unwrap_or(Path::new("."));
                    files::create_dir_durably(dir)
                        .map_err(|error| unavailable(format!("{dir:?}: {error}")))?;
                }
                connect(path, missing)?
            }
        };
        configure(&connection)?;
        if let Self::File(path) = self {
            use_wal(&connection)?;
            let level = if durability == Durability::Durable { "FULL" } else { "NORMAL" };
            connection.pragma_update(None, "synchronous", level)?;
            // For systems where `fsync` alone leaves data in the disk's own cache.
            connection.pragma_update(None, "fullfsync", true)?;
            connection.pragma_update(None, "journal_size_limit", WAL_LIMIT_BYTES)?;
            schema::migrate(&mut connection)?;
            if missing == IfMissing::Create {
                let dir = path.parent().unwrap_or(Path::new("."));
                files::sync_dir(dir).map_err(|error| unavailable(format!("{dir:?}: {error}")))?;
            }
        } else {
            schema::migrate(&mut connection)?;
        }
        Ok(connection)
    }
}

fn unavailable(what: String) -> SqliteFault {
    SqliteFault::Refused(StoreError::Unavailable(what))
}

fn connect(path: &Path, missing: IfMissing) -> Result<Connection, SqliteFault> {
    let create =
        if missing == IfMissing::Create { OpenFlags::SQLITE_OPEN_CREATE } else { OpenFlags::empty() };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
    Ok(Connection::open_with_flags(path, flags)?)
}

fn configure(connection: &Connection) -> Result<(), SqliteFault> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise SQLite prepares a statement again for every other `LIMIT`.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(())
}

/// Switches to WAL mode. Two processes that create the same database both switch it, and SQLite does not wait there.
fn use_wal(connection: &Connection) -> Result<(), SqliteFault> {
    const ATTEMPTS: usize = 20;
    for attempt in 1.. {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Ok(mode) if mode == "wal" => break,
            Ok(mode) => {
                return Err(unavailable(format!(
                    "the file system does not support WAL mode (journal mode is {mode})"
                )));
            }
            Err(error) if is_busy(&error) && attempt < ATTEMPTS => {
                // Starting a transaction does wait for the process that locks the file.
                connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Closes a connection that may no longer be trusted: it neither moves data from the WAL nor removes files.
pub(super) fn abandon(connection: Connection) {
    let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
}

/// A pool of reading connections, opened on demand.
#[derive(Debug)]
pub(super) struct ReaderPool {
    path: PathBuf,
    idle: Mutex<Vec<(u64, Connection)>>,
    permits: Arc<Semaphore>,
    generation: AtomicU64,
}

impl ReaderPool {
    /// Creates a pool for a file.
    pub(super) fn new(path: PathBuf) -> Arc<Self> {
        let permits = Arc::new(Semaphore::new(READERS));
        Arc::new(Self { path, idle: Mutex::default(), permits, generation: AtomicU64::new(0) })
    }

    /// Discards all connections: the file may have been replaced.
    pub(super) fn renew(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.idle().clear();
    }

    /// Opens a connection in the background, because opening takes longer than most queries.
    pub(super) fn prepare(self: &Arc<Self>) {
        let readers = Arc::clone(self);
        drop(tokio::task::spawn_blocking(move || {
            let (generation, connection) = readers.connection().ok()?;
            // The first query loads the schema.
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).ok()?;
            readers.keep(generation, connection);
            Some(())
        }));
    }

    /// Runs `work` in one read transaction, on a thread that may block.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        mut work: impl FnMut(&Connection) -> Result<T, SqliteFault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let readers = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let (generation, connection) = readers.connection()?;
            let read = (|| {
                let transaction = connection.unchecked_transaction()?;
                work(&transaction)
            })();
            if !matches!(read, Err(SqliteFault::Failed(_))) {
                readers.keep(generation, connection);
            }
            read
        });
        match reading.await {
            Ok(read) => Ok(read?),
            Err(error) => Err(StoreError::Unavailable(format!("the reader thread ended: {error}"))),
        }
    }

    fn connection(&self) -> Result<(u64, Connection), SqliteFault> {
        if let Some(kept) = self.idle().pop() {
            return Ok(kept);
        }
        let generation = self.generation.load(Ordering::Acquire);
        Ok((generation, self.open()?))
    }

    /// Opens a reading connection outside the pool.
    pub(super) fn open(&self) -> Result<Connection, SqliteFault> {
        let connection = connect(&self.path, IfMissing::Fail)?;
        configure(&connection)?;
        connection.pragma_update(None, "query_only", true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        Ok(connection)
    }

    fn keep(&self, generation: u64, connection: Connection) {
        let mut idle = self.idle();
        if generation == self.generation.load(Ordering::Acquire) {
            idle.push((generation, connection));
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(u64, Connection)>> {
        // A panic elsewhere cannot leave the list of connections inconsistent.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
