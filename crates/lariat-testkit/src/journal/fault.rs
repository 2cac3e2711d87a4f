//! What can go wrong with an append, and plans that decide when it does.
//!
//! Owns the vocabulary of faults and the two ready-made plans, a list and a seed. Applying a fault is the store's
//! business.

use std::time::Duration;

use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::Epoch;

use crate::random::Seeded;

/// What happens to one append.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It works.
    #[default]
    None,
    /// It fails and nothing was written.
    Refuse,
    /// It fails although everything was written: the acknowledgement was lost.
    Ambiguous,
    /// It fails after so many events of the batch were written.
    Torn {
        /// Events that are there afterwards; the whole batch at most.
        written: usize,
    },
    /// The process dies after so many events of the batch were written: the append never completes, and neither does
    /// anything else until [`super::FaultyStore::reopen`].
    Crash {
        /// Events that are there afterwards; the whole batch at most.
        written: usize,
    },
    /// Another writer claims the session first, so this one is fenced off.
    Fence,
    /// Everything is written at once and acknowledged only after a while.
    Late(Duration),
    /// Nothing happens for a while, then the other fault does.
    Delayed(Duration, Box<Fault>),
}

/// What happens to a call that is not an append.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// It works.
    #[default]
    None,
    /// It fails.
    Unavailable,
    /// It works after a while.
    Delayed(Duration),
    /// The process dies, as with [`Fault::Crash`].
    Crash,
}

/// A call that is not an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Becoming the writer.
    Claim,
    /// Giving a claim up.
    Release,
    /// Reading events.
    Read,
    /// Asking for the number of events.
    Head,
    /// Keeping or finding a snapshot.
    Snapshot,
    /// Keeping or reading a blob.
    Blob,
}

/// An append, as a plan sees it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AppendInfo<'a> {
    /// Appends this store saw before, refused ones included.
    pub index: u64,
    /// The journal.
    pub session_id: &'a SessionId,
    /// The writer.
    pub epoch: Epoch,
    /// Where the batch is to go.
    pub expected_seq: u64,
    /// The batch.
    pub events: &'a [Event],
}

/// Decides about every append.
pub type AppendPlan = Box<dyn FnMut(&AppendInfo<'_>) -> Fault + Send>;
/// Decides about every other call.
pub type TroublePlan = Box<dyn FnMut(Operation) -> Trouble + Send>;

/// How often which fault happens, in percent of all appends. What is left over works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultRates {
    /// [`Fault::Refuse`].
    pub refuse: u8,
    /// [`Fault::Ambiguous`].
    pub ambiguous: u8,
    /// [`Fault::Torn`], at a random place.
    pub torn: u8,
    /// [`Fault::Crash`], at a random place.
    pub crash: u8,
    /// [`Fault::Fence`].
    pub fence: u8,
    /// [`Fault::Late`].
    pub late: u8,
    /// [`Fault::Delayed`], then working.
    pub delayed: u8,
    /// The longest delay.
    pub max_delay: Duration,
}

impl FaultRates {
    /// The fault of one append.
    pub fn draw(&self, random: &mut Seeded, batch: usize) -> Fault {
        // Always three draws, so that changing one rate does not reshuffle everything after it.
        let (mut roll, place) = (random.below(100), random.index(batch + 1));
        let longest = u64::try_from(self.max_delay.as_millis()).unwrap_or(u64::MAX);
        let delay = Duration::from_millis(random.below(longest.saturating_add(1)));
        let faults = [
            (self.refuse, Fault::Refuse),
            (self.ambiguous, Fault::Ambiguous),
            (self.torn, Fault::Torn { written: place }),
            (self.crash, Fault::Crash { written: place }),
            (self.fence, Fault::Fence),
            (self.late, Fault::Late(delay)),
            (self.delayed, Fault::Delayed(delay, Box::new(Fault::None))),
        ];
        for (rate, fault) in faults {
            let rate = u64::from(rate);
            if roll < rate {
                return fault;
            }
            roll -= rate;
        }
        Fault::None
    }
}
