//! Groups of branches that run at the same time and wait for a decision.
//!
//! A group exists from `ParallelLoopStart` to `ParallelLoopEnd`. It knows how to start a branch that a crash prevented from
//! starting, and how ended branches ended, so that a killed group resumes from its journal alone.

use serde::{Deserialize, Serialize};

use super::branch_memory::BranchMemory;
use crate::event::{AgentEvent, EventRecord, RunOutcome};
use crate::id::LoopId;
use crate::message::SharedMessage;
use crate::usage::Usage;

/// Branches without a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BranchGroup {
    /// The prompts of each branch; empty if the branches continue the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<SharedMessage>,
    /// The branches, in the order of their configurations.
    pub branches: Vec<Branch>,
}

/// One branch of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Branch {
    /// The loop of the branch.
    pub loop_id: LoopId,
    /// How the branch ended, and what it used; `None` until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<(RunOutcome, Usage)>,
    pub(super) memory: BranchMemory,
}

impl BranchGroup {
    pub(super) fn new(loop_ids: &[LoopId], prompts: &[SharedMessage], base: &BranchMemory) -> Self {
        let branch =
            |loop_id: &LoopId| Branch { loop_id: loop_id.clone(), ended: None, memory: base.clone() };
        Self { prompts: prompts.to_vec(), branches: loop_ids.iter().map(branch).collect() }
    }

    /// Returns the branch of a loop.
    pub fn branch(&self, loop_id: &LoopId) -> Option<&Branch> {
        self.branches.iter().find(|branch| branch.loop_id == *loop_id)
    }

    pub(super) fn branch_mut(&mut self, loop_id: &LoopId) -> Option<&mut Branch> {
        self.branches.iter_mut().find(|branch| branch.loop_id == *loop_id)
    }
}

impl Branch {
    pub(super) fn apply(&mut self, record: &EventRecord) {
        self.memory.apply(record);
        if let AgentEvent::AgentEnd { outcome, usage, .. } = &record.event {
            self.ended = Some((outcome.clone(), *usage));
        }
    }
}
