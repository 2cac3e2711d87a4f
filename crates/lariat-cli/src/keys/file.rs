//! Stores API keys in a file that only the user can read.
//!
//! The file maps each provider to its key, or to the place that holds it, as JSON. A file that other users can read is refused.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::files;
use crate::problem::Problem;

#[derive(Clone, Debug)]
pub(crate) struct KeyFile(PathBuf);

/// The entry of a provider.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum StoredKey {
    /// The key itself.
    Key(String),
    /// The key is in another place.
    Elsewhere {
        #[serde(rename = "in")]
        place: KeyPlace,
    },
}

/// A place for keys other than the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeyPlace {
    /// The system keyring.
    Keyring,
}

impl StoredKey {
    /// The entry of a key in the system keyring.
    pub(crate) const IN_KEYRING: Self = Self::Elsewhere { place: KeyPlace::Keyring };

    /// `file` or `keyring`.
    pub(crate) fn place(&self) -> &'static str {
        match self {
            Self::Key(_) => "file",
            Self::Elsewhere { place: KeyPlace::Keyring } => "keyring",
        }
    }
}

impl fmt::Debug for StoredKey {
    /// Prints the place only, because the entry may be the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.place())
    }
}

impl KeyFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Reads all entries, by provider.
    pub(crate) fn load(&self) -> Result<BTreeMap<String, StoredKey>, Problem> {
        let Some(text) = files::read_private(&self.0)? else { return Ok(BTreeMap::new()) };
        serde_json::from_str(&text).map_err(|error| {
            // Names only the position: the text around it may be a key.
            let place = format!("line {}, column {}", error.line(), error.column());
            Problem::new(Exit::Setup, format!("the key file is not valid JSON at {place}"))
                .at(self.0.display().to_string())
                .hint("move it away, then store your keys again with `lariat auth login PROVIDER`")
        })
    }

    /// Stores a key or its place.
    pub(crate) fn store(&self, provider: &str, stored: StoredKey) -> Result<(), Problem> {
        let mut keys = self.load()?;
        keys.insert(provider.to_owned(), stored);
        self.save(&keys)
    }

    /// Removes the entry of a provider, if any.
    pub(crate) fn remove(&self, provider: &str) -> Result<(), Problem> {
        let mut keys = self.load()?;
        match keys.remove(provider) {
            Some(_) => self.save(&keys),
            None => Ok(()),
        }
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn save(&self, keys: &BTreeMap<String, StoredKey>) -> Result<(), Problem> {
        let text = serde_json::to_string_pretty(keys)
            .map_err(|error| Problem::new(Exit::Failed, format!("could not write the keys: {error}")))?;
        files::write_private(&self.0, &text)
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
