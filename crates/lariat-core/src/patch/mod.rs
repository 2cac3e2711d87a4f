//! Parses patches as the model writes them.
//!
//! This is the only patch parser: the guard uses it to check a tool call and the tool uses it to apply the
//! patch, so both see the same files. It reads no files.

mod parse;

/// Why a text is not a valid patch, as a sentence for the model that names the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatchError(String);

/// The change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Creates a file.
    Add {
        /// Path of the file.
        path: String,
        /// Content of the file.
        text: String,
    },
    /// Removes a file.
    Delete {
        /// Path of the file.
        path: String,
        /// Lines that the file must contain.
        hunks: Vec<Hunk>,
    },
    /// Changes the content of a file, its path, or both.
    Update {
        /// Path of the file.
        path: String,
        /// New path of the file.
        to: Option<String>,
        /// Changes of its content.
        hunks: Vec<Hunk>,
    },
}

impl Change {
    /// Returns the paths of the change: one, or two for a moved file.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (path, to) = match self {
            Self::Add { path, .. } | Self::Delete { path, .. } => (path, None),
            Self::Update { path, to, .. } => (path, to.as_ref()),
        };
        std::iter::once(path).chain(to).map(String::as_str)
    }
}

/// One contiguous change of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Lines that occur in this order somewhere above the hunk.
    pub anchors: Vec<String>,
    /// First line according to the patch, counted from 0.
    pub at: Option<usize>,
    /// Lines of the hunk.
    pub lines: Vec<Line>,
    /// Whether the hunk ends at the end of the file.
    pub at_end: bool,
    /// Whether the last line ends with a newline afterwards, if the patch says so.
    pub final_newline: Option<bool>,
}

/// A line of a hunk, without its sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// An unchanged context line.
    Keep(String),
    /// A removed line.
    Remove(String),
    /// An added line.
    Add(String),
}

impl Line {
    /// Returns the line in the old file; `None` for an added line.
    pub fn old(&self) -> Option<&str> {
        match self {
            Self::Keep(line) | Self::Remove(line) => Some(line),
            Self::Add(_) => None,
        }
    }
}

/// Parses a patch in either format. Each file may be named only once.
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
/// Fails if the text is not a patch or names a file ambiguously.
pub fn parse(patch: &str) -> Result<Vec<Change>, PatchError> {
    parse::parse(patch).map_err(PatchError)
}

#[cfg(test)]
mod tests;
