//! Computes what loops achieved from their records.

use lariat_core::archive::ListQuery;
use lariat_core::id::SessionId;
use lariat_core::time::Timestamp;
use lariat_core::usage::Cost;
use serde::Serialize;

use super::record::{LoopOutcome, LoopRecord};
use super::{LOOP_TAG, LoopIteration};
use crate::{LocalService, ServiceError};

/// A loop in a list of metrics.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MeasuredLoop {
    /// The session.
    pub session_id: SessionId,
    /// When it began.
    pub at: Timestamp,
    /// Its task.
    pub prompt: String,
    /// How it ended; `None` if it can still continue.
    pub outcome: Option<LoopOutcome>,
    /// Its iterations.
    pub iterations: Vec<LoopIteration>,
}

/// What many loops achieved. Rates are from 0 to 1, and `None` if there is nothing to divide by.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LoopMetrics {
    /// All loops.
    pub loops: u64,
    /// Loops that ended.
    pub ended: u64,
    /// Loops whose task is done, of those that ended.
    pub success_rate: Option<f64>,
    /// Loops whose task was done after one iteration, of those that ended.
    pub first_try_rate: Option<f64>,
    /// All iterations.
    pub iterations: u64,
    /// Iterations per loop that ended.
    pub iterations_per_loop: Option<f64>,
    /// Iterations that changed no file since the one before, or belong to a loop that ended without success.
    pub wasted_iterations: u64,
    /// Their share of all iterations.
    pub waste_rate: Option<f64>,
    /// Iterations that the critic approved (`DONE`), of all.
    pub approval_rate: Option<f64>,
    /// Seconds per iteration.
    pub seconds_per_iteration: Option<f64>,
    /// Cost per iteration in US dollars, as far as Lariat knows.
    pub cost_usd_per_iteration: Option<f64>,
    /// The cost of all in US dollars, as far as Lariat knows.
    pub cost_usd: f64,
    /// How many loops needed how many iterations to success, from 1.
    pub iterations_to_success: Vec<u64>,
}

impl MeasuredLoop {
    /// Reads the loops of a directory, or all, newest first.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn list(service: &LocalService, directory: Option<String>) -> Result<Vec<Self>, ServiceError> {
        let mut query = ListQuery::default();
        (query.cwd, query.tag) = (directory, Some(LOOP_TAG.to_owned()));
        let mut loops = Vec::new();
        for summary in service.archive().list(&query).await? {
            let events = service.events(&summary.session_id).await?;
            let record = LoopRecord::of(events.iter().map(|event| &**event));
            let Some(settings) = record.settings else { continue };
            loops.push(Self {
                session_id: summary.session_id,
                at: summary.created_at,
                prompt: settings.prompt,
                outcome: record.end.map(|end| end.outcome),
                iterations: record.iterations,
            });
        }
        Ok(loops)
    }

    fn is_success(&self) -> bool {
        self.outcome == Some(LoopOutcome::Success)
    }

    /// What the iterations cost, as far as Lariat knows.
    pub fn cost(&self) -> Cost {
        let costs = self.iterations.iter().map(|iteration| iteration.cost.as_nano_usd());
        Cost::from_nano_usd(costs.fold(0, u64::saturating_add))
    }

    /// Iterations that changed nothing, or all of a loop that ended without success.
    fn wasted(&self) -> u64 {
        let is_lost = self.outcome.is_some() && !self.is_success();
        let wasted = |iteration: &&LoopIteration| is_lost || iteration.is_unchanged;
        self.iterations.iter().filter(wasted).count() as u64
    }
}

impl LoopMetrics {
    /// Computes the metrics of loops.
    pub fn of(loops: &[MeasuredLoop]) -> Self {
        let ended: Vec<&MeasuredLoop> = loops.iter().filter(|one| one.outcome.is_some()).collect();
        let successes: Vec<&&MeasuredLoop> = ended.iter().filter(|one| one.is_success()).collect();
        let first = successes.iter().filter(|one| one.iterations.len() == 1).count();
        let all: Vec<&LoopIteration> = loops.iter().flat_map(|one| &one.iterations).collect();
        let approved = all.iter().filter(|iteration| iteration.decision == "DONE").count();
        let of_ended: usize = ended.iter().map(|one| one.iterations.len()).sum();
        let wasted: u64 = loops.iter().map(MeasuredLoop::wasted).sum();
        let seconds: f64 = all.iter().map(|iteration| iteration.seconds).sum();
        let cost: u64 = loops.iter().map(|one| one.cost().as_nano_usd()).fold(0, u64::saturating_add);
        let cost = Cost::from_nano_usd(cost).as_usd();
        let mut to_success = Vec::new();
        for needed in successes.iter().map(|one| one.iterations.len()).filter(|needed| *needed > 0) {
            to_success.resize(to_success.len().max(needed), 0);
            if let Some(count) = to_success.get_mut(needed - 1) {
                *count += 1;
            }
        }
        let rate = |part: f64, whole: usize| (whole > 0).then(|| part / whole as f64);
        Self {
            loops: loops.len() as u64,
            ended: ended.len() as u64,
            success_rate: rate(successes.len() as f64, ended.len()),
            first_try_rate: rate(first as f64, ended.len()),
            iterations: all.len() as u64,
            iterations_per_loop: rate(of_ended as f64, ended.len()),
            wasted_iterations: wasted,
            waste_rate: rate(wasted as f64, all.len()),
            approval_rate: rate(approved as f64, all.len()),
            seconds_per_iteration: rate(seconds, all.len()),
            cost_usd_per_iteration: rate(cost, all.len()),
            cost_usd: cost,
            iterations_to_success: to_success,
        }
    }
}
