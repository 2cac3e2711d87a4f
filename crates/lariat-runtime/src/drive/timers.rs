//! All timers of a run, on one sleep.
//!
//! Setting or dropping a timer only changes a list; the sleep is replaced only if a timer is due earlier. A
//! timeout that is set and dropped every turn therefore costs almost nothing.

use std::task::{Context, Poll};

use lariat_core::BoxFuture;
use lariat_core::clock::Clock;
use lariat_core::time::Timestamp;

/// Timers by key.
pub(crate) struct Timers<K> {
    due: Vec<(Timestamp, K)>,
    armed: Option<(Timestamp, BoxFuture<'static, ()>)>,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self { due: Vec::new(), armed: None }
    }
}

impl<K: PartialEq> Timers<K> {
    pub(crate) fn set(&mut self, at: Timestamp, key: K) {
        self.due.push((at, key));
    }

    pub(crate) fn drop_timer(&mut self, key: &K) {
        self.due.retain(|(_, other)| other != key);
    }

    /// Polls for the next timer that is due.
    pub(crate) fn poll(&mut self, clock: &dyn Clock, context: &mut Context<'_>) -> Poll<K> {
        loop {
            let Some(earliest) = self.due.iter().map(|(at, _)| *at).min() else {
                self.armed = None;
                return Poll::Pending;
            };
            if self.armed.as_ref().is_none_or(|(at, _)| earliest < *at) {
                self.armed = Some((earliest, clock.sleep_until(earliest)));
            }
            let Some((_, sleep)) = &mut self.armed else { return Poll::Pending };
            if sleep.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.armed = None;
            let now = clock.now();
            if let Some(at) = self.due.iter().position(|(at, _)| *at <= now) {
                return Poll::Ready(self.due.swap_remove(at).1);
            }
        }
    }
}
