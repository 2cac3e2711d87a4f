//! Records which session is changing which file.
//!
//! Several agents may work in the same directory. A file belongs to the session that changed it last until a lease ends;
//! another session that wants to change it gets an error instead. The table lives in memory; [`Claims::shared`] also has a
//! small file, for sessions in other processes of the same user. Claims of a process that ended do not apply. Claims are a
//! courtesy: if the file cannot be used, tool calls run, and the file tools detect changes from outside by themselves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::shared_claims::{FileClaimed, SharedClaims};

/// Default time that a file stays with the session that changed it last.
const LEASE: Duration = Duration::from_secs(60);

/// The files that sessions are working on. Clones share one table.
#[derive(Clone, Debug)]
pub struct Claims {
    table: Arc<Mutex<BTreeMap<PathBuf, Claim>>>,
    shared: Option<Arc<SharedClaims>>,
    lease: Duration,
}

#[derive(Clone, Debug)]
struct Claim {
    session: String,
    /// Tool calls that are changing the file now.
    calls: u32,
    since: Instant,
}

/// Claims the files that a tool call changes. They stay with its session until the lease ends after this is dropped.
#[derive(Debug)]
pub struct ClaimGuard {
    claims: Claims,
    paths: Vec<PathBuf>,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a lease lasts in real time, and nothing that is recorded depends on it"
)]
fn now() -> Instant {
    Instant::now()
}

impl Default for Claims {
    fn default() -> Self {
        Self::new(LEASE)
    }
}

impl Claims {
    /// Creates a table in which a file stays with the session that changed it last for `lease`.
    pub fn new(lease: Duration) -> Self {
        Self { table: Arc::default(), shared: None, lease }
    }

    /// Creates a table that all processes of this user share, in files of this directory.
    pub fn shared(directory: impl Into<PathBuf>) -> Self {
        Self { shared: Some(Arc::new(SharedClaims::new(directory.into(), LEASE))), ..Self::default() }
    }

    /// Claims all of these files for a session, or none.
    ///
    /// # Errors
    /// The first file that another session has claimed.
    pub fn take(&self, session: &str, paths: Vec<PathBuf>) -> Result<ClaimGuard, FileClaimed> {
        let now = now();
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.retain(|_, claim| claim.calls > 0 || now.duration_since(claim.since) < self.lease);
        for path in &paths {
            if let Some(claim) = table.get(path).filter(|claim| claim.session != session) {
                let (path, session) = (path.clone(), claim.session.clone());
                return Err(FileClaimed { path, session, age: now.duration_since(claim.since) });
            }
        }
        if let Some(shared) = &self.shared {
            shared.take(session, &paths)?;
        }
        for path in &paths {
            let claim = Claim { session: session.to_owned(), calls: 0, since: now };
            let claim = table.entry(path.clone()).or_insert(claim);
            claim.calls += 1;
            claim.since = now;
        }
        Ok(ClaimGuard { claims: self.clone(), paths })
    }

    /// Releases every file of a session that has ended.
    pub fn release(&self, session: &str) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.retain(|_, claim| claim.session != session);
        if let Some(shared) = &self.shared {
            shared.release(session);
        }
    }

    /// Returns the session that has claimed a file.
    pub fn holder(&self, path: &Path) -> Option<String> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let valid = |claim: &&Claim| claim.calls > 0 || claim.since.elapsed() < self.lease;
        table.get(path).filter(valid).map(|claim| claim.session.clone())
    }
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        let mut table = self.claims.table.lock().unwrap_or_else(PoisonError::into_inner);
        for path in &self.paths {
            if let Some(claim) = table.get_mut(path) {
                claim.calls = claim.calls.saturating_sub(1);
                claim.since = now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn file_belongs_to_one_session_during_a_tool_call() {
        let claims = Claims::new(Duration::ZERO);
        let held = claims.take("a", paths(&["/w/x", "/w/y"])).unwrap();
        let taken = claims.take("b", paths(&["/w/z", "/w/y"])).unwrap_err();
        assert_eq!((taken.path.as_path(), taken.session.as_str()), (Path::new("/w/y"), "a"));
        // All or nothing: `z` was not claimed.
        assert_eq!(claims.holder(Path::new("/w/z")), None);
        let again = claims.take("a", paths(&["/w/y"])).unwrap();
        drop(held);
        claims.take("b", paths(&["/w/y"])).unwrap_err();
        drop(again);
        claims.take("b", paths(&["/w/y"])).unwrap();
    }

    #[test]
    fn file_stays_with_its_session_until_the_lease_ends_or_the_session_is_released() {
        let claims = Claims::new(Duration::from_secs(3_600));
        drop(claims.take("a", paths(&["/w/x"])).unwrap());
        assert_eq!(claims.holder(Path::new("/w/x")).as_deref(), Some("a"));
        let words = claims.take("b", paths(&["/w/x"])).unwrap_err().to_string();
        assert!(
            words.starts_with("`/w/x` is being changed by another agent (session a, 0 s ago)."),
            "{words}"
        );
        claims.release("a");
        claims.take("b", paths(&["/w/x"])).unwrap();
    }
}
