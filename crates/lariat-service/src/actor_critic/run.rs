//! Carries out the steps of a loop, and records each.

use std::time::Duration;

use lariat_api::{Action, ClientName, CommandId, SessionCommand};
use lariat_core::event::{AgentEvent, Description, LimitKind, RunOutcome, UserCommandResult};
use lariat_core::id::SessionId;
use lariat_core::message::AgentMessage;
use lariat_core::permission::Approver;
use lariat_core::time::Timestamp;
use lariat_core::usage::Cost;
use lariat_host::git::{TreeDiff, WorkTreeSnapshots};
use lariat_host::process::Supervisor;
use lariat_runtime::trace::{AttributeValue, genai};
use lariat_runtime::{AgentError, CommandEffect};
use lariat_sessions::{UserShell as _, bounded_text};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::acp::{ExternalEvent, JournalWriter};
use super::external::Role;
use super::programs::{ExternalPrograms, LoopLimits};
use super::record::{self, IterationDetails};
use super::{
    ActorOutput, ActorProgress, CriticDecision, ExternalAgent, LOOP_TAG, LoopAgent, LoopEnd, LoopIteration,
    LoopOutcome, LoopPlan, LoopRecord, LoopSession, LoopStep, SnapshotDirectory, export_workflow, prompts,
    remove_leftovers,
};
use crate::{ServiceError, clock};

/// Maximum size of a difference in the journal, in bytes.
const MAX_RECORDED_DIFF: usize = 512 * 1024;
/// Maximum size of the output of a check in the journal, in bytes.
const MAX_RECORDED_OUTPUT: usize = 32 * 1024;

/// How often to try to write while a run ends, and the pause between two attempts: ten seconds together.
const FREE_ATTEMPTS: u32 = 500;
const FREE_PAUSE: Duration = Duration::from_millis(20);

/// How many events of an agent may wait until they are recorded and shown.
pub(super) const EVENT_QUEUE: usize = 64;
/// Maximum number of tool calls of a critic that the record of an iteration names.
pub(super) const MAX_NAMED_CALLS: usize = 100;

/// Who watches an agent that is another program, and who answers it.
#[derive(Clone, Copy)]
pub struct ExternalWatch<'a> {
    /// Receives what the agent does, if it speaks ACP.
    pub report: &'a (dyn Fn(&ExternalEvent) + Send + Sync),
    /// Answers what the permission rules leave open; `None` if no user can.
    pub approver: Option<&'a dyn Approver>,
}

/// A loop that runs in this process.
pub struct LoopRun {
    pub(super) plan: LoopPlan,
    pub(super) session: LoopSession,
    snapshots: Option<WorkTreeSnapshots>,
    /// Keeps other processes from removing the snapshots.
    _directory: Option<SnapshotDirectory>,
    pub(super) programs: Option<ExternalPrograms>,
    /// When the current iteration began in this process.
    began: Timestamp,
}

/// What a review found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Review {
    /// The iteration; `None` if a limit ended the loop before the critic decided.
    pub iteration: Option<LoopIteration>,
    /// The decision of the critic, or what replaced it because the check failed.
    pub decision: Option<CriticDecision>,
    /// The changed files with the numbers of added and removed lines.
    pub diff: Option<(usize, u64, u64)>,
    /// The exit code of the check, if there is a check; the inner value is `None` if it did not end by itself.
    pub check: Option<Option<i64>>,
}

/// Stops the actor at the deadline of the loop, until it is dropped.
pub struct Deadline(JoinHandle<()>);

impl Drop for Deadline {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl LoopRun {
    /// Starts a loop in its session, or continues it. A new loop saves the state of the files and records its start.
    ///
    /// # Errors
    /// If the journal cannot be written, or the sandbox of another agent cannot be prepared.
    pub async fn start(plan: LoopPlan, session: LoopSession) -> Result<Self, ServiceError> {
        let mut run =
            Self { plan, session, snapshots: None, _directory: None, programs: None, began: clock::now() };
        let id = run.session.id();
        let directory = SnapshotDirectory::open(&run.plan.service, &id).await;
        if let Some(directory) = run.noted(directory.map_err(|error| error.to_string())) {
            run.snapshots = run.open_snapshots(&directory.path);
            run._directory = Some(directory);
        }
        if run.plan.record.settings.is_none() {
            remove_leftovers(&run.plan.service).await;
        }
        let LoopPlan { service, place, settings, .. } = &run.plan;
        if !(settings.actor.is_lariat() && settings.critic.is_lariat()) {
            let mut programs = ExternalPrograms::open(service, place, &id).await?;
            run.plan.notices.append(&mut programs.notices);
            run.programs = Some(programs);
        }
        if run.plan.record.settings.is_some() {
            run.plan.record.settings = Some(run.plan.settings.clone());
            return Ok(run);
        }
        let snapshot = run.take_snapshot().await;
        let LoopPlan { place, settings, models, .. } = &run.plan;
        let directory = place.path().display().to_string();
        let messages = record::start_messages(settings, snapshot, &directory, models.clone(), clock::now());
        let mut description = Description::default();
        description.cwd = Some(directory);
        description.tags = Some(vec![LOOP_TAG.to_owned()]);
        let tag = CommandEffect::note(AgentEvent::SessionDescribed(Box::new(description)));
        run.write(messages, vec![tag]).await?;
        Ok(run)
    }

    /// Runs the hooks for the end of the session, and releases it.
    pub async fn close(&self) {
        match &self.session {
            LoopSession::Hosted(session) => session.close().await,
            LoopSession::Recorded(session) => session.close().await,
        }
    }

    /// Notes for the user, each once.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.plan.notices)
    }

    /// The id of the session.
    pub fn session_id(&self) -> SessionId {
        self.session.id()
    }

    /// The loop as it is recorded.
    pub const fn record(&self) -> &LoopRecord {
        &self.plan.record
    }

    /// Reads what the session recorded since the last step, and says what to do next.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn step(&mut self) -> Result<LoopStep, ServiceError> {
        self.refresh().await?;
        if let ActorProgress::Ended(output) = &self.plan.record.actor
            && self.plan.record.end.is_none()
        {
            let is_capped = matches!(
                output.outcome,
                Some(RunOutcome::LimitReached { limit: LimitKind::Cost | LimitKind::Duration, .. })
            );
            // Other agents have no budget: what they report is compared when they ended.
            let is_spent = !self.plan.settings.actor.is_lariat()
                && self.plan.settings.max_cost.is_some_and(|most| self.plan.record.cost() >= most);
            if is_capped || is_spent || (!output.is_reviewable() && self.remaining().is_zero()) {
                let is_cost = is_spent
                    || matches!(
                        output.outcome,
                        Some(RunOutcome::LimitReached { limit: LimitKind::Cost, .. })
                    );
                let outcome =
                    if is_cost { LoopOutcome::CostLimitReached } else { LoopOutcome::TimeLimitReached };
                self.end(outcome, None).await?;
            }
        }
        Ok(self.plan.record.next_step())
    }

    /// Lets the session stop its run when the time of the loop is over.
    pub fn deadline(&self) -> Option<Deadline> {
        let LoopSession::Hosted(session) = &self.session else { return None };
        let (sessions, id, left) = (session.sessions(), session.id().clone(), self.remaining());
        Some(Deadline(tokio::spawn(async move {
            tokio::time::sleep(left).await;
            let command = CommandId::new(format!("loop-deadline-{}", clock::now().as_millis()));
            let command = SessionCommand::new(command, ClientName::new("loop"), Action::Interrupt);
            // A run that has just ended needs no stop.
            let _ = sessions.send(&id, command).await;
        })))
    }

    /// Runs an actor that is another program, and records what it did. Dropping the future ends the program. Returns `None` if the
    /// actor is Lariat.
    ///
    /// # Errors
    /// If the program cannot be started, or the journal cannot be written.
    pub async fn act(
        &mut self,
        prompt: &str,
        watch: ExternalWatch<'_>,
    ) -> Result<Option<ActorOutput>, ServiceError> {
        let LoopAgent::External(agent) = self.plan.settings.actor.clone() else { return Ok(None) };
        let number = self.plan.record.number();
        let command_id = format!("loop-{number}-{}", clock::now().as_millis());
        let started =
            AgentEvent::UserCommandStarted { command_id: command_id.clone(), command: agent.to_string() };
        let call = started.change_id().unwrap_or_else(|| command_id.clone());
        let prompt_message = AgentMessage::user(prompt);
        self.write(vec![prompt_message], vec![CommandEffect::note(started)]).await?;
        let limits = LoopLimits { approver: watch.approver, ..self.limits() };
        let (events, mut happened) = mpsc::channel(EVENT_QUEUE);
        let ran = match &self.programs {
            Some(programs) => {
                let work = programs.run(&agent, Role::Actor, prompt, &call, limits, events);
                let mut writer = JournalWriter::new(&command_id, agent.label(), agent.model());
                let recording = async {
                    while let Some(event) = happened.recv().await {
                        (watch.report)(&event);
                        let effects = writer.effects(&event);
                        if !effects.is_empty() {
                            self.record_effects(effects).await?;
                        }
                    }
                    Ok::<(), ServiceError>(())
                };
                // A journal that cannot be written stops the agent.
                let (ran, ()) = tokio::try_join!(async { Ok(work.await) }, recording)?;
                ran
            }
            None => Err(ServiceError::ExternalAgent(format!("{agent} is not ready"))),
        };
        let mut result = UserCommandResult::new(&command_id);
        match &ran {
            Ok(output) => result.exit_code = Some(output.exit_code),
            Err(error) => result.problem = Some(error.to_string()),
        }
        let ended = CommandEffect::note(AgentEvent::UserCommandEnded(Box::new(result)));
        let messages = match &ran {
            Ok(output) => vec![reply(&agent, output), output.message()],
            Err(_) => Vec::new(),
        };
        self.write(messages, vec![ended]).await?;
        ran.map(Some)
    }

    /// Reviews what the actor did: compares the files, runs the check, asks the critic, and records the iteration.
    ///
    /// # Errors
    /// If the critic or its model fails, or the journal cannot be written. The loop can continue later with the same review.
    pub async fn review(&mut self, watch: ExternalWatch<'_>) -> Result<Review, ServiceError> {
        let left = self.remaining();
        match tokio::time::timeout(left, Box::pin(self.judge(watch))).await {
            Ok(review) => review,
            Err(_) => {
                self.end(LoopOutcome::TimeLimitReached, None).await?;
                Ok(Review { iteration: None, decision: None, diff: None, check: None })
            }
        }
    }

    async fn judge(&mut self, watch: ExternalWatch<'_>) -> Result<Review, ServiceError> {
        let ActorProgress::Ended(actor) = self.plan.record.actor.clone() else {
            return Err(ServiceError::NotALoop(self.session.id().to_string()));
        };
        let (settings, number) = (self.plan.settings.clone(), self.plan.record.number());
        let diff = self.diff().await;
        let check = match &settings.check {
            Some(command) => Some((command.as_str(), self.run_check(command, number).await?)),
            None => None,
        };
        let patch = diff.as_ref().map(|diff| diff.patch.as_str());
        let evidence = prompts::Evidence {
            task: &settings.prompt,
            actor: &actor,
            diff: patch,
            files: diff.as_ref().map(|diff| diff.files.as_slice()).unwrap_or_default(),
            check: check.as_ref().map(|(command, (code, output))| (*command, *code, output.as_str())),
            earlier: self.plan.record.iterations.last().and_then(|last| last.feedback.as_deref()),
        };
        let prompt = prompts::review(&evidence, !settings.critic.is_lariat());
        let Some(critic) = self.ask_critic(&settings.critic, number, prompt, watch).await? else {
            self.end(LoopOutcome::CostLimitReached, None).await?;
            return Ok(Review { iteration: None, decision: None, diff: None, check: None });
        };
        let decision = with_check(critic.decision, check.as_ref());
        let seconds = clock::now().since(self.began).as_secs_f64();
        let cost = actor.cost.as_nano_usd().saturating_add(critic.cost.as_nano_usd());
        let recorded = bounded_text(patch.unwrap_or_default(), MAX_RECORDED_DIFF);
        let files = diff.as_ref().map(|diff| diff.files.len()).unwrap_or_default();
        let details = IterationDetails {
            iteration: number,
            // A resumed review began after the actor ended.
            seconds: seconds.max(actor.seconds),
            cost: Cost::from_nano_usd(cost),
            critic_session_id: critic.session_id.map(|id| id.to_string()),
            critic_calls: critic.calls,
            insertions: diff.as_ref().map(|diff| diff.insertions).unwrap_or_default(),
            deletions: diff.as_ref().map(|diff| diff.deletions).unwrap_or_default(),
            has_diff: patch.is_some(),
            check_exit_code: check.as_ref().and_then(|(_, (code, _))| *code),
            check_output: check.as_ref().map(|(_, (_, output))| bounded_text(output, MAX_RECORDED_OUTPUT)),
        };
        let mut messages =
            record::iteration_messages(&actor, &recorded, files, &decision, &details, clock::now());
        let spent =
            self.plan.record.time() + Duration::try_from_secs_f64(details.seconds).unwrap_or_default();
        let outcome = match &decision {
            CriticDecision::Done { .. } => Some(LoopOutcome::Success),
            _ if number >= settings.max_iterations => Some(LoopOutcome::MaxIterationsReached),
            _ if spent >= settings.max_time => Some(LoopOutcome::TimeLimitReached),
            _ => None,
        };
        if let Some(outcome) = outcome {
            let end = loop_end(outcome, number, Some(&decision), spent);
            messages.push(record::end_message(&end, clock::now()));
        }
        self.write(messages, Vec::new()).await?;
        self.began = clock::now();
        if self.plan.record.end.is_some() {
            self.remove_snapshots();
            self.export_span().await;
        }
        Ok(Review {
            iteration: self.plan.record.iterations.last().cloned(),
            decision: Some(decision),
            diff: diff.as_ref().map(|diff| (diff.files.len(), diff.insertions, diff.deletions)),
            check: check.map(|(_, (code, _))| code),
        })
    }

    /// Ends the loop for another reason than the critic's decision.
    async fn end(
        &mut self,
        outcome: LoopOutcome,
        decision: Option<&CriticDecision>,
    ) -> Result<(), ServiceError> {
        let spent = self.plan.record.time() + clock::now().since(self.began);
        let end = loop_end(outcome, self.plan.record.iterations.len() as u64, decision, spent);
        self.write(vec![record::end_message(&end, clock::now())], Vec::new()).await?;
        self.remove_snapshots();
        self.export_span().await;
        Ok(())
    }

    /// Exports the span of the whole loop.
    async fn export_span(&self) {
        let LoopPlan { service, place, record, .. } = &self.plan;
        let Some(end) = &record.end else { return };
        let outcome = serde_json::to_value(end.outcome).unwrap_or_default();
        let attributes = vec![
            (genai::OUTCOME, outcome.as_str().unwrap_or_default().into()),
            (genai::ITERATIONS, end.iterations.into()),
            (genai::COST_USD, AttributeValue::Number(record.cost().as_usd())),
        ];
        export_workflow(service, place, &self.session.id(), "loop", attributes).await;
    }

    /// The time that is left.
    pub(super) fn remaining(&self) -> Duration {
        let spent = self.plan.record.time() + clock::now().since(self.began);
        self.plan.settings.max_time.saturating_sub(spent)
    }

    /// What the loop permits another agent from now on.
    pub(super) fn limits(&self) -> LoopLimits<'_> {
        let LoopPlan { settings, record, .. } = &self.plan;
        let left = |most: Cost| most.as_nano_usd().saturating_sub(record.cost().as_nano_usd());
        LoopLimits {
            time: self.remaining(),
            cost: settings.max_cost.map(|most| Cost::from_nano_usd(left(most))),
            variables: &settings.variables,
            approver: None,
        }
    }

    async fn refresh(&mut self) -> Result<(), ServiceError> {
        let events = self.plan.service.events(&self.session.id()).await?;
        self.plan.record = LoopRecord::of(events.iter().map(|event| &**event));
        Ok(())
    }

    /// Records messages and events in one write.
    async fn write(
        &mut self,
        messages: Vec<AgentMessage>,
        events: Vec<CommandEffect>,
    ) -> Result<(), ServiceError> {
        let messages = messages.into_iter().map(|message| CommandEffect::Message(Box::new(message)));
        let effects: Vec<CommandEffect> = messages.chain(events).collect();
        self.record_effects(effects).await?;
        self.refresh().await
    }

    async fn record_effects(&self, effects: Vec<CommandEffect>) -> Result<(), ServiceError> {
        let agent = self.session.agent();
        for _ in 0..FREE_ATTEMPTS {
            match agent.record_effects(effects.clone()).await {
                // The journal has the end of a run shortly before the agent is free.
                Err(AgentError::Busy) => tokio::time::sleep(FREE_PAUSE).await,
                recorded => return Ok(recorded?),
            }
        }
        Err(AgentError::Busy.into())
    }

    async fn run_check(&self, command: &str, number: u64) -> Result<(Option<i64>, String), ServiceError> {
        let Some(shell) = self.session.shell() else {
            return Err(ServiceError::ExternalAgent(
                "the check cannot run, because the tool `bash` is off".to_owned(),
            ));
        };
        shell.check(command).map_err(|problem| ServiceError::ExternalAgent(problem.to_string()))?;
        let call = format!("loop-check-{number}-{}", clock::now().as_millis());
        let output = shell.run(&call, command, lariat_core::cancel::CancellationToken::new()).await;
        let text = match output.problem {
            Some(problem) => format!("{}\n[{problem}]", output.text),
            None => output.text,
        };
        Ok((output.exit_code, text))
    }

    fn open_snapshots(&mut self, folder: &std::path::Path) -> Option<WorkTreeSnapshots> {
        let LoopPlan { service, place, .. } = &self.plan;
        let environment = place.environment(service.environment());
        let root = place.opened.territory.root();
        let opened = WorkTreeSnapshots::open(root, folder, &environment, &Supervisor::new());
        self.noted(opened.map_err(|error| error.to_string()))
    }

    async fn take_snapshot(&mut self) -> Option<String> {
        let taken = match &self.snapshots {
            Some(snapshots) => snapshots.take().await,
            None => return None,
        };
        self.noted(taken.map_err(|error| error.to_string()))
    }

    async fn diff(&mut self) -> Option<TreeDiff> {
        let first = self.plan.record.snapshot.clone()?;
        let now = self.take_snapshot().await?;
        let compared = match &self.snapshots {
            Some(snapshots) => snapshots.diff(&first, &now).await,
            None => return None,
        };
        self.noted(compared.map_err(|error| error.to_string()))
    }

    /// Without git the critic reads the files instead of a difference, and the user learns why.
    fn noted<T>(&mut self, result: Result<T, String>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.plan.notices.push(format!("the critic sees no difference: {error}"));
                None
            }
        }
    }

    fn remove_snapshots(&mut self) {
        if let Some(snapshots) = self.snapshots.take()
            && let Err(error) = snapshots.remove()
        {
            self.plan.notices.push(format!("could not remove the snapshots of the loop: {error}"));
        }
    }
}

pub(super) fn loop_end(
    outcome: LoopOutcome,
    iterations: u64,
    decision: Option<&CriticDecision>,
    time: Duration,
) -> LoopEnd {
    let (summary, confidence) = match decision {
        Some(CriticDecision::Done { summary, confidence }) => (Some(summary.clone()), *confidence),
        _ => (None, None),
    };
    LoopEnd { outcome, iterations, summary, confidence, duration_secs: time.as_secs_f64() }
}

/// A task is not done while its check fails, whatever the critic says.
pub(super) fn with_check(
    decision: CriticDecision,
    check: Option<&(&str, (Option<i64>, String))>,
) -> CriticDecision {
    match (&decision, check) {
        (CriticDecision::Done { .. }, Some((command, (code, output)))) if *code != Some(0) => {
            let ended = code.map_or("did not end by itself".to_owned(), |code| format!("ended with {code}"));
            let output = bounded_text(output, MAX_RECORDED_OUTPUT / 4);
            let feedback = format!("The check `{command}` {ended}:\n\n{output}");
            CriticDecision::Continue { feedback }
        }
        _ => decision,
    }
}

/// What another agent wrote, as a reply in the conversation.
fn reply(agent: &ExternalAgent, output: &ActorOutput) -> AgentMessage {
    use lariat_core::content::Content;
    use lariat_core::message::{AssistantMessage, Message, StopReason};
    let model = agent.model().unwrap_or(agent.label()).to_owned();
    AgentMessage::from(Message::Assistant(AssistantMessage {
        content: vec![Content::text(output.text.clone())],
        stop_reason: StopReason::Stop,
        model,
        requested_model: None,
        provider: agent.label().to_owned(),
        usage: lariat_core::usage::Usage::default(),
        timestamp: clock::now(),
        error_message: None,
    }))
}
