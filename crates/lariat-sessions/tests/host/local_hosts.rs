//! Hosts in this process for the conformance suite: on one store in memory, each on a runtime of its own.
//!
//! The proof of sessions uses this module, too.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_api::{AskPolicy, Principal, Problem, ProblemCode, Sessions};
use lariat_core::BoxFuture;
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::model::ModelConfig;
use lariat_core::permission::{PermissionRequest, Verdict};
use lariat_core::store::SessionStore;
use lariat_runtime::Agent;
use lariat_runtime::drive::JournalConfig;
use lariat_runtime::system::SystemClock;
use lariat_sessions::{AgentFactory, AgentRequest, HostOptions, HostedAgent, Local, PermissionModes};
use lariat_store::sqlite::SqliteStore;
use lariat_test::sessions::{Approval, HostFixture, ModelScript};
use lariat_test::{Act, Ledger, LedgerTool, ScriptedPolicy};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use super::on_runtime::{OnRuntime, end, new_runtime};

/// Builds agents with the model of the suite and a tool that leaves marks.
struct MarkingAgents {
    model: ModelScript,
    ledger: Ledger,
    snapshot_every: u64,
}

impl AgentFactory for MarkingAgents {
    fn build<'a>(&'a self, request: AgentRequest<'a>) -> BoxFuture<'a, Result<HostedAgent, Problem>> {
        let clock = Arc::new(SystemClock);
        let mark = LedgerTool::new("mark", self.ledger.clone(), clock.clone())
            // Long enough for a crash between the effect and its record.
            .with_script(|_| Act::text("marked").after(Duration::from_millis(5)));
        let policy = ScriptedPolicy::new(clock, |query| {
            if query.call.arguments["asks"] == json!(true) {
                Verdict::Ask(PermissionRequest::new(query.call, "leave a mark")).into()
            } else {
                Verdict::Allow.into()
            }
        });
        let name = request.model.map_or("first-model", |model| model.name.as_str());
        let agent = Agent::builder()
            .provider(self.model.clone())
            .model_config(ModelConfig::new("scripted", name))
            .store(Arc::clone(request.store))
            .session_id(request.session_id.clone())
            .journal(JournalConfig { snapshot_every: self.snapshot_every, ..JournalConfig::default() })
            .permission_policy(policy)
            .tool(mark)
            .build();
        let modes = Arc::new(Modes(Mutex::new(request.mode.unwrap_or("default").to_owned())));
        Box::pin(async move { Ok(HostedAgent::new(agent.unwrap()).with_modes(modes)) })
    }
}

struct Modes(Mutex<String>);

impl PermissionModes for Modes {
    fn mode(&self) -> String {
        self.0.lock().unwrap().clone()
    }

    fn set_mode(&self, mode: &str) -> Result<String, Problem> {
        if !["default", "careful"].contains(&mode) {
            return Err(Problem::new(ProblemCode::Invalid, "unknown mode"));
        }
        mode.clone_into(&mut self.0.lock().unwrap());
        Ok(mode.to_owned())
    }
}

/// Hosts on one store in memory, each on a runtime of its own.
pub(crate) struct LocalHosts {
    agents: Arc<MarkingAgents>,
    store: OnceCell<Arc<SqliteStore>>,
    runtime: Mutex<Option<Runtime>>,
}

impl LocalHosts {
    /// Creates a place without sessions. Runs store a snapshot after about so many events.
    pub(crate) fn new(snapshot_every: u64) -> Self {
        let model = ModelScript::new(|mark, approval| {
            ("mark".to_owned(), json!({"mark": mark, "asks": approval == Approval::Needed}))
        });
        let agents = Arc::new(MarkingAgents { model, ledger: Ledger::new(), snapshot_every });
        Self { agents, store: OnceCell::new(), runtime: Mutex::default() }
    }

    async fn store(&self) -> Arc<SqliteStore> {
        let store = self.store.get_or_init(async || Arc::new(SqliteStore::in_memory().await.unwrap()));
        Arc::clone(store.await)
    }
}

impl HostFixture for LocalHosts {
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

    fn marks(&self) -> Vec<String> {
        self.agents.ledger.all().into_iter().map(|execution| execution.call_id.to_string()).collect()
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
