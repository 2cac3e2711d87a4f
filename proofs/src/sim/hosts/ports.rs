//! The model, the tools and the permission check of the sessions of a host.
//!
//! Every call of them is a step of the process, so that the seed decides who continues next.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::clock::Clock;
use lariat_core::id::SessionId;
use lariat_core::message::StopReason;
use lariat_core::model::{
    ErrorDetail, ModelConfig, ModelStream, ProviderError, StreamConfig, StreamProvider,
};
use lariat_core::permission::{PermissionPolicy, PermissionRequest, PolicyQuery, UserQuestion, Verdict};
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_core::usage::Usage;
use lariat_test::{Reply, ScriptedModel, SeededRandom};
use serde_json::{Value, json};

use super::super::choice::{ChoiceKind, Choices};
use super::super::steps::Steps;
use super::super::wall_clock::WallClock;
use super::agents::Modes;
use super::process::Process;
use super::setting::{APPROVED, CAREFUL, MOST_TOKENS, PLAN};
use super::watch::Watch;

/// After so many requests, the model only replies with texts.
const MOST_CALLING_REQUESTS: usize = 60;

/// The model of all sessions, which outlives the process.
pub(super) fn model(seed: &SeededRandom, clock: &WallClock, choices: &Choices) -> ScriptedModel {
    let mut random = seed.fork("model");
    let (yields, choices) = (random.chance(50), choices.clone());
    let model = ScriptedModel::from_fn(move |index, _| {
        let reply = reply(&mut random, index, &choices);
        let tokens = random.below(MOST_TOKENS);
        reply.with_usage(Usage::new(tokens - tokens / 4, tokens / 4))
    });
    let model = model.with_clock(Arc::new(clock.clone()));
    if yields { model.with_yields() } else { model }
}

fn reply(random: &mut SeededRandom, index: usize, choices: &Choices) -> Reply {
    let (roll, seconds) = (random.below(100), random.below(200));
    let is_text = roll < 35 || index > MOST_CALLING_REQUESTS;
    if is_text || !choices.disturb(ChoiceKind::Reply) {
        return Reply::text(format!("answer {index}"));
    }
    let network = || ProviderError::Network("connection reset".into());
    match roll {
        0..=79 => calls(random, index),
        80..=81 => Reply::error(network()),
        82 => Reply::error(ProviderError::RateLimited(
            ErrorDetail::new("slow down").with_retry_after(Some(Duration::from_secs(seconds))),
        )),
        83..=89 => Reply::text("slow").then_wait(Duration::from_secs(seconds)).then_text("ly"),
        90 => Reply::text("and then").then_stall(),
        91 => Reply::error(ProviderError::Auth("no".into())),
        92 => Reply::error(ProviderError::ContextOverflow("prompt is too long".into())),
        93 => Reply::text("half a").then_fail(network()),
        94 => calls(random, index).cut(),
        95 => Reply::text("cut off").stop(StopReason::Length),
        96 => Reply::empty(),
        _ => calls(random, index).split(3),
    }
}

fn calls(random: &mut SeededRandom, index: usize) -> Reply {
    let count = 1 + random.index(2);
    let calls: Vec<(String, &str, Value)> = (0..count)
        .map(|at| {
            let name = *random.pick(&["read", "write", "write", "exec"]).unwrap_or(&"read");
            (format!("c{index}.{at}"), name, json!({"n": random.below(1_000)}))
        })
        .collect();
    Reply::calls(calls)
}

/// The model as the agent of a session calls it.
pub(super) struct SessionModel {
    pub(super) model: Arc<ScriptedModel>,
    pub(super) session_id: SessionId,
    pub(super) watch: Arc<Watch>,
    pub(super) steps: Steps,
}

impl StreamProvider for SessionModel {
    fn provider_id(&self) -> &str {
        self.model.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        let (model, session_id) = (Arc::clone(&self.model), self.session_id.clone());
        let (watch, steps) = (Arc::clone(&self.watch), self.steps.clone());
        let stream = async move {
            steps.pass().await;
            watch.begin_request(&session_id, &request);
            model.stream(request, cancel)
        };
        Box::pin(stream.flatten_stream())
    }

    fn reports_cost(&self, model: &ModelConfig) -> bool {
        self.model.reports_cost(model)
    }
}

/// A tool that every session has.
pub(super) struct SessionTool {
    pub(super) name: &'static str,
    pub(super) effects: ToolEffects,
    pub(super) process: Arc<Process>,
    pub(super) random: Arc<Mutex<SeededRandom>>,
}

impl SessionTool {
    async fn act(&self, context: ToolContext) -> Result<ToolResult, ToolError> {
        let Process { steps, watch, clock, .. } = &*self.process;
        if steps.is_dead() {
            return std::future::pending().await;
        }
        watch.begin_tool(&context);
        let (roll, milliseconds) = {
            let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
            (random.below(100), random.below(30_000))
        };
        steps.pass().await;
        if roll < 50 || !watch.choices.disturb(ChoiceKind::Tool) {
            return Ok(ToolResult::text("ok"));
        }
        let wait = clock.sleep_until(clock.now().after(Duration::from_millis(milliseconds)));
        match roll {
            50..=74 => {
                if let Either::Right(_) = select(wait, context.cancel.cancelled()).await {
                    return Err(ToolError::Cancelled);
                }
            }
            75..=81 => return Err(ToolError::Failed("it failed".to_owned())),
            82..=85 => wait.await,
            86..=88 => {
                context.cancel.cancelled().await;
                return Err(ToolError::Cancelled);
            }
            // Not `panic!`, which would print a message for a deliberate panic.
            89 => std::panic::resume_unwind(Box::new("a scripted panic")),
            _ => {}
        }
        steps.pass().await;
        Ok(ToolResult::text("done"))
    }
}

impl AgentTool for SessionTool {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "A tool."
    }

    fn parameters_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn effects(&self) -> ToolEffects {
        self.effects
    }

    fn execute<'a>(&'a self, _: Value, context: ToolContext) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(self.act(context))
    }
}

/// The permission check of a session: always the same for the same call in the same mode.
pub(super) struct SessionPolicy {
    pub(super) session_id: SessionId,
    pub(super) process: Arc<Process>,
    pub(super) modes: Arc<Modes>,
}

impl PermissionPolicy for SessionPolicy {
    fn check<'a>(&'a self, query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            self.process.steps.pass().await;
            let (call, setting) = (query.call, &self.process.setting);
            if setting.is_forbidden(&call.id) {
                return Verdict::Deny("a rule says no".to_owned());
            }
            if call.id.as_str().ends_with(APPROVED) {
                return Verdict::Allow;
            }
            let mode = self.process.check_mode(&self.session_id, &self.modes);
            if mode == PLAN && call.name != "read" {
                return Verdict::Queue { summary: format!("{} {}", call.name, call.id) };
            }
            let ask = || PermissionRequest::new(call, format!("run {}?", call.name));
            match setting.verdict_roll(&call.id) {
                roll if mode == CAREFUL && roll < 90 => Verdict::Ask(ask()),
                0..=44 => Verdict::Allow,
                92..=94 => Verdict::Rewrite(Arc::new(json!({"rewritten": true}))),
                95..=99 => {
                    let question =
                        UserQuestion::new("which one?", vec!["left".to_owned(), "right".to_owned()]);
                    Verdict::Ask(ask().with_question(question))
                }
                _ => Verdict::Ask(ask()),
            }
        })
    }
}
