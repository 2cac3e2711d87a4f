//! What the seed decides about a tree of agents before it begins: tools, limits, budgets and how sub-agents are made.

use std::time::Duration;

use lariat_core::budget::BudgetLimits;
use lariat_core::config::{ContextConfig, ExecutionLimits};
use lariat_core::id::ToolCallId;
use lariat_runtime::SubAgent;
use lariat_test::SeededRandom;

use super::super::loops::verdict_roll;

/// The most tokens of a reply.
pub(super) const MOST_TOKENS: u64 = 400;
/// The tool of parents that only they may use, in worlds that restrict sub-agents.
pub(super) const ROOT_ONLY: &str = "exec";
/// The tools that start sub-agents: one that waits, and one that may work in the background.
pub(super) const HELPER: &str = "helper";
pub(super) const WORKER: &str = "worker";
/// Numbers of [`verdict_roll`] for which the policy denies a tool call.
const FORBIDDEN: std::ops::Range<u64> = 70..82;

/// What stays the same in all lives of the process.
#[derive(Clone)]
pub(super) struct Setting {
    pub(super) seed: u64,
    pub(super) prompts: usize,
    pub(super) limits: Option<ExecutionLimits>,
    pub(super) child_limits: ExecutionLimits,
    pub(super) context: Option<ContextConfig>,
    /// Tokens that all agents of one process may spend together.
    pub(super) pool: Option<u64>,
    pub(super) child_budget: Option<u64>,
    pub(super) has_background: bool,
    /// Whether sub-agents have only some of the tools.
    pub(super) is_restricted: bool,
    pub(super) max_depth: usize,
    pub(super) max_running: usize,
    pub(super) timeout: Duration,
    pub(super) has_approver: bool,
    pub(super) has_fallback: bool,
    pub(super) has_jumps: bool,
    pub(super) snapshot_every: u64,
}

impl Setting {
    pub(super) fn new(seed: &SeededRandom) -> Self {
        let mut random = seed.fork("setting");
        let limits = ExecutionLimits::default()
            .with_max_turns(2 + random.index(7))
            .with_max_total_tokens(1_000 + random.index(12_000))
            .with_max_duration(Duration::from_secs(60 + random.below(3_600)));
        let mut child_limits = ExecutionLimits::default()
            .with_max_turns(1 + random.index(6))
            .with_max_total_tokens(500 + random.index(4_000));
        child_limits.max_duration = None;
        let mut context = ContextConfig::with_window(900 + random.index(3_000));
        (context.system_prompt_tokens, context.keep_first) = (100, 1);
        context.keep_recent = 1 + random.index(4);
        Self {
            seed: seed.seed(),
            prompts: 1 + random.index(2),
            limits: Some(limits).filter(|_| random.chance(70)),
            child_limits,
            context: Some(context).filter(|_| random.chance(30)),
            pool: Some(800 + random.below(6_000)).filter(|_| random.chance(40)),
            child_budget: Some(300 + random.below(2_000)).filter(|_| random.chance(30)),
            has_background: random.chance(70),
            is_restricted: random.chance(50),
            max_depth: 1 + random.index(3),
            max_running: if random.chance(30) { 1 + random.index(3) } else { 32 },
            timeout: Duration::from_secs(20 + random.below(1_800)),
            has_approver: random.chance(70),
            has_fallback: random.chance(30),
            has_jumps: random.chance(25),
            snapshot_every: if random.chance(50) { 6 } else { 4_096 },
        }
    }

    /// The settings of the sub-agents of a tool.
    pub(super) fn sub_agent(&self, name: &str) -> SubAgent {
        let mut agent = SubAgent::new(name)
            .with_limits(self.child_limits.clone())
            .with_timeout(self.timeout, self.timeout / 4)
            .with_max_depth(self.max_depth)
            .with_max_running(self.max_running)
            .with_system_prompt(format!("You are a {name}."));
        if let Some(tokens) = self.child_budget {
            agent = agent.with_budget(BudgetLimits::none().with_tokens(tokens));
        }
        if self.is_restricted {
            agent = agent.with_tools_of_parent(["read", "write", HELPER, WORKER]);
        }
        agent
    }

    /// The random number that decides the permission check's verdict on a call.
    pub(super) fn verdict_roll(&self, call: &ToolCallId) -> u64 {
        verdict_roll(self.seed, call)
    }

    /// Whether the permission check never allows a call.
    pub(super) fn is_forbidden(&self, call: &ToolCallId) -> bool {
        FORBIDDEN.contains(&self.verdict_roll(call))
    }
}
