//! Keys that a person stored: one file that only the person can read.
//!
//! Owns the file's form: service to key, as JSON. Invariant: a file that others can read is not used. The system's keyring is not
//! asked: what speaks to it here would bring a second async runtime into the program.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::exit::Exit;
use crate::files;
use crate::problem::Problem;

/// The keys that are stored.
#[derive(Clone, Debug)]
pub(crate) struct KeyFile(PathBuf);

impl KeyFile {
    /// The keys in this file.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// All keys, by service.
    pub(crate) fn load(&self) -> Result<BTreeMap<String, String>, Problem> {
        let Some(text) = files::read_private(&self.0)? else { return Ok(BTreeMap::new()) };
        serde_json::from_str(&text).map_err(|error| {
            // Where, not what: the text around it is a key.
            let place = format!("line {}, column {}", error.line(), error.column());
            Problem::new(Exit::Setup, format!("the file of keys is damaged at {place}"))
                .at(self.0.display().to_string())
                .next("move it away, then store keys again: `lariat auth login PROVIDER`")
        })
    }

    /// Stores a key.
    pub(crate) fn store(&self, provider: &str, key: &str) -> Result<(), Problem> {
        let mut keys = self.load()?;
        keys.insert(provider.to_owned(), key.to_owned());
        self.save(&keys)
    }

    /// Forgets a key. False when there was none.
    pub(crate) fn forget(&self, provider: &str) -> Result<bool, Problem> {
        let mut keys = self.load()?;
        let was_there = keys.remove(provider).is_some();
        if was_there {
            self.save(&keys)?;
        }
        Ok(was_there)
    }

    /// Where they are.
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn save(&self, keys: &BTreeMap<String, String>) -> Result<(), Problem> {
        let text = serde_json::to_string_pretty(keys)
            .map_err(|error| Problem::new(Exit::Failed, format!("keys cannot be written: {error}")))?;
        files::write_private(&self.0, &text)
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
