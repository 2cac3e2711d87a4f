//! Notifies hooks that a session ends.
//!
//! Limits how long the hooks may take. A dropped session does not wait for them: they run in the background,
//! if a tokio runtime is available.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select;
use lariat_core::hooks::{LifecycleEvent, LifecycleEventKind};
use lariat_core::id::SessionId;

use crate::drive::{Ports, session_hooks};

/// The timeout for all hooks of a session's end together. The same as in Claude Code.
const SESSION_END_TIMEOUT: Duration = Duration::from_millis(1_500);

/// A notification that a session ends.
pub(super) struct SessionEndNotice {
    ports: Arc<Ports>,
    session_id: SessionId,
    reason: &'static str,
}

impl SessionEndNotice {
    /// Returns `None` if no hook wants the notification.
    pub(super) fn new(ports: &Arc<Ports>, session_id: &SessionId, reason: &'static str) -> Option<Self> {
        let is_wanted = session_hooks::is_wanted(ports, LifecycleEventKind::SessionEnd);
        is_wanted.then(|| Self { ports: Arc::clone(ports), session_id: session_id.clone(), reason })
    }

    /// Notifies the hooks and waits for them, up to the timeout.
    pub(super) async fn send(self) {
        let Self { ports, session_id, reason } = self;
        let moment = LifecycleEvent::SessionEnd { reason: reason.to_owned() };
        let timeout = ports.clock.sleep_until(ports.clock.now().after(SESSION_END_TIMEOUT));
        let _ = select(std::pin::pin!(session_hooks::notify(&ports, &session_id, moment)), timeout).await;
    }

    /// Notifies the hooks in the background, or not at all outside a tokio runtime.
    pub(super) fn send_in_background(self) {
        if let Ok(executor) = tokio::runtime::Handle::try_current() {
            drop(executor.spawn(self.send()));
        }
    }
}
