//! Stores secrets in the keyring, or in the file if the settings say so or the keyring fails.

use std::collections::BTreeMap;

use lariat_service::config::KeyStorage;

use super::{KeyFile, Keyring, StoredKey};
use crate::keys::keyring::KeyringError;
use crate::problem::Problem;

/// Where secrets of the user are.
pub(crate) struct KeyStore {
    pub(crate) file: KeyFile,
    pub(crate) keyring: Keyring,
    pub(crate) wanted: KeyStorage,
}

/// Where a secret was stored.
pub(crate) enum StoredIn {
    Keyring,
    File {
        /// Why the keyring was not used.
        failure: Option<KeyringError>,
        /// Whether an older secret is still in the keyring.
        is_old_left: bool,
    },
}

impl KeyStore {
    /// Stores a secret under a name.
    pub(crate) fn store(&self, name: &str, secret: String) -> Result<StoredIn, Problem> {
        // Read first, so that an unusable file prevents storing anything anywhere.
        let before = self.file.load()?.remove(name);
        let attempt = (self.wanted != KeyStorage::File).then(|| self.keyring.store(name, &secret));
        let failure = match attempt {
            Some(Ok(())) => {
                self.file.store(name, StoredKey::IN_KEYRING)?;
                return Ok(StoredIn::Keyring);
            }
            Some(Err(error)) if self.wanted == KeyStorage::Keyring => {
                return Err(error.problem("nothing was stored: the keyring is unavailable"));
            }
            Some(Err(error)) => Some(error),
            None => None,
        };
        self.file.store(name, StoredKey::Key(secret))?;
        let was_in_keyring = before == Some(StoredKey::IN_KEYRING);
        // Does not query a keyring that just failed.
        let is_old_left = was_in_keyring && (failure.is_some() || self.keyring.remove(name).is_err());
        Ok(StoredIn::File { failure, is_old_left })
    }

    /// Reads a secret.
    pub(crate) fn load(&self, name: &str) -> Result<Option<String>, Problem> {
        match self.file.load()?.remove(name) {
            None => Ok(None),
            Some(StoredKey::Key(secret)) => Ok(Some(secret)),
            Some(StoredKey::Elsewhere { .. }) => {
                let read: Result<BTreeMap<String, String>, _> = self.keyring.read(vec![name.to_owned()]);
                let mut read = read.map_err(|error| error.problem("could not read the keyring"))?;
                Ok(read.remove(name))
            }
        }
    }

    /// Removes a secret. Returns whether there was one.
    pub(crate) fn remove(&self, name: &str) -> Result<bool, Problem> {
        let Some(stored) = self.file.load()?.remove(name) else { return Ok(false) };
        if stored == StoredKey::IN_KEYRING {
            let removed = self.keyring.remove(name);
            removed.map_err(|error| error.problem("could not remove the key from the keyring"))?;
        }
        self.file.remove(name)?;
        Ok(true)
    }
}
