//! Handles findings: records what its own agent shares and copies of what the agents below it found, and passes on
//! what is durable.

use std::sync::Arc;

use lariat_core::event::{AgentEvent, Finding};
use lariat_core::id::ToolCallId;
use lariat_core::run::Input;
use lariat_core::time::Minter;
use lariat_core::tool::{ToolError, ToolResult};
use serde::Deserialize;

use super::Driver;

/// The name of the tool with which a sub-agent shares a finding. Its result has the finding as details.
pub(crate) const SHARE_FINDING: &str = "share_finding";

/// The details of a result of that tool.
#[derive(Deserialize)]
struct SharedDetails {
    text: String,
    #[serde(default)]
    files: Vec<String>,
}

impl Driver {
    /// Passes on what the session recorded in earlier runs and processes.
    pub(super) fn share_recorded_findings(&self) {
        self.run.memory().findings().iter().for_each(|finding| self.ports.lineage.share_finding(finding));
    }

    /// Records what a tool call shares, in the same write as its end, unless the agent has shared it before. The call fails if its agent or the tree shared too much already.
    pub(super) fn record_finding(&mut self, call: &ToolCallId, result: &mut Result<ToolResult, ToolError>) {
        let lineage = &self.ports.lineage;
        let is_shared = lineage.depth() > 0 && self.tool_name(call).as_deref() == Some(SHARE_FINDING);
        let Some(shared) = result.as_ref().ok().filter(|_| is_shared) else { return };
        let Ok(SharedDetails { text, files }) = serde_json::from_value(shared.details.clone()) else {
            return;
        };
        let session_id = self.journal.session_id().clone();
        let found = self.run.memory().findings();
        let own = found.iter().filter(|finding| finding.session_id == session_id);
        // Said before, for example in a call that a crash interrupted.
        if own.clone().any(|known| known.text == text && known.files == files) {
            return;
        }
        let own = own.count();
        let refusal = match (own, lineage.findings().max(found.len())) {
            (Finding::MAX_OF_AGENT.., _) => {
                Some(format!("you have shared {own} findings, which is the maximum"))
            }
            (_, all @ Finding::MAX_OF_TREE..) => {
                Some(format!("the agents of this task have shared {all} findings, which is the maximum"))
            }
            _ => None,
        };
        if let Some(why) = refusal {
            *result = Err(ToolError::Failed(format!("{why}; put the rest into your report")));
            return;
        }
        let mut minter = Minter::default();
        minter.stamp(self.ports.stamp());
        let finding = Finding::new(minter.uuid().to_string(), session_id, text);
        let finding = finding.by(lineage.path().iter().cloned()).about(files);
        self.note_finding(finding);
    }

    /// Records a copy of what an agent below found, unless the session has one.
    pub(super) fn copy_finding(&mut self, finding: &Finding) {
        if !self.run.memory().has_finding(&finding.finding_id) {
            self.note_finding(finding.clone());
        }
    }

    fn note_finding(&mut self, finding: Finding) {
        self.feed(Input::Note { event: Box::new(AgentEvent::FindingShared(Box::new(finding))) });
    }

    /// Passes on a finding that was written.
    pub(super) fn share_finding(&self, finding: &Finding) {
        self.ports.lineage.share_finding(&Arc::new(finding.clone()));
    }
}
