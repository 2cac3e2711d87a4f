//! Makes snapshots of a session while its branches run.
//!
//! Each branch saves its own state when it is between two model calls; no branch waits for another. A snapshot combines what
//! the branches saved last with the session's memory, which is computed here from every written event. Invariant: the memory
//! includes exactly the first `at` events, and the state of a branch its events before its position.

use lariat_core::event::Event;
use lariat_core::id::LoopId;
use lariat_core::run::{BranchSnapshot, GroupBase, SessionSnapshot};
use lariat_core::session::SessionMemory;

/// What is known of a session whose branches run.
#[derive(Debug)]
pub(super) struct GroupSnapshots {
    base: GroupBase,
    memory: SessionMemory,
    at: u64,
    branches: Vec<BranchPosition>,
}

/// What is saved of a branch.
#[derive(Debug)]
struct BranchPosition {
    loop_id: LoopId,
    /// The position of its first event that is not in `saved`; `None` if it has no event.
    from: Option<u64>,
    saved: Option<BranchSnapshot>,
}

impl GroupSnapshots {
    /// Starts with the memory after the first `at` events, which include the start of the branches.
    pub(super) fn new(base: GroupBase, memory: SessionMemory, at: u64) -> Self {
        let branches = memory.groups().iter().flat_map(|group| &group.branches);
        let position =
            |loop_id: &LoopId| BranchPosition { loop_id: loop_id.clone(), from: None, saved: None };
        let branches = branches.map(|branch| position(&branch.loop_id)).collect();
        Self { base, memory, at, branches }
    }

    /// Adds what was read of the branches before they resume.
    pub(super) fn resume(mut self, snapshot: Option<&SessionSnapshot>, events: &[Event]) -> Self {
        for branch in &mut self.branches {
            let mut saved = snapshot.into_iter().flat_map(SessionSnapshot::saved_branches);
            branch.saved = saved.find(|saved| *saved.loop_id() == branch.loop_id).cloned();
            let own = events.iter().find(|event| event.loop_id.as_ref() == Some(&branch.loop_id));
            let saved = branch.saved.as_ref().map(BranchSnapshot::at);
            branch.from = saved.or_else(|| own.map(|event| event.seq));
        }
        self
    }

    /// Processes a written event. Returns false if the snapshots must end: the branches ended, or an event was missed.
    pub(super) fn observe(&mut self, event: &Event) -> bool {
        if event.seq != self.at {
            return false;
        }
        self.at += 1;
        self.memory.apply(event);
        let branch = self.branches.iter_mut().find(|branch| Some(&branch.loop_id) == event.loop_id.as_ref());
        if let Some(branch) = branch {
            branch.from.get_or_insert(event.seq);
        }
        !self.memory.groups().is_empty()
    }

    /// Returns how many events were written since a branch saved its state.
    pub(super) fn unsaved(&self, loop_id: &LoopId) -> u64 {
        let branch = self.branches.iter().find(|branch| branch.loop_id == *loop_id);
        let from = branch.and_then(|branch| branch.from);
        from.map_or(0, |from| self.at.saturating_sub(from))
    }

    /// Saves the state of a branch. Returns a snapshot of the session, and the number of events that it includes.
    pub(super) fn save(&mut self, saved: BranchSnapshot) -> (u64, SessionSnapshot) {
        if let Some(branch) = self.branches.iter_mut().find(|branch| branch.loop_id == *saved.loop_id()) {
            (branch.from, branch.saved) = (Some(saved.at()), Some(saved));
        }
        let from = self.branches.iter().filter_map(|branch| branch.from).min().unwrap_or(self.at);
        let branches = self.branches.iter().filter_map(|branch| branch.saved.clone()).collect();
        let (base, memory) = (self.base.clone(), self.memory.clone());
        (self.at, SessionSnapshot::of_group(self.at, base, memory, branches, from))
    }
}
