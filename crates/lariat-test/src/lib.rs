//! Test support for programs that embed Lariat: test your tools, policies, hooks and stores without an API
//! key, a network or real time.
//!
//! | to … | use |
//! | --- | --- |
//! | play a model that follows a script and rejects what real APIs reject | [`ScriptedModel`], [`Reply`] |
//! | see which tools ran, when, and how they ended | [`LedgerTool`], [`Ledger`], [`Act`] |
//! | decide and approve tool calls by a function, and see what was asked | [`ScriptedPolicy`], [`ScriptedApprover`] |
//! | answer the events of a session by a function | [`ScriptedHooks`] |
//! | move time by hand, and run futures on it | [`VirtualClock`], [`block_on`], [`Executor`] |
//! | make a store fail, lose acknowledgements or crash when you say so | [`FaultyStore`], [`Fault`] |
//! | check your own store | [`store_conformance!`], [`archive_conformance!`], [`conformance`] |
//! | check your own session host | `session_conformance!`, `sessions` (feature `sessions`) |
//! | repeat random choices from a seed | [`SeededRandom`], [`SeededEntropy`] |
//!
//! Add this crate to your dev-dependencies. The examples name an agent `lariat_runtime::Agent`; it is the same
//! type as `lariat::Agent`.
//!
//! # Test an agent and its tools
//!
//! The model plays its replies in order. It validates every request first, so a test also shows that a real API
//! would accept the conversation.
//!
//! ```
//! use std::sync::Arc;
//!
//! use lariat_core::permission::AllowAll;
//! use lariat_runtime::Agent;
//! use lariat_test::{Act, Ledger, LedgerTool, Reply, ScriptedModel, VirtualClock};
//! use serde_json::json;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = Arc::new(ScriptedModel::new([
//!     Reply::tool_call("c1", "deploy", json!({"version": "1.2"})),
//!     Reply::text("Version 1.2 is live."),
//! ]));
//! let ledger = Ledger::new();
//! let deploy = LedgerTool::new("deploy", ledger.clone(), VirtualClock::new().shared())
//!     .with_script(|call| Act::text(format!("deployed {}", call.args["version"])));
//!
//! let agent = Agent::builder()
//!     .model(model.clone())
//!     .tool(deploy)
//!     .permission_policy(AllowAll)
//!     .build()?;
//! assert_eq!(agent.run("Deploy it.").await?.text, "Version 1.2 is live.");
//!
//! assert_eq!(ledger.all()[0].args, json!({"version": "1.2"}));
//! assert_eq!(model.requests(), 2);
//! assert!(model.violations().is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! # Test without waiting
//!
//! Time passes only when every task waits for it. A future that would wait forever is an error, not a test that
//! hangs.
//!
//! ```
//! use std::time::Duration;
//!
//! use lariat_core::clock::Clock;
//! use lariat_test::{EPOCH, Halt, VirtualClock, block_on};
//!
//! let clock = VirtualClock::new();
//! block_on(&clock, clock.sleep_until(EPOCH.after(Duration::from_secs(3600)))).unwrap();
//! assert_eq!(clock.now().since(EPOCH), Duration::from_secs(3600));
//! assert_eq!(block_on(&clock, std::future::pending::<()>()), Err(Halt::Stalled));
//! ```
//!
//! # Test what a failing store does to your program
//!
//! ```
//! use std::sync::Arc;
//!
//! use lariat_runtime::Agent;
//! use lariat_test::{Fault, FaultyStore, Reply, ScriptedModel, VirtualClock};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The store writes the first batch, but loses its acknowledgement.
//! let store = FaultyStore::new(VirtualClock::new().shared()).with_faults([Fault::Ambiguous]);
//! let store = Arc::new(store);
//! let agent = Agent::builder()
//!     .model(ScriptedModel::new([Reply::text("Saved.")]))
//!     .session_id("notes")
//!     .store(store.clone())
//!     .build()?;
//! agent.run("Save this.").await?;
//!
//! assert_eq!(store.injected_faults(), [(0, Fault::Ambiguous)]);
//! assert_eq!(store.acknowledged(&"notes".into()), store.survivors(&"notes".into()));
//! assert!(store.misuses().is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! # Check your own store
//!
//! See [`conformance`].
//!
//! Invariant: everything here is a function of its script and its seed, so that every failure can be
//! reproduced.

mod answer;
mod clock;
pub mod conformance;
mod executor;
mod hooks;
pub mod journal;
pub mod model;
mod policy;
mod random;
#[cfg(feature = "sessions")]
pub mod sessions;
pub mod tools;

pub use answer::Answer;
pub use clock::{EPOCH, VirtualClock};
pub use executor::{BLOCK_ON_STEPS, Executor, Halt, Step, TaskId, block_on};
pub use hooks::ScriptedHooks;
pub use journal::{Fault, FaultRates, FaultyStore};
pub use model::{Reply, ScriptedModel, StrictChecker};
pub use policy::{ScriptedApprover, ScriptedPolicy};
pub use random::{SeededEntropy, SeededRandom};
pub use tools::{Act, Ledger, LedgerTool};
