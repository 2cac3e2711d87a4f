//! Lets one branch work, to its end: in a copy of the directory, with Lariat or another agent, then with the check.

use futures_util::StreamExt as _;
use lariat_core::event::{AgentEvent, Description, LimitKind, RunOutcome};
use lariat_core::id::SessionId;
use lariat_core::usage::Cost;
use lariat_runtime::trace::Workflow;
use lariat_sessions::{UserShell as _, bounded_text};
use tokio::sync::mpsc;

use super::copies::{BranchCopy, Copies};
use super::plan::RacePlan;
use super::record::BranchEnd;
use super::settings::{branch_name, branch_session};
use crate::actor_critic::{
    ActorOutput, ActorProgress, ExternalAgent, ExternalEvent, ExternalPrograms, LoopAgent, LoopLimits,
    LoopRecord, Role,
};
use crate::session::{Session, SessionOptions};
use crate::{ServiceError, clock};

/// Maximum size of the last reply and of the output of the check in the journal, in bytes.
const MAX_RECORDED_TEXT: usize = 32 * 1024;
/// How many events of another agent may wait until they are shown.
const EVENT_QUEUE: usize = 64;
/// Maximum number of tool calls of another agent in the journal.
const MAX_NAMED_CALLS: usize = 500;
/// The tag of the sessions of branches.
const TAG: &str = "race-branch";
/// The prompt after an interruption by the user.
const CONTINUE: &str = "Continue with the task.";

/// What a branch does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BranchProgress {
    /// The directory is copied.
    Copying,
    /// The agent works.
    Working {
        /// The number of turns.
        turns: u64,
        /// What it cost so far.
        cost: Cost,
        /// The tool that it used last.
        tool: Option<String>,
    },
    /// The check runs.
    Checking,
    /// It ended.
    Ended(Box<BranchEnd>),
}

/// One branch, while it works.
pub(super) struct Branch<'a> {
    pub(super) plan: &'a RacePlan,
    pub(super) copies: &'a Copies,
    pub(super) race: &'a SessionId,
    pub(super) position: usize,
    pub(super) agent: &'a LoopAgent,
    pub(super) report: &'a (dyn Fn(usize, BranchProgress) + Send + Sync),
}

/// What the agent of a branch did.
#[derive(Default)]
struct AgentWork {
    output: ActorOutput,
    turns: u64,
    problem: Option<String>,
    session_id: Option<String>,
    tool_calls: Vec<String>,
}

impl Branch<'_> {
    /// Works to the end of the branch. A failure is a result: it does not stop the others.
    pub(super) async fn work(self) -> BranchEnd {
        let mut end = BranchEnd {
            name: branch_name(self.position),
            agent: self.agent.to_string(),
            ..BranchEnd::default()
        };
        if let Err(error) = Box::pin(self.try_work(&mut end)).await {
            end.problem.get_or_insert(error.to_string());
        }
        (self.report)(self.position, BranchProgress::Ended(Box::new(end.clone())));
        end
    }

    fn report(&self, progress: BranchProgress) {
        (self.report)(self.position, progress);
    }

    async fn try_work(&self, end: &mut BranchEnd) -> Result<(), ServiceError> {
        self.report(BranchProgress::Copying);
        if matches!(self.agent, LoopAgent::External(_)) {
            // Another program cannot continue what it began, so it begins again.
            self.copies.remove(self.position)?;
        }
        let existed = self.copies.has(self.position);
        let copy = self.copies.get(self.plan, self.position).await?;
        let began = clock::now();
        self.report(BranchProgress::Working { turns: 0, cost: Cost::default(), tool: None });
        let work = match self.agent {
            LoopAgent::Lariat { model } => self.lariat(&copy, model.as_deref(), existed).await?,
            LoopAgent::External(agent) => self.external(&copy, agent).await?,
        };
        end.seconds = clock::now().since(began).as_secs_f64().max(work.output.seconds);
        end.text = bounded_text(&work.output.text, MAX_RECORDED_TEXT);
        (end.turns, end.cost, end.session_id) = (work.turns, work.output.cost, work.session_id);
        (end.problem, end.tool_calls) = (work.problem, work.tool_calls);
        // Before the check, which may write files of its own.
        let failed = |error: lariat_host::git::GitError| ServiceError::Race(error.to_string());
        let snapshot = copy.snapshots.take().await.map_err(failed)?;
        let diff = copy.snapshots.diff(&self.plan.record.snapshot, &snapshot).await.map_err(failed)?;
        (end.insertions, end.deletions) = (diff.insertions, diff.deletions);
        end.files = diff.files.len() as u64;
        end.snapshot = Some(snapshot);
        if let (Some(command), None) = (&self.plan.settings.check, &end.problem) {
            self.report(BranchProgress::Checking);
            self.check(&copy, command, end).await?;
        }
        Ok(())
    }

    fn session_id(&self) -> SessionId {
        branch_session(self.race, self.position)
    }

    async fn open(&self, copy: &BranchCopy, model: Option<&str>) -> Result<Session, ServiceError> {
        let mut place = copy.place.clone();
        if let Some(model) = model {
            place.settings.model = Some(model.to_owned());
        }
        let mut description = Description::default();
        description.title = Some(format!("Branch {} of {}", branch_name(self.position), self.race));
        description.tags = Some(vec![TAG.to_owned()]);
        let options = SessionOptions {
            budget_pool: self.plan.pool.clone(),
            workflow: Some(Workflow::of_session(self.race)),
            // Without a directory: `--continue` chooses among the sessions of a directory.
            description: Some(description),
            ..SessionOptions::default()
        };
        self.plan.service.open_hosted(&place, self.session_id(), options).await
    }

    /// Lets Lariat work, or continue what an earlier process began.
    async fn lariat(
        &self,
        copy: &BranchCopy,
        model: Option<&str>,
        existed: bool,
    ) -> Result<AgentWork, ServiceError> {
        let id = self.session_id();
        let before = self.events(&id).await?;
        if !existed && before.0 != ActorProgress::NotStarted {
            return Err(ServiceError::Race(
                "the files of the branch are gone, so it cannot continue".to_owned(),
            ));
        }
        let session = self.open(copy, model).await?;
        let mut events = session.agent.subscribe();
        let watch = async {
            let (mut turns, mut cost, mut tool) = (before.1, 0u64, None);
            while let Some(event) = events.next().await {
                match &event.event {
                    AgentEvent::TurnStart { .. } => turns += 1,
                    AgentEvent::TurnEnd { usage, .. } => cost = cost.saturating_add(usage.cost.as_nano_usd()),
                    AgentEvent::ToolExecutionStart { tool_name, .. } => tool = Some(tool_name.clone()),
                    _ => continue,
                }
                let cost = Cost::from_nano_usd(cost);
                self.report(BranchProgress::Working { turns, cost, tool: tool.clone() });
            }
            std::future::pending::<()>().await;
        };
        let agent = session.agent.clone();
        let prompt = self.plan.settings.prompt.clone();
        let work = async {
            if let Some(output) = agent.recover().await? {
                return Ok(Some(output.outcome));
            }
            Ok(match &before.0 {
                ActorProgress::NotStarted => Some(agent.run(prompt).await?.outcome),
                ActorProgress::Ended(output) if output.is_reviewable() => None,
                _ => Some(agent.run(CONTINUE).await?.outcome),
            })
        };
        let deadline = async {
            tokio::time::sleep(self.plan.settings.max_time).await;
            agent.abort();
            std::future::pending::<()>().await;
        };
        let ran: Result<Option<RunOutcome>, lariat_runtime::AgentError> = tokio::select! {
            ran = work => ran,
            () = watch => Ok(None),
            () = deadline => Ok(None),
        };
        session.close().await;
        let (progress, turns) = self.events(&id).await?;
        let (ActorProgress::Running(output) | ActorProgress::Ended(output)) = progress else {
            return match ran {
                Err(error) => Err(error.into()),
                Ok(_) => Err(ServiceError::Race("the agent did not start".to_owned())),
            };
        };
        let problem = match (&ran, &output.outcome) {
            (_, Some(RunOutcome::Completed)) => None,
            (_, Some(RunOutcome::Aborted)) => Some("it reached the time limit".to_owned()),
            (_, Some(RunOutcome::LimitReached { limit, .. })) => Some(reached(*limit).to_owned()),
            (_, Some(RunOutcome::Failed { error })) => Some(error.clone()),
            (_, Some(RunOutcome::Rejected)) => Some("its prompt was rejected".to_owned()),
            (_, Some(RunOutcome::StoppedByHook)) => Some("a hook stopped it".to_owned()),
            (_, Some(RunOutcome::Repetition)) => Some("it kept repeating itself".to_owned()),
            (_, Some(RunOutcome::ContextFull(_))) => {
                Some("its conversation does not fit the context window".to_owned())
            }
            (Err(error), _) => Some(error.to_string()),
            (Ok(_), _) => Some("it did not end".to_owned()),
        };
        Ok(AgentWork { output, turns, problem, session_id: Some(id.to_string()), tool_calls: Vec::new() })
    }

    /// How far the session of the branch came, and its number of turns.
    async fn events(&self, id: &SessionId) -> Result<(ActorProgress, u64), ServiceError> {
        let events = self.plan.service.events(id).await?;
        let is_turn =
            |event: &&lariat_core::event::Event| matches!(event.event, AgentEvent::TurnStart { .. });
        let turns = events.iter().filter(is_turn).count() as u64;
        Ok((LoopRecord::of(events.iter().map(|event| &**event)).actor, turns))
    }

    async fn external(&self, copy: &BranchCopy, agent: &ExternalAgent) -> Result<AgentWork, ServiceError> {
        let RacePlan { service, settings, record, .. } = self.plan;
        let programs = ExternalPrograms::open(service, &copy.place, &self.session_id()).await?;
        let left = |most: Cost| most.as_nano_usd().saturating_sub(record.cost().as_nano_usd());
        let limits = LoopLimits {
            time: settings.max_time,
            cost: settings.max_cost.map(|most| Cost::from_nano_usd(left(most))),
            variables: &settings.variables,
            approver: None,
        };
        let call = format!("race-{}", branch_name(self.position));
        let (events, mut happened) = mpsc::channel(EVENT_QUEUE);
        let work = programs.run(agent, Role::Actor, &settings.prompt, &call, limits, events);
        let mut tool_calls = Vec::new();
        let watching = async {
            while let Some(event) = happened.recv().await {
                if let ExternalEvent::CallBegan(call) = &event {
                    let tool = Some(call.title.clone());
                    self.report(BranchProgress::Working { turns: 0, cost: Cost::default(), tool });
                }
                tool_calls.extend(event.call_line().filter(|_| tool_calls.len() < MAX_NAMED_CALLS));
            }
        };
        let (output, ()) = tokio::join!(work, watching);
        let output = output?;
        let last = output.stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let problem =
            (output.exit_code != 0).then(|| format!("it ended with exit code {}: {last}", output.exit_code));
        Ok(AgentWork { output, problem, tool_calls, ..AgentWork::default() })
    }

    /// Runs the check in the copy.
    async fn check(&self, copy: &BranchCopy, command: &str, end: &mut BranchEnd) -> Result<(), ServiceError> {
        let failed =
            |problem: String| ServiceError::ExternalAgent(format!("the check cannot run: {problem}"));
        let session = self.plan.service.inspect_by_id(&copy.place, self.session_id()).await?;
        let shell = session.shell().ok_or_else(|| failed("the tool `bash` is off".to_owned()))?;
        shell.check(command).map_err(|problem| failed(problem.to_string()))?;
        let call = format!("race-check-{}", clock::now().as_millis());
        let stop = lariat_core::cancel::CancellationToken::new();
        let output = shell.run(&call, command, stop).await;
        session.close().await;
        let text = match output.problem {
            Some(problem) => format!("{}\n[{problem}]", output.text),
            None => output.text,
        };
        end.check_exit_code = output.exit_code;
        end.check_output = bounded_text(&text, MAX_RECORDED_TEXT);
        Ok(())
    }
}

/// Which limit ended a branch, in words.
const fn reached(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::Turns => "it reached the limit on turns",
        LimitKind::Tokens => "it reached the limit on tokens",
        LimitKind::Duration => "it reached the time limit",
        LimitKind::Cost => "it reached the cost limit",
        LimitKind::ToolCalls => "it reached the limit on tool calls",
        _ => "it reached a limit",
    }
}
