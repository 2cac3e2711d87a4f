//! Hosts in this process for the conformance suite: on one store in memory, each on a runtime of its own.
//!
//! The proof of sessions uses this module, too.

use std::sync::{Arc, Mutex};

use lariat_api::{AskPolicy, Principal, Sessions};
use lariat_core::BoxFuture;
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::SessionStore;
use lariat_runtime::system::{SystemClock, SystemEntropy};
use lariat_sessions::{AgentFactory, HostOptions, Local};
use lariat_store::sqlite::SqliteStore;
use lariat_test::sessions::{CrashMoments, HostFixture, ModelScript, ScriptedFiles};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use super::marking_agents::MarkingAgents;
use super::on_runtime::{OnRuntime, end, new_runtime};

/// Hosts on one store in memory, each on a runtime of its own.
pub(crate) struct LocalHosts {
    agents: Arc<MarkingAgents>,
    store: OnceCell<Arc<SqliteStore>>,
    runtime: Mutex<Option<Runtime>>,
    /// Where scripts crash the host.
    pub(crate) crash_moments: CrashMoments,
}

impl LocalHosts {
    /// Creates a place without sessions. Runs store a snapshot after about so many events.
    pub(crate) fn new(snapshot_every: u64) -> Self {
        let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy::new()));
        let mut agents = MarkingAgents::new(clock, entropy);
        agents.snapshot_every = snapshot_every;
        Self {
            agents: Arc::new(agents),
            store: OnceCell::new(),
            runtime: Mutex::default(),
            crash_moments: CrashMoments::AfterStepsAndDuringCommands,
        }
    }

    async fn store(&self) -> Arc<SqliteStore> {
        let store = self.store.get_or_init(async || Arc::new(SqliteStore::in_memory().await.unwrap()));
        Arc::clone(store.await)
    }
}

impl HostFixture for LocalHosts {
    fn crash_moments(&self) -> CrashMoments {
        self.crash_moments
    }

    fn open(&self, policy: AskPolicy) -> BoxFuture<'_, Arc<dyn Sessions>> {
        Box::pin(async move {
            let store = self.store().await;
            let runtime = new_runtime();
            let mut options = HostOptions::default();
            options.ask_policy = policy;
            let agents = Arc::clone(&self.agents) as Arc<dyn AgentFactory>;
            let local = Local::new(store, agents, Principal::new("user:ada"), options);
            let host = OnRuntime { host: Arc::new(local), runtime: runtime.handle().clone() };
            *self.runtime.lock().unwrap() = Some(runtime);
            Arc::new(host) as Arc<dyn Sessions>
        })
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        let runtime = self.runtime.lock().unwrap().take();
        Box::pin(async move {
            if let Some(runtime) = runtime {
                end(runtime).await;
            }
        })
    }

    fn directories(&self) -> [String; 2] {
        ["/project".to_owned(), "/elsewhere".to_owned()]
    }

    fn model(&self) -> &ModelScript {
        &self.agents.model
    }

    fn files(&self) -> &ScriptedFiles {
        &self.agents.files
    }

    fn other_mode(&self) -> String {
        "careful".to_owned()
    }

    fn other_model(&self) -> String {
        "second-model".to_owned()
    }

    fn journal<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Vec<Event>> {
        Box::pin(async move { self.store().await.read(session_id, 0, usize::MAX).await.unwrap() })
    }
}

impl Drop for LocalHosts {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.lock().unwrap().take() {
            runtime.shutdown_background();
        }
    }
}
