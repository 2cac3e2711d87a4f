//! Lets a run be one of several branches of its session: observes the other loops, and saves its own state for snapshots.

use std::task::{Context, Poll};

use futures_util::stream::StreamExt;
use lariat_core::event::Event;
use lariat_core::run::Effect;

use super::Driver;

/// Events of other loops that may wait before the run reads the journal instead.
const SIBLING_EVENTS: usize = 1024;

impl Driver {
    /// Makes the run one of several branches of its session: it takes the spending of the others into account, and saves only its
    /// own state. Create all branches before you drive the first.
    #[must_use]
    pub fn as_branch(mut self: Box<Self>) -> Box<Self> {
        self.siblings = Some(self.journal.hub().subscribe(SIBLING_EVENTS));
        self.is_branch = true;
        self
    }

    /// Polls for the next durable event of another loop.
    pub(super) fn poll_siblings(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        while let Some(siblings) = &mut self.siblings {
            match siblings.poll_next_unpin(context) {
                Poll::Ready(Some(event)) => {
                    if event.is_durable() && event.loop_id.as_ref() != Some(&self.handle.loop_id) {
                        return Poll::Ready(event);
                    }
                }
                // The journal cannot be read. Writing it will fail, too.
                Poll::Ready(None) => self.siblings = None,
                Poll::Pending => break,
            }
        }
        Poll::Pending
    }

    /// Writes a snapshot if one is due and everything that this loop recorded is written.
    pub(super) fn save_snapshot(&mut self) {
        let messages = self.run.transcript().len();
        let is_due = match self.is_branch {
            true => self.journal.wants_branch_snapshot(&self.handle.loop_id, messages),
            false => self.journal.wants_snapshot(messages),
        };
        let is_written = self.batch.is_empty() && !matches!(self.held, Some(Effect::Record(_)));
        if self.snapshot_write.is_some() || !is_written || !is_due {
            return;
        }
        self.snapshot_write = match self.is_branch {
            true => {
                let branch = self.run.branch_snapshot(self.written);
                branch.and_then(|branch| self.journal.write_branch_snapshot(branch))
            }
            false => self.run.snapshot().map(|snapshot| self.journal.write_snapshot(snapshot)),
        };
    }
}
