//! The one API of sessions, for every front end: the command line, later the terminal UI, the server and editors.
//!
//! - [`config`]: every setting there is, where each was written, and what counts.

pub mod config;
