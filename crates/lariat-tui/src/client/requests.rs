//! Requests to the session that run beside the loop, and their replies.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use lariat_api::{
    Action, ContextUse, CreateSession, FileDiff, ItemStream, Problem, ProblemCode, SessionChange,
    SessionFilter, SessionPage, SessionView, Sessions,
};
use lariat_core::id::SessionId;
use lariat_terminal::theme::Theme;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Machine;
use crate::feed;
use crate::pages::{Page, Pages};
use crate::transcript::{Detail, Transcript};

/// Events that the pager reads of a session with more than the feed showed.
const MAX_EARLIER: u64 = 100_000;
/// Sessions in a list.
const MAX_LISTED: u32 = 200;
/// The least time from one list of sessions to the next.
const RELIST: Duration = Duration::from_millis(500);
/// How long a list stays as it is if the host reports no change: it does not know those of other processes.
const POLL: Duration = Duration::from_secs(2);

/// A session to open.
#[derive(Clone, Debug)]
pub(super) enum Opening {
    Create(CreateSession),
    Existing(SessionId),
}

/// What a request returned.
#[derive(Debug)]
pub(super) enum RequestReply {
    Opened(Result<Box<SessionView>, Problem>),
    View(Result<Box<SessionView>, Problem>),
    Refused {
        action: Box<Action>,
        problem: Problem,
    },
    /// The sessions that have the words of the filter.
    Sessions(Option<String>, Result<SessionPage, Problem>),
    /// The same list, later.
    SessionsChanged(SessionPage),
    Context(Result<ContextUse, Problem>),
    Diff(Result<Vec<FileDiff>, Problem>),
    Earlier(Result<Earlier, Problem>),
    Page(Page, Result<String, Problem>),
    Image(Result<Option<String>, Problem>),
}

/// The rendered rows of the newest events, and how many events are before them.
#[derive(Debug)]
pub(super) struct Earlier {
    pub(super) rows: Vec<String>,
    pub(super) skipped: u64,
}

/// A request.
#[derive(Clone, Debug)]
pub(super) enum Request {
    Open(Opening),
    View(SessionId),
    Sessions { text: Option<String> },
    Context(SessionId),
    Diff(SessionId),
    Earlier(SessionId, Theme),
}

/// Starts a request. Its reply arrives in `replies`.
pub(super) fn start(sessions: &Arc<dyn Sessions>, request: Request, replies: &mpsc::Sender<RequestReply>) {
    let (sessions, replies) = (Arc::clone(sessions), replies.clone());
    tokio::spawn(async move {
        let reply = answer(&*sessions, request).await;
        // Without a receiver, the client is gone.
        let _ = replies.send(reply).await;
    });
}

/// Makes a page. Its reply arrives in `replies`.
pub(super) fn make_page(
    pages: &Arc<dyn Pages>,
    page: Page,
    view: Option<SessionView>,
    width: usize,
    replies: &mpsc::Sender<RequestReply>,
) {
    let (pages, replies) = (Arc::clone(pages), replies.clone());
    tokio::spawn(async move {
        let text = pages.page(&page, view.as_ref(), width).await;
        // Without a receiver, the client is gone.
        let _ = replies.send(RequestReply::Page(page, text)).await;
    });
}

/// Saves the image in the clipboard. Its reply arrives in `replies`.
pub(super) fn paste_image(machine: &Arc<dyn Machine>, replies: &mpsc::Sender<RequestReply>) {
    let (machine, replies) = (Arc::clone(machine), replies.clone());
    tokio::spawn(async move {
        let path = machine.paste_image().await;
        // Without a receiver, the client is gone.
        let _ = replies.send(RequestReply::Image(path)).await;
    });
}

/// Lists the sessions again after each change and now and then, until the task is dropped. The lists arrive in `replies`.
pub(super) fn watch_sessions(
    sessions: &Arc<dyn Sessions>,
    text: Option<String>,
    replies: &mpsc::Sender<RequestReply>,
) -> JoinSet<()> {
    let (sessions, replies) = (Arc::clone(sessions), replies.clone());
    let mut task = JoinSet::new();
    task.spawn(async move {
        let none = || -> ItemStream<SessionChange> { Box::pin(futures_util::stream::pending()) };
        let mut changes = sessions.changes().await.unwrap_or_else(|_| none());
        loop {
            match tokio::time::timeout(POLL, changes.next()).await {
                Ok(Some(Ok(_))) => {
                    tokio::time::sleep(RELIST).await;
                    while changes.next().now_or_never().is_some_and(|change| matches!(change, Some(Ok(_)))) {}
                }
                Ok(_) => changes = none(),
                // Another process may have changed a session.
                Err(_) => {}
            }
            let Ok(page) = sessions.list(filter(text.clone())).await else { continue };
            if replies.send(RequestReply::SessionsChanged(page)).await.is_err() {
                return;
            }
        }
    });
    task
}

fn filter(text: Option<String>) -> SessionFilter {
    let mut filter = SessionFilter::default();
    filter.limit = Some(MAX_LISTED);
    filter.text = text;
    filter
}

async fn answer(sessions: &dyn Sessions, request: Request) -> RequestReply {
    match request {
        Request::Open(Opening::Create(create)) => {
            RequestReply::Opened(sessions.create(create).await.map(Box::new))
        }
        Request::Open(Opening::Existing(id)) => RequestReply::Opened(sessions.view(&id).await.map(Box::new)),
        Request::View(id) => RequestReply::View(sessions.view(&id).await.map(Box::new)),
        Request::Sessions { text } => {
            let page = sessions.list(filter(text.clone())).await;
            RequestReply::Sessions(text, page)
        }
        Request::Context(id) => RequestReply::Context(sessions.context(&id).await),
        Request::Diff(id) => RequestReply::Diff(sessions.diff(&id).await),
        Request::Earlier(id, theme) => RequestReply::Earlier(earlier(sessions, &id, theme).await),
    }
}

async fn earlier(sessions: &dyn Sessions, id: &SessionId, theme: Theme) -> Result<Earlier, Problem> {
    let events = feed::read_newest(sessions, id, MAX_EARLIER).await?;
    let render = move || {
        let mut transcript = Transcript::new();
        events.iter().for_each(|event| transcript.apply(event));
        let skipped = events.first().map_or(0, |event| event.seq);
        Earlier { rows: transcript.rows(&theme, Detail::Full).to_vec(), skipped }
    };
    // Rendering takes seconds, and the loop may share its thread with this task.
    let rendered = tokio::task::spawn_blocking(render).await;
    rendered.map_err(|error| Problem::new(ProblemCode::Unavailable, format!("cannot render: {error}")))
}
