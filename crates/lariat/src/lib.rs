//! Lariat is an agent runtime whose loop holds: a session is an append-only journal, the loop is a pure machine, and
//! every tool call passes one gate. A crash, a bad stream or a runaway bill does not lose what was said, does not run
//! a tool twice and does not go past a cap.
//!
//! This crate is the door for programs that embed agents: the names you need, and this guide. Every example in it is
//! compiled and run as a test. Most talk to [`ScriptedModel`], a model that follows a script, so that they need no
//! key and no network; real ones are reached through [`ProviderRegistry`], or any [`StreamProvider`] of yours.
//!
//! 1. [Embed an agent](#embed-an-agent)
//! 2. [Give it a tool](#give-it-a-tool)
//! 3. [Watch it](#watch-it): [callback](#with-a-callback), [broadcast](#with-any-number-of-consumers),
//!    [stream](#with-a-stream-that-can-talk-back)
//! 4. [Decide what may run](#decide-what-may-run)
//! 5. [Step in with hooks](#step-in-with-hooks)
//! 6. [Cap it](#cap-it)
//! 7. [Go on after a crash](#go-on-after-a-crash)
//! 8. [Talk to a real model](#talk-to-a-real-model)
//! 9. [Where things are](#where-things-are)
//!
//! Each of the [guides](guide) is one program of less than forty lines, with what it prints: embed an agent, write a tool, ask for
//! an answer of a type, write a provider, write a store, intercept with hooks.
//!
//! # Embed an agent
//!
//! An agent needs a model; everything else has a default. It runs on tokio.
//!
//! ```
//! use lariat::Agent;
//! use lariat_testkit::{Reply, ScriptedModel};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let model = ScriptedModel::new([Reply::text("Hello, Ada."), Reply::text("You are Ada.")]);
//!     let agent = Agent::builder()
//!         .model(model)
//!         .system_prompt("You are a friendly assistant.")
//!         .on_event(|event| print!("{}", event.text_delta().unwrap_or_default()))
//!         .build()?;
//!
//!     let output = agent.run("Hi, I am Ada.").await?;
//!     assert_eq!(output.text, "Hello, Ada.");
//!     assert!(output.outcome.is_completed());
//!     println!(" ({} turns, {} tokens)", output.turns, output.usage.total());
//!
//!     // The agent keeps the conversation.
//!     assert_eq!(agent.run("Who am I?").await?.text, "You are Ada.");
//!     assert_eq!(agent.messages().len(), 4);
//!     Ok(())
//! }
//! ```
//!
//! An [`Agent`] is cheap to clone, and all clones are the same agent. It runs one prompt at a time: a second one gets
//! [`AgentError::Busy`]. To say something to a running agent, use [`Agent::steer`] (heard between tool calls) or
//! [`Agent::follow_up`] (heard when it would otherwise stop); both wait for the next run when nothing runs. Dropping
//! the future of [`Agent::run`] cancels the run, which still journals its end. [`Agent::close`], or dropping the agent,
//! gives its session up: files and memory are freed, and another process can go on with it.
//!
//! A model that cannot be called or fails for good is [`AgentError::Failed`], with a [`FailureKind`]: an unreachable
//! server, a missing key, an unknown protocol. Everything that the agent itself decides (a cap, a cancelled run, a hook)
//! is an outcome.
//!
//! # Give it a tool
//!
//! A tool is its description for the model and its code, in one place: [`AgentTool`]. Say what it does to the world
//! with [`AgentTool::effects`]: a tool that only reads runs without a question and beside others; a tool that declares
//! nothing is taken to do everything. A [`ToolError`] is not an error of the run: the model is told, and can correct
//! itself. The same happens when a tool panics. Of long output the model sees the beginning and the end, 128 KiB in all
//! ([`AgentBuilder::max_tool_output`]); the whole of it stays in the store, and the model can read it with the tool
//! `recall`, which every agent with tools has.
//!
//! ```
//! use lariat::serde_json::{Value, json};
//! use lariat::{Agent, AgentTool, BoxFuture, ToolContext, ToolEffects, ToolError, ToolResult};
//! use lariat_testkit::{Reply, ScriptedModel};
//!
//! struct Add;
//!
//! impl AgentTool for Add {
//!     fn name(&self) -> &str {
//!         "add"
//!     }
//!
//!     fn description(&self) -> &str {
//!         "Adds two whole numbers."
//!     }
//!
//!     fn parameters_schema(&self) -> Value {
//!         let number = json!({"type": "integer"});
//!         json!({"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]})
//!     }
//!
//!     fn effects(&self) -> ToolEffects {
//!         ToolEffects::NONE
//!     }
//!
//!     fn execute<'a>(
//!         &'a self,
//!         params: Value,
//!         context: ToolContext,
//!     ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
//!         Box::pin(async move {
//!             let number = |name: &str| {
//!                 let missing = || ToolError::InvalidArgs(format!("`{name}` must be a whole number"));
//!                 params.get(name).and_then(Value::as_i64).ok_or_else(missing)
//!             };
//!             context.progress("adding"); // for a person; a long-running tool also watches `context.cancel`
//!             Ok(ToolResult::text((number("a")? + number("b")?).to_string()))
//!         })
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new([
//!     Reply::tool_call("call-1", "add", json!({"a": 20, "b": 22})),
//!     Reply::text("It is 42."),
//! ]);
//! let agent = Agent::builder().model(model).tool(Add).build()?;
//! let output = agent.run("What is 20 + 22?").await?;
//! let result = output.messages.iter().find_map(|message| message.as_tool_result()).unwrap();
//! assert_eq!(result.content[0].as_text(), Some("42"));
//! # Ok(())
//! # }
//! ```
//!
//! # Watch it
//!
//! There is one vocabulary, [`AgentEvent`]. Durable events are the journal itself, and an observer sees one only after
//! it was saved; the rest (pieces of text, progress) are live only. An observer that is too slow never slows the run:
//! it loses live events and is given the durable ones again.
//!
//! ## With a callback
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! use lariat::{Agent, AgentEvent};
//! use lariat_testkit::{Reply, ScriptedModel};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = Arc::new(Mutex::new(String::new()));
//! let screen = Arc::clone(&text);
//! let agent = Agent::builder()
//!     .model(ScriptedModel::new([Reply::text("one word at a time").split(4)]))
//!     .on_event(move |event| match event {
//!         AgentEvent::ToolExecutionStart { tool_name, .. } => eprintln!("[{tool_name}]"),
//!         event => screen.lock().unwrap().push_str(event.text_delta().unwrap_or_default()),
//!     })
//!     .build()?;
//! agent.run("Go.").await?;
//! assert_eq!(*text.lock().unwrap(), "one word at a time");
//! # Ok(())
//! # }
//! ```
//!
//! ## With any number of consumers
//!
//! ```
//! use lariat::{Agent, AgentEvent};
//! use lariat_testkit::{Reply, ScriptedModel};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new([Reply::text("hello")]);
//! let agent = Agent::builder().model(model).enable_broadcast(256).build()?;
//! let mut consumers = Vec::new();
//! for _ in 0..2 {
//!     let mut events = agent.subscribe().expect("broadcast is enabled");
//!     consumers.push(tokio::spawn(async move {
//!         let mut seen = 0;
//!         while let Ok(event) = events.recv().await {
//!             seen += 1;
//!             if matches!(event.event, AgentEvent::AgentEnd { .. }) {
//!                 break;
//!             }
//!         }
//!         seen
//!     }));
//! }
//! agent.run("Go.").await?;
//! for consumer in consumers {
//!     assert!(consumer.await? > 5);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ## With a stream that can talk back
//!
//! [`Agent::run_stream`] gives the run itself: answer its questions, inject messages, cancel it. Its last event is
//! `AgentEnd`, whatever happened; then the agent is free again. Dropping the stream cancels the run.
//!
//! ```
//! # use lariat::serde_json::{Value, json};
//! # use lariat::{AgentTool, BoxFuture, ToolContext, ToolError, ToolResult};
//! use lariat::{Agent, AgentEvent, PermissionDecision, RunOutcome};
//! use lariat_testkit::{Reply, ScriptedModel};
//!
//! # struct Deploy;
//! # impl AgentTool for Deploy {
//! #     fn name(&self) -> &str { "deploy" }
//! #     fn description(&self) -> &str { "Deploys to production." }
//! #     fn parameters_schema(&self) -> Value { json!({"type": "object"}) }
//! #     fn execute<'a>(&'a self, _: Value, _: ToolContext) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
//! #         Box::pin(async { Ok(ToolResult::text("deployed")) })
//! #     }
//! # }
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new([
//!     Reply::tool_call("call-1", "deploy", json!({})),
//!     Reply::text("Deployed, and here is why."),
//!     Reply::text("This will never").then_stall(),
//! ]);
//! let agent = Agent::builder().model(model).tool(Deploy).build()?;
//!
//! let mut stream = agent.run_stream("Deploy.");
//! while let Some(event) = stream.next().await {
//!     match &event.event {
//!         AgentEvent::PermissionRequired { request } => {
//!             println!("may it run? {}", request.summary);
//!             stream.inject_message("Explain it, too.");
//!             stream.respond_permission(request.id, PermissionDecision::Allow);
//!         }
//!         AgentEvent::AgentEnd { outcome, .. } => assert!(outcome.is_completed()),
//!         _ => {}
//!     }
//! }
//! assert_eq!(stream.finish().await?.text, "Deployed, and here is why.");
//!
//! let mut stream = agent.run_stream("Talk forever.");
//! while let Some(event) = stream.next().await {
//!     if event.event.text_delta().is_some() {
//!         stream.cancel();
//!     }
//! }
//! assert_eq!(stream.finish().await?.outcome, RunOutcome::Aborted);
//! # Ok(())
//! # }
//! ```
//!
//! # Decide what may run
//!
//! Every tool call passes a [`PermissionPolicy`]. The default, [`AskBeforeEffects`], lets read-only tools run and asks
//! about the rest; the question is an event, and **the run waits for its answer**. So give an agent that nobody watches
//! a policy that decides by itself or an [`Approver`]. A policy, hook or approver that panics denies.
//!
//! ```
//! use lariat::{Agent, BoxFuture, PermissionPolicy, PolicyQuery, Verdict};
//! # use lariat_testkit::{Reply, ScriptedModel};
//!
//! /// No tool may reach the network.
//! struct Offline;
//!
//! impl PermissionPolicy for Offline {
//!     fn check<'a>(&'a self, query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
//!         let allowed = !query.effects.contains(lariat::ToolEffects::NETWORK);
//!         let verdict = if allowed { Verdict::Allow } else { Verdict::Deny("there is no network".into()) };
//!         Box::pin(std::future::ready(verdict))
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let model = ScriptedModel::new([Reply::text("hello")]);
//! let agent = Agent::builder().model(model).permission_policy(Offline).build()?;
//! # agent.run("Go.").await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Step in with hooks
//!
//! [`Hooks`] are functions at fixed points of the loop. Those named `before_…` can stop what comes next by returning
//! false; a hook that panics counts as false. Hooks are called in the run's own task: keep them short.
//!
//! ```
//! use lariat::{Agent, Hooks, RunOutcome, Window};
//! use lariat_testkit::{Reply, ScriptedModel};
//!
//! struct OfficeHours {
//!     open: bool,
//! }
//!
//! impl Hooks for OfficeHours {
//!     fn before_turn(&self, _messages: &Window, turn_index: u32) -> bool {
//!         println!("turn {turn_index}");
//!         self.open
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new([Reply::text("hello")]);
//! let agent = Agent::builder().model(model).hooks(OfficeHours { open: false }).build()?;
//! assert_eq!(agent.run("Go.").await?.outcome, RunOutcome::StoppedByHook);
//! # Ok(())
//! # }
//! ```
//!
//! # Cap it
//!
//! [`ExecutionLimits`] cap model calls, tokens, time and money. An agent has [`ExecutionLimits::default`] unless told
//! otherwise. Hitting a cap is an outcome, not an error. A cap on money needs prices: without them the agent does not
//! build ([`BuildError::CapWithoutPrice`]). Models of the catalogue ([`FindModel`]) have one; others get theirs with
//! [`ModelConfig::cost`], and a provider that reports costs itself says so ([`StreamProvider::reports_cost`]).
//!
//! ```
//! # use lariat::serde_json::json;
//! use std::time::Duration;
//! use lariat::{Agent, BudgetScope, Cost, ExecutionLimits, LimitKind, RunOutcome};
//! use lariat_testkit::{Reply, ScriptedModel};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A model that never stops asking, each time for something else that does not exist.
//! let model = ScriptedModel::from_fn(|n, _| Reply::tool_call(format!("call-{n}"), format!("tool-{n}"), json!({})));
//! let limits = ExecutionLimits::default()
//!     .with_max_turns(3)
//!     .with_max_duration(Duration::from_secs(60))
//!     .with_max_cost(Cost::from_nano_usd(250_000_000)); // 25 cents
//! # let allow_all = lariat::AllowAll;
//! let agent = Agent::builder().model(model).permission_policy(allow_all).limits(Some(limits)).build()?;
//! let output = agent.run("Go.").await?;
//! assert_eq!(output.outcome, RunOutcome::LimitReached { limit: LimitKind::Turns, scope: BudgetScope::Run });
//! # Ok(())
//! # }
//! ```
//!
//! # Go on after a crash
//!
//! A session is its journal. Build an agent with the session's id and call [`Agent::recover`] first: it finishes what
//! was interrupted, if anything was, and reads the conversation. A tool that was running when the process died is not
//! run again; the model is told that its outcome is unknown. Until then a prompt gets [`AgentError::Interrupted`]. A
//! question that was open is asked again, as the same event with the same id, whichever way you watch;
//! [`Agent::pending_permissions`] lists it. To show a session without going on with it, use [`Agent::load`].
//!
//! The store here is memory shared by two runtimes, the first of which "dies"; with a store on a disk the program is the
//! same.
//!
//! ```
//! use std::sync::Arc;
//! use lariat::{Agent, AgentError, AgentEvent, AllowAll, MemoryStore};
//! # use lariat::serde_json::{Value, json};
//! # use lariat::{AgentTool, BoxFuture, ToolContext, ToolError, ToolResult};
//! use lariat_testkit::{Reply, ScriptedModel};
//!
//! # struct Deploy;
//! # impl AgentTool for Deploy {
//! #     fn name(&self) -> &str { "deploy" }
//! #     fn description(&self) -> &str { "Deploys to production." }
//! #     fn parameters_schema(&self) -> Value { json!({"type": "object"}) }
//! #     fn execute<'a>(&'a self, _: Value, _: ToolContext) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
//! #         Box::pin(std::future::pending())
//! #     }
//! # }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Arc::new(MemoryStore::new());
//! let agent = |reply: Reply| {
//!     Agent::builder()
//!         .model(ScriptedModel::new([reply]))
//!         .tool(Deploy)
//!         .permission_policy(AllowAll)
//!         .store(store.clone())
//!         .session_id("release-7")
//!         .build()
//! };
//!
//! // The first process dies while the tool runs.
//! let process = tokio::runtime::Runtime::new()?;
//! let first = agent(Reply::tool_call("call-1", "deploy", json!({})))?;
//! let stream = process.block_on(async {
//!     let mut stream = first.run_stream("Deploy.");
//!     while let Some(event) = stream.next().await {
//!         if matches!(event.event, AgentEvent::ToolExecutionStart { .. }) {
//!             break;
//!         }
//!     }
//!     stream
//! });
//! drop(process);
//!
//! // The second one goes on.
//! let process = tokio::runtime::Runtime::new()?;
//! process.block_on(async {
//!     let second = agent(Reply::text("I will check what is deployed first."))?;
//!     assert!(matches!(second.run("And?").await, Err(AgentError::Interrupted(_))));
//!     let output = second.recover().await?.expect("a run was interrupted");
//!     assert_eq!(output.text, "I will check what is deployed first.");
//!     let messages = second.messages();
//!     let result = messages.iter().find_map(|message| message.as_tool_result()).unwrap();
//!     assert!(result.content[0].as_text().unwrap().starts_with("Interrupted"));
//!     Ok(())
//! })
//! # }
//! ```
//!
//! # Talk to a real model
//!
//! A [`ModelConfig`] says which wire protocol, which model, where and with which key, how large its window is and what
//! it costs; `ModelConfig::find` takes all but the key from the catalogue. The [`ProviderRegistry`] speaks all
//! protocols. The window is kept by compaction ([`AgentBuilder::context`] changes that). Share one registry between agents: it holds the connections. When a model fails after all its retries,
//! a fallback model goes on with the same turn. The server here follows a script, but it is a real one: it speaks the
//! protocols of the services, and refuses what they refuse.
//!
//! ```
//! use lariat::{Agent, FindModel, ModelConfig, ProviderRegistry};
//! use lariat_testkit::server::{Script, Server, Turn, Wire};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::start(Script::queue([Turn::new().text("Hello, Ada.")])).await?;
//! let model = ModelConfig::find("anthropic/claude-sonnet-4-5")?
//!     .with_base_url(server.base_url(Wire::AnthropicMessages))
//!     .with_api_key("a-key-that-never-shows");
//! assert!(model.cost.is_some());
//!
//! let agent = Agent::builder().model(ProviderRegistry::default()).model_config(model).build()?;
//! let output = agent.run("Hi, I am Ada.").await?;
//! assert_eq!(output.text, "Hello, Ada.");
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! The names most programs need are at the root of this crate. All of the vocabulary, the contracts and the pure
//! machine are in [`core`]; the driver, observers and the in-memory store are in [`runtime`]; model APIs are in
//! [`models`]; the built-in tools are in [`tools`], and what they stand on is in [`host`];
//! who may do what is decided in [`guard`]. Programs that keep
//! conversations themselves use [`agent_loop`] and its siblings instead of [`Agent`].
//!
//! [`ScriptedModel`]: https://github.com/lariat-dev/lariat/tree/main/crates/lariat-testkit

pub mod guide;

#[cfg(feature = "tools")]
pub use lariat_connect as connect;
pub use lariat_core as core;
/// Who may do what: permission rules, shell analysis, trust, hooks, redaction.
pub use lariat_guard as guard;
/// What tools stand on: files by directory handle, processes with an owner, the sandbox, git.
#[cfg(feature = "tools")]
pub use lariat_host as host;
#[cfg(feature = "models")]
pub use lariat_model as models;
pub use lariat_runtime as runtime;
#[cfg(feature = "sqlite")]
pub use lariat_service::StoredLearnings;
/// What a workspace on this machine brings, and what that is worth.
#[cfg(all(feature = "tools", target_os = "linux"))]
pub use lariat_service::local;
/// Spans and measurements, to a collector of OpenTelemetry.
#[cfg(feature = "otlp")]
pub use lariat_service::otlp;
/// Stores that keep sessions: SQLite, files, PostgreSQL.
pub use lariat_store as stores;
/// The built-in tools.
#[cfg(feature = "tools")]
pub use lariat_tools as tools;
/// What describes the types of answers and arguments to a model. A program that derives `JsonSchema` depends on it, too.
#[cfg(feature = "typed")]
#[doc(no_inline)]
pub use schemars;
/// The JSON of tool arguments and results.
#[doc(no_inline)]
pub use serde_json;

pub use lariat_core::BoxFuture;
pub use lariat_core::budget::{BudgetLimits, BudgetRequest, BudgetScope, Ledger, Source, SpendingLog, Spent};
pub use lariat_core::cancel::CancellationToken;
pub use lariat_core::config::{
    ContextConfig, ExecutionLimits, QueueMode, RepetitionConfig, RetryConfig, ToolExecutionStrategy,
};
pub use lariat_core::content::{Content, ToolCall};
pub use lariat_core::context::{CompactionStrategy, TieredCompaction};
pub use lariat_core::event::{
    AgentEvent, ContextFull, ContinuationKind, Event, EventRecord, LimitKind, QueueKind, RunOutcome,
    StreamDelta, TurnTrigger,
};
pub use lariat_core::hooks::{
    FilterResult, HookAnswer, Hooks, InputFilter, Moment, MomentKind, SessionHooks,
};
pub use lariat_core::id::{AgentId, LoopId, MessageId, RequestId, SessionId, ToolCallId};
pub use lariat_core::message::{
    AgentMessage, AssistantMessage, ExtensionMessage, Message, SharedMessage, StopReason, ToolResultMessage,
    UserMessage,
};
pub use lariat_core::model::{
    ApiKey, CacheConfig, ErrorDetail, FailureKind, ModelConfig, ModelCost, ModelStream, OutputSchema,
    ProviderError, StreamConfig, StreamEvent, StreamProvider, ThinkingLevel, ToolChoice,
};
pub use lariat_core::permission::{
    AllowAll, Approver, AskBeforeEffects, DangerLevel, PermissionDecision, PermissionPolicy,
    PermissionRequest, PolicyQuery, Verdict,
};
pub use lariat_core::store::{SessionStore, StoreError};
pub use lariat_core::tool::{
    Access, AgentTool, ToolContext, ToolDefinition, ToolEffects, ToolError, ToolResult,
};
pub use lariat_core::transcript::Window;
pub use lariat_core::usage::{Cost, Usage};
#[cfg(feature = "models")]
pub use lariat_model::{
    ProviderRegistry,
    catalogue::{FindModel, UnknownModel},
};
pub use lariat_runtime::observe::{Closed, Subscription};
pub use lariat_runtime::trace::{LiveEvents, TraceLog, TraceSink};
pub use lariat_runtime::{
    Agent, AgentBuilder, AgentContext, AgentError, AgentLoopConfig, AgentOutput, BuildError, ChangeKind,
    CompactionReport, EventSender, FileChange, Gate, MemoryStore, Observer, Plan, PlanDecision,
    PlannedChange, Preview, RunFailure, RunStream, agent_loop, agent_loop_continue, agent_loop_recover,
};

#[cfg(feature = "typed")]
pub use lariat_runtime::{FunctionTool, Typed, TypedError};

/// The code in the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// The code in the guide to the stores, as tests.
#[cfg(all(doctest, feature = "sqlite"))]
#[doc = include_str!("../../../docs/stores.md")]
pub struct Stores;

/// The code in the guide to permissions, as tests.
#[cfg(all(doctest, feature = "tools"))]
#[doc = include_str!("../../../docs/permissions.md")]
pub struct Permissions;

/// The code in the reference of hooks, as tests.
#[cfg(all(doctest, feature = "tools"))]
#[doc = include_str!("../../../docs/hooks.md")]
pub struct HookReference;

/// The code in the guide to what a model is told, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/context.md")]
pub struct Context;

/// The code in the guide to the tools, as tests.
#[cfg(all(doctest, feature = "tools"))]
#[doc = include_str!("../../../docs/tools.md")]
pub struct Tools;

/// The code in the guide to traces, as tests.
#[cfg(all(doctest, feature = "tools", feature = "otlp"))]
#[doc = include_str!("../../../docs/observability.md")]
pub struct Observability;
