//! What a person answered for longer than once.
//!
//! Owns the rules that were added by answers: for the session, and in a book for always. They are ordinary allow rules,
//! so a rule that denies or asks beats them, and what is critical is asked nevertheless.

use std::sync::{Mutex, PoisonError};

use lariat_core::permission::{ApprovalScope, PermissionDecision, PermissionRequest};
use lariat_guard::{ApprovalBook, Effect, KeptError, Layer, Origin};

pub(super) struct Remembered {
    project: String,
    book: Option<ApprovalBook>,
    rules: Mutex<Vec<String>>,
}

impl Remembered {
    pub(super) fn new(project: String) -> Self {
        Self { project, book: None, rules: Mutex::default() }
    }

    pub(super) fn with_book(mut self, book: ApprovalBook) -> Result<Self, KeptError> {
        let kept = book.of(&self.project)?.into_iter().map(|approval| approval.rule);
        self.rules.get_mut().unwrap_or_else(PoisonError::into_inner).extend(kept);
        self.book = Some(book);
        Ok(self)
    }

    /// Takes an answer in. True when it added a rule.
    pub(super) fn take(&self, request: &PermissionRequest, decision: &PermissionDecision) -> bool {
        let Some(scope) = decision.scope().filter(|scope| *scope != ApprovalScope::Once) else {
            return false;
        };
        let Some(remember) = &request.remember else { return false };
        let new: Vec<String> = remember.lines().map(str::to_owned).collect();
        if let (ApprovalScope::Always, Some(book)) = (scope, &self.book) {
            // What cannot be kept counts for the session nevertheless: the person said yes.
            let _ = book.add(&self.project, &new, &request.summary);
        }
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let before = rules.len();
        for rule in new {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        rules.len() > before
    }

    /// The rules, as a layer of settings.
    pub(super) fn layer(&self) -> Option<Layer> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let layer = |layer: Layer, rule: &String| layer.with_rule(Effect::Allow, rule);
        (!rules.is_empty()).then(|| rules.iter().fold(Layer::new(Origin::flags()), layer))
    }
}
