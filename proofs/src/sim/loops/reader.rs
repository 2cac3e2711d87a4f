//! An observer that lags behind and comes back: it reads the events of the session with a queue too small for them.
//!
//! It survives the process, with its position only. Invariant: it receives every durable event exactly once, in order.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_core::Stream as _;
use lariat_core::id::SessionId;
use lariat_runtime::drive::Journal;
use lariat_runtime::observe::Subscription;
use lariat_test::VirtualClock;

use super::super::violation::Violation;
use super::super::witness::Book;

/// Events that wait for it: so few that it misses most live ones.
const CAPACITY: usize = 2;
/// How often it looks again for its last events.
const LAST_LOOKS: usize = 10_000;

/// An observer with a position.
pub(super) struct LaggingReader {
    session_id: SessionId,
    book: Book,
    next: u64,
    events: Option<Subscription>,
}

impl LaggingReader {
    pub(super) const fn new(session_id: SessionId, book: Book) -> Self {
        Self { session_id, book, next: 0, events: None }
    }

    /// Continues from its position, in a new process.
    pub(super) fn reconnect(&mut self, journal: &Journal) {
        self.events = Some(journal.hub().subscribe_from(CAPACITY, self.next));
    }

    /// Reads what there is.
    pub(super) fn look(&mut self) -> Result<(), Violation> {
        let Some(events) = &mut self.events else { return Ok(()) };
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(event) = Pin::new(&mut *events).poll_next(&mut context) {
            let Some(event) = event else {
                // The store failed too often; the reader comes back with the next process.
                self.events = None;
                break;
            };
            if !event.is_durable() {
                continue;
            }
            if event.seq != self.next || !self.book.knows(&self.session_id, event.seq, event.id) {
                return Err(Violation::ObserverGap(format!("{} instead of {}", event.seq, self.next)));
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Reads the rest of a session that is over. Reading takes time on this clock.
    pub(super) fn finish(
        &mut self,
        journal: &Journal,
        clock: &VirtualClock,
        end: u64,
    ) -> Result<(), Violation> {
        for _ in 0..LAST_LOOKS {
            if self.next == end {
                return Ok(());
            }
            if self.events.is_none() {
                self.reconnect(journal);
            }
            self.look()?;
            clock.advance_to_next();
        }
        Err(Violation::ObserverGap(format!("{} of {end} events arrived", self.next)))
    }
}
