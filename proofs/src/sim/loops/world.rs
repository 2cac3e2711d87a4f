//! The environment of a simulated process, generated from a seed: the model's script, the tools, the policy,
//! the users and the store's faults.
//!
//! It outlives the processes: after a crash, the next process continues in the same world.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_core::config::{
    ContextConfig, ExecutionLimits, QueueMode, RepetitionConfig, RetryConfig, ToolExecutionStrategy,
};
use lariat_core::context::TieredCompaction;
use lariat_core::hooks::{FilterResult, HookAnswer, HookInterest, InputFilter, LifecycleEventKind};
use lariat_core::id::{LoopId, SessionId, ToolCallId};
use lariat_core::message::{AgentMessage, StopReason};
use lariat_core::model::{ErrorDetail, ModelConfig, ProviderError};
use lariat_core::permission::{PermissionDecision, PermissionRequest, Verdict};
use lariat_core::run::RunConfig;
use lariat_core::usage::Usage;
use lariat_runtime::drive::{Lineage, MAX_TOOL_OUTPUT, Ports, RequestTemplate, TOOL_GRACE, ToolSet};
use lariat_runtime::redact::Redactor;
use lariat_test::{
    Answer, Ledger, Reply, ScriptedApprover, ScriptedHooks, ScriptedModel, ScriptedPolicy, SeededEntropy,
    SeededRandom, VirtualClock,
};
use serde_json::json;

use super::super::choice::{ChoiceKind, Choices};
use super::super::disk::{Disk, TornBatches};
use super::super::witness::{Book, WitnessedStore};
use super::loop_ports::LoopPorts;
use super::watch::{LoopWatch, Watch};

/// Everything around the process.
pub(super) struct World {
    pub(super) clock: VirtualClock,
    pub(super) disk: Disk,
    /// The store as the process sees it.
    pub(super) store: Arc<WitnessedStore>,
    pub(super) book: Book,
    pub(super) choices: Choices,
    /// Whether the clock jumps.
    pub(super) has_jumps: bool,
    pub(super) session_id: SessionId,
    pub(super) watch: Arc<Watch>,
    pub(super) model: Arc<ScriptedModel>,
    pub(super) ports: Arc<LoopPorts>,
    pub(super) config: Arc<RunConfig>,
    /// What the user asks for, one after the other.
    pub(super) tasks: Arc<[SimTask]>,
}

/// What the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SimTask {
    /// One loop.
    Loop,
    /// This many branches at the same time, of which this one is selected.
    Branches { count: usize, selected: usize },
}

impl World {
    pub(super) fn new(seed: &SeededRandom, choices: Choices) -> Self {
        let mut random = seed.fork("world");
        let clock = VirtualClock::new();
        let session_id = SessionId::from("sim");
        let (disk, book) = (Disk::new(seed, clock.shared(), &choices, TornBatches::All), Book::default());
        let store = Arc::new(WitnessedStore { store: Arc::clone(&disk.store), book: book.clone() });
        let interest = if random.chance(60) { HookInterest::All } else { HookInterest::None };
        let watch =
            Watch::new(interest, book.clone(), session_id.clone(), choices.clone(), seed.fork("hooks"));
        let model = model(seed, &clock, &choices);
        let mut request = RequestTemplate::new(ModelConfig::new("scripted", "sim"));
        let fallbacks = random.index(3);
        request.fallbacks =
            (1..=fallbacks).map(|at| Arc::new(ModelConfig::new("scripted", format!("sim-{at}")))).collect();
        let loop_id = LoopId::from("no loop");
        let shared = Ports {
            model: model.clone(),
            request,
            tools: ToolSet::new([]),
            policy: Arc::new(policy(seed, &clock)),
            approver: if random.chance(70) { Some(Arc::new(approver(seed, &clock))) } else { None },
            redactor: Redactor::default(),
            hooks: Arc::new(LoopWatch { watch: Arc::clone(&watch), loop_id: loop_id.clone() }),
            filters: if random.chance(20) { vec![Arc::new(SeededFilter(random.bits()))] } else { Vec::new() },
            sections: None,
            notes: None,
            budget: Default::default(),
            compaction: Arc::new(TieredCompaction),
            clock: clock.shared(),
            entropy: Arc::new(SeededEntropy::new(random.bits())),
            lineage: Lineage::default(),
            tool_grace: TOOL_GRACE,
            max_tool_output: MAX_TOOL_OUTPUT,
        };
        let mut ports = LoopPorts {
            seed: seed.clone(),
            clock: clock.clone(),
            watch: Arc::clone(&watch),
            store: Arc::clone(&disk.store),
            book: book.clone(),
            choices: choices.clone(),
            session_id: session_id.clone(),
            model: Arc::clone(&model),
            shared,
            made: Mutex::default(),
        };
        // The traits of the tools are the same for every loop.
        ports.shared.tools = ports.tools(&loop_id, &Ledger::new());
        let config = Arc::new(ports.shared.run_config(run_config(&mut random)));
        let first = task(&mut random);
        let others = (0..random.below(2)).map(|_| task(&mut random));
        let others = others.filter(|_| choices.disturb(ChoiceKind::Task));
        let tasks = std::iter::once(first).chain(others).collect();
        let has_jumps = seed.fork("jumps").chance(30);
        let ports = Arc::new(ports);
        Self { clock, disk, store, book, choices, has_jumps, session_id, watch, model, ports, config, tasks }
    }
}

fn task(random: &mut SeededRandom) -> SimTask {
    if random.chance(50) {
        return SimTask::Loop;
    }
    let count = 2 + random.index(3);
    SimTask::Branches { count, selected: random.index(count) }
}

fn run_config(random: &mut SeededRandom) -> RunConfig {
    let mut config = RunConfig::default();
    if random.chance(70) {
        let limits = ExecutionLimits::default()
            .with_max_turns(1 + random.index(8))
            .with_max_total_tokens(500 + random.index(20_000))
            .with_max_duration(Duration::from_secs(5 + random.below(600)));
        config.limits = Some(limits);
    }
    config.retry = RetryConfig::default().with_max_retries(random.index(4));
    if random.chance(50) {
        let mut context = ContextConfig::with_window(600 + random.index(4_000));
        context.system_prompt_tokens = 100;
        context.keep_recent = 1 + random.index(4);
        context.keep_first = 1;
        context.tool_output_max_lines = 3;
        config.context = Some(context);
    }
    config.tool_execution = match random.below(3) {
        0 => ToolExecutionStrategy::Parallel,
        1 => ToolExecutionStrategy::Sequential,
        _ => ToolExecutionStrategy::Batched { size: 2 },
    };
    let mode =
        |random: &mut SeededRandom| if random.chance(50) { QueueMode::All } else { QueueMode::OneAtATime };
    config.steering_mode = mode(random);
    config.follow_up_mode = mode(random);
    config.repetition = if random.chance(80) { Some(RepetitionConfig::new(2, 4)) } else { None };
    config
}

/// The model: mostly valid, sometimes broken in every way that real ones are.
fn model(seed: &SeededRandom, clock: &VirtualClock, choices: &Choices) -> Arc<ScriptedModel> {
    let mut random = seed.fork("model");
    let (yields, choices) = (random.chance(50), choices.clone());
    let model = ScriptedModel::from_fn(move |index, _| reply(&mut random, index, &choices));
    let model = model.with_clock(clock.shared());
    Arc::new(if yields { model.with_yields() } else { model })
}

fn reply(random: &mut SeededRandom, index: usize, choices: &Choices) -> Reply {
    let usage =
        if random.chance(20) { Usage::default() } else { Usage::new(random.below(2_000), random.below(400)) };
    let network = || ProviderError::Network("connection reset".into());
    let roll = random.below(100);
    if roll > 24 && !choices.disturb(ChoiceKind::Reply) {
        return Reply::text("done").with_usage(usage);
    }
    let reply = match roll {
        0..=24 => Reply::text(format!("word {}", random.below(1_000)).repeat(1 + random.index(60))),
        25..=62 => calls(random, index),
        63..=66 => {
            Reply::thinking("hm", Some("signed")).then_call(format!("t{index}"), "read", json!({"n": 1}))
        }
        67..=69 => Reply::empty(),
        70..=72 => Reply::text("cut off").stop(StopReason::Length),
        73..=76 => calls(random, index).stop(StopReason::Length),
        77..=78 => Reply::text("a pause").stop(StopReason::Pause),
        79..=81 => {
            let retry_after = random.chance(50).then(|| Duration::from_secs(random.below(30)));
            Reply::error(ProviderError::RateLimited(
                ErrorDetail::new("slow down").with_retry_after(retry_after),
            ))
        }
        82..=85 => Reply::error(network()),
        86 => Reply::error(ProviderError::Auth("no".into())),
        87..=89 => Reply::error(ProviderError::ContextOverflow("prompt is too long".into())),
        90..=91 => Reply::text("half a").then_fail(network()),
        92 => calls(random, index).then_fail(network()),
        93 => calls(random, index).cut(),
        94 => Reply::text("half").cut(),
        95 => Reply::stall_forever(),
        96 => Reply::text("and then").then_stall(),
        97 => Reply::text("slow").then_wait(Duration::from_secs(random.below(400))).then_text("ly"),
        98 => Reply::text("I will not").stop(StopReason::Refusal),
        _ => {
            Reply::calls([("same", "read", json!({})), ("same", "read", json!({})), ("", "write", json!({}))])
        }
    };
    let reply = if random.chance(40) { reply.split(3) } else { reply };
    reply.with_usage(usage)
}

fn calls(random: &mut SeededRandom, index: usize) -> Reply {
    let count = 1 + random.index(4);
    let repeated = random.chance(25);
    let one = |at: usize, random: &mut SeededRandom| {
        let name = *random.pick(&["read", "read", "read", "write", "exec", "unknown"]).unwrap_or(&"read");
        let id = if random.chance(3) { "reused".to_owned() } else { format!("c{index}.{at}") };
        let args = match random.below(40) {
            0 => serde_json::Value::Null,
            1 => json!([1, 2]),
            _ if repeated => json!({"same": true}),
            _ => json!({"n": random.below(1_000)}),
        };
        (id, name, args)
    };
    let calls: Vec<_> = (0..count).map(|at| one(at, random)).collect();
    Reply::calls(calls)
}

/// The random number that decides the policy's verdict on a tool call: always the same for the same call.
pub(in crate::sim) fn verdict_roll(seed: u64, call: &ToolCallId) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, call.as_str()).hash(&mut hasher);
    hasher.finish() % 100
}

/// Numbers for which the policy denies a tool call.
pub(super) const FORBIDDEN: std::ops::Range<u64> = 70..82;

fn policy(seed: &SeededRandom, clock: &VirtualClock) -> ScriptedPolicy {
    let hooks = hooks(seed, clock);
    let judges = seed.fork("judges").chance(50);
    let seed = seed.seed();
    let policy = ScriptedPolicy::new(clock.shared(), move |query| {
        let ask = || Verdict::Ask(PermissionRequest::new(query.call, format!("run {}?", query.call.name)));
        match verdict_roll(seed, &query.call.id) {
            0..=64 => Verdict::Allow.into(),
            65..=69 => Answer::After(Duration::from_secs(1), Verdict::Allow),
            70..=76 => Verdict::Deny("a rule says no".to_owned()).into(),
            77 => Answer::Panic,
            78..=79 => Verdict::Skip.into(),
            80..=81 => Verdict::Queue { summary: "would write".to_owned() }.into(),
            82..=84 => Verdict::Rewrite(Arc::new(json!({"rewritten": true}))).into(),
            85..=97 => ask().into(),
            _ => Answer::After(Duration::from_secs(2), ask()),
        }
    });
    let policy = policy.with_pure_check(judges);
    match hooks {
        Some(hooks) => policy.with_hooks(hooks),
        None => policy,
    }
}

/// Hooks of the session, in some worlds: mostly permissive, sometimes blocking, sometimes unresponsive.
fn hooks(seed: &SeededRandom, clock: &VirtualClock) -> Option<ScriptedHooks> {
    let mut random = seed.fork("moments");
    if !random.chance(30) {
        return None;
    }
    let busy = random.chance(10);
    Some(ScriptedHooks::new(clock.shared(), move |moment| {
        let blocks = if busy && moment.kind() == LifecycleEventKind::Stop { 90 } else { 15 };
        let answer = match random.below(100) {
            roll if roll < blocks => HookAnswer::block(format!("not yet {roll}")),
            roll if roll < blocks + 5 => HookAnswer::add_context(format!("by the way {roll}")),
            roll if roll < blocks + 8 => HookAnswer::stop("enough"),
            _ => HookAnswer::default(),
        };
        match random.below(50) {
            0 => Answer::Never,
            1 => Answer::Panic,
            2..=19 => Answer::After(Duration::from_millis(random.below(20_000)), answer),
            _ => Answer::Now(answer),
        }
    }))
}

fn approver(seed: &SeededRandom, clock: &VirtualClock) -> ScriptedApprover {
    let mut random = seed.fork("approver");
    ScriptedApprover::new(clock.shared(), move |_| {
        let decision = match random.below(10) {
            0..=3 => PermissionDecision::Allow,
            4 => PermissionDecision::AllowSession,
            5 => PermissionDecision::AllowAlways,
            _ => PermissionDecision::deny("not today"),
        };
        match random.below(10) {
            0..=4 => Answer::Now(decision),
            5..=7 => Answer::After(Duration::from_secs(random.below(100)), decision),
            _ => Answer::Never,
        }
    })
}

/// Judges prompts by a fixed random number.
struct SeededFilter(u64);

impl InputFilter for SeededFilter {
    fn filter(&self, _message: &AgentMessage) -> FilterResult {
        match self.0 % 10 {
            0..=4 => FilterResult::Pass,
            5..=7 => FilterResult::Warn("careful".to_owned()),
            _ => FilterResult::Reject("not this".to_owned()),
        }
    }
}
