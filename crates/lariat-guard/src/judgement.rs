//! The decision about a tool call, with its reasons.
//!
//! Contains the words that explain to a user why something was asked, allowed or denied. A judgement always has at least
//! one reason, and each reason names the part of the tool call it is about.

use std::fmt;
use std::path::PathBuf;

use lariat_core::file_access::FileUse;
use lariat_core::permission::DangerLevel;

use crate::effect::Effect;
use crate::mode::Mode;
use crate::origin::Origin;
use crate::rule::Rule;

/// Maximum characters of a part that a reason repeats.
const MAX_PART_CHARS: usize = 300;
/// Maximum reasons of one judgement; a user would not read more.
const MAX_REASONS: usize = 16;

/// What to do with a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuardDecision {
    /// Run it.
    Allow,
    /// Ask the user.
    Ask,
    /// Do not run it.
    Deny,
}

/// Why something was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A rule matches.
    Rule {
        /// The rule as written.
        text: String,
        /// The list that contains the rule.
        effect: Effect,
        /// The settings that contain the rule.
        origin: Origin,
    },
    /// The permission mode decided.
    Mode(Mode),
    /// It writes a path that other programs execute or obey.
    Protected(String),
    /// Its effect is uncertain.
    Doubt(String),
    /// It could destroy what cannot be restored.
    Critical(String),
    /// No rule allows it.
    NoRule,
}

/// A cause and the part of the tool call it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reason {
    /// The part of the tool call, or the beginning of it.
    pub part: String,
    /// Why it was decided.
    pub cause: Cause,
}

impl Reason {
    pub(crate) fn new(part: &str, cause: Cause) -> Self {
        let part = match part.char_indices().nth(MAX_PART_CHARS) {
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
            Cause::Rule { text, effect, origin } => {
                write!(f, "matches the {effect} rule `{text}` from {origin}")
            }
            Cause::Mode(mode) => write!(f, "decided by permission mode {mode}"),
            Cause::Protected(name) => write!(f, "`{name}` is protected, and no rule can allow writing it"),
            Cause::Doubt(why) => write!(f, "its effect is uncertain ({why})"),
            Cause::Critical(why) => write!(f, "critical: {why}"),
            Cause::NoRule => f.write_str("no rule allows it"),
        }
    }
}

/// The decision about a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgement {
    /// What to do.
    pub verdict: GuardDecision,
    /// How dangerous the tool call is.
    pub danger: DangerLevel,
    /// The reasons, the decisive one first; at most 16.
    pub because: Vec<Reason>,
    /// The real paths, at the time of the decision, of the files that the tool call names.
    pub files: Vec<JudgedFile>,
    /// The real paths of the workspace files that the tool call writes, as far as its arguments tell.
    pub written: Vec<PathBuf>,
}

/// A file that a tool call names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JudgedFile {
    /// Its real path.
    pub path: PathBuf,
    /// What the tool call does with it.
    pub used: FileUse,
}

impl Judgement {
    pub(crate) fn new(verdict: GuardDecision, danger: DangerLevel, mut because: Vec<Reason>) -> Self {
        because.truncate(MAX_REASONS);
        Self { verdict, danger, because, files: Vec::new(), written: Vec::new() }
    }

    /// Returns the reasons alone, for callers that state the decision themselves.
    pub fn why(&self) -> String {
        match self.because.as_slice() {
            [only] => format!("{only}."),
            several => several.iter().map(|reason| format!("\n- {reason}.")).collect(),
        }
    }

    /// Returns the decision and its reasons, one per line.
    pub fn explain(&self) -> String {
        let head = match self.verdict {
            GuardDecision::Allow => "Allowed",
            GuardDecision::Ask => "Asked",
            GuardDecision::Deny => "Denied",
        };
        let lines: Vec<String> = self.because.iter().map(|reason| format!("- {reason}.")).collect();
        format!("{head}:\n{}", lines.join("\n"))
    }
}
