//! What approvals opened in the sandbox.
//!
//! Owns what was granted to single calls, until they ended. What was granted for longer is remembered with its rules.
//! Invariant: a call gets an opening only when an answer granted it to this call, when rules that were remembered with it
//! allow the whole call, or, for the data of the repository, when the person's own rules or mode let the call write it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lariat_core::id::ToolCallId;
use lariat_core::opening::Opening;
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_guard::{Decision, Guard, Mode, Query, Seal};
use serde_json::json;

use super::plan::seal;
use super::remembered::Remembered;

/// Grants to calls that have not ended. A call that was answered and never started makes room for others.
const MOST: usize = 256;

/// What was granted to single calls. Ids are the model's and may repeat, so a grant is for an id and a seal of the tool
/// and its arguments.
#[derive(Default)]
pub(super) struct Openings(Mutex<BTreeMap<ToolCallId, Granted>>);

struct Granted {
    seal: Seal,
    /// None until the question was answered.
    openings: Option<Vec<Opening>>,
}

impl Openings {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ToolCallId, Granted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes which call a question is about.
    pub(super) fn asked(&self, id: &ToolCallId, query: &Query<'_>) {
        let mut granted = self.lock();
        if granted.len() >= MOST {
            granted.pop_first();
        }
        granted.insert(id.clone(), Granted { seal: seal(query.tool, query.arguments), openings: None });
    }

    /// Takes an answer in.
    pub(super) fn answered(&self, request: &PermissionRequest, decision: &PermissionDecision) {
        let mut granted = self.lock();
        if decision.scope().is_none() {
            granted.remove(&request.tool_call_id);
        } else if let Some(asked) = granted.get_mut(&request.tool_call_id) {
            asked.openings = Some(decision.openings(request).to_vec());
        }
    }

    /// What is open for a call that starts.
    pub(super) fn of(
        &self,
        id: &ToolCallId,
        query: &Query<'_>,
        guard: &Guard,
        remembered: &Remembered,
        approved: bool,
    ) -> Vec<Opening> {
        let seal = seal(query.tool, query.arguments);
        let of_call = |granted: &&Granted| granted.seal == seal;
        let granted = self.lock().get(id).filter(of_call).and_then(|granted| granted.openings.clone());
        if let Some(granted) = granted {
            return granted;
        }
        let mut openings = remembered.openings(query, guard);
        let needs = guard.needs(query);
        if approved {
            // The person saw the call with its arguments in a plan.
            openings.extend(Guard::requested(query).unwrap_or_default());
            openings.extend(needs);
        } else if needs.contains(&Opening::Git)
            && (query.mode == Mode::Bypass || guard.allowed_by_rules(query))
        {
            openings.push(Opening::Git);
        }
        openings.sort();
        openings.dedup();
        openings
    }

    /// Forgets a call that ended.
    pub(super) fn end(&self, id: &ToolCallId) {
        self.lock().remove(id);
    }
}

/// Why a call may not be given what it asks for: a rule denies writing there.
pub(super) fn denied(openings: &[Opening], guard: &Guard) -> Option<String> {
    openings.iter().find_map(|opening| {
        let Opening::Write(path) = opening else { return None };
        let arguments = json!({ "path": path });
        let judgement =
            guard.judge(&Query::new("write_file", &arguments, lariat_core::tool::ToolEffects::ALL));
        (judgement.verdict == Decision::Deny).then(|| judgement.explain())
    })
}

/// What a yes would open, in words for the person.
pub(super) fn words(openings: &[Opening]) -> String {
    let listed: Vec<String> = openings.iter().map(ToString::to_string).collect();
    format!("Approving lets it: {}.", listed.join("; "))
}
