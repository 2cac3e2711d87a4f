//! The Agent Client Protocol (ACP, version 1): serves it to an editor, as a client of the session protocol, and reads and
//! writes the other side of it, for other agents that Lariat drives ([`client`]).
//!
//! [`serve`] reads JSON-RPC messages, one per line, and turns them into commands of a session host. What happens in
//! a session (its log and its live items) goes back as updates. The sessions are the same as in the terminal: the
//! journal has them, this crate keeps nothing.
//!
//! - `wire`: the types of the protocol. `lines` and `connection` move messages. `server` answers requests.
//! - `session`: follows one open session, asks the editor for approval, and ends prompts.
//! - `transcript`, `replay`, `tool_call`, `diff`, `question`, `prompt`, `stop`, `slash`: pure mappings between both protocols.
//! - [`EditorBuffers`]: what the user has not saved in the editor, for the tools of its sessions.
//! - [`Projects`]: what the program that serves knows about a directory, such as models and commands.
//!
//! Invariants: only protocol messages are written to the editor, each on one line; every queue is bounded; a message
//! that is not valid gets an error and changes nothing; the capabilities name only what works.
//!
//! The types are our own and not those of the crate `agent-client-protocol`, because that crate makes `serde_json` keep
//! the order of keys in the whole program. Digests in journals are hashes of JSON with sorted keys
//! (`crates/lariat-sessions/src/asks.rs`). `cargo xtask editors` tests this crate with the client of that crate.

mod buffers;
pub mod client;
mod connection;
mod diff;
mod lines;
mod project;
mod prompt;
mod question;
mod replay;
mod server;
mod session;
mod slash;
mod stop;
mod tool_call;
mod transcript;
mod wire;

pub use buffers::EditorBuffers;
pub use project::{Choice, EditorCommand, EditorServers, Project, Projects};
pub use server::{AgentInfo, ProtocolVersions, serve};
