//! Starts, resumes and ends groups of branches: loops that run at the same time from one conversation.
//!
//! Invariant: the start of a group is durable with its prompts before a branch begins, so that after a crash every branch
//! begins or resumes.

use std::sync::Arc;

use lariat_core::cancel::CancellationToken;
use lariat_core::evaluation::{EvaluationError, ParallelLoopOutcome};
use lariat_core::event::{AgentEvent, ContinuationKind, LoopStart};
use lariat_core::id::LoopId;
use lariat_core::message::{AgentMessage, SharedMessage};
use lariat_core::run::{GroupBase, LoopStartWithId, Run, RunConfig};
use lariat_core::session::{Branch, FileChanges};
use lariat_core::usage::Usage;

use super::{AgentContext, LoadedJournal};
use crate::agent::AgentError;
use crate::agent::loop_config::AgentLoopConfig;
use crate::drive::FinishedRun;
use crate::drive::session_hooks::SessionStartAnswer;

/// What is left to do for a branch.
pub(in crate::agent) enum BranchTask {
    /// Drive this run. The changes are those of an earlier process.
    Drive(Box<Run>, FileChanges),
    /// Nothing: the branch ended in an earlier process.
    Ended(Box<ParallelLoopOutcome>),
}

/// Branches to run, and what they start from.
pub(in crate::agent) struct Branches {
    /// In the order of the configurations.
    pub(in crate::agent) tasks: Vec<BranchTask>,
    /// The prompts of each branch.
    pub(in crate::agent) prompts: Vec<AgentMessage>,
    /// The conversation before the branches.
    pub(in crate::agent) base: Vec<SharedMessage>,
    /// What hooks answered at the start of the session.
    pub(in crate::agent) session_start: SessionStartAnswer,
}

impl AgentContext {
    /// Journals the start of a group and creates the runs of its branches.
    pub(in crate::agent) async fn begin_branches(
        &mut self,
        configs: &[AgentLoopConfig],
        prompts: Vec<AgentMessage>,
        cancel: &CancellationToken,
    ) -> Result<Branches, AgentError> {
        let first = configs.first().ok_or(EvaluationError::NoBranches)?;
        self.refresh().await?;
        self.inform_policies(configs);
        let kind = self.continuation_kind.clone();
        if kind.as_ref().is_some_and(|kind| *kind != ContinuationKind::Default) {
            self.rewind_to_last_prompt();
        }
        Run::check(&self.transcript, &prompts)?;
        self.prepare_loop(first, &prompts).await?;
        let session_start = self.notify_session_start(&first.ports, cancel).await;
        let numbered = configs.iter().zip(self.loops..);
        let loop_ids: Vec<LoopId> = numbered
            .map(|(config, number)| LoopId::compose(self.session_id(), &config.config_id, number))
            .collect();
        let start = AgentEvent::ParallelLoopStart {
            session_id: self.session_id().clone(),
            loop_ids: loop_ids.clone(),
            prompts: prompts.iter().cloned().map(Arc::new).collect(),
        };
        self.record_accepted(first);
        self.record(first, start).await?;
        let base: Vec<SharedMessage> = self.transcript.window().iter().cloned().collect();
        // Of an ended loop, a snapshot needs the id.
        let last_start =
            |id: &LoopId| LoopStart::new(self.agent_id.clone(), self.session_id().clone(), id.clone());
        let group_base = GroupBase {
            last_loop: self.last_loop_id.as_ref().map(|id| LoopStartWithId::new(&last_start(id))),
            tip: self.base,
            conversation: base.clone(),
            queued: self.queued.iter().cloned().collect(),
        };
        self.journal.begin_branches(group_base, (*self.memory).clone());
        let mut tasks = Vec::with_capacity(configs.len());
        for (config, loop_id) in configs.iter().zip(loop_ids) {
            tasks
                .push(BranchTask::Drive(self.new_branch(config, loop_id, &prompts)?, FileChanges::default()));
        }
        self.loops += configs.len() as u64;
        self.metadata = None;
        Ok(Branches { tasks, prompts, base, session_start })
    }

    /// Reads the group without a decision that a crash left, and resumes its branches; `None` if a crash left none.
    pub(in crate::agent) async fn resume_branches(
        &mut self,
        configs: &[AgentLoopConfig],
        cancel: &CancellationToken,
    ) -> Result<Option<Branches>, AgentError> {
        self.drop_unrecorded();
        let loaded = self.read().await?;
        self.inform_policies(configs);
        let Some(group) = loaded.fold.memory().groups().first().cloned() else { return Ok(None) };
        let (expected, given) = (group.branches.len(), configs.len());
        let Some(first) = configs.first().filter(|_| expected == given) else {
            return Err(EvaluationError::WrongCount { expected, given }.into());
        };
        // Boxed: otherwise the future would reserve space for it.
        Box::pin(self.load_prompt(first)).await;
        let LoadedJournal { fold, snapshot, events } = &loaded;
        self.journal.resume_branches(fold, snapshot.as_ref(), events);
        let prompts: Vec<AgentMessage> =
            group.prompts.iter().map(|prompt| AgentMessage::clone(prompt)).collect();
        let base: Vec<SharedMessage> = self.transcript.window().iter().cloned().collect();
        let mut tasks = Vec::with_capacity(given);
        for (index, (config, branch)) in configs.iter().zip(&group.branches).enumerate() {
            tasks.push(self.resume_branch(config, branch, index, &loaded, &prompts, &base)?);
        }
        let session_start = self.notify_session_start(&first.ports, cancel).await;
        Ok(Some(Branches { tasks, prompts, base, session_start }))
    }

    fn resume_branch(
        &self,
        config: &AgentLoopConfig,
        branch: &Branch,
        index: usize,
        loaded: &LoadedJournal,
        prompts: &[AgentMessage],
        base: &[SharedMessage],
    ) -> Result<BranchTask, AgentError> {
        let LoadedJournal { fold, snapshot, events } = loaded;
        let loop_id = &branch.loop_id;
        if let Some((outcome, usage)) = &branch.ended {
            let (transcript, _) = fold.conversation(fold.tip_of(loop_id).or(self.base));
            let messages: Vec<SharedMessage> = transcript.window().iter().cloned().collect();
            let shared = messages.iter().zip(base).take_while(|(own, base)| own.id() == base.id()).count();
            let outcome = outcome.clone();
            let ended = ParallelLoopOutcome::new(loop_id.clone(), index, messages, shared, *usage, outcome);
            return Ok(BranchTask::Ended(Box::new(ended)));
        }
        if fold.start_of(loop_id).is_none() {
            let mut run = self.new_branch(config, loop_id.clone(), prompts)?;
            for (queue, message) in fold.queued_for(loop_id) {
                run.queue_earlier_message(queue, Arc::clone(message));
            }
            return Ok(BranchTask::Drive(run, FileChanges::default()));
        }
        let run_config = self.branch_config(config);
        let recovered = Run::recover_from(run_config, fold, snapshot.as_ref(), events, loop_id)?;
        let mut changes = FileChanges::default();
        let own = events.iter().filter(|event| event.loop_id.as_ref() == Some(loop_id));
        own.for_each(|event| changes.observe(&event.event));
        Ok(BranchTask::Drive(Box::new(recovered.resume(config.ports.stamp())), changes))
    }

    fn new_branch(
        &self,
        config: &AgentLoopConfig,
        loop_id: LoopId,
        prompts: &[AgentMessage],
    ) -> Result<Box<Run>, AgentError> {
        // Without prompts, the branches continue the conversation.
        let kind = self.continuation_kind.clone();
        let kind = kind.or_else(|| prompts.is_empty().then(ContinuationKind::default));
        let number = loop_id.number().unwrap_or(self.loops);
        let memory = Arc::new(self.memory.seen_by(&loop_id));
        let mut start: LoopStart = self.loop_start(config, loop_id, kind);
        start.metadata.clone_from(&self.metadata);
        let transcript = self.transcript.clone();
        let mut run = Run::new(self.branch_config(config), start, number, transcript, prompts.to_vec())?;
        run.remember(memory);
        Ok(Box::new(run))
    }

    /// Returns the configuration for a branch, which includes how much of the window the system prompt takes.
    fn branch_config(&self, config: &AgentLoopConfig) -> Arc<RunConfig> {
        let mut run = Arc::clone(&config.run);
        if let (Some(prompt), true) = (self.prompt.get(), run.context.is_some()) {
            let definitions = config.ports.tools.definitions();
            Arc::make_mut(&mut run).count_overhead(prompt.system().as_str(), definitions);
        }
        run
    }

    fn inform_policies(&mut self, configs: &[AgentLoopConfig]) {
        for config in configs {
            // Each configuration may have a policy of its own.
            self.policy_informed = false;
            self.inform_policy(&*config.ports.policy);
        }
    }

    /// Journals which branch was selected. The context becomes the conversation of that branch.
    pub(in crate::agent) async fn select_branch(
        &mut self,
        config: &AgentLoopConfig,
        selected: &ParallelLoopOutcome,
        evaluation_usage: Usage,
    ) -> Result<(), AgentError> {
        let end = AgentEvent::ParallelLoopEnd {
            session_id: self.session_id().clone(),
            selected_loop_id: selected.loop_id.clone(),
            selected_config_index: selected.config_index,
            evaluation_usage,
        };
        self.record(config, end).await?;
        // Boxed: otherwise the future would reserve space for it.
        Box::pin(self.read()).await?;
        (self.parent_loop_id, self.continuation_kind) = (None, None);
        Ok(())
    }

    /// Takes over what a driven branch leaves besides its conversation. Messages that came too late for a branch that is not
    /// selected are dropped with it.
    pub(in crate::agent) fn end_branch(&mut self, driven: FinishedRun, is_selected: bool) {
        if driven.hook_context_sent {
            self.forget_hook_context();
        }
        if is_selected {
            self.unsent.extend(driven.unread);
        }
    }
}
