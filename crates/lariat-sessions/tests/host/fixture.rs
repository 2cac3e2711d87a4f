//! A host on a store in memory: a scripted model, a tool that takes time and one that needs approval.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use lariat_api::{
    Action, AskPolicy, ClientName, CommandId, CreateSession, Delivery, LogItem, LogRequest, Principal,
    Problem, PromptContent, Receipt, SessionCommand, SessionStatus, SessionView, Sessions,
};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::config::ContextConfig;
use lariat_core::context::{CompactionProposal, CompactionQuery, CompactionStrategy};
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::SessionId;
use lariat_core::permission::{AskBeforeEffects, PermissionPolicy, PolicyQuery, Verdict};
use lariat_core::store::SessionStore;
use lariat_core::tool::ToolEffects;
use lariat_runtime::Agent;
use lariat_runtime::system::SystemClock;
use lariat_sessions::{AgentFactory, AgentRequest, HostOptions, HostedAgent, Local};
use lariat_store::sqlite::SqliteStore;
use lariat_test::{Act, Ledger, LedgerTool, Reply, ScriptedModel};
use serde_json::json;
use tokio::sync::Notify;

/// Builds agents on one scripted model.
pub(crate) struct ScriptedAgents {
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) ledger: Ledger,
    /// Notified when the permission check of a tool call with `wait` begins.
    pub(crate) judging: Arc<Notify>,
    /// Notified when a compaction begins.
    pub(crate) compacting: Arc<Notify>,
}

impl AgentFactory for ScriptedAgents {
    fn build<'a>(&'a self, request: AgentRequest<'a>) -> BoxFuture<'a, Result<HostedAgent, Problem>> {
        let clock = Arc::new(SystemClock);
        let slow = LedgerTool::new("slow", self.ledger.clone(), clock.clone())
            .with_effects(ToolEffects::READS)
            .with_script(|_| Act::text("ok").after(Duration::from_millis(300)));
        let write = LedgerTool::new("write", self.ledger.clone(), clock)
            .with_effects(ToolEffects::WRITES)
            .with_script(|_| Act::text("written"));
        let agent = Agent::builder()
            .provider(self.model.clone())
            .store(Arc::clone(request.store))
            .session_id(request.session_id.clone())
            .context(Some(ContextConfig::with_window(200_000)))
            .permission_policy(JudgingPolicy(Arc::clone(&self.judging)))
            .compaction(WaitingCompaction(Arc::clone(&self.compacting)))
            .tool(slow)
            .tool(write)
            .build();
        Box::pin(async move { Ok(HostedAgent::new(agent.unwrap())) })
    }
}

/// Asks before effects. Denies a tool call with the argument `deny`, adds one with `plan` to the plan, and never decides about one
/// with `wait`.
struct JudgingPolicy(Arc<Notify>);

impl PermissionPolicy for JudgingPolicy {
    fn check<'a>(&'a self, query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        let has = |name: &str| query.call.arguments.get(name).is_some();
        if has("wait") {
            self.0.notify_one();
            return Box::pin(std::future::pending());
        }
        if has("deny") {
            return Box::pin(std::future::ready(Verdict::Deny("a rule denies it".to_owned())));
        }
        if has("plan") {
            return Box::pin(std::future::ready(Verdict::Queue { summary: "write a file".to_owned() }));
        }
        AskBeforeEffects.check(query)
    }
}

/// Never ends with the focus `wait`, unless it is interrupted. Otherwise it proposes nothing.
struct WaitingCompaction(Arc<Notify>);

impl CompactionStrategy for WaitingCompaction {
    fn compact<'a>(
        &'a self,
        query: CompactionQuery,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, CompactionProposal> {
        Box::pin(async move {
            self.0.notify_one();
            if query.focus.as_deref() == Some("wait") {
                cancel.cancelled().await;
            }
            CompactionProposal::default()
        })
    }
}

pub(crate) struct Fixture {
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) agents: Arc<ScriptedAgents>,
    pub(crate) host: Local,
    pub(crate) session_id: SessionId,
}

impl Fixture {
    /// Creates a host with one session whose questions wait.
    pub(crate) async fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with_policy(replies, AskPolicy::Wait).await
    }

    pub(crate) async fn with_policy(replies: impl IntoIterator<Item = Reply>, policy: AskPolicy) -> Self {
        let store = Arc::new(SqliteStore::in_memory().await.unwrap());
        let model = Arc::new(ScriptedModel::new(replies).with_recording());
        let agents = Arc::new(ScriptedAgents {
            model,
            ledger: Ledger::new(),
            judging: Arc::default(),
            compacting: Arc::default(),
        });
        let mut options = HostOptions::default();
        options.ask_policy = policy;
        let host = Local::new(store.clone(), agents.clone(), Principal::new("user:ada"), options);
        let session_id = SessionId::from("s");
        host.create(CreateSession::new(session_id.clone(), "/project")).await.unwrap();
        Self { store, agents, host, session_id }
    }

    pub(crate) async fn send(&self, id: &str, action: Action) -> Result<Receipt, Problem> {
        let command = SessionCommand::new(CommandId::new(id), ClientName::new("test"), action);
        self.host.send(&self.session_id, command).await
    }

    pub(crate) async fn prompt(&self, id: &str, text: &str, delivery: Delivery) -> Result<Receipt, Problem> {
        self.send(id, Action::Prompt { content: PromptContent::text(text), delivery }).await
    }

    pub(crate) async fn view(&self) -> SessionView {
        self.host.view(&self.session_id).await.unwrap()
    }

    pub(crate) async fn journal(&self) -> Vec<Event> {
        self.store.read(&self.session_id, 0, usize::MAX).await.unwrap()
    }

    /// Waits until a view fits.
    pub(crate) async fn until(&self, fits: impl Fn(&SessionView) -> bool) -> SessionView {
        for _ in 0..500 {
            let view = self.view().await;
            if fits(&view) {
                return view;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the session did not reach the state; it is {:#?}", self.view().await)
    }

    pub(crate) async fn until_idle(&self) -> SessionView {
        self.until(|view| view.status == SessionStatus::Idle).await
    }

    /// Reads the log up to its present end.
    pub(crate) async fn log(&self, request: LogRequest) -> Vec<LogItem> {
        let items = self.host.log(&self.session_id, request).await.unwrap();
        items.map(Result::unwrap).collect().await
    }

    /// The texts of the user's messages in the newest request to the model.
    pub(crate) fn sent_texts(&self) -> Vec<String> {
        let requests = self.agents.model.recorded_requests();
        let request = requests.last().unwrap();
        let messages = request.messages.iter();
        messages.filter_map(|message| message.as_user().map(|_| message.as_llm().unwrap().text())).collect()
    }
}

pub(crate) fn call(id: &str, tool: &str) -> Reply {
    Reply::tool_call(id, tool, json!({}))
}

/// The ids of the accepted commands, without the one that created the session.
pub(crate) fn accepted(journal: &[Event]) -> Vec<String> {
    let id = |event: &Event| match &event.event {
        AgentEvent::CommandAccepted(command) if command.action != "create" => {
            Some(command.command_id.clone())
        }
        _ => None,
    };
    journal.iter().filter_map(id).collect()
}
