//! Checks of checkpoints, learnings and goals across sessions.

use lariat_core::archive::SessionArchive;
use lariat_core::event::{AgentEvent, Goal, GoalStatus, Learning};
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;

use super::writing::checkpoint;
use super::{ArchiveFixture, Script, message_event};

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

async fn texts(store: &dyn SessionArchive, tag: Option<&str>, limit: usize) -> Vec<String> {
    let learnings = store.learnings(tag, limit).await.unwrap();
    learnings.into_iter().map(|known| known.learning.text).collect()
}

async fn goals(store: &dyn SessionArchive) -> Vec<(String, GoalStatus)> {
    let goals = store.goals().await.unwrap();
    goals.into_iter().map(|known| (known.goal.goal_id, known.goal.status)).collect()
}

async fn labels(store: &dyn SessionArchive, session_id: &SessionId) -> Vec<String> {
    let checkpoints = store.checkpoints(session_id).await.unwrap();
    checkpoints.into_iter().map(|known| known.label).collect()
}

/// Until the session is deleted.
pub async fn learnings_and_goals_are_the_newest_of_all_sessions(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut one = Script::claim(&*store, "one", 1_000).await;
    let first = [learned("a", "use tabs", &["style"]), learned("b", "run the tests", &["ci", "style"])];
    one.write(&*store, first).await;
    one.write(&*store, [message_event("no"), goal("ship", GoalStatus::Active)]).await;
    let mut two = Script::claim(&*store, "two", 1_000_000).await;
    two.write(&*store, [learned("a", "use spaces", &["style"]), learned("c", "sleep", &[])]).await;
    two.write(&*store, [AgentEvent::Unlearned { learning_id: "b".to_owned() }]).await;
    two.write(&*store, [goal("ship", GoalStatus::Done), goal("rest", GoalStatus::Active)]).await;
    assert_eq!(texts(&*store, None, 0).await, ["sleep", "use spaces"]);
    assert_eq!(texts(&*store, Some("style"), 0).await, ["use spaces"]);
    assert_eq!(texts(&*store, None, 1).await, ["sleep"]);
    let expected = [("rest".to_owned(), GoalStatus::Active), ("ship".to_owned(), GoalStatus::Done)];
    assert_eq!(goals(&*store).await, expected);
    store.delete(&two.session_id).await.unwrap();
    assert_eq!(texts(&*store, None, 0).await, ["run the tests", "use tabs"]);
    assert_eq!(goals(&*store).await, [("ship".to_owned(), GoalStatus::Active)]);
}

/// Also after its parent is deleted.
pub async fn a_fork_has_the_checkpoints_that_it_shares(place: &dyn ArchiveFixture) {
    let store = place.open().await;
    let mut parent = Script::claim(&*store, "parent", 1_000).await;
    parent.write(&*store, [checkpoint("a"), learned("x", "shared", &[]), checkpoint("b")]).await;
    let fork_id = SessionId::from("fork");
    store.fork(&parent.session_id, 2, &fork_id).await.unwrap();
    let mut fork = Script::claim(&*store, "fork", 9_000_000).await;
    fork.catch_up(&*store).await;
    fork.write(&*store, [checkpoint("c")]).await;
    assert_eq!(labels(&*store, &fork_id).await, ["a", "c"]);
    assert_eq!(labels(&*store, &parent.session_id).await, ["a", "b"]);
    store.delete(&parent.session_id).await.unwrap();
    assert_eq!(labels(&*store, &fork_id).await, ["a", "c"]);
    assert_eq!(texts(&*store, None, 0).await, ["shared"]);
    let gone = store.checkpoints(&parent.session_id).await;
    assert!(matches!(gone, Err(StoreError::NotFound(_))), "{gone:?}");
}
