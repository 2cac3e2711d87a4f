//! Performs effects according to a script and keeps an ordered log of callbacks, events and effects.
//!
//! Answers are queued and given one at a time. Late answers follow when the queue is empty, timers when
//! nothing else can happen. Abandoned operations are still answered: the machine must ignore those answers.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::super::{
    Effect, FilterOutcome, HookCall, Input, ModelSignal, OpId, RecoveredRun, Run, RunConfig, RunEnd,
};
use super::scenario::{Compactor, LOOP, Scenario, Script, TestAction, text, tool_call};
use crate::content::ToolCall;
use crate::context::{CompactionProposal, Note};
use crate::event::{AgentEvent, Event, EventRecord, QueueKind, RecordedMessage, RunOutcome};
use crate::hooks::LifecycleEvent;
use crate::id::{LoopId, RequestId, ToolCallId};
use crate::message::{AgentMessage, Message};
use crate::permission::{PermissionDecision, PermissionRequest, UserQuestion, Verdict};
use crate::run::SessionSnapshot;
use crate::session::SessionFold;
use crate::time::{Stamp, Timestamp};
use crate::tool::{ToolError, ToolResult};
use crate::transcript::Window;
use crate::transcript::tests::strictly_valid;
use crate::usage::Usage;

/// Start time of scenarios, in Unix milliseconds.
pub(super) const BEGIN: u64 = 1_763_164_800_000;
/// Number of inputs after which a scenario is treated as endless.
const TOO_MANY: usize = 2_000;

pub(super) struct Harness {
    pub(super) run: Run,
    pub(super) config: Arc<RunConfig>,
    pub(super) log: Vec<String>,
    /// Durable events, including those before the loop.
    pub(super) journal: Vec<Event>,
    /// All events of the loop, including live ones.
    pub(super) events: Vec<EventRecord>,
    /// The conversation sent in each model call.
    pub(super) sent: Vec<Window>,
    /// The moments for which the session's hooks were called.
    pub(super) moments: Vec<LifecycleEvent>,
    pub(super) ending: Option<RunEnd>,
    /// Number of inputs given so far.
    pub(super) inputs: usize,
    pub(super) now: u64,
    /// Timers that were started, fired or not.
    pub(super) timers_started: Vec<Timestamp>,
    pub(super) cancelled_tools: Vec<ToolCallId>,
    script: Script,
    pending: VecDeque<Input>,
    late: Vec<(usize, Input)>,
    timers: Vec<(Timestamp, OpId)>,
    deadline: Option<OpId>,
    asked: HashMap<ToolCallId, RequestId>,
    started_tools: HashSet<ToolCallId>,
    /// Reservations that are not settled.
    pub(super) reserved: Vec<OpId>,
}

impl Harness {
    pub(super) fn new(scenario: Scenario) -> Self {
        let config = Arc::new(scenario.config);
        let mut run = Run::new(Arc::clone(&config), scenario.start, 1, scenario.transcript, scenario.prompts)
            .expect("a valid start");
        scenario.carried.into_iter().for_each(|(queue, message)| run.queue_earlier_message(queue, message));
        let mut harness = Self::around(run, config, scenario.journal, scenario.script);
        harness.pending.push_back(Input::Begin);
        harness
    }

    /// Resumes a loop from its journal; everything that follows succeeds.
    pub(super) fn recovered(config: &Arc<RunConfig>, journal: &[Event], now: u64) -> Self {
        let loop_id = LoopId::from(LOOP);
        let recovered = Run::recover(Arc::clone(config), journal, &loop_id).expect("an open loop");
        Self::resumed(recovered, config, journal, now)
    }

    /// Resumes a loop from a snapshot of the first `at` events and the events after them.
    pub(super) fn resumed_from(
        snapshot: &SessionSnapshot,
        at: usize,
        config: &Arc<RunConfig>,
        journal: &[Event],
        now: u64,
    ) -> Self {
        let (loop_id, tail) = (LoopId::from(LOOP), &journal[at..]);
        let fold = SessionFold::from_snapshot(snapshot).then(tail);
        assert!(!fold.lacks_history());
        let recovered = Run::recover_from(Arc::clone(config), &fold, Some(snapshot), tail, &loop_id);
        Self::resumed(recovered.expect("an open loop"), config, journal, now)
    }

    fn resumed(recovered: RecoveredRun, config: &Arc<RunConfig>, journal: &[Event], now: u64) -> Self {
        let stamp = Stamp { now: Timestamp::from_millis(now), entropy: journal.len() as u64 };
        let run = recovered.resume(stamp);
        let mut harness = Self::around(run, Arc::clone(config), journal.to_vec(), Script::default());
        harness.now = now;
        harness.perform_all();
        harness
    }

    fn around(run: Run, config: Arc<RunConfig>, journal: Vec<Event>, script: Script) -> Self {
        Self {
            run,
            config,
            log: Vec::new(),
            journal,
            events: Vec::new(),
            sent: Vec::new(),
            moments: Vec::new(),
            ending: None,
            inputs: 0,
            now: BEGIN,
            timers_started: Vec::new(),
            cancelled_tools: Vec::new(),
            script,
            pending: VecDeque::new(),
            late: Vec::new(),
            timers: Vec::new(),
            deadline: None,
            asked: HashMap::new(),
            started_tools: HashSet::new(),
            reserved: Vec::new(),
        }
    }

    /// Gives inputs until nothing more happens.
    pub(super) fn drive(&mut self) {
        while self.step() {
            assert!(self.inputs < TOO_MANY, "the scenario does not end:\n{}", self.log.join("\n"));
        }
    }

    /// Gives the next input; returns false if there is none.
    pub(super) fn step(&mut self) -> bool {
        let Some(input) = self.next_input() else { return false };
        self.give(input);
        true
    }

    fn next_input(&mut self) -> Option<Input> {
        if let Some(input) = self.pending.pop_front() {
            return Some(input);
        }
        if let Some(first) = (0..self.late.len()).min_by_key(|at| self.late[*at].0) {
            return Some(self.late.remove(first).1);
        }
        if self.ending.is_some() {
            return None;
        }
        let next = (0..self.timers.len()).min_by_key(|at| self.timers[*at])?;
        let (at, op) = self.timers.remove(next);
        self.now = self.now.max(at.as_millis());
        Some(Input::Timer { op })
    }

    pub(super) fn give(&mut self, input: Input) {
        self.inputs += 1;
        self.now += 1;
        let entropy = (self.inputs as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.run.handle(input, Stamp { now: Timestamp::from_millis(self.now), entropy });
        self.perform_all();
    }

    fn perform_all(&mut self) {
        while let Some(effect) = self.run.next_effect() {
            self.perform(effect);
        }
        let cues = std::mem::take(&mut self.script.cues);
        let (due, waiting): (Vec<_>, Vec<_>) =
            cues.into_iter().partition(|(line, _)| self.log.iter().any(|logged| logged == line));
        self.script.cues = waiting;
        for (_, say) in due.into_iter().rev() {
            if let Some(input) = self.as_input(say) {
                self.pending.push_front(input);
            }
        }
    }

    /// Injects an action now.
    pub(super) fn inject(&mut self, say: TestAction) {
        if let Some(input) = self.as_input(say) {
            self.give(input);
        }
    }

    fn as_input(&mut self, say: TestAction) -> Option<Input> {
        let queued = |queue, text: &str| Input::Queued { queue, message: text.into() };
        match say {
            TestAction::Cancel => Some(Input::Cancel),
            TestAction::Halt(reason) => Some(Input::Halt { reason: reason.into() }),
            TestAction::Deadline => self.deadline.map(|op| Input::Timer { op }),
            TestAction::Steer(text) => Some(queued(QueueKind::Steering, text)),
            TestAction::FollowUp(text) => Some(queued(QueueKind::FollowUp, text)),
            TestAction::Question(call) => {
                let question = UserQuestion::new("Which one?", vec!["this".to_owned()]);
                let request = PermissionRequest::new(&tool_call(call, "read"), "Which one?");
                let request = request.with_question(question);
                Some(Input::ToolAsked { call: call.into(), request: Box::new(request) })
            }
            TestAction::Answer(call, decision) => {
                let request = *self.asked.get(&ToolCallId::from(call))?;
                Some(Input::PermissionAnswered { request, decision })
            }
            TestAction::Extend(scope, limits) => {
                Some(Input::BudgetExtended { scope, limits, by: "the user".into() })
            }
            TestAction::Wait(duration) => {
                self.now += u64::try_from(duration.as_millis()).unwrap();
                None
            }
        }
    }

    fn perform(&mut self, effect: Effect) {
        assert!(self.ending.is_none(), "an effect after the end: {effect:?}");
        match effect {
            Effect::Record(record) => self.record(*record),
            Effect::Hook(call) => self.hook(&call),
            Effect::Filter { .. } => {
                self.log("effect Filter");
                let filtered = self.script.filtered.take();
                let pass = || FilterOutcome::Pass { context: Vec::new(), warnings: Vec::new() };
                self.pending.push_back(Input::Filtered(filtered.unwrap_or_else(pass)));
            }
            Effect::CallModel { op, window, .. } => {
                self.log("effect CallModel");
                strictly_valid(&window).unwrap();
                self.sent.push(window);
                let reply = self.script.replies.pop_front().unwrap_or_else(|| text("done"));
                let signals = reply.into_iter().map(|signal: ModelSignal| Input::Model { op, signal });
                self.pending.extend(signals);
            }
            Effect::CallHooks { op, moment } => {
                self.log(format!("effect Tell {:?}", moment.kind()));
                self.moments.push(moment);
                let answer = self.script.hook_answers.pop_front().unwrap_or_default();
                self.pending.push_back(Input::HooksAnswered { op, answer });
            }
            Effect::Consult { op, told, .. } => {
                self.log("effect Consult");
                let is_new = |note: &&Note| {
                    told.get(&note.section)
                        .and_then(|old| old.as_llm())
                        .is_none_or(|old| old.text() != note.text)
                };
                let notes = self.script.notes.iter().filter(is_new).cloned().collect();
                self.pending.push_back(Input::Consulted { op, notes });
            }
            Effect::CountTokens { op, .. } => {
                self.log("effect CountTokens");
                self.pending.push_back(Input::Counted { op, tokens: self.script.count });
            }
            Effect::StartTimer { op, at } => {
                let last = self.log.last().map(String::as_str);
                if matches!(last, Some("event AgentStart" | "event LoopRecovered")) {
                    self.deadline = Some(op);
                }
                self.timers.push((at, op));
                self.timers_started.push(at);
            }
            Effect::Compact { op, query } => {
                self.log(format!("effect Compact {:?}", query.cause));
                let compactor = std::mem::replace(&mut self.script.compactor, Compactor::Nothing);
                let edits = compactor.propose(&query.window);
                // `Nonsense` and `Nothing` repeat; `Replies` works once.
                if !matches!(compactor, Compactor::Replies) {
                    self.script.compactor = compactor;
                }
                let refused = self.script.compaction_forbidden.then(|| "not now".to_owned());
                let compacted = CompactionProposal { edits, usage: Usage::new(3, 1), refused };
                let compacted = Input::Compacted { op, compacted };
                if self.script.slow_compaction {
                    self.late.push((0, compacted));
                } else {
                    self.pending.push_back(compacted);
                }
            }
            Effect::Abandon { op } => self.timers.retain(|(_, timer)| *timer != op),
            Effect::Authorize { call } => {
                self.log(format!("effect Authorize {}", call.id));
                let verdict = self.script.verdicts.get(call.id.as_str()).cloned().unwrap_or(Verdict::Allow);
                self.pending.push_back(Input::Authorized { call: call.id.clone(), verdict });
            }
            Effect::Ask { request } => {
                self.log(format!("effect Ask {}", request.tool_call_id));
                self.asked.insert(request.tool_call_id.clone(), request.id);
                if self.script.unanswered.contains(request.tool_call_id.as_str()) {
                    return;
                }
                let decision = self.script.decisions.get(request.tool_call_id.as_str()).cloned();
                let decision = decision.unwrap_or(PermissionDecision::Allow);
                self.pending.push_back(Input::PermissionAnswered { request: request.id, decision });
            }
            Effect::Withdraw { request } => {
                let call = self.asked.iter().find(|(_, asked)| **asked == request).map(|(call, _)| call);
                let line = format!("effect Withdraw {}", call.map_or("nothing asked", ToolCallId::as_str));
                self.log(line);
            }
            Effect::RunTool { call, args, sub_agent } => {
                let is_resumed = sub_agent.is_some_and(|sub_agent| sub_agent.is_resumed);
                self.run_tool(&call, args.as_deref(), is_resumed);
            }
            Effect::CancelTool { call } => {
                self.log(format!("effect CancelTool {call}"));
                if self.script.held.remove(call.as_str()) {
                    let result = Err(ToolError::Cancelled);
                    self.pending.push_back(Input::ToolFinished { call: call.clone(), result });
                }
                self.cancelled_tools.push(call);
            }
            Effect::Admit { op, .. } => {
                self.log("effect Admit");
                let admission = self.script.admissions.pop_front().unwrap_or_default();
                if admission.refused.is_none() {
                    self.reserved.push(op);
                }
                self.pending.push_back(Input::Admitted { op, admission });
            }
            Effect::Settle { op, .. } => {
                self.log("effect Settle");
                let at = self.reserved.iter().position(|reserved| *reserved == op);
                self.reserved.remove(at.expect("a reservation that is settled for the first time"));
            }
            Effect::AdmitTool { call, args } => {
                self.log(format!("effect AdmitTool {}", call.id));
                let refused = self.script.refused_calls.get(call.id.as_str()).copied();
                self.pending.push_back(Input::ToolAdmitted { call: call.id.clone(), args, refused });
            }
            Effect::AskForMore { request } => {
                self.log("effect AskForMore");
                if self.script.unanswered.contains("more") {
                    return;
                }
                let (more, by) = (self.script.more.pop_front().flatten(), "the user".to_owned());
                self.pending.push_back(Input::BudgetAnswered { request: request.id, more, by });
            }
            Effect::ExtendBudget { scope, .. } => self.log(format!("effect ExtendBudget {scope:?}")),
            Effect::Finish(ending) => {
                self.log("effect Finish");
                self.ending = Some(ending);
            }
        }
    }

    fn run_tool(&mut self, call: &ToolCall, args: Option<&serde_json::Value>, is_resumed: bool) {
        let start = format!("event ToolExecutionStart {}", call.id);
        assert!(is_resumed || self.log.contains(&start), "{} runs before its start is recorded", call.id);
        assert!(self.started_tools.insert(call.id.clone()), "{} runs twice", call.id);
        match args {
            Some(args) => self.log(format!("effect RunTool {} {args}", call.id)),
            None => self.log(format!("effect RunTool {}", call.id)),
        }
        if self.script.held.contains(call.id.as_str()) {
            return;
        }
        let output = self.script.outputs.get(call.id.as_str()).cloned();
        let result = output.unwrap_or_else(|| Ok(ToolResult::text(format!("output of {}", call.id))));
        let finished = Input::ToolFinished { call: call.id.clone(), result };
        match self.script.late.iter().position(|late| *late == call.id.as_str()) {
            Some(rank) => self.late.push((rank, finished)),
            None => self.pending.push_back(finished),
        }
    }

    fn hook(&mut self, call: &HookCall) {
        let (name, answers) = match call {
            HookCall::BeforeLoop { .. } => ("before_loop", Some(&mut self.script.before_loop)),
            HookCall::BeforeTurn { .. } => ("before_turn", Some(&mut self.script.before_turn)),
            HookCall::AfterLoop { .. } => ("after_loop", None),
            HookCall::AfterTurn { .. } => ("after_turn", None),
            HookCall::AfterTool { .. } => ("after_tool", None),
            HookCall::OnError { .. } => ("on_error", None),
        };
        assert_eq!(call.expects_answer(), answers.is_some());
        if let Some(answers) = answers {
            let proceed = answers.pop_front().unwrap_or(true);
            self.pending.push_back(Input::HookAnswered { proceed });
        }
        self.log(format!("hook {name}"));
    }

    fn record(&mut self, mut record: EventRecord) {
        self.log(format!("event {}", describe(&record.event)));
        record.seq = self.journal.len() as u64;
        if record.is_durable() {
            self.journal.push(Arc::new(record.clone()));
        }
        self.events.push(record);
    }

    fn log(&mut self, line: impl Into<String>) {
        self.log.push(line.into());
    }

    pub(super) fn outcome(&self) -> &RunOutcome {
        let ending = self.ending.as_ref();
        &ending.unwrap_or_else(|| panic!("the run has not ended:\n{}", self.log.join("\n"))).outcome
    }

    pub(super) fn logged(&self, line: &str) -> bool {
        self.count(line) > 0
    }

    pub(super) fn count(&self, line: &str) -> usize {
        self.log.iter().filter(|logged| *logged == line).count()
    }

    /// Returns the lines of the log that start with one of these texts.
    pub(super) fn lines(&self, starts: &[&str]) -> Vec<&str> {
        let of_interest = |line: &&str| starts.iter().any(|start| line.starts_with(start));
        self.log.iter().map(String::as_str).filter(of_interest).collect()
    }

    /// Returns whether one line comes before another.
    pub(super) fn is_before(&self, first: &str, second: &str) -> bool {
        let at = |line: &str| self.log.iter().position(|logged| logged == line);
        at(first).unwrap_or_else(|| panic!("no `{first}`"))
            < at(second).unwrap_or_else(|| panic!("no `{second}`"))
    }

    /// Returns the recorded conversation, each message as `role: text`.
    pub(super) fn conversation(&self) -> Vec<String> {
        self.run.transcript().window().llm_messages().map(shown).collect()
    }

    /// Returns the text of a call's result.
    pub(super) fn result_of(&self, call: &str) -> String {
        let results = self.journal.iter().filter_map(|event| match &event.event {
            AgentEvent::MessageEnd { message: RecordedMessage::Full(message) } => {
                message.as_tool_result().cloned()
            }
            _ => None,
        });
        let mut of_call = results.filter(|result| result.tool_call_id.as_str() == call);
        let result = of_call.next().unwrap_or_else(|| panic!("no result of {call}"));
        assert!(of_call.next().is_none(), "two results of {call}");
        crate::content::joined_text(&result.content)
    }
}

fn shown(message: &Message) -> String {
    match message {
        Message::User(_) => format!("user: {}", message.text()),
        Message::Assistant(reply) => {
            let calls: String = reply.tool_calls().map(|call| format!("<{}>", call.id)).collect();
            format!("assistant: {}{calls}", message.text())
        }
        Message::ToolResult(result) => format!("{}: {}", result.tool_call_id, message.text()),
    }
}

fn role(message: Option<&AgentMessage>) -> &'static str {
    match message.and_then(AgentMessage::as_llm) {
        Some(Message::User(_)) => "user",
        Some(Message::Assistant(_)) => "assistant",
        Some(Message::ToolResult(_)) => "result",
        // A reply that starts has no content yet; extensions do not occur in these logs.
        None => "assistant",
    }
}

/// Describes an event by its kind and distinguishing field.
fn describe(event: &AgentEvent) -> String {
    match event {
        AgentEvent::AgentStart(_) => "AgentStart".to_owned(),
        AgentEvent::AgentEnd { .. } => "AgentEnd".to_owned(),
        AgentEvent::TurnStart { .. } => "TurnStart".to_owned(),
        AgentEvent::TurnEnd { .. } => "TurnEnd".to_owned(),
        AgentEvent::MessageStart { message } => format!("MessageStart {}", role(message.get())),
        AgentEvent::MessageUpdate { .. } => "MessageUpdate".to_owned(),
        AgentEvent::MessageEnd { message } => {
            format!("MessageEnd {}", role(message.shared().map(|message| &**message)))
        }
        AgentEvent::MessageQueued { .. } => "MessageQueued".to_owned(),
        AgentEvent::ToolExecutionStart { tool_call_id, .. } => format!("ToolExecutionStart {tool_call_id}"),
        AgentEvent::ToolExecutionEnd { tool_call_id, .. } => format!("ToolExecutionEnd {tool_call_id}"),
        AgentEvent::PermissionRequired { request } => format!("PermissionRequired {}", request.tool_call_id),
        AgentEvent::PermissionDecided { tool_call_id, .. } => format!("PermissionDecided {tool_call_id}"),
        AgentEvent::LimitReached { limit, .. } => format!("LimitReached {limit:?}"),
        AgentEvent::LoopRecovered { .. } => "LoopRecovered".to_owned(),
        other => {
            let debug = format!("{other:?}");
            debug.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
        }
    }
}
