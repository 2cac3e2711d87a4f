//! The contract by which tools see files as an editor shows them, with changes that the user has not saved.
//!
//! A front end that is an editor implements it for each of its sessions. Tools ask only after the permission check of the
//! tool call allowed the file, so nothing that a rule denies comes in through an editor.

use std::path::Path;

use crate::BoxFuture;

/// The files of an editor, for one session.
pub trait EditorFiles: Send + Sync {
    /// Returns the text that the editor shows for a file. `path` is absolute and without links. Ends after a deadline, also
    /// if the editor never answers.
    fn read<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, EditorText>;

    /// Saves the text that the editor shows for a file. The editor may format it first.
    ///
    /// # Errors
    /// Why the editor did not save it.
    fn save<'a>(&'a self, path: &'a Path, text: &'a str) -> BoxFuture<'a, Result<(), String>>;
}

/// What an editor knows about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditorText {
    /// The text that it shows. It equals the file on disk if the user changed nothing.
    Text(String),
    /// It does not have the file, or cannot read files at all: the file on disk is what the user sees.
    Absent,
    /// It did not answer in time.
    Silent,
}
