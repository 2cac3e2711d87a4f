//! The sandbox exceptions that approvals granted.
//!
//! Holds exceptions of single tool calls until they end; exceptions for longer are remembered with their
//! rules. Invariant: a tool call gets an exception only if a decision granted it to this tool call, if rules
//! remembered with the exception allow the whole tool call, or, for the repository's data, if the user's own
//! rules or mode let the tool call write it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lariat_core::id::ToolCallId;
use lariat_core::opening::SandboxOpening;
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_guard::{ApprovalHash, Guard, GuardDecision, Mode, Query};
use serde_json::json;

use super::plan::hash_call;
use super::remembered_rules::RememberedRules;

/// Maximum number of grants to tool calls that have not ended. Grants of approved tool calls that never
/// started are dropped first.
const MAX_GRANTS: usize = 256;

/// Exceptions granted to single tool calls. The model chooses the ids and may repeat them, so a grant is for
/// an id and a seal of the tool and its arguments.
#[derive(Default)]
pub(super) struct SandboxGrants(Mutex<BTreeMap<ToolCallId, CallGrant>>);

struct CallGrant {
    seal: ApprovalHash,
    /// `None` until the approval request is answered.
    openings: Option<Vec<SandboxOpening>>,
}

impl SandboxGrants {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ToolCallId, CallGrant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers which tool call an approval request is about.
    pub(super) fn request(&self, id: &ToolCallId, query: &Query<'_>) {
        let mut granted = self.lock();
        if granted.len() >= MAX_GRANTS {
            granted.pop_first();
        }
        granted
            .insert(id.clone(), CallGrant { seal: hash_call(query.tool, query.arguments), openings: None });
    }

    /// Records a decision.
    pub(super) fn record_decision(&self, request: &PermissionRequest, decision: &PermissionDecision) {
        let mut granted = self.lock();
        if decision.scope().is_none() {
            granted.remove(&request.tool_call_id);
        } else if let Some(grant) = granted.get_mut(&request.tool_call_id) {
            grant.openings = Some(decision.openings(request).to_vec());
        }
    }

    /// Returns the exceptions for a tool call that starts.
    pub(super) fn for_call(
        &self,
        id: &ToolCallId,
        query: &Query<'_>,
        guard: &Guard,
        remembered_rules: &RememberedRules,
        approved: bool,
    ) -> Vec<SandboxOpening> {
        let seal = hash_call(query.tool, query.arguments);
        let is_for_call = |granted: &&CallGrant| granted.seal == seal;
        let granted = self.lock().get(id).filter(is_for_call).and_then(|granted| granted.openings.clone());
        if let Some(granted) = granted {
            return granted;
        }
        let mut openings = remembered_rules.openings(query, guard);
        let needs = guard.needed_openings(query);
        if approved {
            // The user saw the tool call with its arguments in a plan.
            openings.extend(Guard::requested_openings(query).unwrap_or_default());
            openings.extend(needs);
        } else if needs.contains(&SandboxOpening::Git)
            && (query.mode == Mode::Bypass || guard.allowed_by_rules(query))
        {
            openings.push(SandboxOpening::Git);
        }
        openings.sort();
        openings.dedup();
        openings
    }

    /// Drops the grant of a tool call that ended.
    pub(super) fn end(&self, id: &ToolCallId) {
        self.lock().remove(id);
    }
}

/// Returns why requested exceptions must be denied: a rule denies writing to a path.
pub(super) fn denial(openings: &[SandboxOpening], guard: &Guard) -> Option<String> {
    openings.iter().find_map(|opening| {
        let SandboxOpening::Write(path) = opening else { return None };
        let arguments = json!({ "path": path });
        let judgement =
            guard.judge(&Query::new("write_file", &arguments, lariat_core::tool::ToolEffects::ALL));
        (judgement.verdict == GuardDecision::Deny).then(|| judgement.explain())
    })
}

/// Describes to the user what an approval would grant.
pub(super) fn describe(openings: &[SandboxOpening]) -> String {
    let listed: Vec<String> = openings.iter().map(ToString::to_string).collect();
    format!("Approving lets it: {}.", listed.join("; "))
}
