//! The lives of a simulated process: start, run, die, repeat. `process` says what it runs.
//!
//! Sends commands to the process at any step, and kills it at any step. It leaves the last life undisturbed,
//! so that everything that can end does.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use lariat_core::clock::Clock;
use lariat_core::event::{AgentEvent, QueueKind};
use lariat_core::id::{LoopId, MessageId, RequestId};
use lariat_core::message::AgentMessage;
use lariat_core::permission::PermissionDecision;
use lariat_core::store::StoreError;
use lariat_core::time::Minter;
use lariat_runtime::drive::{DriveError, Journal, JournalConfig, RunHandle};
use lariat_test::{EPOCH, Executor, Fault, SeededRandom, Step};

use super::Report;
use super::entry::Entry;
use super::process::{Process, ProcessLink};
use super::violation::Violation;
use super::world::{SimTask, World};

/// Events between two snapshots: few, so that most recoveries use one.
const SNAPSHOT_EVERY: u64 = 6;

/// Number of lives in which the process may be killed and receive messages.
const TROUBLED_LIVES: u64 = 5;
/// Maximum steps of a life. The longest legitimate ones take a few thousand.
const STEPS_PER_LIFE: u64 = 50_000;
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
            world.ports.shared.clock.clone(),
            world.ports.shared.entropy.clone(),
            JournalConfig { snapshot_every: SNAPSHOT_EVERY, ..JournalConfig::default() },
        ));
        world.watch.begin_life(self.lives, journal.hub().subscribe(OBSERVER_CAPACITY));
        let link = Arc::new(ProcessLink::default());
        let mut executor = Executor::new(world.clock.clone(), self.random.fork("order"));
        let main = executor.spawn(Process::of(world, journal, Arc::clone(&link)).run());
        let mut tasks = vec![main];
        let steps = 80 * self.width();
        let death = (troubled && self.random.chance(50)).then(|| self.random.below(steps));
        let mut stopped: Vec<LoopId> = Vec::new();
        for step in 0..STEPS_PER_LIFE {
            let done = executor.step();
            let branches = link.with(|link| std::mem::take(&mut link.spawned));
            tasks.extend(branches.into_iter().map(|branch| executor.spawn(branch)));
            self.world.watch.drain();
            if let Some(violation) =
                self.world.watch.violation().or_else(|| link.with(|link| link.violation.take()))
            {
                return Err(violation);
            }
            if self.world.store.is_crashed() || death == Some(step) {
                self.world.store.crash();
                for task in tasks {
                    executor.kill(task);
                }
                return Ok(false);
            }
            match done {
                Step::Finished(task) if task == main => return self.after_end(&link),
                Step::Idle => return self.after_end(&link),
                // Without limits a tool or an approval may take forever; then the user cancels each loop, once.
                Step::Stalled => {
                    let handles = link.with(|link| link.handles.clone());
                    let is_new = |handle: &&RunHandle| !stopped.contains(handle.loop_id());
                    let handles: Vec<&RunHandle> = handles.iter().filter(is_new).collect();
                    if self.world.config.limits.is_some() || handles.is_empty() {
                        return Err(Violation::Hangs);
                    }
                    handles.iter().for_each(|handle| handle.cancel());
                    let ids: Vec<LoopId> = handles.iter().map(|handle| handle.loop_id().clone()).collect();
                    stopped.extend(ids);
                }
                Step::Finished(_) | Step::Polled(_) | Step::Advanced => {}
            }
            if troubled {
                self.interfere(&link);
            }
        }
        Err(Violation::NeverEnds)
    }

    /// Returns the most loops that run at the same time.
    fn width(&self) -> u64 {
        let width = |task: &SimTask| match task {
            SimTask::Loop => 1,
            SimTask::Branches { count, .. } => *count as u64,
        };
        self.world.tasks.iter().map(width).max().unwrap_or(1)
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
        let handles = link.with(|link| link.handles.clone());
        if handles.is_empty() {
            return;
        }
        let Some(handle) = self.random.pick(&handles).cloned() else { return };
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
                    // A loop ignores answers to questions of another.
                    for handle in &handles {
                        handle.respond_permission(request, decision.clone());
                    }
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
            executions: self.world.ports.ledgers().iter().map(|(_, ledger)| ledger.len() as u64).sum(),
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
        Entry::Hook(loop_id, hook) => format!("hook  {loop_id} {hook:?}"),
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
            let loop_id = event.loop_id.as_ref().map_or("-", |loop_id| loop_id.as_str());
            format!("{kind} {:>4} {} {loop_id} {text}", event.seq, event.timestamp)
        }
    }
}
