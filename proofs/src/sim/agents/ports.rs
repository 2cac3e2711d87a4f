//! The model, the tools, the permission check and the approver of a tree of agents.
//!
//! Every call of them is a step of the process, so that the seed decides which agent continues next.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::clock::Clock;
use lariat_core::message::StopReason;
use lariat_core::model::{
    ErrorDetail, ModelConfig, ModelStream, ProviderError, StreamConfig, StreamEvent, StreamProvider,
};
use lariat_core::permission::{
    Approver, PermissionDecision, PermissionPolicy, PermissionRequest, PolicyQuery, Verdict,
};
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_core::usage::Usage;
use lariat_test::{Reply, ScriptedModel, SeededRandom};
use serde_json::{Value, json};

use super::super::choice::{ChoiceKind, Choices};
use super::super::steps::Steps;
use super::super::wall_clock::WallClock;
use super::setting::{HELPER, MOST_TOKENS, Setting, WORKER};
use super::watch::{OpenRequest, Watch};

/// After so many requests, the model only replies with texts.
const MOST_CALLING_REQUESTS: usize = 60;

/// The model of all agents, which outlives the process.
pub(super) fn model(
    seed: &SeededRandom,
    setting: &Setting,
    clock: &WallClock,
    choices: &Choices,
) -> ScriptedModel {
    let mut random = seed.fork("model");
    let (yields, has_background, choices) = (random.chance(50), setting.has_background, choices.clone());
    let model = ScriptedModel::from_fn(move |index, _| {
        let reply = reply(&mut random, index, has_background, &choices);
        let tokens = random.below(MOST_TOKENS);
        reply.with_usage(Usage::new(tokens - tokens / 4, tokens / 4))
    });
    let model = model.with_clock(Arc::new(clock.clone()));
    if yields { model.with_yields() } else { model }
}

fn reply(random: &mut SeededRandom, index: usize, has_background: bool, choices: &Choices) -> Reply {
    let (roll, seconds) = (random.below(100), random.below(200));
    let is_text = roll < 30 || index > MOST_CALLING_REQUESTS;
    if is_text || !choices.disturb(ChoiceKind::Reply) {
        return Reply::text(format!("answer {index}"));
    }
    let network = || ProviderError::Network("connection reset".into());
    match roll {
        0..=79 => calls(random, index, has_background),
        80..=82 => Reply::error(network()),
        83 => Reply::error(ProviderError::RateLimited(
            ErrorDetail::new("slow down").with_retry_after(Some(Duration::from_secs(seconds))),
        )),
        84..=87 => Reply::text("slow").then_wait(Duration::from_secs(seconds)).then_text("ly"),
        88 => Reply::text("and then").then_stall(),
        89 => Reply::error(ProviderError::Auth("no".into())),
        90 => Reply::error(ProviderError::ContextOverflow("prompt is too long".into())),
        91..=92 => Reply::text("half a").then_fail(network()),
        93 => calls(random, index, has_background).cut(),
        94 => Reply::text("cut off").stop(StopReason::Length),
        95 => Reply::empty(),
        96 => calls(random, index, has_background).stop(StopReason::Length),
        _ => calls(random, index, has_background).split(3),
    }
}

fn calls(random: &mut SeededRandom, index: usize, has_background: bool) -> Reply {
    let count = 1 + random.index(3);
    let calls: Vec<(String, &str, Value)> = (0..count)
        .map(|at| {
            let name = *random.pick(&["read", "write", "exec", HELPER, HELPER, WORKER]).unwrap_or(&HELPER);
            let task = format!("task {index}.{at}");
            let args = match name {
                WORKER if has_background && random.chance(70) => {
                    json!({"task": task, "run_in_background": true})
                }
                HELPER | WORKER => json!({"task": task}),
                _ => json!({"n": random.below(1_000)}),
            };
            (format!("c{index}.{at}"), name, args)
        })
        .collect();
    Reply::calls(calls)
}

/// The model as a process calls it.
pub(super) struct ProcessModel {
    pub(super) model: Arc<ScriptedModel>,
    pub(super) watch: Arc<Watch>,
    pub(super) steps: Steps,
}

impl StreamProvider for ProcessModel {
    fn provider_id(&self) -> &str {
        self.model.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        let (model, watch, steps) = (Arc::clone(&self.model), Arc::clone(&self.watch), self.steps.clone());
        let stream = async move {
            steps.pass().await;
            let open = watch.begin_request(&request);
            MeteredStream { replies: model.stream(request, cancel), open }
        };
        Box::pin(stream.flatten_stream())
    }

    fn reports_cost(&self, model: &ModelConfig) -> bool {
        self.model.reports_cost(model)
    }
}

/// A reply whose tokens are noted.
struct MeteredStream {
    replies: ModelStream,
    open: OpenRequest,
}

impl Stream for MeteredStream {
    type Item = Result<StreamEvent, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.replies.as_mut().poll_next(context);
        if let Poll::Ready(Some(Ok(StreamEvent::Done { usage, .. }))) = &polled {
            self.open.spend(usage.total());
        }
        polled
    }
}

/// A tool that all agents of a tree have.
pub(super) struct SessionTool {
    pub(super) name: &'static str,
    pub(super) effects: ToolEffects,
    pub(super) watch: Arc<Watch>,
    pub(super) steps: Steps,
    pub(super) clock: WallClock,
    pub(super) random: Arc<Mutex<SeededRandom>>,
}

impl SessionTool {
    async fn act(&self, context: ToolContext) -> Result<ToolResult, ToolError> {
        if self.steps.is_dead() {
            return std::future::pending().await;
        }
        self.watch.begin_tool(&context, self.name);
        let (roll, milliseconds) = {
            let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
            (random.below(100), random.below(30_000))
        };
        self.steps.pass().await;
        if roll < 50 || !self.watch.choices.disturb(ChoiceKind::Tool) {
            return Ok(ToolResult::text("ok"));
        }
        let wait = self.clock.sleep_until(self.clock.now().after(Duration::from_millis(milliseconds)));
        match roll {
            50..=69 => {
                if let Either::Right(_) = select(wait, context.cancel.cancelled()).await {
                    return Err(ToolError::Cancelled);
                }
            }
            70..=79 => return Err(ToolError::Failed("it failed".to_owned())),
            80..=84 => wait.await,
            85..=87 => {
                context.cancel.cancelled().await;
                return Err(ToolError::Cancelled);
            }
            88 => return std::future::pending().await,
            // Not `panic!`, which would print a message for a deliberate panic.
            89 => std::panic::resume_unwind(Box::new("a scripted panic")),
            _ => {}
        }
        self.steps.pass().await;
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

/// The permission check of all agents: always the same for the same call.
pub(super) struct SessionPolicy {
    pub(super) setting: Setting,
    pub(super) steps: Steps,
}

impl PermissionPolicy for SessionPolicy {
    fn check<'a>(&'a self, query: PolicyQuery<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            self.steps.pass().await;
            if self.setting.is_forbidden(&query.call.id) {
                return Verdict::Deny("a rule says no".to_owned());
            }
            match self.setting.verdict_roll(&query.call.id) {
                0..=69 => Verdict::Allow,
                82..=84 => {
                    let mut args = query.call.arguments.clone();
                    if let Some(args) = args.as_object_mut() {
                        args.insert("rewritten".to_owned(), json!(true));
                    }
                    Verdict::Rewrite(Arc::new(args))
                }
                _ => {
                    let text = format!("run {}?", query.call.name);
                    Verdict::Ask(PermissionRequest::new(query.call, text))
                }
            }
        })
    }
}

/// A user who is asked, and who sometimes does not answer.
pub(super) struct SessionApprover {
    pub(super) steps: Steps,
    pub(super) clock: WallClock,
    pub(super) random: Arc<Mutex<SeededRandom>>,
}

impl Approver for SessionApprover {
    fn ask<'a>(&'a self, _: &'a PermissionRequest) -> BoxFuture<'a, PermissionDecision> {
        Box::pin(async move {
            let (roll, seconds) = {
                let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
                (random.below(100), random.below(100))
            };
            self.steps.pass().await;
            if roll >= 50 {
                self.clock.sleep_until(self.clock.now().after(Duration::from_secs(seconds))).await;
            }
            if roll >= 95 {
                return std::future::pending().await;
            }
            self.steps.pass().await;
            if roll % 3 == 0 { PermissionDecision::deny("not today") } else { PermissionDecision::Allow }
        })
    }
}
