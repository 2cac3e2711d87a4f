//! Runs the user's own commands.
//!
//! The journal has a command before it runs, so it never runs twice. When it ends, one write adds the command and its output to
//! the conversation. A command that a killed host left open is reported as interrupted, and not repeated.

use std::sync::Arc;

use lariat_api::{CommandId, Problem, ProblemCode, Receipt};
use lariat_core::cancel::CancellationToken;
use lariat_core::event::{AgentEvent, UserCommandResult};
use lariat_core::message::AgentMessage;
use lariat_runtime::CommandEffect;
use tokio::task::JoinHandle;

use super::commands::unsupported;
use super::{Accepted, Owner};
use crate::bounded_text::bounded_text;
use crate::factory::{ShellOutput, UserShell};
use crate::problems;

/// Maximum size of the output in the conversation, in bytes: half from the start, half from the end.
const LONGEST_OUTPUT: usize = 16 * 1024;

/// A command of the user that runs.
pub(super) struct RunningCommand {
    task: JoinHandle<ShellOutput>,
    cancel: CancellationToken,
    id: CommandId,
    command: String,
}

/// Waits for the end of the user's command. Never returns without one.
pub(super) async fn ended(running: &mut Option<RunningCommand>) -> ShellOutput {
    match running {
        Some(running) => (&mut running.task).await.unwrap_or_else(|_| {
            let problem = Some("the host could not wait for its end".to_owned());
            ShellOutput { problem, ..ShellOutput::default() }
        }),
        None => std::future::pending().await,
    }
}

impl Owner {
    pub(super) async fn run_shell(
        &mut self,
        accepted: Accepted,
        command: String,
    ) -> Result<Receipt, Problem> {
        self.check_idle("run a command").await?;
        if command.trim().is_empty() || command.contains('\0') {
            return Err(Problem::new(ProblemCode::Invalid, "the command is empty or contains NUL"));
        }
        self.agent().await?;
        let shell = self.hosted.as_ref().and_then(|hosted| hosted.hosted.shell.clone());
        let shell = shell.ok_or_else(|| unsupported("the host cannot run commands in this session"))?;
        shell.check(&command)?;
        let id = accepted.id.clone();
        let started = AgentEvent::UserCommandStarted { command_id: id.to_string(), command: command.clone() };
        let call_id = started.change_id().unwrap_or_default();
        // Before the journal has it: a view must not take it for one that a crash interrupted.
        self.entry.set_running(true);
        let noted = self.note(accepted, started).await;
        match &noted {
            Ok(_) => self.shell = Some(start(shell, call_id, id, command)),
            Err(_) => self.entry.set_running(false),
        }
        noted
    }

    pub(super) async fn interrupt_shell(&mut self, accepted: Accepted) -> Result<Receipt, Problem> {
        let receipt = self.record(accepted, Vec::new()).await?;
        if let Some(running) = &self.shell {
            running.cancel.cancel();
        }
        Ok(receipt)
    }

    pub(super) async fn on_shell_end(&mut self, output: ShellOutput) {
        let Some(running) = self.shell.take() else { return };
        let message = message_text(&running.command, &output);
        let mut result = UserCommandResult::new(running.id.as_str());
        (result.exit_code, result.problem) = (output.exit_code, output.problem);
        if self.record_shell_end(message, result).await.is_err() {
            // A new agent reads the journal again, and the next command reports this one as interrupted.
            self.hosted = None;
        }
        self.entry.set_running(false);
        self.deliver().await;
        self.shared.report_change(&self.entry).await;
    }

    async fn record_shell_end(&mut self, message: String, result: UserCommandResult) -> Result<(), Problem> {
        let effects = vec![
            CommandEffect::Message(Box::new(AgentMessage::from(message))),
            CommandEffect::note(AgentEvent::UserCommandEnded(Box::new(result))),
        ];
        let recorded = self.agent().await?.record_effects(effects).await;
        recorded.map_err(|error| problems::from_agent(&error))
    }

    /// Ends what a killed host left open: finishes a restore of files, and reports a command of the user.
    pub(super) async fn settle(&mut self) -> Result<(), Problem> {
        let (restore, command) = {
            let fold = self.entry.fold().await?;
            if self.is_busy() || fold.has_open_run() {
                return Ok(());
            }
            (fold.clients().file_restore().cloned(), fold.clients().user_command().cloned())
        };
        if let Some(restore) = restore {
            self.finish_restore(restore).await?;
        }
        if let Some(open) = command {
            let mut result = UserCommandResult::new(&open.command_id);
            result.problem = Some("the host stopped while it ran".to_owned());
            let lost = ShellOutput { problem: result.problem.clone(), ..ShellOutput::default() };
            self.record_shell_end(message_text(&open.command, &lost), result).await?;
        }
        Ok(())
    }
}

fn start(shell: Arc<dyn UserShell>, call_id: String, id: CommandId, command: String) -> RunningCommand {
    let cancel = CancellationToken::new();
    let (line, cancelled) = (command.clone(), cancel.clone());
    let task = tokio::spawn(async move { shell.run(&call_id, &line, cancelled).await });
    RunningCommand { task, cancel, id, command }
}

/// The message from which the model learns of the command.
fn message_text(command: &str, output: &ShellOutput) -> String {
    let mut text = format!("I ran this command myself:\n\n$ {command}\n\n");
    text.push_str(&bounded_text(&output.text, LONGEST_OUTPUT));
    if let Some(problem) = &output.problem {
        text.push_str(&format!("[The command did not run to its end: {problem}.]\n"));
    }
    text
}
