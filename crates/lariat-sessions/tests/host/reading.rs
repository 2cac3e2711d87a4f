//! Logs, cursors, live items, lists and changes.

use std::time::Duration;

use futures_util::StreamExt;
use lariat_api::{
    Action, Answer, CreateSession, Cursor, Delivery, Live, LogItem, LogRequest, Principal, ProblemCode,
    SessionFilter, SessionStatus, Sessions, StoreGeneration,
};
use lariat_sessions::{HostOptions, Local};
use lariat_test::Reply;
use serde_json::json;

use super::fixture::Fixture;

fn cursors(items: &[LogItem]) -> Vec<Cursor> {
    items
        .iter()
        .filter_map(|item| match item {
            LogItem::Event { cursor, .. } => Some(cursor.clone()),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn log_after_every_position_is_the_rest_of_the_journal() {
    let fixture = Fixture::new([Reply::text("hello")]).await;
    fixture.prompt("p", "hi", Delivery::Queue).await.unwrap();
    fixture.until_idle().await;
    let journal = fixture.journal().await;
    let whole = fixture.log(LogRequest::default()).await;
    let all = cursors(&whole);
    assert_eq!(all.len(), journal.len());
    assert_eq!(all.last(), Some(&fixture.view().await.cursor));
    for (at, cursor) in all.iter().enumerate() {
        let mut request = LogRequest::default();
        request.after = Some(cursor.clone());
        let rest = fixture.log(request).await;
        assert_eq!(cursors(&rest), all[at + 1..]);
        let synced = rest.iter().filter(|item| matches!(item, LogItem::Synced { .. })).count();
        assert_eq!(synced, 1);
    }
}

#[tokio::test]
async fn cursor_of_another_history_is_gone() {
    let fixture = Fixture::new([]).await;
    for (generation, next) in [("start", 1), ("other", 1), ("start", 1_000)] {
        let mut request = LogRequest::default();
        request.after = Some(Cursor::new(StoreGeneration::new(generation).unwrap(), next));
        let Err(problem) = fixture.host.log(&fixture.session_id, request).await else {
            panic!("{generation} {next}")
        };
        assert_eq!(problem.code, ProblemCode::CursorGone);
    }
}

#[tokio::test]
async fn follower_sees_every_event_once_and_stops_nothing_when_it_leaves() {
    let fixture = Fixture::new([Reply::text("hello")]).await;
    let view = fixture.view().await;
    let mut items = fixture.host.log(&fixture.session_id, LogRequest::follow(view.cursor)).await.unwrap();
    fixture.prompt("p", "hi", Delivery::Queue).await.unwrap();
    for _ in 0..3 {
        items.next().await.unwrap().unwrap();
    }
    drop(items);
    fixture.until_idle().await;
}

#[tokio::test]
async fn live_items_carry_the_text_and_follow_durable_events() {
    let fixture = Fixture::new([Reply::text("hello")]).await;
    let mut live = fixture.host.live(&fixture.session_id).await.unwrap();
    fixture.prompt("p", "hi", Delivery::Queue).await.unwrap();
    let mut text = String::new();
    while text != "hello" {
        let item = tokio::time::timeout(Duration::from_secs(5), live.next()).await.unwrap().unwrap().unwrap();
        if let Live::Event(item) = item {
            text.push_str(item.event.event.text_delta().unwrap_or_default());
            assert!(item.after <= fixture.view().await.seq);
        }
    }
}

#[tokio::test]
async fn session_whose_plan_waits_is_listed_by_a_host_that_did_not_run_it() {
    let planned = Reply::tool_call("c1", "write", json!({"plan": true}));
    let fixture = Fixture::new([planned, Reply::text("planned")]).await;
    fixture.prompt("p", "go", Delivery::Queue).await.unwrap();
    fixture.until(|view| view.outcome.is_some()).await;
    let (store, agents) = (fixture.store.clone(), fixture.agents.clone());
    let other = Local::new(store, agents, Principal::new("user:bob"), HostOptions::default());
    let mut filter = SessionFilter::default();
    filter.status = vec![SessionStatus::RequiresAction];
    let listed = other.list(filter.clone()).await.unwrap().sessions;
    assert_eq!(listed.iter().map(|session| session.asks).collect::<Vec<_>>(), [1]);

    let ask = fixture.view().await.asks[0].clone();
    let answer = Answer::Plan { approved: Vec::new(), rejected: vec!["c1".into()] };
    fixture.send("a", Action::Answer { ask_id: ask.id, digest: ask.digest, answer }).await.unwrap();
    fixture.until(|view| view.asks.is_empty()).await;
    assert!(other.list(filter).await.unwrap().sessions.is_empty());
}

#[tokio::test]
async fn pages_name_every_session_once() {
    let fixture = Fixture::new([]).await;
    for number in 0..7 {
        let id = format!("s{number}").as_str().into();
        fixture.host.create(CreateSession::new(id, "/project")).await.unwrap();
    }
    let (mut filter, mut seen) = (SessionFilter::default(), Vec::new());
    filter.limit = Some(3);
    loop {
        let page = fixture.host.list(filter.clone()).await.unwrap();
        seen.extend(page.sessions.into_iter().map(|session| session.archived.session_id.to_string()));
        filter.page = page.next;
        if filter.page.is_none() {
            break;
        }
    }
    seen.sort();
    assert_eq!(seen, ["s", "s0", "s1", "s2", "s3", "s4", "s5", "s6"]);
    let mut running = SessionFilter::default();
    running.status = vec![SessionStatus::Running];
    assert_eq!(fixture.host.list(running).await.unwrap().sessions, []);
}

#[tokio::test]
async fn changes_report_a_session_that_changed() {
    let fixture = Fixture::new([Reply::text("hello")]).await;
    let mut changes = fixture.host.changes().await.unwrap();
    fixture.prompt("p", "hi", Delivery::Queue).await.unwrap();
    let change = changes.next().await.unwrap().unwrap();
    assert_eq!(change.session_id, fixture.session_id);
}
