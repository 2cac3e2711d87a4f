//! The lives of a simulated process: start, recover or begin a run, drive it, die, repeat.
//!
//! Sends commands to the process at any step, and kills it at any step. It leaves the last life undisturbed,
//! so that everything that can end does.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use lariat_core::cancel::CancellationToken;
use lariat_core::event::{AgentEvent, LoopStart, QueueKind};
use lariat_core::id::{AgentId, LoopId, MessageId, RequestId};
use lariat_core::message::{AgentMessage, SharedMessage};
use lariat_core::permission::PermissionDecision;
use lariat_core::run::Run;
use lariat_core::session::SessionFold;
use lariat_core::store::StoreError;
use lariat_core::time::Minter;
use lariat_core::transcript::Transcript;
use lariat_runtime::drive::{DriveError, Driver, Journal, JournalConfig, RunHandle};
use lariat_test::{EPOCH, Executor, Fault, SeededRandom, Step};

use super::Report;
use super::entry::Entry;
use super::violation::Violation;
use super::world::World;
use lariat_core::clock::{Clock, EntropySource};

/// Events between two snapshots: few, so that most recoveries use one.
const SNAPSHOT_EVERY: u64 = 6;

/// Number of lives in which the process may be killed and receive messages.
const TROUBLED_LIVES: u64 = 5;
/// Maximum steps of a life. The longest legitimate ones take a few thousand.
const STEPS_PER_LIFE: u64 = 50_000;
/// Maximum runs of one process: a finished run must not be started again.
const MOST_RUNS: usize = 20;
/// Capacity for events between two drains: none may be coalesced or read again here.
const OBSERVER_CAPACITY: usize = 100_000;

/// A simulated session from the first life to the last.
pub(super) struct Session {
    pub(super) seed: u64,
    pub(super) world: World,
    random: SeededRandom,
    lives: u64,
    spoken: Vec<SentMessage>,
    chatty: bool,
    impatient: bool,
}

/// A message that a user sent to a run and the run accepted.
pub(super) struct SentMessage {
    pub(super) id: MessageId,
    life: u64,
}

/// What a process shares with the simulator.
#[derive(Default)]
struct ProcessLink {
    state: Mutex<ProcessLinkState>,
}

#[derive(Default)]
struct ProcessLinkState {
    handle: Option<RunHandle>,
    unread: Vec<AgentMessage>,
    result: Option<Result<(), DriveError>>,
    violation: Option<Violation>,
}

impl ProcessLink {
    fn with<T>(&self, act: impl FnOnce(&mut ProcessLinkState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Session {
    pub(super) fn new(seed: &SeededRandom) -> Self {
        let mut random = seed.fork("fate");
        let (chatty, impatient) = (random.chance(50), random.chance(30));
        Self {
            seed: seed.seed(),
            world: World::new(seed),
            random,
            lives: 0,
            spoken: Vec::new(),
            chatty,
            impatient,
        }
    }

    /// Runs lives until everything is done.
    pub(super) fn play(&mut self) -> Result<(), Violation> {
        loop {
            let troubled = self.lives < TROUBLED_LIVES;
            if !troubled {
                self.world.store.heal();
            }
            self.world.store.reopen();
            self.lives += 1;
            let done = self.live(troubled)?;
            self.check_acknowledged()?;
            if done {
                return Ok(());
            }
            if !troubled {
                return Err(Violation::NeverEnds);
            }
        }
    }

    /// Runs one life. Returns true if the process ended by itself with everything done.
    fn live(&mut self, troubled: bool) -> Result<bool, Violation> {
        let world = &self.world;
        let journal = Arc::new(Journal::new(
            world.store.clone(),
            world.session_id.clone(),
            world.ports.clock.clone(),
            world.ports.entropy.clone(),
            JournalConfig { snapshot_every: SNAPSHOT_EVERY, ..JournalConfig::default() },
        ));
        world.watch.begin_life(self.lives, journal.hub().subscribe(OBSERVER_CAPACITY));
        let link = Arc::new(ProcessLink::default());
        let mut executor = Executor::new(world.clock.clone(), self.random.fork("order"));
        let main = executor.spawn(process(Process::of(world, journal, Arc::clone(&link))));
        let death = (troubled && self.random.chance(50)).then(|| self.random.below(80));
        let mut stopped: Option<LoopId> = None;
        for step in 0..STEPS_PER_LIFE {
            let done = executor.step();
            self.world.watch.drain();
            if let Some(violation) =
                self.world.watch.violation().or_else(|| link.with(|link| link.violation.take()))
            {
                return Err(violation);
            }
            if self.world.store.is_crashed() || death == Some(step) {
                self.world.store.crash();
                executor.kill(main);
                return Ok(false);
            }
            match done {
                Step::Finished(_) | Step::Idle => return self.after_end(&link),
                // Without limits a tool or an approval may take forever; then the user cancels, once.
                Step::Stalled => {
                    let handle = link.with(|link| link.handle.clone()).ok_or(Violation::Hangs)?;
                    if self.world.config.limits.is_some() || stopped.as_ref() == Some(handle.loop_id()) {
                        return Err(Violation::Hangs);
                    }
                    handle.cancel();
                    stopped = Some(handle.loop_id().clone());
                }
                Step::Polled(_) | Step::Advanced => {}
            }
            if troubled {
                self.interfere(&link);
            }
        }
        Err(Violation::NeverEnds)
    }

    fn after_end(&mut self, link: &ProcessLink) -> Result<bool, Violation> {
        let (result, unread) = link.with(|link| (link.result.take(), std::mem::take(&mut link.unread)));
        // Messages that the run returned unread were not lost.
        let returned: Vec<MessageId> = unread.iter().map(AgentMessage::id).collect();
        self.spoken.retain(|spoken| !returned.contains(&spoken.id));
        match result {
            Some(Ok(())) => {
                self.check_spoken()?;
                Ok(true)
            }
            Some(Err(DriveError::Journal(StoreError::Unavailable(_)))) => Ok(false),
            Some(Err(DriveError::Journal(StoreError::Fenced { .. }))) if self.was_fenced() => Ok(false),
            Some(Err(error)) => Err(Violation::WrongError(error.to_string())),
            None => Err(Violation::NeverEnds),
        }
    }

    fn was_fenced(&self) -> bool {
        self.world.store.injected_faults().iter().any(|(_, fault)| *fault == Fault::Fence)
    }

    /// Sends commands to the process, at any step.
    fn interfere(&mut self, link: &ProcessLink) {
        let roll = self.random.below(1_000);
        let Some(handle) = link.with(|link| link.handle.clone()) else { return };
        match roll {
            0..=39 if self.chatty && self.spoken.len() < 5 => {
                let queue = if roll < 20 { QueueKind::Steering } else { QueueKind::FollowUp };
                let mut message = AgentMessage::user(format!("by the way {roll}"));
                let mut minter = Minter::default();
                let entropy = self.random.bits();
                minter.stamp(lariat_core::time::Stamp { now: self.world.clock.now(), entropy });
                message.assign_id(|| MessageId::new(minter.uuid()));
                let id = message.id();
                if handle.queue(queue, message).is_ok() {
                    self.spoken.push(SentMessage { id, life: self.lives });
                }
            }
            40..=49 if self.impatient => handle.cancel(),
            50..=149 => {
                if let Some(request) = self.open_question() {
                    let decision =
                        if roll < 100 { PermissionDecision::Allow } else { PermissionDecision::deny("no") };
                    handle.respond_permission(request, decision);
                }
            }
            _ => {}
        }
    }

    fn open_question(&self) -> Option<RequestId> {
        self.world.store.acknowledged(&self.world.session_id).iter().rev().find_map(|event| {
            match &event.event {
                AgentEvent::PermissionRequired { request } => Some(request.id),
                _ => None,
            }
        })
    }

    /// Checks that no acknowledged event is lost or moved.
    fn check_acknowledged(&self) -> Result<(), Violation> {
        let survivors = self.world.store.survivors(&self.world.session_id);
        let acknowledged = self.world.store.acknowledged(&self.world.session_id);
        let same = acknowledged.iter().zip(&survivors).all(|(a, s)| a.id == s.id && a.seq == s.seq);
        if same && acknowledged.len() <= survivors.len() { Ok(()) } else { Err(Violation::AcknowledgedLost) }
    }

    /// Checks that every message sent in a life that ended normally is in the journal.
    fn check_spoken(&self) -> Result<(), Violation> {
        let survivors = self.world.store.survivors(&self.world.session_id);
        for spoken in self.spoken.iter().filter(|spoken| spoken.life == self.lives) {
            let kept = survivors.iter().any(
                |event| matches!(&event.event, AgentEvent::MessageQueued { message, .. } if message.id() == spoken.id),
            );
            if !kept {
                return Err(Violation::LostText);
            }
        }
        Ok(())
    }

    pub(super) fn report(&self, prefixes: u64) -> Report {
        let survivors = self.world.store.survivors(&self.world.session_id);
        let mut hasher = DefaultHasher::new();
        for event in &survivors {
            (event.seq, event.id, event.timestamp).hash(&mut hasher);
        }
        Report {
            events: survivors.len() as u64,
            lives: self.lives,
            faults: self.world.store.injected_faults().len() as u64,
            executions: self.world.ledger.len() as u64,
            requests: self.world.model.requests() as u64,
            prefixes,
            virtual_ms: u64::try_from(self.world.clock.now().since(EPOCH).as_millis()).unwrap_or(u64::MAX),
            fingerprint: hasher.finish(),
        }
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.world.watch.log().iter().map(line).collect()
    }
}

fn line(entry: &Entry) -> String {
    match entry {
        Entry::Life(life) => format!("=== life {life}"),
        Entry::Hook(hook) => format!("hook  {hook:?}"),
        Entry::Event(event) => {
            let kind = if event.is_durable() { "saved" } else { "live " };
            let mut text = format!("{:?}", event.event);
            if text.len() > 400 {
                let end = text
                    .char_indices()
                    .map(|(at, _)| at)
                    .take_while(|at| *at <= 400)
                    .last()
                    .unwrap_or_default();
                text.truncate(end);
            }
            format!("{kind} {:>4} {} {text}", event.seq, event.timestamp)
        }
    }
}

/// What a process needs for its life.
struct Process {
    ports: Arc<lariat_runtime::drive::Ports>,
    config: Arc<lariat_core::run::RunConfig>,
    journal: Arc<Journal>,
    entropy: Arc<dyn EntropySource>,
    clock: Arc<dyn Clock>,
    loops: u64,
    link: Arc<ProcessLink>,
}

impl Process {
    fn of(world: &World, journal: Arc<Journal>, link: Arc<ProcessLink>) -> Self {
        Self {
            ports: world.ports.clone(),
            config: world.config.clone(),
            journal,
            entropy: world.ports.entropy.clone(),
            clock: world.ports.clock.clone(),
            loops: world.loops,
            link,
        }
    }
}

/// The simulated program: continues what was interrupted, then begins what is left to do.
async fn process(process: Process) {
    let link = Arc::clone(&process.link);
    let result = run_all(&process).await;
    link.with(|link| {
        link.handle = None;
        link.result = Some(result);
    });
}

async fn run_all(process: &Process) -> Result<(), DriveError> {
    process.journal.open().await?;
    for _ in 0..MOST_RUNS {
        let events = process.journal.read_from(0).await?;
        let (snapshot, tail) = process.journal.read_live().await?;
        let fold =
            snapshot.as_ref().map_or_else(SessionFold::default, SessionFold::from_snapshot).then(&tail);
        if let Err(violation) = same_fold(&SessionFold::of(&events), &fold) {
            process.link.with(|link| link.violation = Some(violation));
            return Ok(());
        }
        let open = fold.open_loops().next().map(|start| start.loop_id.clone());
        let run = if let Some(loop_id) = open {
            let stamp = lariat_core::clock::stamp(&*process.clock, &*process.entropy);
            match Run::recover_from(process.config.clone(), &fold, snapshot.as_ref(), &tail, &loop_id) {
                Ok(recovered) => recovered.resume(stamp),
                Err(error) => {
                    process
                        .link
                        .with(|link| link.violation = Some(Violation::NotRecovered(error.to_string())));
                    return Ok(());
                }
            }
        } else {
            let begun = loops_begun(&events);
            if begun >= process.loops {
                return Ok(());
            }
            match next_loop(process, &fold, begun) {
                Ok(run) => run,
                Err(error) => {
                    process.link.with(|link| link.violation = Some(Violation::NotStarted(error)));
                    return Ok(());
                }
            }
        };
        let cancel = CancellationToken::new();
        let (driver, handle) =
            Driver::new(process.ports.clone(), process.journal.clone(), Box::new(run), cancel);
        process.link.with(|link| link.handle = Some(handle));
        let driven = driver.drive().await?;
        process.link.with(|link| {
            link.handle = None;
            link.unread.extend(driven.unread.iter().map(|(_, message)| message.clone()));
        });
        let events = process.journal.read_from(0).await?;
        let live: Vec<SharedMessage> = driven.parts.transcript.window().iter().cloned().collect();
        if let Err(violation) = same_conversation(&SessionFold::of(&events), driven.parts.tip, &live) {
            process.link.with(|link| link.violation = Some(violation));
        }
    }
    process.link.with(|link| link.violation = Some(Violation::NeverEnds));
    Ok(())
}

fn loops_begun(events: &[lariat_core::event::Event]) -> u64 {
    // A run that its first hook stopped has an end but no start.
    events.iter().filter(|event| matches!(event.event, AgentEvent::AgentEnd { .. })).count() as u64
}

fn next_loop(process: &Process, fold: &SessionFold, n: u64) -> Result<Run, String> {
    let base = fold.tip();
    let (transcript, _) = fold.conversation(base);
    let session_id = process.journal.session_id().clone();
    let loop_id = LoopId::compose(&session_id, "sim", n);
    let mut start = LoopStart::new(AgentId::from("agent"), session_id, loop_id);
    start.base = base;
    let prompts = vec![AgentMessage::user(format!("prompt {n}"))];
    let mut run =
        Run::new(process.config.clone(), start, n, transcript, prompts).map_err(|error| error.to_string())?;
    for (queue, message) in fold.queued_messages() {
        run.queue_earlier_message(queue, Arc::clone(message));
    }
    Ok(run)
}

/// Checks that a fold that began with a snapshot equals one over all events.
fn same_fold(all: &SessionFold, live: &SessionFold) -> Result<(), Violation> {
    let differ = |what: &str| Err(Violation::FoldDiffers(format!("{what} after a snapshot")));
    if live.lacks_history() || all.tip() != live.tip() {
        return differ("the tip");
    }
    let conversation = |fold: &SessionFold| -> Vec<SharedMessage> {
        fold.conversation(fold.tip()).0.window().iter().cloned().collect()
    };
    if conversation(all) != conversation(live) {
        let ids = |fold| conversation(fold).iter().map(|message| message.id()).collect::<Vec<MessageId>>();
        return differ(&format!(
            "all events give {:?}, the newest {:?}: the conversation",
            ids(all),
            ids(live)
        ));
    }
    // Each queue has an order; there is none between the two.
    let queued = |fold: &SessionFold| {
        let of = |wanted: QueueKind| {
            let messages = fold.queued_messages().filter(move |(queue, _)| *queue == wanted);
            messages.map(|(_, message)| message.id()).collect::<Vec<_>>()
        };
        (of(QueueKind::Steering), of(QueueKind::FollowUp))
    };
    if queued(all) != queued(live) {
        return differ("the queues");
    }
    let open = |fold: &SessionFold| fold.open_loops().cloned().collect::<Vec<LoopStart>>();
    if open(all) != open(live) { differ("an open loop") } else { Ok(()) }
}

/// Checks that the conversation in the journal equals the one of the run.
fn same_conversation(
    fold: &SessionFold,
    tip: Option<MessageId>,
    live: &[SharedMessage],
) -> Result<(), Violation> {
    let (read, _): (Transcript, _) = fold.conversation(tip);
    let read: Vec<MessageId> = read.window().iter().map(|message| message.id()).collect();
    let live: Vec<MessageId> = live.iter().map(|message| message.id()).collect();
    if read == live { Ok(()) } else { Err(Violation::FoldDiffers(format!("live {live:?}, read {read:?}"))) }
}
