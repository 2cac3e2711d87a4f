//! Checks of reading backwards, watching, listing, searching, forking, deleting, snapshots and verification.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::archive::{ListQuery, SessionArchive, SessionSummary};
use lariat_core::event::{AgentEvent, Event, LoopStart};
use lariat_core::id::SessionId;
use lariat_core::message::AgentMessage;
use lariat_core::store::{Append, BlobHash, Snapshot, StoreError};
use lariat_core::time::Timestamp;

use super::writing::{POSITIONS, checkpoint, write_sessions_with_any_id};
use super::{ArchiveFixture, Script, description_event, message_event};

async fn names(store: &dyn SessionArchive, query: &ListQuery) -> Vec<String> {
    let listed = store.list(query).await.unwrap();
    listed.into_iter().map(|summary| summary.session_id.to_string()).collect()
}

fn query(change: impl FnOnce(&mut ListQuery)) -> ListQuery {
    let mut query = ListQuery::default();
    change(&mut query);
    query
}

/// Also after a release of an unknown session.
pub async fn an_unknown_session_has_no_history_and_no_summary(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let unknown = SessionId::from("unknown");
    let other = Script::claim(&*store, "claimed", 1_000).await;
    for _ in 0..2 {
        assert_eq!(store.read_backwards(&unknown, 10, 10).await, Ok(Vec::new()));
        assert!(matches!(store.summary(&unknown).await, Err(StoreError::NotFound(_))));
        store.release(&unknown, other.epoch).await.unwrap();
    }
}

/// Returns fewer events than the limit only at the start; also large ones.
pub async fn a_journal_is_read_backwards_from_any_position(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    script.write(&*store, (0..598).map(|n| checkpoint(format!("c{n}")))).await;
    script.write(&*store, [message_event(&"QUJD".repeat(200_000)), message_event("small")]).await;
    for (before, limit) in POSITIONS {
        let read = store.read_backwards(&script.session_id, before, limit).await.unwrap();
        let earlier = &script.written[..script.written.len().min(before as usize)];
        let expected: Vec<Event> = earlier.iter().rev().take(limit).cloned().collect();
        assert_eq!(read, expected, "{limit} before {before}");
    }
}

/// Each has a summary of its own.
pub async fn sessions_with_any_id_are_listed(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let scripts = write_sessions_with_any_id(&*store).await;
    for script in &scripts {
        assert_eq!(store.summary(&script.session_id).await.unwrap().session_id, script.session_id);
    }
    assert_eq!(store.list(&ListQuery::default()).await.unwrap().len(), scripts.len());
}

/// Also a watcher that starts after the append.
pub async fn a_watcher_is_notified_when_a_journal_grows(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    let id = script.session_id.clone();
    let waiter = |beyond| {
        let (store, id) = (Arc::clone(&store), id.clone());
        tokio::spawn(async move { store.wait_for_growth(&id, beyond).await })
    };
    let waiting = [waiter(0), waiter(0), waiter(1)];
    tokio::task::yield_now().await;
    script.write(&*store, [message_event("one"), message_event("two")]).await;
    let within = Duration::from_secs(10);
    for waiter in waiting {
        assert_eq!(tokio::time::timeout(within, waiter).await.unwrap().unwrap(), Ok(2));
    }
    assert_eq!(store.wait_for_growth(&script.session_id, 1).await, Ok(2));
    let next = waiter(2);
    script.write(&*store, [message_event("three")]).await;
    assert_eq!(tokio::time::timeout(within, next).await.unwrap().unwrap(), Ok(3));
    let never =
        tokio::time::timeout(Duration::from_millis(30), store.wait_for_growth(&script.session_id, 3)).await;
    assert!(never.is_err(), "nothing was written: {never:?}");
}

/// The summary must be the same for the session itself and in the listing.
pub async fn a_summary_matches_the_journal(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    script
        .write(
            &*store,
            [message_event("fix the\ntests"), description_event(None, Some("/w"), Some(&["a", "b"]))],
        )
        .await;
    script
        .write(&*store, [description_event(Some("a title"), None, None), message_event("and the docs")])
        .await;
    let expected = SessionSummary::of(script.session_id.clone(), &script.written);
    assert_eq!(expected.first_prompt.as_deref(), Some("fix the tests"));
    assert_eq!(store.summary(&script.session_id).await.unwrap(), expected);
    assert_eq!(store.list(&ListQuery::default()).await.unwrap(), std::slice::from_ref(&expected));
    drop(store);
    if place.is_persistent() {
        assert_eq!(place.open().await.summary(&script.session_id).await.unwrap(), expected);
    }
}

/// Sessions without an event are not listed.
pub async fn sessions_are_listed_newest_first_by_page_and_condition(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    for number in 0..10_u64 {
        // Two sessions share each time, so that the order by id is tested, too.
        let at = 1_000_000 * (number / 2);
        let mut script = Script::claim(&*store, &format!("s{number}"), at).await;
        let cwd = if number % 2 == 0 { "/even" } else { "/odd" };
        let tags: &[&str] = if number == 3 { &["three", "odd one"] } else { &[] };
        script.write(&*store, [message_event("hello"), description_event(None, Some(cwd), Some(tags))]).await;
    }
    Script::claim(&*store, "only claimed", 9_000_000).await;
    let all = ["s9", "s8", "s7", "s6", "s5", "s4", "s3", "s2", "s1", "s0"];
    assert_eq!(names(&*store, &ListQuery::default()).await, all);
    assert_eq!(names(&*store, &query(|q| q.limit = 3)).await, &all[..3]);
    let mut after = None;
    let mut paged = Vec::new();
    loop {
        let page = store.list(&query(|q| (q.after, q.limit) = (after, 3))).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.cursor());
        paged.extend(page.iter().map(|summary| summary.session_id.to_string()));
    }
    assert_eq!(paged, all);
    assert_eq!(
        names(&*store, &query(|q| q.cwd = Some("/even".into()))).await,
        ["s8", "s6", "s4", "s2", "s0"]
    );
    assert_eq!(names(&*store, &query(|q| q.tag = Some("odd one".into()))).await, ["s3"]);
    assert!(names(&*store, &query(|q| q.tag = Some("odd".into()))).await.is_empty());
    let since = query(|q| q.active_since = Some(Timestamp::from_millis(3_000_000)));
    assert_eq!(names(&*store, &since).await, &all[..4]);
    let both = query(|q| (q.cwd, q.limit) = (Some("/odd".into()), 2));
    assert_eq!(names(&*store, &both).await, ["s9", "s7"]);
    drop(store);
    if !place.is_persistent() {
        return;
    }
    // A session deleted between two pages is not on the second page.
    let store = place.open().await;
    let page = store.list(&query(|q| q.limit = 4)).await.unwrap();
    store.delete(&"s5".into()).await.unwrap();
    let after = page.last().map(lariat_core::archive::SessionSummary::cursor);
    assert_eq!(names(&*store, &query(|q| (q.after, q.limit) = (after, 2))).await, ["s4", "s3"]);
}

/// The agent of the newest loop is the session's. Its id may be any text.
pub async fn sessions_are_listed_by_agent(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let agents = [("s0", "reviewer"), ("s1", "it's \"\0\" é"), ("s2", "reviewer")];
    for (at, (session, agent)) in (1_u64..).zip(agents) {
        let mut script = Script::claim(&*store, session, at * 1_000_000).await;
        script.write(&*store, [start_event(agent, session), message_event("hello")]).await;
    }
    let of = async |agent: &str| -> Vec<String> {
        let listed = store.list_for_agent(&agent.into()).await.unwrap();
        listed.into_iter().map(|summary| summary.session_id.to_string()).collect()
    };
    assert_eq!(of("reviewer").await, ["s2", "s0"]);
    assert_eq!(of(agents[1].1).await, ["s1"]);
    assert!(of("review").await.is_empty());
    let newest = query(|q| (q.agent_id, q.limit) = (Some("reviewer".into()), 1));
    assert_eq!(names(&*store, &newest).await, ["s2"]);
}

fn start_event(agent: &str, session: &str) -> AgentEvent {
    let start = LoopStart::new(agent.into(), session.into(), format!("{session}.default.1").as_str().into());
    AgentEvent::AgentStart(Box::new(start))
}

/// Words match in any order and case, in titles and in messages of both sides.
pub async fn sessions_are_found_by_their_messages(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut one = Script::claim(&*store, "one", 1_000).await;
    one.write(
        &*store,
        [message_event("Fix the Größe of the WINDOW"), message_event("it's \"quoted\" -- OR *starred*")],
    )
    .await;
    let mut two = Script::claim(&*store, "two", 2_000_000).await;
    two.write(
        &*store,
        [message_event("close the window"), description_event(Some("Türen und Fenster"), None, None)],
    )
    .await;
    let found = async |text: &str| names(&*store, &query(|q| q.text = Some(text.to_owned()))).await;
    assert_eq!(found("window").await, ["two", "one"]);
    assert_eq!(found("Window größe").await, ["one"]);
    assert_eq!(found("fenster close").await, ["two"]);
    assert_eq!(found("quoted* OR \"starred").await, ["one"]);
    assert!(found("window missing").await.is_empty());
    assert_eq!(found("").await, ["two", "one"]);
    assert_eq!(found(" -- * ").await, ["two", "one"]);
    one.write(&*store, [message_event("now also doors")]).await;
    assert_eq!(found("DOORS").await, ["one"]);
    let messages = vec![Arc::new(AgentMessage::user("from elsewhere"))];
    two.write(&*store, [AgentEvent::MessagesImported { base: None, messages }]).await;
    assert_eq!(found("elsewhere").await, ["two"]);
    let limited = query(|q| (q.text, q.limit) = (Some("the".into()), 1));
    assert_eq!(names(&*store, &limited).await.len(), 1);
}

/// Both sessions can continue.
pub async fn a_fork_shares_the_past_and_continues_independently(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut parent = Script::claim(&*store, "parent", 1_000).await;
    let large = "x".repeat(100_000);
    parent
        .write(
            &*store,
            [message_event("one"), message_event(&large), message_event("three"), message_event("four")],
        )
        .await;
    let fork = SessionId::from("fork");
    store.fork(&parent.session_id, 3, &fork).await.unwrap();
    assert_eq!(store.head(&fork).await, Ok(3));
    assert_eq!(store.read(&fork, 0, 9).await.unwrap(), &parent.written[..3]);
    let mut child = Script::claim(&*store, "fork", 8_000_000).await;
    child.catch_up(&*store).await;
    child.write(&*store, [message_event("another four"), message_event("another five")]).await;
    parent.write(&*store, [message_event("five")]).await;
    child.check(&*store).await;
    parent.check(&*store).await;
    let across = store.read_backwards(&fork, 4, 3).await.unwrap();
    let expected: Vec<_> = child.written[1..4].iter().rev().cloned().collect();
    assert_eq!(across, expected);
    assert_eq!(store.read(&fork, 2, 2).await.unwrap(), &child.written[2..4]);
    let mut summary = SessionSummary::of(fork.clone(), &child.written);
    summary.parent = Some(parent.session_id.clone());
    assert_eq!(store.summary(&fork).await.unwrap(), summary);
    let children = query(|q| q.parent = Some(parent.session_id.clone()));
    assert_eq!(names(&*store, &children).await, ["fork"]);
    drop(store);
    if place.is_persistent() {
        let store = place.open().await;
        child.check(&*store).await;
        parent.check(&*store).await;
    }
}

/// Wherever a session is forked, also from a fork, the summary covers exactly the events it has.
pub async fn a_fork_in_the_middle_of_a_long_session_has_its_own_summary(place: &dyn ArchiveFixture) {
    const EVENTS: usize = 1_300;
    let store = place.open().await;
    let mut parent = Script::claim(&*store, "parent", 1_000).await;
    for first in (0..EVENTS).step_by(100) {
        let title = format!("title {first}");
        parent.write(&*store, [description_event(Some(&title), None, None)]).await;
        parent.write(&*store, (1..100).map(|n| message_event(&format!("{} by itself", first + n)))).await;
    }
    for at in [1, 511, 512, 513, 1_024, 1_100, 1_299] {
        let id = format!("fork at {at}");
        let fork = SessionId::from(id.as_str());
        store.fork(&parent.session_id, at, &fork).await.unwrap();
        let mut child = Script::claim(&*store, &id, 9_000_000).await;
        child.catch_up(&*store).await;
        child
            .write(&*store, (0..600).map(|n| description_event(Some(&format!("own {n}")), None, None)))
            .await;
        let second = SessionId::from(format!("fork of {id}"));
        let middle = at + 300;
        store.fork(&fork, middle, &second).await.unwrap();
        for (id, of, events) in [(&fork, &parent.session_id, at + 600), (&second, &fork, middle)] {
            let events = &child.written[..usize::try_from(events).unwrap()];
            let mut expected = SessionSummary::of(id.clone(), events);
            expected.parent = Some(of.clone());
            assert_eq!(store.summary(id).await.unwrap(), expected);
        }
        let before = SessionId::from(format!("before {id}"));
        store.fork(&fork, at - 1, &before).await.unwrap();
        let mut expected =
            SessionSummary::of(before.clone(), &child.written[..usize::try_from(at - 1).unwrap()]);
        expected.parent = Some(fork.clone());
        assert_eq!(store.summary(&before).await.unwrap(), expected);
    }
}

/// At any depth, also if nothing was added in between.
pub async fn a_fork_of_a_fork_reads_through(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut last = Script::claim(&*store, "f0", 1_000).await;
    last.write(&*store, (0..4).map(|n| message_event(&format!("0 {n}")))).await;
    for depth in 1..12_u64 {
        let id = format!("f{depth}");
        let head = store.head(&last.session_id).await.unwrap();
        store.fork(&last.session_id, head - depth % 2, &SessionId::from(id.as_str())).await.unwrap();
        last = Script::claim(&*store, &id, depth * 1_000_000).await;
        last.catch_up(&*store).await;
        if depth % 3 != 0 {
            last.write(&*store, [message_event(&format!("{depth} a")), message_event(&format!("{depth} b"))])
                .await;
        }
        last.check(&*store).await;
    }
    assert_eq!(store.verify(&last.session_id).await.unwrap().damage, []);
}

/// A rejected fork leaves nothing behind.
pub async fn an_invalid_fork_is_rejected(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    script.write(&*store, [message_event("one"), message_event("two")]).await;
    let (id, new) = (script.session_id.clone(), SessionId::from("new"));
    let nowhere = store.fork(&SessionId::from("unknown"), 0, &new).await;
    assert!(matches!(nowhere, Err(StoreError::NotFound(_))), "{nowhere:?}");
    assert_eq!(store.fork(&id, 3, &new).await, Err(StoreError::Conflict { expected: 3, actual: 2 }));
    assert!(matches!(store.fork(&id, 1, &id).await, Err(StoreError::Conflict { .. })));
    assert_eq!(store.head(&new).await, Ok(0));
    assert!(matches!(store.summary(&new).await, Err(StoreError::NotFound(_))));
    store.fork(&id, 2, &new).await.unwrap();
    assert!(matches!(store.fork(&id, 2, &new).await, Err(StoreError::Conflict { .. })));
    store.fork(&id, 0, &SessionId::from("from nothing")).await.unwrap();
    assert_eq!(store.head(&SessionId::from("from nothing")).await, Ok(0));
}

/// A deletion is immediate for all readers, and the id can never be used again.
pub async fn a_deleted_session_is_gone_for_good(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    script.write(&*store, [message_event("secret words")]).await;
    store.put_snapshot(&script.session_id, Snapshot::new(1, b"state".to_vec())).await.unwrap();
    store.delete(&script.session_id).await.unwrap();
    let gone = async |store: &dyn SessionArchive| {
        let id = &script.session_id;
        assert_eq!(store.head(id).await, Ok(0));
        assert_eq!(store.read(id, 0, 9).await, Ok(Vec::new()));
        assert_eq!(store.snapshot(id, 9).await, Ok(None));
        assert!(matches!(store.summary(id).await, Err(StoreError::NotFound(_))));
        assert!(matches!(store.claim(id).await, Err(StoreError::NotFound(_))));
        assert!(matches!(store.delete(id).await, Err(StoreError::NotFound(_))));
        let late = store.append(Append::new(id, script.epoch, 1, &[])).await;
        assert!(matches!(late, Err(StoreError::NotFound(_) | StoreError::Fenced { .. })), "{late:?}");
        assert!(matches!(store.fork(id, 0, &SessionId::from("f")).await, Err(StoreError::NotFound(_))));
        assert!(names(store, &ListQuery::default()).await.is_empty());
        assert!(names(store, &query(|q| q.text = Some("secret".into()))).await.is_empty());
    };
    gone(&*store).await;
    store.collect_garbage(Duration::ZERO).await.unwrap();
    gone(&*store).await;
    drop(store);
    if place.is_persistent() {
        gone(&*place.open().await).await;
    }
}

/// Keeps events and blobs, also after garbage collection.
pub async fn a_fork_keeps_what_was_deleted_elsewhere(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut parent = Script::claim(&*store, "parent", 1_000).await;
    parent
        .write(
            &*store,
            [message_event(&"large ".repeat(20_000)), message_event("two"), message_event("three")],
        )
        .await;
    store.fork(&parent.session_id, 2, &SessionId::from("fork")).await.unwrap();
    store.delete(&parent.session_id).await.unwrap();
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(store.head(&parent.session_id).await, Ok(0));
    let mut child = Script::claim(&*store, "fork", 5_000_000).await;
    child.catch_up(&*store).await;
    assert_eq!(child.written, &parent.written[..2]);
    child.write(&*store, [message_event("goes on")]).await;
    child.check(&*store).await;
    assert_eq!(store.verify(&child.session_id).await.unwrap().damage, []);
    store.delete(&child.session_id).await.unwrap();
    let freed = store.collect_garbage(Duration::ZERO).await.unwrap();
    assert!(freed.sessions >= 1 && freed.blobs >= 1, "{freed:?}");
}

/// Keeps blobs that a session mentions, and recent ones.
pub async fn garbage_is_collected_and_nothing_else(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mentioned = store.put_blob(b"output of a tool").await.unwrap();
    let forgotten = store.put_blob(b"unknown's").await.unwrap();
    let mut script = Script::claim(&*store, "s", 1_000).await;
    let large = "moved out ".repeat(10_000);
    script.write(&*store, [message_event(&format!("see {}", mentioned.0)), message_event(&large)]).await;
    store.collect_garbage(Duration::from_secs(3_600)).await.unwrap();
    assert_eq!(store.blob(&forgotten).await.unwrap(), b"unknown's");
    let freed = store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!((freed.sessions, freed.blobs), (0, 1), "{freed:?}");
    assert!(matches!(store.blob(&forgotten).await, Err(StoreError::NotFound(_))));
    assert_eq!(store.blob(&mentioned).await.unwrap(), b"output of a tool");
    script.check(&*store).await;
    store.delete(&script.session_id).await.unwrap();
    let freed = store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!((freed.sessions, freed.blobs), (1, 2), "{freed:?}");
    assert!(matches!(store.blob(&mentioned).await, Err(StoreError::NotFound(_))));
    assert_eq!(store.put_blob(b"unknown's").await.unwrap(), BlobHash(forgotten.0));
}

/// Returns the newest snapshot within the limit; for a fork also its parent's.
pub async fn the_newest_snapshot_within_the_limit_is_found(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    script.write(&*store, (0..9).map(|n| message_event(&format!("{n}")))).await;
    let id = script.session_id.clone();
    assert_eq!(store.snapshot(&id, u64::MAX).await, Ok(None));
    let made = |seq: u64| Snapshot::new(seq, format!("state {seq}").into_bytes());
    for seq in [2, 5, 8] {
        store.put_snapshot(&id, made(seq)).await.unwrap();
    }
    store.put_snapshot(&id, Snapshot::new(5, b"again".to_vec())).await.unwrap();
    let again = Some(Snapshot::new(5, b"again".to_vec()));
    for (at_most, expected) in
        [(1, None), (2, Some(made(2))), (7, again.clone()), (8, Some(made(8))), (99, Some(made(8)))]
    {
        assert_eq!(store.snapshot(&id, at_most).await.unwrap(), expected, "at most {at_most}");
    }
    let fork = SessionId::from("fork");
    store.fork(&id, 6, &fork).await.unwrap();
    assert_eq!(store.snapshot(&fork, 99).await.unwrap(), again);
    for seq in 6..30 {
        store.put_snapshot(&fork, made(seq)).await.unwrap();
    }
    assert_eq!(store.snapshot(&fork, 99).await.unwrap(), Some(made(29)));
    assert_eq!(store.snapshot(&id, 99).await.unwrap(), Some(made(8)));
    drop(store);
    if place.is_persistent() {
        assert_eq!(place.open().await.snapshot(&id, 99).await.unwrap(), Some(made(8)));
    }
}

/// Repairing it changes nothing.
pub async fn an_intact_journal_verifies_as_sound(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut script = Script::claim(&*store, "s", 1_000).await;
    script.write(&*store, [message_event("one"), message_event(&"large ".repeat(20_000))]).await;
    script
        .write(&*store, (0..300).map(|n| AgentEvent::Checkpoint { label: format!("{n}"), message_id: None }))
        .await;
    let verdict = store.verify(&script.session_id).await.unwrap();
    assert_eq!((verdict.intact, verdict.damage.as_slice()), (302, [].as_slice()));
    assert!(store.repair(&script.session_id).await.unwrap().is_sound());
    script.check(&*store).await;
    script.write(&*store, [message_event("goes on")]).await;
    script.check(&*store).await;
    let unknown = store.verify(&SessionId::from("unknown")).await;
    assert!(matches!(unknown, Err(StoreError::NotFound(_))), "{unknown:?}");
}
