//! Tests rows that were changed, removed or moved: the store must find, name and repair the damage.

use lariat_core::archive::{DamageKind, SessionArchive, SessionSummary};
use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;
use lariat_core::store::{Durability, SessionStore, StoreError};
use lariat_store::record::{Chain, checksum};
use lariat_store::sqlite::SqliteStore;
use lariat_test::conformance::{Script, message_event};

use super::SqliteFixture;

async fn write_session(fixture: &SqliteFixture, count: usize) -> Script {
    let store = fixture.store().await;
    let mut script = Script::claim(&store, "s", 1_000).await;
    let mut other = Script::claim(&store, "other", 2_000).await;
    for n in 0..count {
        script.write(&store, [message_event(&format!("event {n}"))]).await;
        if n % 3 == 0 {
            other.write(&store, [message_event("between")]).await;
        }
    }
    script
}

fn findings(verdict: &lariat_core::archive::VerificationReport) -> Vec<(Option<u64>, DamageKind)> {
    verdict.damage.iter().map(|damage| (damage.seq, damage.kind)).collect()
}

/// Checks a repaired journal: damaged events are lost, the others unchanged, and appends succeed.
async fn check_repaired(store: &SqliteStore, script: &mut Script, lost: &[u64]) {
    let verdict = store.verify(&script.session_id).await.unwrap();
    assert_eq!(verdict.damage, []);
    assert_eq!(verdict.intact, script.written.len() as u64);
    let read = store.read(&script.session_id, 0, usize::MAX).await.unwrap();
    assert_eq!(read.len(), script.written.len());
    for (read, written) in read.iter().zip(&mut script.written) {
        if lost.contains(&read.seq) {
            assert!(matches!(read.event, AgentEvent::EventLost { .. }), "{read:?}");
            *written = read.clone();
        } else {
            assert_eq!(read, written);
        }
    }
    let summary = SessionSummary::of(script.session_id.clone(), &script.written);
    assert_eq!(store.summary(&script.session_id).await.unwrap(), summary);
    assert!(store.list(&Default::default()).await.unwrap().contains(&summary));
    script.epoch = store.claim(&script.session_id).await.unwrap();
    script.write(store, [message_event("continued")]).await;
    script.check(store).await;
    assert_eq!(store.verify(&script.session_id).await.unwrap().damage, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_and_repairs_damage_by_position_and_kind() {
    let of = "no = (SELECT no FROM sessions WHERE id = 's') AND seq";
    let cases: &[(&str, &[(u64, DamageKind)])] = &[
        (
            "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'event', 'evenT') AS BLOB) WHERE {of} = 4",
            &[(4, DamageKind::Checksum)],
        ),
        ("UPDATE events SET crc = crc + 1 WHERE {of} = 0", &[(0, DamageKind::Checksum)]),
        (
            "UPDATE events SET crc = 'x' WHERE {of} IN (2, 9)",
            &[(2, DamageKind::Checksum), (9, DamageKind::Checksum)],
        ),
        ("UPDATE events SET chain = x'00' WHERE {of} = 5", &[(5, DamageKind::Checksum)]),
        (
            "UPDATE events SET body = NULL WHERE 0; UPDATE events SET body = 7 WHERE {of} = 6",
            &[(6, DamageKind::Checksum)],
        ),
        ("DELETE FROM events WHERE {of} = 3", &[(3, DamageKind::Missing)]),
        (
            "DELETE FROM events WHERE {of} IN (0, 1, 2)",
            &[(0, DamageKind::Missing), (1, DamageKind::Missing), (2, DamageKind::Missing)],
        ),
        ("DELETE FROM events WHERE {of} > 7", &[(8, DamageKind::Missing), (9, DamageKind::Missing)]),
        ("UPDATE events SET seq = 99 WHERE {of} = 4", &[(4, DamageKind::Missing)]),
        ("UPDATE events SET no = 77 WHERE {of} = 4", &[(4, DamageKind::Missing)]),
    ];
    for (tamper, expected) in cases {
        let fixture = SqliteFixture::new(Durability::Fast);
        let mut script = write_session(&fixture, 10).await;
        fixture.raw_connection().execute_batch(&tamper.replace("{of}", of)).unwrap();
        let store = fixture.store().await;
        let verdict = store.verify(&script.session_id).await.unwrap();
        let expected: Vec<_> = expected.iter().map(|(seq, kind)| (Some(*seq), *kind)).collect();
        assert_eq!(findings(&verdict), expected, "{tamper}");
        assert_eq!(verdict.intact, 10 - expected.len() as u64, "{tamper}");
        assert_eq!(store.head(&script.session_id).await, Ok(10), "{tamper}");
        let read = store.read(&script.session_id, 0, 99).await;
        assert!(matches!(read, Err(StoreError::Damaged(_))), "{tamper}: {read:?}");
        assert_eq!(store.repair(&script.session_id).await.unwrap(), verdict);
        let lost: Vec<u64> = expected.iter().filter_map(|(seq, _)| *seq).collect();
        check_repaired(&store, &mut script, &lost).await;
        let other = store.verify(&SessionId::from("other")).await.unwrap();
        assert_eq!((other.intact, other.damage), (4, Vec::new()), "{tamper}");
        if tamper.starts_with("UPDATE") {
            let kept: i64 = fixture
                .raw_connection()
                .query_row("SELECT count(*) FROM quarantine", [], |row| row.get(0))
                .unwrap();
            assert_eq!(kept, lost.len() as i64, "{tamper}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged_event_with_valid_checksum_breaks_the_chain() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let mut script = write_session(&fixture, 6).await;
    let connection = fixture.raw_connection();
    let (place, chain, body): (i64, [u8; 16], Vec<u8>) = connection
        .query_row(
            "SELECT place, chain, body FROM events WHERE seq = 3 AND no = (SELECT no FROM sessions WHERE id = 's')",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    let forged = String::from_utf8(body).unwrap().replace("event 3", "event X").into_bytes();
    let check = checksum(3, Chain::from_bytes(chain), &forged);
    connection
        .execute(
            "UPDATE events SET body = ?, crc = ? WHERE place = ?",
            rusqlite::params![forged, check, place],
        )
        .unwrap();
    let store = fixture.store().await;
    let verdict = store.verify(&script.session_id).await.unwrap();
    assert_eq!(findings(&verdict), [(Some(3), DamageKind::Chain)]);
    store.repair(&script.session_id).await.unwrap();
    // The forged event is readable, so it stays: the original is unknown.
    script.written[3] = store.read(&script.session_id, 3, 1).await.unwrap()[0].clone();
    check_repaired(&store, &mut script, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_blob_damages_the_event_that_needs_it() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let store = fixture.store().await;
    let mut script = Script::claim(&store, "s", 1_000).await;
    let never_here = format!("blake3:{}", "ab".repeat(32));
    script
        .write(
            &store,
            [message_event("small"), message_event(&"large ".repeat(20_000)), message_event(&never_here)],
        )
        .await;
    drop(store);
    fixture.raw_connection().execute("UPDATE blobs SET bytes = x'414243'", []).unwrap();
    let store = fixture.store().await;
    let verdict = store.verify(&script.session_id).await.unwrap();
    assert_eq!(findings(&verdict), [(Some(1), DamageKind::Blob)]);
    let read = store.read(&script.session_id, 1, 1).await;
    assert!(matches!(read, Err(StoreError::Damaged(_))), "{read:?}");
    store.repair(&script.session_id).await.unwrap();
    check_repaired(&store, &mut script, &[1]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repair_of_shared_events_reseals_all_forks() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let mut parent = write_session(&fixture, 8).await;
    let store = fixture.store().await;
    let mut family = Vec::new();
    for (from, at, name) in [("s", 6, "child"), ("child", 7, "grandchild"), ("s", 2, "before it")] {
        store.fork(&SessionId::from(from), at, &SessionId::from(name)).await.unwrap();
        let mut script = Script::claim(&store, name, 5_000_000).await;
        script.catch_up(&store).await;
        script.write(&store, [message_event(&format!("of {name}")), message_event("more")]).await;
        family.push(script);
    }
    // Only the forks still use the parent's events.
    store.delete(&parent.session_id).await.unwrap();
    drop(store);
    fixture.raw_connection().execute_batch("DELETE FROM events WHERE seq = 4 AND no = 1").unwrap();
    let store = fixture.store().await;
    let verdict = store.repair(&family[1].session_id).await.unwrap();
    assert_eq!(findings(&verdict), [(Some(4), DamageKind::Missing)]);
    parent.written.clear();
    for script in &mut family {
        let verdict = store.verify(&script.session_id).await.unwrap();
        assert_eq!((verdict.intact, verdict.damage.as_slice()), (script.written.len() as u64, &[][..]));
        let read = store.read(&script.session_id, 0, 99).await.unwrap();
        for (read, written) in read.iter().zip(&script.written) {
            let lost = matches!(read.event, AgentEvent::EventLost { .. });
            assert_eq!(lost, read.seq == 4 && script.session_id.as_str() != "before it");
            assert!(lost || read == written);
        }
        script.epoch = store.claim(&script.session_id).await.unwrap();
        script.written = read;
        script.write(&store, [message_event("continued")]).await;
        script.check(&store).await;
        assert!(store.verify(&script.session_id).await.unwrap().is_sound());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreadable_page_loses_only_its_own_events() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let mut script = write_session(&fixture, 300).await;
    let mut bytes = std::fs::read(fixture.database()).unwrap();
    let needle = b"event 150\"";
    let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    // The page header describes the content of the page.
    let page = at / 4096 * 4096;
    bytes[page..page + 8].fill(0xee);
    std::fs::write(fixture.database(), bytes).unwrap();
    let store = fixture.store().await;
    let verdict = store.verify(&script.session_id).await.unwrap();
    let lost: Vec<u64> = verdict.damage.iter().filter_map(|damage| damage.seq).collect();
    assert!(lost.contains(&150) && lost.len() < 30, "{lost:?}");
    assert!(verdict.damage.iter().any(|damage| damage.seq.is_none()), "SQLite's own check finds it, too");
    assert_eq!(verdict.intact, 300 - lost.len() as u64);
    store.repair(&script.session_id).await.unwrap();
    let read = store.read(&script.session_id, 0, 999).await.unwrap();
    for (read, written) in read.iter().zip(&script.written) {
        let is_lost = matches!(read.event, AgentEvent::EventLost { .. });
        assert_eq!(is_lost, lost.contains(&read.seq));
        assert!(is_lost || read == written);
    }
    script.epoch = store.claim(&script.session_id).await.unwrap();
    script.written = read;
    script.write(&store, [message_event("continued")]).await;
    script.check(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn folds_an_unreadable_summary_again() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let mut script = write_session(&fixture, 5).await;
    fixture.raw_connection().execute("UPDATE sessions SET summary = 'no JSON', unsettled = 1", []).unwrap();
    let store = fixture.store().await;
    let expected = SessionSummary::of(script.session_id.clone(), &script.written);
    assert_eq!(store.summary(&script.session_id).await.unwrap(), expected);
    assert!(store.list(&Default::default()).await.unwrap().contains(&expected));
    script.epoch = store.claim(&script.session_id).await.unwrap();
    script.write(&store, [message_event("continued")]).await;
    script.check(&store).await;
}
