//! Stores which workspaces the user trusts, across sessions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Identity, Manifest, TrustStatus};
use crate::state_file::{StateFile, StateFileError};

/// The trusted workspaces of a user, in one file.
#[derive(Clone, Debug)]
pub struct TrustStore(StateFile);

/// A workspace that the user trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrustedWorkspace {
    /// The directory.
    pub identity: Identity,
    /// What it contained when the user trusted it.
    pub manifest: Manifest,
}

impl TrustStore {
    /// Stores trust in `file`, which must lie outside every workspace.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self(StateFile::new(file))
    }

    /// Returns whether the user's trust still applies to a workspace with this manifest.
    pub fn status(&self, identity: &Identity, manifest: &Manifest) -> Result<TrustStatus, StateFileError> {
        let workspaces: Vec<TrustedWorkspace> = self.0.load()?;
        let Some(trusted) = workspaces.into_iter().find(|trusted| trusted.identity == *identity) else {
            return Ok(if manifest.is_empty() { TrustStatus::Harmless } else { TrustStatus::Unknown });
        };
        let differences = manifest.since(&trusted.manifest);
        Ok(if differences.is_empty() { TrustStatus::Trusted } else { TrustStatus::Changed(differences) })
    }

    /// Records that the user trusts a workspace with exactly this manifest.
    pub fn trust(&self, identity: &Identity, manifest: &Manifest) -> Result<(), StateFileError> {
        self.trust_all([(identity, manifest)])
    }

    /// Like [`trust`](Self::trust) for several directories, all of them or none.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn trust_all<'a>(
        &self,
        directories: impl IntoIterator<Item = (&'a Identity, &'a Manifest)>,
    ) -> Result<(), StateFileError> {
        self.0.update(|workspaces: &mut Vec<TrustedWorkspace>| {
            for (identity, manifest) in directories {
                // One entry per path: a directory that was there before is gone.
                workspaces.retain(|trusted| trusted.identity.path != identity.path);
                workspaces.push(TrustedWorkspace { identity: identity.clone(), manifest: manifest.clone() });
            }
        })
    }

    /// Removes a workspace. Returns false if it was not trusted.
    pub fn revoke(&self, path: &str) -> Result<bool, StateFileError> {
        self.0.update(|workspaces: &mut Vec<TrustedWorkspace>| {
            let before = workspaces.len();
            workspaces.retain(|trusted| trusted.identity.path != path);
            workspaces.len() < before
        })
    }

    /// Returns all trusted workspaces.
    pub fn list(&self) -> Result<Vec<TrustedWorkspace>, StateFileError> {
        self.0.load()
    }
}
