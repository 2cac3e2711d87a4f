//! The contract for compaction strategies, and the built-in strategy that needs no model.
//!
//! A strategy proposes edits; the machine decides whether to apply them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::plan::CompactionPlan;
use super::verbatim::VerbatimMessages;
use crate::BoxFuture;
use crate::cancel::CancellationToken;
use crate::config::ContextConfig;
use crate::event::{CompactionCause, CompactionEdit};
use crate::id::MessageId;
use crate::message::AgentMessage;
use crate::session::WorkLog;
use crate::time::Timestamp;
use crate::transcript::Window;
use crate::usage::Usage;

/// Compacts a conversation. Asynchronous and cancellable, because it may call a model unless the cause is
/// urgent.
pub trait CompactionStrategy: Send + Sync {
    /// Returns the proposed edits and their cost.
    fn compact<'a>(
        &'a self,
        query: CompactionQuery,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, CompactionProposal>;

    /// Returns the edits that the strategy would propose, as far as they are known without a model call.
    fn preview(&self, query: &CompactionQuery) -> Vec<CompactionEdit> {
        compact_messages(query)
    }
}

/// Input of a compaction strategy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompactionQuery {
    /// The conversation.
    pub window: Window,
    /// Why compaction runs.
    pub cause: CompactionCause,
    /// Settings for the context window.
    pub config: ContextConfig,
    /// Estimated tokens of the whole request.
    pub tokens: u64,
    /// Pinned messages.
    pub pins: Arc<BTreeSet<MessageId>>,
    /// Files, commands and tasks of the session so far.
    pub work: Arc<WorkLog>,
    /// What the user wants the summary to focus on.
    pub focus: Option<String>,
}

impl CompactionQuery {
    /// Creates a query without pins, work log and focus.
    pub fn new(window: Window, cause: CompactionCause, config: ContextConfig, tokens: u64) -> Self {
        let (pins, work) = (Arc::default(), Arc::default());
        Self { window, cause, config, tokens, pins, work, focus: None }
    }

    /// Sets the pinned messages.
    pub fn with_pins(mut self, pins: Arc<BTreeSet<MessageId>>) -> Self {
        self.pins = pins;
        self
    }

    /// Sets the work log.
    pub fn with_work(mut self, work: Arc<WorkLog>) -> Self {
        self.work = work;
        self
    }

    /// Sets the focus.
    pub fn with_focus(mut self, focus: Option<String>) -> Self {
        self.focus = focus;
        self
    }

    /// Returns the messages that must stay unchanged.
    pub fn verbatim(&self) -> VerbatimMessages {
        VerbatimMessages::of(&self.window, &self.config, &self.pins)
    }
}

/// Output of a compaction strategy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactionProposal {
    /// The edits; empty if compaction is not possible. Summaries without an id get one later.
    pub edits: Vec<CompactionEdit>,
    /// Tokens and cost of creating the edits.
    pub usage: Usage,
    /// The reason if a hook forbade compaction.
    pub refused: Option<String>,
}

impl CompactionProposal {
    /// Assigns ids to summaries that have none.
    pub fn name_summaries(&mut self, now: Timestamp, mut mint: impl FnMut() -> MessageId) {
        for edit in &mut self.edits {
            let CompactionEdit::Summarise { summary, .. } = edit else { continue };
            if summary.id().is_nil() {
                let mut named = AgentMessage::clone(summary);
                named.assign_id(&mut mint);
                if let AgentMessage::Llm(llm) = &mut named {
                    *llm.message.timestamp_mut() = now;
                }
                *summary = Arc::new(named);
            }
        }
    }
}

/// Compaction without a model: clears old tool output, then removes messages from the middle.
#[derive(Clone, Copy, Debug, Default)]
pub struct TieredCompaction;

impl CompactionStrategy for TieredCompaction {
    fn compact<'a>(
        &'a self,
        query: CompactionQuery,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, CompactionProposal> {
        let edits = compact_messages(&query);
        Box::pin(std::future::ready(CompactionProposal { edits, ..CompactionProposal::default() }))
    }
}

/// Returns the edits of the tiers that need no model. They shrink the conversation to at most half of the
/// window if that is possible without changing messages that must stay unchanged.
pub fn compact_messages(query: &CompactionQuery) -> Vec<CompactionEdit> {
    let mut plan = CompactionPlan::new(query);
    plan.clear_outputs();
    if !plan.is_enough() {
        plan.summarise_middle();
    }
    plan.edits(None)
}
