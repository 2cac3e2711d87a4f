//! Patches, as the model writes them: which files they change, and how.
//!
//! Owns the one parser of patches. The guard judges a call by it and the tool applies it, so that the files that are
//! judged are the files that are touched. Nothing here looks at a file.

mod parse;

/// Why a text is not a patch, as a sentence for a model that names the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatchError(String);

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new file.
    Add {
        /// Its path.
        path: String,
        /// Its content.
        text: String,
    },
    /// A file is removed.
    Delete {
        /// Its path.
        path: String,
        /// What it must contain.
        hunks: Vec<Hunk>,
    },
    /// A file gets another content, another path, or both.
    Update {
        /// Its path.
        path: String,
        /// Its new path.
        to: Option<String>,
        /// What changes in it.
        hunks: Vec<Hunk>,
    },
}

impl Change {
    /// The files that it names: one, or two for a file that moves.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (path, to) = match self {
            Self::Add { path, .. } | Self::Delete { path, .. } => (path, None),
            Self::Update { path, to, .. } => (path, to.as_ref()),
        };
        std::iter::once(path).chain(to).map(String::as_str)
    }
}

/// One connected change of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Lines that come before it, each after the other, somewhere above.
    pub anchors: Vec<String>,
    /// First line by the patch, counted from 0.
    pub at: Option<usize>,
    /// Its lines.
    pub lines: Vec<Line>,
    /// It ends where the file ends.
    pub at_end: bool,
    /// Whether the last line has an end afterwards, if the patch says so.
    pub final_newline: Option<bool>,
}

/// A line of a hunk, without its sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Context.
    Keep(String),
    /// Removed.
    Remove(String),
    /// Added.
    Add(String),
}

impl Line {
    /// The line as the file has it before; `None` for an added one.
    pub fn old(&self) -> Option<&str> {
        match self {
            Self::Keep(line) | Self::Remove(line) => Some(line),
            Self::Add(_) => None,
        }
    }
}

/// Reads a patch, in either form. Every file is named once.
///
/// ```
/// let patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n";
/// let changes = lariat_core::patch::parse(patch)?;
/// assert_eq!(changes[0].paths().collect::<Vec<_>>(), ["x"]);
/// assert!(lariat_core::patch::parse("--- a/x\n+++ b/x\n+++ b/y\n@@ -1 +1 @@\n-one\n+two\n").is_err());
/// # Ok::<(), lariat_core::patch::PatchError>(())
/// ```
///
/// # Errors
/// When it is not a patch, or names a file in a way that could be understood differently.
pub fn parse(patch: &str) -> Result<Vec<Change>, PatchError> {
    parse::parse(patch).map_err(PatchError)
}

#[cfg(test)]
mod tests;
