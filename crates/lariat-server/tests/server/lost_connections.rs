//! Connections that break at every byte, and hosts that end and start again.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;
use lariat_api::{
    Action, ClientName, CommandId, Live, LogItem, LogRequest, Problem, ProblemCode, SessionCommand, Sessions,
};
use lariat_core::id::SessionId;
use lariat_server::background;
use lariat_server::remote::RetryPolicy;

use crate::double::{Memory, cursor, event};
use crate::fixture::{Fixture, Place, Proxy, Running, SOON, remote};

fn follow() -> LogRequest {
    let mut request = LogRequest::default();
    request.follow = true;
    request
}

/// The positions of the items, with `None` for [`LogItem::Synced`].
fn positions(items: &[Result<LogItem, Problem>]) -> Vec<Option<u64>> {
    let position = |item: &Result<LogItem, Problem>| match item.as_ref().unwrap() {
        LogItem::Event { event, .. } => Some(event.seq),
        _ => None,
    };
    items.iter().map(position).collect()
}

/// Cuts the first connection only.
fn first(number: usize, bytes: u64) -> u64 {
    if number == 0 { bytes } else { u64::MAX }
}

/// Cuts every connection.
fn every(_: usize, bytes: u64) -> u64 {
    bytes
}

#[tokio::test]
async fn reader_sees_every_event_once_if_the_connection_breaks_at_any_byte() {
    let fixture = Fixture::new(Memory::with_events("s", 4)).await;
    let id = SessionId::new("s");
    let expected: Vec<_> = fixture.direct().log(&id, follow()).await.unwrap().take(5).collect().await;
    let path = fixture.place.path().join("proxy.sock");
    let mut cuts = 0;
    for bytes in 0.. {
        let proxy = Proxy::start(&path, fixture.place.socket(), first, bytes);
        let log = remote(&path).log(&id, follow()).await.unwrap();
        let items: Vec<_> = tokio::time::timeout(SOON, log.take(5).collect::<Vec<_>>()).await.unwrap();
        assert_eq!(items, expected, "cut after {bytes} bytes");
        // Beyond the last of them, all bytes arrive over the first connection.
        if proxy.connections.load(Ordering::SeqCst) == 1 {
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 1000, "{cuts} cuts");
}

#[tokio::test]
async fn log_that_was_cut_is_not_taken_for_a_complete_one() {
    let fixture = Fixture::new(Memory::with_events("s", 2)).await;
    let id = SessionId::new("s");
    let mut newest = LogRequest::follow_last(1);
    newest.follow = false;
    for request in [LogRequest::default(), newest] {
        log_is_complete_after_a_cut(&fixture, &id, &request).await;
    }
}

async fn log_is_complete_after_a_cut(fixture: &Fixture, id: &SessionId, request: &LogRequest) {
    let expected: Vec<_> = fixture.direct().log(id, request.clone()).await.unwrap().collect().await;
    let path = fixture.place.path().join("proxy.sock");
    for bytes in (0..).step_by(7) {
        let proxy = Proxy::start(&path, fixture.place.socket(), first, bytes);
        let log = remote(&path).log(id, request.clone()).await.unwrap();
        let items: Vec<_> = tokio::time::timeout(SOON, log.collect::<Vec<_>>()).await.unwrap();
        assert_eq!(items, expected, "cut after {bytes} bytes");
        if proxy.connections.load(Ordering::SeqCst) == 1 {
            break;
        }
    }
}

#[tokio::test]
async fn reader_gets_through_if_every_connection_breaks_after_a_while() {
    let fixture = Fixture::new(Memory::with_events("s", 300)).await;
    let id = SessionId::new("s");
    let path = fixture.place.path().join("proxy.sock");
    let proxy = Proxy::start(&path, fixture.place.socket(), every, 1200);
    let log = remote(&path).log(&id, follow()).await.unwrap();
    let items: Vec<_> = tokio::time::timeout(SOON, log.take(301).collect::<Vec<_>>()).await.unwrap();
    let expected: Vec<_> = (0..300).map(Some).chain([None]).collect();
    assert_eq!(positions(&items), expected);
    assert!(proxy.connections.load(Ordering::SeqCst) > 50);
}

#[tokio::test]
async fn reader_gives_up_if_nothing_arrives_any_more() {
    let fixture = Fixture::new(Memory::with_events("s", 3)).await;
    let id = SessionId::new("s");
    let mut retry = RetryPolicy::default();
    retry.repeats = 5;
    let mut log = fixture.remote().with_retry(retry).log(&id, follow()).await.unwrap();
    let items: Vec<_> = log.by_ref().take(4).collect().await;
    assert_eq!(positions(&items), [Some(0), Some(1), Some(2), None]);
    let path = fixture.place.socket();
    let Fixture { running, place: _place, .. } = fixture;
    running.kill().await;
    assert!(path.exists(), "a killed host leaves its socket");
    let problem = tokio::time::timeout(SOON, log.next()).await.unwrap().unwrap().unwrap_err();
    assert_eq!(problem.code, ProblemCode::Unavailable);
    assert!(problem.hint.is_some());
    assert!(log.next().await.is_none());
}

#[tokio::test]
async fn command_is_applied_once_if_the_response_is_cut_at_any_byte() {
    let fixture = Fixture::new(Memory::with_events("s", 1)).await;
    let id = SessionId::new("s");
    let path = fixture.place.path().join("proxy.sock");
    for bytes in 0.. {
        let proxy = Proxy::start(&path, fixture.place.socket(), first, bytes);
        let command_id = CommandId::new(format!("c{bytes:04}"));
        let command = SessionCommand::new(command_id.clone(), ClientName::new("t"), Action::Interrupt);
        let receipt = tokio::time::timeout(SOON, remote(&path).send(&id, command)).await.unwrap().unwrap();
        assert_eq!(receipt.command_id, command_id);
        let applied = fixture.memory.applied.load(Ordering::SeqCst) as u64;
        assert_eq!(applied, bytes + 1, "cut after {bytes} bytes");
        if proxy.connections.load(Ordering::SeqCst) == 1 {
            assert!(bytes > 100);
            break;
        }
    }
}

#[tokio::test]
async fn reader_follows_over_restarts_of_the_host() {
    let memory = Memory::with_events("s", 3);
    let place = Place::new();
    let id = SessionId::new("s");
    let mut running = Running::start(&place.socket(), &memory).await;
    let mut log = remote(&place.socket()).log(&id, follow()).await.unwrap();
    let items: Vec<_> = log.by_ref().take(4).collect().await;
    assert_eq!(positions(&items), [Some(0), Some(1), Some(2), None]);
    for restart in 0..6 {
        memory.append("s", "before");
        match restart % 2 {
            0 => running.kill().await,
            _ => running.stop().await,
        }
        memory.append("s", "between");
        running = Running::start(&place.socket(), &memory).await;
        memory.append("s", "after");
        let items: Vec<_> = tokio::time::timeout(SOON, log.by_ref().take(3).collect()).await.unwrap();
        let seq = 3 + restart * 3;
        assert_eq!(positions(&items), [Some(seq), Some(seq + 1), Some(seq + 2)]);
    }
}

#[tokio::test]
async fn command_waits_for_the_next_host() {
    let memory = Memory::with_events("s", 0);
    let place = Place::new();
    let running = Running::start(&place.socket(), &memory).await;
    running.stop().await;
    let command = SessionCommand::new(CommandId::new("c"), ClientName::new("t"), Action::Interrupt);
    let (remote, id) = (remote(&place.socket()), SessionId::new("s"));
    let sending = tokio::spawn(async move { remote.send(&id, command).await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    let _running = Running::start(&place.socket(), &memory).await;
    sending.await.unwrap().unwrap();
}

#[tokio::test]
async fn live_says_resync_after_a_lost_connection_and_changes_end() {
    let memory = Memory::with_events("s", 3);
    let place = Place::new();
    let id = SessionId::new("s");
    let running = Running::start(&place.socket(), &memory).await;
    let mut live = remote(&place.socket()).live(&id).await.unwrap();
    let items: Vec<_> = live.by_ref().take(4).collect().await;
    running.kill().await;
    let _running = Running::start(&place.socket(), &memory).await;
    let resumed: Vec<_> =
        tokio::time::timeout(SOON, live.by_ref().take(5).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(resumed[0], Ok(Live::Resync { after: 9 }));
    assert_eq!(resumed[1..], items);

    let path = place.path().join("proxy.sock");
    let _proxy = Proxy::start(&path, place.socket(), every, 180);
    let mut changes = remote(&path).changes().await.unwrap();
    let problem = tokio::time::timeout(SOON, changes.next()).await.unwrap().unwrap().unwrap_err();
    assert_eq!(problem.code, ProblemCode::Unavailable);
    assert!(changes.next().await.is_none());
}

#[tokio::test]
async fn reader_learns_that_the_store_was_replaced() {
    let memory = Memory::with_events("s", 3);
    let place = Place::new();
    let running = Running::start(&place.socket(), &memory).await;
    let id = SessionId::new("s");
    let mut log = remote(&place.socket()).log(&id, follow()).await.unwrap();
    let _: Vec<_> = log.by_ref().take(4).collect().await;
    running.kill().await;
    // The session does not exist in the new store.
    let _running = Running::start(&place.socket(), &Memory::new()).await;
    let problem = tokio::time::timeout(SOON, log.next()).await.unwrap().unwrap().unwrap_err();
    assert_eq!(problem.code, ProblemCode::NotFound);
    assert!(log.next().await.is_none());
}

#[tokio::test]
async fn next_host_takes_over_from_one_that_stops() {
    let memory = Memory::with_events("s", 3);
    let place = Place::new();
    let socket = place.socket();
    let running = Running::start(&socket, &memory).await;
    let mut log = remote(&socket).log(&SessionId::new("s"), follow()).await.unwrap();
    let _: Vec<_> = log.by_ref().take(4).collect().await;
    background::stop(&socket, SOON).await.unwrap();
    assert!(!socket.exists());
    let _next = Running::start(&socket, &memory).await;
    memory.append("s", "x");
    let item = tokio::time::timeout(SOON, log.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(item, LogItem::Event { cursor: cursor(4), event: event(3, "x") });
    drop(running);
    // None to stop is as good as one that stopped.
    background::stop(&place.path().join("none.sock"), SOON).await.unwrap();
}
