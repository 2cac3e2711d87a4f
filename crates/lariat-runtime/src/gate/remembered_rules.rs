//! Permission rules from the user's decisions that apply for longer than one tool call.
//!
//! Holds rules for the session, and stores "allow always" rules in a file. They are ordinary allow rules, so
//! a rule that denies or requires approval wins over them, and critical actions still require approval.

use std::sync::{Mutex, PoisonError};

use lariat_core::opening::SandboxOpening;
use lariat_core::permission::{ApprovalScope, PermissionDecision, PermissionRequest};
use lariat_guard::{ApprovalStore, Effect, Guard, Layer, Origin, Query, StateFileError};

pub(super) struct RememberedRules {
    project: String,
    store: Option<ApprovalStore>,
    rules: Mutex<Vec<RememberedRule>>,
}

/// A rule, and the sandbox exceptions of the commands that it allows.
struct RememberedRule {
    rule: String,
    openings: Vec<SandboxOpening>,
}

impl RememberedRules {
    pub(super) fn new(project: String) -> Self {
        Self { project, store: None, rules: Mutex::default() }
    }

    pub(super) fn with_store(mut self, store: ApprovalStore) -> Result<Self, StateFileError> {
        let stored = store.of(&self.project)?.into_iter();
        let stored = stored.map(|stored| RememberedRule { rule: stored.rule, openings: stored.openings });
        self.rules.get_mut().unwrap_or_else(PoisonError::into_inner).extend(stored);
        self.store = Some(store);
        Ok(self)
    }

    /// Records a decision. Returns true if it added a rule.
    pub(super) fn record(&self, request: &PermissionRequest, decision: &PermissionDecision) -> bool {
        let Some(scope) = decision.scope().filter(|scope| *scope != ApprovalScope::Once) else {
            return false;
        };
        let Some(remember) = &request.remember else { return false };
        let new: Vec<String> = remember.lines().map(str::to_owned).collect();
        let openings = decision.openings(request);
        if let (ApprovalScope::Always, Some(store)) = (scope, &self.store) {
            // If the rule cannot be stored, it still applies to the session: the user approved it.
            let _ = store.add(&self.project, &new, &request.summary, openings);
        }
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let before = rules.len();
        for rule in new {
            match rules.iter_mut().find(|known| known.rule == rule) {
                Some(known) => {
                    let new = openings.iter().filter(|opening| !known.openings.contains(opening));
                    let new: Vec<SandboxOpening> = new.cloned().collect();
                    known.openings.extend(new);
                }
                None => rules.push(RememberedRule { rule, openings: openings.to_vec() }),
            }
        }
        rules.len() > before
    }

    /// Returns the sandbox exceptions for a tool call: those whose rules alone allow the whole tool call.
    pub(super) fn openings(&self, query: &Query<'_>, guard: &Guard) -> Vec<SandboxOpening> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known: Vec<&SandboxOpening> = rules.iter().flat_map(|rule| &rule.openings).collect();
        known.sort();
        known.dedup();
        let granted = known.into_iter().filter(|opening| {
            let with = rules.iter().filter(|rule| rule.openings.contains(opening));
            let with: Vec<String> = with.map(|rule| rule.rule.clone()).collect();
            guard.allowed_by(&with, query)
        });
        granted.cloned().collect()
    }

    /// Returns the rules as a layer of settings.
    pub(super) fn layer(&self) -> Option<Layer> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let layer = |layer: Layer, rule: &RememberedRule| layer.with_rule(Effect::Allow, &rule.rule);
        (!rules.is_empty()).then(|| rules.iter().fold(Layer::new(Origin::flags()), layer))
    }
}
