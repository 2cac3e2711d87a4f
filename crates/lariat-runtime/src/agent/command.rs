//! Methods of [`Agent`] for hosts that receive commands from clients: each command is recorded together with what it does.
//!
//! Invariant: when a method reports a command as recorded, the command and its effect survive a crash. A command that is
//! refused leaves nothing in the journal.

use lariat_core::event::{CommandRecord, ContinuationKind};
use lariat_core::message::AgentMessage;
use tokio::sync::oneshot;

use super::compact::CompactionReport;
use super::error::AgentError;
use super::handle::Agent;
use super::launch::{Caller, LaunchTask};
use super::plan::PlanDecision;
use super::stream::RunStream;
use crate::drive::{CommandEffect, CommandReply, RunCommand};

/// What a command lets an agent do in a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum CommandRun {
    /// Answers these messages.
    Prompt(Vec<AgentMessage>),
    /// Answers the conversation as it is.
    Continue,
    /// Decides about the plan and carries out what is approved.
    Plan(PlanDecision),
    /// Answers the messages that wait in the queues.
    Deliver,
}

impl Agent {
    /// Starts a run for a command. The stream's first durable events include the record of the command; if the run cannot
    /// begin, nothing is recorded.
    ///
    /// # Errors
    /// If a run is active.
    pub fn run_command(&self, command: CommandRecord, run: CommandRun) -> Result<RunStream, AgentError> {
        let task = match run {
            CommandRun::Prompt(messages) => LaunchTask::Prompt(messages),
            CommandRun::Continue => LaunchTask::Continue(ContinuationKind::Default),
            CommandRun::Plan(decision) => LaunchTask::Plan(decision),
            CommandRun::Deliver => LaunchTask::Deliver,
        };
        self.start(LaunchTask::Command(Box::new(command), Box::new(task)), Caller::Watches, None)
    }

    /// Runs an earlier run again for a command, as [`Agent::rerun`] does. The return to its start is recorded first, so a
    /// command that a crash lost can be sent again.
    ///
    /// # Errors
    /// As for [`Agent::rerun`].
    pub async fn rerun_by_command(
        &self,
        command: CommandRecord,
        run: Option<u64>,
    ) -> Result<RunStream, AgentError> {
        let task = self.return_to_start(run).await?;
        self.start(LaunchTask::Command(Box::new(command), Box::new(task)), Caller::Watches, None)
    }

    /// Starts a run on the messages that wait in the queues.
    ///
    /// # Errors
    /// If a run is active. The stream finishes with [`AgentError::QueueEmpty`] if no message waits.
    pub fn deliver_queued(&self) -> Result<RunStream, AgentError> {
        self.start(LaunchTask::Deliver, Caller::Watches, None)
    }

    /// Records a command with its effects, in the active run, or without a run. Returns the position of the record once it
    /// is durable.
    ///
    /// # Errors
    /// [`AgentError::NotAsked`] if the command answers a request, or removes a message, that does not wait any more; nothing is
    /// recorded then.
    /// [`AgentError::TaskLost`] if the run stopped while it wrote: read the journal to learn whether the command is in it.
    pub async fn record_command(
        &self,
        command: CommandRecord,
        effects: Vec<CommandEffect>,
    ) -> Result<u64, AgentError> {
        loop {
            let (reply, replied) = oneshot::channel();
            let active = {
                let state = self.state();
                state.running.as_ref().map(|running| {
                    let (record, effects) = (command.clone(), effects.clone());
                    running.link.command(Box::new(RunCommand::new(record, effects, reply)));
                    running.end_signal.wait_for_end()
                })
            };
            let Some(end) = active else { break };
            match replied.await {
                Ok(CommandReply::Recorded(seq)) => return Ok(seq),
                Ok(CommandReply::NotAsked) => return Err(AgentError::NotAsked),
                Ok(CommandReply::RunEnded) => end.await,
                Err(_) => return Err(AgentError::TaskLost),
            };
        }
        let config = &self.shared.config;
        self.borrow(async |context, _| context.record_command(config, command, effects).await).await
    }

    /// Records the command that created the session, with what the client chose. The session may be a fork that contains a run
    /// without an end, which stays interrupted until it is recovered. Returns the position of the record.
    ///
    /// # Errors
    /// If a run is active, an effect needs one, or the journal cannot be written.
    pub async fn record_creation(
        &self,
        command: CommandRecord,
        effects: Vec<CommandEffect>,
    ) -> Result<u64, AgentError> {
        let config = &self.shared.config;
        self.borrow(async |context, _| context.record_creation(config, command, effects).await).await
    }

    /// Records what an earlier command did, in one write. Without effects, it only makes sure that this process is the writer
    /// of the session.
    ///
    /// # Errors
    /// If a run is active, an effect needs one, or the journal cannot be written.
    pub async fn record_effects(&self, effects: Vec<CommandEffect>) -> Result<(), AgentError> {
        let config = &self.shared.config;
        self.borrow(async |context, _| context.record_effects(config, effects).await).await
    }

    /// Compacts the conversation for a command, which is recorded with the compaction or with its refusal.
    ///
    /// # Errors
    /// As for [`Agent::compact`].
    pub async fn compact_by_command(
        &self,
        command: CommandRecord,
        focus: Option<&str>,
    ) -> Result<CompactionReport, AgentError> {
        let (config, focus) = (&self.shared.config, focus.map(str::to_owned));
        let act = self.borrow(async |context, cancel| {
            context.accept(command);
            let report = context.compact(config, focus, cancel).await;
            context.forget_command();
            report
        });
        Box::pin(act).await
    }
}
