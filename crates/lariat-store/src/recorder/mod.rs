//! Builds session records from events as they arrive, and saves them as JSON files.
//!
//! For programs that need [`Session`](lariat_core::session::Session) values but no journal: pass the events of an agent to
//! a [`SessionRecorder`], and its sessions to [`save_session`]. A record is computed from its events
//! ([`Session::of`](lariat_core::session::Session::of)); the recorder only separates events by session.
//! For a store of whole journals, use [`lariat_core::archive::SessionArchive`] and the stores of this crate instead.

mod file;
mod session_recorder;

pub use file::{
    SessionFileError, delete_session, list_session_ids, load_session, load_sessions_for_agent, save_session,
};
pub use session_recorder::{SessionFormationPolicy, SessionRecorder, SessionRecorderConfig};
