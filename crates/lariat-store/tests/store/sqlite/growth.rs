//! Compares the bytes written per event with plain SQLite.

use std::sync::Arc;

use lariat_core::archive::SessionArchive;
use lariat_core::store::Durability;
use lariat_test::conformance::{Script, message_event};

use super::SqliteFixture;

/// Number of events per measurement: few enough that SQLite does not move the WAL into the database meanwhile.
const EVENTS: usize = 240;

fn wal(fixture: &SqliteFixture) -> u64 {
    std::fs::metadata(fixture.path.join("sessions.db-wal")).unwrap().len()
}

/// About 1 KB as an event.
fn text(n: usize) -> String {
    format!("{n:04} ").repeat(158)
}

/// Returns the bytes per event of a single table without the store.
fn bare(per_transaction: usize, body: usize) -> u64 {
    let fixture = SqliteFixture::new(Durability::Fast);
    std::fs::create_dir_all(&fixture.path).unwrap();
    let connection = fixture.raw_connection();
    let sql = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         CREATE TABLE events (place INTEGER PRIMARY KEY, chain BLOB, crc INTEGER, body BLOB)";
    connection.execute_batch(sql).unwrap();
    let before = wal(&fixture);
    for _ in 0..EVENTS / per_transaction {
        connection.execute_batch("BEGIN").unwrap();
        for _ in 0..per_transaction {
            let row = rusqlite::params![[7_u8; 16], 0x1234_5678, vec![7_u8; body]];
            connection.execute("INSERT INTO events (chain, crc, body) VALUES (?, ?, ?)", row).unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
    }
    (wal(&fixture) - before) / EVENTS as u64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn append_writes_at_most_5_percent_more_than_plain_sqlite() {
    let fixture = SqliteFixture::new(Durability::Durable);
    let store = fixture.store().await;
    let mut script = Script::claim(&store, "s", 1_000).await;
    script.write(&store, [message_event("first")]).await;
    let before = wal(&fixture);
    for n in 0..EVENTS {
        script.write(&store, [message_event(&text(n))]).await;
    }
    let ours = (wal(&fixture) - before) / EVENTS as u64;
    let body = serde_json::to_vec(&*script.written[1]).unwrap().len();
    let bare = bare(1, body);
    println!("one session: {ours} bytes per event of {body} bytes, bare SQLite {bare}");
    assert!(ours * 100 <= bare * 105, "{ours} against {bare}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interleaved_sessions_write_at_most_one_more_page_per_event() {
    let fixture = SqliteFixture::new(Durability::Durable);
    let store: Arc<dyn SessionArchive> = Arc::new(fixture.store().await);
    let mut scripts = Vec::new();
    for number in 0..8 {
        let mut script = Script::claim(&*store, &format!("s{number}"), number * 1_000).await;
        script.write(&*store, [message_event("first")]).await;
        scripts.push(script);
    }
    let before = wal(&fixture);
    for n in 0..EVENTS {
        scripts[n % 8].write(&*store, [message_event(&text(n))]).await;
    }
    let ours = (wal(&fixture) - before) / EVENTS as u64;
    let body = serde_json::to_vec(&*scripts[0].written[1]).unwrap().len();
    let bare = bare(1, body);
    println!("eight sessions in turn: {ours} bytes per event of {body} bytes, bare SQLite {bare}");
    assert!(ours <= bare + 4120 + 400, "{ours} against {bare}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_row_is_at_most_256_events_behind() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let store = fixture.store().await;
    let mut script = Script::claim(&store, "s", 1_000).await;
    for _ in 0..100 {
        script.write(&store, (0..7).map(|n| message_event(&format!("{n}")))).await;
        let settled: u64 = fixture
            .raw_connection()
            .query_row("SELECT head FROM sessions", [], |row| row.get::<_, i64>(0))
            .unwrap()
            .try_into()
            .unwrap();
        let head = script.written.len() as u64;
        assert!(settled <= head && head - settled < 256, "{settled} of {head}");
    }
}
