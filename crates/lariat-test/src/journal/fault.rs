//! The faults of an append, and plans that decide when they happen: a list or a seed. The store applies them.

use std::time::Duration;

use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::Epoch;

use crate::random::SeededRandom;

/// What happens to one append.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It succeeds.
    #[default]
    None,
    /// It fails without writing anything.
    Refuse,
    /// It fails although everything was written: the acknowledgement was lost.
    Ambiguous,
    /// It fails after this many events of the batch were written.
    Torn {
        /// Number of events written, at most the whole batch.
        written: usize,
    },
    /// The process dies after this many events of the batch were written: neither the append nor any other
    /// operation completes until [`super::FaultyStore::reopen`].
    Crash {
        /// Number of events written, at most the whole batch.
        written: usize,
    },
    /// Another writer claims the session first, so this one is fenced off.
    Fence,
    /// Everything is written at once, but acknowledged only after a delay.
    Late(Duration),
    /// After a delay, the other fault happens.
    Delayed(Duration, Box<Fault>),
}

/// What happens to an operation that is not an append.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationFault {
    /// It succeeds.
    #[default]
    None,
    /// It fails.
    Unavailable,
    /// It succeeds after a delay.
    Delayed(Duration),
    /// The process dies, as with [`Fault::Crash`].
    Crash,
    /// A snapshot that is stored vanishes, and one that is read is missing: the store finds the one before it, or none. Other
    /// operations succeed.
    Lost,
    /// Only the first half of a snapshot is stored or read. Other operations succeed.
    Torn,
}

/// An operation that is not an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Claiming a session.
    Claim,
    /// Releasing a claim.
    Release,
    /// Reading events.
    Read,
    /// Reading the number of events.
    Head,
    /// Storing or reading a snapshot.
    Snapshot,
    /// Storing or reading a blob.
    Blob,
    /// Forking a session.
    Fork,
}

/// Information about an append for a plan.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AppendInfo<'a> {
    /// Number of earlier appends to this store, including refused ones.
    pub index: u64,
    /// The session.
    pub session_id: &'a SessionId,
    /// The writer's epoch.
    pub epoch: Epoch,
    /// Position at which the batch is to be written.
    pub expected_seq: u64,
    /// The batch.
    pub events: &'a [Event],
}

/// Decides the fault of every append.
pub type AppendPlan = Box<dyn FnMut(&AppendInfo<'_>) -> Fault + Send>;
/// Decides the trouble of every other operation.
pub type TroublePlan = Box<dyn FnMut(Operation) -> OperationFault + Send>;

/// Frequency of each fault, in percent of all appends. The rest succeeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultRates {
    /// [`Fault::Refuse`].
    pub refuse: u8,
    /// [`Fault::Ambiguous`].
    pub ambiguous: u8,
    /// [`Fault::Torn`], at a random position.
    pub torn: u8,
    /// [`Fault::Crash`], at a random position.
    pub crash: u8,
    /// [`Fault::Fence`].
    pub fence: u8,
    /// [`Fault::Late`].
    pub late: u8,
    /// [`Fault::Delayed`], then success.
    pub delayed: u8,
    /// The maximum delay.
    pub max_delay: Duration,
}

impl FaultRates {
    /// Draws the fault of one append.
    pub fn draw(&self, random: &mut SeededRandom, batch: usize) -> Fault {
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
