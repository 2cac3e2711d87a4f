//! Sessions as records of their loops, made while events come and kept as JSON files (seed 002).
//!
//! For programs that want [`Session`](lariat_core::session::Session) values and no journal: feed a [`SessionRecorder`]
//! the events of an agent, and [`save_session`] what it gives. Everything in a record is a fold over events
//! ([`Session::of`](lariat_core::session::Session::of)); the recorder only keeps events apart by session.
//! Where the seed's names meet ours: its `SessionStore` trait and `FileSystemSessionStore` are
//! [`lariat_core::archive::SessionArchive`] and the stores of this crate.

mod file;
mod forming;

pub use file::{
    SessionFileError, delete_session, list_session_ids, load_session, load_sessions_for_agent, save_session,
};
pub use forming::{SessionFormationPolicy, SessionRecorder, SessionRecorderConfig};
