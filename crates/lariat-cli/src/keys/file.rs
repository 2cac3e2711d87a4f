//! The file of stored keys, which only the person can read.
//!
//! Owns the file's form: service to key, or to where the key is, as JSON. Invariant: a file that others can read is not used.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::files;
use crate::problem::Problem;

/// The file of stored keys.
#[derive(Clone, Debug)]
pub(crate) struct KeyFile(PathBuf);

/// What the file has for a service.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Stored {
    /// The key itself.
    Key(String),
    /// Where the key is.
    Elsewhere {
        /// The place.
        #[serde(rename = "in")]
        place: Place,
    },
}

/// A place besides the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Place {
    /// The system's keyring.
    Keyring,
}

impl Stored {
    /// That the key is in the system's keyring.
    pub(crate) const IN_KEYRING: Self = Self::Elsewhere { place: Place::Keyring };

    /// Where the key is, in a word.
    pub(crate) fn place(&self) -> &'static str {
        match self {
            Self::Key(_) => "file",
            Self::Elsewhere { place: Place::Keyring } => "keyring",
        }
    }
}

impl fmt::Debug for Stored {
    /// Where it is, not what: it may be the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.place())
    }
}

impl KeyFile {
    /// The keys in this file.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Everything that is stored, by service.
    pub(crate) fn load(&self) -> Result<BTreeMap<String, Stored>, Problem> {
        let Some(text) = files::read_private(&self.0)? else { return Ok(BTreeMap::new()) };
        serde_json::from_str(&text).map_err(|error| {
            // Where, not what: the text around it is a key.
            let place = format!("line {}, column {}", error.line(), error.column());
            Problem::new(Exit::Setup, format!("the file of keys is damaged at {place}"))
                .at(self.0.display().to_string())
                .next("move it away, then store keys again: `lariat auth login PROVIDER`")
        })
    }

    /// Stores a key, or where it is.
    pub(crate) fn store(&self, provider: &str, stored: Stored) -> Result<(), Problem> {
        let mut keys = self.load()?;
        keys.insert(provider.to_owned(), stored);
        self.save(&keys)
    }

    /// Forgets a key, if it has one.
    pub(crate) fn forget(&self, provider: &str) -> Result<(), Problem> {
        let mut keys = self.load()?;
        match keys.remove(provider) {
            Some(_) => self.save(&keys),
            None => Ok(()),
        }
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn save(&self, keys: &BTreeMap<String, Stored>) -> Result<(), Problem> {
        let text = serde_json::to_string_pretty(keys)
            .map_err(|error| Problem::new(Exit::Failed, format!("keys cannot be written: {error}")))?;
        files::write_private(&self.0, &text)
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
