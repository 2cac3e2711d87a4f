//! A host on a runtime of its own. Dropping the runtime ends all tasks of the host at once, as a kill does.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use lariat_api::{
    ContextUse, CreateSession, FileDiff, FileList, ItemStream, Live, LogItem, LogRequest, Problem, Receipt,
    SessionChange, SessionCommand, SessionFilter, SessionPage, SessionView, Sessions,
};
use lariat_core::BoxFuture;
use lariat_core::id::SessionId;
use lariat_core::store::BlobHash;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc;

/// A runtime for one host.
pub(crate) fn new_runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Ends a runtime. No task of it runs afterwards.
pub(crate) async fn end(runtime: Runtime) {
    tokio::task::spawn_blocking(move || runtime.shutdown_timeout(Duration::from_secs(5))).await.unwrap();
}

/// Makes every request on the runtime of the host, so that what it starts ends with that runtime.
pub(crate) struct OnRuntime {
    pub(crate) host: Arc<dyn Sessions>,
    pub(crate) runtime: Handle,
}

impl OnRuntime {
    fn run<T, F>(&self, request: impl FnOnce(Arc<dyn Sessions>) -> F) -> BoxFuture<'static, T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let task = self.runtime.spawn(request(Arc::clone(&self.host)));
        // A request that the end of the host interrupts gets no response.
        Box::pin(async move {
            match task.await {
                Ok(result) => result,
                Err(_) => std::future::pending().await,
            }
        })
    }

    fn pump<T: Send + 'static>(runtime: &Handle, mut items: ItemStream<T>) -> ItemStream<T> {
        let (sender, receiver) = mpsc::channel(1);
        runtime.spawn(async move {
            loop {
                tokio::select! {
                    () = sender.closed() => return,
                    item = items.next() => match item {
                        Some(item) => {
                            if sender.send(item).await.is_err() {
                                return;
                            }
                        }
                        None => return,
                    },
                }
            }
        });
        Box::pin(stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|item| (item, receiver))
        }))
    }
}

impl Sessions for OnRuntime {
    fn create(&self, request: CreateSession) -> BoxFuture<'_, Result<SessionView, Problem>> {
        self.run(|host| async move { host.create(request).await })
    }

    fn list(&self, filter: SessionFilter) -> BoxFuture<'_, Result<SessionPage, Problem>> {
        self.run(|host| async move { host.list(filter).await })
    }

    fn view<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionView, Problem>> {
        let id = session_id.clone();
        self.run(|host| async move { host.view(&id).await })
    }

    fn send<'a>(
        &'a self,
        session_id: &'a SessionId,
        command: SessionCommand,
    ) -> BoxFuture<'a, Result<Receipt, Problem>> {
        let id = session_id.clone();
        self.run(|host| async move { host.send(&id, command).await })
    }

    fn log<'a>(
        &'a self,
        session_id: &'a SessionId,
        request: LogRequest,
    ) -> BoxFuture<'a, Result<ItemStream<LogItem>, Problem>> {
        let (id, runtime) = (session_id.clone(), self.runtime.clone());
        self.run(|host| async move { Ok(Self::pump(&runtime, host.log(&id, request).await?)) })
    }

    fn live<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<ItemStream<Live>, Problem>> {
        let (id, runtime) = (session_id.clone(), self.runtime.clone());
        self.run(|host| async move { Ok(Self::pump(&runtime, host.live(&id).await?)) })
    }

    fn changes(&self) -> BoxFuture<'_, Result<ItemStream<SessionChange>, Problem>> {
        let runtime = self.runtime.clone();
        self.run(|host| async move { Ok(Self::pump(&runtime, host.changes().await?)) })
    }

    fn diff<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Vec<FileDiff>, Problem>> {
        let id = session_id.clone();
        self.run(|host| async move { host.diff(&id).await })
    }

    fn files<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<FileList, Problem>> {
        let id = session_id.clone();
        self.run(|host| async move { host.files(&id).await })
    }

    fn context<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<ContextUse, Problem>> {
        let id = session_id.clone();
        self.run(|host| async move { host.context(&id).await })
    }

    fn blob<'a>(
        &'a self,
        session_id: &'a SessionId,
        hash: &'a BlobHash,
    ) -> BoxFuture<'a, Result<Vec<u8>, Problem>> {
        let (id, hash) = (session_id.clone(), hash.clone());
        self.run(|host| async move { host.blob(&id, &hash).await })
    }
}
