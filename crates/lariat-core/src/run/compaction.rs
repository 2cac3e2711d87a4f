//! Decides when compaction runs and which proposed edits are applied.
//!
//! Near the limit, the provider counts the conversation if it can and if much of it is estimated.
//! At the first threshold the run warns the user and prepares compaction in the background; at the second it
//! applies the prepared edits between two model calls; at the third, and after an overflow, the run waits for
//! compaction. This module checks every proposal: messages that must stay unchanged do, the conversation
//! stays valid, and it shrinks by a fifth or nothing happens. Prepared edits are in memory only; after a
//! crash they are prepared again.

use std::sync::Arc;

use super::effect::OpId;
use super::flow::StepResult;
use super::reply::ModelCall;
use super::{Activity, Effect, Run};
use crate::config::{ContextConfig, Fullness};
use crate::context::{
    AcceptedCompaction, CompactionProposal, CompactionQuery, ContextTracker, message_tokens,
};
use crate::event::{AgentEvent, CompactionCause, ContextFull, LargeMessage};
use crate::id::MessageId;
use crate::model::ProviderError;
use crate::usage::Usage;

/// Number of unsuccessful compactions after which the run does not try again until one succeeds.
const REFUSALS_BEFORE_GIVING_UP: u32 = 2;
/// Number of overflows in one turn that lead to compaction and a retry.
const OVERFLOW_RETRIES: u32 = 2;
/// Share of the window, in percent, that must be estimated before the provider is asked for a count. The error
/// of a smaller estimate does not matter.
const PERCENT_WORTH_COUNTING: u64 = 5;
/// Number of messages to list when the conversation does not fit.
const LARGEST_LISTED: usize = 5;

/// A compaction that is prepared while the run continues.
#[derive(Debug)]
pub(super) enum PreparedCompaction {
    Preparing(OpId),
    Ready(CompactionProposal),
}

impl Run {
    /// Compacts the conversation if the next request needs it. Returns `None` if the model can be called.
    pub(super) fn compact_if_needed(&mut self) -> Option<StepResult> {
        let context = self.config.context.as_ref()?;
        let (tokens, window) = (self.tokens(), context.max_context_tokens as u64);
        let fullness = context.fullness(tokens);
        if fullness == Fullness::Free {
            return None;
        }
        if self.wants_token_count(window) {
            self.request_token_count();
            return Some(StepResult::Waiting);
        }
        if !self.state.warned {
            self.record(AgentEvent::CompactionWarning { tokens, window });
        }
        if fullness >= Fullness::Compact && self.apply_prepared() {
            return Some(StepResult::Taken);
        }
        if self.state.refused_compactions >= REFUSALS_BEFORE_GIVING_UP {
            return None;
        }
        if fullness == Fullness::Emergency
            && !std::mem::replace(&mut self.transient.waited_for_compaction, true)
        {
            self.abandon_prepared();
            self.wait_for_compaction(CompactionCause::Emergency);
            return Some(StepResult::Waiting);
        }
        if self.prepared_compaction.is_none()
            && !self.transient.waited_for_compaction
            && !std::mem::replace(&mut self.transient.compaction_requested, true)
        {
            let op = self.request_compaction(CompactionCause::Threshold);
            self.prepared_compaction = Some(Box::new(PreparedCompaction::Preparing(op)));
        }
        None
    }

    /// Returns the best estimate of the tokens of the next request.
    fn tokens(&self) -> u64 {
        self.context_tokens().unwrap_or_default()
    }

    /// Returns whether to ask the provider for a count: once per turn, if an estimate decides whether the
    /// conversation still fits. A count makes the estimate exact, so it is not asked for again.
    fn wants_token_count(&self, window: u64) -> bool {
        let estimated = self.state.tracker.as_ref().map_or(0, |tracker| tracker.estimated_tokens());
        self.config.counts_tokens
            && !self.transient.count_requested
            && estimated >= window * PERCENT_WORTH_COUNTING / 100
    }

    fn request_token_count(&mut self) {
        let op = self.op();
        self.activity = Activity::CountingTokens { op };
        let (window, candidate) = (self.state.transcript.window(), self.candidate);
        self.out.push_back(Effect::CountTokens { op, window, candidate });
    }

    pub(super) fn on_counted(&mut self, op: OpId, tokens: Option<u64>) {
        if !matches!(self.activity, Activity::CountingTokens { op: waiting } if waiting == op) {
            return;
        }
        self.activity = Activity::None;
        self.transient.count_requested = true;
        if let Some(tokens) = tokens {
            self.record(AgentEvent::ContextCounted { tokens });
        }
    }

    /// Handles a request that the provider rejected as too large.
    pub(super) fn on_overflow(&mut self, call: Box<ModelCall>, error: &ProviderError) {
        let overflows = self.state.turn.as_ref().map_or(0, |turn| turn.overflows);
        if self.config.context.is_some() && overflows < OVERFLOW_RETRIES {
            self.abandon_prepared();
            self.settle_call(None);
            self.wait_for_compaction(CompactionCause::Overflow);
        } else {
            self.fail_context_full(Some(call), error.to_string());
        }
    }

    fn wait_for_compaction(&mut self, cause: CompactionCause) {
        let op = self.request_compaction(cause);
        self.activity = Activity::Compacting { op, cause };
    }

    fn request_compaction(&mut self, cause: CompactionCause) -> OpId {
        let op = self.op();
        let (window, tokens) = (self.state.transcript.window(), self.tokens());
        let config = self.config.context.clone().unwrap_or_default();
        let query = CompactionQuery::new(window, cause, config, tokens)
            .with_pins(Arc::clone(self.memory.pins()))
            .with_work(Arc::clone(self.memory.work()));
        self.out.push_back(Effect::Compact { op, query: Box::new(query) });
        op
    }

    pub(super) fn on_compacted(&mut self, op: OpId, compacted: CompactionProposal) {
        if matches!(self.prepared_compaction.as_deref(), Some(PreparedCompaction::Preparing(waiting)) if *waiting == op)
        {
            let is_refused = compacted.edits.is_empty() || compacted.refused.is_some();
            self.prepared_compaction = Some(Box::new(PreparedCompaction::Ready(compacted)));
            if is_refused {
                self.apply_prepared();
            }
            return;
        }
        let Activity::Compacting { op: waiting, cause } = self.activity else { return };
        if waiting == op {
            self.activity = Activity::None;
            self.apply_or_refuse(cause, compacted);
        }
    }

    /// Applies or refuses the prepared edits. Returns false if there are none.
    pub(super) fn apply_prepared(&mut self) -> bool {
        let Some(prepared) = self.prepared_compaction.take() else { return false };
        match *prepared {
            PreparedCompaction::Ready(compacted) => {
                self.apply_or_refuse(CompactionCause::Threshold, compacted)
            }
            PreparedCompaction::Preparing(_) => {
                self.prepared_compaction = Some(prepared);
                return false;
            }
        }
        true
    }

    /// Discards the prepared compaction. Its cost is recorded if known.
    pub(super) fn abandon_prepared(&mut self) {
        match self.prepared_compaction.take().map(|prepared| *prepared) {
            Some(PreparedCompaction::Preparing(op)) => self.out.push_back(Effect::Abandon { op }),
            Some(PreparedCompaction::Ready(CompactionProposal { usage, .. }))
                if usage != Usage::default() =>
            {
                let (cause, reason) = (CompactionCause::Threshold, "it was not needed any more".to_owned());
                self.record(AgentEvent::CompactionRefused { cause, reason, usage });
            }
            _ => {}
        }
    }

    /// Applies proposed edits, or records why they are refused.
    fn apply_or_refuse(&mut self, cause: CompactionCause, mut compacted: CompactionProposal) {
        compacted.name_summaries(self.now, || MessageId::new(self.minter.uuid()));
        let usage = compacted.usage;
        let off = ContextConfig::default();
        let context = self.config.context.as_ref().unwrap_or(&off);
        match compacted.apply_if_acceptable(&self.state.transcript, context, self.memory.pins()) {
            Ok(AcceptedCompaction { tokens_before, tokens_after, .. }) => {
                let edits = Arc::new(compacted.edits);
                let applied = Arc::clone(&edits);
                self.record(AgentEvent::Compaction { cause, edits, tokens_before, tokens_after, usage });
                self.call_compaction_hooks(cause, &applied);
            }
            Err(reason) => {
                self.record(AgentEvent::CompactionRefused { cause, reason: reason.clone(), usage });
                if cause == CompactionCause::Overflow {
                    self.fail_context_full(None, reason);
                }
            }
        }
    }

    /// Ends the turn because the conversation does not fit.
    fn fail_context_full(&mut self, call: Option<Box<ModelCall>>, reason: String) {
        let window = self.state.transcript.window();
        let tokens = match &self.config.context {
            Some(_) => self.tokens(),
            None => ContextTracker::of(&window, None).used_tokens(),
        };
        let mut largest: Vec<LargeMessage> = window
            .iter()
            .map(|message| {
                let tool = message.as_tool_result().map(|result| result.tool_name.clone());
                LargeMessage::new(message.id(), tool, message_tokens(message))
            })
            .collect();
        largest.sort_by_key(|large| std::cmp::Reverse(large.tokens));
        largest.truncate(LARGEST_LISTED);
        let fits = self.config.context.as_ref().map(|context| context.max_context_tokens as u64);
        let full = ContextFull::new(tokens, fits, reason, largest);
        let error = format!("the conversation does not fit the context window: {}", full.reason);
        self.record(AgentEvent::ContextFull(Box::new(full)));
        self.fail_reply(call, error);
    }
}
