//! Runs a sub-agent for a tool call: makes its agent from the parent's, drives it, and turns its end into a result.
//!
//! The sub-agent runs in a task of its own, so that several use several cores and so that one whose tool call is dropped
//! still records its end.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{Either, select};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::config::ContextConfig;
use lariat_core::event::{Event, RunOutcome, TurnTrigger};
use lariat_core::id::AgentId;
use lariat_core::message::AgentMessage;
use lariat_core::model::{SystemPrompt, ToolChoice};
use lariat_core::run::{RunConfig, SUB_AGENT_CONFIG};
use lariat_core::tool::{RecordedSubAgent, ToolContext, ToolError, ToolResult};
use lariat_core::usage::Usage;
use serde_json::json;
use tokio::task::JoinHandle;

use super::narrowed_policy::NarrowedPolicy;
use super::relay::RelayApprover;
use super::settings::{SubAgent, SubAgentTools};
use super::share_finding::ShareFinding;
use super::status::StatusReporter;
use crate::agent::{
    AgentContext, AgentError, AgentLoopConfig, EventSender, SubAgentEnd, SubAgentFailure, SubAgentStart,
    add_secrets, observer_sender, run_sub_agent,
};
use crate::compaction::RecallTool;
use crate::drive::{
    Lineage, MissingApprover, ParentRun, Ports, RunHandle, SHARE_FINDING, TOOL_GRACE, ToolSet,
};
use crate::prompt::{Section, SectionStability, Sections};

/// Time for a cancelled sub-agent to record its end, after its own tools ended.
const END_MARGIN: Duration = Duration::from_millis(500);

/// Note in the result of a sub-agent that did not finish.
const STOPPED_EARLY: &str = "[lariat] The sub-agent stopped before it finished";

impl SubAgent {
    /// Returns how much longer than other tools a cancelled call may take: each level below ends its tools first.
    pub fn grace(&self) -> Duration {
        let levels = u32::try_from(self.max_depth).unwrap_or(u32::MAX);
        (TOOL_GRACE + END_MARGIN).saturating_mul(levels)
    }

    /// Runs a sub-agent on a task, for a tool whose [`task_argument`](lariat_core::tool::AgentTool::task_argument) is set.
    ///
    /// # Errors
    /// If the sub-agent cannot start, has no answer or was cancelled.
    pub fn run(
        &self,
        task: String,
        context: ToolContext,
    ) -> impl Future<Output = Result<ToolResult, ToolError>> + Send + use<> {
        let agent = self.clone();
        async move {
            let not_recorded = || ToolError::Failed("this tool call cannot start a sub-agent".to_owned());
            let parent = ParentRun::of(&context).ok_or_else(not_recorded)?;
            let recorded = context.sub_agent.clone().ok_or_else(not_recorded)?;
            if task.trim().is_empty() {
                return Err(ToolError::InvalidArgs("the task of the sub-agent is empty".to_owned()));
            }
            let lineage = &parent.ports.lineage;
            if lineage.depth() >= agent.max_depth {
                let most = agent.max_depth;
                let message = format!("sub-agents may be nested at most {most} deep; do the task yourself");
                return Err(ToolError::Failed(message));
            }
            // A sub-agent that ran before a crash is not refused in favour of a new one: its work would be lost.
            let most = if recorded.is_resumed { usize::MAX } else { agent.max_running };
            let Some(_slot) = lineage.enter(most) else {
                let most = agent.max_running;
                let message =
                    format!("{most} sub-agents run already; wait for one to end, or do the task yourself");
                return Err(ToolError::Failed(message));
            };
            // Boxed: otherwise the future of every tool call would reserve space for it.
            Box::pin(agent.run_recorded(task, &parent, &recorded, &context)).await
        }
    }

    async fn run_recorded(
        &self,
        task: String,
        parent: &Arc<ParentRun>,
        recorded: &RecordedSubAgent,
        context: &ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let (ports, run) = self.ports(parent, recorded)?;
        let (clock, policy) = (Arc::clone(&ports.clock), Arc::clone(&parent.ports.policy));
        policy.release_files(parent.journal.session_id());
        let cancel = context.cancel.child_token();
        let handle = Arc::new(OnceLock::new());
        let prompt = AgentMessage::user(task);
        let pool = ports.budget.pool.clone();
        let is_resumed = recorded.is_resumed;
        let is_completed = recorded.is_completed;
        let start = SubAgentStart { prompt, is_resumed, is_completed, handle: Arc::clone(&handle), pool };
        let sender = self.sender(parent, recorded, context);
        let running = self.start(parent, recorded, start, (ports, run), sender, cancel.clone());
        let deadline = clock.now().after(self.timeout);
        let mut running = std::pin::pin!(running);
        let wrap_up = clock.sleep_until(clock.now().after(self.timeout.saturating_sub(self.wrap_up)));
        let mut timed_out = false;
        let end = match select(running.as_mut(), wrap_up).await {
            Either::Left((end, _)) => end,
            Either::Right(_) => {
                self.ask_to_finish(&handle);
                match select(running.as_mut(), clock.sleep_until(deadline)).await {
                    Either::Left((end, _)) => end,
                    Either::Right(_) => {
                        timed_out = true;
                        cancel.cancel();
                        running.await
                    }
                }
            }
        };
        policy.release_files(&recorded.session_id);
        let end = match end {
            Ok(end) => end,
            Err(SubAgentFailure { error, usage }) => {
                let error = format!("the sub-agent failed: {error}");
                // What it reported while it ran includes replies that its journal does not have.
                let usage = Some(parent.used()).filter(|used| *used != Usage::default()).unwrap_or(usage);
                parent.end(RunOutcome::Failed { error: error.clone() }, usage);
                return Err(ToolError::Failed(error));
            }
        };
        parent.end(end.outcome.clone(), end.usage);
        if context.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        self.result(end, recorded, timed_out)
    }

    /// Tells the sub-agent to finish. It receives the message between tool calls.
    fn ask_to_finish(&self, handle: &OnceLock<RunHandle>) {
        let text = format!(
            "[lariat] You have {} seconds left. Stop working now and report what you found and what is left to do.",
            self.wrap_up.as_secs()
        );
        if let Some(handle) = handle.get() {
            // A run that is over needs no message.
            let _ = handle.steer(AgentMessage::user(text));
        }
    }

    /// Starts the sub-agent in a task of its own.
    fn start(
        &self,
        parent: &ParentRun,
        recorded: &RecordedSubAgent,
        start: SubAgentStart,
        (ports, run): (Ports, RunConfig),
        sender: impl EventSender + 'static,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<SubAgentEnd, SubAgentFailure>> {
        let mut config = AgentLoopConfig::new(ports, run, Some(SUB_AGENT_CONFIG.to_owned()));
        config.missing_approver = MissingApprover::Wait;
        let journal = Arc::new(parent.journal.of_session(recorded.session_id.clone()));
        let mut context = AgentContext::new(AgentId::from(agent_id(recorded)), journal);
        context.parent_loop_id = Some(parent.loop_id.clone());
        context.spawned_by = Some(parent.spawn_ref());
        let stop = cancel.clone();
        let work = async move { run_sub_agent(start, &mut context, &config, sender, cancel).await };
        match tokio::runtime::Handle::try_current() {
            Ok(executor) => Box::pin(ChildTask { task: executor.spawn(work), cancel: stop }),
            Err(_) => Box::pin(work),
        }
    }

    /// Makes the connections and settings of the sub-agent from those of its parent.
    fn ports(
        &self,
        parent: &Arc<ParentRun>,
        recorded: &RecordedSubAgent,
    ) -> Result<(Ports, RunConfig), ToolError> {
        let mut ports = Ports::clone(&parent.ports);
        let mut run = RunConfig::clone(&parent.config);
        let own = match (&self.model, &self.parents_model) {
            (Some(own), _) => Some(own.resolve()?),
            (None, Some(model)) => Some((Arc::clone(&ports.model), Arc::clone(model))),
            (None, None) => None,
        };
        if let Some((provider, model)) = own {
            let window = usize::try_from(model.context_window).ok().filter(|window| *window > 0);
            run.context = window.filter(|_| !model.id.is_empty()).map(ContextConfig::with_window);
            (ports.model, ports.request.model_config) = (provider, model);
            ports.request.fallbacks.clear();
            add_secrets(&ports.redactor, &ports.request, None, &[]);
        }
        ports.request.system_prompt = SystemPrompt::from(self.system_prompt.as_str());
        (ports.request.output_schema, ports.request.tool_choice) = (None, ToolChoice::default());
        let sections = ports.sections.take().filter(|_| self.has_sections_of_parent);
        ports.sections = sections.map(|sections| {
            let mut sections = Sections::clone(&sections);
            sections.add(Section::new("system", SectionStability::Static, self.system_prompt.as_str()));
            Arc::new(sections)
        });
        ports.notes = None;
        ports.lineage = Lineage::child_of(parent, &self.name);
        ports.approver = Some(Arc::new(RelayApprover::new(Arc::clone(parent), &self.name)));
        let mut policy =
            NarrowedPolicy::new(Arc::clone(&parent.ports.policy)).named(agent_id(recorded), &self.name);
        if let Some(restriction) = &self.restriction {
            policy = policy.with_restriction(Arc::clone(restriction));
        }
        ports.tools = match &self.tools {
            SubAgentTools::Own(tools) if tools.is_empty() => ToolSet::new([]),
            SubAgentTools::Own(tools) => {
                let recall: Arc<dyn lariat_core::tool::AgentTool> = Arc::new(RecallTool);
                let known = tools.iter().any(|tool| tool.name() == RecallTool::NAME);
                ToolSet::new(tools.iter().cloned().chain((!known).then_some(recall)))
            }
            SubAgentTools::Parents(names) => {
                if let Some(names) = names {
                    let own = std::iter::once(RecallTool::NAME)
                        .chain(self.shares_findings.then_some(SHARE_FINDING));
                    policy = policy.with_tools(names.iter().cloned().chain(own.map(str::to_owned)));
                }
                parent.ports.tools.filtered(|tool| policy.has_tool(tool) && tool != crate::proposal::PROPOSE)
            }
        };
        if self.shares_findings {
            ports.tools = ports.tools.and(Arc::new(ShareFinding));
        }
        ports.policy = Arc::new(policy);
        ports.budget.pool = match (&parent.budget, self.budget.is_none()) {
            (Some(pool), _) => Some(pool.child_of_run(self.budget)),
            (None, false) => Some(crate::budget::BudgetPool::of_run(self.budget)),
            (None, true) => None,
        };
        run.limits = Some(self.limits.clone());
        run.budget = lariat_core::budget::BudgetConfig::default();
        run.first_turn_trigger = TurnTrigger::SubAgent;
        run.checkpoints = false;
        (run.overhead, run.fallbacks) = (None, Vec::new());
        let caps_money = ports.budget.caps_money() || self.limits.max_cost.is_some();
        let model = &ports.request.model_config;
        if caps_money && !ports.model.reports_cost(model) {
            let message =
                format!("money is limited, and the price of the sub-agent's model `{}` is unknown", model.id);
            return Err(ToolError::Failed(message));
        }
        Ok((ports, run))
    }

    /// Passes the events of the sub-agent to the observers of the tree, and its status to the user.
    fn sender(
        &self,
        parent: &ParentRun,
        recorded: &RecordedSubAgent,
        context: &ToolContext,
    ) -> impl EventSender + 'static {
        let mut observers =
            observer_sender(Arc::clone(parent.ports.lineage.observers()), recorded.session_id.clone());
        let mut status =
            context.on_progress.clone().map(|progress| StatusReporter::new(progress, &self.name));
        move |event: Event| {
            if let Some(status) = &mut status {
                status.observe(&event);
            }
            observers.send(event);
        }
    }

    /// Turns the end of a sub-agent into the result of the tool call.
    fn result(
        &self,
        end: SubAgentEnd,
        recorded: &RecordedSubAgent,
        timed_out: bool,
    ) -> Result<ToolResult, ToolError> {
        let SubAgentEnd { mut text, outcome, usage, turns } = end;
        let why = match &outcome {
            RunOutcome::Completed => None,
            _ if timed_out => Some(format!("its time of {} seconds is over", self.timeout.as_secs())),
            RunOutcome::LimitReached { limit, .. } => Some(format!("a limit is reached ({limit:?})")),
            RunOutcome::Failed { error } => Some(error.clone()),
            other => Some(format!("{other:?}")),
        };
        if let Some(why) = why {
            if text.trim().is_empty() || matches!(outcome, RunOutcome::Failed { .. }) {
                return Err(ToolError::Failed(format!("the sub-agent `{}` has no answer: {why}", self.name)));
            }
            text.push_str(&format!("\n\n{STOPPED_EARLY}: {why}."));
        }
        let details = json!({
            "agent": self.name,
            "session_id": recorded.session_id,
            "turns": turns,
            "tokens": usage.total(),
            "cost_nano_usd": usage.cost.as_nano_usd(),
        });
        Ok(ToolResult {
            child_loop_id: Some(recorded.loop_id.clone()),
            ..ToolResult::text(text).with_details(details)
        })
    }
}

/// The id of a sub-agent, the same in every process that runs it.
fn agent_id(recorded: &RecordedSubAgent) -> String {
    format!("agent-{}", recorded.session_id)
}

/// The task of a sub-agent. Dropping it cancels the sub-agent, which then ends by itself.
struct ChildTask {
    task: JoinHandle<Result<SubAgentEnd, SubAgentFailure>>,
    cancel: CancellationToken,
}

impl Future for ChildTask {
    type Output = Result<SubAgentEnd, SubAgentFailure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let lost = || Err(SubAgentFailure { error: AgentError::TaskLost, usage: Usage::default() });
        Pin::new(&mut self.task).poll(context).map(|end| end.unwrap_or_else(|_| lost()))
    }
}

impl Drop for ChildTask {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
