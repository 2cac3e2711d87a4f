//! The contract of whoever makes room in a conversation.
//!
//! A strategy proposes an overlay; the machine decides whether it is laid. Owns what a strategy is told, what it gives
//! back, and the one that needs no model.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::plan::CompactionPlan;
use super::verbatim::Verbatim;
use super::work::WorkLog;
use crate::BoxFuture;
use crate::cancel::CancellationToken;
use crate::config::ContextConfig;
use crate::event::{CompactionCause, CompactionEdit};
use crate::id::MessageId;
use crate::message::AgentMessage;
use crate::time::Timestamp;
use crate::transcript::Window;
use crate::usage::Usage;

/// Makes room in a conversation. May call a model unless the cause is urgent, so it is asynchronous and can be
/// cancelled.
pub trait CompactionStrategy: Send + Sync {
    /// The overlay to lay over the conversation, and what making it cost.
    fn compact<'a>(&'a self, query: CompactionQuery, cancel: CancellationToken) -> BoxFuture<'a, Compacted>;

    /// What it would do, as far as that is known without asking a model.
    fn preview(&self, query: &CompactionQuery) -> Vec<CompactionEdit> {
        compact_messages(query)
    }
}

/// What a strategy has to work with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompactionQuery {
    /// The conversation.
    pub window: Window,
    /// Why room is needed.
    pub cause: CompactionCause,
    /// Tuning.
    pub config: ContextConfig,
    /// Estimated tokens of the whole request now.
    pub tokens: u64,
    /// Messages that somebody pinned.
    pub pins: Arc<BTreeSet<MessageId>>,
    /// What was done so far.
    pub work: Arc<WorkLog>,
    /// What the person who asked for it wants kept in mind.
    pub focus: Option<String>,
}

impl CompactionQuery {
    /// A query without pins, work and focus.
    pub fn new(window: Window, cause: CompactionCause, config: ContextConfig, tokens: u64) -> Self {
        let (pins, work) = (Arc::default(), Arc::default());
        Self { window, cause, config, tokens, pins, work, focus: None }
    }

    /// Adds pinned messages.
    pub fn with_pins(mut self, pins: Arc<BTreeSet<MessageId>>) -> Self {
        self.pins = pins;
        self
    }

    /// Adds what was done so far.
    pub fn with_work(mut self, work: Arc<WorkLog>) -> Self {
        self.work = work;
        self
    }

    /// Adds what should be kept in mind.
    pub fn with_focus(mut self, focus: Option<String>) -> Self {
        self.focus = focus;
        self
    }

    /// What must stay as it is.
    pub fn verbatim(&self) -> Verbatim {
        Verbatim::of(&self.window, &self.config, &self.pins)
    }
}

/// What a strategy came up with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compacted {
    /// The overlay; empty when nothing can be done. Summaries without an id get one.
    pub edits: Vec<CompactionEdit>,
    /// What making it cost.
    pub usage: Usage,
    /// Why room must not be made, when somebody forbade it.
    pub refused: Option<String>,
}

impl Compacted {
    /// Gives ids to summaries that have none.
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

/// The tiers that need no model: clear old tool output, then drop the middle.
#[derive(Clone, Copy, Debug, Default)]
pub struct TieredCompaction;

impl CompactionStrategy for TieredCompaction {
    fn compact<'a>(&'a self, query: CompactionQuery, _cancel: CancellationToken) -> BoxFuture<'a, Compacted> {
        let edits = compact_messages(&query);
        Box::pin(std::future::ready(Compacted { edits, ..Compacted::default() }))
    }
}

/// The overlay of the tiers that need no model. After it, the conversation takes at most half of the window where that
/// is possible without touching what must stay as it is.
pub fn compact_messages(query: &CompactionQuery) -> Vec<CompactionEdit> {
    let mut plan = CompactionPlan::new(query);
    plan.clear_outputs();
    if !plan.is_enough() {
        plan.take_middle();
    }
    plan.edits(None)
}
