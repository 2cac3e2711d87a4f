//! What the toy host does outside runs: it restores conversations and files, and runs the user's own commands.
//!
//! A command has its start in the journal; the task of the session does the work and appends its end. A host that finds
//! open work which it did not begin finishes a restore, and reports a command of the user as ended.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::{Either, select};
use lariat_api::{Action, CheckpointParts, Problem, ProblemCode, SessionCommand};
use lariat_core::event::{AgentEvent, FileRestore, FileRestoreResult, RewindTarget, UserCommandResult};
use lariat_core::id::{MessageId, SessionId};
use lariat_core::message::Message;

use super::state::{State, Work};
use super::toy::{Host, Mistake, problem};

impl Host {
    /// Returns the effects of a command that begins work outside a run. Refuses what cannot run beside such work.
    pub(super) fn outside_runs(
        self: &Arc<Self>,
        id: &SessionId,
        state: &State,
        command: &SessionCommand,
    ) -> Result<Vec<AgentEvent>, Problem> {
        let is_for_run = matches!(command.action, Action::Prompt { .. } | Action::Continue);
        let is_work = matches!(
            command.action,
            Action::Checkpoint { .. }
                | Action::Restore { .. }
                | Action::RestoreTo { .. }
                | Action::Shell { .. }
        );
        if !is_for_run && !is_work {
            return Ok(Vec::new());
        }
        if let Some((begun, _)) = &state.work {
            if self.begun.lock().unwrap().contains(begun) {
                return Err(problem(ProblemCode::WrongStatus, "the session is busy"));
            }
            // Work that a crash interrupted ends first.
            self.wake(id);
            return Err(problem(ProblemCode::Unavailable, "the session ends what a crash interrupted"));
        }
        if is_work && state.run.is_some() && !self.has(Mistake::RestoresBesideRun) {
            return Err(problem(ProblemCode::WrongStatus, "a run is active"));
        }
        let not_found = || problem(ProblemCode::NotFound, "the session has no such point");
        let effects = match &command.action {
            Action::Checkpoint { label } => {
                let message_id = state.conversation.last().map(|message| message.id());
                vec![AgentEvent::Checkpoint { label: label.clone(), message_id }]
            }
            Action::Restore { label, parts } => {
                let (seq, tip) = *state.checkpoints.get(label).ok_or_else(not_found)?;
                self.restore(state, Some(seq), tip, *parts)
            }
            Action::RestoreTo { to, parts } => {
                let seq = match to {
                    Some(id) => state.positions.get(id).copied(),
                    None => None,
                };
                if to.is_some() && seq.is_none() && !self.has(Mistake::RestoresToUnknownMessage) {
                    return Err(not_found());
                }
                self.restore(state, seq, *to, *parts)
            }
            Action::Shell { command: line } => {
                let command_id = command.id.as_str().to_owned();
                vec![AgentEvent::UserCommandStarted { command_id, command: line.clone() }]
            }
            _ => Vec::new(),
        };
        if is_work {
            self.begun.lock().unwrap().insert(command.id.as_str().to_owned());
        }
        Ok(effects)
    }

    fn restore(
        &self,
        state: &State,
        seq: Option<u64>,
        tip: Option<MessageId>,
        parts: CheckpointParts,
    ) -> Vec<AgentEvent> {
        let rewinds = parts != CheckpointParts::Files && !self.has(Mistake::KeepsConversation);
        if parts == CheckpointParts::Conversation {
            return if rewinds { vec![AgentEvent::Rewound { tip }] } else { Vec::new() };
        }
        let seq = seq.filter(|_| !self.has(Mistake::RestoresTooMuch));
        let later = state.changes.iter().filter(|(at, _)| seq.is_none_or(|seq| *at > seq));
        let calls = self.files.plan(&later.map(|(_, id)| id.clone()).collect());
        let conversation = rewinds.then(|| RewindTarget::new(tip));
        vec![AgentEvent::FileRestoreStarted(Box::new(FileRestore::new(calls, conversation)))]
    }

    /// Does the work that the journal says, or what is left to do after a crash, and appends its end.
    pub(super) async fn carry_out(&self, id: &SessionId, state: &State, command_id: &str, work: &Work) {
        let is_own = self.begun.lock().unwrap().contains(command_id);
        let end: Vec<AgentEvent> = match work {
            Work::Restore(restore) => {
                let mut result = FileRestoreResult::default();
                if is_own || !self.has(Mistake::ForgetsRestoreInCrash) {
                    let calls: HashSet<String> = restore.calls.iter().cloned().collect();
                    result.restored = self.files.undo(&calls).await;
                }
                let rewound = restore.conversation.map(|target| AgentEvent::Rewound { tip: target.tip });
                let ended = AgentEvent::FileRestoreEnded(Box::new(result));
                std::iter::once(ended).chain(rewound).collect()
            }
            Work::Command(command) => {
                let mut result = UserCommandResult::new(command_id);
                let mut output = String::new();
                if is_own || self.has(Mistake::RunsCommandAgainAfterCrash) {
                    match self.run_command(id, command_id, command).await {
                        Some(text) => (output, result.exit_code) = (text, Some(0)),
                        None => result.problem = Some("interrupted".to_owned()),
                    }
                } else {
                    result.problem = Some("the host stopped while it ran".to_owned());
                }
                if self.has(Mistake::DropsCommandOutput) {
                    output.clear();
                }
                let base = state.conversation.last().map(|message| message.id());
                let messages = vec![self.with_id(Message::user(format!("I ran {command}:\n{output}")))];
                vec![
                    AgentEvent::MessagesImported { base, messages },
                    AgentEvent::UserCommandEnded(Box::new(result)),
                ]
            }
        };
        self.append(id, None, end);
    }

    /// Runs a command of the user; `None` if a client interrupted it.
    async fn run_command(&self, id: &SessionId, command_id: &str, command: &str) -> Option<String> {
        if !self.has(Mistake::RunsCommandBeforeRecord) {
            self.files.add(&format!("shell-{command_id}"), command);
        }
        let mut grown = self.grown.subscribe();
        let stopped = Box::pin(async {
            while !self.state(id).must_stop_work {
                grown.changed().await.unwrap();
            }
        });
        match select(Box::pin(self.files.output(command)), stopped).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => None,
        }
    }
}
