//! Defines what the routes need from the program that hosts sessions.

use std::sync::Arc;

use lariat_api::{Principal, Sessions};
use lariat_core::BoxFuture;
use serde::{Deserialize, Serialize};

/// A program that hosts sessions and serves them over HTTP.
pub trait Host: Send + Sync {
    /// Returns the sessions that a principal may use.
    fn sessions_for(&self, principal: &Principal) -> Arc<dyn Sessions>;

    /// Returns the version of the program.
    fn version(&self) -> String;

    /// Returns the number of sessions with an active run.
    fn running(&self) -> u64;

    /// Returns the number of sessions that run a tool or a command, which a stop would interrupt.
    fn busy(&self) -> BoxFuture<'_, u64> {
        Box::pin(std::future::ready(self.running()))
    }

    /// Returns when the program was built or installed, in milliseconds since 1970. Of two programs of one version, the
    /// later one is newer.
    fn program_time(&self) -> u64 {
        0
    }

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
    /// The number of sessions that run a tool or a command, which a stop would interrupt.
    #[serde(default)]
    pub busy: u64,
    /// When the program was built or installed, in milliseconds since 1970; 0 if the host does not say.
    #[serde(default)]
    pub program_time: u64,
}

impl HostStatus {
    /// Creates the description of a host in this process.
    pub(crate) async fn of(host: &dyn Host) -> Self {
        Self {
            version: host.version(),
            pid: std::process::id(),
            protocol: crate::wire::PROTOCOL,
            running: host.running(),
            busy: host.busy().await,
            program_time: host.program_time(),
        }
    }

    /// Returns whether a program of this version and time is newer than the host's, so that it may take over. An older
    /// one does not, so that two installed programs do not replace each other again and again.
    pub fn is_older_than(&self, version: &str, program_time: u64) -> bool {
        let parts = |version: &str| -> Vec<u64> {
            version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
        };
        (parts(&self.version), self.program_time) < (parts(version), program_time)
    }
}
