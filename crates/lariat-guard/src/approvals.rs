//! Rules that a person added by answering "always".
//!
//! Owns the file that keeps them, outside of every workspace: what a repository could write, it could approve. Each rule
//! counts for one project, and was shown to the person in exactly these words.

use std::path::PathBuf;

use lariat_core::opening::Opening;
use serde::{Deserialize, Serialize};

use crate::kept::{Kept, KeptError};

/// The rules that a user added, for all projects.
#[derive(Clone, Debug)]
pub struct ApprovalBook(Kept);

/// One rule, for one project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approval {
    /// The real path of the project.
    pub project: String,
    /// The rule, as it was shown.
    pub rule: String,
    /// What was asked when it was added.
    pub asked: String,
    /// What is open in the sandbox of the commands that it lets run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub openings: Vec<Opening>,
}

impl ApprovalBook {
    /// The book in this file.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self(Kept::new(file))
    }

    /// Remembers rules for a project, with what they open in the sandbox.
    pub fn add(
        &self,
        project: &str,
        rules: &[String],
        asked: &str,
        openings: &[Opening],
    ) -> Result<(), KeptError> {
        self.0.update(|book: &mut Vec<Approval>| {
            for rule in rules {
                let known = book.iter_mut().find(|known| known.project == project && known.rule == *rule);
                if let Some(known) = known {
                    known.openings.extend(openings.iter().cloned());
                    known.openings.sort();
                    known.openings.dedup();
                    continue;
                }
                let (project, rule, asked) = (project.to_owned(), rule.clone(), asked.to_owned());
                book.push(Approval { project, rule, asked, openings: openings.to_vec() });
            }
        })
    }

    /// The rules of a project.
    pub fn of(&self, project: &str) -> Result<Vec<Approval>, KeptError> {
        Ok(self.list()?.into_iter().filter(|approval| approval.project == project).collect())
    }

    /// All of them.
    pub fn list(&self) -> Result<Vec<Approval>, KeptError> {
        self.0.load()
    }

    /// Forgets a rule of a project. False when there is none.
    pub fn revoke(&self, project: &str, rule: &str) -> Result<bool, KeptError> {
        self.0.update(|book: &mut Vec<Approval>| {
            let before = book.len();
            book.retain(|approval| approval.project != project || approval.rule != rule);
            book.len() < before
        })
    }
}
