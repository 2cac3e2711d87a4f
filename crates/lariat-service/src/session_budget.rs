//! Reports what a session may spend and has spent. Needs no model and changes nothing.

use lariat_core::budget::{BudgetLimits, DayStart, SpendingLog as _, SpentAmounts};
use lariat_core::clock::Clock as _;
use lariat_core::id::SessionId;
use lariat_core::session::SessionFold;
use lariat_runtime::system::SystemClock;

use crate::assembly::{limits, money};
use crate::local::SpendingFiles;
use crate::{LoadedProject, LocalService, ServiceError};

/// The limits of a session and what was spent.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BudgetReport {
    /// What the session spent, according to its journal.
    pub spent: SpentAmounts,
    /// The limits of the session, including extensions.
    pub session: BudgetLimits,
    /// The extensions of the session's limits.
    pub extended_by: BudgetLimits,
    /// The limits of the next run.
    pub run: BudgetLimits,
    /// The limits of a day, over all sessions.
    pub day: BudgetLimits,
    /// What was spent today (UTC), over all sessions.
    pub spent_today: SpentAmounts,
}

impl LocalService {
    /// Reports the limits that the settings set for a session, and what was spent.
    ///
    /// # Errors
    /// If the journal or the spending log cannot be read.
    pub async fn budget(
        &self,
        place: &LoadedProject,
        session_id: &SessionId,
    ) -> Result<BudgetReport, ServiceError> {
        let fold = SessionFold::of(&self.events(session_id).await?);
        let memory = fold.memory();
        let extended_by = *memory.budget().more();
        let folder = self.folders().spending();
        let today = DayStart::UTC.day(SystemClock.now());
        let log = SpendingFiles::open(&folder).map_err(|error| ServiceError::folder(&folder, error))?;
        let spent_today = log.total(today).await.map_err(|error| ServiceError::folder(&folder, error))?;
        Ok(BudgetReport {
            spent: memory.ledger().spent(),
            session: money(place.settings.budget.session).extended_by(&extended_by),
            extended_by,
            run: BudgetLimits::from(&limits(&place.settings)),
            day: money(place.settings.budget.day),
            spent_today,
        })
    }
}
