//! A tree of sub-agents in one process: what an idle agent costs, whether events are lost, and whether the pool is enforced.
//!
//! Every agent above the last level delegates to several sub-agents in one reply; those of the last level wait until all of
//! them exist. Observers count the durable events of every session, and the store is asked for the same.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use lariat_core::budget::BudgetLimits;
use lariat_core::cancel::CancellationToken;
use lariat_core::config::ExecutionLimits;
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::SessionId;
use lariat_core::model::{ModelStream, StreamConfig, StreamProvider};
use lariat_core::permission::AllowAll;
use lariat_core::store::SessionStore;
use lariat_core::usage::Usage;
use lariat_runtime::{Agent, BudgetPool, MemoryStore, Observer, SubAgent, SubAgentTool};
use lariat_test::{Reply, ScriptedModel};
use serde_json::json;
use tokio::sync::watch;

/// Tokens that every model call uses.
const TOKENS: u64 = 100;

/// What a tree showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeReport {
    /// Number of sub-agents.
    pub agents: usize,
    /// Number of levels below the root.
    pub depth: usize,
    /// Durable events of all sessions.
    pub events: usize,
    /// Memory while all sub-agents exist and wait, in bytes per sub-agent; 0 if it was not measured.
    pub idle_bytes: usize,
    /// Tokens that the pool counted.
    pub spent: u64,
    /// Largest number of model calls at the same time.
    pub calls_in_flight: usize,
}

/// Runs a tree with these numbers of sub-agents per agent, level by level. `memory` returns the memory of the process in bytes.
///
/// # Errors
/// The first thing that is not as it should be.
pub async fn tree(
    widths: &[usize],
    pool: Option<u64>,
    memory: impl Fn() -> usize,
) -> Result<TreeReport, String> {
    let (open, gate) = watch::channel(false);
    let model = Arc::new(TreeModel::new(widths, gate));
    let store = Arc::new(MemoryStore::new());
    let observed = Arc::new(ObservedEvents::default());
    let limit = pool.unwrap_or(u64::MAX / 4);
    let pool = BudgetPool::new(BudgetLimits::none().with_tokens(limit));
    let sub_agent = SubAgent::new("agent").with_max_depth(widths.len()).with_max_running(usize::MAX);
    let agent = Agent::builder()
        .provider(model.clone())
        .store(store.clone())
        .session_id("root")
        .permission_policy(AllowAll)
        .limits(ExecutionLimits::none())
        .max_tokens(u32::try_from(TOKENS).unwrap_or(u32::MAX))
        .budget_pool(pool.clone())
        .observer(observed.clone())
        .tool(SubAgentTool::of(sub_agent))
        .build()
        .map_err(|error| error.to_string())?;
    let leaves: usize = widths.iter().product();
    let before = memory();
    let stream = agent.run_stream("level 0");
    let running = tokio::spawn(stream.finish_detached());
    let is_limited = limit < u64::MAX / 4;
    while !is_limited && model.waiting.load(Ordering::Acquire) < leaves {
        if running.is_finished() {
            return Err("the tree ended before all agents existed".to_owned());
        }
        tokio::task::yield_now().await;
    }
    let idle = memory().saturating_sub(before);
    let _ = open.send(true);
    let output = running.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    let mut report = TreeReport { depth: widths.len(), spent: pool.spent().tokens, ..TreeReport::default() };
    report.calls_in_flight = model.most_in_flight.load(Ordering::Acquire);
    let sessions = sessions(&*store).await?;
    report.agents = sessions.len() - 1;
    report.idle_bytes = idle / report.agents.max(1);
    for (session, events) in &sessions {
        let seen = observed.count(session);
        if seen != events.len() {
            return Err(format!(
                "session {session}: the store has {} events, observers saw {seen}",
                events.len()
            ));
        }
        report.events += events.len();
    }
    if !pool.is_idle() {
        return Err("the pool still holds a reservation".to_owned());
    }
    let most = limit.saturating_add(report.calls_in_flight as u64 * TOKENS);
    if report.spent > most {
        return Err(format!(
            "the pool of {limit} tokens counts {} with {} calls",
            report.spent, report.calls_in_flight
        ));
    }
    let expected: usize = widths
        .iter()
        .scan(1, |level, width| {
            *level *= width;
            Some(*level)
        })
        .sum();
    if !is_limited && (report.agents != expected || !output.outcome.is_completed()) {
        return Err(format!("{} of {expected} sub-agents ran: {:?}", report.agents, output.outcome));
    }
    Ok(report)
}

/// Reads the sessions of the tree from the root on, and checks that each sub-agent ended and that its parent knows.
async fn sessions(store: &dyn SessionStore) -> Result<HashMap<SessionId, Vec<Event>>, String> {
    let (mut found, mut open) = (HashMap::new(), vec![SessionId::from("root")]);
    while let Some(session) = open.pop() {
        let events = store.read(&session, 0, usize::MAX).await.map_err(|error| error.to_string())?;
        let (mut spawned, mut completed) = (0, 0);
        for event in &events {
            match &event.event {
                AgentEvent::SubAgentSpawned { child_session_id, .. } => {
                    spawned += 1;
                    open.push(child_session_id.clone());
                }
                AgentEvent::SubAgentCompleted { .. } => completed += 1,
                _ => {}
            }
        }
        if spawned != completed {
            return Err(format!("session {session}: {spawned} sub-agents began, {completed} ended"));
        }
        // A sub-agent that was refused before it began has no events.
        if events.last().is_some_and(|event| !matches!(event.event, AgentEvent::AgentEnd { .. })) {
            return Err(format!("session {session} has no end"));
        }
        found.insert(session, events);
    }
    Ok(found)
}

/// A model that delegates on every level but the last, and answers after that.
struct TreeModel {
    inner: ScriptedModel,
    levels: usize,
    gate: watch::Receiver<bool>,
    /// Agents of the last level that wait.
    waiting: Arc<AtomicUsize>,
    in_flight: Arc<AtomicUsize>,
    most_in_flight: AtomicUsize,
}

impl TreeModel {
    fn new(widths: &[usize], gate: watch::Receiver<bool>) -> Self {
        let list = widths.to_vec();
        let inner = ScriptedModel::from_fn(move |_, request| {
            let is_answer = request.messages.iter().any(|message| message.as_tool_result().is_some());
            let level = level(request);
            let reply = match list.get(level).filter(|_| !is_answer) {
                Some(width) => Reply::calls((0..*width).map(|at| {
                    let task = json!({ "task": format!("level {}", level + 1) });
                    (format!("c{at}"), "agent", task)
                })),
                None => Reply::text("done"),
            };
            reply.with_usage(Usage::new(TOKENS / 2, TOKENS / 2))
        });
        Self {
            inner,
            levels: widths.len(),
            gate,
            waiting: Arc::default(),
            in_flight: Arc::default(),
            most_in_flight: AtomicUsize::new(0),
        }
    }
}

/// The level that the first message of a conversation names.
fn level(request: &StreamConfig) -> usize {
    let first = request.messages.iter().find_map(|message| message.as_llm().map(|message| message.text()));
    first.and_then(|text| text.rsplit(' ').next()?.parse().ok()).unwrap_or_default()
}

/// Counts one model call until it is dropped.
struct InFlight(Arc<AtomicUsize>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl StreamProvider for TreeModel {
    fn provider_id(&self) -> &str {
        self.inner.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        let now = self.in_flight.fetch_add(1, Ordering::AcqRel) + 1;
        self.most_in_flight.fetch_max(now, Ordering::AcqRel);
        let call = InFlight(Arc::clone(&self.in_flight));
        let waits = level(&request) == self.levels;
        let (mut gate, waiting) = (self.gate.clone(), Arc::clone(&self.waiting));
        let reply = self.inner.stream(request, cancel);
        let reply = futures_util::stream::once(async move {
            if waits {
                waiting.fetch_add(1, Ordering::AcqRel);
                let _ = gate.wait_for(|open| *open).await;
            }
            reply
        });
        Box::pin(reply.flatten().map(move |event| {
            let _counted = &call;
            event
        }))
    }
}

/// Counts the durable events that observers receive.
#[derive(Default)]
struct ObservedEvents(Mutex<HashMap<SessionId, usize>>);

impl ObservedEvents {
    fn count(&self, session: &SessionId) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(session).copied().unwrap_or_default()
    }
}

impl Observer for ObservedEvents {
    fn observe(&self, session_id: &SessionId, event: &Event) {
        if event.is_durable() {
            let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *seen.entry(session_id.clone()).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn tree_of_sub_agents_loses_no_event() {
        let report = tree(&[2, 2, 2, 2, 2], None, || 0).await.unwrap();
        assert_eq!((report.agents, report.depth), (62, 5));
        // The agents above the last level call the model twice, the others once.
        assert_eq!(report.spent, (31 * 2 + 32) * TOKENS);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn pool_is_exceeded_by_the_calls_in_flight_at_most() {
        let report = tree(&[3, 3, 3], Some(2_000), || 0).await.unwrap();
        assert!(report.spent >= 1_000 && report.spent < 5_000, "{report:?}");
    }
}
