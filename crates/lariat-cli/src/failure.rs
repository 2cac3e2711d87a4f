//! Turns the end of a failed run into an error for the user: provider and address, key, attempts, limit, and a hint.
//!
//! The kind of a failure decides what it says; [`ModelFailure`] reads it from the run's outcome.

use lariat_core::budget::BudgetScope;
use lariat_core::event::{LimitKind, RunOutcome};
use lariat_core::model::{FailureKind, ModelConfig, ModelFailure};
use lariat_service::LoadedProject;
use lariat_service::config::{SettingSources, Settings};
use lariat_service::models::{LOCAL_SERVERS, known_provider};
use lariat_terminal::human;

use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// The provider, model, key and settings of a run, to explain its failure.
pub(crate) struct FailureContext {
    provider: String,
    model: String,
    address: String,
    /// Where the key came from; `None` without a key.
    key: Option<String>,
    sources: SettingSources,
}

impl FailureContext {
    /// Takes the provider from `model` and the limits from the settings of `place`.
    pub(crate) fn of(env: &ProcessEnv, place: &LoadedProject, model: &ModelConfig) -> Self {
        let provider = model.provider.clone();
        let has_key = model.api_key.expose().is_some_and(|key| !key.is_empty());
        Self {
            key: has_key.then(|| key_source(env, &place.settings, &provider)),
            address: model.public_url(),
            model: model.id.clone(),
            sources: place.sources.clone(),
            provider,
        }
    }

    /// Explains a run that did not complete. `session` is its id if it was saved and can be resumed.
    pub(crate) fn explain(&self, problem: Problem, outcome: &RunOutcome, session: Option<&str>) -> Problem {
        match outcome {
            RunOutcome::Failed { error } => {
                self.model_failure(&ModelFailure::parse(error), problem.exit, session)
            }
            RunOutcome::LimitReached { limit, scope } => self.limit_problem(problem, *limit, *scope, session),
            _ => resumable(problem, session),
        }
    }

    fn model_failure(&self, failure: &ModelFailure, exit: Exit, session: Option<&str>) -> Problem {
        let provider = if self.provider.is_empty() { "the provider" } else { &self.provider };
        let message = failure.detail.message.as_str();
        let status = failure.detail.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
        let mut said = Some(message).filter(|words| !words.is_empty());
        let cause = match failure.kind {
            FailureKind::Auth if self.key.is_none() => format!("{provider} requires an API key{status}"),
            FailureKind::Auth if failure.detail.status == Some(403) => {
                format!("{provider} refused access{status}")
            }
            FailureKind::Auth => format!("{provider} rejected the API key{status}"),
            FailureKind::RateLimited => format!("{provider} is rate limiting requests or overloaded{status}"),
            FailureKind::Network if failure.detail.status.is_some() => {
                format!("{provider} failed to respond{status}")
            }
            FailureKind::Network if message.starts_with(NO_CONNECTION) => {
                said = said.and_then(|words| words.strip_prefix(NO_CONNECTION)?.strip_prefix(": "));
                format!("could not connect to {provider}")
            }
            FailureKind::Network => format!("the connection to {provider} broke"),
            FailureKind::Rejected if failure.detail.status == Some(404) => {
                format!("{provider} does not know the model {}{status}", self.model)
            }
            FailureKind::Rejected => format!("{provider} rejected the request{status}"),
            FailureKind::InvalidReply => format!("{provider} sent an invalid reply{status}"),
            FailureKind::EmptyReply => format!("{provider} sent an empty reply{status}"),
            FailureKind::ContextOverflow => {
                format!("the request does not fit the model's context window{status}")
            }
            // The model was not called, or the cause is not the provider.
            _ => return resumable(Problem::new(exit, failure.to_string()), session),
        };
        let tried = failure
            .attempts
            .map(|(attempts, time)| format!(", tried {attempts} times in {}", human::elapsed(time)));
        let mut problem = Problem::new(exit, format!("{cause}{}", tried.unwrap_or_default()));
        if !self.address.is_empty() {
            problem = problem.at(self.address.clone());
        }
        if let Some(said) = said {
            problem = problem.with("said", said);
        }
        if let (FailureKind::Auth, Some(key)) = (failure.kind, &self.key) {
            problem = problem.with("key", key.clone());
        }
        if let Some(request) = &failure.detail.request_id {
            problem = problem.with("id", format!("request {request}, for the provider's support"));
        }
        problem.hint(self.hint(failure, session))
    }

    fn hint(&self, failure: &ModelFailure, session: Option<&str>) -> String {
        let resume = |id: &str| format!("`lariat run --resume {id}`");
        let then = session.map(|id| format!("; then continue with {}", resume(id))).unwrap_or_default();
        let provider = &self.provider;
        let local = LOCAL_SERVERS.iter().find(|server| server.name == provider);
        match (failure.kind, local) {
            (FailureKind::Auth, _) => match known_provider(provider) {
                Some(known) => {
                    let variable = known.variables.first().copied().unwrap_or_default();
                    format!("set {variable} to a valid key, or run `lariat auth login {provider}`{then}")
                }
                None => format!("store a valid key with `lariat auth login {provider}`{then}"),
            },
            (FailureKind::Network, Some(server)) if failure.detail.status.is_none() => {
                format!("start {} with `{}`{then}", server.title, server.start)
            }
            (FailureKind::Rejected, _) => {
                format!("check the model with `lariat models show {provider}/{}`{then}", self.model)
            }
            (FailureKind::RateLimited | FailureKind::Network, _) => {
                let patience = match failure.asked_wait {
                    Some(wait) => format!(
                        "the provider asks to wait {}; to wait that long, run `lariat config set retry.patience {}s`",
                        human::elapsed(wait),
                        wait.as_secs() + 60
                    ),
                    None => "to retry for longer, raise `retry.attempts` and `retry.patience`".to_owned(),
                };
                match session {
                    Some(id) => format!("continue later with {}; {patience}", resume(id)),
                    None => patience,
                }
            }
            _ => match session {
                Some(id) => format!("continue with {}", resume(id)),
                None => format!("try another model; `lariat models list --provider {provider}` lists them"),
            },
        }
    }

    fn limit_problem(
        &self,
        problem: Problem,
        limit: LimitKind,
        scope: BudgetScope,
        session: Option<&str>,
    ) -> Problem {
        let Some((key, flag)) = setting(limit, scope) else { return problem };
        let set = self.sources.get(key);
        let mut problem = problem;
        if let Some(set) = &set {
            let origin = set.origin.as_ref().map_or_else(|| "default".to_owned(), ToString::to_string);
            problem = problem.with("set", format!("{key} = {}, {origin}", set.value));
        }
        let id = session.map(|id| format!(" --resume {id}")).unwrap_or_default();
        problem.hint(match flag {
            Some(flag) => format!("raise it and continue: `lariat run{id} {flag}`"),
            None => format!("raise it with `lariat config set {key} VALUE`, then `lariat run{id}`"),
        })
    }
}

/// Adds how to continue, if the session was saved.
fn resumable(problem: Problem, session: Option<&str>) -> Problem {
    match session {
        Some(id) => problem.hint(format!("continue with `lariat run --resume {id}`")),
        None => problem,
    }
}

/// The setting behind a limit, and the flag that raises it for one run.
const fn setting(limit: LimitKind, scope: BudgetScope) -> Option<(&'static str, Option<&'static str>)> {
    Some(match (scope, limit) {
        (BudgetScope::Run, LimitKind::Turns) => ("limits.turns", Some("--max-turns N")),
        (BudgetScope::Run, LimitKind::Cost) => ("limits.cost", Some("--max-cost USD")),
        (BudgetScope::Run, LimitKind::Duration) => ("limits.time", Some("--max-time TIME")),
        (BudgetScope::Run, LimitKind::Tokens) => ("limits.tokens", None),
        (BudgetScope::Run, LimitKind::ToolCalls) => ("limits.tool_calls", None),
        (BudgetScope::Session, _) => ("budget.session", None),
        (BudgetScope::Day, _) => ("budget.day", None),
        _ => return None,
    })
}

/// Where a provider's key came from. The lookup order is that of `lariat_service::models`.
fn key_source(env: &ProcessEnv, settings: &Settings, provider: &str) -> String {
    let named = settings.providers.get(provider).and_then(|provider| provider.key_env.as_deref());
    let usual = known_provider(provider).map(|known| known.variables).unwrap_or_default();
    let mut variables = named.into_iter().chain(usual.iter().copied());
    match variables.find(|name| env.variable(name).is_some()) {
        Some(name) => format!("{name}, from the environment"),
        None => "stored by `lariat auth login`".to_owned(),
    }
}

/// How the transport begins the message about a connection that it could not make.
const NO_CONNECTION: &str = "no connection";

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
