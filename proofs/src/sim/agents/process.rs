//! What a process of a tree of agents does: resumes what was interrupted, then sends the prompts that are left.
//!
//! Beside it, a user steers, cancels and sets the clock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{Either, select};
use lariat_core::budget::BudgetLimits;
use lariat_core::clock::Clock as _;
use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;
use lariat_core::model::ModelConfig;
use lariat_core::store::SessionStore;
use lariat_core::tool::{AgentTool, ToolEffects};
use lariat_runtime::drive::JournalConfig;
use lariat_runtime::{Agent, AgentError, BudgetPool, SubAgentTool};
use lariat_test::{FaultyStore, ScriptedModel, SeededEntropy, SeededRandom};

use super::super::choice::{ChoiceKind, Choices};
use super::super::process_store::ProcessStore;
use super::super::steps::Steps;
use super::super::violation::Violation;
use super::super::wall_clock::WallClock;
use super::ports::{ProcessModel, SessionApprover, SessionPolicy, SessionTool};
use super::setting::{HELPER, Setting, WORKER};
use super::watch::{ROOT, Watch};

/// Maximum runs of one process: a finished run must not be started again.
const MOST_RUNS: usize = 20;
/// How long the user waits for a run before cancelling it, and how long the end may take after that.
const PATIENCE: Duration = Duration::from_secs(6 * 3_600);
const END_TIME: Duration = Duration::from_secs(3_600);

/// What a process needs for its life.
pub(super) struct Process {
    pub(super) setting: Setting,
    pub(super) watch: Arc<Watch>,
    pub(super) model: Arc<ScriptedModel>,
    pub(super) store: Arc<FaultyStore>,
    pub(super) clock: WallClock,
    pub(super) entropy: Arc<SeededEntropy>,
    pub(super) steps: Steps,
    /// Of this life only.
    pub(super) random: SeededRandom,
    /// Whether the user disturbs the process.
    pub(super) troubled: bool,
}

/// Why a process stops.
pub(super) enum Stop {
    Failed(AgentError),
    Broken(Violation),
}

impl Process {
    /// Runs to the end.
    pub(super) async fn run(self) -> Result<(), Stop> {
        let agent = self.agent()?;
        if self.troubled {
            let user = User {
                agent: agent.clone(),
                steps: self.steps.clone(),
                clock: self.clock.clone(),
                choices: self.watch.choices.clone(),
                random: self.random.fork("user"),
                has_jumps: self.setting.has_jumps,
            };
            drop(tokio::spawn(user.act()));
        }
        let resumed = async {
            while agent.recover().await?.is_some() {}
            Ok(())
        };
        self.patiently(&agent, resumed).await?;
        for _ in 0..MOST_RUNS {
            let done = self.ended_runs();
            if done >= self.setting.prompts {
                // What runs on after the end of its parent would be seen here.
                tokio::time::sleep(END_TIME).await;
                agent.close().await;
                return Ok(());
            }
            let prompted = async { agent.run(format!("prompt {done}")).await.map(drop) };
            self.patiently(&agent, prompted).await?;
        }
        Err(Stop::Broken(Violation::NeverEnds))
    }

    /// Waits for a run. Without limits a tool or an approval may take forever; then the user cancels the run, once.
    async fn patiently(
        &self,
        agent: &Agent,
        run: impl Future<Output = Result<(), AgentError>>,
    ) -> Result<(), Stop> {
        let run = std::pin::pin!(run);
        let ended = match select(run, std::pin::pin!(tokio::time::sleep(PATIENCE))).await {
            Either::Left((ended, _)) => ended,
            Either::Right((_, run)) => {
                self.watch.choices.tell(|| "The user gives up waiting, and cancels.".to_owned());
                agent.abort();
                match select(run, std::pin::pin!(tokio::time::sleep(END_TIME))).await {
                    Either::Left((ended, _)) => ended,
                    Either::Right(_) => return Err(Stop::Broken(Violation::Hangs)),
                }
            }
        };
        match ended {
            // A model that failed is an end like any other.
            Ok(()) | Err(AgentError::Failed(_)) => Ok(()),
            Err(error) => Err(Stop::Failed(error)),
        }
    }

    fn ended_runs(&self) -> usize {
        self.store.inspect(&SessionId::from(ROOT), |events| {
            events.iter().filter(|event| matches!(event.event, AgentEvent::AgentEnd { .. })).count()
        })
    }

    fn agent(&self) -> Result<Agent, Stop> {
        let (setting, steps) = (&self.setting, &self.steps);
        let store = ProcessStore::new(Arc::clone(&self.store), self.watch.book.clone(), steps.clone());
        let model = ProcessModel {
            model: Arc::clone(&self.model),
            watch: Arc::clone(&self.watch),
            steps: steps.clone(),
        };
        let mut builder = Agent::builder()
            .provider(model)
            .model_config(ModelConfig::new("scripted", "sim"))
            .store(Arc::new(store) as Arc<dyn SessionStore>)
            .session_id(ROOT)
            .agent_id("agent")
            .clock(Arc::new(self.clock.clone()))
            .entropy(self.entropy.clone())
            .journal(JournalConfig { snapshot_every: setting.snapshot_every, ..JournalConfig::default() })
            .context(setting.context.clone())
            .observer(Arc::clone(&self.watch) as Arc<_>)
            .permission_policy(SessionPolicy { setting: setting.clone(), steps: steps.clone() })
            .tools(self.tools());
        builder = match setting.limits.clone() {
            Some(limits) => builder.limits(limits),
            None => builder.without_limits(),
        };
        if setting.has_fallback {
            builder = builder.fallback_model(ModelConfig::new("scripted", "other"));
        }
        if setting.has_approver {
            builder = builder.approver(SessionApprover {
                steps: steps.clone(),
                clock: self.clock.clone(),
                random: Arc::new(Mutex::new(self.random.fork("approver"))),
            });
        }
        if let Some(tokens) = setting.pool {
            builder = builder.budget_pool(BudgetPool::new(BudgetLimits::none().with_tokens(tokens)));
        }
        builder.build().map_err(|error| Stop::Broken(Violation::NotStarted(error.to_string())))
    }

    fn tools(&self) -> Vec<Arc<dyn AgentTool>> {
        let tool = |name: &'static str, effects: ToolEffects| -> Arc<dyn AgentTool> {
            Arc::new(SessionTool {
                name,
                effects,
                watch: Arc::clone(&self.watch),
                steps: self.steps.clone(),
                clock: self.clock.clone(),
                random: Arc::new(Mutex::new(self.random.fork(name))),
            })
        };
        let mut worker = SubAgentTool::of(self.setting.sub_agent(WORKER));
        if self.setting.has_background {
            worker = worker.with_background();
        }
        vec![
            tool("read", ToolEffects::READS),
            tool("write", ToolEffects::WRITES),
            tool("exec", ToolEffects::ALL),
            Arc::new(SubAgentTool::of(self.setting.sub_agent(HELPER))),
            Arc::new(worker),
        ]
    }
}

/// A user who does not wait quietly.
struct User {
    agent: Agent,
    steps: Steps,
    clock: WallClock,
    choices: Choices,
    random: SeededRandom,
    has_jumps: bool,
}

impl User {
    async fn act(mut self) {
        for number in 0..self.random.below(6) {
            // From milliseconds to minutes.
            let longest = 100 << self.random.below(12);
            let wait = Duration::from_millis(self.random.below(longest));
            self.clock.sleep_until(self.clock.now().after(wait)).await;
            self.steps.pass().await;
            let (roll, distance) = (self.random.below(100), self.random.below(7_200_000));
            match roll {
                0..=29 if self.choices.disturb(ChoiceKind::Message) => {
                    self.choices.tell(|| "The user steers.".to_owned());
                    self.agent.steer(format!("by the way {number}"));
                }
                30..=44 if self.choices.disturb(ChoiceKind::Message) => {
                    self.choices.tell(|| "The user adds a follow-up.".to_owned());
                    self.agent.follow_up(format!("and then {number}"));
                }
                45..=59 if self.choices.disturb(ChoiceKind::Cancel) => {
                    self.choices.tell(|| "The user cancels.".to_owned());
                    self.agent.abort();
                }
                60..=79 if self.choices.disturb(ChoiceKind::Answer) => {
                    let allow = roll < 70;
                    for request in self.agent.pending_permissions() {
                        let decision = if allow {
                            lariat_core::permission::PermissionDecision::Allow
                        } else {
                            lariat_core::permission::PermissionDecision::deny("no")
                        };
                        self.agent.respond_permission(request.id, decision);
                    }
                }
                80.. if self.has_jumps && self.choices.disturb(ChoiceKind::Clock) => {
                    let (distance, is_back) = (Duration::from_millis(distance), roll < 90);
                    self.choices.tell(|| {
                        format!(
                            "The clock jumps {} by {distance:?}.",
                            if is_back { "back" } else { "forward" }
                        )
                    });
                    self.clock.jump(distance, is_back);
                }
                _ => {}
            }
        }
    }
}
