//! Reserves shared budgets before each call and settles them afterwards.
//!
//! Each reservation is settled once, or returned when the run is over or its future is dropped.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use lariat_core::BoxFuture;
use lariat_core::budget::{Admission, BudgetLimits, BudgetRequest, BudgetScope, SpentAmounts};
use lariat_core::content::ToolCall;
use lariat_core::id::ToolCallId;
use lariat_core::run::{Input, OpId};
use lariat_core::tool::{ToolError, ToolResult};
use lariat_core::usage::Usage;
use serde_json::Value;

use super::{Driver, JobKey, JobResult};
use crate::budget::{BudgetReservation, estimate};

/// What a reservation is for.
#[derive(Clone, PartialEq, Eq)]
enum ReservationKey {
    Model(OpId),
    Tool(ToolCallId),
}

/// The reservations of a run, and the spending that is being logged.
#[derive(Default)]
pub(super) struct RunReservations {
    holds: Arc<Mutex<Vec<(ReservationKey, BudgetReservation)>>>,
    settling: Vec<BoxFuture<'static, ()>>,
}

impl RunReservations {
    fn take(&self, key: &ReservationKey) -> Option<BudgetReservation> {
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        let at = holds.iter().position(|(other, _)| other == key)?;
        Some(holds.swap_remove(at).1)
    }

    /// Continues to log what was spent.
    pub(super) fn poll(&mut self, context: &mut std::task::Context<'_>) {
        self.settling.retain_mut(|settling| settling.as_mut().poll(context).is_pending());
    }

    /// Waits until everything is logged.
    pub(super) async fn finish(self) {
        for settling in self.settling {
            settling.await;
        }
    }
}

impl Driver {
    fn reservations(&mut self) -> &mut RunReservations {
        self.reservations.get_or_insert_default()
    }

    /// Reserves shared budgets for a model call.
    pub(super) fn admit(&mut self, op: OpId, tokens: u64, candidate: usize) {
        let (ports, holds) = (Arc::clone(&self.ports), Arc::clone(&self.reservations().holds));
        let job = Box::pin(async move {
            let request = &ports.request;
            let fallback = candidate.checked_sub(1).and_then(|at| request.fallbacks.get(at));
            let model = fallback.unwrap_or(&request.model_config);
            let now = ports.clock.now();
            let admitted = ports.budget.admit(estimate(tokens, request.max_tokens, model), now).await;
            let refused = match admitted {
                Ok(hold) => {
                    holds
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((ReservationKey::Model(op), hold));
                    None
                }
                Err(standing) => Some(standing),
            };
            let statuses = ports.budget.statuses(now);
            Input::Admitted { op, admission: Admission { statuses, refused } }.into()
        });
        self.start_job(Some(JobKey::Op(op)), job);
    }

    /// Reserves shared budgets for a tool call.
    pub(super) fn admit_tool(&mut self, call: &Arc<ToolCall>, args: Option<Arc<Value>>) {
        let (ports, holds) = (Arc::clone(&self.ports), Arc::clone(&self.reservations().holds));
        let call = call.id.clone();
        let job = Box::pin(async move {
            let refused = match ports.budget.admit(SpentAmounts::tool_call(), ports.clock.now()).await {
                Ok(hold) => {
                    let key = ReservationKey::Tool(call.clone());
                    holds.lock().unwrap_or_else(PoisonError::into_inner).push((key, hold));
                    None
                }
                Err(standing) => Some(standing),
            };
            Input::ToolAdmitted { call, args, refused }.into()
        });
        self.start_job(None, job);
    }

    /// Settles a model call; `usage` is `None` if the call was not made.
    pub(super) fn settle(&mut self, op: OpId, usage: Option<Usage>) {
        let now = self.ports.clock.now();
        let Some(hold) = self.reservations().take(&ReservationKey::Model(op)) else { return };
        let Some(usage) = usage else { return };
        let mut spent = SpentAmounts::reply(&usage);
        spent.duration = hold.elapsed(now);
        let settling = hold.settle(spent);
        self.reservations().settling.extend(settling);
    }

    /// Settles a tool call.
    pub(super) fn settle_tool(&mut self, call: &ToolCallId, result: &Result<ToolResult, ToolError>) {
        let now = self.ports.clock.now();
        let Some(hold) = self
            .reservations
            .as_ref()
            .and_then(|reservations| reservations.take(&ReservationKey::Tool(call.clone())))
        else {
            return;
        };
        let mut spent = SpentAmounts::tool_call();
        // The calls of a sub-agent count their own time.
        if result.as_ref().is_ok_and(|result| result.child_loop_id.is_none()) {
            spent.duration = hold.elapsed(now);
        }
        let settling = hold.settle(spent);
        self.reservations().settling.extend(settling);
    }

    /// Drops the reservation of an abandoned model call.
    pub(super) fn drop_reservation(&mut self, op: OpId) {
        if let Some(reservations) = &self.reservations {
            drop(reservations.take(&ReservationKey::Model(op)));
        }
    }

    /// Asks the approver for a budget extension. Without an approver, the answer comes through the handle.
    pub(super) fn ask_for_more(&mut self, request: Arc<BudgetRequest>) {
        let Some(approver) = self.ports.approver.clone() else { return };
        let key = JobKey::Request(request.id);
        let job = Box::pin(async move {
            // An approver that panics allows nothing.
            let asking = std::panic::AssertUnwindSafe(async { approver.extend_budget(&request).await });
            let more: Option<BudgetLimits> = asking.catch_unwind().await.unwrap_or_default();
            let by = "approver".to_owned();
            JobResult::from(Input::BudgetAnswered { request: request.id, more, by })
        });
        self.start_job(Some(key), job);
    }

    /// Extends a shared budget.
    pub(super) fn extend_shared(&self, scope: BudgetScope, limits: &BudgetLimits) {
        self.ports.budget.extend(scope, limits);
    }
}
