//! Runs many agents concurrently in one process, and checks that no event is lost and how much memory they
//! take.

use std::sync::Arc;
use std::time::Instant;

use lariat_core::event::AgentEvent;
use lariat_core::permission::AllowAll;
use lariat_core::store::SessionStore;
use lariat_runtime::{Agent, MemoryStore};

use super::Size;
use super::machine::{TURNS_PER_RUN, calling_model, trivial_tool};
use super::measure::{figure, goal, memory_kb};

const GOAL_MB: f64 = 1_024.0;

/// Totals of one run.
#[derive(Default)]
struct Tally {
    completed: u64,
    events: u64,
    lost: u64,
}

pub(crate) fn measure(size: Size) -> bool {
    let runs: u64 = if size == Size::Full { 10_000 } else { 1_000 };
    let Ok(runtime) = tokio::runtime::Builder::new_multi_thread().enable_time().build() else { return false };
    let started = Instant::now();
    let tally = runtime.block_on(run_all(runs));
    let seconds = started.elapsed().as_secs_f64();
    figure("concurrent runs", runs);
    figure("turns per run", TURNS_PER_RUN);
    figure("runs completed", tally.completed);
    figure("durable events observed", tally.events);
    figure("durable events per second", format!("{:.0}", tally.events as f64 / seconds));
    figure("seconds", format!("{seconds:.1}"));
    let lost = goal("durable events lost, by observer or journal", tally.lost as f64, "", 0.0);
    let memory = goal("peak memory", memory_kb("VmHWM") as f64 / 1_024.0, "MB", GOAL_MB);
    lost && memory && tally.completed == runs
}

async fn run_all(runs: u64) -> Tally {
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let gate = Arc::new(tokio::sync::Barrier::new(usize::try_from(runs).unwrap_or(usize::MAX)));
    let mut tasks = Vec::new();
    for _ in 0..runs {
        let (store, gate) = (Arc::clone(&store), Arc::clone(&gate));
        tasks.push(tokio::spawn(async move { run_one(store, &gate).await }));
    }
    let mut sum = Tally::default();
    for task in tasks {
        let tally = task.await.unwrap_or_default();
        sum.completed += tally.completed;
        sum.events += tally.events;
        sum.lost += tally.lost;
    }
    sum
}

/// Runs one agent, observes it to its end and compares the observed events with the journal.
async fn run_one(store: Arc<dyn SessionStore>, gate: &tokio::sync::Barrier) -> Tally {
    let agent = Agent::builder()
        .model(calling_model().with_yields())
        .tool(trivial_tool())
        .permission_policy(AllowAll)
        .repetition(None)
        .store(Arc::clone(&store))
        .build();
    let Ok(agent) = agent else { return Tally::default() };
    // Build all runs before the first one starts, so that they really run concurrently.
    gate.wait().await;
    let mut stream = agent.run_stream("go");
    let (mut observed, mut turns, mut ended) = (0u64, 0usize, false);
    while let Some(event) = stream.next().await {
        if event.is_durable() {
            // A gap shows as a sequence number that is not the next one.
            observed += u64::from(event.seq == observed);
        }
        turns += usize::from(matches!(event.event, AgentEvent::TurnEnd { .. }));
        ended |= matches!(event.event, AgentEvent::AgentEnd { .. });
    }
    let finished = stream.finish().await.is_ok();
    let journaled = store.head(&agent.session_id()).await.unwrap_or_default();
    let completed = finished && ended && turns == TURNS_PER_RUN;
    Tally { completed: u64::from(completed), events: observed, lost: journaled.abs_diff(observed) }
}
