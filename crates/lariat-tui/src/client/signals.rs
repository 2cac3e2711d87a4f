//! Signals that end or suspend the program.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy)]
pub(super) enum SignalRequest {
    End,
    Suspend,
}

/// `SIGTSTP`, which tokio does not name.
const SUSPEND: i32 = if cfg!(target_os = "linux") { 20 } else { 18 };

/// Signals from outside. Ctrl-C and Ctrl-Z are keys here.
pub(super) struct Signals(Vec<(SignalRequest, Signal)>);

impl Signals {
    pub(super) fn new() -> Self {
        let ends =
            [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit()];
        let suspends = [SignalKind::from_raw(SUSPEND)];
        let wishes = ends.map(|kind| (SignalRequest::End, kind)).into_iter();
        let wishes = wishes.chain(suspends.map(|kind| (SignalRequest::Suspend, kind)));
        // Without a handler, a signal does what it does by default.
        Self(wishes.filter_map(|(wish, kind)| Some((wish, signal(kind).ok()?))).collect())
    }

    pub(super) async fn next(&mut self) -> SignalRequest {
        if self.0.is_empty() {
            return std::future::pending().await;
        }
        let waits = self.0.iter_mut().map(|(wish, signal)| {
            Box::pin(async move {
                signal.recv().await;
                *wish
            })
        });
        futures_util::future::select_all(waits).await.0
    }
}
