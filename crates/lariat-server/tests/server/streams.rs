//! Streams and requests whose reader is slow or goes away.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;
use lariat_api::{Action, ClientName, CommandId, LogItem, LogRequest, SessionCommand, Sessions};
use lariat_core::id::SessionId;
use tokio::io::AsyncReadExt;
use tokio::net::UnixListener;

use crate::double::Memory;
use crate::fixture::{Fixture, Place, SOON, remote, until};

#[tokio::test]
async fn reader_that_goes_away_ends_its_stream_only() {
    let fixture = Fixture::new(Memory::with_events("s", 3)).await;
    let remote = fixture.remote();
    let id = SessionId::new("s");
    let mut follow = LogRequest::default();
    follow.follow = true;
    let mut staying = remote.log(&id, follow).await.unwrap();
    let mut leaving = remote.live(&id).await.unwrap();
    leaving.next().await.unwrap().unwrap();
    assert_eq!(fixture.memory.streams.load(Ordering::SeqCst), 2);
    drop(leaving);
    until(|| fixture.memory.streams.load(Ordering::SeqCst) == 1).await;
    fixture.memory.append("s", "later");
    let items: Vec<_> = staying.by_ref().take(5).collect().await;
    assert!(items.iter().all(Result::is_ok));
    drop(staying);
    until(|| fixture.memory.streams.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test]
async fn command_runs_to_its_end_when_its_client_goes_away() {
    let fixture = Fixture::new(Memory::with_events("s", 0)).await;
    fixture.memory.gate.forget_permits(usize::MAX >> 3);
    let (remote, id) = (fixture.remote(), SessionId::new("s"));
    let command = SessionCommand::new(CommandId::new("c"), ClientName::new("t"), Action::Interrupt);
    let sending = tokio::spawn(async move { remote.send(&id, command).await });
    until(|| fixture.memory.waiting.load(Ordering::SeqCst) == 1).await;
    sending.abort();
    assert!(sending.await.unwrap_err().is_cancelled());
    // A host that dropped the command with its connection would never apply it.
    let view = fixture.remote().view(&SessionId::new("s")).await;
    assert!(view.is_ok());
    tokio::time::sleep(Duration::from_millis(50)).await;
    fixture.memory.gate.add_permits(1);
    until(|| fixture.memory.applied.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn slow_reader_delays_only_its_own_stream() {
    const EVENTS: u64 = 20_000;
    let memory = Memory::with_events("s", 0);
    (0..EVENTS).for_each(|_| memory.append("s", &"x".repeat(500)));
    let fixture = Fixture::new(memory).await;
    let (remote, id) = (fixture.remote(), SessionId::new("s"));
    let mut log = remote.log(&id, LogRequest::default()).await.unwrap();
    log.next().await.unwrap().unwrap();
    // The host stops taking events when the buffers on the way are full.
    let mut before = 0;
    let full = async {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let taken = fixture.memory.taken.load(Ordering::SeqCst);
            if taken == before {
                break taken;
            }
            before = taken;
        }
    };
    let taken = tokio::time::timeout(SOON, full).await.unwrap();
    assert!(taken < EVENTS / 4, "the host took {taken} events for a reader that took one");
    remote.view(&id).await.unwrap();
    let items: Vec<_> = log.collect().await;
    assert_eq!(items.len() as u64, EVENTS - 1 + 1);
    assert!(matches!(items.last(), Some(Ok(LogItem::Synced { .. }))));
}

#[tokio::test]
async fn stop_ends_streams_and_finishes_requests() {
    let fixture = Fixture::new(Memory::with_events("s", 1)).await;
    fixture.memory.gate.forget_permits(usize::MAX >> 3);
    let (remote, id) = (fixture.remote(), SessionId::new("s"));
    let live = remote.live(&id).await.unwrap();
    let command = SessionCommand::new(CommandId::new("c"), ClientName::new("t"), Action::Interrupt);
    let sending = {
        let remote = remote.clone();
        tokio::spawn(async move { remote.send(&SessionId::new("s"), command).await })
    };
    until(|| fixture.memory.waiting.load(Ordering::SeqCst) == 1).await;
    remote.stop_host().await.unwrap();
    until(|| fixture.memory.streams.load(Ordering::SeqCst) == 0).await;
    until(|| !fixture.place.socket().exists()).await;
    fixture.memory.gate.add_permits(1);
    // One attempt was enough: no host is there for a second.
    sending.await.unwrap().unwrap();
    assert_eq!(fixture.memory.waiting.load(Ordering::SeqCst), 1);
    fixture.running.stop().await;
    drop(live);
}

#[tokio::test]
async fn client_that_gives_up_stops_sending() {
    const SIZE: usize = 16 << 20;
    let place = Place::new();
    let listener = UnixListener::bind(place.socket()).unwrap();
    let (remote, id) = (remote(&place.socket()), SessionId::new("s"));
    let action = Action::Learn { text: "x".repeat(SIZE) };
    let command = SessionCommand::new(CommandId::new("c"), ClientName::new("t"), action);
    let sending = tokio::spawn(async move { remote.send(&id, command).await });
    // A host that accepts and does not read fills the buffers on the way.
    let (mut stream, _) = listener.accept().await.unwrap();
    stream.readable().await.unwrap();
    sending.abort();
    assert!(sending.await.unwrap_err().is_cancelled());
    let mut bytes = Vec::new();
    tokio::time::timeout(SOON, stream.read_to_end(&mut bytes)).await.unwrap().unwrap();
    assert!(bytes.len() < SIZE / 2, "the client sent {} bytes", bytes.len());
}
