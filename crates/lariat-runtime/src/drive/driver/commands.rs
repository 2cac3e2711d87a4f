//! Takes the commands of clients into a run, and judges the answers that change arguments.
//!
//! Invariant: a command and its effects are one write. An answer that changes arguments is judged first, so its command is
//! recorded together with the decision that the permission check made of it.

use std::sync::Arc;

use lariat_core::event::AgentEvent;
use lariat_core::id::RequestId;
use lariat_core::permission::PermissionDecision;
use lariat_core::run::Input;

use super::super::authorize::judge_answer;
use super::super::command::{CommandEffect, CommandReply, RunCommand};
use super::{Driver, JobKey};

impl Driver {
    /// Records a command and its effects, unless it answers a request that does not wait for an answer.
    pub(super) fn accept(&mut self, command: RunCommand) {
        if self.run.is_finished() {
            return command.refuse(CommandReply::RunEnded);
        }
        let is_for_other =
            !command.others.is_empty() && command.effects.iter().any(|effect| !self.asks_for(effect));
        if is_for_other || command.effects.iter().any(|effect| !self.is_asked(effect)) {
            return command.refuse(CommandReply::NotAsked);
        }
        let changed = command.effects.iter().find_map(|effect| match effect {
            CommandEffect::AnswerPermission(request, decision @ PermissionDecision::AllowChanged { .. }) => {
                Some((*request, decision.clone()))
            }
            _ => None,
        });
        match changed {
            Some((request, decision)) => {
                self.judged_commands.push((request, command));
                self.judge(request, decision);
            }
            None => self.record_command(command),
        }
    }

    /// Whether the run waits for an answer, and a message that is to leave its queue still waits. The first answer wins, also
    /// while the permission check judges it.
    fn is_asked(&self, effect: &CommandEffect) -> bool {
        if let CommandEffect::Unqueue(message) = effect {
            return self.run.is_queued(*message);
        }
        let CommandEffect::AnswerPermission(request, _) = effect else { return true };
        let is_pending = self.run.pending_permissions().any(|pending| pending.id == *request);
        is_pending && !self.judged_answers.contains(request)
    }

    /// Whether an answer about a budget is for this run, and not for another branch.
    fn asks_for(&self, effect: &CommandEffect) -> bool {
        let CommandEffect::AnswerBudget(request, _) = effect else { return true };
        self.run.pending_budget_request() == Some(*request)
    }

    /// Records a command and its effects in one write: nothing else is fed between them.
    fn record_command(&mut self, command: RunCommand) {
        let RunCommand { record, effects, reply, .. } = command;
        let by = record.by.clone();
        self.unacknowledged.push((record.command_id.clone(), reply));
        self.feed(Input::Note { event: Box::new(AgentEvent::CommandAccepted(Box::new(record))) });
        for effect in effects {
            if effect == CommandEffect::Abort {
                self.cancelled = None;
                self.handle.cancel.cancel();
            }
            self.feed(effect.input(&by));
        }
    }

    /// Judges an answer that changes arguments before the machine gets it. Ends the approver's own question.
    pub(super) fn judge(&mut self, request: RequestId, decision: PermissionDecision) {
        let asked = self.approvals.all().iter().find(|asked| asked.id == request).cloned();
        let Some(asked) = asked else { return self.refuse_judged_command(request) };
        let key = JobKey::Request(request);
        self.abort_job(key);
        self.judged_answers.push(request);
        let (ports, session_id) = (Arc::clone(&self.ports), self.journal.session_id().clone());
        let judging = judge_answer(ports, session_id, self.handle.loop_id.clone(), asked, decision);
        let job = async move { Input::PermissionAnswered { request, decision: judging.await }.into() };
        self.start_job(Some(key), Box::pin(job));
    }

    /// Feeds the result of a job. A judged answer of a client is recorded with its command.
    pub(super) fn feed_job_result(&mut self, input: Input) {
        let Input::PermissionAnswered { request, decision } = input else { return self.feed(input) };
        let Some(mut command) = self.take_judged_command(request) else {
            return self.feed(Input::PermissionAnswered { request, decision });
        };
        self.judged_answers.retain(|judged| *judged != request);
        // A hook may have ended the run meanwhile.
        command.effects = vec![CommandEffect::AnswerPermission(request, decision)];
        if self.run.is_finished() || !command.effects.iter().all(|effect| self.is_asked(effect)) {
            let _ = command.reply.send(CommandReply::NotAsked);
            return;
        }
        self.record_command(command);
    }

    /// Tells the sender of an answer that is being judged that the run does not wait for it any more.
    pub(super) fn refuse_judged_command(&mut self, request: RequestId) {
        if let Some(command) = self.take_judged_command(request) {
            let _ = command.reply.send(CommandReply::NotAsked);
        }
    }

    fn take_judged_command(&mut self, request: RequestId) -> Option<RunCommand> {
        let at = self.judged_commands.iter().position(|(judged, _)| *judged == request)?;
        Some(self.judged_commands.swap_remove(at).1)
    }
}
