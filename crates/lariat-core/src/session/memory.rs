//! Session state besides the conversation: approvals that still apply, the system prompt, pinned messages, and what each path
//! of the conversation remembers.
//!
//! Computed from the journal, together with the ledger and the budget state. Snapshots include it, so that it
//! is not lost when earlier events are no longer read. While branches run, each has a memory of its own
//! ([`BranchGroup`]); the memory of the selected branch becomes that of the conversation. Invariants: events of a loop change no
//! other loop's memory; decisions from an imported session are never part of it ([`SessionMemory::is_foreign`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{AgentEvent, EventRecord, Finding, Goal, Import};
use crate::id::{LoopId, MessageId};
use crate::ledger::Ledger;
use crate::model::PromptSection;
use crate::permission::{ApprovalScope, PermissionDecision, PermissionRequest};
use crate::session::SessionBudget;
use crate::session::branch_memory::{BranchMemory, QueuedChange};
use crate::session::failures::Failure;
use crate::session::groups::{Branch, BranchGroup};
use crate::session::work::WorkLog;

/// A permission request with its decision.
pub type AnsweredRequest = (Arc<PermissionRequest>, PermissionDecision);

/// Session state besides the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionMemory {
    answers: Vec<AnsweredRequest>,
    ledger: Box<Ledger>,
    budget: SessionBudget,
    /// The system prompt, once it was assembled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<Arc<[PromptSection]>>,
    /// The import of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    imported: Option<Box<ImportRange>>,
    #[serde(default)]
    pins: Arc<BTreeSet<MessageId>>,
    /// Requests without a decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    asked: Vec<Arc<PermissionRequest>>,
    /// What this agent and those below it found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    findings: Vec<Arc<Finding>>,
    /// What the conversation remembers.
    #[serde(flatten)]
    conversation: BranchMemory,
    /// Groups of branches without a decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    groups: Vec<BranchGroup>,
}

/// An import, and where its events end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ImportRange {
    import: Import,
    /// The position at which this machine took the session over; `None` while all events come from the
    /// import.
    until: Option<u64>,
}

impl SessionMemory {
    /// Processes the next event of the session.
    pub fn apply(&mut self, record: &EventRecord) {
        if !self.apply_shared(record) {
            return;
        }
        match (&record.loop_id, &record.event) {
            (_, AgentEvent::ParallelLoopStart { loop_ids, prompts, .. }) => {
                self.groups.push(BranchGroup::new(loop_ids, prompts, &self.conversation));
            }
            (_, AgentEvent::ParallelLoopEnd { selected_loop_id, .. }) => self.select(selected_loop_id),
            (Some(loop_id), _) => match self.branch_mut(loop_id) {
                Some(branch) => branch.apply(record),
                None => self.conversation.apply(record),
            },
            // What applies to the session applies to each of its paths.
            (None, _) => {
                self.conversation.apply(record);
                let branches = self.groups.iter_mut().flat_map(|group| &mut group.branches);
                branches.for_each(|branch| branch.memory.apply(record));
            }
        }
    }

    /// Processes an event of another loop of the session: what it spent, was granted and was allowed applies to all loops, what
    /// it did does not.
    pub fn observe(&mut self, record: &EventRecord) {
        self.apply_shared(record);
    }

    /// Processes what an event means for all loops. Returns false if the event comes from an import and must not apply.
    fn apply_shared(&mut self, record: &EventRecord) -> bool {
        self.ledger.apply(record);
        if record.event.is_local_decision() && self.pending_import().is_some() {
            return false;
        }
        self.budget.apply(record);
        match &record.event {
            AgentEvent::SessionImported(import) => self.import(import),
            AgentEvent::SessionTakenOver { import_id } => {
                let open = self.imported.as_mut().filter(|imported| imported.until.is_none());
                if let Some(imported) = open.filter(|imported| imported.import.import_id == *import_id) {
                    imported.until = Some(record.seq);
                }
            }
            AgentEvent::PermissionRequired { request } => {
                // A request that is repeated after a crash is the same request.
                self.asked.retain(|asked| asked.id != request.id);
                self.asked.push(Arc::clone(request));
            }
            AgentEvent::PermissionDecided { request_id, decision, .. } => {
                let at = self.asked.iter().position(|asked| asked.id == *request_id);
                let Some(request) = at.map(|at| self.asked.remove(at)) else { return true };
                let lasts = decision.scope().is_some_and(|scope| scope != ApprovalScope::Once);
                let opened = decision.openings(&request);
                let is_new = |(known, answer): &AnsweredRequest| {
                    known.remember != request.remember || answer.openings(known) != opened
                };
                if lasts && self.answers.iter().all(is_new) {
                    self.answers.push((request, decision.clone()));
                }
            }
            AgentEvent::PromptAssembled { sections } => self.prompt = Some(Arc::clone(sections)),
            AgentEvent::FindingShared(finding)
                if self.findings.len() < Finding::MAX_OF_TREE && !self.has_finding(&finding.finding_id) =>
            {
                self.findings.push(Arc::new(Finding::clone(finding)));
            }
            AgentEvent::MessagePinned { message_id, pinned: true } => {
                Arc::make_mut(&mut self.pins).insert(*message_id);
            }
            AgentEvent::MessagePinned { message_id, pinned: false } => {
                Arc::make_mut(&mut self.pins).remove(message_id);
            }
            _ => {}
        }
        true
    }

    fn branch_mut(&mut self, loop_id: &LoopId) -> Option<&mut Branch> {
        self.groups.iter_mut().find_map(|group| group.branch_mut(loop_id))
    }

    /// Ends a group: the conversation continues with the memory of the selected branch.
    fn select(&mut self, loop_id: &LoopId) {
        let at = self.groups.iter().position(|group| group.branch(loop_id).is_some());
        let Some(group) = at.map(|at| self.groups.remove(at)) else { return };
        let selected = group.branches.into_iter().find(|branch| branch.loop_id == *loop_id);
        if let Some(branch) = selected {
            self.conversation = branch.memory;
        }
    }

    /// Returns the groups of branches without a decision, oldest first.
    pub fn groups(&self) -> &[BranchGroup] {
        &self.groups
    }

    /// Returns the memory as a loop sees it: for a branch, what the branch remembers instead of the conversation.
    #[must_use]
    pub fn seen_by(&self, loop_id: &LoopId) -> Self {
        let mut memory = self.clone();
        if let Some(branch) = self.groups.iter().find_map(|group| group.branch(loop_id)) {
            memory.conversation = branch.memory.clone();
        }
        memory.groups.clear();
        memory
    }

    /// Starts an import: the following events come from it. Earlier decisions are cleared: an import is
    /// always the start of a session, and a file that claims otherwise gains nothing. A nested import changes
    /// nothing.
    fn import(&mut self, import: &Import) {
        if self.pending_import().is_some() {
            return;
        }
        self.imported = Some(Box::new(ImportRange { import: import.clone(), until: None }));
        self.answers.clear();
        self.asked.clear();
        self.conversation.clear_plan();
        self.prompt = None;
        self.budget = SessionBudget::default();
    }

    /// Returns the import of the session.
    pub fn session_import(&self) -> Option<&Import> {
        self.imported.as_ref().map(|imported| &imported.import)
    }

    /// Returns the import if this machine has not taken the session over yet.
    pub fn pending_import(&self) -> Option<&Import> {
        self.imported.as_ref().filter(|imported| imported.until.is_none()).map(|imported| &imported.import)
    }

    /// Returns true if a record is a decision from an import, which does not apply here.
    pub fn is_foreign(&self, record: &EventRecord) -> bool {
        let until = |imported: &ImportRange| imported.until.is_none_or(|until| record.seq < until);
        record.event.is_local_decision() && self.imported.as_deref().is_some_and(until)
    }

    /// Returns permission requests without an answer, oldest first.
    pub fn questions(&self) -> &[Arc<PermissionRequest>] {
        &self.asked
    }

    /// Returns what each source spent.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the budget state: warnings and extensions.
    pub const fn budget(&self) -> &SessionBudget {
        &self.budget
    }

    /// Returns the sections of the system prompt, once it was assembled.
    pub const fn prompt(&self) -> Option<&Arc<[PromptSection]>> {
        self.prompt.as_ref()
    }

    /// Returns the active goals.
    pub fn goals(&self) -> &[Goal] {
        self.conversation.goals()
    }

    /// Returns the newest task list, as its tool rendered it.
    pub fn todo(&self) -> Option<&str> {
        self.conversation.todo()
    }

    /// Returns attempts that failed and have not succeeded since.
    pub fn failures(&self) -> &[Failure] {
        self.conversation.failures()
    }

    /// Returns what this agent and those below it found, oldest first.
    pub fn findings(&self) -> &[Arc<Finding>] {
        &self.findings
    }

    /// Returns whether this agent or one below it found something with this id.
    pub fn has_finding(&self, finding_id: &str) -> bool {
        self.findings.iter().any(|known| known.finding_id == finding_id)
    }

    /// Returns whether the conversation received a finding in a note.
    pub fn has_received(&self, finding_id: &str) -> bool {
        self.conversation.has_received(finding_id)
    }

    /// Returns the pinned messages, which compaction does not change.
    pub const fn pins(&self) -> &Arc<BTreeSet<MessageId>> {
        &self.pins
    }

    /// Returns the work log.
    pub const fn work(&self) -> &Arc<WorkLog> {
        self.conversation.work()
    }

    /// Returns approvals that apply for longer than one tool call, with their requests.
    pub fn answers(&self) -> &[AnsweredRequest] {
        &self.answers
    }

    /// Returns changes that plan mode queued and that were neither rejected nor started, in order.
    pub fn plan(&self) -> &[QueuedChange] {
        self.conversation.plan()
    }
}
