//! The lives of a process with a tree of agents: start, run, die, repeat.
//!
//! Each life has a runtime of its own, which dies with it. The last life is not disturbed, so that everything that can end does.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use lariat_core::clock::Clock as _;
use lariat_core::id::{SessionId, ToolCallId};
use lariat_core::store::StoreError;
use lariat_runtime::AgentError;
use lariat_runtime::drive::DriveError;
use lariat_test::{EPOCH, ScriptedModel, SeededEntropy, SeededRandom};

use super::super::World;
use super::super::choice::{ChoiceKind, Choices};
use super::super::disk::{Disk, TornBatches};
use super::super::report::{Failure, Report};
use super::super::steps::{Halt, Steps};
use super::super::violation::Violation;
use super::super::wall_clock::WallClock;
use super::super::witness::Book;
use super::ports;
use super::process::{Process, Stop};
use super::setting::Setting;
use super::watch::Watch;

/// Number of lives in which the process may be killed and disturbed.
const TROUBLED_LIVES: u64 = 5;
/// The shortest and the longest time in which a process dies, in calls of its ports. See `loops::life`.
const SHORTEST_LIFE: u64 = 20;
const LIFE_DOUBLINGS: u64 = 8;
/// The longest time between the death of a process and the next one.
const LONGEST_PAUSE_S: u64 = 4_000;

/// A tree of agents from the first life to the last.
pub(super) struct Tree {
    pub(super) setting: Setting,
    pub(super) watch: Arc<Watch>,
    pub(super) model: Arc<ScriptedModel>,
    pub(super) disk: Disk,
    clock: WallClock,
    entropy: Arc<SeededEntropy>,
    random: SeededRandom,
    lives: u64,
}

impl Tree {
    pub(super) fn new(seed: &SeededRandom, choices: Choices) -> Self {
        let setting = Setting::new(seed);
        let (clock, book) = (WallClock::new(), Book::default());
        let disk = Disk::new(seed, Arc::new(clock.clone()), &choices, TornBatches::All);
        let model = Arc::new(ports::model(seed, &setting, &clock, &choices));
        let watch = Arc::new(Watch::new(setting.clone(), book, choices));
        let entropy = Arc::new(SeededEntropy::new(seed.fork("entropy").bits()));
        Self { setting, watch, model, disk, clock, entropy, random: seed.fork("fate"), lives: 0 }
    }

    /// Runs lives until everything is done.
    pub(super) fn play(&mut self) -> Result<(), Violation> {
        loop {
            let troubled = self.lives < TROUBLED_LIVES;
            if !troubled {
                self.disk.store.heal();
            }
            self.disk.store.reopen();
            self.lives += 1;
            let done = self.live(troubled)?;
            self.watch.book.check(&self.disk.store)?;
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
        let (dies, doublings) = (self.random.chance(60), self.random.below(LIFE_DOUBLINGS));
        let (step, pause) =
            (self.random.below(SHORTEST_LIFE << doublings), self.random.below(LONGEST_PAUSE_S));
        let dies = dies && troubled && self.watch.choices.disturb(ChoiceKind::Death);
        let random = self.random.fork(&format!("life {}", self.lives));
        let steps = Steps::new(random.fork("order"), dies.then_some(step));
        self.watch.begin_life(self.lives);
        let process = Process {
            setting: self.setting.clone(),
            watch: Arc::clone(&self.watch),
            model: Arc::clone(&self.model),
            store: Arc::clone(&self.disk.store),
            clock: self.clock.clone(),
            entropy: Arc::clone(&self.entropy),
            steps: steps.clone(),
            random,
            troubled,
        };
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
            Err(Halt::Died(step)) => {
                self.watch.choices.tell(|| format!("Process {} dies, at its call {step}.", self.lives));
                Ok(false)
            }
            Err(Halt::TooLong) => Err(Violation::NeverEnds),
            Ok(Ok(())) => Ok(true),
            Ok(Err(Stop::Broken(violation))) => Err(violation),
            Ok(Err(Stop::Failed(error))) => self.explain(&error).map(|()| false),
        }
    }

    /// Checks that a run that stopped before its end did so because of the store.
    fn explain(&self, error: &AgentError) -> Result<(), Violation> {
        match error {
            AgentError::Store(error) | AgentError::Drive(DriveError::Journal(error)) => match error {
                StoreError::Unavailable(_) => Ok(()),
                StoreError::Fenced { .. } | StoreError::Conflict { .. } if self.disk.was_fenced() => Ok(()),
                error => Err(Violation::WrongError(error.to_string())),
            },
            AgentError::Interrupted(_) => Ok(()),
            error => Err(Violation::WrongError(error.to_string())),
        }
    }

    pub(super) fn report(&self, prefixes: u64) -> Report {
        let mut hasher = DefaultHasher::new();
        let sessions = self.disk.store.sessions();
        let mut events = 0;
        for session_id in &sessions {
            self.disk.store.inspect(session_id, |journal| {
                events += journal.len() as u64;
                journal.iter().for_each(|event| (event.seq, event.id, event.timestamp).hash(&mut hasher));
            });
        }
        self.watch.log().hash(&mut hasher);
        let (executions, requests) = self.watch.totals();
        Report {
            events,
            lives: self.lives,
            faults: self.disk.faults(),
            executions,
            requests,
            prefixes,
            sub_agents: sessions.len().saturating_sub(1) as u64,
            virtual_ms: u64::try_from(self.clock.now().since(EPOCH).as_millis()).unwrap_or(u64::MAX),
            fingerprint: hasher.finish(),
            ..Report::default()
        }
    }

    pub(super) fn failure(&self, violation: Violation) -> Failure {
        let (choices, left_out, story) = self.watch.choices.summary();
        let (seed, log) = (self.setting.seed, self.watch.log());
        let names: Vec<(String, String)> = self.watch.book.lineage(|lineage| {
            let name =
                |(session, call): (&SessionId, &ToolCallId)| (session.to_string(), format!("Agent {call}"));
            lineage.calls().map(name).collect()
        });
        let named = |sentence: &String| {
            names.iter().fold(sentence.replace("root", "Root"), |text, (id, name)| text.replace(id, name))
        };
        let story = story.iter().map(named).collect();
        Failure { world: World::Agents, seed, violation, story, log, choices, left_out }
    }
}
