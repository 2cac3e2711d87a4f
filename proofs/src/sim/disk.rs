//! The store of a world: the seed decides which of its calls fail, are slow, are torn or end the process.
//!
//! Every call can fail: appends in all the ways of [`Fault`], claims, reads and heads by refusing, delaying or dying, and
//! snapshots also by vanishing or losing their second half. Invariant: a fault that is left out draws the same numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lariat_core::clock::Clock;
use lariat_core::event::{AgentEvent, Event};
use lariat_test::journal::{Operation, OperationFault};
use lariat_test::{Fault, FaultRates, FaultyStore, SeededRandom};

use super::choice::{ChoiceKind, Choices};

/// The longest delay of a call.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// Which batches a fault may leave half written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TornBatches {
    /// All.
    All,
    /// Those without a command of a client. A host relies on the contract of stores (`Append`): a command and its effects are one
    /// write, in the journal whole or not at all.
    WithoutCommands,
}

/// A store and the number of its faults so far.
pub(super) struct Disk {
    pub(super) store: Arc<FaultyStore>,
    faults: Arc<AtomicU64>,
}

impl Disk {
    /// Creates the store of a seed. In some worlds it never fails.
    pub(super) fn new(
        seed: &SeededRandom,
        clock: Arc<dyn Clock>,
        choices: &Choices,
        torn: TornBatches,
    ) -> Self {
        let mut random = seed.fork("disk");
        let faults = Arc::new(AtomicU64::new(0));
        let mut store = FaultyStore::new(clock);
        if random.chance(25) {
            store = store.through_json();
        }
        let fence = u8::from(random.chance(10));
        if random.chance(60) {
            let rates = FaultRates {
                refuse: 3,
                ambiguous: 3,
                torn: 2,
                crash: 3,
                fence,
                late: 3,
                delayed: 3,
                max_delay: MAX_DELAY,
            };
            store = append_faults(store, (seed.fork("store"), torn), rates, choices, &faults);
        }
        if random.chance(50) {
            store = call_faults(store, seed.fork("calls"), choices, &faults);
        }
        Self { store: Arc::new(store), faults }
    }

    /// The number of faults.
    pub(super) fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }

    /// Whether another writer took over a session.
    pub(super) fn was_fenced(&self) -> bool {
        self.store.injected_faults().iter().any(|(_, fault)| *fault == Fault::Fence)
    }
}

fn append_faults(
    store: FaultyStore,
    (mut random, torn): (SeededRandom, TornBatches),
    rates: FaultRates,
    choices: &Choices,
    faults: &Arc<AtomicU64>,
) -> FaultyStore {
    let (choices, faults) = (choices.clone(), Arc::clone(faults));
    store.with_plan(move |append| {
        let mut fault = rates.draw(&mut random, append.events.len());
        if torn == TornBatches::WithoutCommands {
            fault = keep_commands_whole(fault, append.events);
        }
        if fault == Fault::None || !choices.disturb(ChoiceKind::Append) {
            return Fault::None;
        }
        faults.fetch_add(1, Ordering::Relaxed);
        choices.tell(|| {
            let what = told(&fault);
            format!(
                "The store {what} an append of {} events to {} at position {}.",
                append.events.len(),
                append.session_id,
                append.expected_seq
            )
        });
        fault
    })
}

/// The fault that leaves a batch with a command whole, or writes nothing of it.
fn keep_commands_whole(fault: Fault, events: &[Event]) -> Fault {
    let whole = |written: usize| if written * 2 > events.len() { events.len() } else { 0 };
    if !events.iter().any(|event| matches!(event.event, AgentEvent::CommandAccepted(_))) {
        return fault;
    }
    match fault {
        Fault::Torn { written } => Fault::Torn { written: whole(written) },
        Fault::Crash { written } => Fault::Crash { written: whole(written) },
        fault => fault,
    }
}

fn told(fault: &Fault) -> String {
    match fault {
        Fault::None => "accepts".to_owned(),
        Fault::Refuse => "refuses".to_owned(),
        Fault::Ambiguous => "writes, but fails to acknowledge,".to_owned(),
        Fault::Torn { written } => format!("fails after it wrote {written} events of"),
        Fault::Crash { written } => format!("dies with the process after it wrote {written} events of"),
        Fault::Fence => "gives the session to another writer before".to_owned(),
        Fault::Late(delay) => format!("writes, and acknowledges only {} ms later,", delay.as_millis()),
        Fault::Delayed(delay, then) => format!("waits {} ms and then {}", delay.as_millis(), told(then)),
        _ => format!("does {fault:?} to"),
    }
}

fn call_faults(
    store: FaultyStore,
    mut random: SeededRandom,
    choices: &Choices,
    faults: &Arc<AtomicU64>,
) -> FaultyStore {
    let (choices, faults) = (choices.clone(), Arc::clone(faults));
    store.with_trouble(move |operation| {
        let (roll, delay) = (random.below(200), random.below(MAX_DELAY.as_secs() * 1_000));
        let is_snapshot = operation == Operation::Snapshot;
        let fault = match roll {
            0..=3 => OperationFault::Unavailable,
            4..=11 => OperationFault::Delayed(Duration::from_millis(delay)),
            12 => OperationFault::Crash,
            13..=42 if is_snapshot => OperationFault::Lost,
            43..=52 if is_snapshot => OperationFault::Torn,
            _ => return OperationFault::None,
        };
        let kind = if is_snapshot { ChoiceKind::Snapshot } else { ChoiceKind::StoreCall };
        if !choices.disturb(kind) {
            return OperationFault::None;
        }
        faults.fetch_add(1, Ordering::Relaxed);
        choices.tell(|| format!("The store answers a call ({operation:?}) with a fault: {fault:?}."));
        fault
    })
}
