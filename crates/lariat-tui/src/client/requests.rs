//! Requests to the session that run beside the loop, and their replies.

use std::sync::Arc;

use lariat_api::{
    Action, ContextUse, CreateSession, FileDiff, Problem, SessionFilter, SessionPage, SessionView, Sessions,
};
use lariat_core::id::SessionId;
use tokio::sync::mpsc;

/// Sessions in a list.
const MAX_LISTED: u32 = 200;

/// A session to open.
#[derive(Clone, Debug)]
pub(super) enum Opening {
    Create(CreateSession),
    Existing(SessionId),
}

/// What a request returned.
#[derive(Debug)]
pub(super) enum Reply {
    Opened(Result<Box<SessionView>, Problem>),
    View(Result<Box<SessionView>, Problem>),
    Refused { action: Box<Action>, problem: Problem },
    Sessions(Result<SessionPage, Problem>),
    Context(Result<ContextUse, Problem>),
    Diff(Result<Vec<FileDiff>, Problem>),
}

/// A request.
#[derive(Clone, Debug)]
pub(super) enum Request {
    Open(Opening),
    View(SessionId),
    Sessions { text: Option<String> },
    Context(SessionId),
    Diff(SessionId),
}

/// Starts a request. Its reply arrives in `replies`.
pub(super) fn start(sessions: &Arc<dyn Sessions>, request: Request, replies: &mpsc::Sender<Reply>) {
    let (sessions, replies) = (Arc::clone(sessions), replies.clone());
    tokio::spawn(async move {
        let reply = answer(&*sessions, request).await;
        // Without a receiver, the client is gone.
        let _ = replies.send(reply).await;
    });
}

async fn answer(sessions: &dyn Sessions, request: Request) -> Reply {
    match request {
        Request::Open(Opening::Create(create)) => Reply::Opened(sessions.create(create).await.map(Box::new)),
        Request::Open(Opening::Existing(id)) => Reply::Opened(sessions.view(&id).await.map(Box::new)),
        Request::View(id) => Reply::View(sessions.view(&id).await.map(Box::new)),
        Request::Sessions { text } => {
            let mut filter = SessionFilter::default();
            filter.limit = Some(MAX_LISTED);
            filter.text = text;
            Reply::Sessions(sessions.list(filter).await)
        }
        Request::Context(id) => Reply::Context(sessions.context(&id).await),
        Request::Diff(id) => Reply::Diff(sessions.diff(&id).await),
    }
}
