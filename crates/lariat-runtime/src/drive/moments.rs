//! Telling the session's hooks.
//!
//! Owns what surrounds every telling: nobody is told what nobody wants, no secret is told, a hook that panics has
//! blocked what it may block, and only what can be blocked is.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use lariat_core::hooks::{HookAnswer, Moment, MomentKind, SessionHooks};
use lariat_core::id::{LoopId, SessionId};

use super::ports::Ports;
use super::redaction;

/// What hooks said when a session began, for the run that begins with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Opening {
    /// What the model is told with the first prompt.
    pub(crate) remarks: Vec<String>,
    /// The run must not begin, for this reason.
    pub(crate) stop: Option<String>,
}

/// Whether anybody wants to be told of such moments.
pub(crate) fn wanted(ports: &Ports, kind: MomentKind) -> bool {
    hooks(ports, kind).is_some()
}

fn hooks(ports: &Ports, kind: MomentKind) -> Option<&dyn SessionHooks> {
    ports.policy.session_hooks().filter(|hooks| hooks.wants(kind))
}

/// Tells a moment and waits for the answer.
pub(crate) async fn tell(ports: &Ports, session_id: &SessionId, mut moment: Moment) -> HookAnswer {
    let kind = moment.kind();
    let Some(hooks) = hooks(ports, kind) else { return HookAnswer::default() };
    moment.texts_mut().for_each(|text| redaction::text(&ports.redactor, text));
    let telling = AssertUnwindSafe(async { hooks.told(session_id, moment).await }).catch_unwind();
    let mut answer = telling.await.unwrap_or_else(|_| HookAnswer::failed(kind));
    if !kind.can_block() {
        answer.block = None;
    }
    answer
}

/// Why a hook about a call of this loop wants the run to end, if one does.
pub(crate) fn take_stop(ports: &Ports, loop_id: &LoopId) -> Option<String> {
    ports.policy.session_hooks()?.take_stop(loop_id)
}
