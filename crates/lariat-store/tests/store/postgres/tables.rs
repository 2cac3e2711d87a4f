//! Tests what other programs find in the tables.

use std::time::Duration;

use lariat_core::archive::{ListQuery, SessionArchive};
use lariat_core::event::{AgentEvent, Goal, GoalStatus, Learning};
use lariat_core::id::SessionId;
use lariat_core::store::SessionStore;
use lariat_test::conformance::{Script, description_event, message_event};

use super::Database;

fn learned(id: &str, text: &str) -> AgentEvent {
    let mut learning = Learning::default();
    (learning.learning_id, learning.text) = (id.to_owned(), text.to_owned());
    AgentEvent::Learned(Box::new(learning))
}

fn goal(id: &str, status: GoalStatus) -> AgentEvent {
    let mut goal = Goal::default();
    (goal.goal_id, goal.text, goal.status) = (id.to_owned(), "ship it".to_owned(), status);
    AgentEvent::GoalChanged(Box::new(goal))
}

const TABLES: &str = "SELECT * FROM lariat.checkpoints ORDER BY session, seq; \
    SELECT * FROM lariat.learnings ORDER BY session, seq; SELECT * FROM lariat.goals ORDER BY session, seq";

#[tokio::test]
async fn projections_match_the_journals_and_can_be_rebuilt() {
    let database = Database::new();
    let store = database.connect().await;
    let mut one = Script::claim(&store, "one", 1_000).await;
    let checkpoint = AgentEvent::Checkpoint { label: "before\0the change".into(), message_id: None };
    one.write(
        &store,
        [message_event("hello"), checkpoint, learned("a", "old"), goal("g", GoalStatus::Active)],
    )
    .await;
    let mut two = Script::claim(&store, "two", 9_000_000).await;
    two.write(&store, [learned("a", "new"), learned("b", "wrong"), goal("g", GoalStatus::Done)]).await;
    two.write(&store, [AgentEvent::Unlearned { learning_id: "b".into() }]).await;
    assert_eq!(database.sql("SELECT label FROM lariat.checkpoints"), "before\u{FFFD}the change");
    assert_eq!(database.sql("SELECT learning_id, text FROM lariat.current_learnings"), "a|new");
    assert_eq!(database.sql("SELECT goal_id, status FROM lariat.current_goals"), "g|done");
    let tables = database.sql(TABLES);
    assert_eq!(tables.lines().count(), 7);
    database.sql(
        "DELETE FROM lariat.checkpoints; DELETE FROM lariat.goals; UPDATE lariat.learnings SET text = '?'",
    );
    store.rebuild_projections().await.unwrap();
    assert_eq!(database.sql(TABLES), tables);
    store.delete(&SessionId::from("two")).await.unwrap();
    assert_eq!(database.sql("SELECT learning_id, text FROM lariat.current_learnings"), "a|old");
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(database.sql("SELECT count(*) FROM lariat.learnings"), "1");
}

#[tokio::test]
async fn stores_and_finds_text_that_postgresql_rejects() {
    let database = Database::new();
    let store = database.connect().await;
    let long = "x".repeat(50_000);
    let strange = ["with\0nul", long.as_str(), "'; DROP TABLE lariat.events; --"];
    for (number, text) in strange.into_iter().enumerate() {
        let mut script = Script::claim(&store, &format!("with\0nul {number}"), 1_000).await;
        script
            .write(
                &store,
                [message_event(text), description_event(Some(text), Some(text), Some(&[text, "other"]))],
            )
            .await;
        script.check(&store).await;
        for change in [
            |query: &mut ListQuery, text: &str| query.cwd = Some(text.to_owned()),
            |query: &mut ListQuery, text: &str| query.tag = Some(text.to_owned()),
            |query: &mut ListQuery, text: &str| query.text = Some(text.to_owned()),
        ] {
            let mut query = ListQuery::default();
            change(&mut query, text);
            let found = store.list(&query).await.unwrap();
            let ids: Vec<_> = found.iter().map(|summary| summary.session_id.clone()).collect();
            assert_eq!(ids, [script.session_id.clone()], "{number}: {query:?}");
        }
    }
}

#[tokio::test]
async fn rejects_a_session_id_that_is_too_long() {
    let database = Database::new();
    let store = database.connect().await;
    let longest = SessionId::from("é".repeat(512));
    store.claim(&longest).await.unwrap();
    let refused = store.claim(&SessionId::from("x".repeat(1_025))).await.unwrap_err();
    assert!(refused.to_string().contains("1024 bytes"), "{refused}");
}

#[tokio::test]
async fn purged_session_leaves_only_its_tombstone() {
    let database = Database::new();
    let store = database.connect().await;
    let mut script = Script::claim(&store, "s", 1_000).await;
    let checkpoint = AgentEvent::Checkpoint { label: "c".into(), message_id: None };
    script.write(&store, [message_event(&"large ".repeat(10_000)), message_event("words"), checkpoint]).await;
    let mut query = ListQuery::default();
    query.text = Some("words".to_owned());
    assert_eq!(store.list(&query).await.unwrap().len(), 1);
    store.delete(&script.session_id).await.unwrap();
    let freed = store.collect_garbage(Duration::ZERO).await.unwrap();
    assert!(freed.bytes > 60_000, "{freed:?}");
    for table in ["events", "blobs", "blob_refs", "search", "checkpoints", "snapshots"] {
        assert_eq!(database.sql(&format!("SELECT count(*) FROM lariat.{table}")), "0", "{table}");
    }
    assert_eq!(database.sql("SELECT purged, summary FROM lariat.sessions"), "t|{}");
}
