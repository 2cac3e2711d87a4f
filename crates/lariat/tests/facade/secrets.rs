//! Passes secrets from every source through an agent, over real HTTP and into real stores, and checks that
//! none leaks.
//!
//! A leak is a secret in events, in the files of a store, in any log at the finest level, in errors, in
//! requests apart from the header that a key is for, in what child processes and hooks receive, or in outputs
//! spilled to files.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lariat::host::files::Workspace;
use lariat::host::process::{Environment, Supervisor};
use lariat::local::{HookPrograms, RealPaths};
use lariat::model::{ModelStream, StreamProvider};
use lariat::model::{ProviderRegistry, RetryConfig, StreamConfig};
use lariat::permission::hooks::HookConfig;
use lariat::permission::{Effect, Layer, Origin, SessionDirectories, Trust};
use lariat::serde_json::{Value, json};
use lariat::store::JsonlStore;
use lariat::store::SqliteStore;
use lariat::store::StoreOptions;
use lariat::tool::{Commands, Outputs, Workbench, command_tools};
use lariat::{
    Agent, AgentError, AgentOutput, AgentTool, BoxFuture, CancellationToken, Gate, ModelConfig, RunOutcome,
    SessionStore, ToolContext, ToolEffects, ToolError, ToolResult,
};
use lariat_proofs::server::{Answer, Request, Script, Server, Turn, Wire};

use super::log_capture;

/// A secret value that occurs nowhere else.
fn canary(number: usize) -> String {
    format!("Canary{:04}x{:016x}", number, (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// What each of the fifty canaries is used for.
const KEYS: [usize; 2] = [0, 1];
const HEADERS: [usize; 2] = [2, 3];
const QUERY: usize = 4;
const PASSWORD: usize = 5;
const REGISTERED: std::ops::Range<usize> = 6..16;
/// In the environment of the process and nowhere else: the redactor does not know them.
const INHERITED: std::ops::Range<usize> = 16..20;
const BY_FORMAT: std::ops::Range<usize> = 20..50;

/// All secrets in one text, as a careless tool or provider would print them.
fn all_secrets() -> String {
    let formats: [fn(String) -> String; 10] = [
        |c| format!("sk-ant-api03-{c}{c}"),
        |c| format!("sk-proj-{c}{c}"),
        |c| format!("ghp_{c}{c}"),
        |c| format!("github_pat_{c}{c}"),
        |c| format!("glpat-{c}"),
        |c| format!("xoxb-{c}"),
        |c| format!("Authorization: Bearer {c}"),
        |c| format!("postgres://me:{c}@db/x"),
        |c| format!("eyJhbGciOiJIUzI1NiIsInR5.eyJzdWIiOiIxMjM0NTY3ODkw.{c}"),
        |c| format!("-----BEGIN RSA PRIVATE KEY-----\n{c}\n-----END RSA PRIVATE KEY-----"),
    ];
    let known = (0..INHERITED.start).map(canary);
    let recognised = BY_FORMAT.map(|number| formats[number % formats.len()](canary(number)));
    known.chain(recognised).collect::<Vec<_>>().join("\n")
}

/// A planted mistake that the test must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// The agent does not know the secrets.
    NotRegistered,
    /// Child processes inherit a variable that contains one.
    Inherits,
    /// A tool logs one, at the finest level.
    Logs,
    /// A secret header is part of the prompt.
    Prompts,
}

/// Returns all secrets, in one of the ways that a tool has.
struct LeakyTool(Option<Mistake>);

impl AgentTool for LeakyTool {
    fn name(&self) -> &str {
        "loud"
    }
    fn description(&self) -> &str {
        "Prints secrets."
    }
    fn parameters_schema(&self) -> Value {
        json!({"type": "object", "properties": {"way": {"type": "string"}}})
    }
    fn effects(&self) -> ToolEffects {
        ToolEffects::READS
    }
    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            if self.0 == Some(Mistake::Logs) {
                tracing::trace!(header = canary(HEADERS[0]), "sending");
            }
            match params["way"].as_str().unwrap_or_default() {
                "panic" => std::panic::resume_unwind(Box::new(all_secrets())),
                "fail" => Err(ToolError::Failed(all_secrets())),
                "progress" => {
                    context.progress(all_secrets());
                    context.update(ToolResult::text(all_secrets()));
                    tokio::task::yield_now().await;
                    Ok(ToolResult::text("done"))
                }
                _ => Ok(ToolResult::text(all_secrets()).with_details(json!({ "env": all_secrets() }))),
            }
        })
    }
}

/// A provider that panics with all secrets in its message.
struct PanickingProvider;

impl StreamProvider for PanickingProvider {
    fn provider_id(&self) -> &str {
        "panicking"
    }
    fn stream(&self, _: StreamConfig, _: CancellationToken) -> ModelStream {
        std::panic::resume_unwind(Box::new(all_secrets()))
    }
}

/// Commands that save the environment they receive, and that produce more output than is held in memory.
const CHILD: &str = "cat /proc/self/environ /proc/self/cmdline /proc/$$/cmdline > child.txt";
const SPILLING: &str = "seq 1 400000; cat /proc/self/environ";

/// Rejects the first model with all secrets in the error; lets the second one call tools.
fn answer(count: &AtomicUsize, request: &Request) -> Answer {
    let headers = format!("{:?} {}", request.headers, request.path);
    let refusal = format!("Incorrect key: {headers} {}", all_secrets());
    if request.wire == Wire::AzureResponses {
        return Answer::error(request.wire, 500, &refusal);
    }
    let number = count.fetch_add(1, Ordering::SeqCst);
    let call = |name: &str, arguments: Value| {
        Answer::from(Turn::new().call(format!("toolu_{number:02}"), name, &arguments))
    };
    match number {
        0 => call("loud", json!({"way": "text"})),
        1 => call("loud", json!({"way": "fail"})),
        2 => call("loud", json!({"way": "panic"})),
        3 => call("loud", json!({"way": "progress"})),
        4 => call("bash", json!({ "command": CHILD })),
        5 => call("bash", json!({ "command": SPILLING })),
        6 => Turn::new().text("Done.").into(),
        7 => Answer::error(request.wire, 401, &refusal),
        _ => Answer::error(request.wire, 529, &refusal),
    }
}

/// Everything inspected: the name of the place and its text.
type CollectedOutputs = Vec<(String, String)>;

/// Runs an agent on one kind of store and collects everything it leaves behind.
async fn collect_outputs(store: &str, mistake: Option<Mistake>) -> CollectedOutputs {
    log_capture::listen();
    let dirs =
        std::env::temp_dir().join(format!("lariat-secrets-{}-{store}-{mistake:?}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dirs);
    let [workspace, state, spilled, journals] =
        ["workspace", "state", "spilled", "journals"].map(|name| dirs.join(name));
    for directory in [&workspace, &state, &spilled, &journals] {
        std::fs::create_dir_all(directory).unwrap();
    }
    let count = AtomicUsize::new(0);
    let server =
        Server::start(Script::answer(move |request| answer(&count, request)).unchecked()).await.unwrap();
    let sessions: Arc<dyn SessionStore> = match store {
        "sqlite" => {
            Arc::new(SqliteStore::open(journals.join("s.db"), StoreOptions::default()).await.unwrap())
        }
        _ => Arc::new(JsonlStore::open(&journals, StoreOptions::default()).await.unwrap()),
    };

    let mut collected = CollectedOutputs::new();
    let (first, second) = models(&server);
    collected.push(("the configuration".to_owned(), format!("{first:?} {second:?}")));
    let agent = agent(&workspace, &spilled, mistake)
        .model(ProviderRegistry::default())
        .model_config(first)
        .fallback_model(second)
        .store(Arc::clone(&sessions))
        .build()
        .unwrap();
    let mut prompt = format!("Here are my keys: {}", all_secrets());
    if mistake == Some(Mistake::Prompts) {
        prompt = format!("Header {}", canary(INHERITED.start));
    }
    let mut events = Vec::new();
    let mut stream = agent.prompt(prompt).unwrap();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    let journal = sessions.read(&agent.session_id(), 0, usize::MAX).await.unwrap();
    for (name, events) in [("events", &events), ("the journal", &journal)] {
        let text: String =
            events.iter().map(|event| lariat::serde_json::to_string(&**event).unwrap()).collect();
        assert!(text.contains("redacted"), "{name}: no redacted secret");
        collected.push((name.to_owned(), text));
        collected.push((format!("{name}, in debug output"), format!("{events:?}")));
    }
    // Runs that fail: rejected, overloaded, unreachable, panicking.
    for _ in 0..2 {
        collected.push(("an error".to_owned(), format_failure(agent.run("Again.").await)));
    }
    for error in failing(&workspace, &spilled, mistake).await {
        collected.push(("an error of an unreachable model".to_owned(), error));
    }
    for request in server.requests() {
        let own = ["authorization", "api-key", "x-api-key", "x-own"];
        let others = request.headers.iter().filter(|(name, _)| !own.contains(&name.as_str()));
        let others: Vec<_> = others.map(|(name, value)| format!("{name}: {value:?}")).collect();
        collected.push(("a request".to_owned(), format!("{} {others:?}", request.body)));
    }
    assert!(server.requests().len() >= 9, "{}", server.requests().len());
    // While the agent exists: dropping it removes the spilled files.
    let (mut spills, mut children) = (0, 0);
    for path in files(&dirs) {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.strip_prefix(&dirs).unwrap().display().to_string();
        spills += usize::from(name.starts_with("spilled") && bytes.len() > 1_000_000);
        children += usize::from(name.ends_with("child.txt") && !bytes.is_empty());
        children += usize::from(name.ends_with("hooks.txt") && bytes.len() > 1_000);
        collected.push((format!("the file {name}"), String::from_utf8_lossy(&bytes).into_owned()));
    }
    assert_eq!((spills > 0, children), (true, 2), "a file is missing");
    drop(agent);
    drop(sessions);
    let logs = log_capture::take();
    assert!(logs.contains("hyper"), "nothing was logged: {}", logs.len());
    collected.push(("a log".to_owned(), logs));
    std::fs::remove_dir_all(&dirs).unwrap();
    collected
}

/// Each model has a key, a header of its own, and another secret in its address.
fn models(server: &Server) -> (ModelConfig, ModelConfig) {
    let address = server.base_url(Wire::AzureResponses);
    let mut first = ModelConfig::new("azure-responses", "gpt-5")
        .with_base_url(format!("{}?code={}", address.trim_end_matches("/openai/v1"), canary(QUERY)))
        .with_api_key(canary(KEYS[0]));
    first.headers.insert("x-own".into(), canary(HEADERS[0]));
    let mut second = ModelConfig::new("anthropic-messages", "claude-sonnet-4-5")
        .with_base_url(
            server.base_url(Wire::AnthropicMessages).replace("://", &format!("://me:{}@", canary(PASSWORD))),
        )
        .with_api_key(canary(KEYS[1]));
    second.headers.insert("x-own".into(), canary(HEADERS[1]));
    (first, second)
}

/// An agent builder without a model.
fn agent(workspace: &Path, spilled: &Path, mistake: Option<Mistake>) -> lariat::AgentBuilder {
    let names = ["ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "NPM_TOKEN"];
    let secret = names.into_iter().zip(INHERITED).map(|(name, number)| (name.to_owned(), canary(number)));
    let usual = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/nonexistent")];
    let usual = usual.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut environment = Environment::from_inherited(usual.into_iter().chain(secret));
    if mistake == Some(Mistake::Inherits) {
        environment = environment.with("SERVICE_KEY", canary(INHERITED.start));
    }
    let bench = Workbench::new(Workspace::open(workspace).unwrap())
        .with_commands(Commands::Unconfined)
        .with_environment(environment.clone())
        .with_outputs(Outputs::in_directory(Workspace::open(spilled).unwrap()));
    let hook = json!([{"hooks": [{"type": "command", "command": "cat >> hooks.txt; env >> hooks.txt"}]}]);
    let mut hook_config = HookConfig::default();
    let hooks = json!({"PreToolUse": hook, "PostToolUse": hook, "PostToolUseFailure": hook});
    assert_eq!(hook_config.add("settings.json", &hooks), []);
    let layer = Layer::new(Origin::flags()).with_rule(Effect::Allow, "Bash");
    let programs = HookPrograms::new(Supervisor::new(), workspace, environment);
    let gate = Gate::new(
        vec![layer],
        Trust::Trusted,
        SessionDirectories::new(workspace, "/nonexistent"),
        Arc::new(RealPaths),
    )
    .with_hooks(hook_config, Arc::new(programs));
    gate.set_mode(lariat::permission::Mode::Bypass);
    let mut agent = Agent::builder()
        .tool(LeakyTool(mistake))
        .tools(command_tools(&bench))
        .permission_policy(gate)
        .retry(RetryConfig::none());
    if mistake != Some(Mistake::NotRegistered) {
        for number in REGISTERED {
            agent = agent.secret(format!("SECRET_{number}"), canary(number));
        }
    }
    agent
}

/// Runs models that cannot be reached, with a key or a password in their address, and one that panics.
/// Returns the errors.
async fn failing(workspace: &Path, spilled: &Path, mistake: Option<Mistake>) -> Vec<String> {
    let unreachable = [
        format!("http://127.0.0.1:9/v1?key={}", canary(QUERY)),
        format!("http://me:{}@127.0.0.1:9/v1", canary(PASSWORD)),
        format!("http://me:{}@no such host/v1", canary(PASSWORD)),
    ];
    let mut errors = Vec::new();
    for address in unreachable {
        let model = ModelConfig::new("openai-chat", "m").with_base_url(address).with_api_key(canary(KEYS[0]));
        let agent = agent(workspace, spilled, mistake).model(ProviderRegistry::default()).model_config(model);
        errors.push(format_failure(agent.build().unwrap().run("Hello.").await));
    }
    let agent = agent(workspace, spilled, mistake).model(PanickingProvider).build().unwrap();
    errors.push(format_failure(agent.run("Hello.").await));
    errors
}

/// Formats a failure in every way, with all its causes.
fn format_failure(ended: Result<AgentOutput, AgentError>) -> String {
    let error = match ended {
        Ok(output) => {
            assert!(matches!(output.outcome, RunOutcome::Failed { .. }), "{output:?}");
            return format!("{:?} {output:?}", output.outcome);
        }
        Err(error) => error,
    };
    let mut text = format!("{error} {error:?}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(" {error} {error:?}"));
        cause = error.source();
    }
    text
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// Lists where a canary leaked, with the text before it.
fn leaks(collected: &CollectedOutputs) -> Vec<String> {
    let mut leaks = Vec::new();
    for (dirs, text) in collected {
        for value in (0..50).map(canary) {
            if let Some(at) = text.find(&value) {
                let start = text.floor_char_boundary(at.saturating_sub(160));
                leaks.push(format!("{value} in {dirs}, after {}", &text[start..at]));
            }
        }
    }
    leaks
}

#[tokio::test]
async fn no_secret_leaks_from_a_session_in_sqlite() {
    let leaks = leaks(&collect_outputs("sqlite", None).await);
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}

#[tokio::test]
async fn no_secret_leaks_from_a_session_in_files() {
    let leaks = leaks(&collect_outputs("jsonl", None).await);
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}

#[tokio::test]
async fn planted_mistakes_are_caught() {
    for (mistake, dirs) in [
        (Mistake::NotRegistered, "the journal"),
        (Mistake::Inherits, "the file workspace/child.txt"),
        (Mistake::Logs, "a log"),
        (Mistake::Prompts, "a request"),
    ] {
        let leaks = leaks(&collect_outputs("sqlite", Some(mistake)).await);
        let caught = leaks.iter().any(|leak| leak.contains(&format!("in {dirs},")));
        assert!(caught, "{mistake:?} was not caught in {dirs}: {leaks:?}");
    }
}
