//! A host behind the wire passes the conformance suite of session hosts: the toy host of the suite, over a real socket.

#[path = "../../../lariat-test/tests/sessions/handle.rs"]
mod handle;
#[path = "../../../lariat-test/tests/sessions/outside_runs.rs"]
mod outside_runs;
#[path = "../../../lariat-test/tests/sessions/state.rs"]
mod state;
#[path = "../../../lariat-test/tests/sessions/toy.rs"]
mod toy;

use std::sync::{Arc, Mutex};

use lariat_api::{AskPolicy, Principal, Sessions};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_server::unix::{self, HostSocket};
use lariat_server::{Host, routes};
use lariat_test::sessions::{CrashMoments, HostFixture, ModelScript, ScriptedFiles};
use tokio::task::JoinHandle;
use toy::Toy;

use crate::fixture::{Place, SOON, remote};

/// Serves one host to every principal.
struct ServedHost(Arc<dyn Sessions>);

impl Host for ServedHost {
    fn sessions_for(&self, _: &Principal) -> Arc<dyn Sessions> {
        Arc::clone(&self.0)
    }

    fn version(&self) -> String {
        "toy".to_owned()
    }

    fn running(&self) -> u64 {
        0
    }

    fn stop(&self) {}
}

/// The toy host behind a socket.
struct ServedToy {
    toy: Toy,
    place: Place,
    server: Mutex<Option<JoinHandle<()>>>,
}

impl ServedToy {
    fn new() -> Self {
        Self { toy: Toy::new(None), place: Place::new(), server: Mutex::default() }
    }
}

impl HostFixture for ServedToy {
    /// The toy passes the whole suite without a server.
    fn crash_moments(&self) -> CrashMoments {
        CrashMoments::AfterSteps
    }

    fn open(&self, policy: AskPolicy) -> BoxFuture<'_, Arc<dyn Sessions>> {
        Box::pin(async move {
            let host = Arc::new(ServedHost(self.toy.open(policy).await));
            let stop = CancellationToken::new();
            let socket = HostSocket::bind(&self.place.socket(), SOON).await.unwrap();
            let router = routes::router(host, stop.clone());
            let server = tokio::spawn(socket.serve(router, unix::principal(Some("me")), stop));
            *self.server.lock().unwrap() = Some(server);
            Arc::new(remote(&self.place.socket())) as Arc<dyn Sessions>
        })
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        let server = self.server.lock().unwrap().take();
        Box::pin(async move {
            if let Some(server) = server {
                server.abort();
                let _ = server.await;
            }
            self.toy.crash().await;
        })
    }

    fn directories(&self) -> [String; 2] {
        self.toy.directories()
    }

    fn model(&self) -> &ModelScript {
        self.toy.model()
    }

    fn files(&self) -> &ScriptedFiles {
        self.toy.files()
    }

    fn other_mode(&self) -> String {
        self.toy.other_mode()
    }

    fn other_model(&self) -> String {
        self.toy.other_model()
    }

    fn journal<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Vec<Event>> {
        self.toy.journal(session_id)
    }
}

lariat_test::session_conformance!(ServedToy::new());
