//! Resumes a long session in a new process, and measures time and memory until the process sends the next
//! model request.
//!
//! To make the session realistic, an agent works through it turn by turn, with tools and compactions; other
//! stores receive a copy, event by event. Invariant: the measurement covers what a program that embeds an
//! agent does, from opening the store to the request, which must contain a conversation.

use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use lariat_core::archive::SessionArchive;
use lariat_core::config::ContextConfig;
use lariat_core::context::TieredCompaction;
use lariat_core::id::SessionId;
use lariat_core::permission::AllowAll;
use lariat_core::store::{Append, Durability, SessionStore};
use lariat_core::tool::ToolEffects;
use lariat_runtime::{Agent, AgentBuilder};
use lariat_test::{Act, Ledger, LedgerTool, Reply, ScriptedModel, VirtualClock};
use serde_json::json;

use super::location::{Kind, StoreLocation};
use super::{CHILD, Outcome, Size, events, runtime, text};
use crate::measure::{figure, goal, median, memory_kb};

const GOAL_MS: f64 = 2_000.0;
const GOAL_MB: f64 = 256.0;

/// Turns of one run; the last one has no tool calls.
const TURNS: usize = 20;

/// Tool calls per turn.
const CALLS: usize = 4;

/// Size of a tool result: with it, an event has a kilobyte on average.
const RESULT_BYTES: usize = 2_900;

/// Tokens of the context window: compactions keep the conversation below it.
const WINDOW: usize = 100_000;

/// Events per copied page.
const PAGE: usize = 2_000;

/// A session with a long history.
pub(super) struct LongSession {
    pub(super) place: StoreLocation,
    pub(super) session: SessionId,
    pub(super) head: u64,
}

impl LongSession {
    /// Lets an agent work until the session is long.
    pub(super) fn generate(size: Size, place: StoreLocation) -> Outcome<Self> {
        let wanted = if size == Size::Full { 1_000_000 } else { 20_000 };
        let session = SessionId::from("long");
        let started = Instant::now();
        let head = runtime()?.block_on(async {
            let store = place.open(Durability::Fast).await?;
            let contract: Arc<dyn SessionStore> = Arc::<dyn SessionArchive>::clone(&store);
            let agent = working(builder(contract, &session)).build().map_err(text)?;
            let mut head = 0;
            while head < wanted {
                agent.run("Go on with the next module.").await.map_err(text)?;
                head = store.head(&session).await.map_err(text)?;
            }
            Ok::<_, String>(head)
        })?;
        let long = Self { place, session, head };
        figure("long session: events", long.head);
        figure("long session: bytes of its events", format!("{:.0} MB", long.bytes()? as f64 / 1e6));
        figure("long session: made in", format!("{:.0} s", started.elapsed().as_secs_f64()));
        Ok(long)
    }

    /// Estimates from a sample how many bytes the events take.
    fn bytes(&self) -> Outcome<u64> {
        runtime()?.block_on(async {
            let store = self.place.open(Durability::Fast).await?;
            let sample = store.read(&self.session, self.head / 2, PAGE).await.map_err(text)?;
            let records = events::records(&self.session, &sample)?;
            let bytes: usize = records.iter().map(|record| record.body.len()).sum();
            Ok(bytes as u64 * self.head / records.len().max(1) as u64)
        })
    }

    /// Copies the session to another store.
    pub(super) fn copy_to(&self, place: StoreLocation) -> Outcome<Self> {
        let started = Instant::now();
        let copied = runtime()?.block_on(async {
            let from = self.place.open(Durability::Fast).await?;
            let to = place.open(Durability::Fast).await?;
            let epoch = to.claim(&self.session).await.map_err(text)?;
            let mut next = 0;
            while next < self.head {
                let page = from.read(&self.session, next, PAGE).await.map_err(text)?;
                let ack = to.append(Append::new(&self.session, epoch, next, &page)).await.map_err(text)?;
                next = ack.next_seq;
            }
            let snapshot = from.snapshot(&self.session, self.head).await.map_err(text)?;
            to.put_snapshot(&self.session, snapshot.ok_or("the long session has no snapshot")?)
                .await
                .map_err(text)?;
            Ok::<_, String>(Self { place: place.clone(), session: self.session.clone(), head: next })
        })?;
        let seconds = started.elapsed().as_secs_f64();
        figure(&format!("{}: the same session copied in", place.kind.name()), format!("{seconds:.0} s"));
        Ok(copied)
    }
}

fn builder(store: Arc<dyn SessionStore>, session: &SessionId) -> AgentBuilder {
    Agent::builder()
        .store(store)
        .session_id(session.clone())
        .permission_policy(AllowAll)
        .repetition(None)
        .without_limits()
        .context(Some(ContextConfig::with_window(WINDOW)))
        .compaction(TieredCompaction)
}

/// Adds a model that calls tools in each turn of a run except the last.
fn working(builder: AgentBuilder) -> AgentBuilder {
    let model = ScriptedModel::from_fn(|request, _| {
        let said = Reply::text(format!("Step {request}: I look at the next files."));
        if request % TURNS + 1 == TURNS {
            return said;
        }
        (0..CALLS).fold(said, |reply, call| {
            reply.then_call(
                format!("c{request}-{call}"),
                "read",
                json!({"path": format!("src/{request}/{call}.rs")}),
            )
        })
    });
    let tool = LedgerTool::new("read", Ledger::new(), VirtualClock::new().shared())
        .with_effects(ToolEffects::READS)
        .with_script(|call| Act::text(events::listing(RESULT_BYTES, call.index as u64 + 1)));
    builder.model(model).tool(tool)
}

/// Resumes the session in new processes.
pub(super) fn measure(size: Size, long: &LongSession) -> Outcome<bool> {
    let samples = if size == Size::Full { 5 } else { 1 };
    let (mut times, mut sizes, mut messages) = (Vec::new(), Vec::new(), 0);
    for _ in 0..samples {
        let program = std::env::current_exe().map_err(text)?;
        let output = Command::new(program)
            .args(["store", CHILD, long.place.kind.name(), &long.place.at, long.session.as_str()])
            .output()
            .map_err(text)?;
        let said = String::from_utf8_lossy(&output.stdout);
        let figures: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [ms, mb, count] = figures.as_slice() else {
            return Err(format!("resuming: {said}{}", String::from_utf8_lossy(&output.stderr)));
        };
        times.push(*ms);
        sizes.push(*mb);
        messages = *count as usize;
    }
    let name = long.place.kind.name();
    figure(&format!("{name}: messages in the first request of a resumed session"), messages);
    let time = goal(&format!("{name}: from opening to that request (median)"), median(times), "ms", GOAL_MS);
    let memory = goal(&format!("{name}: peak memory by then (median)"), median(sizes), "MB", GOAL_MB);
    Ok(time && memory && messages > 1)
}

/// The process that resumes a session: prints milliseconds, megabytes, and the number of messages in its
/// first request.
pub(super) fn child(kind: Kind, at: &str, session: &str) -> Outcome<()> {
    let started = Instant::now();
    let place = StoreLocation { kind, at: at.to_owned() };
    let seen = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&seen);
    let model = ScriptedModel::from_fn(move |_, request| {
        let figures = (started.elapsed(), memory_kb("VmHWM"), request.messages.len());
        noted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(figures);
        Reply::text("Done.")
    });
    runtime()?.block_on(async {
        let store = place.open(Durability::Durable).await?;
        let agent = builder(store, &SessionId::from(session)).model(model).build().map_err(text)?;
        agent.recover().await.map_err(text)?;
        agent.run("What is left to do?").await.map_err(text)
    })?;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (time, kilobytes, messages) = seen.ok_or("the model received no request")?;
    println!("{:.1} {:.1} {messages}", time.as_secs_f64() * 1e3, kilobytes as f64 / 1024.0);
    Ok(())
}
