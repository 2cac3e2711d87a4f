//! Damages database files and blobs at random: no event may come back changed, what cannot be read is reported, and a
//! repair keeps everything that could be read.
//!
//! The bytes of a database belong to SQLite, so what survives is decided by reading: a wrong event is a fault, a missing one
//! must be named. Each failure prints the seed; `LARIAT_CORRUPT_MUTANTS` sets the size of a run, as for journals.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a check that fails panics, and changes files of its own"
)]

use std::path::{Path, PathBuf};

use lariat_core::archive::SessionArchive;
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::SessionId;
use lariat_core::store::{Durability, StoreError};
use lariat_store::StoreOptions;
use lariat_store::jsonl::JsonlStore;
use lariat_store::sqlite::SqliteStore;
use lariat_test::SeededRandom;
use lariat_test::conformance::{Script, message_event};

/// Databases and blobs that a run in CI damages, each.
const MUTANTS: u64 = 150;
/// A full run damages this many times fewer of them than journals, because each is opened as a store.
const SHARE: u64 = 100;
/// Events of a session.
const EVENTS: u64 = 40;

fn mutants() -> u64 {
    let wanted = std::env::var("LARIAT_CORRUPT_MUTANTS").ok().and_then(|count| count.parse::<u64>().ok());
    wanted.map_or(MUTANTS, |count| (count / SHARE).max(1))
}

/// A directory in memory, removed on drop.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = parent.join(format!("lariat-corrupt-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn options() -> StoreOptions {
    StoreOptions::with_durability(Durability::Fast)
}

/// Writes a session with texts of several sizes; those of more than 32 KB are blobs.
async fn write_session(store: &dyn SessionArchive) -> Vec<Event> {
    let mut script = Script::claim(store, "s", 1_000).await;
    for n in 0..EVENTS {
        let text = match n % 10 {
            3 => format!("large {n} ").repeat(5_000),
            6 => format!("medium {n} ").repeat(300),
            _ => format!("event {n}"),
        };
        script.write(store, [message_event(&text)]).await;
    }
    store.release(&script.session_id, script.epoch).await.unwrap();
    script.written
}

/// Waits until the database is complete in its file.
async fn close(store: SqliteStore, database: &Path) {
    drop(store);
    let log = PathBuf::from(format!("{}-wal", database.display()));
    for _ in 0..400 {
        if !log.exists() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the database was not closed");
}

/// Damages bytes like a bad disk. Returns what it did.
fn damage(bytes: &mut Vec<u8>, dice: &mut SeededRandom) -> String {
    let at = dice.index(bytes.len());
    let most = [8, 512, 4_096, 9_000][dice.index(4)];
    let end = (at + 1 + dice.index(most)).min(bytes.len());
    match dice.below(6) {
        0 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        1 | 2 => {
            bytes[at] ^= 1 << dice.below(8);
            format!("a bit of {at} flipped")
        }
        3 => {
            bytes[at..end].fill(0);
            format!("zeros from {at} to {end}")
        }
        4 => {
            bytes[at..end].fill_with(|| dice.bits() as u8);
            format!("noise from {at} to {end}")
        }
        _ => {
            let (page, pages) = (4_096, bytes.len() / 4_096);
            let (one, other) = (dice.index(pages.max(1)) * page, dice.index(pages.max(1)) * page);
            if one + page <= bytes.len() && other + page <= bytes.len() {
                let (first, second) = (bytes[one..one + page].to_vec(), bytes[other..other + page].to_vec());
                bytes[one..one + page].copy_from_slice(&second);
                bytes[other..other + page].copy_from_slice(&first);
            }
            format!("pages at {one} and {other} swapped")
        }
    }
}

/// What a damaged store returns for each position: an event, or `None` and an error.
async fn survey(store: &dyn SessionArchive, id: &SessionId, written: &[Event]) -> Result<Vec<bool>, String> {
    let mut readable = Vec::new();
    for expected in written {
        match store.read(id, expected.seq, 1).await {
            Ok(found) => match found.as_slice() {
                [event] if event == expected => readable.push(true),
                [] => readable.push(false),
                [event] if matches!(event.event, AgentEvent::EventLost { .. }) => readable.push(false),
                _ => return Err(format!("event {} came back changed: {found:?}", expected.seq)),
            },
            Err(StoreError::Damaged(_) | StoreError::Unavailable(_) | StoreError::NotFound(_)) => {
                readable.push(false)
            }
            Err(other) => return Err(format!("event {}: {other}", expected.seq)),
        }
    }
    Ok(readable)
}

/// Checks a damaged store. Returns whether something could not be read.
async fn check(store: &dyn SessionArchive, written: &[Event]) -> Result<bool, String> {
    let id = SessionId::from("s");
    let before = survey(store, &id, written).await?;
    let is_whole = before.iter().all(|is_readable| *is_readable);
    let verdict = store.verify(&id).await;
    if !is_whole && verdict.as_ref().is_ok_and(|verdict| verdict.is_sound()) {
        return Err(format!("unreadable events are not reported: {before:?}"));
    }
    if store.repair(&id).await.is_err() {
        // A database that SQLite cannot write to stays as it is.
        return Ok(!is_whole);
    }
    let after = survey(store, &id, written).await?;
    match before.iter().zip(&after).position(|(before, after)| *before && !*after) {
        Some(seq) => Err(format!("the repair lost event {seq}")),
        None => Ok(!is_whole),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_databases_return_no_wrong_event_and_repairs_lose_none() {
    let original = TempDir::new();
    let database = original.0.join("sessions.db");
    let store = SqliteStore::open(&database, options()).await.unwrap();
    let written = write_session(&store).await;
    close(store, &database).await;
    let bytes = std::fs::read(&database).unwrap();
    let (mut opened, mut harmed) = (0_u64, 0_u64);
    for seed in 0..mutants() {
        let mut dice = SeededRandom::new(seed).fork("database");
        let mut mutant = bytes.clone();
        let done: Vec<String> = (0..1 + dice.below(2)).map(|_| damage(&mut mutant, &mut dice)).collect();
        let place = TempDir::new();
        let path = place.0.join("sessions.db");
        std::fs::write(&path, &mutant).unwrap();
        // An empty file is a new database.
        let Ok(store) = SqliteStore::open(&path, options()).await else { continue };
        if mutant.is_empty() {
            continue;
        }
        opened += 1;
        match check(&store, &written).await {
            Ok(is_harmed) => harmed += u64::from(is_harmed),
            Err(wrong) => panic!("seed {seed}: {}: {wrong}", done.join(", ")),
        }
    }
    println!("{} damaged databases, {opened} opened, {harmed} with unreadable events", mutants());
    assert!(opened * 3 > mutants() && harmed > 0, "{opened} opened, {harmed} harmed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_blobs_return_no_wrong_event_and_are_reported() {
    for seed in 0..mutants() / 3 + 1 {
        let mut dice = SeededRandom::new(seed).fork("blob");
        let place = TempDir::new();
        let store = JsonlStore::open(&place.0, options()).await.unwrap();
        let written = write_session(&store).await;
        drop(store);
        let mut blobs = Vec::new();
        for folder in std::fs::read_dir(place.0.join("blobs")).unwrap() {
            blobs.extend(std::fs::read_dir(folder.unwrap().path()).unwrap().map(|blob| blob.unwrap().path()));
        }
        blobs.sort_unstable();
        assert_eq!(blobs.len(), 4);
        let blob = &blobs[dice.index(blobs.len())];
        let mut bytes = std::fs::read(blob).unwrap();
        let mut done = damage(&mut bytes, &mut dice);
        if dice.chance(20) {
            std::fs::remove_file(blob).unwrap();
            done = "removed".to_owned();
        } else {
            std::fs::write(blob, &bytes).unwrap();
        }
        let is_same = std::fs::read(blob).is_ok_and(|now| {
            lariat_store::content::address(&now).0.ends_with(&*blob.file_name().unwrap().to_string_lossy())
        });
        let store = JsonlStore::open(&place.0, options()).await.unwrap();
        let is_harmed =
            check(&store, &written).await.unwrap_or_else(|wrong| panic!("seed {seed}: {done}: {wrong}"));
        assert_eq!(is_harmed, !is_same, "seed {seed}: {done}");
    }
}
