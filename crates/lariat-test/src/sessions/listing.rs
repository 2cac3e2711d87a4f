//! Checks of everything around a single session: lists, filters, pages, changes and sessions that do not exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use lariat_api::{
    Action, AskPolicy, CreateSession, Delivery, LogRequest, ProblemCode, PromptContent, SessionFilter,
    SessionStatus, SessionSummary, Sessions,
};
use lariat_core::id::SessionId;
use tokio::time::{Instant, timeout};

use super::HostFixture;
use super::report::Report;
use super::script::{Condition, ScriptClient, asked_call};
use super::stage::{PATIENCE, Stage};

/// Sessions are listed once each over pages, and found by status, directory, text and tag.
pub(super) async fn sessions_are_listed(
    fixture: &Arc<dyn HostFixture>,
    host: Arc<dyn Sessions>,
) -> Result<Report, String> {
    let mut waiting = Stage::create(fixture, Arc::clone(&host), AskPolicy::Wait).await?;
    waiting.plan("work", &[asked_call("mark")]);
    let [_, elsewhere] = fixture.directories();
    let other = SessionId::from(format!("{}-elsewhere", waiting.session));
    let word = waiting.name("zebra");
    let mut request = CreateSession::new(other.clone(), elsewhere.clone());
    request.title = Some(word.clone());
    host.create(request).await.map_err(|problem| format!("create: {problem}"))?;
    let idle = Stage::create(fixture, Arc::clone(&host), AskPolicy::Wait).await?;
    let tag = waiting.name("tag");
    let describe = Action::Describe { title: None, tags: Some(vec![tag.clone()]) };
    waiting.accept(ScriptClient::A, describe).await?;
    let content = PromptContent::text(waiting.prompt("work"));
    waiting.accept(ScriptClient::A, Action::Prompt { content, delivery: Delivery::Queue }).await?;
    waiting.wait_for(&Condition::Asks(vec!["mark"])).await?;

    let all = pages(&*host, &SessionFilter::default()).await?;
    let ids: Vec<&SessionId> = all.iter().map(|summary| &summary.archived.session_id).collect();
    for id in [&waiting.session, &other, &idle.session] {
        let count = ids.iter().filter(|other| **other == id).count();
        if count != 1 {
            return Err(format!("{id} is listed {count} times over all pages"));
        }
    }
    if !all.windows(2).all(|pair| match pair {
        [first, second] => first.archived.last_active_at >= second.archived.last_active_at,
        _ => true,
    }) {
        return Err("the list is not newest first".to_owned());
    }
    let own = |filter: SessionFilter| {
        let (host, known) = (&host, [&waiting.session, &other, &idle.session]);
        async move {
            let found = pages(&**host, &filter).await?;
            let found: Vec<SessionId> = found
                .into_iter()
                .map(|summary| summary.archived.session_id)
                .filter(|id| known.contains(&id))
                .collect();
            Ok::<_, String>(found)
        }
    };
    let mut filter = SessionFilter::default();
    filter.status = vec![SessionStatus::RequiresAction];
    expect("status", &own(filter).await?, &[&waiting.session])?;
    let mut filter = SessionFilter::default();
    filter.directory = Some(elsewhere);
    expect("directory", &own(filter).await?, &[&other])?;
    let mut filter = SessionFilter::default();
    filter.text = Some(word);
    expect("text", &own(filter).await?, &[&other])?;
    let mut filter = SessionFilter::default();
    filter.tag = Some(tag);
    expect("tag", &own(filter).await?, &[&waiting.session])?;

    let view = waiting.view().await?;
    let summary = all.iter().find(|summary| summary.archived.session_id == waiting.session);
    let summary = summary.ok_or("the session is not listed")?;
    if summary.status != SessionStatus::RequiresAction || summary.asks != 1 {
        return Err(format!("the summary says {:?} with {} asks", summary.status, summary.asks));
    }
    if summary.archived.events != view.seq {
        return Err(format!("the summary has {} events, the view {}", summary.archived.events, view.seq));
    }
    waiting.check().await?;
    Ok(waiting.counts)
}

fn expect(condition: &str, found: &[SessionId], expected: &[&SessionId]) -> Result<(), String> {
    if found.iter().collect::<Vec<_>>() == expected {
        return Ok(());
    }
    Err(format!("by {condition} the list has {found:?}, expected {expected:?}"))
}

/// Reads all pages of two sessions each.
async fn pages(host: &dyn Sessions, filter: &SessionFilter) -> Result<Vec<SessionSummary>, String> {
    let mut filter = filter.clone();
    filter.limit = Some(2);
    let mut all = Vec::new();
    loop {
        let page = host.list(filter.clone()).await.map_err(|problem| format!("list: {problem}"))?;
        if page.sessions.len() > 2 {
            return Err(format!("a page of {} sessions, of at most 2", page.sessions.len()));
        }
        all.extend(page.sessions);
        match page.next {
            Some(next) if filter.page.as_ref() == Some(&next) => {
                return Err("a page follows itself".to_owned());
            }
            Some(next) => filter.page = Some(next),
            None => return Ok(all),
        }
    }
}

/// Every session that changes is reported, until its last event and status.
pub(super) async fn changes_are_reported(
    fixture: &Arc<dyn HostFixture>,
    host: Arc<dyn Sessions>,
) -> Result<Report, String> {
    let mut first = Stage::create(fixture, Arc::clone(&host), AskPolicy::Wait).await?;
    let mut second = Stage::create(fixture, Arc::clone(&host), AskPolicy::Wait).await?;
    let mut changes = host.changes().await.map_err(|problem| format!("changes: {problem}"))?;
    for stage in [&mut first, &mut second] {
        let content = PromptContent::text(stage.prompt("work"));
        stage.accept(ScriptClient::A, Action::Prompt { content, delivery: Delivery::Queue }).await?;
    }
    let expected: BTreeMap<SessionId, (u64, SessionStatus)> = {
        let (one, two) = (first.finish().await?, second.finish().await?);
        [one, two].into_iter().map(|view| (view.session_id, (view.seq, view.status))).collect()
    };
    let mut seen = BTreeMap::new();
    let deadline = Instant::now() + PATIENCE;
    while expected.iter().any(|(id, state)| seen.get(id) != Some(state)) {
        let left = deadline.saturating_duration_since(Instant::now());
        match timeout(left, changes.next()).await {
            Ok(Some(Ok(change))) => drop(seen.insert(change.session_id, (change.seq, change.status))),
            other => return Err(format!("changes gave {other:?}, so far {seen:?}, expected {expected:?}")),
        }
    }
    first.check().await?;
    second.host = Arc::clone(&first.host);
    second.check().await?;
    first.counts.add(second.counts);
    Ok(first.counts)
}

/// A session that does not exist is not found, and no request creates it.
pub(super) async fn an_unknown_session_is_not_found(
    fixture: &Arc<dyn HostFixture>,
    host: Arc<dyn Sessions>,
) -> Result<Report, String> {
    let mut stage = Stage::create(fixture, host, AskPolicy::Wait).await?;
    let unknown = SessionId::from(format!("{}-unknown", stage.session));
    let command = stage.command(ScriptClient::A, Action::Continue);
    let host = &stage.host;
    let codes = [
        host.view(&unknown).await.err().map(|problem| problem.code),
        host.send(&unknown, command).await.err().map(|problem| problem.code),
        host.log(&unknown, LogRequest::default()).await.err().map(|problem| problem.code),
        host.live(&unknown).await.err().map(|problem| problem.code),
    ];
    if codes.iter().any(|code| *code != Some(ProblemCode::NotFound)) {
        return Err(format!("view, send, log and live of an unknown session gave {codes:?}"));
    }
    if !fixture.journal(&unknown).await.is_empty() {
        return Err("a request to an unknown session wrote events".to_owned());
    }
    Ok(stage.counts)
}
