//! Scripted hooks of a session, which answer at once, after a while, never, or with a panic.
//!
//! [`ScriptedHooks`] logs each moment at the first poll, not when it answers.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use lariat_core::BoxFuture;
use lariat_core::clock::Clock;
use lariat_core::hooks::{HookAnswer, LifecycleEvent, LifecycleEventKind, SessionHooks};
use lariat_core::id::SessionId;

use crate::answer::Answer;

type HooksFn = Box<dyn FnMut(&LifecycleEvent) -> Answer<HookAnswer> + Send>;

/// Hooks driven by a function. They subscribe to every moment.
///
/// ```
/// use lariat_core::hooks::HookAnswer;
/// use lariat_test::VirtualClock;
/// use lariat_test::ScriptedHooks;
///
/// let hooks = ScriptedHooks::new(VirtualClock::new().shared(), |_| HookAnswer::block("not yet").into());
/// assert!(hooks.received().is_empty());
/// ```
pub struct ScriptedHooks {
    clock: Arc<dyn Clock>,
    state: Mutex<(HooksFn, Vec<LifecycleEvent>)>,
}

impl ScriptedHooks {
    /// Creates hooks that call a function for each moment.
    pub fn new(
        clock: Arc<dyn Clock>,
        script: impl FnMut(&LifecycleEvent) -> Answer<HookAnswer> + Send + 'static,
    ) -> Self {
        Self { clock, state: Mutex::new((Box::new(script), Vec::new())) }
    }

    /// The moments received so far, in order.
    pub fn received(&self) -> Vec<LifecycleEvent> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}

impl SessionHooks for ScriptedHooks {
    fn wants(&self, _kind: LifecycleEventKind) -> bool {
        true
    }

    fn notify<'a>(&'a self, _session_id: &'a SessionId, moment: LifecycleEvent) -> BoxFuture<'a, HookAnswer> {
        Box::pin(async move {
            let answer = {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                let (script, log) = &mut *state;
                let answer = script(&moment);
                log.push(moment);
                answer
            };
            answer.resolve(&*self.clock).await
        })
    }
}

impl fmt::Debug for ScriptedHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedHooks").field("received", &self.received()).finish_non_exhaustive()
    }
}
