//! A directory for a socket, a host that serves it, and a proxy that cuts connections.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lariat_api::Sessions;
use lariat_core::cancel::CancellationToken;
use lariat_server::remote::{Remote, RetryPolicy};
use lariat_server::routes;
use lariat_server::unix::{self, HostSocket};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use crate::double::{Double, DoubleHost, Memory};

/// How long a test waits for what must happen soon.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A new private directory that goes with its owner.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("lariat-server-{}", uuid::Uuid::new_v4().simple()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join("host.sock")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A host that serves a socket. Dropping it ends every connection at once, as a kill would.
pub(crate) struct Running {
    pub(crate) host: Arc<DoubleHost>,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) async fn start(socket: &Path, memory: &Arc<Memory>) -> Self {
        let bound = HostSocket::bind(socket, SOON).await.unwrap();
        Self::serve(bound, memory)
    }

    pub(crate) fn serve(bound: HostSocket, memory: &Arc<Memory>) -> Self {
        let stop = CancellationToken::new();
        let host = DoubleHost { memory: Arc::clone(memory), stop: stop.clone(), callers: Default::default() };
        let host = Arc::new(host);
        let router = routes::router(Arc::clone(&host) as _, stop.clone());
        let task = tokio::spawn(bound.serve(router, unix::principal(Some("me")), stop));
        Self { host, task }
    }

    /// Waits until the host ended because a client asked for it.
    pub(crate) async fn ended(mut self) {
        (&mut self.task).await.unwrap();
    }

    /// Ends the host at once, with every connection.
    pub(crate) async fn kill(mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// Ends the host as a stop does.
    pub(crate) async fn stop(mut self) {
        self.host.stop.cancel();
        tokio::time::timeout(SOON, &mut self.task).await.unwrap().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A place, a host and both ways to its sessions.
pub(crate) struct Fixture {
    pub(crate) memory: Arc<Memory>,
    pub(crate) running: Running,
    pub(crate) place: Place,
}

impl Fixture {
    pub(crate) async fn new(memory: Arc<Memory>) -> Self {
        let place = Place::new();
        let running = Running::start(&place.socket(), &memory).await;
        Self { memory, running, place }
    }

    pub(crate) fn remote(&self) -> Remote {
        remote(&self.place.socket())
    }

    pub(crate) fn direct(&self) -> Arc<dyn Sessions> {
        Arc::new(Double(Arc::clone(&self.memory)))
    }
}

/// A client that repeats quickly.
pub(crate) fn remote(socket: &Path) -> Remote {
    let mut retry = RetryPolicy::default();
    retry.first_wait = Duration::from_millis(1);
    Remote::new(socket).with_retry(retry)
}

/// Waits until a condition is true.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    let met = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(SOON, met).await.expect("the condition never became true");
}

/// Forwards connections and cuts some of them.
pub(crate) struct Proxy {
    pub(crate) connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Listens at `path` and forwards to `target`. Connection number N ends after `limit(N)` bytes of the response.
    pub(crate) fn start(path: &Path, target: PathBuf, limit: fn(usize, u64) -> u64, parameter: u64) -> Self {
        Self::start_with(path, move |client, number| {
            forward(client, target.clone(), limit(number, parameter))
        })
    }

    /// Like [`Proxy::start`], but a connection that reached its limit stays open and silent.
    pub(crate) fn start_holding(
        path: &Path,
        target: PathBuf,
        limit: fn(usize, u64) -> u64,
        parameter: u64,
    ) -> Self {
        Self::start_with(path, move |client, number| {
            let (target, limit) = (target.clone(), limit(number, parameter));
            async move {
                let server = UnixStream::connect(target).await.unwrap();
                let (mut from_client, mut to_client) = client.into_split();
                let (from_server, mut to_server) = server.into_split();
                let mut from_server = from_server.take(limit);
                let upstream = tokio::io::copy(&mut from_client, &mut to_server);
                let downstream = async {
                    let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
                    std::future::pending::<()>().await;
                };
                tokio::join!(upstream, downstream).0.unwrap();
            }
        })
    }

    /// Delays the first connection, and forwards all others at once.
    pub(crate) fn start_delaying(path: &Path, target: PathBuf, delay: Duration) -> Self {
        Self::start_with(path, move |client, number| {
            let target = target.clone();
            async move {
                if number == 0 {
                    tokio::time::sleep(delay).await;
                }
                forward(client, target, u64::MAX).await;
            }
        })
    }

    fn start_with<F>(path: &Path, act: impl Fn(UnixStream, usize) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let _ = fs::remove_file(path);
        let listener = UnixListener::bind(path).unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            let mut forwards = tokio::task::JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let number = count.fetch_add(1, Ordering::SeqCst);
                forwards.spawn(act(client, number));
            }
        });
        Self { connections, task }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(client: UnixStream, target: PathBuf, limit: u64) {
    let server = UnixStream::connect(target).await.unwrap();
    let (mut from_client, mut to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let mut from_server = from_server.take(limit);
    let upstream = async {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
        std::future::pending::<()>().await;
    };
    let downstream = async {
        if limit == 0 {
            // The request must reach the host although its response does not come back.
            let _ = from_server.get_mut().readable().await;
        }
        let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
        let _ = to_client.flush().await;
    };
    tokio::select! {
        () = upstream => {}
        () = downstream => {}
    }
}
