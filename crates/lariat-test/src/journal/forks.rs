//! Forks of sessions, and waiting for new events: what a session host needs of a store besides.

use std::future::poll_fn;
use std::task::Poll;

use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::StoreError;

use super::{FaultyStore, Operation, StoredJournal};

impl FaultyStore {
    /// Creates a session that shares the first events of another one, and continues with its own. A crash leaves the whole fork,
    /// or none.
    ///
    /// # Errors
    /// If the operation fails, the session has fewer events, or the fork exists.
    pub async fn fork(&self, from: &SessionId, at_seq: u64, to: &SessionId) -> Result<(), StoreError> {
        self.pass(Operation::Fork).await?;
        let mut state = self.lock();
        let origin = state.journals.get(from).map(|journal| journal.present.as_slice()).unwrap_or_default();
        let end = usize::try_from(at_seq).unwrap_or(usize::MAX);
        let Some(shared) = origin.get(..end).map(<[Event]>::to_vec) else {
            return Err(StoreError::Conflict { expected: at_seq, actual: origin.len() as u64 });
        };
        if let Some(journal) = state.journals.get(to) {
            return Err(StoreError::Conflict { expected: 0, actual: journal.present.len() as u64 });
        }
        let fork = StoredJournal {
            acknowledged: shared.clone(),
            present: shared,
            origin: Some(from.clone()),
            ..StoredJournal::default()
        };
        state.journals.insert(to.clone(), fork);
        Ok(())
    }

    /// The session that a session was forked from.
    pub fn origin(&self, session_id: &SessionId) -> Option<SessionId> {
        self.lock().journals.get(session_id)?.origin.clone()
    }

    /// Waits until a journal has more than `beyond` events, and returns their number. Never returns after a crash.
    pub async fn wait_for_growth(&self, session_id: &SessionId, beyond: u64) -> u64 {
        let life = self.lock().life;
        poll_fn(|context| {
            let mut state = self.lock();
            let events = state.journals.get(session_id).map_or(0, |journal| journal.present.len() as u64);
            if events > beyond && state.life == life {
                return Poll::Ready(events);
            }
            state.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}
