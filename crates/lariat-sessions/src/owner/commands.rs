//! Carries out the commands of clients: checks one, turns it into effects, and records both together.
//!
//! Invariant: a command that is refused leaves nothing in the journal.

use std::sync::Arc;
use std::time::Duration;

use lariat_api::{
    Action, Answer, Ask, AskDigest, AskId, AskKind, AskSubject, Delivery, Edit, ModelView, Principal,
    Problem, ProblemCode, PromptContent, QueuedMessage, Receipt, SessionCommand,
};
use lariat_core::event::{AgentEvent, CommandRecord, Description, Event, QueueKind};
use lariat_core::id::{MessageId, ToolCallId};
use lariat_core::message::{AgentMessage, Message, UserMessage};
use lariat_core::permission::PermissionDecision;
use lariat_core::run::Run;
use lariat_core::session::Question;
use lariat_runtime::{CommandEffect, CommandRun};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::recording::{late_answer, record};
use super::{Accepted, CommandProgress, Owner, ended};
use crate::asks::{is_plan_digest, plan_digest};
use crate::factory::HostedAgent;
use crate::problems::{self, wrong_status};

/// Maximum size of the answer to a question, in bytes.
const LONGEST_ANSWER: usize = 64 * 1024;
/// How long a command waits for the task of a run that ended.
const RUN_TASK_END: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// What the model receives if the user declines to answer.
const DECLINED: &str = "the user declined to answer; decide yourself, or stop";

impl Owner {
    /// Carries out a command, unless the journal has it.
    pub(super) async fn command(
        &mut self,
        command: SessionCommand,
        principal: Principal,
    ) -> Result<CommandProgress, Problem> {
        let digest = crate::asks::json_digest(&command.action);
        if let Some(receipt) = self.earlier_receipt(&command.id, &digest).await? {
            return Ok(CommandProgress::Recorded(receipt));
        }
        self.finish_ended_run().await?;
        self.settle().await?;
        let mut record = CommandRecord::new(
            command.id.as_str(),
            command.client.as_str(),
            principal.as_str(),
            action_name(&command.action)?,
            digest,
        );
        record.is_in_process = self.shared.options.is_in_process;
        let accepted = Accepted { record, id: command.id };
        match command.action {
            Action::Answer {
                ask_id,
                digest,
                answer: answer @ Answer::Approval { decision: PermissionDecision::AllowChanged { .. } },
            } => self.answer_with_changes(accepted, &ask_id, &digest, answer).await,
            action => self.carry_out(accepted, action).await.map(CommandProgress::Recorded),
        }
    }

    async fn carry_out(&mut self, accepted: Accepted, action: Action) -> Result<Receipt, Problem> {
        match action {
            Action::Prompt { content, delivery } => self.prompt(accepted, content, delivery).await,
            Action::Continue => self.continue_run(accepted).await,
            Action::Rerun { run } => {
                self.check_idle("run an earlier run again").await?;
                self.start_with(accepted, async |agent, record| agent.rerun_by_command(record, run).await)
                    .await
            }
            Action::RetryAnswer { problem } => self.retry_answer(accepted, &problem).await,
            Action::Interrupt => self.interrupt(accepted).await,
            Action::Answer { ask_id, digest, answer } => {
                if is_plan_digest(&digest) && ask_id == crate::asks::ask_id(Question::Plan) {
                    return self.answer_reviewed_plan(accepted, &digest, answer).await;
                }
                let ask = self.open_ask(&ask_id, &digest, &answer).await?;
                self.answer(accepted, ask, answer).await
            }
            Action::EditQueue { edit } => self.edit_queue(accepted, edit).await,
            Action::Describe { title, tags } => {
                let mut description = Description::default();
                (description.title, description.tags) = (title, tags);
                self.note(accepted, AgentEvent::SessionDescribed(Box::new(description))).await
            }
            Action::SetMode { mode } => self.set_mode(accepted, &mode).await,
            Action::SetModel { model, effort } => self.set_model(accepted, model, effort).await,
            Action::Rewind { to } => {
                self.check_idle("rewind the conversation").await?;
                if let Some(id) = to {
                    self.check_message(id).await?;
                }
                self.note(accepted, AgentEvent::Rewound { tip: to }).await
            }
            Action::RemoveMessage { message_id } => {
                self.check_idle("remove a message").await?;
                self.check_message(message_id).await?;
                self.note(accepted, AgentEvent::MessageRemoved { message_id }).await
            }
            Action::Pin { message_id, pinned } => {
                self.check_message(message_id).await?;
                self.record(accepted, vec![CommandEffect::Pin(message_id, pinned)]).await
            }
            Action::Compact { focus } => self.compact(accepted, focus.as_deref()).await,
            Action::UndoCompaction { compaction } => {
                self.check_idle("undo a compaction").await?;
                let is_it = |event: &Event| {
                    event.id == compaction && matches!(event.event, AgentEvent::Compaction { .. })
                };
                if self.find_event(|event| is_it(event).then_some(())).await?.is_none() {
                    return Err(Problem::new(ProblemCode::NotFound, "the session has no such compaction"));
                }
                self.note(accepted, AgentEvent::CompactionUndone { compaction }).await
            }
            Action::Checkpoint { label } => {
                self.check_idle("name a checkpoint").await?;
                let messages = self.agent().await?.load().await;
                let messages = messages.map_err(|error| problems::from_agent(&error))?;
                let message_id = messages.last().map(|message| message.id());
                self.note(accepted, AgentEvent::Checkpoint { label, message_id }).await
            }
            Action::Restore { label, parts } => self.restore(accepted, &label, parts).await,
            Action::RestoreTo { to, parts } => self.restore_to(accepted, to, parts).await,
            Action::Shell { command } => self.run_shell(accepted, command).await,
            Action::ExtendBudget { scope, limits } => {
                self.record(accepted, vec![CommandEffect::ExtendBudget(scope, limits)]).await
            }
            Action::SetGoal { goal } => self.note(accepted, AgentEvent::GoalChanged(Box::new(goal))).await,
            Action::Learn { .. } => Err(unsupported("the host keeps no learnings")
                .with_hint("`lariat memory add --kind learning` keeps one for the project")),
            Action::Close => {
                let receipt = self.record(accepted, Vec::new()).await?;
                self.is_closing = true;
                Ok(receipt)
            }
            _ => Err(unsupported("the host does not know this action")),
        }
    }

    async fn prompt(
        &mut self,
        accepted: Accepted,
        content: PromptContent,
        delivery: Delivery,
    ) -> Result<Receipt, Problem> {
        let message = AgentMessage::from(Message::User(UserMessage::new(content.0)));
        Run::check_prompt(&message).map_err(|error| Problem::new(ProblemCode::Invalid, error.to_string()))?;
        self.recover().await?;
        if self.run.is_some() {
            let queue = match delivery {
                Delivery::Steer => QueueKind::Steering,
                Delivery::Queue => QueueKind::FollowUp,
                Delivery::Interrupt => {
                    self.stop_run().await?;
                    return self.start_prompt(accepted, message).await;
                }
                _ => return Err(wrong_status("a run is active", "wait for its end, or steer it")),
            };
            return self.record(accepted, vec![CommandEffect::Queue(queue, Box::new(message))]).await;
        }
        self.start_prompt(accepted, message).await
    }

    /// Waits for the task of a run whose end is in the journal: for clients, the session is idle, and a message that
    /// comes now starts a run instead of waiting in the queue of the old one.
    pub(super) async fn finish_ended_run(&mut self) -> Result<(), Problem> {
        let deadline = Instant::now() + RUN_TASK_END;
        while self.run.is_some() && !self.entry.fold().await?.has_open_run() && Instant::now() < deadline {
            // A run that delivers queued messages has no event yet, so look again soon.
            if let Ok(ended) = timeout(LOOK_AGAIN, ended(&mut self.run)).await {
                self.on_run_end(ended).await;
            }
        }
        Ok(())
    }

    /// Stops the active run and waits for its end.
    async fn stop_run(&mut self) -> Result<(), Problem> {
        self.agent().await?.abort();
        if self.run.is_some() {
            let ended = ended(&mut self.run).await;
            self.on_run_end(ended).await;
        }
        Ok(())
    }

    async fn continue_run(&mut self, accepted: Accepted) -> Result<Receipt, Problem> {
        let was_running = self.run.is_some();
        self.recover().await?;
        match (was_running, self.run.is_some()) {
            (true, _) => Err(wrong_status("a run is active", "wait for its end, or steer it")),
            // The recovered run is the continuation.
            (false, true) => self.record(accepted, Vec::new()).await,
            (false, false) => self.start_run(accepted, CommandRun::Continue).await,
        }
    }

    async fn retry_answer(&mut self, accepted: Accepted, problem: &str) -> Result<Receipt, Problem> {
        self.check_idle("ask for another answer").await?;
        self.agent().await?;
        let write = self.hosted.as_ref().and_then(|hosted| hosted.hosted.retry_message.clone());
        let write = write.ok_or_else(|| unsupported("the answers of this session have no schema"))?;
        self.start_run(accepted, CommandRun::Prompt(vec![write(problem)])).await
    }

    async fn interrupt(&mut self, accepted: Accepted) -> Result<Receipt, Problem> {
        self.recover().await?;
        if self.shell.is_some() {
            return self.interrupt_shell(accepted).await;
        }
        if self.run.is_none() {
            if std::mem::take(&mut self.has_stopped_compaction) {
                return self.record(accepted, Vec::new()).await;
            }
            return Err(wrong_status("no run is active", "there is nothing to interrupt"));
        }
        match self.record(accepted, vec![CommandEffect::Abort]).await {
            Err(problem) if problem.code == ProblemCode::AlreadyAnswered => Err(wrong_status(
                "the run ended before it could be interrupted",
                "there is nothing to interrupt",
            )),
            result => result,
        }
    }

    /// Returns the ask that an answer is for.
    async fn open_ask(&self, ask_id: &AskId, digest: &AskDigest, answer: &Answer) -> Result<Ask, Problem> {
        let asks = self.entry.fold().await?.asks();
        let Some(ask) = asks.into_iter().find(|ask| ask.id == *ask_id) else {
            return Err(late_answer(&self.entry, ask_id).await);
        };
        if ask.digest != *digest {
            return Err(other_version());
        }
        if !answer.fits(ask.subject.kind()) {
            return Err(Problem::new(ProblemCode::Invalid, "the answer does not fit the question"));
        }
        Ok(ask)
    }

    /// Approves a tool call with other arguments. The permission check judges them first, which may call hooks, so the
    /// owner takes other commands meanwhile, such as one that interrupts the run.
    async fn answer_with_changes(
        &mut self,
        accepted: Accepted,
        ask_id: &AskId,
        digest: &AskDigest,
        answer: Answer,
    ) -> Result<CommandProgress, Problem> {
        let ask = self.open_ask(ask_id, digest, &answer).await?;
        self.recover().await?;
        let (AskSubject::Approval { request }, Answer::Approval { decision }) = (ask.subject, answer) else {
            return Err(unsupported("the host cannot answer this kind of question"));
        };
        let effects = vec![CommandEffect::AnswerPermission(request.id, decision)];
        let (agent, entry) = (self.agent().await?, Arc::clone(&self.entry));
        Ok(CommandProgress::Judging(Box::pin(async move {
            match record(&agent, &entry, accepted, effects).await {
                Err(problem) if problem.code == ProblemCode::AlreadyAnswered => {
                    Err(late_answer(&entry, &ask.id).await)
                }
                result => result,
            }
        })))
    }

    async fn answer(&mut self, accepted: Accepted, ask: Ask, answer: Answer) -> Result<Receipt, Problem> {
        if ask.subject.kind() != AskKind::Plan {
            self.recover().await?;
        }
        let ask_id = ask.id.clone();
        let effect = match (ask.subject, answer) {
            (AskSubject::Approval { request }, Answer::Approval { decision }) => {
                CommandEffect::AnswerPermission(request.id, decision)
            }
            (AskSubject::Approval { request }, Answer::Decline { reason }) => {
                CommandEffect::AnswerPermission(request.id, PermissionDecision::Deny { reason })
            }
            (AskSubject::Question { .. }, answer) => {
                let Some(request) = self.entry.fold().await?.question(&ask_id) else {
                    return Err(late_answer(&self.entry, &ask_id).await);
                };
                CommandEffect::AnswerPermission(request, question_decision(answer)?)
            }
            (AskSubject::Budget { request }, Answer::Budget { limits }) => {
                CommandEffect::AnswerBudget(request.id, Some(limits))
            }
            (AskSubject::Budget { request }, Answer::Decline { .. }) => {
                CommandEffect::AnswerBudget(request.id, None)
            }
            (AskSubject::Plan { changes }, answer) => {
                return self.answer_plan(accepted, changes, answer).await;
            }
            _ => return Err(unsupported("the host cannot answer this kind of question")),
        };
        match self.record(accepted, vec![effect]).await {
            Err(problem) if problem.code == ProblemCode::AlreadyAnswered => {
                Err(late_answer(&self.entry, &ask_id).await)
            }
            result => result,
        }
    }

    async fn answer_plan(
        &mut self,
        accepted: Accepted,
        changes: Vec<ToolCallId>,
        answer: Answer,
    ) -> Result<Receipt, Problem> {
        let (approved, rejected) = match answer {
            Answer::Plan { approved, rejected } => (approved, rejected),
            Answer::Decline { .. } => (Vec::new(), changes),
            _ => return Err(unsupported("the host cannot answer this kind of question")),
        };
        if approved.is_empty() {
            return self.note(accepted, AgentEvent::PlanDecided { approved, rejected }).await;
        }
        let plan = self.plan().await?;
        let decision = plan.decide(&approved, &rejected);
        self.start_run(accepted, CommandRun::Plan(decision)).await
    }

    /// Decides about a plan that a user saw with its previews, if every change would still do the same. The run checks
    /// that again when it starts.
    async fn answer_reviewed_plan(
        &mut self,
        accepted: Accepted,
        digest: &AskDigest,
        answer: Answer,
    ) -> Result<Receipt, Problem> {
        let plan = self.plan().await?;
        if plan_digest(&plan) != *digest {
            return Err(other_version());
        }
        match answer {
            // The model learns what was approved and what was rejected.
            Answer::Plan { approved, rejected } => {
                let decision = plan.decide(&approved, &rejected);
                self.start_run(accepted, CommandRun::Plan(decision)).await
            }
            Answer::Decline { .. } => {
                let rejected = plan.changes.iter().map(|change| change.id.clone()).collect();
                self.note(accepted, AgentEvent::PlanDecided { approved: Vec::new(), rejected }).await
            }
            _ => Err(unsupported("the host cannot answer this kind of question")),
        }
    }

    async fn edit_queue(&mut self, accepted: Accepted, edit: Edit) -> Result<Receipt, Problem> {
        let queue = self.entry.fold().await?.queue();
        let gone = || Problem::new(ProblemCode::NotFound, "the message does not wait any more");
        let find = |id: &MessageId| {
            let found = queue.iter().find(|queued| queued.message_id == *id);
            found.ok_or_else(gone)
        };
        let effects = match edit {
            Edit::Remove { message_id } => vec![CommandEffect::Unqueue(find(&message_id)?.message_id)],
            Edit::Replace { message_id, content } => {
                let queued = find(&message_id)?;
                vec![CommandEffect::Unqueue(message_id), enqueue(queued, content)]
            }
            Edit::Reorder { message_ids } => {
                let ordered: Vec<&QueuedMessage> =
                    message_ids.iter().map(find).collect::<Result<_, Problem>>()?;
                if ordered.len() != queue.len() {
                    return Err(Problem::new(ProblemCode::Invalid, "the order must name every message once"));
                }
                let removed = queue.iter().map(|queued| CommandEffect::Unqueue(queued.message_id));
                let added = ordered.into_iter().map(|queued| enqueue(queued, queued.content.clone()));
                removed.chain(added).collect()
            }
            Edit::Resume => {
                self.recover().await?;
                if self.run.is_some() {
                    return self.record(accepted, Vec::new()).await;
                }
                return self.start_run(accepted, CommandRun::Deliver).await;
            }
            _ => return Err(unsupported("the host does not know this change of the queue")),
        };
        match self.record(accepted, effects).await {
            // The run, which may just have been recovered, delivered it meanwhile.
            Err(problem) if problem.code == ProblemCode::AlreadyAnswered => Err(gone()),
            result => result,
        }
    }

    async fn set_mode(&mut self, accepted: Accepted, mode: &str) -> Result<Receipt, Problem> {
        self.agent().await?;
        let modes = self.hosted.as_ref().and_then(|hosted| hosted.hosted.modes.clone());
        let Some(modes) = modes else {
            return Err(unsupported("the agent of this session has no permission modes"));
        };
        let before = modes.mode();
        let mode = modes.set_mode(mode)?;
        let recorded = self.note(accepted, AgentEvent::ModeChanged { mode }).await;
        if recorded.is_err() {
            // The journal does not have the new mode, so it must not apply.
            let _ = modes.set_mode(&before);
        }
        recorded
    }

    async fn set_model(
        &mut self,
        accepted: Accepted,
        model: String,
        effort: Option<String>,
    ) -> Result<Receipt, Problem> {
        self.check_idle("change the model").await?;
        let mut chosen = ModelView::default();
        (chosen.name, chosen.effort) = (model.clone(), effort.clone());
        // An unknown model fails here, before anything is recorded.
        let hosted = self.build(Some(&chosen)).await?;
        let receipt = self.note(accepted, AgentEvent::ModelChanged { model, effort }).await?;
        self.replace_agent(hosted).await;
        Ok(receipt)
    }

    /// Builds the agent anew, because what the host builds it from changed.
    pub(super) async fn rebuild(&mut self) -> Result<(), Problem> {
        self.finish_ended_run().await?;
        self.check_idle("change its agent").await?;
        let hosted = self.build(None).await?;
        self.replace_agent(hosted).await;
        Ok(())
    }

    /// Closes the agent and continues with another one, in the same permission mode as far as its settings permit.
    pub(super) async fn replace_agent(&mut self, hosted: HostedAgent) {
        if let Some(old) = self.hosted.take() {
            if let (Some(before), Some(modes)) = (&old.hosted.modes, &hosted.modes) {
                let _ = modes.set_mode(&before.mode());
            }
            hosted.agent.take_over(&old.hosted.agent);
            old.close().await;
        }
        self.host(hosted);
    }
}

fn other_version() -> Problem {
    Problem::new(ProblemCode::DigestMismatch, "the answer belongs to another version of the question")
        .with_hint("show the question again")
}

fn enqueue(queued: &QueuedMessage, content: PromptContent) -> CommandEffect {
    let queue = match queued.delivery {
        Delivery::Steer => QueueKind::Steering,
        _ => QueueKind::FollowUp,
    };
    let message = AgentMessage::from(Message::User(UserMessage::new(content.0)));
    CommandEffect::Queue(queue, Box::new(message))
}

/// Returns the decision that answers a question of the model.
fn question_decision(answer: Answer) -> Result<PermissionDecision, Problem> {
    let text = match answer {
        Answer::Value { value: Value::String(text) } => text,
        Answer::Value { value } => value.to_string(),
        Answer::Decline { reason } => {
            return Ok(PermissionDecision::deny(reason.unwrap_or_else(|| DECLINED.to_owned())));
        }
        _ => return Err(unsupported("the host cannot answer this kind of question")),
    };
    if text.trim().is_empty() || text.len() > LONGEST_ANSWER {
        let message = format!("an answer has between 1 and {LONGEST_ANSWER} bytes");
        return Err(Problem::new(ProblemCode::Invalid, message).with_hint("decline to answer instead"));
    }
    Ok(PermissionDecision::Answered { text })
}

/// Returns the name under which the journal records an action.
pub(crate) fn action_name(action: &Action) -> Result<String, Problem> {
    if matches!(action, Action::Other(_)) {
        return Err(unsupported("the host does not know this action"));
    }
    let json = serde_json::to_value(action).unwrap_or_default();
    let name = json.get("type").and_then(|name| name.as_str()).unwrap_or_default();
    Ok(name.to_owned())
}

pub(super) fn unsupported(message: &str) -> Problem {
    Problem::new(ProblemCode::Unsupported, message)
}
