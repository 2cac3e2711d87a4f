//! What the routes need from the program that hosts sessions.

use std::sync::Arc;

use lariat_api::{Principal, Sessions};
use serde::{Deserialize, Serialize};

/// A program that hosts sessions and serves them over HTTP.
pub trait Host: Send + Sync {
    /// Returns the sessions that a principal may use.
    fn sessions_for(&self, principal: &Principal) -> Arc<dyn Sessions>;

    /// Returns the version of the program.
    fn version(&self) -> String;

    /// Returns the number of sessions with an active run.
    fn running(&self) -> u64;

    /// Begins to stop, because a client asked for it, and returns at once. The host closes its sessions, so that
    /// another process can open them, and then cancels the token that ends [`HostSocket::serve`](crate::unix::HostSocket::serve).
    fn stop(&self);
}

/// A host as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HostStatus {
    /// The version of the program.
    pub version: String,
    /// The id of its process.
    pub pid: u32,
    /// The version of the routes. A client of another version asks the host to stop and starts a new one.
    pub protocol: u32,
    /// The number of sessions with an active run.
    pub running: u64,
}

impl HostStatus {
    /// Creates the description of a host in this process.
    pub(crate) fn of(host: &dyn Host) -> Self {
        let protocol = crate::wire::PROTOCOL;
        Self { version: host.version(), pid: std::process::id(), protocol, running: host.running() }
    }
}
