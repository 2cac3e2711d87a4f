//! Restores files: to a checkpoint, or to the point after a message.
//!
//! The journal has what a restore undoes before the first file changes, so a host that is killed in the middle does not leave
//! it half done: the next one finishes it, or records why not. Invariant: the conversation is rewound only after the files.

use std::collections::HashSet;
use std::sync::Arc;

use lariat_api::{CheckpointParts, Problem, ProblemCode, Receipt};
use lariat_core::event::{AgentEvent, FileRestore, FileRestoreResult, RewindTarget};
use lariat_core::id::MessageId;
use lariat_runtime::CommandEffect;

use super::commands::unsupported;
use super::{Accepted, Owner, calls_after};
use crate::factory::FileHistory;
use crate::problems;

impl Owner {
    pub(super) async fn restore(
        &mut self,
        accepted: Accepted,
        label: &str,
        parts: CheckpointParts,
    ) -> Result<Receipt, Problem> {
        self.check_idle("restore a checkpoint").await?;
        let found = self.find_event(|event| match &event.event {
            AgentEvent::Checkpoint { label: known, message_id } if known == label => Some(*message_id),
            _ => None,
        });
        let (seq, tip) = found.await?.ok_or_else(|| {
            Problem::new(ProblemCode::NotFound, format!("the session has no checkpoint `{label}`"))
        })?;
        self.restore_after(accepted, Some(seq), tip, parts).await
    }

    pub(super) async fn restore_to(
        &mut self,
        accepted: Accepted,
        to: Option<MessageId>,
        parts: CheckpointParts,
    ) -> Result<Receipt, Problem> {
        self.check_idle("restore an earlier point").await?;
        let seq = match to {
            Some(id) => Some(self.position_of(id).await?),
            None => None,
        };
        self.restore_after(accepted, seq, to, parts).await
    }

    /// Restores the state after an event, or before the first.
    async fn restore_after(
        &mut self,
        accepted: Accepted,
        seq: Option<u64>,
        tip: Option<MessageId>,
        parts: CheckpointParts,
    ) -> Result<Receipt, Problem> {
        if parts == CheckpointParts::Conversation {
            return self.note(accepted, AgentEvent::Rewound { tip }).await;
        }
        let calls = calls_after(&self.entry, seq).await?;
        let undone = self.file_history().await?.plan(calls).await?;
        let conversation = (parts == CheckpointParts::Both).then_some(RewindTarget::new(tip));
        let restore = FileRestore::new(undone, conversation);
        // Before the journal has it: a view must not take it for one that a crash interrupted.
        self.entry.set_running(true);
        let noted = self.note(accepted, AgentEvent::FileRestoreStarted(Box::new(restore.clone()))).await;
        if noted.is_ok() {
            // The command is durable. If its end cannot be recorded, the next command finishes it.
            let _ = self.finish_restore(restore).await;
        }
        self.entry.set_running(false);
        noted
    }

    /// Restores files as the journal says, and records the result.
    pub(super) async fn finish_restore(&mut self, restore: FileRestore) -> Result<(), Problem> {
        let agent = self.agent().await?;
        // Another process may have the session by now; then it must not be touched.
        agent.record_effects(Vec::new()).await.map_err(|error| problems::from_agent(&error))?;
        self.entry.set_running(true);
        let result = self.restore_files(&restore).await;
        let mut effects = Vec::new();
        let rewind = restore.conversation.filter(|_| result.problem.is_none());
        effects.push(CommandEffect::note(AgentEvent::FileRestoreEnded(Box::new(result))));
        effects.extend(rewind.map(|target| CommandEffect::note(AgentEvent::Rewound { tip: target.tip })));
        let recorded = agent.record_effects(effects).await;
        self.entry.set_running(false);
        recorded.map_err(|error| problems::from_agent(&error))
    }

    async fn restore_files(&self, restore: &FileRestore) -> FileRestoreResult {
        if restore.calls.is_empty() {
            return FileRestoreResult::default();
        }
        let calls: HashSet<String> = restore.calls.iter().cloned().collect();
        let restored = match self.file_history().await {
            Ok(history) => history.restore(calls).await,
            Err(problem) => Err(problem),
        };
        restored.unwrap_or_else(|problem| FileRestoreResult::failed(problem.message))
    }

    async fn file_history(&self) -> Result<Arc<dyn FileHistory>, Problem> {
        let fold = self.entry.fold().await?;
        let history = fold.directory().and_then(|directory| self.shared.factory.file_history(directory));
        history.ok_or_else(|| unsupported("the host has no record of file changes"))
    }
}
