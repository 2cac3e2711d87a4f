//! Creating sessions: a client that repeats its request gets what the first one created, whatever happened between them.

use lariat_api::{
    Action, ClientName, CommandId, CreateSession, Delivery, SessionCommand, SessionStatus, Sessions as _,
};
use lariat_core::archive::SessionArchive as _;
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::SessionId;
use lariat_core::store::SessionStore as _;
use lariat_test::Reply;

use crate::fixture::{Fixture, call};

/// How often a journal records that a session was created.
fn creations(journal: &[Event], session_id: &SessionId) -> usize {
    let id = format!("create:{session_id}");
    let is_creation = |event: &&Event| matches!(&event.event, AgentEvent::CommandAccepted(command) if command.command_id == id);
    journal.iter().filter(is_creation).count()
}

#[tokio::test]
async fn session_that_two_clients_create_at_once_is_created_once() {
    let fixture = Fixture::new([]).await;
    let session_id = SessionId::from("twice");
    let request = CreateSession::new(session_id.clone(), "/project");
    let both = [fixture.host.create(request.clone()), fixture.host.create(request)];
    for view in futures_util::future::join_all(both).await {
        assert_eq!(view.unwrap().session_id, session_id);
    }
    let journal = fixture.store.read(&session_id, 0, usize::MAX).await.unwrap();
    assert_eq!(creations(&journal, &session_id), 1, "{journal:#?}");
}

#[tokio::test]
async fn repeated_fork_gets_the_title_that_a_crash_left_out() {
    let fixture = Fixture::new([Reply::text("hello")]).await;
    fixture.prompt("c1", "hi", Delivery::Queue).await.unwrap();
    let events = fixture.until_idle().await.seq;
    let fork = SessionId::from("fork");
    // The host died right after the fork.
    fixture.store.fork(&fixture.session_id, events, &fork).await.unwrap();
    let mut request = CreateSession::new(fork.clone(), "/project");
    request.fork = Some((fixture.session_id.clone(), Some(events)));
    request.title = Some("another way".to_owned());
    for _ in 0..2 {
        let view = fixture.host.create(request.clone()).await.unwrap();
        assert_eq!(view.title.as_deref(), Some("another way"));
    }
    let journal = fixture.store.read(&fork, 0, usize::MAX).await.unwrap();
    assert_eq!(creations(&journal, &fork), 1, "{journal:#?}");
}

/// Found by the simulator (world `hosts`).
#[tokio::test]
async fn fork_in_the_middle_of_a_run_is_created_and_the_origin_waits_on() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("written"), Reply::text("continued")]).await;
    fixture.prompt("c1", "write it", Delivery::Queue).await.unwrap();
    let waiting = fixture.until(|view| view.status == SessionStatus::RequiresAction).await;
    let fork = SessionId::from("fork");
    let mut request = CreateSession::new(fork.clone(), "/project");
    request.fork = Some((fixture.session_id.clone(), Some(waiting.seq)));
    request.title = Some("another way".to_owned());
    let view = fixture.host.create(request).await.unwrap();
    assert_eq!((view.status, view.title.as_deref()), (SessionStatus::Interrupted, Some("another way")));
    let interrupt = SessionCommand::new(CommandId::new("c2"), ClientName::new("test"), Action::Interrupt);
    fixture.host.send(&fork, interrupt).await.unwrap();
    // The run of the origin still waits.
    assert_eq!(fixture.view().await.status, SessionStatus::RequiresAction);
}
