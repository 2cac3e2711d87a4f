//! Vocabulary, contracts and the pure agent loop of Lariat.
//!
//! Everything here is data or a function of data: no clock, no randomness, no I/O, no async runtime. Time and ids
//! arrive with inputs, effects leave as values. The runtime performs them; a simulator can too.
//!
//! - Data: [`content`], [`message`], [`usage`], [`budget`], [`event`], [`config`], [`permission`], [`session`].
//! - Contracts: [`model::StreamProvider`], [`tool::AgentTool`], [`store::SessionStore`], [`archive::SessionArchive`],
//!   [`permission::PermissionPolicy`], [`permission::Approver`], [`hooks::Hooks`], [`hooks::InputFilter`],
//!   [`context::CompactionStrategy`], [`budget::SpendingLog`], [`evaluation::EvaluationStrategy`], [`clock::Clock`], [`clock::EntropySource`].
//! - The machine: [`run::Run`], on a [`transcript::Transcript`] that cannot be invalid.

use std::future::Future;
use std::pin::Pin;

pub mod archive;
pub mod budget;
pub mod cancel;
pub mod clock;
pub mod config;
pub mod content;
pub mod context;
pub mod evaluation;
pub mod event;
pub mod hooks;
pub mod id;
pub mod message;
pub mod model;
pub mod nearest;
pub mod opening;
pub mod permission;
pub mod planted;
pub mod replay;
pub mod run;
pub mod session;
pub mod store;
pub mod time;
pub mod tool;
pub mod transcript;
pub mod usage;

/// A boxed future, as the object-safe contracts return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
