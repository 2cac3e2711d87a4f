//! Sessions whose host is still being opened, so that the terminal UI draws its first frame before.
//!
//! Invariant: a request waits for the host and fails with its problem if it cannot be opened.

use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use lariat_api::{
    ContextUse, CreateSession, FileDiff, FileList, ItemStream, Live, LogItem, LogRequest, Problem,
    ProblemCode, Receipt, SessionChange, SessionCommand, SessionFilter, SessionPage, SessionView, Sessions,
};
use lariat_core::BoxFuture;
use lariat_core::id::SessionId;
use lariat_core::store::BlobHash;

use super::background::to_protocol;

type SessionsHandle = Arc<dyn Sessions>;

/// A host that a task opens.
pub(super) struct OpeningSessions(Shared<BoxFuture<'static, Result<SessionsHandle, Problem>>>);

impl OpeningSessions {
    /// Starts to open the host.
    pub(super) fn start(
        opening: impl Future<Output = Result<SessionsHandle, crate::problem::Problem>> + Send + 'static,
    ) -> Self {
        let task = tokio::spawn(opening);
        let host: BoxFuture<'static, Result<SessionsHandle, Problem>> = Box::pin(async {
            let opened = task.await.map_err(|error| {
                Problem::new(ProblemCode::Unavailable, format!("cannot open the session store: {error}"))
            })?;
            opened.map_err(to_protocol)
        });
        Self(host.shared())
    }

    async fn host(&self) -> Result<SessionsHandle, Problem> {
        self.0.clone().await
    }
}

impl Sessions for OpeningSessions {
    fn create(&self, request: CreateSession) -> BoxFuture<'_, Result<SessionView, Problem>> {
        Box::pin(async { self.host().await?.create(request).await })
    }

    fn list(&self, filter: SessionFilter) -> BoxFuture<'_, Result<SessionPage, Problem>> {
        Box::pin(async { self.host().await?.list(filter).await })
    }

    fn view<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionView, Problem>> {
        Box::pin(async { self.host().await?.view(session_id).await })
    }

    fn send<'a>(
        &'a self,
        session_id: &'a SessionId,
        command: SessionCommand,
    ) -> BoxFuture<'a, Result<Receipt, Problem>> {
        Box::pin(async { self.host().await?.send(session_id, command).await })
    }

    fn log<'a>(
        &'a self,
        session_id: &'a SessionId,
        request: LogRequest,
    ) -> BoxFuture<'a, Result<ItemStream<LogItem>, Problem>> {
        Box::pin(async { self.host().await?.log(session_id, request).await })
    }

    fn live<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<ItemStream<Live>, Problem>> {
        Box::pin(async { self.host().await?.live(session_id).await })
    }

    fn changes(&self) -> BoxFuture<'_, Result<ItemStream<SessionChange>, Problem>> {
        Box::pin(async { self.host().await?.changes().await })
    }

    fn diff<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Vec<FileDiff>, Problem>> {
        Box::pin(async { self.host().await?.diff(session_id).await })
    }

    fn files<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<FileList, Problem>> {
        Box::pin(async { self.host().await?.files(session_id).await })
    }

    fn context<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<ContextUse, Problem>> {
        Box::pin(async { self.host().await?.context(session_id).await })
    }

    fn blob<'a>(
        &'a self,
        session_id: &'a SessionId,
        hash: &'a BlobHash,
    ) -> BoxFuture<'a, Result<Vec<u8>, Problem>> {
        Box::pin(async { self.host().await?.blob(session_id, hash).await })
    }
}
