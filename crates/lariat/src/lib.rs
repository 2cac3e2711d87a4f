//! Lariat is a crash-safe agent runtime. Use this crate to embed agents in your program.
//!
//! A session is an append-only journal, the agent loop is a pure state machine, and every tool call passes
//! one permission check. After a crash, no message is lost and no tool runs twice. A broken stream is
//! retried, and a budget stops a runaway bill.
//!
//! This page shows how to build and run agents. Every example on it is compiled as a test, and all but the
//! last are run. They use [`ScriptedModel`] of the crate `lariat-test`, a model that follows a script, so they
//! need no API key and no network. To reach a real model, name it: `.model("anthropic/claude-sonnet-4-5")`.
//!
//! 1. [Embed an agent](#embed-an-agent)
//! 2. [Add a tool](#add-a-tool)
//! 3. [Watch a run](#watch-a-run): [callback](#with-a-callback), [broadcast](#with-several-subscribers),
//!    [stream](#with-an-interactive-stream)
//! 4. [Decide what may run](#decide-what-may-run)
//! 5. [Intercept with hooks](#intercept-with-hooks)
//! 6. [Set limits](#set-limits)
//! 7. [Resume after a crash](#resume-after-a-crash)
//! 8. [Use a real model](#use-a-real-model)
//! 9. [Find your way around](#find-your-way-around)
//!
//! Each of the [guides](guide) is one program of less than forty lines, with its output: embed an agent,
//! write a tool, ask for a typed answer, write a provider, write a store, intercept with hooks, delegate to
//! sub-agents, let several agents answer at once, let one agent judge the work of another.
//!
//! # Embed an agent
//!
//! An agent needs a model; everything else has a default. Agents run on tokio.
//!
//! ```
//! use lariat::Agent;
//! use lariat_test::{Reply, ScriptedModel};
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
//! An [`Agent`] is cheap to clone, and all clones are the same agent. It runs one prompt at a time; a second
//! prompt meanwhile fails with [`AgentError::Busy`]. To send a message to a running agent, use
//! [`Agent::steer`] (the model sees it between tool calls) or [`Agent::follow_up`] (the model sees it when it
//! would otherwise stop). If the agent is idle, both wait for the next run. Dropping the future of
//! [`Agent::run`] cancels the run, which still journals its end. [`Agent::close`], or dropping the agent,
//! releases the session: it frees files and memory, and another process can then resume the session.
//!
//! A model that cannot be called, or that fails permanently, is an error: [`AgentError::Failed`] with a
//! [`FailureKind`](model::FailureKind), such as an unreachable server, a missing key or an unknown protocol. Everything that the
//! agent itself decides (a limit, a cancelled run, a hook) is an outcome, not an error.
//!
//! # Add a tool
//!
//! A tool implements [`Tool`]: its description for the model, and its code. Declare what it does to the
//! outside world with [`Tool::effects`]. A read-only tool runs without approval and in parallel with
//! others; a tool that declares nothing is assumed to do everything. A [`ToolError`] does not end the run:
//! the model receives it and can correct itself. The same happens when a tool panics. If the output is long,
//! the model receives the beginning and the end, 128 KiB in total ([`AgentBuilder::max_tool_output`]). The
//! store keeps the full output, and the model can read it with the `recall` tool, which every agent with
//! tools has.
//!
//! Each [`Tool`] is also an [`AgentTool`], the form without `async fn` that agents hold; implement that one to
//! show a preview of changes. [`FunctionTool`] makes a tool from a function.
//!
//! ```
//! use lariat::serde_json::{Value, json};
//! use lariat::{Agent, Tool, ToolContext, ToolEffects, ToolError, ToolResult};
//! use lariat_test::{Reply, ScriptedModel};
//!
//! struct Add;
//!
//! impl Tool for Add {
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
//!     async fn execute(&self, params: Value, context: ToolContext) -> Result<ToolResult, ToolError> {
//!         let number = |name: &str| {
//!             let missing = || ToolError::InvalidArgs(format!("`{name}` must be a whole number"));
//!             params.get(name).and_then(Value::as_i64).ok_or_else(missing)
//!         };
//!         context.progress("adding"); // shown to the user; a long-running tool also watches `context.cancel`
//!         Ok(ToolResult::text((number("a")? + number("b")?).to_string()))
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
//! # Watch a run
//!
//! All observers receive the same events, [`AgentEvent`]. Durable events are the journal itself; an observer
//! receives one only after the store saved it. The others (text as it arrives, progress) are live only. A
//! slow observer never slows the run: it misses live events and receives the durable ones later.
//!
//! | to … | use |
//! | --- | --- |
//! | print or log events of every run | a callback: [`AgentBuilder::on_event`] |
//! | give several tasks their own queue of events | a subscription: [`Agent::subscribe`] |
//! | answer approval requests, steer and cancel | a stream: [`Agent::stream`] |
//! | write traces or export metrics, for several agents | an [`Observer`]: [`AgentBuilder::observer`] |
//! | pass the events of one run to your own channel | a sender: [`Agent::prompt_with_sender`] |
//!
//! ## With a callback
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! use lariat::{Agent, AgentEvent};
//! use lariat_test::{Reply, ScriptedModel};
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
//! ## With several subscribers
//!
//! ```
//! use lariat::{Agent, AgentEvent};
//! use lariat_test::{Reply, ScriptedModel};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptedModel::new([Reply::text("hello")]);
//! let agent = Agent::builder().model(model).build()?;
//! let mut subscribers = Vec::new();
//! for _ in 0..2 {
//!     let mut events = agent.subscribe();
//!     subscribers.push(tokio::spawn(async move {
//!         let mut received = 0;
//!         while let Ok(event) = events.recv().await {
//!             received += 1;
//!             if matches!(event.event, AgentEvent::AgentEnd { .. }) {
//!                 break;
//!             }
//!         }
//!         received
//!     }));
//! }
//! agent.run("Go.").await?;
//! for subscriber in subscribers {
//!     assert!(subscriber.await? > 5);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ## With an interactive stream
//!
//! [`Agent::stream`] returns the run itself: use it to answer approval requests, inject messages and
//! cancel the run. Its last event is always `AgentEnd`; then the agent is free again. Dropping the stream
//! cancels the run.
//!
//! ```
//! # use lariat::serde_json::{Value, json};
//! # use lariat::{Tool, ToolContext, ToolError, ToolResult};
//! use lariat::{Agent, AgentEvent, PermissionDecision, RunOutcome};
//! use lariat_test::{Reply, ScriptedModel};
//!
//! # struct Deploy;
//! # impl Tool for Deploy {
//! #     fn name(&self) -> &str { "deploy" }
//! #     fn description(&self) -> &str { "Deploys to production." }
//! #     fn parameters_schema(&self) -> Value { json!({"type": "object"}) }
//! #     async fn execute(&self, _: Value, _: ToolContext) -> Result<ToolResult, ToolError> {
//! #         Ok(ToolResult::text("deployed"))
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
//! let mut stream = agent.stream("Deploy.");
//! while let Some(event) = stream.next().await {
//!     match &event.event {
//!         AgentEvent::PermissionRequired { request } => {
//!             println!("approve? {}", request.summary);
//!             stream.inject_message("Explain it, too.");
//!             stream.respond_permission(request.id, PermissionDecision::Allow);
//!         }
//!         AgentEvent::AgentEnd { outcome, .. } => assert!(outcome.is_completed()),
//!         _ => {}
//!     }
//! }
//! assert_eq!(stream.finish().await?.text, "Deployed, and here is why.");
//!
//! let mut stream = agent.stream("Talk forever.");
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
//! A [`PermissionPolicy`] checks every tool call. The default, [`AskBeforeEffects`], lets read-only tools run
//! and asks for approval before all others. [`AgentBuilder::approve_with`] answers with a closure, an
//! [`Approver`] with a type of your own, and a caller of [`Agent::stream`] in its loop. **Without any of these,
//! the agent denies at once** what it would have to ask about, and the model receives the reason. If a policy,
//! hook or approver panics, the tool call is denied.
//!
//! ```
//! # use lariat_test::{Reply, ScriptedModel};
//! use lariat::{Agent, PermissionDecision};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let model = ScriptedModel::new([Reply::text("hello")]);
//! let agent = Agent::builder()
//!     .model(model)
//!     .approve_with(|request| async move {
//!         println!("approve? {}", request.summary);
//!         PermissionDecision::Allow
//!     })
//!     .build()?;
//! # agent.run("Go.").await?;
//! # Ok(())
//! # }
//! ```
//!
//! A policy of your own decides without asking:
//!
//! ```
//! use lariat::{Agent, BoxFuture, PermissionPolicy, PolicyQuery, Verdict};
//! # use lariat_test::{Reply, ScriptedModel};
//!
//! /// Denies tools that use the network.
//! struct Offline;
//!
//! impl PermissionPolicy for Offline {
//!     fn check<'a>(&'a self, query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
//!         let allowed = !query.effects.contains(lariat::ToolEffects::NETWORK);
//!         let verdict = if allowed { Verdict::Allow } else { Verdict::Deny("network access is disabled".into()) };
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
//! # Intercept with hooks
//!
//! [`Hooks`] are functions that the loop calls at fixed points. The ones named `before_…` can leave out the next
//! step by returning [`Flow::Stop`], and a hook that panics does. The run calls hooks in its own task, so keep
//! them short.
//!
//! ```
//! use lariat::{Agent, Flow, Hooks, RunOutcome, Window};
//! use lariat_test::{Reply, ScriptedModel};
//!
//! struct OfficeHours {
//!     open: bool,
//! }
//!
//! impl Hooks for OfficeHours {
//!     fn before_turn(&self, _messages: &Window, turn_index: u32) -> Flow {
//!         println!("turn {turn_index}");
//!         if self.open { Flow::Continue } else { Flow::Stop }
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
//! # Set limits
//!
//! [`ExecutionLimits`] limit the number of model calls, tokens, time and money of a run. An agent has
//! [`ExecutionLimits::default`] unless you set others. Reaching a limit is an outcome, not an error. A limit
//! on money needs prices: without them, building the agent fails with [`BuildError::CapWithoutPrice`]. Models
//! of the catalogue have prices. For other models, set [`ModelConfig::cost`]; a provider that
//! reports costs itself says so in [`StreamProvider::reports_cost`].
//!
//! ```
//! # use lariat::serde_json::json;
//! use std::time::Duration;
//! use lariat::budget::{BudgetScope, LimitKind};
//! use lariat::{Agent, Cost, ExecutionLimits, RunOutcome};
//! use lariat_test::{Reply, ScriptedModel};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A model that never stops: each reply calls another tool that does not exist.
//! let model = ScriptedModel::from_fn(|n, _| Reply::tool_call(format!("call-{n}"), format!("tool-{n}"), json!({})));
//! let limits = ExecutionLimits::default()
//!     .with_max_turns(3)
//!     .with_max_duration(Duration::from_secs(60))
//!     .with_max_cost(Cost::from_usd(0.25));
//! # let allow_all = lariat::AllowAll;
//! let agent = Agent::builder().model(model).permission_policy(allow_all).limits(limits).build()?;
//! let output = agent.run("Go.").await?;
//! assert_eq!(output.outcome, RunOutcome::LimitReached { limit: LimitKind::Turns, scope: BudgetScope::Run });
//! # Ok(())
//! # }
//! ```
//!
//! # Resume after a crash
//!
//! A session is its journal. Build an agent with the id of the session and call [`Agent::recover`] first: it
//! reads the conversation and finishes the interrupted run, if there is one. A tool that was running when the
//! process died does not run again; the model receives the information that its outcome is unknown. A prompt
//! before `recover` fails with [`AgentError::Interrupted`]. An approval request that was open is sent again,
//! as the same event with the same id, to every kind of observer; [`Agent::pending_permissions`] lists it. To
//! show a session without resuming it, use [`Agent::load`].
//!
//! In this example, two tokio runtimes share a store in memory, and the first one "dies". With a store on
//! disk, the program is the same.
//!
//! ```
//! use std::sync::Arc;
//! use lariat::{Agent, AgentError, AgentEvent, AllowAll, MemoryStore};
//! # use lariat::serde_json::{Value, json};
//! # use lariat::{Tool, ToolContext, ToolError, ToolResult};
//! use lariat_test::{Reply, ScriptedModel};
//!
//! # struct Deploy;
//! # impl Tool for Deploy {
//! #     fn name(&self) -> &str { "deploy" }
//! #     fn description(&self) -> &str { "Deploys to production." }
//! #     fn parameters_schema(&self) -> Value { json!({"type": "object"}) }
//! #     async fn execute(&self, _: Value, _: ToolContext) -> Result<ToolResult, ToolError> {
//! #         std::future::pending().await
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
//!     let mut stream = first.stream("Deploy.");
//!     while let Some(event) = stream.next().await {
//!         if matches!(event.event, AgentEvent::ToolExecutionStart { .. }) {
//!             break;
//!         }
//!     }
//!     stream
//! });
//! drop(process);
//!
//! // The second process resumes the session.
//! let process = tokio::runtime::Runtime::new()?;
//! process.block_on(async {
//!     let second = agent(Reply::text("I will check what is deployed first."))?;
//!     assert!(matches!(second.run("And then?").await, Err(AgentError::Interrupted(_))));
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
//! # Use a real model
//!
//! Name it: `Agent::builder().model("anthropic/claude-sonnet-4-5")`. The catalogue knows the protocol, the
//! address, the size of the context window and the price; the key comes from the provider's usual environment
//! variable (`ANTHROPIC_API_KEY`), or from [`AgentBuilder::api_key`]. An unknown name, or a missing key, is a
//! [`BuildError`].
//!
//! For another address or other prices, pass a [`ModelConfig`]; `ModelConfig::find` (with
//! [`FindModel`](model::FindModel) in scope) starts from the catalogue, and [`ModelConfig::local`] from a server
//! on your machine. Agents that share a [`ProviderRegistry`](model::ProviderRegistry) share its connections:
//! [`AgentBuilder::provider`].
//!
//! Compaction keeps the conversation within the context window ([`AgentBuilder::context`] changes that). If a
//! model fails after all retries, a fallback model continues the same turn.
//!
//! ```no_run
//! use lariat::Agent;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let agent = Agent::builder().model("anthropic/claude-sonnet-4-5").build()?;
//! println!("{}", agent.run("Hi, I am Ada.").await?.text);
//! # Ok(())
//! # }
//! ```
//!
//! # Find your way around
//!
//! The names that most programs need are at the root of this crate, and the ones that nearly all need in the
//! [`prelude`]. The rest is in modules by topic:
//!
//! | module | contents |
//! | --- | --- |
//! | [`model`] | models, providers, the catalogue |
//! | [`tool`] | the contract for tools, tools made from functions, the built-in tools |
//! | [`permission`] | policies, approvals, permission rules, trust |
//! | [`hooks`] | callbacks and input filters |
//! | [`event`] | events and observers |
//! | [`message`] | messages, content, ids |
//! | [`context`] | the system prompt, notes, compaction |
//! | [`budget`] | limits and budgets |
//! | [`store`] | stores: memory, files, SQLite, PostgreSQL, your own |
//! | [`trace`] | logs, spans, metrics |
//! | [`run`] | the loop without an [`Agent`], if your program keeps conversations itself |
//! | `host` | files, processes, the sandbox (feature `tools`) |
//! | `service`, `local` | agents from directories of this machine (feature `service`) |
//! | `otlp` | export to a collector (feature `otlp`) |
//!
//! # Take only what you need
//!
//! | feature | adds |
//! | --- | --- |
//! | `models` (default) | the catalogue, the HTTP client and every protocol that needs no crate of its own |
//! | `http2`, `compression` (default) | HTTP/2 and compressed responses |
//! | `typed` (default) | typed answers, tools made from functions |
//! | `bedrock`, `aws` | Amazon Bedrock; with the standard AWS credentials |
//! | `google` | Google's application default credentials, for Vertex |
//! | `tokenizer` | a real tokenizer; its tables add 34 MB |
//! | `gate` | permission rules, modes, remembered approvals, shell analysis (tree-sitter) |
//! | `jsonl`, `sqlite`, `postgres` | stores; SQLite is compiled in |
//! | `tools` | the built-in tools, the sandbox and `gate`; Linux only |
//! | `fetch` | the `fetch` tool |
//! | `service` | everything that the command line uses |
//! | `second-parser` | a second reader of scripts, so that rules can allow more than simple commands |
//! | `tracing` | spans for `tracing` |
//! | `otlp` | export to an OpenTelemetry collector |
//!
//! A program can link only one version of a native library. Two features link one: `sqlite` (SQLite) and `gate`
//! (tree-sitter). Leave them out if your program links another version. `cargo xtask embed --beside` builds such
//! programs with sqlx 0.8 and 0.9, diesel, rusqlite 0.37 and tree-sitter 0.25.
//!
//! [`ScriptedModel`]: https://github.com/lariat-dev/lariat/tree/main/crates/lariat-test

pub mod budget;
pub mod context;
pub mod event;
pub mod guide;
pub mod hooks;
#[cfg(feature = "tools")]
pub mod host;
pub mod message;
pub mod model;
pub mod permission;
pub mod prelude;
pub mod run;
#[cfg(feature = "service")]
pub mod service;
pub mod store;
pub mod tool;
pub mod trace;

/// Loads a workspace on this machine: its settings, memory files, skills and hooks, as far as the user trusts
/// it.
#[cfg(all(feature = "service", target_os = "linux"))]
pub use lariat_service::local;
/// Exports spans and metrics to an OpenTelemetry collector.
#[cfg(feature = "otlp")]
pub use lariat_service::otlp;
/// Describes the types of answers and arguments to a model. `use lariat::schemars::{self, JsonSchema};` makes
/// `#[derive(JsonSchema)]` work without a dependency of your own.
#[cfg(feature = "typed")]
#[doc(no_inline)]
pub use schemars;
/// JSON values, for tool arguments and results.
#[doc(no_inline)]
pub use serde_json;

pub use budget::{Cost, ExecutionLimits, Usage};
pub use event::{AgentEvent, Event, Observer, RunOutcome};
pub use hooks::{Flow, Hooks, InputFilter};
pub use lariat_core::BoxFuture;
pub use lariat_core::cancel::CancellationToken;
pub use lariat_runtime::{Agent, AgentBuilder, AgentError, AgentOutput, BuildError, RunStream};
pub use message::{AgentMessage, Content, SessionId, Window};
pub use model::{ModelConfig, StreamProvider};
#[cfg(feature = "gate")]
pub use permission::Gate;
pub use permission::{
    AllowAll, Approver, AskBeforeEffects, PermissionDecision, PermissionPolicy, PermissionRequest,
    PolicyQuery, Verdict,
};
pub use store::{MemoryStore, SessionStore};
#[cfg(feature = "typed")]
pub use tool::FunctionTool;
pub use tool::{AgentTool, Tool, ToolContext, ToolEffects, ToolError, ToolResult};

/// Runs the code in the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// Runs the code in the README of `lariat-test` as tests.
#[cfg(doctest)]
#[doc = include_str!("../../lariat-test/README.md")]
pub struct TestSupport;

/// Runs the code in the guide to stores as tests.
#[cfg(all(doctest, feature = "sqlite"))]
#[doc = include_str!("../../../docs/stores.md")]
pub struct Stores;

/// Runs the code in the guide to permissions as tests.
#[cfg(all(doctest, feature = "service"))]
#[doc = include_str!("../../../docs/permissions.md")]
pub struct Permissions;

/// Runs the code in the hook reference as tests.
#[cfg(all(doctest, feature = "service"))]
#[doc = include_str!("../../../docs/hooks.md")]
pub struct HookReference;

/// Runs the code in the guide to the model's context as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/context.md")]
pub struct Context;

/// Runs the code in the guide to tools as tests.
#[cfg(all(doctest, feature = "service"))]
#[doc = include_str!("../../../docs/tools.md")]
pub struct Tools;

/// Runs the code in the guide to observability as tests.
#[cfg(all(doctest, feature = "service", feature = "otlp"))]
#[doc = include_str!("../../../docs/observability.md")]
pub struct Observability;
