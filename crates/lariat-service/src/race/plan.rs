//! Resolves the agents, the limits and the directory of a race, before its session is open.

use std::path::PathBuf;

use lariat_core::id::SessionId;
use lariat_core::store::StoreError;
use lariat_core::usage::Cost;
use lariat_guard::Mode;
use lariat_runtime::BudgetPool;

use super::record::RaceRecord;
use super::settings::{RaceJudge, RaceSettings, branch_name, branch_session, judge_session};
use crate::actor_critic::{LoopAgent, limit_cost, pool};
use crate::{LoadOptions, LoadedProject, LocalService, ServiceError};

/// A race whose agents and limits are known, before its session is open.
pub struct RacePlan {
    pub(super) service: LocalService,
    /// The root of the project, which is what branches copy.
    pub(super) place: LoadedProject,
    /// Where branches work, relative to the root.
    pub(super) subdirectory: PathBuf,
    /// How the place was loaded. Copies are loaded the same way.
    pub(super) options: LoadOptions,
    pub(super) record: RaceRecord,
    pub(super) settings: RaceSettings,
    pub(super) pool: Option<BudgetPool>,
    /// Notes for the user.
    pub notices: Vec<String>,
}

impl RacePlan {
    /// Plans a new race in a directory that was loaded with these options. Limits that the settings of the race leave open
    /// come from those of the directory.
    ///
    /// # Errors
    /// If a model is unknown or has no key, or the root of the project cannot be loaded.
    pub fn new(
        service: &LocalService,
        place: &LoadedProject,
        options: &LoadOptions,
        mut settings: RaceSettings,
    ) -> Result<Self, ServiceError> {
        let limits = &place.settings.limits;
        settings.max_time = limits.time.unwrap_or(settings.max_time);
        settings.max_cost = settings.max_cost.or(limits.cost).or(place.settings.budget.session);
        Self::with(service, place, options, settings, RaceRecord::default(), Cost::default())
    }

    /// Plans to continue a race, or to take another of its branches.
    ///
    /// # Errors
    /// If the session is not a race.
    pub async fn resume(
        service: &LocalService,
        place: &LoadedProject,
        options: &LoadOptions,
        session_id: &SessionId,
    ) -> Result<Self, ServiceError> {
        let events = service.events(session_id).await?;
        let record = RaceRecord::of(events.iter().map(|event| &**event));
        let settings =
            record.settings.clone().ok_or_else(|| ServiceError::NotARace(session_id.to_string()))?;
        let mut spent = record.cost().as_nano_usd();
        // What branches and the judge spent before they were interrupted.
        let open = |position: &usize| !record.branches.contains_key(&branch_name(*position));
        let branches = (0..settings.branches.len()).filter(open);
        let judge = record.selection.is_none().then(|| judge_session(session_id));
        for id in branches.map(|position| branch_session(session_id, position)).chain(judge) {
            match service.archive().summary(&id).await {
                Ok(summary) => spent = spent.saturating_add(summary.usage.cost.as_nano_usd()),
                Err(StoreError::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Self::with(service, place, options, settings, record, Cost::from_nano_usd(spent))
    }

    fn with(
        service: &LocalService,
        place: &LoadedProject,
        options: &LoadOptions,
        mut settings: RaceSettings,
        record: RaceRecord,
        spent: Cost,
    ) -> Result<Self, ServiceError> {
        let judge = match &settings.judge {
            RaceJudge::Model(model) => Some(LoopAgent::Lariat { model: model.clone() }),
            RaceJudge::SmallestDiff => None,
        };
        let agents: Vec<&LoopAgent> = settings.branches.iter().chain(&judge).collect();
        let notices = limit_cost("race", service, place, &agents, &mut settings.max_cost)?;
        let pool = pool(settings.max_cost, spent);
        let territory = &place.opened.territory;
        let subdirectory = territory.directory().to_owned();
        let mut options = options.clone();
        options.directory = territory.root().to_owned();
        let mut place = if subdirectory.as_os_str().is_empty() {
            place.clone()
        } else {
            LoadedProject::load(&options, service.folders())?
        };
        // The race shares one limit among all branches.
        place.settings.limits.cost = None;
        let service = service.clone();
        Ok(Self { service, place, subdirectory, options, record, settings, pool, notices })
    }

    /// What the race is asked to do.
    pub const fn settings(&self) -> &RaceSettings {
        &self.settings
    }

    /// The root of the project, to open the session of the race in.
    pub const fn place(&self) -> &LoadedProject {
        &self.place
    }

    /// The mode of the branches: no user is asked, so what the sandbox confines runs, unless the user chose a mode.
    pub(super) fn mode(&self) -> Mode {
        self.place.settings.mode.filter(|mode| *mode != Mode::Default).unwrap_or(Mode::Auto)
    }
}
