//! The operations of an API that the user accepted, one file per API in the state directory.
//!
//! No command and no file tool of an agent can write there. The file's name is the entry's identity, so an entry with
//! another document, base address, credential or filter is an API without a record.

use lariat_connect::openapi::Operation;
use lariat_guard::{StateFile, StateFileError};
use serde::{Deserialize, Serialize};

use crate::UserDirectories;

/// The record of one API.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    /// The name, for users who read the file.
    name: String,
    /// Hash of the document; empty before the user accepts it.
    pub(super) hash: String,
    pub(super) operations: Vec<Operation>,
}

/// The file with the record of one API.
pub(super) struct AcceptedOperations(StateFile);

impl AcceptedOperations {
    pub(super) fn of(folders: &UserDirectories, identity: &str) -> Self {
        Self(StateFile::new(folders.openapi().join(format!("{identity}.json"))))
    }

    pub(super) fn load(&self) -> Result<Record, StateFileError> {
        self.0.load()
    }

    pub(super) fn save(
        &self,
        name: &str,
        hash: &str,
        operations: &[Operation],
    ) -> Result<(), StateFileError> {
        let record = Record { name: name.to_owned(), hash: hash.to_owned(), operations: operations.to_vec() };
        self.0.update(|saved: &mut Record| *saved = record)
    }
}
