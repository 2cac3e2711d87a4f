//! A tree of runs: each has a model that calls tools, one of which runs a child with a part of the pool.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use lariat_core::BoxFuture;
use lariat_core::budget::{BudgetLimits, DayStart, SpendingLog, SpentAmounts};
use lariat_core::cancel::CancellationToken;
use lariat_core::clock::Clock;
use lariat_core::config::ExecutionLimits;
use lariat_core::context::TieredCompaction;
use lariat_core::hooks::NoHooks;
use lariat_core::id::SessionId;
use lariat_core::message::AgentMessage;
use lariat_core::model::{
    ModelConfig, ModelCost, ModelStream, StreamConfig, StreamEvent, StreamProvider, UsdPerMillion,
};
use lariat_core::permission::AllowAll;
use lariat_core::run::RunConfig;
use lariat_core::tool::{AgentTool, ToolContext, ToolError, ToolResult};
use lariat_core::usage::{Cost, Usage};
use lariat_runtime::budget::{BudgetPool, DailyBudget, MemorySpending, SharedBudget};
use lariat_runtime::drive::{
    Journal, JournalConfig, Lineage, MAX_TOOL_OUTPUT, Ports, RequestTemplate, TOOL_GRACE, ToolSet,
};
use lariat_runtime::redact::Redactor;
use lariat_runtime::{AgentContext, AgentError, AgentLoopConfig, MemoryStore, agent_loop};
use lariat_test::{Reply, ScriptedModel, SeededEntropy, SeededRandom, VirtualClock, block_on};
use serde_json::{Value, json};

use super::usage_records::UsageRecords;

/// The longest reply in tokens: reserved for each model call in addition to its request.
const LONGEST_REPLY: u64 = 1_000;
/// Billionths of a dollar per token.
const PRICE: u64 = 1_000;
/// Maximum depth of children.
const DEEPEST: u32 = 3;

/// State shared by a tree.
pub(super) struct World {
    pub(super) clock: VirtualClock,
    pub(super) store: Arc<MemoryStore>,
    seed: SeededRandom,
    usage_records: Mutex<UsageRecords>,
    log: Arc<MemorySpending>,
    daily: Option<DailyBudget>,
    runs: AtomicU64,
}

impl World {
    pub(super) fn new(seed: &SeededRandom) -> Arc<Self> {
        let mut random = seed.fork("world");
        let log = Arc::new(MemorySpending::default());
        let limits = some_limits(&mut random, 30);
        let daily =
            random.chance(40).then(|| DailyBudget::new(limits, Arc::clone(&log) as Arc<dyn SpendingLog>));
        let mut usage_records = UsageRecords::default();
        if daily.is_some() {
            usage_records.daily = limits;
        }
        let limits = some_limits(&mut random, 70);
        usage_records.open(BudgetPool::new(limits), None, limits);
        Arc::new(Self {
            clock: VirtualClock::new(),
            store: Arc::new(MemoryStore::new()),
            seed: seed.clone(),
            usage_records: Mutex::new(usage_records),
            log,
            daily,
            runs: AtomicU64::new(0),
        })
    }

    pub(super) fn usage_records(&self) -> MutexGuard<'_, UsageRecords> {
        self.usage_records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Contents of the daily log, if there is a daily budget.
    pub(super) fn logged(&self) -> Result<Option<SpentAmounts>, String> {
        if self.daily.is_none() {
            return Ok(None);
        }
        let total = block_on(&self.clock, self.log.total(DayStart::UTC.day(self.clock.now())));
        total.map_err(|halt| halt.to_string())?.map(Some).map_err(|error| error.to_string())
    }
}

fn some_limits(random: &mut SeededRandom, percent: u8) -> BudgetLimits {
    let mut limits = BudgetLimits::none();
    if random.chance(percent) {
        limits.tokens = Some(100 + random.below(15_000));
    }
    if random.chance(percent / 2) {
        limits.cost = Some(Cost::from_nano_usd((100 + random.below(15_000)) * PRICE));
    }
    if random.chance(percent / 2) {
        limits.turns = Some(1 + random.below(40));
    }
    if random.chance(percent / 2) {
        limits.tool_calls = Some(1 + random.below(25));
    }
    limits
}

/// The root runs of a tree. Some of them are cancelled.
pub(super) fn roots(world: &Arc<World>) -> Vec<BoxFuture<'static, ()>> {
    let mut random = world.seed.fork("roots");
    let mut tasks: Vec<BoxFuture<'static, ()>> = Vec::new();
    for _ in 0..1 + random.below(3) {
        let cancel = CancellationToken::new();
        if random.chance(15) {
            let (clock, cancel) = (world.clock.clone(), cancel.clone());
            let after = Duration::from_millis(random.below(3_000));
            tasks.push(Box::pin(async move {
                clock.sleep_until(clock.now().after(after)).await;
                cancel.cancel();
            }));
        }
        tasks.push(run(Arc::clone(world), 0, 0, cancel).map(|_| ()).boxed());
    }
    tasks
}

/// Runs one agent to its end, with its children.
fn run(world: Arc<World>, page: usize, depth: u32, cancel: CancellationToken) -> BoxFuture<'static, String> {
    let number = world.runs.fetch_add(1, Ordering::Relaxed);
    let mut random = world.seed.fork(&format!("run {number}"));
    let session = SessionId::from(format!("s{number}"));
    let (page, pool) = {
        let mut usage_records = world.usage_records();
        usage_records.sessions.push(session.clone());
        let Some(parent) = usage_records.pages.get(page).map(|page| page.pool.clone()) else {
            return Box::pin(std::future::ready(String::new()));
        };
        let limits = some_limits(&mut random, 30);
        let pool = parent.child(limits);
        (usage_records.open(pool.clone(), Some(page), limits), pool)
    };
    let mut model = ModelConfig::new("scripted", "m");
    let mut cost = ModelCost::default();
    (cost.input, cost.output) = (UsdPerMillion::from_usd(1.0), UsdPerMillion::from_usd(1.0));
    model.cost = Some(cost);
    let mut request = RequestTemplate::new(model);
    request.max_tokens = u32::try_from(LONGEST_REPLY).ok();
    let work = Tool {
        world: Arc::clone(&world),
        page,
        depth,
        random: Mutex::new(random.fork("work")),
        spawns: false,
    };
    let spawn = Tool {
        world: Arc::clone(&world),
        page,
        depth,
        random: Mutex::new(random.fork("spawn")),
        spawns: true,
    };
    let ports = Ports {
        model: Arc::new(CountedModel {
            world: Arc::clone(&world),
            page,
            inner: script(&world, &mut random, depth),
        }),
        request,
        tools: ToolSet::new([Arc::new(work) as Arc<dyn AgentTool>, Arc::new(spawn)]),
        policy: Arc::new(AllowAll),
        approver: None,
        redactor: Redactor::default(),
        hooks: Arc::new(NoHooks),
        filters: Vec::new(),
        sections: None,
        notes: None,
        budget: SharedBudget { pool: Some(pool), daily: world.daily.clone() },
        compaction: Arc::new(TieredCompaction),
        clock: world.clock.shared(),
        entropy: Arc::new(SeededEntropy::new(random.bits())),
        lineage: Lineage::default(),
        tool_grace: TOOL_GRACE,
        max_tool_output: MAX_TOOL_OUTPUT,
    };
    let mut config = RunConfig::default();
    if random.chance(30) {
        let turns = 1 + random.index(8);
        config.limits = Some(ExecutionLimits::default().with_max_turns(turns).with_max_tool_calls(turns));
    }
    if random.chance(20) {
        config.budget.session = some_limits(&mut random, 80);
    }
    let config = AgentLoopConfig::new(ports, config, Some("c".into()));
    let entropy = Arc::clone(&config.ports.entropy);
    let journal =
        Journal::new(world.store.clone(), session, world.clock.shared(), entropy, JournalConfig::default());
    let mut context = AgentContext::new("agent".into(), Arc::new(journal));
    Box::pin(async move {
        let prompts = vec![AgentMessage::user("go")];
        match agent_loop(prompts, &mut context, &config, |_| {}, cancel)
            .await
            .or_else(AgentError::into_output)
        {
            Ok(output) => format!("{:?}", output.outcome),
            Err(error) => error.to_string(),
        }
    })
}

/// A model that makes new tool calls for some turns and then finishes.
fn script(world: &Arc<World>, random: &mut SeededRandom, depth: u32) -> ScriptedModel {
    let mut random = random.fork("model");
    let turns = random.index(6);
    let script = move |n: usize, _: &StreamConfig| {
        let mut reply = Reply::empty().then_wait(Duration::from_millis(random.below(400)));
        if n < turns {
            for at in 0..1 + random.below(3) {
                let spawns = depth < DEEPEST && random.chance(25);
                let name = if spawns { "spawn" } else { "work" };
                reply = reply.then_call(format!("c{n}-{at}"), name, json!({ "n": n, "at": at }));
            }
        } else {
            reply = reply.then_text("done");
        }
        let mut usage = Usage::new(0, 1 + random.below(LONGEST_REPLY));
        usage.cost = Cost::from_nano_usd(usage.output * PRICE);
        reply.with_usage(usage)
    };
    ScriptedModel::from_fn(script).with_clock(world.clock.shared())
}

/// A model that records its usage.
struct CountedModel {
    world: Arc<World>,
    page: usize,
    inner: ScriptedModel,
}

impl StreamProvider for CountedModel {
    fn provider_id(&self) -> &str {
        self.inner.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        self.world.usage_records().call_begins(self.page);
        let (world, page) = (Arc::clone(&self.world), self.page);
        let counted = self.inner.stream(request, cancel).inspect(move |event| {
            if let Ok(StreamEvent::Done { usage, .. }) = event {
                world.usage_records().call_ends(page, usage);
            }
        });
        counted.boxed()
    }
}

/// A tool that works for a while or runs a child.
struct Tool {
    world: Arc<World>,
    page: usize,
    depth: u32,
    random: Mutex<SeededRandom>,
    spawns: bool,
}

impl AgentTool for Tool {
    fn name(&self) -> &str {
        if self.spawns { "spawn" } else { "work" }
    }

    fn description(&self) -> &str {
        "works"
    }

    fn parameters_schema(&self) -> Value {
        json!({ "type": "object" })
    }

    fn is_parallel_safe(&self) -> bool {
        true
    }

    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        self.world.usage_records().tool_runs(self.page);
        let wait = self.random.lock().unwrap_or_else(PoisonError::into_inner).below(300);
        Box::pin(async move {
            if !self.spawns {
                let until = self.world.clock.now().after(Duration::from_millis(wait));
                self.world.clock.sleep_until(until).await;
                return Ok(ToolResult::text(format!("did {params}")));
            }
            let ended = run(Arc::clone(&self.world), self.page, self.depth + 1, context.cancel.clone()).await;
            Ok(ToolResult::text(format!("{ended} {params}")))
        })
    }
}
