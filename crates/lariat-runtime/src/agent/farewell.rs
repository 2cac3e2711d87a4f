//! The end of a session, told to its hooks.
//!
//! Owns how long the end of a session may take, and that a drop waits for nobody: there it is told beside everything
//! else, if there is an executor to do so.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select;
use lariat_core::hooks::{Moment, MomentKind};
use lariat_core::id::SessionId;

use crate::drive::{Ports, moments};

/// All hooks of a session's end together get this long. Claude Code's number.
const FAREWELL: Duration = Duration::from_millis(1_500);

/// Tells that a session is over.
pub(super) struct Farewell {
    ports: Arc<Ports>,
    session_id: SessionId,
    reason: &'static str,
}

impl Farewell {
    /// `None` when nobody wants to be told.
    pub(super) fn new(ports: &Arc<Ports>, session_id: &SessionId, reason: &'static str) -> Option<Self> {
        let wanted = moments::wanted(ports, MomentKind::SessionEnd);
        wanted.then(|| Self { ports: Arc::clone(ports), session_id: session_id.clone(), reason })
    }

    /// Tells it, for as long as that may take.
    pub(super) async fn say(self) {
        let Self { ports, session_id, reason } = self;
        let moment = Moment::SessionEnd { reason: reason.to_owned() };
        let over = ports.clock.sleep_until(ports.clock.now().after(FAREWELL));
        let _ = select(std::pin::pin!(moments::tell(&ports, &session_id, moment)), over).await;
    }

    /// Tells it beside everything else, or not at all.
    pub(super) fn say_beside(self) {
        if let Ok(executor) = tokio::runtime::Handle::try_current() {
            drop(executor.spawn(self.say()));
        }
    }
}
