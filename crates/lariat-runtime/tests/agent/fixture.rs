//! Test fixtures: a clock on tokio's time, an agent on a script, views of journals and requests.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::clock::Clock;
use lariat_core::event::{AgentEvent, Event, LoopStart};
use lariat_core::id::SessionId;
use lariat_core::message::{AgentMessage, Message};
use lariat_core::model::{ModelConfig, StreamConfig};
use lariat_core::permission::AllowAll;
use lariat_core::run::RunConfig;
use lariat_core::store::SessionStore;
use lariat_core::time::Timestamp;
use lariat_core::tool::ToolEffects;
use lariat_runtime::drive::{
    Journal, JournalConfig, MAX_TOOL_OUTPUT, Ports, RequestTemplate, TOOL_GRACE, ToolSet,
};
use lariat_runtime::redact::Redactor;
use lariat_runtime::system::SystemEntropy;
use lariat_runtime::{Agent, AgentBuilder, AgentLoopConfig, MemoryStore, RunStream};
use lariat_test::{Act, EPOCH, Ledger, LedgerTool, Reply, ScriptedModel, VirtualClock};
use serde_json::json;

/// Tokio's time as a clock: in a paused runtime, time passes only when all tasks wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokioClock {
    start: tokio::time::Instant,
}

impl TokioClock {
    pub(crate) fn shared() -> Arc<dyn Clock> {
        Arc::new(Self { start: tokio::time::Instant::now() })
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        EPOCH.after(self.start.elapsed())
    }

    fn sleep_until(&self, deadline: Timestamp) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(self.start + deadline.since(EPOCH)))
    }
}

/// The fixtures of an agent that outlive it: model, store, ledger and clock.
pub(crate) struct Fixture {
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) ledger: Ledger,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Fixture {
    /// Creates fixtures on tokio's time.
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with_model(ScriptedModel::new(replies))
    }

    pub(crate) fn with_model(model: ScriptedModel) -> Self {
        Self::at(TokioClock::shared(), model)
    }

    /// Creates fixtures with a clock that stands still: for runtimes whose time cannot be paused.
    pub(crate) fn without_time(model: ScriptedModel) -> Self {
        Self::at(VirtualClock::new().shared(), model)
    }

    fn at(clock: Arc<dyn Clock>, model: ScriptedModel) -> Self {
        let model = model.with_clock(Arc::clone(&clock)).with_recording();
        Self { model: Arc::new(model), store: Arc::new(MemoryStore::new()), ledger: Ledger::new(), clock }
    }

    /// Creates an agent with these fixtures that may run every tool.
    pub(crate) fn agent(&self) -> AgentBuilder {
        Agent::builder()
            .provider(self.model.clone())
            .store(self.store.clone())
            .clock(Arc::clone(&self.clock))
            .permission_policy(AllowAll)
    }

    /// Creates a tool with write effects.
    pub(crate) fn tool(&self, name: &str, act: impl Fn() -> Act + Send + 'static) -> LedgerTool {
        LedgerTool::new(name, self.ledger.clone(), Arc::clone(&self.clock))
            .with_effects(ToolEffects::WRITES)
            .with_script(move |_| act())
    }

    /// Creates the configuration of a loop without an agent, with the tool `write`.
    pub(crate) fn loop_config(
        &self,
        model: &Arc<ScriptedModel>,
        name: &str,
        run: RunConfig,
        act: fn() -> Act,
    ) -> AgentLoopConfig {
        let ports = Ports {
            model: model.clone(),
            request: RequestTemplate::new(ModelConfig::new("scripted", name)),
            tools: ToolSet::new([Arc::new(self.tool("write", act)) as Arc<_>]),
            policy: Arc::new(AllowAll),
            approver: None,
            redactor: Redactor::default(),
            hooks: Arc::new(lariat_core::hooks::NoHooks),
            filters: Vec::new(),
            sections: None,
            notes: None,
            budget: Default::default(),
            compaction: Arc::new(lariat_core::context::TieredCompaction),
            clock: self.clock.clone(),
            entropy: Arc::new(SystemEntropy::new()),
            lineage: lariat_runtime::drive::Lineage::default(),
            tool_grace: TOOL_GRACE,
            max_tool_output: MAX_TOOL_OUTPUT,
        };
        AgentLoopConfig::new(ports, run, Some(name.to_owned()))
    }

    /// Opens the journal of the session `s`, as another process would.
    pub(crate) fn open_journal(&self) -> Arc<Journal> {
        let entropy = Arc::new(SystemEntropy::new());
        let store = self.store.clone();
        Arc::new(Journal::new(store, "s".into(), self.clock.clone(), entropy, JournalConfig::default()))
    }

    pub(crate) async fn journal(&self, session_id: &SessionId) -> Vec<Event> {
        journal(&*self.store, session_id).await
    }

    /// Returns the messages of a request to the model, as `role: text`.
    pub(crate) fn sent_messages(&self, request: usize) -> Vec<String> {
        sent_messages(&self.model.recorded_requests()[request])
    }

    /// Asserts that a real API would have accepted all requests.
    pub(crate) fn assert_valid(&self) {
        assert_eq!(self.model.violations(), []);
    }
}

pub(crate) async fn journal(store: &dyn SessionStore, session_id: &SessionId) -> Vec<Event> {
    store.read(session_id, 0, usize::MAX).await.unwrap()
}

pub(crate) fn sent_messages(request: &StreamConfig) -> Vec<String> {
    request.messages.iter().map(|message| formatted(message)).collect()
}

/// Formats a message as `role: text`.
pub(crate) fn formatted(message: &AgentMessage) -> String {
    let Some(message) = message.as_llm() else { return "extension".to_owned() };
    let role = match message {
        Message::User(_) => "user",
        Message::Assistant(_) => "assistant",
        Message::ToolResult(_) => "tool",
    };
    format!("{role}: {}", message.text())
}

pub(crate) fn call(id: &str, tool: &str) -> Reply {
    Reply::tool_call(id, tool, json!({}))
}

/// Returns the serialised type of an event.
pub(crate) fn kind(event: &Event) -> String {
    serde_json::to_value(&**event).unwrap()["type"].as_str().unwrap().to_owned()
}

pub(crate) fn kinds(events: &[Event]) -> Vec<String> {
    events.iter().map(kind).collect()
}

/// Returns only the durable events.
pub(crate) fn durable(events: &[Event]) -> Vec<Event> {
    events.iter().filter(|event| event.is_durable()).cloned().collect()
}

pub(crate) fn starts(events: &[Event]) -> Vec<LoopStart> {
    let start = |event: &Event| match &event.event {
        AgentEvent::AgentStart(start) => Some(LoopStart::clone(start)),
        _ => None,
    };
    events.iter().filter_map(start).collect()
}

/// Reads a stream up to an event of a type.
pub(crate) async fn until(stream: &mut RunStream, wanted: &str) -> Event {
    while let Some(event) = stream.next().await {
        if kind(&event) == wanted {
            return event;
        }
    }
    panic!("the stream ended without {wanted}");
}

/// Reads the rest of a stream.
pub(crate) async fn rest(stream: &mut RunStream) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    events
}

/// Waits until no run is active; fails the test if a run does not end.
pub(crate) async fn idle(agent: &Agent) {
    for _ in 0..100_000 {
        if !agent.is_streaming() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the run did not end");
}
