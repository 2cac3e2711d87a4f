//! The answer to a query, with its reasons.
//!
//! Owns the words in which a person is told why something was asked, allowed or denied. A judgement always has at least
//! one reason, and each reason names the part of the call it is about.

use std::fmt;
use std::path::PathBuf;

use lariat_core::file_judge::FileUse;
use lariat_core::permission::DangerLevel;

use crate::mode::Mode;
use crate::origin::Origin;
use crate::rule::{Effect, Rule};

/// Characters of a part that a reason repeats.
const SHOWN: usize = 300;
/// Reasons of one judgement: more would not be read.
const REASONS: usize = 16;

/// What is to be done with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Run it.
    Allow,
    /// Ask a person.
    Ask,
    /// Do not run it.
    Deny,
}

/// Why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A rule fits.
    Rule {
        /// As it was written.
        text: String,
        /// The list it stands in.
        effect: Effect,
        /// Where it was written.
        origin: Origin,
    },
    /// The mode decides.
    Mode(Mode),
    /// It writes a path that others execute or obey.
    Protected(String),
    /// It cannot be judged by its words.
    Doubt(String),
    /// It could destroy what cannot be restored.
    Critical(String),
    /// Nothing allows it.
    NoRule,
}

/// Why, and about what.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reason {
    /// The part of the call, or its beginning.
    pub part: String,
    /// Why.
    pub cause: Cause,
}

impl Reason {
    pub(crate) fn new(part: &str, cause: Cause) -> Self {
        let part = match part.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", part.get(..end).unwrap_or_default()),
            None => part.to_owned(),
        };
        Self { part, cause }
    }

    pub(crate) fn rule(part: &str, rule: &Rule) -> Self {
        let (text, origin) = (rule.text.clone(), Origin::clone(&rule.origin));
        Self::new(part, Cause::Rule { text, effect: rule.effect, origin })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: ", self.part)?;
        match &self.cause {
            Cause::Rule { text, effect, origin } => write!(f, "the rule {effect} `{text}` of {origin} fits"),
            Cause::Mode(mode) => write!(f, "the mode {mode} decides"),
            Cause::Protected(name) => write!(f, "`{name}` is protected, no rule allows writing it"),
            Cause::Doubt(why) => write!(f, "it cannot be judged by its words ({why})"),
            Cause::Critical(why) => write!(f, "it is critical, {why}"),
            Cause::NoRule => f.write_str("no rule allows it"),
        }
    }
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgement {
    /// What is to be done.
    pub verdict: Decision,
    /// How dangerous the call is.
    pub danger: DangerLevel,
    /// Why; the decisive reason first, and not all of very many.
    pub because: Vec<Reason>,
    /// The files that the call names, where each really was when it was judged.
    pub files: Vec<JudgedFile>,
}

/// A file that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JudgedFile {
    /// Where it really is.
    pub path: PathBuf,
    /// What the call does with it.
    pub used: FileUse,
}

impl Judgement {
    pub(crate) fn new(verdict: Decision, danger: DangerLevel, mut because: Vec<Reason>) -> Self {
        because.truncate(REASONS);
        Self { verdict, danger, because, files: Vec::new() }
    }

    pub(crate) fn with_files(mut self, files: Vec<JudgedFile>) -> Self {
        self.files = files;
        self
    }

    /// The reasons alone, for whoever says before them what was decided.
    pub fn why(&self) -> String {
        match self.because.as_slice() {
            [only] => format!("{only}."),
            several => several.iter().map(|reason| format!("\n- {reason}.")).collect(),
        }
    }

    /// Why it was asked, allowed or denied, one reason to a line.
    pub fn explain(&self) -> String {
        let head = match self.verdict {
            Decision::Allow => "Allowed",
            Decision::Ask => "Asked",
            Decision::Deny => "Denied",
        };
        let lines: Vec<String> = self.because.iter().map(|reason| format!("- {reason}.")).collect();
        format!("{head}:\n{}", lines.join("\n"))
    }
}
