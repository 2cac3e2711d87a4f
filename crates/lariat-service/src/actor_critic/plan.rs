//! Resolves the agents and the limits of a loop, before its session is open.

use lariat_core::budget::BudgetLimits;
use lariat_core::id::SessionId;
use lariat_core::model::ModelConfig;
use lariat_core::usage::Cost;
use lariat_runtime::trace::Workflow;
use lariat_runtime::{Agent, BudgetPool, new_session_id};

use super::{DEFAULT_COST_USD, LoopAgent, LoopRecord, LoopSettings};
use crate::models::Models;
use crate::session::SessionOptions;
use crate::user_shell::SessionShell;
use crate::{HostedSession, LoadedProject, LocalService, ServiceError, Session, temporary};

/// A loop whose agents and limits are known, before its session is open.
pub struct LoopPlan {
    pub(super) service: LocalService,
    pub(super) place: LoadedProject,
    pub(super) record: LoopRecord,
    pub(super) settings: LoopSettings,
    pub(super) pool: Option<BudgetPool>,
    /// The session, if Lariat is the actor.
    session_id: SessionId,
    pub(super) models: (Option<String>, Option<String>),
    /// Notes for the user.
    pub notices: Vec<String>,
}

/// The session of a loop.
pub enum LoopSession {
    /// Lariat is the actor.
    Hosted(HostedSession),
    /// Another program is the actor; the session is only its record.
    Recorded(Box<Session>),
}

impl LoopPlan {
    /// Plans a new loop in a directory. Limits that the settings of the loop leave open come from those of the directory.
    ///
    /// # Errors
    /// If a model is unknown or has no key.
    pub fn new(
        service: &LocalService,
        place: &LoadedProject,
        mut settings: LoopSettings,
    ) -> Result<Self, ServiceError> {
        let limits = &place.settings.limits;
        settings.max_time = limits.time.unwrap_or(settings.max_time);
        settings.max_cost = settings.max_cost.or(limits.cost).or(place.settings.budget.session);
        Self::with(service, place, settings, LoopRecord::default(), new_session_id())
    }

    /// Plans to continue a loop. `limits` of the settings replace those of the record where the user gives new ones.
    ///
    /// # Errors
    /// If the session is not a loop, or the loop ended.
    pub async fn resume(
        service: &LocalService,
        place: &LoadedProject,
        session_id: &SessionId,
        change: impl FnOnce(&mut LoopSettings),
    ) -> Result<Self, ServiceError> {
        let events = service.events(session_id).await?;
        let record = LoopRecord::of(events.iter().map(|event| &**event));
        let mut settings =
            record.settings.clone().ok_or_else(|| ServiceError::NotALoop(session_id.to_string()))?;
        if record.end.is_some() {
            // A kill right after the end was recorded leaves them behind.
            let folders = service.folders();
            temporary::remove_loop_snapshots(folders, session_id.as_str()).map_err(|error| {
                ServiceError::directory(folders.loop_snapshots(session_id.as_str()), error)
            })?;
            return Err(ServiceError::LoopEnded(session_id.to_string()));
        }
        change(&mut settings);
        Self::with(service, place, settings, record, session_id.clone())
    }

    fn with(
        service: &LocalService,
        place: &LoadedProject,
        mut settings: LoopSettings,
        record: LoopRecord,
        session_id: SessionId,
    ) -> Result<Self, ServiceError> {
        let agents = [&settings.actor, &settings.critic];
        let notices = limit_cost("loop", service, place, &agents, &mut settings.max_cost)?;
        let [actor, critic] = agents.map(|agent| model_name(service, place, agent));
        let names = (actor?, critic?);
        let pool = pool(settings.max_cost, record.cost());
        let (service, place) = (service.clone(), place.clone());
        Ok(Self { service, place, record, settings, pool, session_id, models: names, notices })
    }

    /// What the loop is asked to do.
    pub const fn settings(&self) -> &LoopSettings {
        &self.settings
    }

    /// Whether Lariat is the actor, so that the session must be hosted.
    pub const fn is_hosted(&self) -> bool {
        self.settings.actor.is_lariat()
    }

    /// The directory with the model of the actor, to open the session of the loop in.
    pub fn place(&self) -> LoadedProject {
        let mut place = self.place.clone();
        if let LoopAgent::Lariat { model: Some(model) } = &self.settings.actor {
            place.settings.model = Some(model.clone());
        }
        // The loop shares one limit among all its runs.
        place.settings.limits.cost = None;
        place
    }

    /// Adds what the session of the loop needs to its options.
    pub fn prepare(&self, options: &mut SessionOptions) {
        options.budget_pool.clone_from(&self.pool);
        options.new_id = Some(self.session_id.clone());
        options.workflow = Some(Workflow::of_session(&self.session_id));
    }
}

/// The model of an agent, with its provider.
fn model_name(
    service: &LocalService,
    place: &LoadedProject,
    agent: &LoopAgent,
) -> Result<Option<String>, ServiceError> {
    match lariat_model(service, place, agent)? {
        Some(model) => Ok(Some(format!("{}/{}", model.provider, model.id))),
        None => Ok(agent.model().map(str::to_owned)),
    }
}

/// The model of an agent that is Lariat.
fn lariat_model(
    service: &LocalService,
    place: &LoadedProject,
    agent: &LoopAgent,
) -> Result<Option<ModelConfig>, ServiceError> {
    let keys = service.keys();
    let models = Models::new(&place.settings, &*keys).with_catalogue(&place.catalogue);
    Ok(match agent {
        LoopAgent::Lariat { model: Some(name) } => Some(models.find(name)?),
        LoopAgent::Lariat { model: None } => Some(models.selected_model()?),
        LoopAgent::External(_) => None,
    })
}

/// Sets the default limit on the cost of agents that work together, if all prices are known. Returns what the user should know
/// about the cost. `what` names the agents together.
///
/// # Errors
/// If a model is unknown or has no key.
pub(crate) fn limit_cost(
    what: &str,
    service: &LocalService,
    place: &LoadedProject,
    agents: &[&LoopAgent],
    limit: &mut Option<Cost>,
) -> Result<Vec<String>, ServiceError> {
    let mut unpriced = None;
    for agent in agents {
        let model = lariat_model(service, place, agent)?;
        unpriced = model.filter(|model| model.cost.is_none()).map(|model| model.id).or(unpriced);
    }
    let mut notices = Vec::new();
    match (unpriced, *limit) {
        (Some(model), None) => {
            notices.push(format!("the {what} has no cost limit, because the price of `{model}` is unknown"));
        }
        (None, None) => *limit = Some(Cost::from_usd(DEFAULT_COST_USD)),
        _ => {}
    }
    if !agents.iter().all(|agent| agent.is_lariat()) {
        notices.push("Lariat knows what other agents cost only if they report it; the time limit applies to all of them".to_owned());
    }
    Ok(notices)
}

/// The budget that agents share, after some of it was spent.
pub(crate) fn pool(limit: Option<Cost>, spent: Cost) -> Option<BudgetPool> {
    let mut limits = BudgetLimits::none();
    let left = limit?.as_nano_usd().saturating_sub(spent.as_nano_usd());
    limits.cost = Some(Cost::from_nano_usd(left));
    Some(BudgetPool::new(limits))
}

impl LoopSession {
    pub(super) fn agent(&self) -> Agent {
        match self {
            Self::Hosted(session) => session.agent(),
            Self::Recorded(session) => session.agent.clone(),
        }
    }

    pub(super) fn shell(&self) -> Option<SessionShell> {
        match self {
            Self::Hosted(session) => session.shell(),
            Self::Recorded(session) => session.shell(),
        }
    }

    /// The id of the session.
    pub fn id(&self) -> SessionId {
        match self {
            Self::Hosted(session) => session.id().clone(),
            Self::Recorded(session) => session.id(),
        }
    }
}
