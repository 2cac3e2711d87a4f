//! The lives of a simulated process: start, run, die, repeat. `process` says what it runs.
//!
//! Sends commands to the process, lets the clock jump and kills the process at any step. It leaves the last life undisturbed,
//! so that everything that can end does.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use lariat_core::clock::Clock;
use lariat_core::event::{AgentEvent, QueueKind};
use lariat_core::id::{LoopId, MessageId, RequestId};
use lariat_core::message::AgentMessage;
use lariat_core::permission::PermissionDecision;
use lariat_core::store::StoreError;
use lariat_core::time::{Minter, Timestamp};
use lariat_runtime::drive::{DriveError, Journal, JournalConfig, RunHandle};
use lariat_test::{EPOCH, Executor, SeededRandom, Step};

use super::super::World as Worlds;
use super::super::choice::{ChoiceKind, Choices};
use super::super::report::{Failure, Report};
use super::super::violation::Violation;
use super::entry::Entry;
use super::process::{Process, ProcessLink};
use super::reader::LaggingReader;
use super::world::World;

/// Events between two snapshots: few, so that most recoveries use one.
const SNAPSHOT_EVERY: u64 = 6;

/// Number of lives in which the process may be killed and receive messages.
const TROUBLED_LIVES: u64 = 5;
/// Maximum steps of a life. The longest legitimate ones take a few thousand.
const STEPS_PER_LIFE: u64 = 50_000;
/// The shortest and the longest time in which a process dies, in steps: each longer time is twice the one before, so that
/// deaths are as likely early as late.
const SHORTEST_LIFE: u64 = 20;
const LIFE_DOUBLINGS: u64 = 9;
/// The longest jump of the clock, forwards and backwards.
const LONGEST_JUMP: Duration = Duration::from_secs(2 * 3_600);
/// Capacity for events between two drains: none may be coalesced or read again here.
const OBSERVER_CAPACITY: usize = 100_000;

/// A simulated session from the first life to the last.
pub(super) struct Session {
    pub(super) seed: u64,
    pub(super) world: World,
    random: SeededRandom,
    lives: u64,
    /// Messages that runs of this process accepted.
    spoken: Vec<SentMessage>,
    /// How many messages users sent.
    sent: usize,
    reader: LaggingReader,
    chatty: bool,
    impatient: bool,
    /// How far the clock jumped in all.
    pub(super) jumped: Duration,
}

/// A message that a user sent to a run and the run accepted.
struct SentMessage {
    id: MessageId,
    loop_id: LoopId,
}

impl Session {
    pub(super) fn new(seed: &SeededRandom, choices: Choices) -> Self {
        let mut random = seed.fork("fate");
        let (chatty, impatient) = (random.chance(50), random.chance(30));
        let world = World::new(seed, choices);
        let reader = LaggingReader::new(world.session_id.clone(), world.book.clone());
        Self {
            seed: seed.seed(),
            world,
            random,
            lives: 0,
            spoken: Vec::new(),
            sent: 0,
            reader,
            chatty,
            impatient,
            jumped: Duration::ZERO,
        }
    }

    /// Runs lives until everything is done.
    pub(super) fn play(&mut self) -> Result<(), Violation> {
        loop {
            let troubled = self.lives < TROUBLED_LIVES;
            if !troubled {
                self.world.disk.store.heal();
            }
            self.world.disk.store.reopen();
            self.lives += 1;
            let done = self.live(troubled)?;
            self.world.book.check(&self.world.disk.store)?;
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
        self.reader.reconnect(&journal);
        let link = Arc::new(ProcessLink::default());
        let order = self.random.fork(&format!("order {}", self.lives));
        let mut executor = Executor::new(world.clock.clone(), order);
        let main = executor.spawn(Process::of(world, Arc::clone(&journal), Arc::clone(&link)).run());
        let mut tasks = vec![main];
        let death = self.death().filter(|_| troubled && self.world.choices.disturb(ChoiceKind::Death));
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
            if self.random.chance(10) {
                self.reader.look()?;
            }
            if self.world.disk.store.is_crashed() || death == Some(step) {
                self.world.choices.tell(|| format!("Process {} dies, after {step} steps.", self.lives));
                self.world.disk.store.crash();
                for task in tasks {
                    executor.kill(task);
                }
                self.check_spoken(&link)?;
                return Ok(false);
            }
            match done {
                Step::Finished(task) if task == main => return self.after_end(&link, &journal),
                Step::Idle => return self.after_end(&link, &journal),
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

    /// Draws the step at which the process dies, in half of the lives.
    fn death(&mut self) -> Option<u64> {
        let (dies, doublings) = (self.random.chance(50), self.random.below(LIFE_DOUBLINGS));
        let step = self.random.below(SHORTEST_LIFE << doublings);
        dies.then_some(step)
    }

    fn after_end(&mut self, link: &ProcessLink, journal: &Journal) -> Result<bool, Violation> {
        self.check_spoken(link)?;
        match link.with(|link| link.result.take()) {
            Some(Ok(())) => {
                // Until here, reading may have failed.
                self.world.disk.store.heal();
                let end = self.world.disk.store.inspect(&self.world.session_id, |events| events.len() as u64);
                self.reader.finish(journal, &self.world.clock, end)?;
                Ok(true)
            }
            Some(Err(DriveError::Journal(StoreError::Unavailable(_)))) => Ok(false),
            Some(Err(DriveError::Journal(StoreError::Fenced { .. }))) if self.world.disk.was_fenced() => {
                Ok(false)
            }
            Some(Err(error)) => Err(Violation::WrongError(error.to_string())),
            None => Err(Violation::NeverEnds),
        }
    }

    /// Sends commands to the process, at any step, and lets the clock jump.
    fn interfere(&mut self, link: &ProcessLink) {
        self.jump();
        let roll = self.random.below(1_000);
        let handles = link.with(|link| link.handles.clone());
        if handles.is_empty() {
            return;
        }
        let Some(handle) = self.random.pick(&handles).cloned() else { return };
        match roll {
            0..=39 if self.chatty && self.sent < 5 && self.disturb(ChoiceKind::Message) => {
                let queue = if roll < 20 { QueueKind::Steering } else { QueueKind::FollowUp };
                let mut message = AgentMessage::user(format!("by the way {roll}"));
                let mut minter = Minter::default();
                let entropy = self.random.bits();
                minter.stamp(lariat_core::time::Stamp { now: self.world.clock.now(), entropy });
                message.assign_id(|| MessageId::new(minter.uuid()));
                let id = message.id();
                self.sent += 1;
                if handle.queue(queue, message).is_ok() {
                    let loop_id = handle.loop_id().clone();
                    self.world.choices.tell(|| format!("A user sends a message to {loop_id}."));
                    self.spoken.push(SentMessage { id, loop_id });
                }
            }
            40..=49 if self.impatient && self.disturb(ChoiceKind::Cancel) => {
                self.world.choices.tell(|| format!("A user cancels {}.", handle.loop_id()));
                handle.cancel();
            }
            50..=149 => {
                let request = self.open_question();
                if let Some(request) = request.filter(|_| self.disturb(ChoiceKind::Answer)) {
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

    fn disturb(&self, kind: ChoiceKind) -> bool {
        self.world.choices.disturb(kind)
    }

    /// Sets the clock forwards or backwards, in some worlds.
    fn jump(&mut self) {
        if !self.world.has_jumps || self.random.below(400) > 0 {
            return;
        }
        let limit = u64::try_from(LONGEST_JUMP.as_millis()).unwrap_or(u64::MAX) >> self.random.below(20);
        let (distance, is_back) = (self.random.below(limit), self.random.chance(50));
        if !self.disturb(ChoiceKind::Clock) {
            return;
        }
        let now = self.world.clock.now().as_millis();
        // Never before the start of the world.
        let earlier = now.saturating_sub(distance).max(EPOCH.as_millis());
        let to = if is_back { earlier } else { now.saturating_add(distance) };
        self.world.choices.tell(|| {
            let direction = if is_back { "back" } else { "forward" };
            format!("The clock jumps {direction} by {} ms.", to.abs_diff(now))
        });
        self.jumped += Duration::from_millis(to.abs_diff(now));
        self.world.clock.jump_to(Timestamp::from_millis(to));
    }

    fn open_question(&self) -> Option<RequestId> {
        self.world.disk.store.inspect(&self.world.session_id, |events| {
            events.iter().rev().find_map(|event| match &event.event {
                AgentEvent::PermissionRequired { request } => Some(request.id),
                _ => None,
            })
        })
    }

    /// Checks that the messages that the runs of a process accepted are in the journal, for each run that came to its end in this
    /// process, or that it returned them. Messages in the mailbox of a process that dies are lost with it.
    fn check_spoken(&mut self, link: &ProcessLink) -> Result<(), Violation> {
        let (ended, unread) =
            link.with(|link| (std::mem::take(&mut link.ended), std::mem::take(&mut link.unread)));
        let returned: Vec<MessageId> = unread.iter().map(AgentMessage::id).collect();
        for spoken in std::mem::take(&mut self.spoken) {
            if !ended.contains(&spoken.loop_id) || returned.contains(&spoken.id) {
                continue;
            }
            let is_kept = self.world.disk.store.inspect(&self.world.session_id, |events| {
                events.iter().any(|event| {
                    matches!(&event.event, AgentEvent::MessageQueued { message, .. } if message.id() == spoken.id)
                })
            });
            if !is_kept {
                return Err(Violation::LostText(format!("{} to {}", spoken.id, spoken.loop_id)));
            }
        }
        Ok(())
    }

    pub(super) fn report(&self, prefixes: u64) -> Report {
        let mut hasher = DefaultHasher::new();
        let events = self.world.disk.store.inspect(&self.world.session_id, |events| {
            events.iter().for_each(|event| (event.seq, event.id, event.timestamp).hash(&mut hasher));
            events.len() as u64
        });
        self.world.watch.hash_log(&mut hasher);
        Report {
            events,
            lives: self.lives,
            faults: self.world.disk.faults(),
            executions: self.world.ports.ledgers().iter().map(|(_, ledger)| ledger.len() as u64).sum(),
            requests: self.world.model.requests() as u64,
            prefixes,
            virtual_ms: u64::try_from(self.world.clock.now().since(EPOCH).as_millis()).unwrap_or(u64::MAX),
            fingerprint: hasher.finish(),
            ..Report::default()
        }
    }

    pub(super) fn failure(&self, violation: Violation) -> Failure {
        let (choices, left_out, story) = self.world.choices.summary();
        let loops = format!("{}.sim.", self.world.session_id);
        let story = story.iter().map(|sentence| sentence.replace(&loops, "Loop ")).collect();
        let log = self.world.watch.log().iter().map(line).collect();
        Failure { world: Worlds::Loops, seed: self.seed, violation, story, log, choices, left_out }
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
