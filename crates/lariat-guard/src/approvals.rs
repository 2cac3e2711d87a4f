//! Stores the permission rules that a user added by answering "always".
//!
//! The file lies outside every workspace, because a repository that could write it could approve its own commands. Each
//! rule applies to one project and is exactly the text that the user saw and approved.

use std::path::PathBuf;

use lariat_core::opening::SandboxOpening;
use serde::{Deserialize, Serialize};

use crate::state_file::{StateFile, StateFileError};

/// The rules that a user added, for all projects, in one file.
#[derive(Clone, Debug)]
pub struct ApprovalStore(StateFile);

/// One stored rule, for one project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approval {
    /// The real path of the project.
    pub project: String,
    /// The rule, exactly as the user saw it.
    pub rule: String,
    /// The question that the user answered when the rule was added.
    pub asked: String,
    /// What the rule opens in the sandbox of the commands it allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub openings: Vec<SandboxOpening>,
}

impl ApprovalStore {
    /// Stores approvals in `file`, which need not exist yet.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self(StateFile::new(file))
    }

    /// Adds `rules` for `project`, with what they open in the sandbox. Existing rules gain the openings.
    pub fn add(
        &self,
        project: &str,
        rules: &[String],
        asked: &str,
        openings: &[SandboxOpening],
    ) -> Result<(), StateFileError> {
        self.0.update(|approvals: &mut Vec<Approval>| {
            for rule in rules {
                let known =
                    approvals.iter_mut().find(|known| known.project == project && known.rule == *rule);
                if let Some(known) = known {
                    known.openings.extend(openings.iter().cloned());
                    known.openings.sort();
                    known.openings.dedup();
                    continue;
                }
                let (project, rule, asked) = (project.to_owned(), rule.clone(), asked.to_owned());
                approvals.push(Approval { project, rule, asked, openings: openings.to_vec() });
            }
        })
    }

    /// Returns the rules of one project.
    pub fn of(&self, project: &str) -> Result<Vec<Approval>, StateFileError> {
        Ok(self.list()?.into_iter().filter(|approval| approval.project == project).collect())
    }

    /// Returns the rules of all projects.
    pub fn list(&self) -> Result<Vec<Approval>, StateFileError> {
        self.0.load()
    }

    /// Removes a rule of a project. Returns false if there is no such rule.
    pub fn revoke(&self, project: &str, rule: &str) -> Result<bool, StateFileError> {
        self.0.update(|approvals: &mut Vec<Approval>| {
            let before = approvals.len();
            approvals.retain(|approval| approval.project != project || approval.rule != rule);
            approvals.len() < before
        })
    }
}
