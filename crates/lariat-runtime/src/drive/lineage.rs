//! The place of an agent in a tree of agents: its depth, its path, and how many sub-agents run.
//!
//! All agents of a tree share one count, what they learn from failures, what they find, and the observers of the root.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lariat_core::content::ToolCall;
use lariat_core::context::Note;
use lariat_core::event::Finding;
use lariat_core::id::SessionId;
use lariat_core::session::SessionMemory;
use lariat_core::tool::{ToolError, ToolResult};

use super::finding_board::FindingBoard;
use super::parent_run::ParentRun;
use super::shared_failures::SharedFailures;
use crate::observe::Observer;

/// The place of an agent in a tree of agents. The default is the root of a new tree.
#[derive(Clone, Default)]
pub struct Lineage {
    /// Names of the sub-agents above and this one, outermost first; empty for the root.
    path: Arc<[String]>,
    running: Arc<AtomicUsize>,
    failures: SharedFailures,
    findings: FindingBoard,
    /// The run that the tool call of this agent belongs to; `None` for the root.
    parent: Option<Arc<ParentRun>>,
    observers: Arc<[Arc<dyn Observer>]>,
}

/// Adds one to the number of running sub-agents until it is dropped.
#[derive(Debug)]
pub struct LineageSlot(Arc<AtomicUsize>);

impl Lineage {
    /// Creates the root of a tree whose agents all have these observers.
    pub fn root(observers: Arc<[Arc<dyn Observer>]>) -> Self {
        Self { observers, ..Self::default() }
    }

    /// Returns the place of a sub-agent of this agent.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        let path = self.path.iter().cloned().chain([name.to_owned()]).collect();
        Self { path, parent: None, ..self.clone() }
    }

    /// Returns the place of the agent of a tool call.
    pub(crate) fn child_of(parent: &Arc<ParentRun>, name: &str) -> Self {
        Self { parent: Some(Arc::clone(parent)), ..parent.ports.lineage.child(name) }
    }

    /// Returns the run that the tool call of this agent belongs to; `None` for the root.
    pub(super) fn parent(&self) -> Option<&ParentRun> {
        self.parent.as_deref()
    }

    /// Returns the number of agents above this one.
    pub fn depth(&self) -> usize {
        self.path.len()
    }

    /// Returns the names of the sub-agents from below the root to this one.
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// Returns the number of sub-agents of the tree that run now.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Acquire)
    }

    /// Counts one more running sub-agent, unless `most` run already.
    pub fn enter(&self, most: usize) -> Option<LineageSlot> {
        let more = |running: usize| (running < most).then_some(running + 1);
        self.running.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(LineageSlot(Arc::clone(&self.running)))
    }

    /// Adds a note to a failure that another agent of the tree has met too.
    pub(crate) fn note_failure(
        &self,
        session: &SessionId,
        call: &ToolCall,
        result: &mut Result<ToolResult, ToolError>,
    ) {
        // An agent alone has its own detection of repetition.
        let is_tree = self.depth() > 0 || self.running() > 0;
        if let (true, Err(ToolError::Failed(error))) = (is_tree, result)
            && let Some(note) = self.failures.add(session, call, error)
        {
            error.push_str(&note);
        }
    }

    /// Shares a finding that is durable with the agents of the tree, and lets the parent record a copy.
    pub(crate) fn share_finding(&self, finding: &Arc<Finding>) {
        self.findings.add(finding);
        if let Some(parent) = &self.parent {
            parent.report_finding(finding);
        }
    }

    /// Returns notes with what other agents of the tree found and this conversation has not received.
    pub(super) fn finding_notes(&self, session: &SessionId, memory: &SessionMemory) -> Vec<Note> {
        self.findings.notes(session, memory)
    }

    /// Returns the number of findings of the tree.
    pub(super) fn findings(&self) -> usize {
        self.findings.len()
    }

    /// Returns the observers of the tree.
    pub(crate) const fn observers(&self) -> &Arc<[Arc<dyn Observer>]> {
        &self.observers
    }
}

impl Drop for LineageSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl std::fmt::Debug for Lineage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lineage")
            .field("path", &self.path)
            .field("running", &self.running())
            .finish_non_exhaustive()
    }
}
