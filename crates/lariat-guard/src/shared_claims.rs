//! Shares claims on files between processes of one user: a small table in a file, and a lock for each session that lives.
//!
//! A claim applies while its session lives and its lease lasts. The kernel frees the lock of a process that was killed, so no
//! claim outlives its session.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::state_file::{PresenceLock, StateFile};

/// Another session is changing the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is being changed by another agent (session {session}, {} s ago). Work on something else, or wait and read it again.", path.display(), age.as_secs())]
pub struct FileClaimed {
    /// The claimed file.
    pub path: PathBuf,
    /// The session that has claimed it.
    pub session: String,
    /// Time since that session last claimed or changed it.
    pub age: Duration,
}

/// The claims in a directory.
#[derive(Debug)]
pub(crate) struct SharedClaims {
    directory: PathBuf,
    file: StateFile,
    lease: Duration,
    /// The sessions of this process that claimed a file.
    present: Mutex<BTreeMap<String, PresenceLock>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SharedClaim {
    session: String,
    /// When the session last claimed the file, in milliseconds since 1970.
    at: u64,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a lease between processes lasts in real time, and nothing that is recorded depends on it"
)]
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl SharedClaims {
    pub(crate) fn new(directory: PathBuf, lease: Duration) -> Self {
        let file = StateFile::new(directory.join("claims.json")).unsynced();
        Self { directory, file, lease, present: Mutex::default() }
    }

    /// Claims all of these files for a session, or none. Succeeds if the table cannot be used.
    pub(crate) fn take(&self, session: &str, paths: &[PathBuf]) -> Result<(), FileClaimed> {
        if paths.is_empty() || !self.announce(session) {
            return Ok(());
        }
        let now = now();
        let claimed = self.file.update(|table: &mut BTreeMap<String, SharedClaim>| {
            table.retain(|_, claim| {
                let age = Duration::from_millis(now.saturating_sub(claim.at));
                age < self.lease && (claim.session == session || self.is_present(&claim.session))
            });
            for path in paths {
                if let Some(claim) = table.get(&key(path)).filter(|claim| claim.session != session) {
                    let age = Duration::from_millis(now.saturating_sub(claim.at));
                    return Err(FileClaimed { path: path.clone(), session: claim.session.clone(), age });
                }
            }
            for path in paths {
                table.insert(key(path), SharedClaim { session: session.to_owned(), at: now });
            }
            Ok(())
        });
        claimed.unwrap_or(Ok(()))
    }

    /// Ends the claims of a session of this process.
    pub(crate) fn release(&self, session: &str) {
        self.present.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }

    /// Shows other processes that a session lives. Returns false if that is not possible.
    fn announce(&self, session: &str) -> bool {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        if present.contains_key(session) {
            return true;
        }
        let Ok(presence) = PresenceLock::announce(self.presence_path(session)) else { return false };
        present.insert(session.to_owned(), presence);
        true
    }

    fn is_present(&self, session: &str) -> bool {
        PresenceLock::is_at(&self.presence_path(session))
    }

    fn presence_path(&self, session: &str) -> PathBuf {
        self.directory.join(format!("{}.live", session.replace('/', "-")))
    }
}

fn key(path: &std::path::Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
#[path = "shared_claims_tests.rs"]
mod tests;
