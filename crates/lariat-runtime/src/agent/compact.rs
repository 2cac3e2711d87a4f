//! Compaction on the user's request, between two runs: compact, preview, undo, pin.
//!
//! The order is fixed: hooks, strategy, the same checks as in a run, the journal, the conversation in memory.
//! A change takes effect only after the journal has recorded it.

use std::sync::Arc;

use lariat_core::cancel::CancellationToken;
use lariat_core::context::{AcceptedCompaction, CompactionProposal, CompactionQuery, ContextTracker};
use lariat_core::event::{AgentEvent, CompactionCause, CompactionEdit};
use lariat_core::hooks::{LifecycleEvent, SessionSource};
use lariat_core::id::MessageId;
use lariat_core::message::SharedMessage;
use lariat_core::session::SessionFold;
use lariat_core::time::Minter;
use lariat_core::usage::Usage;

use super::context::AgentContext;
use super::error::AgentError;
use super::loop_config::AgentLoopConfig;
use crate::drive::session_hooks;

/// The result of a compaction or of its preview.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompactionReport {
    /// The edits applied on top of the conversation.
    pub edits: Arc<Vec<CompactionEdit>>,
    /// Estimated tokens before.
    pub tokens_before: u64,
    /// Estimated tokens after.
    pub tokens_after: u64,
    /// Usage of the model that wrote summaries.
    pub usage: Usage,
    /// Messages that the model no longer sees in their original form, in order.
    pub gone: Vec<SharedMessage>,
}

impl AgentContext {
    fn query(&self, config: &AgentLoopConfig, focus: Option<String>) -> Result<CompactionQuery, AgentError> {
        let off = || AgentError::NotCompacted("compaction is switched off".to_owned());
        let context = config.run.context.clone().ok_or_else(off)?;
        let window = self.transcript.window();
        let tokens = ContextTracker::of(&window, Some(&context)).used_tokens();
        Ok(CompactionQuery::new(window, CompactionCause::Manual, context, tokens)
            .with_pins(Arc::clone(self.memory.pins()))
            .with_work(Arc::clone(self.memory.work()))
            .with_focus(focus))
    }

    fn validate(
        &self,
        query: &CompactionQuery,
        compacted: &CompactionProposal,
    ) -> Result<AcceptedCompaction, String> {
        compacted.apply_if_acceptable(&self.transcript, &query.config, &query.pins)
    }

    fn report(&self, accepted: &AcceptedCompaction, compacted: CompactionProposal) -> CompactionReport {
        let after: std::collections::HashMap<MessageId, SharedMessage> =
            accepted.transcript.window().iter().map(|message| (message.id(), Arc::clone(message))).collect();
        let same = |message: &&SharedMessage| after.get(&message.id()).is_some_and(|kept| kept == *message);
        let gone = self.transcript.window().iter().filter(|message| !same(message)).cloned().collect();
        CompactionReport {
            edits: Arc::new(compacted.edits),
            tokens_before: accepted.tokens_before,
            tokens_after: accepted.tokens_after,
            usage: compacted.usage,
            gone,
        }
    }

    /// Returns what [`AgentContext::compact`] would do, as far as it can be known without asking a model.
    pub(super) async fn preview_compaction(
        &mut self,
        config: &AgentLoopConfig,
        focus: Option<String>,
    ) -> Result<CompactionReport, AgentError> {
        self.refresh().await?;
        let query = self.query(config, focus)?;
        let edits = config.ports.compaction.preview(&query);
        let compacted = CompactionProposal { edits, ..CompactionProposal::default() };
        let accepted = self.validate(&query, &compacted).map_err(AgentError::NotCompacted)?;
        Ok(self.report(&accepted, compacted))
    }

    pub(super) async fn compact(
        &mut self,
        config: &AgentLoopConfig,
        focus: Option<String>,
        cancel: CancellationToken,
    ) -> Result<CompactionReport, AgentError> {
        self.refresh().await?;
        let query = self.query(config, focus)?;
        self.record_imports(config).await?;
        let (ports, cause) = (&config.ports, CompactionCause::Manual);
        let hook_answer =
            session_hooks::notify(ports, self.session_id(), LifecycleEvent::PreCompact { cause }).await;
        let mut compacted = match hook_answer.block {
            Some(reason) => CompactionProposal { refused: Some(reason), ..CompactionProposal::default() },
            None => ports.compaction.compact(query.clone(), cancel.clone()).await,
        };
        // What was proposed without the summary that the user asked for would leave out turns instead.
        if cancel.is_cancelled() {
            compacted.refused.get_or_insert_with(|| "it was interrupted".to_owned());
        }
        let (stamp, mut minter) = (ports.stamp(), Minter::default());
        minter.stamp(stamp);
        compacted.name_summaries(stamp.now, || MessageId::new(minter.uuid()));
        let usage = compacted.usage;
        self.record_accepted(config);
        let accepted = match self.validate(&query, &compacted) {
            Ok(accepted) => accepted,
            Err(reason) => {
                let refused = AgentEvent::CompactionRefused { cause, reason: reason.clone(), usage };
                self.record(config, refused).await?;
                return Err(AgentError::NotCompacted(reason));
            }
        };
        let report = self.report(&accepted, compacted);
        let AcceptedCompaction { transcript, tokens_before, tokens_after, .. } = accepted;
        let edits = Arc::clone(&report.edits);
        let event = AgentEvent::Compaction { cause, edits, tokens_before, tokens_after, usage };
        self.record(config, event).await?;
        self.transcript = transcript;
        self.notify_compacted(config, &report).await;
        Ok(report)
    }

    async fn notify_compacted(&mut self, config: &AgentLoopConfig, report: &CompactionReport) {
        let words = |edit: &CompactionEdit| match edit {
            CompactionEdit::Summarise { summary, .. } => Some(summary.as_llm()?.text()),
            _ => None,
        };
        let summary = report.edits.iter().filter_map(words).collect::<Vec<_>>().join("\n");
        let moments = [
            LifecycleEvent::PostCompact { cause: CompactionCause::Manual, summary },
            LifecycleEvent::SessionStart { source: SessionSource::Compact },
        ];
        for moment in moments {
            let answer = session_hooks::notify(&config.ports, self.session_id(), moment).await;
            self.add_hook_context(answer.context);
        }
    }

    /// Undoes the newest compaction of the conversation. Returns false if there is none.
    pub(super) async fn undo_compaction(&mut self, config: &AgentLoopConfig) -> Result<bool, AgentError> {
        self.refresh().await?;
        if !self.unrecorded.is_empty() {
            return Ok(false);
        }
        // A snapshot has compactions applied: only the whole journal has the messages from before.
        let events = self.journal.read_from(0).await?;
        let mut fold = SessionFold::of(&events);
        let Some(compaction) = fold.last_compaction(fold.tip()) else { return Ok(false) };
        self.record(config, AgentEvent::CompactionUndone { compaction }).await?;
        let after = self.journal.read_from(events.len() as u64).await?;
        after.iter().for_each(|event| fold.apply(event));
        (self.transcript, _) = fold.conversation(fold.tip());
        Ok(true)
    }

    pub(super) async fn pin(
        &mut self,
        config: &AgentLoopConfig,
        message_id: MessageId,
        pinned: bool,
    ) -> Result<(), AgentError> {
        self.refresh().await?;
        self.record_imports(config).await?;
        self.record(config, AgentEvent::MessagePinned { message_id, pinned }).await?;
        Ok(())
    }
}
