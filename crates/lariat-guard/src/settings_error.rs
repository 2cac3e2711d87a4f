//! Why settings cannot be used.

use std::fmt;
use std::sync::Arc;

use crate::origin::Origin;

/// Settings that cannot be used at all. Continuing without them could drop a deny rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file is not in the expected format.
    #[error("cannot parse {origin}: {reason}. hint: fix the file or move it away")]
    Malformed {
        /// The settings.
        origin: Box<Origin>,
        /// The line, if the parser reports it.
        line: Option<usize>,
        /// The message of the parser.
        reason: String,
    },
    /// Restrictions, at least one, cannot be put into effect.
    #[error("{}", join_lines(.0))]
    Restrictions(Vec<BrokenRestriction>),
}

fn join_lines(broken: &[BrokenRestriction]) -> String {
    broken.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl SettingsError {
    pub(crate) fn malformed(origin: &Origin, line: Option<usize>, reason: &dyn fmt::Display) -> Self {
        Self::Malformed { origin: Box::new(origin.clone()), line, reason: reason.to_string() }
    }
}

/// A restriction that cannot be put into effect: a deny or ask rule, a list of them, a mode. No session may start without
/// it; if one does, every tool call requires approval.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokenRestriction {
    /// The rule or the key as written.
    pub subject: String,
    /// What is wrong with it, in words that follow the subject.
    pub reason: String,
    /// The settings that contain it.
    pub origin: Arc<Origin>,
    /// The line of the file.
    pub line: Option<usize>,
}

impl BrokenRestriction {
    /// Creates one without a line.
    pub fn new(subject: impl Into<String>, reason: impl Into<String>, origin: Arc<Origin>) -> Self {
        Self { subject: subject.into(), reason: reason.into(), origin, line: None }
    }

    /// Sets the line.
    #[must_use]
    pub const fn with_line(mut self, line: Option<usize>) -> Self {
        self.line = line;
        self
    }

    /// The file and the line, or the flag or variable.
    pub fn location(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.origin),
            None => self.origin.to_string(),
        }
    }
}

impl fmt::Display for BrokenRestriction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}` {}", self.location(), self.subject, self.reason)
    }
}
