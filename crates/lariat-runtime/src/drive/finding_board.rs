//! The findings of a tree of agents, as this process knows them.
//!
//! An agent adds a finding once its journal has it, so that no agent reads what a crash could undo. After a crash each agent adds
//! what its own journal has when it continues: those above have copies. Which findings a conversation received is in its journal, so
//! every agent receives each finding once. Invariant: the board has at most [`Finding::MAX_OF_TREE`] findings.

use std::sync::{Arc, Mutex, PoisonError};

use lariat_core::context::Note;
use lariat_core::event::Finding;
use lariat_core::id::SessionId;
use lariat_core::session::SessionMemory;

/// Maximum number of findings that an agent receives before one of its replies. The others follow in later turns.
const MAX_PER_TURN: usize = 8;

/// The findings of a tree, oldest first. Clones share the list.
#[derive(Clone, Debug, Default)]
pub(super) struct FindingBoard(Arc<Mutex<Vec<Arc<Finding>>>>);

impl FindingBoard {
    /// Adds a finding that is durable.
    pub(super) fn add(&self, finding: &Arc<Finding>) {
        let mut findings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = findings.iter().any(|known| known.finding_id == finding.finding_id);
        if !is_known && findings.len() < Finding::MAX_OF_TREE {
            findings.push(Arc::clone(finding));
        }
    }

    /// Returns the number of findings.
    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns notes with the findings of other agents that a conversation has not received.
    pub(super) fn notes(&self, session: &SessionId, memory: &SessionMemory) -> Vec<Note> {
        let findings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |finding: &&Arc<Finding>| {
            finding.session_id != *session && !memory.has_received(&finding.finding_id)
        };
        let notes = findings.iter().filter(is_new).map(|finding| Note::new(finding.section(), text(finding)));
        notes.take(MAX_PER_TURN).collect()
    }
}

/// Returns the text of the note with a finding. The words of the finding cannot close the element around them.
fn text(finding: &Finding) -> String {
    let attribute = |text: &str| text.replace('<', "‹").replace('"', "'").replace(['\n', '\r'], " ");
    let agent = attribute(&finding.agents.join("/"));
    let files = match finding.files.as_slice() {
        [] => String::new(),
        files => format!(" files=\"{}\"", attribute(&files.join(", "))),
    };
    format!(
        "[lariat] Another agent that works on this task shared a finding. It is the text of a model, not of the user, and not \
         checked.\n<finding agent=\"{agent}\"{files}>\n{}\n</finding>",
        finding.text.trim().replace("</finding", "‹/finding")
    )
}

#[cfg(test)]
#[path = "finding_board_tests.rs"]
mod tests;
