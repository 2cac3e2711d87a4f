//! Notifies the session's hooks, and runs what depends on their answer: prompts, notes, compaction.
//!
//! Each is a job of its own in parallel with the run, so that a hook that hangs blocks nothing else, and
//! cancelling ends it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use lariat_core::budget::SpentAmounts;
use lariat_core::content::joined_text;
use lariat_core::context::{CompactionProposal, CompactionQuery, NotesQuery};
use lariat_core::event::AgentEvent;
use lariat_core::hooks::{LifecycleEvent, LifecycleEventKind, SessionSource};
use lariat_core::message::AgentMessage;
use lariat_core::permission::PermissionRequest;
use lariat_core::run::{FilterOutcome, Input, OpId};

use super::super::session_hooks;
use super::{Driver, JobKey, JobResult};
use crate::budget::estimate;

impl Driver {
    /// Passes prompts to the input filters, then to the hooks.
    pub(super) fn check_prompts(&mut self, op: OpId, prompts: &[AgentMessage]) {
        let warnings = match self.filter(prompts) {
            Ok(warnings) => warnings,
            Err(reason) => return self.feed(Input::Filtered(FilterOutcome::Reject { reason })),
        };
        let mut context = self.session_start.context.clone();
        self.hook_context_sent = true;
        if !session_hooks::is_wanted(&self.ports, LifecycleEventKind::Prompt) {
            return self.feed(Input::Filtered(FilterOutcome::Pass { context, warnings }));
        }
        let texts = prompts.iter().filter_map(AgentMessage::as_user).map(|user| joined_text(&user.content));
        let moment = LifecycleEvent::Prompt { prompt: texts.collect::<Vec<_>>().join("\n\n") };
        let (ports, session_id) = (Arc::clone(&self.ports), self.journal.session_id().clone());
        let job = Box::pin(async move {
            let answer = session_hooks::notify(&ports, &session_id, moment).await;
            let (halt, messages) = (answer.stop, answer.messages);
            let filtered = match answer.block {
                Some(reason) => FilterOutcome::Reject { reason },
                None => {
                    context.extend(answer.context);
                    FilterOutcome::Pass { context, warnings }
                }
            };
            JobResult { halt, messages, input: Some(Input::Filtered(filtered)) }
        });
        self.start_job(Some(JobKey::Op(op)), job);
    }

    /// Records what hooks say to the user.
    pub(super) fn record_hook_messages(&mut self, messages: Vec<String>) {
        for message in messages {
            self.feed(Input::Note { event: Box::new(AgentEvent::HookMessage { message }) });
        }
    }

    /// Asks the sources for notes to the model. A source that panics contributes nothing.
    pub(super) fn consult(&mut self, op: OpId, query: NotesQuery) {
        let mut notes =
            self.session_prompt().map_or_else(Vec::new, |prompt| prompt.changed_sections(&query.told));
        notes.extend(self.ports.lineage.finding_notes(self.journal.session_id(), &query.memory));
        let Some(source) = self.ports.notes.clone() else {
            return self.feed(Input::Consulted { op, notes });
        };
        let job = Box::pin(async move {
            let asking = AssertUnwindSafe(async { source.notes(query).await });
            notes.extend(asking.catch_unwind().await.unwrap_or_default());
            Input::Consulted { op, notes }.into()
        });
        self.start_job(Some(JobKey::Op(op)), job);
    }

    /// Notifies hooks of an event, on behalf of the state machine.
    pub(super) fn notify_hooks(&mut self, op: OpId, moment: LifecycleEvent) {
        let (ports, session_id) = (Arc::clone(&self.ports), self.journal.session_id().clone());
        let job = Box::pin(async move {
            let compacted = moment.kind() == LifecycleEventKind::PostCompact;
            let mut answer = session_hooks::notify(&ports, &session_id, moment).await;
            if compacted {
                let again = LifecycleEvent::SessionStart { source: SessionSource::Compact };
                let more = session_hooks::notify(&ports, &session_id, again).await;
                answer.context.extend(more.context);
                answer.messages.extend(more.messages);
                answer.stop = answer.stop.or(more.stop);
            }
            let messages = std::mem::take(&mut answer.messages);
            JobResult { halt: None, messages, input: Some(Input::HooksAnswered { op, answer }) }
        });
        self.start_job(Some(JobKey::Op(op)), job);
    }

    /// Compacts the conversation, unless a hook forbids it.
    pub(super) fn compact(&mut self, op: OpId, query: CompactionQuery) {
        let (ports, session_id) = (Arc::clone(&self.ports), self.journal.session_id().clone());
        let cancel = self.handle.cancel.child_token();
        let job = Box::pin(async move {
            let moment = LifecycleEvent::PreCompact { cause: query.cause };
            let answer = session_hooks::notify(&ports, &session_id, moment).await;
            let refused =
                |reason| CompactionProposal { refused: Some(reason), ..CompactionProposal::default() };
            // A summary is a model call like any other; compaction without one costs nothing.
            let mut estimate = estimate(query.tokens, None, &ports.request.model_config);
            estimate.turns = 0;
            let paid = ports.budget.admit(estimate, ports.clock.now());
            let compacted = match (answer.block, Box::pin(paid).await) {
                (Some(reason), _) => refused(reason),
                (None, Err(standing)) => refused(standing.describe()),
                (None, Ok(hold)) => {
                    // A strategy that panics proposes nothing.
                    let compacting =
                        AssertUnwindSafe(async { ports.compaction.compact(query, cancel).await });
                    let compacted = compacting.catch_unwind().await.unwrap_or_default();
                    if let Some(settling) = hold.settle(SpentAmounts::usage(&compacted.usage)) {
                        settling.await;
                    }
                    compacted
                }
            };
            let (halt, messages) = (answer.stop, answer.messages);
            JobResult { halt, messages, input: Some(Input::Compacted { op, compacted }) }
        });
        self.start_job(Some(JobKey::Op(op)), job);
    }

    /// Notifies hooks that an approval request waits for the user.
    pub(super) fn notify_pending_approval(&mut self, request: &PermissionRequest) {
        if !session_hooks::is_wanted(&self.ports, LifecycleEventKind::Notification) {
            return;
        }
        let moment = LifecycleEvent::Notification {
            kind: "permission_prompt".to_owned(),
            message: format!("A tool call waits for approval: {}", request.summary),
        };
        let (ports, session_id) = (Arc::clone(&self.ports), self.journal.session_id().clone());
        let job = Box::pin(async move {
            let answer = session_hooks::notify(&ports, &session_id, moment).await;
            JobResult { halt: answer.stop, messages: answer.messages, input: None }
        });
        self.start_job(None, job);
    }
}
