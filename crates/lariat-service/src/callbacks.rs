//! Hooks that are functions of the program that controls a session, besides those of the settings files.
//!
//! The program registers them; only a [`HookRunner`] of the front end can call them. A registration that cannot be used is
//! an error, because a hook that should have blocked must not be missing.

use std::fmt;
use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_guard::hooks::HookConfig;
pub use lariat_guard::hooks::{Handler, HandlerResult, HookRunner, Invocation};
use serde_json::Value;

use crate::local::{HookPrograms, split_unsupported_events};
use crate::transcript::TranscriptFile;

/// Functions that a program registered as hooks, and what calls them.
#[derive(Clone)]
pub struct HookCallbacks {
    pub(crate) hooks: HookConfig,
    pub(crate) runner: Arc<dyn HookRunner>,
}

impl HookCallbacks {
    /// Reads a registration: `Event → [{matcher, hookCallbackIds, timeout}]`. Returns it with the events that Lariat does
    /// not have, whose functions are never called.
    ///
    /// # Errors
    /// What cannot be used.
    pub fn read(hooks: &Value, runner: Arc<dyn HookRunner>) -> Result<(Self, Vec<String>), String> {
        let (hooks, unsupported) = split_unsupported_events(hooks);
        let mut registered = HookConfig::default();
        let problems = registered.add_callbacks("the controlling program", &hooks);
        if problems.is_empty() {
            return Ok((Self { hooks: registered, runner }, unsupported));
        }
        let problems: Vec<String> = problems.into_iter().map(|problem| problem.problem).collect();
        Err(problems.join("; "))
    }
}

impl fmt::Debug for HookCallbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookCallbacks").field("hooks", &self.hooks).finish_non_exhaustive()
    }
}

/// Runs functions of the program by its own runner, and everything else as programs and requests. First completes the
/// transcript, so that a hook that reads it sees everything up to its event.
pub(crate) struct AllHooks {
    pub(crate) programs: HookPrograms,
    pub(crate) callbacks: Option<Arc<dyn HookRunner>>,
    pub(crate) transcript: Option<Arc<TranscriptFile>>,
}

impl HookRunner for AllHooks {
    fn run<'a>(&'a self, handler: &'a Handler, input: &'a str) -> BoxFuture<'a, HandlerResult> {
        let ran = match (&handler.way, &self.callbacks) {
            (Invocation::Callback(_), Some(callbacks)) => callbacks.run(handler, input),
            _ => self.programs.run(handler, input),
        };
        let Some(transcript) = &self.transcript else { return ran };
        Box::pin(async move {
            transcript.catch_up().await;
            ran.await
        })
    }
}
