//! A host behind a Unix socket, with the client for it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lariat_api::{AskPolicy, Principal, Sessions};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_server::remote::{Remote, RetryPolicy};
use lariat_server::unix::{self, HostSocket};
use lariat_server::{Host, routes};
use lariat_test::sessions::{HostFixture, ModelScript, ScriptedFiles};
use tokio::task::JoinHandle;

/// How long a new host waits for the socket of an old one.
const WAIT: Duration = Duration::from_secs(20);

/// A private directory that goes with its owner.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(name: &str) -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("lariat-{name}-{}", std::process::id()));
        let private = std::fs::Permissions::from_mode(0o700);
        let made = std::fs::create_dir(&path).and_then(|()| std::fs::set_permissions(&path, private));
        made.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Serves one host to every principal.
struct ServedHost(Arc<dyn Sessions>);

impl Host for ServedHost {
    fn sessions_for(&self, _: &Principal) -> Arc<dyn Sessions> {
        Arc::clone(&self.0)
    }

    fn version(&self) -> String {
        "proof".to_owned()
    }

    fn running(&self) -> u64 {
        0
    }

    fn stop(&self) {}
}

/// Serves a host on a socket. Returns its client and the task that serves.
pub(crate) async fn serve(
    host: Arc<dyn Sessions>,
    socket: &Path,
) -> Result<(Remote, JoinHandle<()>), String> {
    let stop = CancellationToken::new();
    let bound = HostSocket::bind(socket, WAIT).await.map_err(|error| error.to_string())?;
    let router = routes::router(Arc::new(ServedHost(host)), stop.clone());
    let server = tokio::spawn(bound.serve(router, unix::principal(Some("me")), stop));
    let mut retry = RetryPolicy::default();
    retry.first_wait = Duration::from_millis(1);
    Ok((Remote::new(socket).with_retry(retry), server))
}

/// Hosts of a fixture, each behind a socket.
pub(crate) struct Served<F> {
    fixture: F,
    place: Place,
    server: Mutex<Option<JoinHandle<()>>>,
}

impl<F> Served<F> {
    pub(crate) fn new(fixture: F) -> Result<Self, String> {
        Ok(Self { fixture, place: Place::new("sessions")?, server: Mutex::default() })
    }

    fn server(&self) -> std::sync::MutexGuard<'_, Option<JoinHandle<()>>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: HostFixture> HostFixture for Served<F> {
    #[expect(clippy::panic, reason = "without a socket there is nothing to prove")]
    fn open(&self, policy: AskPolicy) -> BoxFuture<'_, Arc<dyn Sessions>> {
        Box::pin(async move {
            let host = self.fixture.open(policy).await;
            let served = serve(host, &self.place.path().join("host.sock")).await;
            let (remote, server) =
                served.unwrap_or_else(|problem| panic!("cannot serve the host: {problem}"));
            *self.server() = Some(server);
            Arc::new(remote) as Arc<dyn Sessions>
        })
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        let server = self.server().take();
        Box::pin(async move {
            if let Some(server) = server {
                server.abort();
                let _ = server.await;
            }
            self.fixture.crash().await;
        })
    }

    fn directories(&self) -> [String; 2] {
        self.fixture.directories()
    }

    fn model(&self) -> &ModelScript {
        self.fixture.model()
    }

    fn files(&self) -> &ScriptedFiles {
        self.fixture.files()
    }

    fn other_mode(&self) -> String {
        self.fixture.other_mode()
    }

    fn other_model(&self) -> String {
        self.fixture.other_model()
    }

    fn journal<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Vec<Event>> {
        self.fixture.journal(session_id)
    }
}
