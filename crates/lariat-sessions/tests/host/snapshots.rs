//! A view from a snapshot is the view of the whole journal, and a long session without a snapshot gets one.

use std::sync::Arc;

use lariat_api::{
    Action, AskPolicy, Delivery, Principal, ProblemCode, SessionStatus, SessionView, Sessions as _,
};
use lariat_core::archive::SessionArchive as _;
use lariat_core::event::AgentEvent;
use lariat_core::run::{SessionSnapshot, ViewSnapshot};
use lariat_core::store::{Append, SessionStore, Snapshot};
use lariat_sessions::{HostOptions, Local, ViewFold};
use lariat_test::Reply;

use crate::fixture::Fixture;

/// More events than a host reads without storing a snapshot.
const MANY: u64 = 17_000;

impl Fixture {
    /// A host that knows nothing of the session.
    fn another_host(&self) -> Local {
        let mut options = HostOptions::default();
        options.ask_policy = AskPolicy::Wait;
        Local::new(self.store.clone(), self.agents.clone(), Principal::new("user:ada"), options)
    }

    async fn fresh_view(&self) -> SessionView {
        self.another_host().view(&self.session_id).await.unwrap()
    }

    async fn snapshot(&self) -> Option<Snapshot> {
        self.store.snapshot(&self.session_id, u64::MAX >> 1).await.unwrap()
    }

    /// Makes the session long: titles, as one writer appends them.
    async fn lengthen(&self) {
        let journal = self.journal().await;
        let epoch = self.store.claim(&self.session_id).await.unwrap();
        let (mut next, pattern) = (journal.len() as u64, journal.first().unwrap().clone());
        while next < MANY {
            let events: Vec<_> = (next..next + 1_000)
                .map(|seq| {
                    let mut event = (*pattern).clone();
                    event.seq = seq;
                    event.event = AgentEvent::ModeChanged { mode: format!("mode {seq}") };
                    Arc::new(event)
                })
                .collect();
            self.store.append(Append::new(&self.session_id, epoch, next, &events)).await.unwrap();
            next += 1_000;
        }
        self.store.release(&self.session_id, epoch).await.unwrap();
    }
}

#[tokio::test]
async fn long_session_without_a_snapshot_gets_one() {
    let fixture = Fixture::new([Reply::text("done")]).await;
    fixture.prompt("first", "work", Delivery::Queue).await.unwrap();
    fixture.until_idle().await;
    fixture.send("close", Action::Close).await.unwrap();
    fixture.until(|view| view.status == SessionStatus::Closed).await;
    assert_eq!(fixture.snapshot().await, None);
    fixture.lengthen().await;

    let read = fixture.fresh_view().await;
    let snapshot = fixture.snapshot().await.unwrap();
    assert_eq!(snapshot.seq, read.seq);
    assert!(SessionSnapshot::from_bytes(&snapshot.state).is_none(), "a run must not continue from it");
    let parsed = ViewSnapshot::from_bytes(&snapshot.state, snapshot.seq).unwrap();
    let summary = fixture.store.summary(&fixture.session_id);
    let resumed = ViewFold::resume(summary.await.unwrap(), parsed);
    assert_eq!(resumed.next(), read.seq, "nothing is left to read");
    assert_eq!(fixture.fresh_view().await, read);
}

#[tokio::test]
async fn command_before_the_snapshot_is_not_carried_out_again() {
    let fixture = Fixture::new([Reply::text("done"), Reply::text("again")]).await;
    let receipt = fixture.prompt("first", "work", Delivery::Queue).await.unwrap();
    fixture.until_idle().await;
    fixture.send("close", Action::Close).await.unwrap();
    fixture.until(|view| view.status == SessionStatus::Closed).await;
    fixture.lengthen().await;
    fixture.fresh_view().await;
    assert!(fixture.snapshot().await.is_some());

    let host = Fixture { host: fixture.another_host(), ..fixture };
    assert_eq!(host.prompt("first", "work", Delivery::Queue).await.unwrap(), receipt);
    let other = host.prompt("first", "other work", Delivery::Queue).await.unwrap_err();
    assert_eq!(other.code, ProblemCode::CommandConflict);
    host.prompt("second", "work", Delivery::Queue).await.unwrap();
    let view = host.until_idle().await;
    assert!(view.seq > MANY && host.sent_texts() == ["work", "work"], "the run has the conversation");
}

#[tokio::test]
async fn snapshot_of_another_history_is_not_used() {
    let fixture = Fixture::new([Reply::text("done")]).await;
    fixture.prompt("first", "work", Delivery::Queue).await.unwrap();
    let view = fixture.until_idle().await;
    for state in [b"{}".to_vec(), b"{\"v\":3".to_vec()] {
        fixture.store.put_snapshot(&fixture.session_id, Snapshot::new(view.seq, state)).await.unwrap();
        assert_eq!(fixture.fresh_view().await, view);
    }
}
