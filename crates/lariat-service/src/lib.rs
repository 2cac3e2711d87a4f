//! The one API of sessions, for every front end: the command line, later the terminal UI, the server and editors.
//!
//! - [`config`]: every setting there is, where each was written, and what counts.
//! - [`local`]: what a workspace on this machine brings, and what that is worth.
//! - [`place`]: a directory, with both. [`models`]: from a model's name to what reaches it.
//! - [`service`]: sessions on this machine. [`session`]: one that is driven.
//! - [`walls`]: which sandbox works here. [`otlp`]: spans and measurements, to a collector.

#[cfg(feature = "service")]
mod assembly;
pub mod config;
#[cfg(feature = "service")]
mod error;
#[cfg(feature = "service")]
mod folders;
#[cfg(feature = "sqlite")]
mod learned;
#[cfg(all(feature = "local", target_os = "linux"))]
pub mod local;
#[cfg(feature = "service")]
mod manage;
#[cfg(feature = "service")]
pub mod models;
#[cfg(feature = "otlp")]
pub mod otlp;
#[cfg(feature = "service")]
pub mod place;
#[cfg(feature = "service")]
mod private;
#[cfg(feature = "service")]
pub mod service;
#[cfg(feature = "service")]
pub mod session;
#[cfg(feature = "service")]
mod tools;
#[cfg(feature = "service")]
mod traces;
#[cfg(feature = "service")]
pub mod walls;

#[cfg(feature = "service")]
pub use error::ServiceError;
#[cfg(feature = "service")]
pub use folders::Folders;
#[cfg(feature = "sqlite")]
pub use learned::StoredLearnings;
#[cfg(feature = "service")]
pub use place::{Place, Visit};
#[cfg(feature = "service")]
pub use service::{LocalService, Which, WindowLook};
#[cfg(feature = "service")]
pub use session::{Driving, Prompt, Session};
#[cfg(feature = "service")]
pub use tools::is_tool;
