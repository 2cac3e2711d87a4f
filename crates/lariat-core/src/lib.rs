//! The data types, the contracts and the agent loop of Lariat, free of I/O.
//!
//! Everything here is data or a function of data: no clock, no randomness, no I/O, no async runtime. The
//! caller passes time and ids in with each input and receives effects as values. The runtime performs the
//! effects; a simulator can do the same.
//!
//! - Data: [`content`], [`message`], [`usage`], [`budget`], [`ledger`], [`event`], [`config`], [`permission`], [`session`].
//! - Contracts: [`model::StreamProvider`], [`tool::AgentTool`], [`tool::Tool`], [`store::SessionStore`], [`archive::SessionArchive`],
//!   [`permission::PermissionPolicy`], [`permission::Approver`], [`file_access::FileAccessCheck`], [`editor_files::EditorFiles`], [`hooks::Hooks`], [`hooks::InputFilter`],
//!   [`context::CompactionStrategy`], [`budget::SpendingLog`], [`evaluation::EvaluationStrategy`], [`clock::Clock`], [`clock::EntropySource`].
//! - Functions: [`display`] makes untrusted text safe to show, [`nearest`] suggests a name, [`patch`] parses patches.
//! - The machine: [`run::Run`], on a [`transcript::Transcript`] that is always valid for a model.

use std::future::Future;
use std::pin::Pin;

pub mod archive;
pub mod budget;
pub mod cancel;
pub mod clock;
mod compaction;
pub mod config;
pub mod content;
pub mod context;
pub mod display;
pub mod editor_files;
pub mod evaluation;
pub mod event;
pub mod file_access;
pub mod hooks;
pub mod id;
pub mod ledger;
pub mod message;
pub mod model;
pub mod nearest;
pub mod opening;
pub mod patch;
pub mod permission;
pub mod protected_names;
pub mod question;
pub mod replay;
pub mod run;
pub mod session;
mod shared;
pub mod store;
pub mod time;
pub mod tool;
pub mod transcript;
pub mod usage;

/// The boxed future that object-safe traits return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
