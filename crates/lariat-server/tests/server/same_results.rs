//! Every method over the socket gives what it gives directly.

use futures_util::StreamExt;
use lariat_api::{
    Action, ClientName, CommandId, CreateSession, ItemStream, LogRequest, Problem, ProblemCode,
    SessionCommand, SessionFilter, Sessions,
};
use lariat_core::id::SessionId;
use lariat_core::store::BlobHash;
use serde_json::json;

use crate::double::{FAILS, Memory, cursor, problem, read};
use crate::fixture::Fixture;

/// An id with everything that a path could misread.
const ID: &str = "a b/../ü?%2F#&+";

fn command(id: &str, action: Action) -> SessionCommand {
    SessionCommand::new(CommandId::new(id), ClientName::new("test"), action)
}

async fn taken<T>(stream: Result<ItemStream<T>, Problem>, count: usize) -> Vec<Result<T, Problem>> {
    stream.unwrap().take(count).collect().await
}

async fn all<T>(stream: Result<ItemStream<T>, Problem>) -> Vec<Result<T, Problem>> {
    stream.unwrap().collect().await
}

#[tokio::test]
async fn values_are_the_same_as_directly() {
    let fixture = Fixture::new(Memory::with_events(ID, 5)).await;
    let (direct, remote) = (fixture.direct(), fixture.remote());
    let id = SessionId::new(ID);
    assert_eq!(direct.view(&id).await.unwrap(), remote.view(&id).await.unwrap());
    assert_eq!(direct.diff(&id).await.unwrap(), remote.diff(&id).await.unwrap());
    assert_eq!(direct.files(&id).await.unwrap(), remote.files(&id).await.unwrap());
    assert_eq!(direct.context(&id).await.unwrap(), remote.context(&id).await.unwrap());
    let hash = BlobHash("blake3:ab/cd".to_owned());
    assert_eq!(direct.blob(&id, &hash).await.unwrap(), remote.blob(&id, &hash).await.unwrap());
    assert_eq!(direct.list(SessionFilter::default()).await, remote.list(SessionFilter::default()).await);

    let mut request = CreateSession::new(SessionId::new("new"), "/tmp");
    request.fork = Some((id.clone(), Some(3)));
    let created = remote.create(request.clone()).await.unwrap();
    assert_eq!(direct.create(request).await.unwrap(), created);
    assert_eq!(fixture.running.host.callers.lock().unwrap()[0].as_str(), "user:me");
}

#[tokio::test]
async fn streams_are_the_same_as_directly() {
    let fixture = Fixture::new(Memory::with_events(ID, 5)).await;
    let (direct, remote) = (fixture.direct(), fixture.remote());
    let id = SessionId::new(ID);
    let starts = [None, Some(cursor(0)), Some(cursor(3)), Some(cursor(5))].map(|after| (after, None));
    for (after, last) in starts.into_iter().chain([(None, Some(2)), (None, Some(9))]) {
        let mut request = LogRequest::default();
        (request.after, request.last) = (after, last);
        let expected = all(direct.log(&id, request.clone()).await).await;
        assert_eq!(all(remote.log(&id, request.clone()).await).await, expected);
        request.follow = true;
        let expected = taken(direct.log(&id, request.clone()).await, expected.len()).await;
        assert_eq!(taken(remote.log(&id, request).await, expected.len()).await, expected);
    }
    // Items, a problem between them, and an item after it.
    let expected = taken(direct.live(&id).await, 4).await;
    assert_eq!(taken(remote.live(&id).await, 4).await, expected);
    assert_eq!(all(remote.changes().await).await, all(direct.changes().await).await);
}

#[tokio::test]
async fn every_filter_arrives_unchanged() {
    let fixture = Fixture::new(Memory::new()).await;
    let filter: SessionFilter = read(json!({
        "page": "a&b=c", "limit": 20, "text": "5 + ü", "directory": "/a b", "tag": "#1", "parent": "p",
        "status": ["idle", "dreaming"], "active_since": "2025-11-15T00:00:00.123Z",
    }));
    // A condition that this test does not set would be missing here.
    let serde_json::Value::Object(fields) = serde_json::to_value(&filter).unwrap() else { panic!() };
    assert_eq!(fields.len(), 8);
    fixture.remote().list(filter.clone()).await.unwrap();
    assert_eq!(*fixture.memory.filters.lock().unwrap(), [filter]);
}

#[tokio::test]
async fn commands_are_applied_once_and_unknown_actions_survive() {
    let fixture = Fixture::new(Memory::with_events(ID, 2)).await;
    let (direct, remote) = (fixture.direct(), fixture.remote());
    let id = SessionId::new(ID);
    let action: Action = read(json!({ "type": "teleport", "to": [1, null, "ü"] }));
    let receipt = remote.send(&id, command("c1", action.clone())).await.unwrap();
    // The host compares the whole command with the one that it received first.
    assert_eq!(direct.send(&id, command("c1", action.clone())).await.unwrap(), receipt);
    assert_eq!(remote.send(&id, command("c1", action)).await.unwrap(), receipt);
    let conflict = remote.send(&id, command("c1", Action::Interrupt)).await.unwrap_err();
    assert_eq!(conflict.code, ProblemCode::CommandConflict);
    assert_eq!(fixture.memory.applied.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test]
async fn every_problem_arrives_unchanged_from_every_method() {
    let fixture = Fixture::new(Memory::new()).await;
    let remote = fixture.remote();
    for code in [
        "not_found",
        "command_conflict",
        "already_answered",
        "digest_mismatch",
        "wrong_status",
        "forbidden",
        "invalid",
        "unsupported",
        "owned_elsewhere",
        "cursor_gone",
        "unavailable",
        "damaged",
        "internal",
        "teapot",
    ] {
        let id = SessionId::new(format!("{FAILS}{code}"));
        let expected = problem(code);
        assert_eq!(remote.view(&id).await.unwrap_err(), expected);
        assert_eq!(remote.send(&id, command("c", Action::Close)).await.unwrap_err(), expected);
        assert_eq!(remote.create(CreateSession::new(id.clone(), "/")).await.unwrap_err(), expected);
        assert_eq!(remote.log(&id, LogRequest::default()).await.err().unwrap(), expected);
        assert_eq!(remote.live(&id).await.err().unwrap(), expected);
        assert_eq!(remote.diff(&id).await.unwrap_err(), expected);
        assert_eq!(remote.files(&id).await.unwrap_err(), expected);
        assert_eq!(remote.context(&id).await.unwrap_err(), expected);
        assert_eq!(remote.blob(&id, &BlobHash("h".to_owned())).await.unwrap_err(), expected);
    }
}

#[tokio::test]
async fn cursor_of_another_store_is_gone() {
    let fixture = Fixture::new(Memory::with_events("s", 3)).await;
    let request = LogRequest::follow("other-2".parse().unwrap());
    let problem = fixture.remote().log(&SessionId::new("s"), request).await.err().unwrap();
    assert_eq!(problem.code, ProblemCode::CursorGone);
}

#[tokio::test]
async fn refuses_a_request_that_no_host_accepts_without_sending_it() {
    // No host is there, so a client that sends would say so.
    let place = crate::fixture::Place::new();
    let remote = crate::fixture::remote(&place.socket());
    let action = Action::Learn { text: "x".repeat(65 << 20) };
    let problem = remote.send(&SessionId::new("s"), command("c", action)).await.unwrap_err();
    assert_eq!(
        (problem.code, problem.message.as_str()),
        (ProblemCode::Invalid, "the request is larger than 64 MiB")
    );
}

#[tokio::test]
async fn says_that_no_host_responds_and_what_to_do() {
    let place = crate::fixture::Place::new();
    let remote =
        lariat_server::Remote::new(place.socket()).with_retry(lariat_server::remote::RetryPolicy::never());
    let problem = remote.view(&SessionId::new("s")).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::Unavailable);
    assert!(problem.message.contains("host.sock"), "{}", problem.message);
    assert_eq!(problem.hint.as_deref(), Some("start one with `lariat host`"));
}
