//! Tests disk failures and recovery after crashes.

use std::io::Write as _;
use std::path::Path;

use lariat_core::event::{AgentEvent, Event, EventRecord, FORMAT_VERSION};
use lariat_core::id::{EventId, SessionId};
use lariat_core::store::{StoreError, StoreError::Unavailable};
use lariat_core::time::Timestamp;

use super::super::inner::{JsonlStoreInner, SessionEntry, lock_unpoisoned};
use super::super::{line, syncer};
use super::*;
use crate::StoreOptions;

struct TempStore(std::path::PathBuf);

impl TempStore {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("lariat-writer-{}", uuid::Uuid::new_v4().simple())))
    }

    fn open(&self, level: Durability) -> JsonlStoreInner {
        let options = StoreOptions {
            batch_window: std::time::Duration::from_secs(600),
            ..StoreOptions::with_durability(level)
        };
        JsonlStoreInner::new(self.0.clone(), options).unwrap()
    }

    /// Returns the data that was set aside.
    fn torn_files(&self) -> Vec<Vec<u8>> {
        let paths = files::list(&self.0.join("sessions")).unwrap();
        let torn = paths.iter().filter(|path| path.to_string_lossy().contains(".torn-"));
        torn.map(|path| files::read(path).unwrap().unwrap()).collect()
    }
}

impl Drop for TempStore {
    fn drop(&mut self) {
        #[expect(clippy::disallowed_methods, reason = "a test removes its directory")]
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn id() -> SessionId {
    SessionId::from("s")
}

fn events(range: std::ops::Range<u64>, label: &str) -> Vec<Event> {
    let event = |seq| EventRecord {
        v: FORMAT_VERSION,
        seq,
        id: EventId::new(uuid::Uuid::from_u64_pair(seq, label.len() as u64)),
        timestamp: Timestamp::from_millis(1_000 + seq),
        loop_id: None,
        event: AgentEvent::Checkpoint { label: format!("{label} {seq}"), message_id: None },
    };
    range.map(|seq| Arc::new(event(seq))).collect()
}

/// Redirects the session's next writes to a file that rejects writes, or to one that fails to sync.
fn redirect_writes(session: &SessionEntry, path: &Path, write: bool) {
    let file = if write { files::open_existing(path) } else { files::open(path) };
    lock_unpoisoned(&session.writer).as_mut().unwrap().file = Some(Arc::new(file.unwrap()));
}

#[test]
fn failed_write_acknowledges_nothing_and_the_next_append_succeeds() {
    for level in [Durability::Durable, Durability::Batched, Durability::Fast] {
        let temp = TempStore::new();
        let inner = temp.open(level);
        let epoch = inner.claim(&id()).unwrap();
        inner.append(&id(), epoch, 0, &events(0..2, "a")).unwrap();
        let session = inner.session(&id());
        redirect_writes(&session, &session.paths.journal(), false);
        let failed = inner.append(&id(), epoch, 2, &events(2..4, "b"));
        assert!(matches!(failed, Err(Unavailable(_))), "{failed:?}");
        assert_eq!(inner.read(&id(), 0, 9).unwrap(), events(0..2, "a"));
        inner.append(&id(), epoch, 2, &events(2..4, "b")).unwrap();
        assert_eq!(inner.read(&id(), 0, 9).unwrap().len(), 4);
        assert!(inner.verify(&id()).unwrap().is_sound());
    }
}

#[test]
fn retries_an_unsynced_batch_without_duplicating_it() {
    let temp = TempStore::new();
    let inner = temp.open(Durability::Durable);
    let epoch = inner.claim(&id()).unwrap();
    inner.append(&id(), epoch, 0, &events(0..2, "a")).unwrap();
    let session = inner.session(&id());
    let tip = inner.tip(&id()).unwrap().unwrap();
    let (batch, _) = inner.seal_batch(&tip, &events(2..5, "b")).unwrap();
    for written in [1, batch.len() / 2, batch.len()] {
        // The file has the batch, or a part of it, and the sync fails, as it always does for `/dev/null`.
        files::open_existing(&session.paths.journal())
            .unwrap()
            .write_all_at(&batch[..written], tip.end)
            .unwrap();
        redirect_writes(&session, Path::new("/dev/null"), true);
        let failed = inner.append(&id(), epoch, 2, &events(2..5, "b"));
        assert!(matches!(failed, Err(Unavailable(_))), "{failed:?}");
        assert_eq!(inner.tip(&id()).unwrap().unwrap().head, 2);
    }
    // This batch is shorter than what was left behind. None of the old bytes may remain after it.
    inner.append(&id(), epoch, 2, &events(2..3, "b")).unwrap();
    assert!(inner.verify(&id()).unwrap().is_sound());
    let file = files::read(&session.paths.journal()).unwrap().unwrap();
    assert_eq!(file.len() as u64, inner.tip(&id()).unwrap().unwrap().end);
    inner.append(&id(), epoch, 3, &events(3..5, "b")).unwrap();
    assert_eq!(
        files::read(&session.paths.journal()).unwrap().unwrap().len() as u64,
        tip.end + batch.len() as u64
    );
    assert!(inner.verify(&id()).unwrap().is_sound());
    assert_eq!(temp.torn_files(), Vec::<Vec<u8>>::new(), "the caller still has the events that were cut off");
}

#[test]
fn sets_foreign_data_after_the_end_aside_before_overwriting_it() {
    let temp = TempStore::new();
    let inner = temp.open(Durability::Durable);
    let epoch = inner.claim(&id()).unwrap();
    inner.append(&id(), epoch, 0, &events(0..2, "a")).unwrap();
    let session = inner.session(&id());
    let end = inner.tip(&id()).unwrap().unwrap().end;
    files::open_existing(&session.paths.journal())
        .unwrap()
        .write_all_at(b"{\"not\":\"ours\"}\n", end)
        .unwrap();
    redirect_writes(&session, &session.paths.journal(), false);
    inner.append(&id(), epoch, 2, &events(2..3, "b")).unwrap_err();
    inner.append(&id(), epoch, 2, &events(2..3, "b")).unwrap();
    assert_eq!(temp.torn_files(), [b"{\"not\":\"ours\"}\n"]);
    assert!(inner.verify(&id()).unwrap().is_sound());
}

#[test]
fn append_fails_if_acknowledged_events_are_missing() {
    let temp = TempStore::new();
    let inner = temp.open(Durability::Durable);
    let epoch = inner.claim(&id()).unwrap();
    inner.append(&id(), epoch, 0, &events(0..2, "a")).unwrap();
    let session = inner.session(&id());
    redirect_writes(&session, &session.paths.journal(), false);
    inner.append(&id(), epoch, 2, &events(2..3, "b")).unwrap_err();
    files::open_existing(&session.paths.journal()).unwrap().set_len(200).unwrap();
    let refused = inner.append(&id(), epoch, 2, &events(2..3, "b"));
    assert!(matches!(refused, Err(StoreError::Damaged(_))), "{refused:?}");
}

#[test]
fn writes_and_syncs_batched_events_again_after_a_failed_sync() {
    let temp = TempStore::new();
    let inner = temp.open(Durability::Batched);
    let epoch = inner.claim(&id()).unwrap();
    inner.append(&id(), epoch, 0, &events(0..1, "a")).unwrap();
    let session = inner.session(&id());
    syncer::sync(&session).unwrap();
    let synced = inner.tip(&id()).unwrap().unwrap().end;
    inner.append(&id(), epoch, 1, &events(1..4, "b")).unwrap();
    let whole = files::read(&session.paths.journal()).unwrap().unwrap();
    // The sync fails, and the pages it should have written are lost.
    redirect_writes(&session, Path::new("/dev/null"), true);
    syncer::sync(&session).unwrap_err();
    files::open_existing(&session.paths.journal()).unwrap().set_len(synced).unwrap();
    syncer::sync(&session).unwrap();
    assert_eq!(files::read(&session.paths.journal()).unwrap().unwrap(), whole);
    inner.append(&id(), epoch, 4, &events(4..5, "c")).unwrap();
    assert_eq!(inner.read(&id(), 1, 3).unwrap(), events(1..4, "b"));
    assert!(inner.verify(&id()).unwrap().is_sound());
}

/// A journal with a batch of one and a batch of three, as a killed process leaves it: without an index.
fn journal_of_killed_process(temp: &TempStore) -> (Vec<u8>, u64) {
    let inner = temp.open(Durability::Durable);
    let epoch = inner.claim(&id()).unwrap();
    inner.append(&id(), epoch, 0, &events(0..1, "a")).unwrap();
    let end = inner.tip(&id()).unwrap().unwrap().end;
    inner.append(&id(), epoch, 1, &events(1..4, "b")).unwrap();
    let session = inner.session(&id());
    drop(inner);
    files::remove(&session.paths.index()).unwrap();
    (files::read(&session.paths.journal()).unwrap().unwrap(), end)
}

fn put(temp: &TempStore, bytes: &[u8]) {
    let path = temp.0.join("sessions/s.jsonl");
    files::remove(&path).unwrap();
    files::create(&path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn readers_skip_and_the_next_writer_sets_aside_a_batch_cut_at_any_byte() {
    let temp = TempStore::new();
    let (whole, end) = journal_of_killed_process(&temp);
    let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').map(|at| at + 1).collect();
    for cut in end as usize..=whole.len() {
        put(&temp, &whole[..cut]);
        let left = ends.iter().filter(|end| **end <= cut).count() as u64 - 1;
        let reader = temp.open(Durability::Durable);
        assert_eq!(reader.tip(&id()).unwrap().unwrap().head, left, "cut at {cut}");
        assert_eq!(reader.read(&id(), 0, 9).unwrap().len() as u64, left);
        let torn = temp.torn_files().len();
        let writer = temp.open(Durability::Durable);
        let epoch = writer.claim(&id()).unwrap();
        writer.append(&id(), epoch, left, &events(left..left + 1, "c")).unwrap();
        assert_eq!(temp.torn_files().len() - torn, usize::from(!ends.contains(&cut)), "cut at {cut}");
        assert!(writer.verify(&id()).unwrap().is_sound());
        assert_eq!(reader.read(&id(), left, 9).unwrap(), events(left..left + 1, "c"));
        let session = writer.session(&id());
        drop(writer);
        files::remove(&session.paths.index()).unwrap();
    }
}

#[test]
fn sets_a_batch_aside_from_a_block_lost_in_a_power_failure() {
    let temp = TempStore::new();
    let (mut whole, end) = journal_of_killed_process(&temp);
    // The first record of the batch is lost, the two after it are whole.
    let block = end as usize + 20..end as usize + 60;
    whole[block].fill(0);
    put(&temp, &whole);
    let inner = temp.open(Durability::Durable);
    let epoch = inner.claim(&id()).unwrap();
    inner.append(&id(), epoch, 1, &events(1..2, "c")).unwrap();
    assert_eq!(inner.read(&id(), 0, 9).unwrap(), [events(0..1, "a"), events(1..2, "c")].concat());
    assert_eq!(temp.torn_files(), [&whole[end as usize..]]);
}

#[test]
fn claim_rejects_damage_before_a_later_batch_until_repaired() {
    let temp = TempStore::new();
    let (mut whole, end) = journal_of_killed_process(&temp);
    whole[end as usize - 20] ^= 4;
    put(&temp, &whole);
    let inner = temp.open(Durability::Durable);
    let refused = inner.claim(&id());
    assert!(
        matches!(&refused, Err(StoreError::Damaged(what)) if what.contains("event 0, byte ")),
        "{refused:?}"
    );
    assert!(matches!(inner.read(&id(), 0, 2), Err(StoreError::Damaged(what)) if what.contains("event 0")));
    assert_eq!(inner.read(&id(), 1, 9).unwrap(), events(1..4, "b"));
    let verdict = inner.repair(&id()).unwrap();
    assert_eq!((verdict.intact, verdict.damage.len()), (3, 1), "{verdict:?}");
    let epoch = inner.claim(&id()).unwrap();
    inner.append(&id(), epoch, 4, &events(4..5, "c")).unwrap();
    let read = inner.read(&id(), 0, 9).unwrap();
    assert!(matches!(read[0].event, AgentEvent::EventLost { .. }), "{:?}", read[0]);
    assert_eq!(read[1..], [events(1..4, "b"), events(4..5, "c")].concat());
    assert_eq!(files::read(&temp.0.join("sessions/s.damaged-1")).unwrap().unwrap(), whole);
    assert!(inner.verify(&id()).unwrap().is_sound());
}

#[test]
fn rejects_a_seal_with_a_length_above_the_limit() {
    assert!(line::seal_of(b"{\"#\":\"04000001 00000000 00000000000000000000000000000000\",").is_none());
    assert!(line::seal_of(b"{\"#\":\"04000000 00000000 00000000000000000000000000000000\",").is_some());
}
