//! Notifies the session's hooks of events.
//!
//! Only notifies hooks that want the event, redacts secrets first, treats a hook that panics as one that
//! blocks, and ignores a block where the event cannot be blocked.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use lariat_core::hooks::{HookAnswer, LifecycleEvent, LifecycleEventKind, SessionHooks};
use lariat_core::id::{LoopId, SessionId};

use super::ports::Ports;
use super::redaction;

/// What hooks answered at the start of a session, for its first run.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionStartAnswer {
    /// Context that the model receives with the first prompt.
    pub(crate) context: Vec<String>,
    /// The reason why the run must not begin.
    pub(crate) stop: Option<String>,
    /// Messages for the user.
    pub(crate) messages: Vec<String>,
}

/// Whether a hook wants events of this kind.
pub(crate) fn is_wanted(ports: &Ports, kind: LifecycleEventKind) -> bool {
    hooks(ports, kind).is_some()
}

fn hooks(ports: &Ports, kind: LifecycleEventKind) -> Option<&dyn SessionHooks> {
    ports.policy.session_hooks().filter(|hooks| hooks.wants(kind))
}

/// Notifies the hooks and waits for their answer.
pub(crate) async fn notify(ports: &Ports, session_id: &SessionId, mut moment: LifecycleEvent) -> HookAnswer {
    let kind = moment.kind();
    let Some(hooks) = hooks(ports, kind) else { return HookAnswer::default() };
    moment.texts_mut().for_each(|text| redaction::text(&ports.redactor, text));
    let notifying = AssertUnwindSafe(async { hooks.notify(session_id, moment).await }).catch_unwind();
    let mut answer = notifying.await.unwrap_or_else(|_| HookAnswer::of_failed_hook(kind));
    if !kind.can_block() {
        answer.block = None;
    }
    answer
}

/// Takes the reason why a hook of a tool call in this loop wants the run to end, if there is one.
pub(crate) fn take_stop(ports: &Ports, loop_id: &LoopId) -> Option<String> {
    ports.policy.session_hooks()?.take_stop(loop_id)
}

/// Takes the messages for the user from hooks of tool calls in this loop.
pub(crate) fn take_messages(ports: &Ports, loop_id: &LoopId) -> Vec<String> {
    ports.policy.session_hooks().map(|hooks| hooks.take_messages(loop_id)).unwrap_or_default()
}
