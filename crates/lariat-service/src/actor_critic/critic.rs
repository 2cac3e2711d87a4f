//! Asks the critic: Lariat in a session of its own that can only read and answers by a schema, or another program.
//!
//! The id of the session follows from the loop and the iteration, so a review that was killed continues in the same session
//! and does not pay for the same answer twice.

use lariat_core::content::joined_text;
use lariat_core::event::{Description, LimitKind, RunOutcome};
use lariat_core::id::SessionId;
use lariat_core::usage::Cost;
use lariat_guard::Mode;
use lariat_sessions::bounded_text;

use super::external::Role;
use super::{CriticDecision, LoopAgent, LoopRun, prompts};
use crate::session::{Session, SessionOptions};
use crate::{AnswerAttempts, ServiceError};

/// The tools of a critic: those that only read.
const TOOLS: &[&str] = &["glob", "list_files", "read_file", "repo_map", "search"];
/// The tag of the sessions of critics.
const TAG: &str = "critic";

/// The answer of a critic.
pub(super) struct CriticAnswer {
    pub(super) decision: CriticDecision,
    pub(super) cost: Cost,
    pub(super) session_id: Option<SessionId>,
}

impl LoopRun {
    /// Asks the critic. `None` if the cost limit of the loop is reached.
    pub(super) async fn ask_critic(
        &self,
        critic: &LoopAgent,
        number: u64,
        prompt: String,
    ) -> Result<Option<CriticAnswer>, ServiceError> {
        match critic {
            LoopAgent::Lariat { model } => self.ask_lariat(model.as_deref(), number, prompt).await,
            LoopAgent::External(agent) => {
                let Some(programs) = &self.programs else {
                    return Err(ServiceError::ExternalAgent(format!("{agent} is not ready")));
                };
                let call = format!("loop-critic-{number}");
                let output = programs.run(agent, Role::Critic, &prompt, &call, self.remaining()).await?;
                let decision = CriticDecision::last_in(&output.text).filter(|_| output.exit_code == 0);
                let decision = decision.unwrap_or_else(|| {
                    let errors = bounded_text(output.stderr.trim(), 2048);
                    no_decision(&format!(
                        "it ended with {} and wrote no decision. {errors}",
                        output.exit_code
                    ))
                });
                Ok(Some(CriticAnswer { decision, cost: Cost::default(), session_id: None }))
            }
        }
    }

    async fn ask_lariat(
        &self,
        model: Option<&str>,
        number: u64,
        prompt: String,
    ) -> Result<Option<CriticAnswer>, ServiceError> {
        let mut place = self.plan.place.clone();
        if let Some(model) = model {
            place.settings.model = Some(model.to_owned());
        }
        place.settings.mode = Some(Mode::DontAsk);
        place.settings.limits.cost = None;
        // Its prompt names many files, and is not a large task.
        place.settings.context.guidance = false;
        place.tools = Some(TOOLS.iter().map(|tool| (*tool).to_owned()).collect());
        let id = SessionId::from(format!("critic-{}-{number}", self.session.id()));
        let mut options = SessionOptions {
            schema: Some(CriticDecision::schema()),
            system_prompt: Some(prompts::CRITIC.to_owned()),
            ..SessionOptions::default()
        };
        self.plan.prepare(&mut options);
        let mut description = Description::default();
        description.title = Some(format!("Critic of iteration {number} of {}", self.session.id()));
        description.tags = Some(vec![TAG.to_owned()]);
        options.description = Some(description);
        let service = &self.plan.service;
        let session = service.open_hosted(&place, id.clone(), options).await?;
        let decision = Box::pin(answer(&session, prompt)).await;
        session.close().await;
        let Some(decision) = decision? else { return Ok(None) };
        let cost = service.archive().summary(&id).await?.usage.cost;
        Ok(Some(CriticAnswer { decision, cost, session_id: Some(id) }))
    }
}

/// Asks until the answer matches the schema, and goes on where an earlier process stopped. `None` at the cost limit.
async fn answer(session: &Session, prompt: String) -> Result<Option<CriticDecision>, ServiceError> {
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
    let Some(form) = &session.form else { return Ok(Some(no_decision("it has no schema"))) };
    let mut attempts = AnswerAttempts::default();
    loop {
        if matches!(outcome, RunOutcome::LimitReached { limit: LimitKind::Cost, .. }) {
            return Ok(None);
        }
        let problem = match form.read(&text) {
            Ok(value) => match CriticDecision::from_value(&value) {
                Some(decision) => return Ok(Some(decision)),
                None => "it has no decision".to_owned(),
            },
            Err(problem) => problem,
        };
        if !outcome.is_completed() || !attempts.use_one() {
            return Ok(Some(no_decision(&problem)));
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
