//! The simulated program: continues what was interrupted, then begins what is left to do.
//!
//! A loop runs in the main task. Branches run in tasks of their own, which the simulator starts, so that the seed decides which
//! of them runs next. Compares, before each task, what a snapshot gives with what all events give.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{Either, join_all, select};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::clock::{Clock, EntropySource};
use lariat_core::event::{AgentEvent, Event, EventRecord, FORMAT_VERSION, LoopStart, QueueKind};
use lariat_core::id::{AgentId, EventId, LoopId, MessageId};
use lariat_core::message::{AgentMessage, SharedMessage};
use lariat_core::run::{GroupBase, Run, RunConfig, SessionSnapshot};
use lariat_core::session::{BranchGroup, SessionFold, SessionMemory};
use lariat_core::time::Minter;
use lariat_core::transcript::Transcript;
use lariat_core::usage::Usage;
use lariat_runtime::drive::{DriveError, Driver, FinishedRun, Journal, RunHandle};
use tokio::sync::oneshot;

use super::super::violation::Violation;
use super::loop_ports::LoopPorts;
use super::world::{SimTask, World};

/// Maximum runs of one process: a finished run must not be started again.
const MOST_RUNS: usize = 20;
/// Loop numbers per task: more than a group has branches.
const NUMBERS: u64 = 10;

/// What a process shares with the simulator.
#[derive(Default)]
pub(super) struct ProcessLink {
    state: Mutex<ProcessLinkState>,
}

#[derive(Default)]
pub(super) struct ProcessLinkState {
    /// The loops that run.
    pub(super) handles: Vec<RunHandle>,
    /// Branches that the simulator must start.
    pub(super) spawned: Vec<BoxFuture<'static, ()>>,
    pub(super) unread: Vec<AgentMessage>,
    /// The loops that came to their end in this process.
    pub(super) ended: Vec<LoopId>,
    pub(super) result: Option<Result<(), DriveError>>,
    pub(super) violation: Option<Violation>,
}

impl ProcessLink {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut ProcessLinkState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn remove(&self, loop_id: &LoopId) {
        self.with(|link| link.handles.retain(|handle| handle.loop_id() != loop_id));
    }
}

/// What a process needs for its life.
pub(super) struct Process {
    ports: Arc<LoopPorts>,
    config: Arc<RunConfig>,
    journal: Arc<Journal>,
    entropy: Arc<dyn EntropySource>,
    clock: Arc<dyn Clock>,
    tasks: Arc<[SimTask]>,
    link: Arc<ProcessLink>,
}

/// Why a process stops.
enum Stop {
    Failed(DriveError),
    Broken(Violation),
}

impl From<DriveError> for Stop {
    fn from(error: DriveError) -> Self {
        Self::Failed(error)
    }
}

impl From<lariat_core::store::StoreError> for Stop {
    fn from(error: lariat_core::store::StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Violation> for Stop {
    fn from(violation: Violation) -> Self {
        Self::Broken(violation)
    }
}

/// What a journal contains.
struct Loaded {
    all: Vec<Event>,
    fold: SessionFold,
    snapshot: Option<SessionSnapshot>,
    tail: Vec<Event>,
}

impl Process {
    pub(super) fn of(world: &World, journal: Arc<Journal>, link: Arc<ProcessLink>) -> Self {
        Self {
            ports: Arc::clone(&world.ports),
            config: world.config.clone(),
            journal,
            entropy: world.ports.shared.entropy.clone(),
            clock: world.ports.shared.clock.clone(),
            tasks: Arc::clone(&world.tasks),
            link,
        }
    }

    /// Runs to the end.
    pub(super) async fn run(self) {
        let result = match self.run_all().await {
            Ok(()) => Ok(()),
            Err(Stop::Failed(error)) => Err(error),
            Err(Stop::Broken(violation)) => {
                self.link.with(|link| link.violation = Some(violation));
                Ok(())
            }
        };
        self.link.with(|link| {
            link.handles.clear();
            link.result = Some(result);
        });
    }

    async fn run_all(&self) -> Result<(), Stop> {
        self.journal.open().await?;
        for _ in 0..MOST_RUNS {
            let loaded = self.load().await?;
            if let Some(group) = loaded.fold.memory().groups().first().cloned() {
                self.journal.resume_branches(&loaded.fold, loaded.snapshot.as_ref(), &loaded.tail);
                self.run_group(&group, &loaded).await?;
                continue;
            }
            let done = tasks_done(&loaded.all);
            let open = loaded.fold.open_loops().next().map(|start| start.loop_id.clone());
            match (open, self.tasks.get(done)) {
                (Some(loop_id), _) => self.run_loop(self.recover(&loaded, &loop_id)?).await?,
                (None, Some(SimTask::Loop)) => {
                    let loop_id = self.loop_id(done, 0);
                    self.run_loop(self.new_loop(&loaded.fold, loop_id, &[prompt(done)])?).await?;
                }
                (None, Some(SimTask::Branches { count, .. })) => self.begin_group(done, *count).await?,
                (None, None) => return Ok(()),
            }
        }
        Err(Violation::NeverEnds.into())
    }

    /// Reads the journal, and checks that the newest snapshot says the same as all events.
    async fn load(&self) -> Result<Loaded, Stop> {
        let all = self.journal.read_from(0).await?;
        let (snapshot, tail) = self.journal.read_live().await?;
        let fold =
            snapshot.as_ref().map_or_else(SessionFold::default, SessionFold::from_snapshot).then(&tail);
        same_fold(&SessionFold::of(&all), &fold)?;
        Ok(Loaded { all, fold, snapshot, tail })
    }

    fn loop_id(&self, task: usize, branch: u64) -> LoopId {
        LoopId::compose(self.journal.session_id(), "sim", task as u64 * NUMBERS + branch)
    }

    fn recover(&self, loaded: &Loaded, loop_id: &LoopId) -> Result<Run, Stop> {
        let stamp = lariat_core::clock::stamp(&*self.clock, &*self.entropy);
        let Loaded { fold, snapshot, tail, .. } = loaded;
        Run::recover_from(self.config.clone(), fold, snapshot.as_ref(), tail, loop_id)
            .map(|recovered| recovered.resume(stamp))
            .map_err(|error| Violation::NotRecovered(error.to_string()).into())
    }

    fn new_loop(&self, fold: &SessionFold, loop_id: LoopId, prompts: &[AgentMessage]) -> Result<Run, Stop> {
        let base = fold.tip();
        let (transcript, _) = fold.conversation(base);
        let number = loop_id.number().unwrap_or_default();
        let (agent_id, session_id) = (AgentId::from("agent"), self.journal.session_id().clone());
        let mut start = LoopStart::new(agent_id, session_id, loop_id.clone());
        start.base = base;
        let run = Run::new(self.config.clone(), start, number, transcript, prompts.to_vec());
        let mut run = run.map_err(|error| Stop::from(Violation::NotStarted(error.to_string())))?;
        run.remember(Arc::new(fold.memory().seen_by(&loop_id)));
        if fold.is_branch(&loop_id) {
            for (queue, message) in fold.queued_for(&loop_id) {
                run.queue_earlier_message(queue, Arc::clone(message));
            }
        } else {
            for (queue, message) in fold.queued_messages() {
                run.queue_earlier_message(queue, Arc::clone(message));
            }
        }
        Ok(run)
    }

    fn driver(&self, run: Run) -> Box<Driver> {
        let ports = self.ports.of(run.loop_id());
        let (driver, handle) =
            Driver::new(ports, self.journal.clone(), Box::new(run), CancellationToken::new());
        self.link.with(|link| link.handles.push(handle));
        driver
    }

    async fn run_loop(&self, run: Run) -> Result<(), Stop> {
        let driven = self.driver(run).drive().await?;
        self.take_driven(&driven).await
    }

    /// Checks a finished run against the journal.
    async fn take_driven(&self, driven: &FinishedRun) -> Result<(), Stop> {
        self.link.remove(&driven.loop_id);
        let unread = driven.unread.iter().map(|(_, message)| message.clone());
        self.link.with(|link| {
            link.unread.extend(unread);
            link.ended.push(driven.loop_id.clone());
        });
        let fold = SessionFold::of(&self.journal.read_from(0).await?);
        let live: Vec<SharedMessage> = driven.parts.transcript.window().iter().cloned().collect();
        same_conversation(&fold, driven.parts.tip, &live)?;
        let read = fold.memory().seen_by(&driven.loop_id);
        same_memory(&driven.loop_id, &read, &driven.parts.memory)?;
        Ok(())
    }

    async fn begin_group(&self, task: usize, count: usize) -> Result<(), Stop> {
        let loop_ids = (0..count as u64).map(|branch| self.loop_id(task, branch)).collect();
        let prompts = vec![Arc::new(prompt(task))];
        let session_id = self.journal.session_id().clone();
        self.record(AgentEvent::ParallelLoopStart { session_id, loop_ids, prompts }).await?;
        let loaded = self.load().await?;
        self.journal.begin_branches(GroupBase::of(&loaded.fold), loaded.fold.memory().clone());
        let group = loaded.fold.memory().groups().first().cloned();
        let group = group.ok_or_else(|| Violation::NotStarted("the group is not open".to_owned()))?;
        self.run_group(&group, &loaded).await
    }

    /// Runs the branches that did not end, each in a task of its own, and selects one.
    async fn run_group(&self, group: &BranchGroup, loaded: &Loaded) -> Result<(), Stop> {
        let prompts: Vec<AgentMessage> = group.prompts.iter().map(|one| AgentMessage::clone(one)).collect();
        let mut drivers = Vec::new();
        for branch in group.branches.iter().filter(|branch| branch.ended.is_none()) {
            let run = match loaded.fold.start_of(&branch.loop_id) {
                Some(_) => self.recover(loaded, &branch.loop_id)?,
                None => self.new_loop(&loaded.fold, branch.loop_id.clone(), &prompts)?,
            };
            drivers.push(self.driver(run).as_branch());
        }
        // Like a group of the product: when one branch cannot write, all stop at once.
        let stop = CancellationToken::new();
        let mut running = Vec::new();
        for driver in drivers {
            let (done, result) = oneshot::channel();
            let stop = stop.clone();
            let branch = Box::pin(async move {
                let Either::Right((driven, _)) = select(stop.cancelled(), Box::pin(driver.drive())).await
                else {
                    return;
                };
                if driven.is_err() {
                    stop.cancel();
                }
                drop(done.send(driven));
            });
            self.link.with(|link| link.spawned.push(branch));
            running.push(result);
        }
        let (mut driven, mut failed) = (Vec::new(), None);
        for result in join_all(running).await {
            match result {
                Ok(Ok(done)) => driven.push(done),
                Ok(Err(error)) => failed = Some(error),
                // The branch was stopped.
                Err(_) => {}
            }
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        for done in &driven {
            self.take_driven(done).await?;
        }
        let (index, loop_id) = self.selected(group)?;
        self.record(AgentEvent::ParallelLoopEnd {
            session_id: self.journal.session_id().clone(),
            selected_loop_id: loop_id,
            selected_config_index: index,
            evaluation_usage: Usage::new(3, 1),
        })
        .await
    }

    fn selected(&self, group: &BranchGroup) -> Result<(usize, LoopId), Stop> {
        let first = group.branches.first().and_then(|branch| branch.loop_id.number()).unwrap_or_default();
        let index = match self.tasks.get(usize::try_from(first / NUMBERS).unwrap_or(usize::MAX)) {
            Some(SimTask::Branches { selected, .. }) => *selected,
            _ => 0,
        };
        let branch = group.branches.get(index);
        let branch = branch.ok_or_else(|| Violation::NotStarted("the group lost a branch".to_owned()))?;
        Ok((index, branch.loop_id.clone()))
    }

    /// Records an event about the session.
    async fn record(&self, event: AgentEvent) -> Result<(), Stop> {
        let stamp = lariat_core::clock::stamp(&*self.clock, &*self.entropy);
        let mut minter = Minter::default();
        minter.stamp(stamp);
        let (id, timestamp) = (EventId::new(minter.uuid()), stamp.now);
        let record = EventRecord { v: FORMAT_VERSION, seq: 0, id, timestamp, loop_id: None, event };
        self.journal.append(vec![record], &CancellationToken::new()).await?;
        Ok(())
    }
}

fn prompt(task: usize) -> AgentMessage {
    AgentMessage::user(format!("prompt {task}"))
}

/// Counts the tasks that are done: ended loops and decided groups.
fn tasks_done(events: &[Event]) -> usize {
    let mut done = std::collections::HashSet::new();
    for event in events {
        let number = match &event.event {
            // A run that its first hook stopped has an end but no start.
            AgentEvent::AgentEnd { .. } => event.loop_id.as_ref().and_then(LoopId::number),
            AgentEvent::ParallelLoopEnd { selected_loop_id, .. } => selected_loop_id.number(),
            _ => None,
        };
        done.extend(number.map(|number| number / NUMBERS));
    }
    done.len()
}

/// Checks that a fold that began with a snapshot equals one over all events.
fn same_fold(all: &SessionFold, live: &SessionFold) -> Result<(), Violation> {
    let differ = |what: &str| Err(Violation::FoldDiffers(format!("{what} after a snapshot")));
    if live.lacks_history() || all.tip() != live.tip() {
        return differ("the tip");
    }
    let conversation = |fold: &SessionFold, tip| -> Vec<SharedMessage> {
        fold.conversation(tip).0.window().iter().cloned().collect()
    };
    if conversation(all, all.tip()) != conversation(live, live.tip()) {
        let ids = |fold: &SessionFold| {
            conversation(fold, fold.tip()).iter().map(|message| message.id()).collect::<Vec<MessageId>>()
        };
        return differ(&format!(
            "all events give {:?}, the newest {:?}: the conversation",
            ids(all),
            ids(live)
        ));
    }
    if queues(all.queued_messages()) != queues(live.queued_messages()) {
        return differ("the queues");
    }
    // Branches start at the same time, and a snapshot does not say which was first.
    let open = |fold: &SessionFold| {
        let mut open = fold.open_loops().cloned().collect::<Vec<LoopStart>>();
        open.sort_by_key(|start| start.loop_id.clone());
        open
    };
    if open(all) != open(live) {
        return differ(&format!(
            "all events give {:?}, the newest {:?}: an open loop",
            open(all),
            open(live)
        ));
    }
    if all.memory() != live.memory() {
        return differ(&format!("{:?}\n  and {:?}: the memory", all.memory(), live.memory()));
    }
    for branch in all.memory().groups().iter().flat_map(|group| &group.branches) {
        let loop_id = &branch.loop_id;
        if all.tip_of(loop_id) != live.tip_of(loop_id) {
            return differ(&format!("the tip of branch {loop_id}"));
        }
        if queues(all.queued_for(loop_id)) != queues(live.queued_for(loop_id)) {
            return differ(&format!("the queue of branch {loop_id}"));
        }
        let own = |fold: &SessionFold| fold.tip_of(loop_id).map(|tip| conversation(fold, Some(tip)));
        // The window of a branch without a message of its own is not part of the conversation before it.
        let has_own = all.tip_of(loop_id) != all.start_of(loop_id).and_then(|start| start.base);
        if has_own && own(all) != own(live) {
            return differ(&format!("the conversation of branch {loop_id}"));
        }
    }
    Ok(())
}

/// Returns the messages of each queue. Each has an order; there is none between the two.
fn queues<'a>(
    messages: impl Iterator<Item = (QueueKind, &'a SharedMessage)>,
) -> (Vec<MessageId>, Vec<MessageId>) {
    let (steering, follow_up): (Vec<_>, Vec<_>) =
        messages.partition(|(queue, _)| *queue == QueueKind::Steering);
    let ids = |messages: Vec<(QueueKind, &SharedMessage)>| {
        messages.into_iter().map(|(_, message)| message.id()).collect()
    };
    (ids(steering), ids(follow_up))
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

/// Checks that a loop remembers its own work and nothing of its siblings, live and in the journal alike.
fn same_memory(loop_id: &LoopId, read: &SessionMemory, live: &SessionMemory) -> Result<(), Violation> {
    let own = |memory: &SessionMemory| {
        (memory.plan().to_vec(), memory.failures().to_vec(), Arc::clone(memory.work()))
    };
    if own(read) == own(live) {
        return Ok(());
    }
    Err(Violation::Mixed(format!("{loop_id} remembers {:?}, the journal {:?}", own(live), own(read))))
}
