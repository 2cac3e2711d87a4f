//! Hosts that accept connections and send nothing, as a stopped process does.

use std::time::Duration;

use futures_util::StreamExt;
use lariat_api::{Action, ClientName, CommandId, LogRequest, ProblemCode, SessionCommand, Sessions};
use lariat_core::id::SessionId;
use lariat_server::remote::{Patience, Remote};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{Instant, timeout};

use crate::double::Memory;
use crate::fixture::{Fixture, Place, Proxy, SOON, remote};

fn patient(remote: Remote, milliseconds: u64) -> Remote {
    let mut patience = Patience::default();
    patience.response = Duration::from_millis(milliseconds);
    patience.silence = Duration::from_millis(3 * milliseconds);
    remote.with_patience(patience)
}

/// Accepts connections and holds them.
fn silent(path: &std::path::Path) -> tokio::task::JoinHandle<()> {
    let listener = UnixListener::bind(path).unwrap();
    tokio::spawn(async move {
        let mut held: Vec<UnixStream> = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    })
}

#[tokio::test]
async fn request_to_a_stopped_host_ends_with_a_problem() {
    let place = Place::new();
    let host = silent(&place.socket());
    let client = patient(remote(&place.socket()), 50);
    let id = SessionId::new("s");
    let command = SessionCommand::new(CommandId::new("c"), ClientName::new("t"), Action::Interrupt);
    let start = Instant::now();
    let problem = timeout(SOON, client.send(&id, command)).await.unwrap().unwrap_err();
    assert_eq!(problem.code, ProblemCode::Unavailable);
    assert_eq!(problem.message, "the host does not respond");
    assert!(start.elapsed() >= Duration::from_millis(100), "it asked again first");
    assert!(timeout(SOON, client.log(&id, LogRequest::default())).await.unwrap().is_err());
    host.abort();
}

/// Stops forwarding the first connection after a number of bytes, and leaves it open.
fn first_only(number: usize, bytes: u64) -> u64 {
    if number == 0 { bytes } else { u64::MAX }
}

#[tokio::test]
async fn stream_of_a_host_that_falls_silent_continues_on_another_connection() {
    let fixture = Fixture::new(Memory::with_events("s", 3)).await;
    let path = fixture.place.path().join("proxy.sock");
    let _proxy = Proxy::start_holding(&path, fixture.place.socket(), first_only, 400);
    let mut request = LogRequest::default();
    request.follow = true;
    let log = patient(remote(&path), 50).log(&SessionId::new("s"), request).await.unwrap();
    let items: Vec<_> = timeout(SOON, log.take(4).collect::<Vec<_>>()).await.unwrap();
    assert!(items.iter().all(Result::is_ok), "{items:?}");
}

#[tokio::test]
async fn slow_request_is_not_given_up_while_the_host_responds() {
    let fixture = Fixture::new(Memory::with_events("s", 1)).await;
    let path = fixture.place.path().join("proxy.sock");
    let _proxy = Proxy::start_delaying(&path, fixture.place.socket(), Duration::from_millis(400));
    let client = patient(remote(&path), 50);
    let view = timeout(SOON, client.view(&SessionId::new("s"))).await.unwrap();
    assert!(view.is_ok(), "{view:?}");
}
