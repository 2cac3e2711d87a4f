//! Measures a step of the state machine, a turn through the driver, and the memory of a run that waits.

use std::sync::Arc;
use std::time::Instant;

use lariat_core::content::Content;
use lariat_core::event::LoopStart;
use lariat_core::id::{AgentId, LoopId, SessionId};
use lariat_core::message::{
    AgentMessage, AssistantMessage, Message, SharedMessage, StopReason, ToolResultMessage,
};
use lariat_core::model::StreamEvent;
use lariat_core::permission::{AllowAll, Verdict};
use lariat_core::run::{Effect, Input, ModelSignal, OpId, Run, RunConfig, ToolTraits};
use lariat_core::time::{Stamp, Timestamp};
use lariat_core::tool::{ToolEffects, ToolResult};
use lariat_core::transcript::Transcript;
use lariat_core::usage::Usage;
use lariat_runtime::Agent;
use lariat_test::{Ledger, LedgerTool, Reply, ScriptedModel, VirtualClock};
use serde_json::json;

use super::Size;
use super::measure::{figure, goal, median, memory_kb, thread_cpu_ns};

/// Turns per sample: enough to measure with a clock.
const TURNS_PER_SAMPLE: usize = 4;
/// Samples per run: few enough that the conversation does not grow noticeably.
const SAMPLES_PER_RUN: usize = 20;
/// Turns before the first sample, because copying a long conversation for a run leaves the caches cold.
const WARM_UP_TURNS: usize = 50;
const GOAL_GROWTH: f64 = 1.5;
const GOAL_TURN_US: f64 = 50.0;
const GOAL_IDLE_KB: f64 = 20.0;

pub(crate) fn measure(size: Size) -> bool {
    // Measured first, before there is freed memory to reuse: only then does the process grow by what the runs
    // take.
    let idle_kb = idle_kb(size);
    let samples = if size == Size::Full { 2_000 } else { 400 };
    let lengths = [10, 1_000, 100_000];
    let costs = step_ns(&lengths, samples);
    for (length, cost) in lengths.iter().zip(&costs) {
        figure(&format!("one step at {length} messages (median)"), format!("{cost:.0} ns"));
    }
    let growth = costs.last().copied().unwrap_or_default() / costs.first().copied().unwrap_or(1.0);
    let flat = goal("cost per step, 100,000 messages against 10", growth, "×", GOAL_GROWTH);
    let turn =
        goal("one turn with one tool through the driver, CPU (median)", turn_us(size), "µs", GOAL_TURN_US);
    let idle = goal("memory per idle live run", idle_kb, "KB", GOAL_IDLE_KB);
    flat && turn && idle
}

// The machine alone

/// Returns the median for each length. The lengths alternate, so that a machine that slows down affects all
/// of them.
fn step_ns(lengths: &[usize], samples: usize) -> Vec<f64> {
    let transcripts: Vec<Transcript> = lengths.iter().map(|length| conversation(*length)).collect();
    let mut config = RunConfig::default();
    config.tools.insert("tool".to_owned(), ToolTraits::new(ToolEffects::NONE, true));
    config.repetition = None;
    let config = Arc::new(config);
    let mut taken: Vec<Vec<f64>> = lengths.iter().map(|_| Vec::new()).collect();
    for _ in 0..samples.div_ceil(SAMPLES_PER_RUN) {
        for (transcript, taken) in transcripts.iter().zip(&mut taken) {
            taken.extend(run_samples(&config, transcript.clone()));
        }
    }
    taken.into_iter().map(median).collect()
}

/// Nanoseconds per step, one value per sample, of one run on a conversation.
fn run_samples(config: &Arc<RunConfig>, transcript: Transcript) -> Vec<f64> {
    let start = LoopStart::new(AgentId::from("a"), SessionId::from("s"), LoopId::from("s.c.0"));
    let Ok(run) = Run::new(Arc::clone(config), start, 0, transcript, vec![AgentMessage::user("go")]) else {
        return Vec::new();
    };
    let mut bench = Bench { run, steps: 0, turns: 0, inputs: vec![Input::Begin] };
    bench.turns(WARM_UP_TURNS);
    let sample = |_| {
        let (started, before) = (Instant::now(), bench.steps);
        bench.turns(TURNS_PER_SAMPLE);
        started.elapsed().as_nanos() as f64 / (bench.steps - before) as f64
    };
    (0..SAMPLES_PER_RUN).map(sample).collect()
}

/// A machine whose effects complete at once.
struct Bench {
    run: Run,
    steps: u64,
    turns: usize,
    inputs: Vec<Input>,
}

impl Bench {
    fn turns(&mut self, turns: usize) {
        let end = self.turns + turns;
        while self.turns < end {
            for input in std::mem::take(&mut self.inputs) {
                self.steps += 1;
                self.run
                    .handle(input, Stamp { now: Timestamp::from_millis(self.steps), entropy: self.steps });
            }
            while let Some(effect) = self.run.next_effect() {
                self.answer(effect);
            }
        }
    }

    fn answer(&mut self, effect: Effect) {
        match effect {
            Effect::CallModel { op, .. } => {
                self.turns += 1;
                self.inputs.extend(tool_reply(op, self.turns));
            }
            Effect::Authorize { call } => {
                self.inputs.push(Input::Authorized { call: call.id.clone(), verdict: Verdict::Allow });
            }
            Effect::RunTool { call, .. } => {
                let result = Ok(ToolResult::text("ok"));
                self.inputs.push(Input::ToolFinished { call: call.id.clone(), result });
            }
            _ => {}
        }
    }
}

fn tool_reply(op: OpId, turn: usize) -> [Input; 3] {
    let call = lariat_core::content::ToolCall {
        id: format!("call-{turn}").into(),
        name: "tool".to_owned(),
        arguments: json!({"n": turn}),
        signature: None,
    };
    let events = [
        StreamEvent::TextDelta { index: 0, delta: "Let me look.".to_owned() },
        StreamEvent::ToolCallEnd { index: 1, call },
        StreamEvent::Done { stop_reason: StopReason::ToolUse, usage: Usage::new(100, 10) },
    ];
    events.map(|event| Input::Model { op, signal: ModelSignal::Event(event) })
}

/// A conversation of about this many messages: a question, then exchanges.
fn conversation(length: usize) -> Transcript {
    let mut transcript = Transcript::new();
    let _ = transcript.push_user(Arc::new(AgentMessage::user("begin")));
    for n in 0..length.saturating_sub(1) / 2 {
        let id = format!("old-{n}");
        let reply = Message::Assistant(AssistantMessage {
            content: vec![Content::text("working"), Content::tool_call(id.as_str(), "tool", json!({"n": n}))],
            stop_reason: StopReason::ToolUse,
            model: "m".to_owned(),
            provider: "p".to_owned(),
            requested_model: None,
            usage: Usage::new(10, 5),
            timestamp: Timestamp::default(),
            error_message: None,
        });
        let result = Message::ToolResult(ToolResultMessage {
            tool_call_id: id.as_str().into(),
            tool_name: "tool".to_owned(),
            content: vec![Content::text("ok")],
            is_error: false,
            timestamp: Timestamp::default(),
        });
        let shared = |message: Message| -> SharedMessage { Arc::new(message.into()) };
        let _ = transcript.push_exchange(shared(reply), vec![shared(result)]);
    }
    transcript
}

// Through the driver

/// Turns of one run: one tool call each, and a text reply at the end.
pub(crate) const TURNS_PER_RUN: usize = 20;

/// A model that calls the tool on every turn but the last.
pub(crate) fn calling_model() -> ScriptedModel {
    ScriptedModel::from_fn(|request, _| {
        if request + 1 < TURNS_PER_RUN {
            Reply::text("Let me look.").then_call(format!("c{request}"), "tool", json!({"n": request}))
        } else {
            Reply::text("Done.")
        }
    })
}

pub(crate) fn trivial_tool() -> LedgerTool {
    LedgerTool::new("tool", Ledger::new(), VirtualClock::new().shared()).with_effects(ToolEffects::NONE)
}

fn turn_us(size: Size) -> f64 {
    let runs = if size == Size::Full { 2_000 } else { 200 };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else {
        return f64::NAN;
    };
    let samples = runtime.block_on(async {
        let mut samples = Vec::with_capacity(runs);
        for _ in 0..runs {
            let agent = Agent::builder()
                .model(calling_model())
                .tool(trivial_tool())
                .permission_policy(AllowAll)
                .repetition(None)
                .build();
            let Ok(agent) = agent else { continue };
            let before = thread_cpu_ns();
            let output = agent.run("go").await;
            let spent = thread_cpu_ns() - before;
            if output.is_ok_and(|output| output.turns as usize == TURNS_PER_RUN) {
                samples.push(spent as f64 / 1e3 / TURNS_PER_RUN as f64);
            }
        }
        samples
    });
    // Runs that did not follow the script are not samples; with too few samples the measurement is invalid.
    if samples.len() < runs { f64::NAN } else { median(samples) }
}

// Waiting

fn idle_kb(size: Size) -> f64 {
    let runs: usize = if size == Size::Full { 10_000 } else { 2_000 };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else {
        return f64::NAN;
    };
    runtime.block_on(async {
        let store: Arc<dyn lariat_core::store::SessionStore> = Arc::new(lariat_runtime::MemoryStore::new());
        let model: Arc<dyn lariat_core::model::StreamProvider> = Arc::new(SilentModel);
        let before = memory_kb("VmRSS");
        let mut streams = Vec::with_capacity(runs);
        for _ in 0..runs {
            let agent = Agent::builder()
                .provider(Arc::clone(&model))
                .store(Arc::clone(&store))
                .tool(trivial_tool())
                .build();
            if let Ok(agent) = agent {
                streams.push((agent.run_stream("wait"), agent));
            }
        }
        // Wait until every run has called its model.
        while SilentModel::calls() < streams.len() {
            tokio::task::yield_now().await;
        }
        let after = memory_kb("VmRSS");
        (after.saturating_sub(before)) as f64 / streams.len() as f64
    })
}

/// A model that accepts every request and never replies.
struct SilentModel;

static CALLS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

impl SilentModel {
    fn calls() -> usize {
        CALLS.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl lariat_core::model::StreamProvider for SilentModel {
    fn provider_id(&self) -> &str {
        "silent"
    }

    fn stream(
        &self,
        _request: lariat_core::model::StreamConfig,
        _cancel: lariat_core::cancel::CancellationToken,
    ) -> lariat_core::model::ModelStream {
        CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Box::pin(futures_util::stream::pending())
    }
}
