//! A scripted permission policy and a scripted approver, which answer at once, after a while, never, or with
//! a panic.
//!
//! [`ScriptedPolicy`] and [`ScriptedApprover`] log each request at the first poll, not when they answer.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_core::BoxFuture;
use lariat_core::clock::Clock;
use lariat_core::content::ToolCall;
use lariat_core::hooks::SessionHooks;
use lariat_core::permission::{
    Approver, PermissionDecision, PermissionPolicy, PermissionRequest, PolicyQuery, Verdict,
};

use crate::answer::Answer;
use crate::hooks::ScriptedHooks;

type PolicyFn = Box<dyn FnMut(&PolicyQuery<'_>) -> Answer<Verdict> + Send>;
type ApproverFn = Box<dyn FnMut(&PermissionRequest) -> Answer<PermissionDecision> + Send>;

/// A policy driven by a function.
///
/// ```
/// use lariat_core::permission::{PermissionRequest, Verdict};
/// use lariat_test::ScriptedPolicy;
/// use lariat_test::VirtualClock;
///
/// let policy = ScriptedPolicy::new(VirtualClock::new().shared(), |query| {
///     if query.effects.is_read_only() {
///         Verdict::Allow.into()
///     } else {
///         Verdict::Ask(PermissionRequest::new(query.call, "may it?")).into()
///     }
/// });
/// assert!(policy.checked_calls().is_empty());
/// ```
pub struct ScriptedPolicy {
    clock: Arc<dyn Clock>,
    state: Mutex<(PolicyFn, Vec<ToolCall>)>,
    hooks: Option<ScriptedHooks>,
    has_pure_check: bool,
}

impl ScriptedPolicy {
    /// Creates a policy that calls a function.
    pub fn new(
        clock: Arc<dyn Clock>,
        script: impl FnMut(&PolicyQuery<'_>) -> Answer<Verdict> + Send + 'static,
    ) -> Self {
        Self { clock, state: Mutex::new((Box::new(script), Vec::new())), hooks: None, has_pure_check: false }
    }

    /// Adds hooks of the session.
    #[must_use]
    pub fn with_hooks(mut self, hooks: ScriptedHooks) -> Self {
        self.hooks = Some(hooks);
        self
    }

    /// Sets whether the policy reports that it only judges.
    #[must_use]
    pub fn with_pure_check(mut self, has_pure_check: bool) -> Self {
        self.has_pure_check = has_pure_check;
        self
    }

    /// The tool calls it was asked to check, in order.
    pub fn checked_calls(&self) -> Vec<ToolCall> {
        lock_unpoisoned(&self.state).1.clone()
    }
}

impl PermissionPolicy for ScriptedPolicy {
    fn check<'a>(&'a self, query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            let answer = {
                let mut state = lock_unpoisoned(&self.state);
                let (script, log) = &mut *state;
                log.push(query.call.clone());
                script(&query)
            };
            answer.resolve(&*self.clock).await
        })
    }

    fn has_pure_check(&self) -> bool {
        self.has_pure_check
    }

    fn session_hooks(&self) -> Option<&dyn SessionHooks> {
        self.hooks.as_ref().map(|hooks| hooks as &dyn SessionHooks)
    }
}

/// An approver driven by a function.
///
/// ```
/// use std::time::Duration;
/// use lariat_core::permission::PermissionDecision;
/// use lariat_test::{Answer, ScriptedApprover};
/// use lariat_test::VirtualClock;
///
/// // Thinks for a minute, then agrees.
/// let approver = ScriptedApprover::new(VirtualClock::new().shared(), |_| {
///     Answer::After(Duration::from_secs(60), PermissionDecision::Allow)
/// });
/// assert!(approver.asked_requests().is_empty());
/// ```
pub struct ScriptedApprover {
    clock: Arc<dyn Clock>,
    state: Mutex<(ApproverFn, Vec<PermissionRequest>)>,
}

impl ScriptedApprover {
    /// Creates an approver that calls a function.
    pub fn new(
        clock: Arc<dyn Clock>,
        script: impl FnMut(&PermissionRequest) -> Answer<PermissionDecision> + Send + 'static,
    ) -> Self {
        Self { clock, state: Mutex::new((Box::new(script), Vec::new())) }
    }

    /// The requests so far, in order.
    pub fn asked_requests(&self) -> Vec<PermissionRequest> {
        lock_unpoisoned(&self.state).1.clone()
    }
}

impl Approver for ScriptedApprover {
    fn ask<'a>(&'a self, request: &'a PermissionRequest) -> BoxFuture<'a, PermissionDecision> {
        Box::pin(async move {
            let answer = {
                let mut state = lock_unpoisoned(&self.state);
                let (script, log) = &mut *state;
                log.push(request.clone());
                script(request)
            };
            answer.resolve(&*self.clock).await
        })
    }
}

fn lock_unpoisoned<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for ScriptedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedPolicy")
            .field("checked", &lock_unpoisoned(&self.state).1)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ScriptedApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedApprover")
            .field("asked", &lock_unpoisoned(&self.state).1)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
