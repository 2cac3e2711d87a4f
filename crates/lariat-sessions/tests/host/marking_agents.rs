//! Agents for the conformance suite of session hosts: its model, its tool, its files and the user's shell.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use lariat_api::{FileDiff, Problem, ProblemCode};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::clock::{Clock, EntropySource};
use lariat_core::event::FileRestoreResult;
use lariat_core::model::{ModelConfig, ModelStream, StreamConfig, StreamProvider};
use lariat_core::permission::{PermissionRequest, Verdict};
use lariat_runtime::Agent;
use lariat_runtime::drive::JournalConfig;
use lariat_sessions::{
    AgentFactory, AgentRequest, FileHistory, HostedAgent, PermissionModes, ShellOutput, UserShell,
};
use lariat_test::sessions::{Approval, ModelScript, ScriptedFiles};
use lariat_test::{Act, Ledger, LedgerTool, ScriptedPolicy};
use serde_json::json;

/// Builds agents with the model of the suite and a tool that leaves marks. Clones share the model and the files.
#[derive(Clone)]
pub(crate) struct MarkingAgents {
    pub(crate) model: ModelScript,
    pub(crate) files: ScriptedFiles,
    /// Runs store a snapshot after about so many events.
    pub(crate) snapshot_every: u64,
    /// The life of the process that the agents belong to.
    pub(crate) life: Life,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn EntropySource>,
}

impl MarkingAgents {
    pub(crate) fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn EntropySource>) -> Self {
        let model = ModelScript::new(|mark, approval| {
            ("mark".to_owned(), json!({"mark": mark, "asks": approval == Approval::Needed}))
        });
        let files = ScriptedFiles::new(&model);
        Self { model, files, snapshot_every: 4096, life: Life::default(), clock, entropy }
    }

    fn shared_files(&self) -> Arc<SharedFiles> {
        Arc::new(SharedFiles { files: self.files.clone(), life: self.life.clone() })
    }
}

/// The life of a process. What it does goes through [`Life::act`], so that nothing happens after its end, although its
/// tasks still exist.
#[derive(Clone, Default)]
pub(crate) struct Life(CancellationToken);

impl Life {
    /// Ends the life, as `kill -9` does.
    pub(crate) fn end(&self) {
        self.0.cancel();
    }

    fn has_ended(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Does something. Never returns if the life ends before.
    pub(crate) async fn act<T>(&self, action: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            () = self.0.cancelled() => std::future::pending().await,
            result = action => result,
        }
    }
}

/// The model, as long as the process lives.
struct LivingModel {
    model: ModelScript,
    life: Life,
}

impl StreamProvider for LivingModel {
    fn provider_id(&self) -> &str {
        self.model.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        let (model, life) = (self.model.clone(), self.life.clone());
        Box::pin(
            stream::once(async move { life.act(async { model.stream(request, cancel) }).await }).flatten(),
        )
    }
}

impl AgentFactory for MarkingAgents {
    fn build<'a>(&'a self, request: AgentRequest<'a>) -> BoxFuture<'a, Result<HostedAgent, Problem>> {
        let (clock, files, life) = (Arc::clone(&self.clock), self.files.clone(), self.life.clone());
        let mark = LedgerTool::new("mark", Ledger::new(), clock.clone()).with_script(move |call| {
            if life.has_ended() {
                return Act::never().ignoring_cancel();
            }
            // The machine may give a call another id than the model did.
            files.add(call.call_id.as_str(), call.args["mark"].as_str().unwrap());
            // Long enough for a crash between the effect and its record.
            Act::text("marked").after(Duration::from_millis(5))
        });
        let policy = ScriptedPolicy::new(clock, |query| {
            if query.call.arguments["asks"] == json!(true) {
                Verdict::Ask(PermissionRequest::new(query.call, "leave a mark")).into()
            } else {
                Verdict::Allow.into()
            }
        });
        let name = request.model.map_or("first-model", |model| model.name.as_str());
        let agent = Agent::builder()
            .provider(LivingModel { model: self.model.clone(), life: self.life.clone() })
            .clock(Arc::clone(&self.clock))
            .entropy(Arc::clone(&self.entropy))
            .model_config(ModelConfig::new("scripted", name))
            .store(Arc::clone(request.store))
            .session_id(request.session_id.clone())
            .journal(JournalConfig { snapshot_every: self.snapshot_every, ..JournalConfig::default() })
            .permission_policy(policy)
            .tool(mark)
            .build();
        let modes = Arc::new(Modes(Mutex::new(request.mode.unwrap_or("default").to_owned())));
        let shell = self.shared_files();
        Box::pin(async move { Ok(HostedAgent::new(agent.unwrap()).with_modes(modes).with_shell(shell)) })
    }

    fn file_history(&self, _directory: &str) -> Option<Arc<dyn FileHistory>> {
        Some(self.shared_files())
    }
}

/// The files of the suite as a session sees them.
struct SharedFiles {
    files: ScriptedFiles,
    life: Life,
}

impl FileHistory for SharedFiles {
    fn diff(&self, _: HashSet<String>) -> BoxFuture<'_, Result<Vec<FileDiff>, Problem>> {
        Box::pin(async move { Ok(Vec::new()) })
    }

    fn plan(&self, calls: HashSet<String>) -> BoxFuture<'_, Result<Vec<String>, Problem>> {
        Box::pin(async move { Ok(self.files.plan(&calls)) })
    }

    fn restore(&self, calls: HashSet<String>) -> BoxFuture<'_, Result<FileRestoreResult, Problem>> {
        Box::pin(async move {
            let mut result = FileRestoreResult::default();
            result.restored = self.life.act(self.files.undo(&calls)).await;
            Ok(result)
        })
    }
}

impl UserShell for SharedFiles {
    fn check(&self, _: &str) -> Result<(), Problem> {
        Ok(())
    }

    fn run<'a>(
        &'a self,
        call_id: &'a str,
        command: &'a str,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, ShellOutput> {
        Box::pin(self.life.act(async move {
            self.files.add(call_id, command);
            tokio::select! {
                biased;
                text = self.files.output(command) => ShellOutput { text, exit_code: Some(0), problem: None },
                () = cancel.cancelled() => {
                    ShellOutput { problem: Some("interrupted".to_owned()), ..ShellOutput::default() }
                }
            }
        }))
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
