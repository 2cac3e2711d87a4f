use std::path::PathBuf;

use lariat_core::archive::SessionArchive;
use lariat_core::id::SessionId;
use lariat_core::store::SessionStore;

use super::*;
use crate::StoreOptions;
use crate::sqlite::SqliteStore;

const VERSION_1: &str = include_str!("fixtures/version-1.sql");

struct Database(PathBuf);

impl Database {
    fn new(sql: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lariat-schema-{}.db", uuid::Uuid::new_v4()));
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(sql).unwrap();
        Self(path)
    }
}

impl Drop for Database {
    #[expect(clippy::disallowed_methods, reason = "files of this test")]
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", self.0.display()));
        }
        let _ = std::fs::remove_dir_all(format!("{}.locks", self.0.display()));
    }
}

fn tables(connection: &Connection) -> Vec<(String, Option<String>)> {
    let mut statement = connection.prepare("SELECT name, sql FROM sqlite_master ORDER BY name").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let plain = |sql: String| sql.split_whitespace().collect::<Vec<_>>().join(" ");
    rows.map(|row| row.unwrap()).map(|(name, sql): (_, Option<String>)| (name, sql.map(plain))).collect()
}

#[tokio::test]
async fn migrates_version_1_and_keeps_all_data() {
    let database = Database::new(VERSION_1);
    let store = SqliteStore::open(&database.0, StoreOptions::default()).await.unwrap();
    let version: usize = MIGRATIONS.len();
    let connection = Connection::open(&database.0).unwrap();
    assert_eq!(super::version(&connection).unwrap(), version);
    let mut fresh = Connection::open_in_memory().unwrap();
    migrate(&mut fresh).unwrap();
    assert_eq!(tables(&connection), tables(&fresh));
    let listed = store.list(&Default::default()).await.unwrap();
    let names: Vec<_> = listed.iter().map(|summary| (summary.session_id.as_str(), summary.events)).collect();
    assert_eq!(names, [("a fork", 5), ("with a blob", 1), ("a plain one", 5)]);
    for summary in &listed {
        let verdict = store.verify(&summary.session_id).await.unwrap();
        assert_eq!((verdict.intact, verdict.damage.as_slice()), (summary.events, &[][..]));
        let events = store.read(&summary.session_id, 0, 99).await.unwrap();
        assert_eq!(events.len() as u64, summary.events);
        store.claim(&summary.session_id).await.unwrap();
    }
    let plain = SessionId::from("a plain one");
    assert_eq!(store.snapshot(&plain, 9).await.unwrap().unwrap().state, b"state");
    // Tables of later versions are filled from the journals.
    assert_eq!(store.learnings(Some("ci"), 0).await.unwrap()[0].learning.text, "run the tests first");
    assert_eq!(store.checkpoints(&plain).await.unwrap()[0].label, "before");
}

#[test]
fn released_migrations_are_not_edited() {
    let released = Connection::open_in_memory().unwrap();
    released.execute_batch(VERSION_1).unwrap();
    let today = Connection::open_in_memory().unwrap();
    today.execute_batch(MIGRATIONS[0]).unwrap();
    assert_eq!(tables(&released), tables(&today));
}

#[tokio::test]
async fn rejects_a_database_of_a_newer_version_unchanged() {
    let database = Database::new("CREATE TABLE sessions (new INTEGER); PRAGMA user_version = 99");
    let refused = SqliteStore::open(&database.0, StoreOptions::default()).await.unwrap_err();
    let newer =
        StoreError::Newer { what: "the database".to_owned(), found: 99, supported: MIGRATIONS.len() as u64 };
    assert_eq!(refused, newer);
    assert!(!refused.is_retryable());
    let connection = Connection::open(&database.0).unwrap();
    assert_eq!(tables(&connection).len(), 1);
}

#[tokio::test]
async fn reports_a_file_that_is_not_a_database_as_damaged() {
    let database = Database::new("CREATE TABLE t (x)");
    #[expect(clippy::disallowed_methods, reason = "a file of this test")]
    std::fs::write(&database.0, "not a database, but long enough for SQLite to read it as one. ".repeat(99))
        .unwrap();
    let refused = SqliteStore::open(&database.0, StoreOptions::default()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Damaged(_)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_processes_create_one_database() {
    for _ in 0..10 {
        let database = Database::new("");
        let opening: Vec<_> = (0..6)
            .map(|_| tokio::spawn(SqliteStore::open(database.0.clone(), StoreOptions::default())))
            .collect();
        for opened in opening {
            let store = opened.await.unwrap().unwrap();
            store.claim(&SessionId::from(uuid::Uuid::new_v4().to_string())).await.unwrap();
        }
    }
}
