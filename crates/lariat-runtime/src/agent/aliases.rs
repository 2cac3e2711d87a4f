//! Other names and forms of [`Agent::run`] and [`Agent::stream`]: for several messages, for a channel of the
//! caller, and for a conversation that continues without a prompt.
//!
//! Invariant: each is one call of the function that starts every run.

use lariat_core::event::ContinuationKind;
use lariat_core::message::AgentMessage;
use lariat_core::session::run_start;

use super::error::AgentError;
use super::forward::EventSender;
use super::handle::Agent;
use super::launch::{Caller, LaunchTask};
use super::output::AgentOutput;
use super::stream::RunStream;

impl Agent {
    /// Another name of [`stream`](Self::stream).
    pub fn run_stream(&self, prompt: impl Into<AgentMessage>) -> RunStream {
        self.stream(prompt)
    }

    /// Like [`stream`](Self::stream), but fails at once if the run cannot be started.
    ///
    /// # Errors
    /// If the agent is busy.
    pub fn prompt(&self, text: impl Into<String>) -> Result<RunStream, AgentError> {
        self.prompt_messages(vec![AgentMessage::user(text)])
    }

    /// Like [`prompt`](Self::prompt), with several messages.
    ///
    /// # Errors
    /// If the agent is busy.
    pub fn prompt_messages(&self, messages: Vec<AgentMessage>) -> Result<RunStream, AgentError> {
        self.start(LaunchTask::Prompt(messages), Caller::Watches, None)
    }

    /// Like [`run`](Self::run), and passes every event to `sender`.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn prompt_with_sender(
        &self,
        text: impl Into<String>,
        sender: impl EventSender + 'static,
    ) -> Result<AgentOutput, AgentError> {
        self.prompt_messages_with_sender(vec![AgentMessage::user(text)], sender).await
    }

    /// Like [`prompt_with_sender`](Self::prompt_with_sender), with several messages.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn prompt_messages_with_sender(
        &self,
        messages: Vec<AgentMessage>,
        sender: impl EventSender + 'static,
    ) -> Result<AgentOutput, AgentError> {
        self.start(LaunchTask::Prompt(messages), Caller::Watches, Some(Box::new(sender)))?.finish().await
    }

    /// Like [`stream`](Self::stream), without a new prompt: the model replies to the conversation as it is.
    ///
    /// # Errors
    /// If the agent is busy.
    pub fn continue_loop(&self) -> Result<RunStream, AgentError> {
        self.start(LaunchTask::Continue(ContinuationKind::Default), Caller::Watches, None)
    }

    /// Runs a loop of the session again from its recorded start: the conversation goes back to the prompt, and the model
    /// replies anew. `None` repeats the newest run; a number is the last part of a loop id. The journal keeps the earlier
    /// run, and files are not changed.
    ///
    /// # Errors
    /// If the agent is busy, the session has no such run, or its journal cannot be read or written.
    pub async fn rerun(&self, run: Option<u64>) -> Result<RunStream, AgentError> {
        let task = self.return_to_start(run).await?;
        self.start(task, Caller::Watches, None)
    }

    /// Returns to the recorded start of a run; what remains is to continue from there.
    pub(super) async fn return_to_start(&self, run: Option<u64>) -> Result<LaunchTask, AgentError> {
        let read = self.borrow(async |context, _| {
            context.refresh().await?;
            Ok(context.journal().read_from(0).await?)
        });
        let started = run_start(&read.await?, run).and_then(|start| start.message_id);
        self.rewind(Some(started.ok_or(AgentError::UnknownRun(run))?)).await?;
        let tag = self.shared.config.ports.stamp().now.to_string();
        Ok(LaunchTask::Continue(ContinuationKind::Rerun { tag }))
    }

    /// Like [`continue_loop`](Self::continue_loop) to the end of the run, and passes every event to `sender`.
    /// A rerun or a branch starts from the last user message.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn continue_loop_with_sender(
        &self,
        sender: impl EventSender + 'static,
        kind: ContinuationKind,
    ) -> Result<AgentOutput, AgentError> {
        self.start(LaunchTask::Continue(kind), Caller::Watches, Some(Box::new(sender)))?.finish().await
    }
}
