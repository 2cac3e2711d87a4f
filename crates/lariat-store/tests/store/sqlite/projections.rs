//! Tests checkpoints, learnings and goals across sessions.

use lariat_core::archive::SessionArchive;
use lariat_core::event::{AgentEvent, Goal, GoalStatus, Learning};
use lariat_core::id::SessionId;
use lariat_core::store::{Durability, StoreError};
use lariat_store::sqlite::SqliteStore;
use lariat_test::conformance::{Script, message_event};

use super::SqliteFixture;

fn learned(id: &str, text: &str, tags: &[&str]) -> AgentEvent {
    let mut learning = Learning::default();
    (learning.learning_id, learning.text) = (id.to_owned(), text.to_owned());
    learning.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    AgentEvent::Learned(Box::new(learning))
}

fn goal(id: &str, status: GoalStatus) -> AgentEvent {
    let mut goal = Goal::default();
    (goal.goal_id, goal.text, goal.status) = (id.to_owned(), format!("reach {id}"), status);
    AgentEvent::GoalChanged(Box::new(goal))
}

fn checkpoint(label: &str) -> AgentEvent {
    AgentEvent::Checkpoint { label: label.to_owned(), message_id: None }
}

async fn texts(store: &SqliteStore, tag: Option<&str>, limit: usize) -> Vec<String> {
    let learnings = store.learnings(tag, limit).await.unwrap();
    learnings.into_iter().map(|learned| learned.learning.text).collect()
}

async fn labels(store: &SqliteStore, session: &str) -> Vec<String> {
    let checkpoints = store.checkpoints(&SessionId::from(session)).await.unwrap();
    checkpoints.into_iter().map(|checkpoint| checkpoint.label).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projections_reflect_the_latest_events_and_can_be_rebuilt() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let store = fixture.store().await;
    let mut one = Script::claim(&store, "one", 1_000).await;
    one.write(
        &store,
        [learned("a", "use tabs", &["style"]), learned("b", "run the tests", &["ci", "style"])],
    )
    .await;
    one.write(&store, [message_event("no"), checkpoint("first"), goal("ship", GoalStatus::Active)]).await;
    let mut two = Script::claim(&store, "two", 1_000_000).await;
    two.write(&store, [learned("a", "use spaces", &["style"]), learned("c", "sleep", &[])]).await;
    two.write(&store, [AgentEvent::Unlearned { learning_id: "b".to_owned() }]).await;
    two.write(&store, [goal("ship", GoalStatus::Done), goal("rest", GoalStatus::Active)]).await;
    for _ in 0..2 {
        assert_eq!(texts(&store, None, 0).await, ["sleep", "use spaces"]);
        assert_eq!(texts(&store, Some("style"), 0).await, ["use spaces"]);
        assert_eq!(texts(&store, None, 1).await, ["sleep"]);
        let goals = store.goals().await.unwrap();
        let goals: Vec<_> = goals.iter().map(|set| (set.goal.goal_id.as_str(), set.goal.status)).collect();
        assert_eq!(goals, [("rest", GoalStatus::Active), ("ship", GoalStatus::Done)]);
        assert_eq!(labels(&store, "one").await, ["first"]);
        fixture
            .raw_connection()
            .execute_batch("DELETE FROM learnings; UPDATE goals SET goal = '{}'")
            .unwrap();
        store.rebuild_projections().await.unwrap();
    }
    // Learnings and goals of the second session disappear with it.
    store.delete(&two.session_id).await.unwrap();
    assert_eq!(texts(&store, None, 0).await, ["run the tests", "use tabs"]);
    assert_eq!(store.goals().await.unwrap()[0].goal.status, GoalStatus::Active);
    store.collect_garbage(std::time::Duration::ZERO).await.unwrap();
    assert_eq!(texts(&store, Some("ci"), 0).await, ["run the tests"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fork_keeps_shared_checkpoints_after_its_parent_is_deleted() {
    let fixture = SqliteFixture::new(Durability::Fast);
    let store = fixture.store().await;
    let mut parent = Script::claim(&store, "parent", 1_000).await;
    parent.write(&store, [checkpoint("a"), learned("x", "shared", &[]), checkpoint("b")]).await;
    store.fork(&parent.session_id, 2, &SessionId::from("fork")).await.unwrap();
    let mut fork = Script::claim(&store, "fork", 9_000_000).await;
    fork.catch_up(&store).await;
    fork.write(&store, [checkpoint("c")]).await;
    assert_eq!(labels(&store, "fork").await, ["a", "c"]);
    assert_eq!(labels(&store, "parent").await, ["a", "b"]);
    store.delete(&parent.session_id).await.unwrap();
    store.collect_garbage(std::time::Duration::ZERO).await.unwrap();
    assert_eq!(labels(&store, "fork").await, ["a", "c"]);
    assert_eq!(texts(&store, None, 0).await, ["shared"]);
    let gone = store.checkpoints(&parent.session_id).await;
    assert!(matches!(gone, Err(StoreError::NotFound(_))), "{gone:?}");
}
