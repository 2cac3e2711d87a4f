//! The snapshot fixture: an agent whose requests are recorded in the format of the wire.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use lariat::context::{Section, SectionStability as Where};
use lariat::host::files::Workspace;
use lariat::local::MemoryFiles;
use lariat::model::ApiProtocol;
use lariat::model::{ModelStream, StreamConfig};
use lariat::permission::Trust;
use lariat::serde_json::{Value, json};
use lariat::tool::Access;
use lariat::{
    Agent, AgentBuilder, AgentTool, BoxFuture, CancellationToken, MemoryStore, ModelConfig, PermissionPolicy,
    PolicyQuery, StreamProvider, ToolContext, ToolError, ToolResult, Verdict,
};
use lariat_test::{Reply, ScriptedModel, SeededEntropy, VirtualClock};

use crate::test_dirs::TestDirs;

/// One situation: everything but the script of the model.
pub(super) struct Scenario {
    api: ApiProtocol,
    pub(super) dirs: TestDirs,
    pub(super) clock: VirtualClock,
    pub(super) policy: Arc<PlanModePolicy>,
    pub(super) store: Arc<MemoryStore>,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
    /// The agent and the message to steer it with while its first request is answered.
    pub(super) steering: Arc<OnceLock<(Agent, &'static str)>>,
}

/// Plays a situation over two protocols and snapshots the last request of each.
pub(super) async fn snapshot(name: &str, act: impl AsyncFn(&Scenario)) {
    for (wire, api) in
        [("anthropic", ApiProtocol::AnthropicMessages), ("responses", ApiProtocol::OpenAiResponses)]
    {
        let scenario = Scenario {
            api,
            dirs: TestDirs::new(),
            clock: VirtualClock::new(),
            policy: Arc::default(),
            store: Arc::default(),
            sent: Arc::default(),
            steering: Arc::default(),
        };
        act(&scenario).await;
        let body: Value = lariat::serde_json::from_slice(&scenario.last()).unwrap();
        let mut text = String::new();
        readable(&body, 0, &mut text);
        let text = text.replace(&*scenario.dirs.path("").display().to_string(), "/place/");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots/requests");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format!("{name}.{wire}"), text));
    }
}

impl Scenario {
    /// An agent without a system prompt, on a script.
    pub(super) fn bare(&self, replies: impl IntoIterator<Item = Reply>) -> AgentBuilder {
        let provider = if self.api == ApiProtocol::AnthropicMessages { "anthropic" } else { "openai" };
        let id = if provider == "anthropic" { "claude-sonnet-4-5" } else { "gpt-5" };
        let mut model = ModelConfig::new(self.api.as_str(), id);
        model.provider = provider.to_owned();
        model.max_tokens = Some(8_192);
        Agent::builder()
            .model(RecordingProvider {
                api: self.api,
                model: ScriptedModel::new(replies).with_provider_id(provider),
                sent: Arc::clone(&self.sent),
                steering: Arc::clone(&self.steering),
            })
            .model_config(model)
            .clock(self.clock.shared())
            .entropy(Arc::new(SeededEntropy::new(7)))
            .store(self.store.clone())
            .session_id("s")
            .permission_policy(self.policy.clone())
    }

    /// Like `bare`, with a base section, so that the rest of the prompt has something to follow.
    pub(super) fn agent(&self, replies: impl IntoIterator<Item = Reply>) -> AgentBuilder {
        self.bare(replies).section(Section::new("base", Where::Static, "You work on a project."))
    }

    /// Like `agent`, with the memory files of the project and the user.
    pub(super) fn with_memory(&self, trust: Trust, replies: impl IntoIterator<Item = Reply>) -> AgentBuilder {
        let memory = Arc::new(self.memory(trust));
        self.agent(replies).sections(Arc::clone(&memory)).context_source(memory).tool(tool("read_file"))
    }

    pub(super) fn memory(&self, trust: Trust) -> MemoryFiles {
        MemoryFiles::new(&self.workspace(), Some(&self.dirs.path("home")), trust)
    }

    pub(super) fn workspace(&self) -> Workspace {
        Workspace::open(self.dirs.path("project")).unwrap()
    }

    pub(super) fn last(&self) -> Vec<u8> {
        self.sent.lock().unwrap().last().cloned().unwrap()
    }
}

/// Runs prompts one after the other.
pub(super) async fn run(builder: AgentBuilder, prompts: &[&str]) -> Agent {
    let agent = builder.build().unwrap();
    for prompt in prompts {
        let output = agent.run(*prompt).await.unwrap();
        assert!(output.outcome.is_completed(), "{:?}", output.outcome);
    }
    agent
}

/// Records the body of each request as it would be sent, and lets a script answer.
struct RecordingProvider {
    api: ApiProtocol,
    model: ScriptedModel,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
    steering: Arc<OnceLock<(Agent, &'static str)>>,
}

impl StreamProvider for RecordingProvider {
    fn provider_id(&self) -> &str {
        self.model.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        let outgoing =
            self.api.implementation().request(&request).expect("a request that the provider accepts");
        self.sent.lock().unwrap().push(outgoing.body.to_vec());
        if let Some((agent, words)) = self.steering.get().filter(|_| self.model.requests() == 0) {
            agent.steer(*words);
        }
        self.model.stream(request, cancel)
    }
}

/// Allows everything; only reads in plan mode.
#[derive(Default)]
pub(super) struct PlanModePolicy(AtomicBool);

impl PlanModePolicy {
    pub(super) fn plan(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }
}

impl PermissionPolicy for PlanModePolicy {
    fn check<'a>(&'a self, _: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready(Verdict::Allow))
    }

    fn access(&self) -> Access {
        if self.0.load(Ordering::Relaxed) { Access::Reads } else { Access::Full }
    }
}

/// A tool that returns its argument `say`, and fails with its argument `fail`.
pub(super) fn tool(name: &'static str) -> impl AgentTool + 'static {
    Echo(name)
}

struct Echo(&'static str);

impl AgentTool for Echo {
    fn name(&self) -> &str {
        self.0
    }

    fn description(&self) -> &str {
        "Does something."
    }

    fn parameters_schema(&self) -> Value {
        json!({"type": "object", "properties": {}})
    }

    fn execute<'a>(&'a self, params: Value, _: ToolContext) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        let text = |name: &str| params.get(name).and_then(Value::as_str).map(str::to_owned);
        let lines = params.get("lines").and_then(Value::as_u64).unwrap_or(0);
        let said = || (0..lines).map(|n| format!("line {n}\n")).collect::<String>() + "done";
        let result = match text("fail") {
            Some(why) => Err(ToolError::Failed(why)),
            None => Ok(ToolResult::text(text("say").unwrap_or_else(said))),
        };
        Box::pin(std::future::ready(result))
    }
}

/// Formats a request for review: names and values below each other, texts with their line breaks.
fn readable(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                out.push_str(&format!("{indent}{name}:"));
                nested(value, depth, out);
            }
        }
        Value::Array(items) => {
            for item in items {
                out.push_str(&format!("{indent}-"));
                nested(item, depth, out);
            }
        }
        scalar => out.push_str(&format!("{indent}{scalar}\n")),
    }
}

fn nested(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth + 1);
    match value {
        Value::String(text) if text.contains('\n') => {
            out.push_str(" |\n");
            text.split('\n').for_each(|line| out.push_str(&format!("{indent}{line}\n")));
        }
        Value::Object(fields) if !fields.is_empty() => {
            out.push('\n');
            readable(value, depth + 1, out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            readable(value, depth + 1, out);
        }
        scalar => out.push_str(&format!(" {scalar}\n")),
    }
}

/// The format must show a change of a single letter.
#[test]
fn formatted_request_shows_every_character() {
    let mut text = String::new();
    readable(&json!({"a": ["x\ny", 1, {}], "b": {"c": null}}), 0, &mut text);
    assert_eq!(text, "a:\n  - |\n    x\n    y\n  - 1\n  - {}\nb:\n  c: null\n");
}
