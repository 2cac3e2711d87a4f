//! The start of a session as hooks see it: who was notified, and the context that they returned.

use futures_util::future::{Either, select};
use lariat_core::cancel::CancellationToken;
use lariat_core::event::SessionFormation;
use lariat_core::hooks::{LifecycleEvent, LifecycleEventKind, SessionSource};
use lariat_core::id::SessionId;

use super::AgentContext;
use crate::drive::Ports;
use crate::drive::session_hooks::{self, SessionStartAnswer};

/// Whether the session's hooks know that the session started, and what they answered.
#[derive(Debug, Default)]
pub(in crate::agent) struct SessionStartState {
    notified: bool,
    /// The session is new and replaces one that the user left.
    replaces_session: bool,
    /// Context from hooks that the model has not received yet.
    hook_context: Vec<String>,
}

impl AgentContext {
    /// Marks the session as one that replaces a session the user left.
    pub(in crate::agent) fn replacing_session(
        mut self,
        formation: SessionFormation,
        previous: SessionId,
    ) -> Self {
        self.session_start.replaces_session = true;
        self.formation = Some((formation, previous));
        self
    }

    /// Takes what the hooks know about the start of the session.
    pub(in crate::agent) fn take_session_start(&mut self) -> SessionStartState {
        std::mem::take(&mut self.session_start)
    }

    /// Continues with what the hooks know about the start of the session.
    pub(in crate::agent) fn set_session_start(&mut self, state: SessionStartState) {
        self.session_start = state;
    }

    /// Makes the next loop notify hooks again that the session starts.
    pub(in crate::agent) const fn repeat_session_start(&mut self) {
        self.session_start.notified = false;
    }

    /// Notifies hooks that the session starts, unless they were notified already. Cancelling ends the wait.
    pub(in crate::agent) async fn notify_session_start(
        &mut self,
        ports: &Ports,
        cancel: &CancellationToken,
    ) -> SessionStartAnswer {
        let (mut stop, mut messages) = (None, Vec::new());
        if !self.session_start.notified && session_hooks::is_wanted(ports, LifecycleEventKind::SessionStart) {
            let source = match self.journal.next_seq() {
                0 if self.session_start.replaces_session => SessionSource::Clear,
                0 => SessionSource::Startup,
                _ => SessionSource::Resume,
            };
            // Boxed: otherwise the future of every run would reserve space for it.
            let notifying = Box::pin(session_hooks::notify(
                ports,
                self.journal.session_id(),
                LifecycleEvent::SessionStart { source },
            ));
            if let Either::Left((answer, _)) = select(notifying, cancel.cancelled()).await {
                self.session_start.notified = true;
                self.session_start.hook_context.extend(answer.context);
                (stop, messages) = (answer.stop, answer.messages);
            }
        }
        SessionStartAnswer { context: self.session_start.hook_context.clone(), stop, messages }
    }

    /// Saves context from hooks for the next prompt.
    pub(in crate::agent) fn add_hook_context(&mut self, hook_context: Vec<String>) {
        self.session_start.hook_context.extend(hook_context);
    }

    /// Removes the context from hooks once the model has received it.
    pub(super) fn forget_hook_context(&mut self) {
        self.session_start.hook_context.clear();
    }
}
