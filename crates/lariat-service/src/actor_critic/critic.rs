//! Asks the critic: Lariat in a session of its own that can only read and answers by a schema, or another program.
//!
//! The id of the session follows from the loop and the iteration, so a review that was killed continues in the same session
//! and does not pay for the same answer twice.

use lariat_core::content::joined_text;
use lariat_core::event::{Description, LimitKind, RunOutcome};
use lariat_core::id::SessionId;
use lariat_core::usage::Cost;
use lariat_guard::Mode;
use lariat_runtime::BudgetPool;
use lariat_runtime::trace::Workflow;
use lariat_sessions::bounded_text;
use serde_json::Value;
use tokio::sync::mpsc;

use super::external::Role;
use super::run::{EVENT_QUEUE, ExternalWatch, MAX_NAMED_CALLS};
use super::{CriticDecision, LoopAgent, LoopPlan, LoopRun, prompts};
use crate::session::{Session, SessionOptions};
use crate::{AnswerAttempts, LoadedProject, LocalService, ServiceError};

/// The tools of a critic: those that only read.
const TOOLS: &[&str] = &["glob", "list_files", "read_file", "repo_map", "search"];
/// The tag of the sessions of critics.
const TAG: &str = "critic";

/// The answer of a critic.
pub(super) struct CriticAnswer {
    pub(super) decision: CriticDecision,
    pub(super) cost: Cost,
    pub(super) session_id: Option<SessionId>,
    /// The tool calls of another agent, each with its status.
    pub(super) calls: Vec<String>,
}

impl LoopRun {
    /// Asks the critic. `None` if the cost limit of the loop is reached.
    pub(super) async fn ask_critic(
        &self,
        critic: &LoopAgent,
        number: u64,
        prompt: String,
        watch: ExternalWatch<'_>,
    ) -> Result<Option<CriticAnswer>, ServiceError> {
        match critic {
            LoopAgent::Lariat { model } => self.ask_lariat(model.as_deref(), number, prompt).await,
            LoopAgent::External(agent) => {
                let Some(programs) = &self.programs else {
                    return Err(ServiceError::ExternalAgent(format!("{agent} is not ready")));
                };
                let call = format!("loop-critic-{number}");
                let (events, mut happened) = mpsc::channel(EVENT_QUEUE);
                let work = programs.run(agent, Role::Critic, &prompt, &call, self.limits(), events);
                let mut calls = Vec::new();
                let watching = async {
                    while let Some(event) = happened.recv().await {
                        (watch.report)(&event);
                        calls.extend(event.call_line().filter(|_| calls.len() < MAX_NAMED_CALLS));
                    }
                };
                let (output, ()) = tokio::join!(work, watching);
                let output = output?;
                let decision = CriticDecision::last_in(&output.text).filter(|_| output.exit_code == 0);
                let decision = decision.unwrap_or_else(|| {
                    let errors = bounded_text(output.stderr.trim(), 2048);
                    no_decision(&format!(
                        "it ended with {} and wrote no decision. {errors}",
                        output.exit_code
                    ))
                });
                Ok(Some(CriticAnswer { decision, cost: output.cost, session_id: None, calls }))
            }
        }
    }

    async fn ask_lariat(
        &self,
        model: Option<&str>,
        number: u64,
        prompt: String,
    ) -> Result<Option<CriticAnswer>, ServiceError> {
        let LoopPlan { service, place, pool, .. } = &self.plan;
        // Lists show the first 8 characters of an id, so the number and the start of the loop's id come first.
        let id = SessionId::from(format!("c{number}-{}", self.session.id()));
        let reading = ReadingSession {
            id: id.clone(),
            model,
            title: format!("Critic of iteration {number} of {}", self.session.id()),
            tag: TAG,
            system_prompt: prompts::CRITIC,
            schema: CriticDecision::schema(),
            pool: pool.as_ref(),
            workflow: Workflow::of_session(&self.session.id()),
        };
        let answer = reading.ask(service, place, prompt, CriticDecision::from_value).await?;
        let decision = match answer {
            Answer::Value(decision) => decision,
            Answer::Invalid(problem) => no_decision(&problem),
            Answer::CostLimit => return Ok(None),
        };
        let cost = service.archive().summary(&id).await?.usage.cost;
        Ok(Some(CriticAnswer { decision, cost, session_id: Some(id), calls: Vec::new() }))
    }
}

/// A session of Lariat that only reads, and answers one question by a schema.
pub(crate) struct ReadingSession<'a> {
    pub(crate) id: SessionId,
    /// The model; `None` for the model of the settings.
    pub(crate) model: Option<&'a str>,
    pub(crate) title: String,
    pub(crate) tag: &'a str,
    pub(crate) system_prompt: &'a str,
    pub(crate) schema: Value,
    pub(crate) pool: Option<&'a BudgetPool>,
    /// The span that its run belongs to.
    pub(crate) workflow: Workflow,
}

/// The answer to a question with a schema.
pub(crate) enum Answer<T> {
    Value(T),
    /// No attempt matched the schema, for this reason.
    Invalid(String),
    /// The cost limit is reached.
    CostLimit,
}

impl ReadingSession<'_> {
    /// Asks the question, or continues where an earlier process stopped.
    pub(crate) async fn ask<T>(
        self,
        service: &LocalService,
        place: &LoadedProject,
        prompt: String,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Answer<T>, ServiceError> {
        let mut place = place.clone();
        if let Some(model) = self.model {
            place.settings.model = Some(model.to_owned());
        }
        place.settings.mode = Some(Mode::DontAsk);
        place.settings.limits.cost = None;
        // Its prompt names many files, and is not a large task.
        place.settings.context.guidance = false;
        place.tools = Some(TOOLS.iter().map(|tool| (*tool).to_owned()).collect());
        // Without a directory: `--continue` and `past_sessions` choose among the sessions of the directory.
        let mut description = Description::default();
        description.title = Some(self.title);
        description.tags = Some(vec![self.tag.to_owned()]);
        let options = SessionOptions {
            schema: Some(self.schema),
            system_prompt: Some(self.system_prompt.to_owned()),
            description: Some(description),
            budget_pool: self.pool.cloned(),
            workflow: Some(self.workflow),
            ..SessionOptions::default()
        };
        let session = service.open_hosted(&place, self.id, options).await?;
        let answer = Box::pin(answer(&session, prompt, read)).await;
        session.close().await;
        answer
    }
}

/// Asks until the answer matches the schema, and continues where an earlier process stopped.
async fn answer<T>(
    session: &Session,
    prompt: String,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Answer<T>, ServiceError> {
    let agent = &session.agent;
    let recovered = agent.recover().await?;
    let earlier = agent.messages().iter().rev().find_map(|message| {
        message.as_assistant().map(|reply| joined_text(&reply.content)).filter(|text| !text.is_empty())
    });
    let (mut text, mut outcome) = match (recovered, earlier) {
        (Some(output), _) => (output.text, output.outcome),
        (None, Some(text)) => (text, RunOutcome::Completed),
        (None, None) => {
            let output = agent.run(prompt).await?;
            (output.text, output.outcome)
        }
    };
    let Some(form) = &session.form else { return Ok(Answer::Invalid("it has no schema".to_owned())) };
    let mut attempts = AnswerAttempts::default();
    loop {
        if matches!(outcome, RunOutcome::LimitReached { limit: LimitKind::Cost, .. }) {
            return Ok(Answer::CostLimit);
        }
        let problem = match form.read(&text) {
            Ok(value) => match read(&value) {
                Some(value) => return Ok(Answer::Value(value)),
                None => "it has no decision".to_owned(),
            },
            Err(problem) => problem,
        };
        if !outcome.is_completed() || !attempts.use_one() {
            return Ok(Answer::Invalid(problem));
        }
        let output = agent.run(form.retry_message(&problem)).await?;
        (text, outcome) = (output.text, output.outcome);
    }
}

/// A critic without a valid decision stops nothing: the actor checks its work again.
fn no_decision(problem: &str) -> CriticDecision {
    CriticDecision::Error {
        recovery: format!(
            "The critic gave no valid decision: {problem}\nCompare your work with the task again, fix what is missing, and finish."
        ),
    }
}
