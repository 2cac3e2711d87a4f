//! The one API of sessions, for every front end: the command line, later the terminal UI, the server and editors.
//!
//! - [`config`]: every setting there is, where each was written, and what counts.
//! - [`local`]: what a workspace on this machine brings, and what that is worth.
//! - [`otlp`]: spans and measurements, to a collector.

pub mod config;
#[cfg(feature = "sqlite")]
mod learned;
#[cfg(all(feature = "local", target_os = "linux"))]
pub mod local;
#[cfg(feature = "otlp")]
pub mod otlp;

#[cfg(feature = "sqlite")]
pub use learned::StoredLearnings;
