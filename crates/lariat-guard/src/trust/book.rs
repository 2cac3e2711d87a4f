//! What a person said about workspaces, kept across sessions.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Identity, Manifest, Standing};
use crate::kept::{Kept, KeptError};

/// The trusted workspaces of a user.
#[derive(Clone, Debug)]
pub struct TrustBook(Kept);

/// A workspace that a person trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trusted {
    /// Which directory.
    pub identity: Identity,
    /// What it brought when it was trusted.
    pub manifest: Manifest,
}

impl TrustBook {
    /// The book in this file. It must lie outside of every workspace.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self(Kept::new(file))
    }

    /// What the person's word on a workspace is worth now.
    pub fn standing(&self, identity: &Identity, manifest: &Manifest) -> Result<Standing, KeptError> {
        let book: Vec<Trusted> = self.0.load()?;
        let Some(trusted) = book.into_iter().find(|trusted| trusted.identity == *identity) else {
            return Ok(if manifest.is_empty() { Standing::Harmless } else { Standing::Unknown });
        };
        let differences = manifest.since(&trusted.manifest);
        Ok(if differences.is_empty() { Standing::Trusted } else { Standing::Changed(differences) })
    }

    /// Remembers that a person trusts a workspace with exactly this.
    pub fn trust(&self, identity: &Identity, manifest: &Manifest) -> Result<(), KeptError> {
        self.trust_all([(identity, manifest)])
    }

    /// The same of several directories, all of them or none.
    ///
    /// # Errors
    /// When the book cannot be read or written.
    pub fn trust_all<'a>(
        &self,
        directories: impl IntoIterator<Item = (&'a Identity, &'a Manifest)>,
    ) -> Result<(), KeptError> {
        self.0.update(|book: &mut Vec<Trusted>| {
            for (identity, manifest) in directories {
                // One directory per path: what was there before is gone.
                book.retain(|trusted| trusted.identity.path != identity.path);
                book.push(Trusted { identity: identity.clone(), manifest: manifest.clone() });
            }
        })
    }

    /// Forgets a workspace. False when it was not trusted.
    pub fn revoke(&self, path: &str) -> Result<bool, KeptError> {
        self.0.update(|book: &mut Vec<Trusted>| {
            let before = book.len();
            book.retain(|trusted| trusted.identity.path != path);
            book.len() < before
        })
    }

    /// All of them.
    pub fn list(&self) -> Result<Vec<Trusted>, KeptError> {
        self.0.load()
    }
}
