//! Turns the end of a failed run into an error for the user: provider and address, key, attempts, limit, and a hint.
//!
//! A run's end holds its failure as text ([`RunOutcome::Failed`]). [`Failure::read`] parses the forms that
//! [`ProviderError`](lariat_core::model::ProviderError) writes; the tests keep the two in step.

use std::time::Duration;

use lariat_core::budget::BudgetScope;
use lariat_core::event::{LimitKind, RunOutcome};
use lariat_core::model::ModelConfig;
use lariat_service::LoadedProject;
use lariat_service::config::{SettingSources, Settings};
use lariat_service::models::{LOCAL_SERVERS, known_provider};

use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;
use crate::screen::human;

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
            address: model.base_url.clone(),
            model: model.id.clone(),
            sources: place.sources.clone(),
            provider,
        }
    }

    /// Explains a run that did not complete. `session` is its id if it was saved and can be resumed.
    pub(crate) fn explain(&self, problem: Problem, outcome: &RunOutcome, session: Option<&str>) -> Problem {
        match outcome {
            RunOutcome::Failed { error } => self.failed(&Failure::read(error), problem.exit, session),
            RunOutcome::LimitReached { limit, scope } => self.limited(problem, *limit, *scope, session),
            _ => match session {
                Some(id) => problem.hint(format!("continue with `lariat run --resume {id}`")),
                None => problem,
            },
        }
    }

    fn failed(&self, failure: &Failure<'_>, exit: Exit, session: Option<&str>) -> Problem {
        let provider = if self.provider.is_empty() { "the provider" } else { &self.provider };
        let status = failure.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
        let mut said = Some(failure.message).filter(|words| !words.is_empty());
        let cause = match failure.kind {
            Kind::Auth if self.key.is_none() => format!("{provider} requires an API key{status}"),
            Kind::Auth if failure.status == Some(403) => format!("{provider} refused access{status}"),
            Kind::Auth => format!("{provider} rejected the API key{status}"),
            Kind::RateLimited => format!("{provider} is rate limiting requests or overloaded{status}"),
            Kind::Network if failure.status.is_some() => format!("{provider} failed to respond{status}"),
            Kind::Network if failure.message.starts_with(NO_CONNECTION) => {
                said = said.and_then(|words| words.strip_prefix(NO_CONNECTION)?.strip_prefix(": "));
                format!("could not connect to {provider}")
            }
            Kind::Network => format!("the connection to {provider} broke"),
            Kind::Api if failure.status == Some(404) => {
                format!("{provider} does not know the model {}{status}", self.model)
            }
            Kind::Api => format!("{provider} rejected the request{status}"),
            Kind::InvalidReply => format!("{provider} sent an invalid reply{status}"),
            Kind::EmptyReply => format!("{provider} sent an empty reply{status}"),
            Kind::Overflow => format!("the request does not fit the model's context window{status}"),
            Kind::Other => {
                said = None;
                failure.message.to_owned()
            }
        };
        let tried = failure.attempts.map(|(attempts, seconds)| {
            format!(", tried {attempts} times in {}", human::elapsed(Duration::from_secs(seconds)))
        });
        let mut problem = Problem::new(exit, format!("{cause}{}", tried.unwrap_or_default()));
        if failure.kind == Kind::Other {
            return match session {
                Some(id) => problem.hint(format!("continue with `lariat run --resume {id}`")),
                None => problem,
            };
        }
        if !self.address.is_empty() {
            problem = problem.at(self.address.clone());
        }
        if let Some(said) = said {
            problem = problem.with("said", said);
        }
        if let (Kind::Auth, Some(key)) = (failure.kind, &self.key) {
            problem = problem.with("key", key.clone());
        }
        if let Some(request) = failure.request {
            problem = problem.with("id", format!("request {request}, for the provider's support"));
        }
        problem.hint(self.hint(failure, session))
    }

    fn hint(&self, failure: &Failure<'_>, session: Option<&str>) -> String {
        let resume = |id: &str| format!("`lariat run --resume {id}`");
        let then = session.map(|id| format!("; then continue with {}", resume(id))).unwrap_or_default();
        let provider = &self.provider;
        let local = LOCAL_SERVERS.iter().find(|server| server.name == provider);
        match (failure.kind, local) {
            (Kind::Auth, _) => match known_provider(provider) {
                Some(known) => {
                    let variable = known.variables.first().copied().unwrap_or_default();
                    format!("set {variable} to a valid key, or run `lariat auth login {provider}`{then}")
                }
                None => format!("store a valid key with `lariat auth login {provider}`{then}"),
            },
            (Kind::Network, Some(server)) if failure.status.is_none() => {
                format!("start {} with `{}`{then}", server.title, server.start)
            }
            (Kind::Api, _) => {
                format!("check the model with `lariat models show {provider}/{}`{then}", self.model)
            }
            (Kind::RateLimited | Kind::Network, _) => {
                let patience = match failure.asks_to_wait {
                    Some(seconds) => format!(
                        "the provider asks to wait {}; to wait that long, run `lariat config set retry.patience {}s`",
                        human::elapsed(Duration::from_secs(seconds)),
                        seconds + 60
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

    fn limited(
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

/// Describes the limit that ended a run.
pub(crate) fn limit_words(limit: LimitKind, scope: BudgetScope) -> String {
    let what = match limit {
        LimitKind::Turns => "turn",
        LimitKind::Tokens => "token",
        LimitKind::Duration => "time",
        LimitKind::Cost => "cost",
        LimitKind::ToolCalls => "tool call",
        _ => "budget",
    };
    match scope {
        BudgetScope::Run => format!("the run reached its {what} limit"),
        BudgetScope::Session => format!("the session reached its {what} budget"),
        BudgetScope::Day => format!("today's {what} budget is used up"),
        _ => format!("the {what} budget of these runs is used up"),
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

/// A failed model request, parsed from its error text.
#[derive(Debug, PartialEq, Eq)]
struct Failure<'a> {
    kind: Kind,
    message: &'a str,
    status: Option<u16>,
    request: Option<&'a str>,
    /// The number of attempts, and the seconds they took.
    attempts: Option<(u32, u64)>,
    /// Seconds that the provider asks to wait, if that exceeds `retry.patience`.
    asks_to_wait: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    RateLimited,
    Network,
    Auth,
    Api,
    Overflow,
    InvalidReply,
    EmptyReply,
    Other,
}

const NO_CONNECTION: &str = "no connection";

const KINDS: &[(&str, Kind)] = &[
    ("rate limited: ", Kind::RateLimited),
    ("network: ", Kind::Network),
    ("authentication: ", Kind::Auth),
    ("provider: ", Kind::Api),
    ("context overflow: ", Kind::Overflow),
    ("invalid reply: ", Kind::InvalidReply),
    ("empty reply: ", Kind::EmptyReply),
];

impl<'a> Failure<'a> {
    fn read(text: &'a str) -> Self {
        let asked = ["; the provider asks to wait ", "; the service asks to wait "];
        let (text, asks_to_wait) = match asked.iter().find_map(|words| text.rsplit_once(words)) {
            Some((before, wait)) => (before, wait.strip_suffix(" s").and_then(|wait| wait.parse().ok())),
            None => (text, None),
        };
        let (text, attempts) =
            match text.rsplit_once("; ").and_then(|(before, tail)| Some((before, tried(tail)?))) {
                Some((before, attempts)) => (before, Some(attempts)),
                None => (text, None),
            };
        let known = KINDS.iter().find_map(|(start, kind)| Some((*kind, text.strip_prefix(start)?)));
        let (kind, text) = known.unwrap_or((Kind::Other, text));
        let (message, status, request) = detail(text);
        Self { kind, message, status, request, attempts, asks_to_wait }
    }
}

/// Parses `4 attempts in 12 s`.
fn tried(tail: &str) -> Option<(u32, u64)> {
    let (attempts, seconds) = tail.strip_suffix(" s")?.split_once(" attempts in ")?;
    Some((attempts.parse().ok()?, seconds.parse().ok()?))
}

/// Splits `slow down (HTTP 429, request req_1)` into message, status and request id.
fn detail(text: &str) -> (&str, Option<u16>, Option<&str>) {
    let parsed =
        text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")).and_then(|(message, tail)| {
            if let Some(request) = tail.strip_prefix("request ") {
                return Some((message, None, Some(request)));
            }
            let tail = tail.strip_prefix("HTTP ")?;
            let (status, request) = match tail.split_once(", request ") {
                Some((status, request)) => (status, Some(request)),
                None => (tail, None),
            };
            Some((message, Some(status.parse().ok()?), request))
        });
    parsed.unwrap_or((text, None, None))
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
