//! The lives of a process with a session host: start, serve, die, repeat.
//!
//! Each life has a runtime of its own, which dies with it. The last life is not disturbed, so that everything that can end does.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use lariat_core::clock::Clock as _;
use lariat_core::event::AgentEvent;
use lariat_test::{EPOCH, ScriptedModel, SeededEntropy, SeededRandom};

use super::super::World;
use super::super::choice::{ChoiceKind, Choices};
use super::super::disk::{Disk, TornBatches};
use super::super::report::{Failure, Report};
use super::super::steps::{Halt, Steps};
use super::super::violation::Violation;
use super::super::wall_clock::WallClock;
use super::commands::CommandBook;
use super::followers::FollowedLog;
use super::ports;
use super::process::Process;
use super::setting::Setting;
use super::watch::Watch;

/// The shortest and the longest time in which a process dies, in calls of its ports. See `loops::life`.
const SHORTEST_LIFE: u64 = 20;
const LIFE_DOUBLINGS: u64 = 6;
/// The longest time between the death of a process and the next one.
const LONGEST_PAUSE_S: u64 = 4_000;

/// A host from its first life to the last.
pub(super) struct Hosts {
    pub(super) setting: Setting,
    pub(super) watch: Arc<Watch>,
    pub(super) commands: Arc<CommandBook>,
    pub(super) followers: Vec<Arc<Mutex<FollowedLog>>>,
    pub(super) model: Arc<ScriptedModel>,
    pub(super) disk: Disk,
    clock: WallClock,
    entropy: Arc<SeededEntropy>,
    random: SeededRandom,
    lives: u64,
}

impl Hosts {
    pub(super) fn new(seed: &SeededRandom, choices: Choices) -> Self {
        let setting = Setting::new(seed);
        let clock = WallClock::new();
        let disk = Disk::new(seed, Arc::new(clock.clone()), &choices, TornBatches::WithoutCommands);
        let model = Arc::new(ports::model(seed, &clock, &choices));
        let watch = Arc::new(Watch::new(setting.clone(), choices, Arc::clone(&disk.store)));
        let commands = Arc::new(CommandBook::new(Arc::clone(&disk.store)));
        let followers = setting.followed().into_iter();
        let followers = followers.map(|session_id| Arc::new(Mutex::new(FollowedLog::new(session_id))));
        let followers = followers.collect();
        let entropy = Arc::new(SeededEntropy::new(seed.fork("entropy").bits()));
        let random = seed.fork("fate");
        Self { setting, watch, commands, followers, model, disk, clock, entropy, random, lives: 0 }
    }

    /// Runs lives until everything is done.
    pub(super) fn play(&mut self) -> Result<(), Violation> {
        while self.lives <= self.setting.troubled_lives {
            let troubled = self.lives < self.setting.troubled_lives;
            if !troubled {
                self.disk.store.heal();
            }
            self.disk.store.reopen();
            self.lives += 1;
            self.live(troubled)?;
            self.watch.book.check(&self.disk.store)?;
            self.commands.check()?;
        }
        Ok(())
    }

    /// Runs one life.
    fn live(&mut self, troubled: bool) -> Result<(), Violation> {
        let (dies, doublings) = (self.random.chance(60), self.random.below(LIFE_DOUBLINGS));
        let (step, pause) =
            (self.random.below(SHORTEST_LIFE << doublings), self.random.below(LONGEST_PAUSE_S));
        let dies = dies && troubled && self.watch.choices.disturb(ChoiceKind::Death);
        let random = self.random.fork(&format!("life {}", self.lives));
        let steps = Steps::new(random.fork("order"), dies.then_some(step));
        self.watch.begin_life(self.lives);
        self.commands.begin_life();
        let process = Arc::new(Process {
            setting: self.setting.clone(),
            watch: Arc::clone(&self.watch),
            commands: Arc::clone(&self.commands),
            followers: self.followers.clone(),
            model: Arc::clone(&self.model),
            store: Arc::clone(&self.disk.store),
            clock: self.clock.clone(),
            entropy: Arc::clone(&self.entropy),
            steps: steps.clone(),
            tool_random: Arc::new(Mutex::new(random.fork("tools"))),
            random,
            troubled,
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.map_err(|error| Violation::NotStarted(error.to_string()))?;
        let clock = self.clock.clone();
        let ended = runtime.block_on(async {
            clock.begin_process(Duration::from_secs(pause));
            let run = std::pin::pin!(process.run());
            let ended = match select(std::pin::pin!(steps.halted()), run).await {
                Either::Left((halt, _)) => Err(halt),
                Either::Right((ended, _)) => Ok(ended),
            };
            clock.end_process();
            ended
        });
        // Whatever runs on meanwhile has no effect any more.
        steps.die();
        self.disk.store.crash();
        drop(runtime);
        if let Some(violation) = self.watch.violation() {
            return Err(violation);
        }
        match ended {
            Err(Halt::Died(step)) if troubled => {
                self.watch.choices.tell(|| format!("Process {} dies, at its call {step}.", self.lives));
                Ok(())
            }
            Err(_) => Err(Violation::NeverEnds),
            Ok(ended) => ended,
        }
    }

    pub(super) fn report(&self) -> Report {
        let mut hasher = DefaultHasher::new();
        let (mut events, mut rewinds) = (0, 0);
        for session_id in &self.disk.store.sessions() {
            let first = self.commands.first_own_event(session_id);
            self.disk.store.inspect(session_id, |journal| {
                for event in journal.iter().filter(|event| event.seq >= first) {
                    events += 1;
                    rewinds += u64::from(matches!(event.event, AgentEvent::Rewound { .. }));
                    (event.seq, event.id, event.timestamp).hash(&mut hasher);
                }
            });
        }
        self.watch.log().hash(&mut hasher);
        let (executions, requests) = self.watch.totals();
        let (commands, retries) = self.commands.totals();
        let connections = self
            .followers
            .iter()
            .map(|seen| seen.lock().unwrap_or_else(PoisonError::into_inner).connections)
            .sum();
        let created = self.commands.sessions();
        let forks = self.commands.forks().into_keys().filter(|fork| created.contains(fork)).count();
        Report {
            events,
            lives: self.lives,
            faults: self.disk.faults(),
            executions,
            requests,
            commands,
            retries,
            forks: forks as u64,
            rewinds,
            connections,
            virtual_ms: u64::try_from(self.clock.now().since(EPOCH).as_millis()).unwrap_or(u64::MAX),
            fingerprint: hasher.finish(),
            ..Report::default()
        }
    }

    pub(super) fn failure(&self, violation: Violation) -> Failure {
        let (choices, left_out, story) = self.watch.choices.summary();
        let (seed, log) = (self.setting.seed, self.watch.log());
        Failure { world: World::Hosts, seed, violation, story, log, choices, left_out }
    }
}
