//! Tests the JSONL store.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a check that fails panics")]

use std::path::PathBuf;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::archive::SessionArchive;
use lariat_core::store::Durability;
use lariat_store::StoreOptions;
use lariat_store::jsonl::JsonlStore;
use lariat_test::conformance::ArchiveFixture;

/// A temporary directory for a store, removed on drop.
pub(crate) struct JsonlFixture {
    pub(crate) path: PathBuf,
    options: StoreOptions,
}

impl JsonlFixture {
    pub(crate) fn new(durability: Durability) -> Self {
        let path = std::env::temp_dir().join(format!("lariat-jsonl-{}", uuid::Uuid::new_v4().simple()));
        Self { path, options: StoreOptions::with_durability(durability) }
    }
}

impl Drop for JsonlFixture {
    fn drop(&mut self) {
        #[expect(clippy::disallowed_methods, reason = "a test removes its directory")]
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

impl ArchiveFixture for JsonlFixture {
    fn open(&self) -> BoxFuture<'_, Arc<dyn SessionArchive>> {
        Box::pin(async {
            let store = JsonlStore::open(&self.path, self.options).await.unwrap();
            Arc::new(store) as Arc<dyn SessionArchive>
        })
    }
}

mod durable {
    use super::*;

    lariat_test::archive_conformance!(JsonlFixture::new(Durability::Durable));
}

mod batched {
    use super::*;

    lariat_test::archive_conformance!(JsonlFixture::new(Durability::Batched));
}

mod fast {
    use super::*;

    lariat_test::archive_conformance!(JsonlFixture::new(Durability::Fast));
}

mod in_files {
    #![expect(clippy::disallowed_methods, reason = "these tests change files as other programs may")]

    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    use lariat_core::archive::{DamageKind, ListQuery, SessionSummary};
    use lariat_core::event::AgentEvent;
    use lariat_core::id::SessionId;
    use lariat_core::store::StoreError;
    use lariat_test::conformance::{Script, message_event};

    use super::*;

    /// Writes one session of these events. Drops the store, so that its index is written.
    async fn write_session(fixture: &JsonlFixture, texts: &[&str]) -> Script {
        let store = fixture.open().await;
        let mut script = Script::claim(&*store, "s", 1_000).await;
        for text in texts {
            script.write(&*store, [message_event(text)]).await;
        }
        script
    }

    fn journal(fixture: &JsonlFixture, name: &str) -> PathBuf {
        fixture.path.join("sessions").join(format!("{name}.jsonl"))
    }

    fn cut_last_line(path: &Path) {
        let bytes = fs::read(path).unwrap();
        let end = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
        fs::write(path, &bytes[..=end]).unwrap();
    }

    fn flip(path: &Path, needle: &str) {
        let mut bytes = fs::read(path).unwrap();
        let at = memchr::memmem::find(&bytes, needle.as_bytes()).unwrap();
        bytes[at] ^= 1;
        fs::write(path, bytes).unwrap();
    }

    fn is_lost(event: &lariat_core::event::Event) -> bool {
        matches!(event.event, AgentEvent::EventLost { .. })
    }

    #[tokio::test]
    async fn journal_is_json_lines_with_readable_text() {
        let fixture = JsonlFixture::new(Durability::Durable);
        write_session(&fixture, &["find me with grep", "and me"]).await;
        let text = fs::read_to_string(journal(&fixture, "s")).unwrap();
        assert_eq!(text.lines().count(), 3);
        for line in text.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
        assert!(text.lines().nth(1).unwrap().contains("find me with grep"));
    }

    #[tokio::test]
    async fn reports_events_cut_off_at_a_line_end_as_missing() {
        let fixture = JsonlFixture::new(Durability::Durable);
        let script = write_session(&fixture, &["one", "two", "three"]).await;
        cut_last_line(&journal(&fixture, "s"));
        let store = fixture.open().await;
        let id = &script.session_id;
        assert!(matches!(store.read(id, 0, 9).await, Err(StoreError::Damaged(_))));
        assert_eq!(store.read(id, 0, 2).await.unwrap(), &script.written[..2]);
        assert!(matches!(store.claim(id).await, Err(StoreError::Damaged(_))));
        let verdict = store.verify(id).await.unwrap();
        assert_eq!(verdict.intact, 2);
        assert_eq!((verdict.damage[0].kind, verdict.damage[0].seq), (DamageKind::Missing, Some(2)));
        store.repair(id).await.unwrap();
        let read = store.read(id, 0, 9).await.unwrap();
        assert_eq!(read[..2], script.written[..2]);
        assert!(read.len() == 3 && is_lost(&read[2]));
        let mut next = Script::claim(&*store, "s", 9_000).await;
        next.catch_up(&*store).await;
        next.write(&*store, [message_event("continued")]).await;
        assert!(store.verify(id).await.unwrap().is_sound());
    }

    #[tokio::test]
    async fn journal_without_index_is_read_again_and_its_epoch_still_grows() {
        let fixture = JsonlFixture::new(Durability::Durable);
        let script = write_session(&fixture, &["one", "two", "three"]).await;
        let summary = SessionSummary::of(script.session_id.clone(), &script.written);
        for lost in ["s.idx", "s.epoch"] {
            let before = fixture.open().await.claim(&script.session_id).await.unwrap();
            fs::remove_file(fixture.path.join("index").join(lost)).unwrap();
            let store = fixture.open().await;
            script.check(&*store).await;
            assert_eq!(store.summary(&script.session_id).await.unwrap(), summary);
            let after = store.claim(&script.session_id).await.unwrap();
            assert!(after > before, "without {lost}: {after:?} after {before:?}");
        }
        for broken in ["s.idx", "s.epoch"] {
            fs::write(fixture.path.join("index").join(broken), "{}").unwrap();
        }
        script.check(&*fixture.open().await).await;
    }

    #[tokio::test]
    async fn ignores_the_index_of_another_journal() {
        let fixture = JsonlFixture::new(Durability::Durable);
        let script = write_session(&fixture, &["one", "two", "three"]).await;
        let index = fs::read(fixture.path.join("index/s.idx")).unwrap();
        let other = JsonlFixture::new(Durability::Durable);
        let theirs = write_session(&other, &["eins", "zwei", "drei", "vier"]).await;
        fs::write(other.path.join("index/s.idx"), index).unwrap();
        theirs.check(&*other.open().await).await;
        drop(script);
    }

    #[tokio::test]
    async fn reports_a_missing_journal_file() {
        let fixture = JsonlFixture::new(Durability::Durable);
        let script = write_session(&fixture, &["one", "two"]).await;
        fs::remove_file(journal(&fixture, "s")).unwrap();
        let store = fixture.open().await;
        let id = &script.session_id;
        assert!(matches!(store.claim(id).await, Err(StoreError::Damaged(_))));
        store.repair(id).await.unwrap();
        let read = store.read(id, 0, 9).await.unwrap();
        assert!(read.len() == 2 && read.iter().all(is_lost));
        store.claim(id).await.unwrap();
    }

    #[tokio::test]
    async fn reports_and_restores_a_damaged_header() {
        let fixture = JsonlFixture::new(Durability::Durable);
        let script = write_session(&fixture, &["one", "two"]).await;
        {
            let store = fixture.open().await;
            store.fork(&script.session_id, 1, &SessionId::from("fork")).await.unwrap();
            let mut fork = Script::claim(&*store, "fork", 9_000).await;
            fork.catch_up(&*store).await;
            fork.write(&*store, [message_event("of the fork")]).await;
        }
        flip(&journal(&fixture, "fork"), "\"seq\":1");
        let store = fixture.open().await;
        let id = SessionId::from("fork");
        assert!(matches!(store.claim(&id).await, Err(StoreError::Damaged(_))));
        assert!(!store.verify(&id).await.unwrap().is_sound());
        store.repair(&id).await.unwrap();
        assert!(store.verify(&id).await.unwrap().is_sound());
        assert_eq!(store.read(&id, 0, 9).await.unwrap()[0], script.written[0]);
        assert_eq!(store.head(&id).await, Ok(2));
        store.claim(&id).await.unwrap();
    }

    #[tokio::test]
    async fn second_store_learns_the_writer_and_takes_over_after_it_closes() {
        let fixture = JsonlFixture::new(Durability::Durable);
        let first = fixture.open().await;
        let mut script = Script::claim(&*first, "s", 1_000).await;
        script.write(&*first, [message_event("one")]).await;
        let second = fixture.open().await;
        let busy = second.claim(&script.session_id).await;
        let us = format!("process {}", std::process::id());
        assert_eq!(busy, Err(StoreError::Busy { holder: us }));
        assert!(matches!(second.delete(&script.session_id).await, Err(StoreError::Busy { .. })));
        assert!(matches!(second.repair(&script.session_id).await, Ok(verdict) if verdict.is_sound()));
        let not_the_writer = lariat_core::store::Append::new(&script.session_id, script.epoch, 1, &[]);
        let refused = second.append(not_the_writer).await;
        assert_eq!(refused, Err(StoreError::Fenced { current: script.epoch }));
        drop(first);
        assert!(second.claim(&script.session_id).await.unwrap() > script.epoch);
        script.check(&*second).await;
    }

    #[tokio::test]
    async fn second_store_sees_a_journal_grow() {
        let fixture = JsonlFixture::new(Durability::Durable);
        let writer = fixture.open().await;
        let reader = fixture.open().await;
        let mut script = Script::claim(&*writer, "s", 1_000).await;
        for text in ["one", "two", "three"] {
            let beyond = script.written.len() as u64;
            let waiting = tokio::spawn({
                let (reader, id) = (Arc::clone(&reader), script.session_id.clone());
                async move { reader.wait_for_growth(&id, beyond).await }
            });
            script.write(&*writer, [message_event(text)]).await;
            let grown = tokio::time::timeout(Duration::from_secs(10), waiting).await.unwrap().unwrap();
            assert_eq!(grown, Ok(beyond + 1));
            script.check(&*reader).await;
            let summary = SessionSummary::of(script.session_id.clone(), &script.written);
            assert_eq!(reader.list(&ListQuery::default()).await.unwrap(), [summary]);
        }
        writer.delete(&script.session_id).await.unwrap();
        assert_eq!(reader.head(&script.session_id).await, Ok(0));
        assert!(reader.list(&ListQuery::default()).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn reports_and_repairs_damage_in_shared_events_through_the_fork() {
        let fixture = JsonlFixture::new(Durability::Durable);
        let script = write_session(&fixture, &["one", "two", "three", "four"]).await;
        let fork = SessionId::from("fork");
        let mut child = {
            let store = fixture.open().await;
            store.fork(&script.session_id, 3, &fork).await.unwrap();
            let mut child = Script::claim(&*store, "fork", 9_000).await;
            child.catch_up(&*store).await;
            child.write(&*store, [message_event("own")]).await;
            child
        };
        flip(&journal(&fixture, "s"), "\"two\"");
        let store = fixture.open().await;
        let verdict = store.verify(&fork).await.unwrap();
        assert_eq!(verdict.intact, 3, "{verdict:?}");
        assert_eq!((verdict.damage[0].kind, verdict.damage[0].seq), (DamageKind::Checksum, Some(1)));
        assert!(matches!(store.read(&fork, 0, 9).await, Err(StoreError::Damaged(_))));
        assert_eq!(store.repair(&fork).await.unwrap(), verdict);
        for (id, expected) in [(&fork, &child.written), (&script.session_id, &script.written)] {
            assert_eq!(store.verify(id).await.unwrap().damage, []);
            let read = store.read(id, 0, 9).await.unwrap();
            assert!(is_lost(&read[1]));
            assert_eq!((&read[0], &read[2..]), (&expected[0], &expected[2..]));
        }
        child.epoch = store.claim(&fork).await.unwrap();
        child.catch_up(&*store).await;
        child.write(&*store, [message_event("continued")]).await;
        assert!(store.verify(&fork).await.unwrap().is_sound());
    }

    #[tokio::test]
    async fn repair_replaces_an_event_whose_blob_is_missing_or_damaged() {
        let fixture = JsonlFixture::new(Durability::Durable);
        let large = "large ".repeat(20_000);
        let script = write_session(&fixture, &["one", &large, "three"]).await;
        let blobs = fixture.path.join("blobs");
        let inner = fs::read_dir(&blobs).unwrap().next().unwrap().unwrap().path();
        let blob = fs::read_dir(inner).unwrap().next().unwrap().unwrap().path();
        flip(&blob, "large");
        let store = fixture.open().await;
        let id = &script.session_id;
        assert!(matches!(store.read(id, 0, 9).await, Err(StoreError::Damaged(_))));
        for _ in ["changed", "gone"] {
            let verdict = store.verify(id).await.unwrap();
            assert_eq!(verdict.damage.len(), 1, "{verdict:?}");
            assert_eq!((verdict.damage[0].kind, verdict.damage[0].seq), (DamageKind::Blob, Some(1)));
            let _ = fs::remove_file(&blob);
        }
        store.repair(id).await.unwrap();
        let read = store.read(id, 0, 9).await.unwrap();
        assert!(read.len() == 3 && is_lost(&read[1]) && read[2] == script.written[2]);
        assert!(store.verify(id).await.unwrap().is_sound());
    }

    #[tokio::test]
    async fn damaged_tool_blob_is_reported_without_losing_an_event() {
        let fixture = JsonlFixture::new(Durability::Durable);
        let blob = fixture.open().await.put_blob(b"output").await.unwrap();
        let script = write_session(&fixture, &[&format!("see {}", blob.0), "two"]).await;
        let digits = blob.0.strip_prefix("blake3:").unwrap();
        flip(&fixture.path.join("blobs").join(&digits[..2]).join(digits), "output");
        let store = fixture.open().await;
        let verdict = store.repair(&script.session_id).await.unwrap();
        assert_eq!((verdict.intact, verdict.damage.len()), (2, 1), "{verdict:?}");
        assert_eq!(verdict.damage[0].kind, DamageKind::Blob);
        script.check(&*store).await;
        assert!(!fixture.path.join("sessions/s.damaged-1").exists(), "the journal was not rewritten");
    }

    #[tokio::test]
    async fn repairs_a_fork_while_another_store_writes_to_its_parent() {
        let fixture = JsonlFixture::new(Durability::Durable);
        let script = write_session(&fixture, &["one", "two"]).await;
        let fork = SessionId::from("fork");
        {
            let store = fixture.open().await;
            store.fork(&script.session_id, 2, &fork).await.unwrap();
            let mut child = Script::claim(&*store, "fork", 9_000).await;
            child.catch_up(&*store).await;
            child.write(&*store, [message_event("three")]).await;
            child.write(&*store, [message_event("four")]).await;
        }
        let elsewhere = fixture.open().await;
        elsewhere.claim(&script.session_id).await.unwrap();
        flip(&journal(&fixture, "fork"), "three");
        let store = fixture.open().await;
        store.repair(&fork).await.unwrap();
        assert!(store.verify(&fork).await.unwrap().is_sound());
        assert!(is_lost(&store.read(&fork, 2, 1).await.unwrap()[0]));
    }

    #[tokio::test]
    async fn lists_and_finds_a_damaged_session() {
        let fixture = JsonlFixture::new(Durability::Durable);
        write_session(&fixture, &["one", "two", "three"]).await;
        fs::remove_file(fixture.path.join("index/s.idx")).unwrap();
        flip(&journal(&fixture, "s"), "\"two\"");
        let store = fixture.open().await;
        let mut query = ListQuery::default();
        assert_eq!(store.list(&query).await.unwrap().len(), 1);
        query.text = Some("three".to_owned());
        assert_eq!(store.list(&query).await.unwrap().len(), 1);
        query.text = Some("two".to_owned());
        assert_eq!(store.list(&query).await.unwrap().len(), 0);
    }

    #[tokio::test]
    async fn keeps_a_blob_that_only_damaged_bytes_reference() {
        let fixture = JsonlFixture::new(Durability::Durable);
        let blob = fixture.open().await.put_blob(b"precious").await.unwrap();
        write_session(&fixture, &["one", &format!("flipped, see {}", blob.0), "three"]).await;
        flip(&journal(&fixture, "s"), "flipped");
        let store = fixture.open().await;
        store.collect_garbage(Duration::ZERO).await.unwrap();
        assert_eq!(store.blob(&blob).await.unwrap(), b"precious");
        store.repair(&SessionId::from("s")).await.unwrap();
        store.collect_garbage(Duration::ZERO).await.unwrap();
        assert_eq!(
            store.blob(&blob).await.unwrap(),
            b"precious",
            "the file that was set aside references it"
        );
    }

    #[tokio::test]
    async fn fork_in_a_long_journal_has_the_summary_of_the_shared_events() {
        let fixture = JsonlFixture::new(Durability::Fast);
        let store = fixture.open().await;
        let mut script = Script::claim(&*store, "s", 1_000).await;
        script.write(&*store, (0..9_000).map(|n| message_event(&format!("{n}")))).await;
        for at in [1, 4_095, 4_096, 4_097, 8_192, 8_500, 9_000] {
            let fork = SessionId::from(format!("fork {at}"));
            store.fork(&script.session_id, at, &fork).await.unwrap();
            let mut expected = SessionSummary::of(fork.clone(), &script.written[..at as usize]);
            expected.parent = Some(script.session_id.clone());
            assert_eq!(store.summary(&fork).await.unwrap(), expected);
        }
    }
}
