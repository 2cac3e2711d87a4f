//! Scenarios: the configuration, the prompts, and the scripted answers.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::{FilterOutcome, ModelSignal, RunConfig, ToolTraits};
use super::harness::Harness;
use crate::budget::{Admission, BudgetLimits, BudgetScope, BudgetStatus};
use crate::config::ExecutionLimits;
use crate::content::{Content, ToolCall};
use crate::context::Note;
use crate::event::{AgentEvent, CompactionEdit, Event, EventRecord, FORMAT_VERSION, LoopStart, QueueKind};
use crate::hooks::{HookAnswer, HookInterest, LifecycleEventKind};
use crate::id::{EventId, LoopId, MessageId};
use crate::message::{
    AgentMessage, AssistantMessage, LlmMessage, Message, SharedMessage, StopReason, UserMessage,
};
use crate::model::{ProviderError, StreamEvent};
use crate::permission::{PermissionDecision, Verdict};
use crate::time::Timestamp;
use crate::tool::{ToolEffects, ToolError, ToolResult};
use crate::transcript::{Transcript, Window};
use crate::usage::Usage;

/// The loop of every scenario.
pub(super) const LOOP: &str = "s.c.1";

/// The signals of a model call.
pub(super) type Reply = Vec<ModelSignal>;

/// An action from outside while the run continues.
#[derive(Clone, Debug)]
pub(super) enum TestAction {
    Cancel,
    /// A hook ends the run.
    Halt(&'static str),
    /// The deadline of the run expires.
    Deadline,
    Steer(&'static str),
    FollowUp(&'static str),
    /// The tool of a call asks the user a question.
    Question(&'static str),
    /// A second approver answers a request for a call.
    Answer(&'static str, PermissionDecision),
    /// A budget is raised.
    Extend(BudgetScope, BudgetLimits),
    /// Time passes.
    Wait(Duration),
}

/// How the scripted compaction strategy answers.
#[derive(Clone, Copy, Default)]
pub(super) enum Compactor {
    #[default]
    Nothing,
    /// Drops everything except user messages, exchanges and the last message.
    Replies,
    /// Splits an exchange or names an unknown message.
    Nonsense,
    /// Drops a user message.
    Words,
}

/// A test scenario.
pub(super) struct Scenario {
    pub(super) config: RunConfig,
    pub(super) start: LoopStart,
    pub(super) transcript: Transcript,
    pub(super) prompts: Vec<AgentMessage>,
    pub(super) carried: Vec<(QueueKind, SharedMessage)>,
    pub(super) journal: Vec<Event>,
    pub(super) script: Script,
}

/// The scripted answers. Everything else succeeds.
#[derive(Default)]
pub(super) struct Script {
    pub(super) replies: VecDeque<Reply>,
    pub(super) filtered: Option<FilterOutcome>,
    /// Answers of the session's hooks, in order.
    pub(super) hook_answers: VecDeque<HookAnswer>,
    pub(super) before_loop: VecDeque<bool>,
    pub(super) before_turn: VecDeque<bool>,
    pub(super) verdicts: HashMap<&'static str, Verdict>,
    pub(super) decisions: HashMap<&'static str, PermissionDecision>,
    pub(super) unanswered: HashSet<&'static str>,
    pub(super) outputs: HashMap<&'static str, Result<ToolResult, ToolError>>,
    pub(super) held: HashSet<&'static str>,
    /// Tools that end last, in this order.
    pub(super) late: Vec<&'static str>,
    /// Notes for the model, given if they are new.
    pub(super) notes: Vec<Note>,
    /// Count of the provider, given each time it is asked.
    pub(super) count: Option<u64>,
    pub(super) compactor: Compactor,
    /// Compaction answers only when nothing else can happen.
    pub(super) slow_compaction: bool,
    /// A hook forbids compaction.
    pub(super) compaction_forbidden: bool,
    pub(super) cues: Vec<(&'static str, TestAction)>,
    /// Answers of the shared budgets to model calls.
    pub(super) admissions: VecDeque<Admission>,
    /// Tool calls that the shared budgets refuse.
    pub(super) refused_calls: HashMap<&'static str, BudgetStatus>,
    /// Answers to requests for more budget; refused if empty.
    pub(super) more: VecDeque<Option<BudgetLimits>>,
}

impl Scenario {
    /// Creates a loop with an empty conversation and one prompt. Tools: `read` and `list` are parallel-safe,
    /// `write` is not.
    pub(super) fn new(prompt: &str) -> Self {
        let read = ToolTraits::new(ToolEffects::READS, true);
        let write = ToolTraits::new(ToolEffects::WRITES, false);
        let tools = [("read", read.clone()), ("list", read), ("write", write)];
        let config = RunConfig {
            tools: tools.map(|(name, traits)| (name.to_owned(), traits)).into(),
            provider: "p".into(),
            model: "m".into(),
            ..RunConfig::default()
        };
        Self {
            config,
            start: LoopStart::new("agent".into(), "s".into(), LoopId::from(LOOP)),
            transcript: Transcript::new(),
            prompts: vec![prompt.into()],
            carried: Vec::new(),
            journal: Vec::new(),
            script: Script::default(),
        }
    }

    /// Creates a loop without prompts after this conversation.
    pub(super) fn continuing(messages: Vec<SharedMessage>) -> Self {
        let mut scenario = Self::new("unused").after(messages);
        scenario.prompts.clear();
        scenario
    }

    /// Sets the conversation before the loop.
    pub(super) fn after(mut self, messages: Vec<SharedMessage>) -> Self {
        self.start.base = messages.last().map(|message| message.id());
        self.transcript = Transcript::repair(messages.iter().cloned()).0;
        self.journaled(None, AgentEvent::MessagesImported { base: None, messages })
    }

    /// Adds an event to the journal before the loop.
    pub(super) fn journaled(mut self, loop_id: Option<&str>, event: AgentEvent) -> Self {
        let record = EventRecord {
            v: FORMAT_VERSION,
            seq: self.journal.len() as u64,
            id: EventId::default(),
            timestamp: Timestamp::from_millis(1),
            loop_id: loop_id.map(LoopId::from),
            event,
        };
        self.journal.push(Arc::new(record));
        self
    }

    pub(super) fn configured(mut self, change: impl FnOnce(&mut RunConfig)) -> Self {
        change(&mut self.config);
        self
    }

    pub(super) fn with_hooks(self) -> Self {
        self.configured(|config| config.hooks = HookInterest::All)
    }

    /// Registers hooks for this moment with these answers, followed by empty ones.
    pub(super) fn with_session_hooks(
        self,
        moment: LifecycleEventKind,
        answers: impl IntoIterator<Item = HookAnswer>,
    ) -> Self {
        self.configured(|config| config.moments.extend([moment]))
            .scripted(|script| script.hook_answers.extend(answers))
    }

    pub(super) fn limited(self, limits: ExecutionLimits) -> Self {
        self.configured(|config| config.limits = Some(limits))
    }

    pub(super) fn scripted(mut self, change: impl FnOnce(&mut Script)) -> Self {
        change(&mut self.script);
        self
    }

    pub(super) fn reply(self, reply: Reply) -> Self {
        self.scripted(|script| script.replies.push_back(reply))
    }

    pub(super) fn verdict(self, call: &'static str, verdict: Verdict) -> Self {
        self.scripted(|script| {
            script.verdicts.insert(call, verdict);
        })
    }

    /// The permission check asks about the call, and the user gives this answer; `None` for no answer.
    pub(super) fn asked(self, call: &'static str, decision: Option<PermissionDecision>) -> Self {
        let question = crate::permission::PermissionRequest::new(&tool_call(call, "read"), "may it run?");
        self.verdict(call, Verdict::Ask(question)).scripted(|script| match decision {
            Some(decision) => {
                script.decisions.insert(call, decision);
            }
            None => {
                script.unanswered.insert(call);
            }
        })
    }

    pub(super) fn output(self, call: &'static str, output: Result<ToolResult, ToolError>) -> Self {
        self.scripted(|script| {
            script.outputs.insert(call, output);
        })
    }

    pub(super) fn late(self, calls: &[&'static str]) -> Self {
        self.scripted(|script| script.late = calls.to_vec())
    }

    /// No user answers the requests of a call.
    pub(super) fn unanswered(self, call: &'static str) -> Self {
        self.scripted(|script| {
            script.unanswered.insert(call);
        })
    }

    pub(super) fn held(self, call: &'static str) -> Self {
        self.scripted(|script| {
            script.held.insert(call);
        })
    }

    /// Injects an action once the log has this line.
    pub(super) fn when(self, line: &'static str, say: TestAction) -> Self {
        self.scripted(|script| script.cues.push((line, say)))
    }

    pub(super) fn filtered(self, filtered: FilterOutcome) -> Self {
        self.configured(|config| config.has_filters = true)
            .scripted(|script| script.filtered = Some(filtered))
    }

    pub(super) fn begin(self) -> Harness {
        Harness::new(self)
    }

    /// Plays the scenario until nothing more happens.
    pub(super) fn play(self) -> Harness {
        let mut harness = self.begin();
        harness.drive();
        harness
    }
}

fn event(event: StreamEvent) -> ModelSignal {
    ModelSignal::Event(event)
}

pub(super) fn done(stop_reason: StopReason) -> ModelSignal {
    event(StreamEvent::Done { stop_reason, usage: Usage::new(10, 5) })
}

/// Sets the reported tokens of the request in a reply.
pub(super) fn using(mut reply: Reply, context: u64) -> Reply {
    for signal in &mut reply {
        if let ModelSignal::Event(StreamEvent::Done { usage, .. }) = signal {
            *usage = Usage::new(context, 5);
        }
    }
    reply
}

pub(super) fn piece(text: &str) -> ModelSignal {
    event(StreamEvent::TextDelta { index: 0, delta: text.into() })
}

/// Creates a text reply.
pub(super) fn text(text: &str) -> Reply {
    vec![event(StreamEvent::Start { model: "m-1".into() }), piece(text), done(StopReason::Stop)]
}

pub(super) fn tool_call(id: &str, name: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: json!({"of": id}), signature: None }
}

/// Creates a reply that calls tools, each given as `id name`, and stops for this reason.
pub(super) fn calls_stopping(calls: &[&str], stop_reason: StopReason) -> Reply {
    let ends = calls.iter().enumerate().map(|(index, call)| {
        let (id, name) = call.split_once(' ').unwrap_or((call, "read"));
        event(StreamEvent::ToolCallEnd { index, call: tool_call(id, name) })
    });
    ends.chain([done(stop_reason)]).collect()
}

/// Creates a reply that calls tools, each given as `id name`, or `id` for `read`.
pub(super) fn calls(calls: &[&str]) -> Reply {
    calls_stopping(calls, StopReason::ToolUse)
}

/// Creates a reply with one call with these arguments.
pub(super) fn call_with(id: &str, arguments: Value) -> Reply {
    let call = ToolCall { arguments, ..tool_call(id, "read") };
    vec![event(StreamEvent::ToolCallEnd { index: 0, call }), done(StopReason::ToolUse)]
}

/// Removes the reported usage from a reply, so that the estimate of the conversation is used.
pub(super) fn unreported(mut reply: Reply) -> Reply {
    if let Some(ModelSignal::Event(StreamEvent::Done { usage, .. })) = reply.last_mut() {
        *usage = Usage::default();
    }
    reply
}

pub(super) fn fails(error: ProviderError) -> Reply {
    vec![ModelSignal::Failed(error)]
}

pub(super) fn network() -> ProviderError {
    ProviderError::Network("reset".into())
}

pub(super) fn overflow() -> Reply {
    fails(ProviderError::ContextOverflow("prompt is too long".into()))
}

/// Creates a message from before the loop.
fn old(n: u128, message: Message) -> SharedMessage {
    let id = MessageId::new(uuid::Uuid::from_u128(n));
    Arc::new(AgentMessage::Llm(LlmMessage { id, turn_id: None, message }))
}

pub(super) fn old_prompt(n: u128, text: &str) -> SharedMessage {
    let content = vec![Content::text(text)];
    old(n, Message::User(UserMessage::new(content).at(Timestamp::from_millis(1))))
}

pub(super) fn old_reply(n: u128, text: &str) -> SharedMessage {
    old(
        n,
        Message::Assistant(AssistantMessage {
            content: vec![Content::text(text)],
            stop_reason: StopReason::Stop,
            model: "m".into(),
            provider: "p".into(),
            requested_model: None,
            usage: Usage::default(),
            timestamp: Timestamp::from_millis(1),
            error_message: None,
        }),
    )
}

/// Creates a conversation of this many short prompts and replies of about 500 tokens.
pub(super) fn long_talk(turns: u128) -> Vec<SharedMessage> {
    let words = "word ".repeat(400);
    let turn = |n: u128| [old_prompt(2 * n + 1, &format!("question {n}")), old_reply(2 * n + 2, &words)];
    (0..turns).flat_map(turn).collect()
}

impl Compactor {
    pub(super) fn propose(self, window: &Window) -> Vec<CompactionEdit> {
        let last = window.iter_back().next().map(|message| message.id());
        let goes = |message: &&SharedMessage| {
            let plain = message.as_assistant().is_some_and(|reply| reply.tool_calls().next().is_none());
            (plain || message.note_section().is_some()) && Some(message.id()) != last
        };
        let drop = |message: &SharedMessage| CompactionEdit::Drop { first: message.id(), last: message.id() };
        match self {
            Self::Replies => window.iter().filter(goes).map(drop).collect(),
            Self::Nonsense => {
                let nobody = MessageId::new(uuid::Uuid::from_u128(0xdead));
                vec![CompactionEdit::Drop { first: nobody, last: nobody }]
            }
            Self::Words => {
                let person = |message: &&SharedMessage| {
                    message.as_user().is_some_and(|user| user.origin.is_from_user())
                };
                window.iter().filter(person).take(1).map(drop).collect()
            }
            Self::Nothing => Vec::new(),
        }
    }
}
