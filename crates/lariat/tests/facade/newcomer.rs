//! Programs as a newcomer would write them. Each must compile as it stands and do what it says.

use std::sync::{Arc, Mutex};

use lariat::budget::BudgetPool;
use lariat::context::{ContextSource, Section};
use lariat::event::Subscription;
use lariat::host::sandbox::Sandbox;
use lariat::model::Catalogue;
use lariat::prelude::*;
use lariat::serde_json::{Value, json};
use lariat::store::SqliteStore;
use lariat::tool::Workbench;
use lariat::{AskBeforeEffects, BuildError, PermissionRequest, StreamProvider};
use lariat_proofs::server::{Script, Server, Turn, Wire};
use lariat_test::{Reply, ScriptedModel};

/// The names that a newcomer looks for are in the modules where one would look.
#[expect(dead_code, reason = "only the names matter")]
type Names =
    (BudgetPool, Section, Sandbox, Catalogue, SqliteStore, Workbench, Subscription, Box<dyn ContextSource>);

fn deploy() -> FunctionTool {
    FunctionTool::new("deploy", "Deploys.", |(): (), _: ToolContext| async { Ok::<_, String>("deployed") })
}

fn deploying() -> ScriptedModel {
    ScriptedModel::new([Reply::tool_call("c1", "deploy", json!({})), Reply::text("Done.")])
}

#[tokio::test]
async fn model_by_name_and_key_reaches_the_provider() {
    let agent = Agent::builder().model("anthropic/claude-sonnet-4-5").api_key("k").build().unwrap();
    assert!(!agent.is_streaming());
    let unknown = Agent::builder().model("anthropic/claude-sonet-4-5").api_key("k").build().unwrap_err();
    assert!(unknown.to_string().contains("did you mean"), "{unknown}");
}

#[tokio::test]
async fn model_configuration_alone_is_enough_to_run() {
    let server = Server::start(Script::queue([Turn::new().text("Hello.")])).await.unwrap();
    let model = ModelConfig::find("anthropic/claude-sonnet-4-5")
        .unwrap()
        .with_base_url(server.base_url(Wire::AnthropicMessages))
        .with_api_key("key");
    let agent = Agent::builder().model(model).build().unwrap();
    assert_eq!(agent.run("Hi.").await.unwrap().text, "Hello.");
}

#[tokio::test]
async fn local_model_builds_without_a_key() {
    let server = Server::start(Script::queue([Turn::new().text("Hello.")])).await.unwrap();
    let model = ModelConfig::local(server.base_url(Wire::OpenAiChat), "qwen3");
    Agent::builder().model(model.clone()).build().unwrap();
    // This server wants one, unlike most on one's own machine.
    let agent = Agent::builder().model(model.with_api_key("key")).build().unwrap();
    assert_eq!(agent.run("Hi.").await.unwrap().text, "Hello.");
}

#[test]
fn missing_configuration_is_an_error_of_build() {
    let registry = lariat::model::ProviderRegistry::default();
    let error = Agent::builder().provider(registry).build().unwrap_err();
    assert!(matches!(&error, BuildError::Model(text) if text.contains("no model is configured")), "{error}");
    assert_eq!(Agent::builder().build().unwrap_err(), BuildError::NoModel);
    let unknown = ModelConfig::new("carrier-pigeon", "p");
    assert!(matches!(Agent::builder().model(unknown).build(), Err(BuildError::Model(_))));
}

#[test]
fn missing_key_names_the_variable_to_set() {
    if std::env::var_os("MINIMAX_API_KEY").is_some() {
        return;
    }
    let error = Agent::builder().model("minimax/MiniMax-M3").build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "no API key for `minimax`; set the environment variable MINIMAX_API_KEY, or call `.api_key(…)`"
    );
}

#[tokio::test]
async fn limits_take_limits_and_dollars() {
    let limits = ExecutionLimits::default().with_max_turns(1).with_max_cost(Cost::from_usd(0.25));
    assert_eq!(limits.max_cost, Some(Cost::from_nano_usd(250_000_000)));
    let agent = Agent::builder().model(deploying()).tool(deploy()).permission_policy(AllowAll);
    let output = agent.limits(limits).build().unwrap().run("Go.").await.unwrap();
    assert!(matches!(output.outcome, RunOutcome::LimitReached { .. }), "{:?}", output.outcome);
    let agent = Agent::builder().model(deploying()).tool(deploy()).permission_policy(AllowAll);
    assert!(agent.without_limits().build().unwrap().run("Go.").await.unwrap().outcome.is_completed());
}

#[tokio::test]
async fn approver_is_an_async_closure() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    let agent = Agent::builder()
        .model(deploying())
        .tool(deploy())
        .approve_with(move |request| {
            let log = log.clone();
            async move {
                log.lock().unwrap().push(request.tool_name);
                PermissionDecision::Allow
            }
        })
        .build()
        .unwrap();
    assert_eq!(agent.run("Go.").await.unwrap().text, "Done.");
    assert_eq!(*asked.lock().unwrap(), ["deploy"]);
}

struct Add;

impl Tool for Add {
    fn name(&self) -> &str {
        "add"
    }

    fn description(&self) -> &str {
        "Adds two numbers."
    }

    fn parameters_schema(&self) -> Value {
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}})
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::NONE
    }

    async fn execute(&self, params: Value, _context: ToolContext) -> Result<ToolResult, ToolError> {
        tokio::task::yield_now().await;
        let sum = params["a"].as_i64().unwrap_or(0) + params["b"].as_i64().unwrap_or(0);
        Ok(ToolResult::text(sum.to_string()))
    }
}

#[tokio::test]
async fn tool_has_an_async_fn() {
    let model = ScriptedModel::new([
        Reply::tool_call("c1", "add", json!({"a": 20, "b": 22})),
        Reply::text("It is 42."),
    ]);
    let output = Agent::builder().model(model).tool(Add).build().unwrap().run("Add.").await.unwrap();
    let result = output.messages.iter().find_map(|message| message.as_tool_result()).unwrap();
    assert_eq!(result.content[0].as_text(), Some("42"));
}

#[derive(serde::Deserialize, JsonSchema)]
struct Name {
    /// Whom to greet.
    name: String,
}

#[tokio::test]
async fn function_tool_has_state_and_derived_arguments() {
    let greeted = Arc::new(Mutex::new(Vec::new()));
    let greet = FunctionTool::with_state(
        "greet",
        "Greets.",
        greeted.clone(),
        |greeted, arguments: Name, _| async move {
            greeted.lock().unwrap().push(arguments.name);
            Ok::<_, String>("greeted")
        },
    );
    let model =
        ScriptedModel::new([Reply::tool_call("c1", "greet", json!({"name": "Ada"})), Reply::text("Done.")]);
    let agent = Agent::builder().model(model).tool(greet).permission_policy(AllowAll).build().unwrap();
    agent.run("Greet Ada.").await.unwrap();
    assert_eq!(*greeted.lock().unwrap(), ["Ada"]);
}

struct CountingHooks(Mutex<u32>);

impl Hooks for CountingHooks {
    fn before_turn(&self, _: &lariat::Window, _: u32) -> Flow {
        *self.0.lock().unwrap() += 1;
        Flow::Continue
    }
}

struct ApproveAll;

impl lariat::Approver for ApproveAll {
    fn ask<'a>(&'a self, _: &'a PermissionRequest) -> lariat::BoxFuture<'a, PermissionDecision> {
        Box::pin(async { PermissionDecision::Allow })
    }
}

#[tokio::test]
async fn everything_can_be_shared_in_an_arc() {
    let model = Arc::new(deploying());
    let hooks = Arc::new(CountingHooks(Mutex::new(0)));
    let agent = Agent::builder()
        .model(model.clone())
        .tool(Arc::new(deploy()))
        .hooks(hooks.clone())
        .approver(Arc::new(ApproveAll))
        .permission_policy(Arc::new(AskBeforeEffects))
        .build()
        .unwrap();
    assert_eq!(agent.run("Go.").await.unwrap().text, "Done.");
    assert_eq!(*hooks.0.lock().unwrap(), 2);
    let shared: Arc<dyn StreamProvider> = model;
    assert!(Agent::builder().model(shared).build().is_ok());
}

#[tokio::test]
async fn events_have_names_and_subscribing_needs_no_setting() {
    let agent = Agent::builder().model(ScriptedModel::new([Reply::text("hello")])).build().unwrap();
    let mut events = agent.subscribe();
    agent.run("Go.").await.unwrap();
    let mut names = Vec::new();
    while names.last().is_none_or(|name| name != "AgentEnd") {
        let event = events.recv().await.unwrap();
        assert_eq!(lariat::serde_json::to_value(&event.event).unwrap()["type"], event.event.name());
        names.push(event.event.name().to_owned());
    }
    assert_eq!(names[0], "AgentStart");
}

#[tokio::test]
async fn history_comes_from_the_programs_own_database() {
    let rows = [("user", "My name is Ada."), ("assistant", "Hello, Ada.")];
    let history = rows.map(|(role, text)| match role {
        "user" => AgentMessage::user(text),
        _ => AgentMessage::assistant(text),
    });
    let model = Arc::new(ScriptedModel::new([Reply::text("You are Ada.")]));
    let agent = Agent::builder().model(model).history(history).build().unwrap();
    assert_eq!(agent.run("Who am I?").await.unwrap().text, "You are Ada.");
    let texts: Vec<String> =
        agent.messages().iter().filter_map(|message| Some(message.as_llm()?.text())).collect();
    assert_eq!(texts, ["My name is Ada.", "Hello, Ada.", "Who am I?", "You are Ada."]);
}
