//! Notifies hooks that a session ends.
//!
//! Limits how long the hooks may take. A dropped session does not wait for them: they run in the background,
//! if a tokio runtime is available.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select;
use lariat_core::hooks::{Moment, MomentKind};
use lariat_core::id::SessionId;

use crate::drive::{Ports, moments};

/// The timeout for all hooks of a session's end together. The same as in Claude Code.
const FAREWELL: Duration = Duration::from_millis(1_500);

/// A notification that a session ends.
pub(super) struct Farewell {
    ports: Arc<Ports>,
    session_id: SessionId,
    reason: &'static str,
}

impl Farewell {
    /// Returns `None` if no hook wants the notification.
    pub(super) fn new(ports: &Arc<Ports>, session_id: &SessionId, reason: &'static str) -> Option<Self> {
        let wanted = moments::wanted(ports, MomentKind::SessionEnd);
        wanted.then(|| Self { ports: Arc::clone(ports), session_id: session_id.clone(), reason })
    }

    /// Notifies the hooks and waits for them, up to the timeout.
    pub(super) async fn say(self) {
        let Self { ports, session_id, reason } = self;
        let moment = Moment::SessionEnd { reason: reason.to_owned() };
        let over = ports.clock.sleep_until(ports.clock.now().after(FAREWELL));
        let _ = select(std::pin::pin!(moments::tell(&ports, &session_id, moment)), over).await;
    }

    /// Notifies the hooks in the background, or not at all outside a tokio runtime.
    pub(super) fn say_beside(self) {
        if let Ok(executor) = tokio::runtime::Handle::try_current() {
            drop(executor.spawn(self.say()));
        }
    }
}
