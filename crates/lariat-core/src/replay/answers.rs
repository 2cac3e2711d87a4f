//! Answers the effects of a replayed machine from the journal.
//!
//! Decides which recorded event answers which effect. Inputs without a matching effect (a queued message, an
//! abort) are given when the journal records their arrival.

use std::sync::Arc;

use serde_json::Value;

use super::compare::IdMap;
use crate::budget::{Admission, BudgetRequest, BudgetScope, BudgetStatus};
use crate::content::{Content, ToolCall, joined_text};
use crate::context::{CompactionProposal, Note};
use crate::event::{
    AgentEvent, ArgsRef, BlockedBy, CompactionCause, CompactionEdit, Event, LimitKind, RecordedMessage,
    RunOutcome,
};
use crate::hooks::HookAnswer;
use crate::id::{RequestId, ToolCallId};
use crate::message::{AgentMessage, AssistantMessage, StopReason, ToolResultMessage};
use crate::model::{ProviderError, StreamEvent};
use crate::permission::{PermissionRequest, Verdict};
use crate::run::{
    BUDGET_SECTION, DENIED, Effect, FallbackModel, FilterOutcome, Input, ModelSignal, NO_CALLS_LEFT,
    NOTE_PREFIX, OpId, RunConfig, SKIPPED_BY_HOOK, hook_context,
};
use crate::tool::{ToolError, ToolResult};
use crate::usage::Usage;

/// The effects that still wait for an answer.
#[derive(Default)]
pub(super) struct RecordedAnswers {
    /// The models that can be called: the configured one, then the fallbacks.
    models: Vec<FallbackModel>,
    /// Index of the model that was called.
    candidate: usize,
    hook: bool,
    filter: bool,
    session_hooks: Option<OpId>,
    notes: Option<OpId>,
    count: Option<OpId>,
    model: Option<OpId>,
    compaction: Option<OpId>,
    /// A compaction that is prepared while the run continues.
    preparing: Option<OpId>,
    deadline: Option<OpId>,
    gate: Vec<Arc<ToolCall>>,
    asked: Vec<(ToolCallId, RequestId)>,
    tools: Vec<ToolCallId>,
    admission: Option<OpId>,
    tool_admissions: Vec<(ToolCallId, Option<Arc<Value>>)>,
    budget_request: Option<Arc<BudgetRequest>>,
}

impl RecordedAnswers {
    pub(super) fn new(config: &RunConfig) -> Self {
        let configured = FallbackModel { provider: config.provider.clone(), model: config.model.clone() };
        let models = std::iter::once(configured).chain(config.fallbacks.iter().cloned()).collect();
        Self { models, ..Self::default() }
    }

    pub(super) fn ask(&mut self, effect: Effect) {
        match effect {
            Effect::Hook(call) => self.hook |= call.expects_answer(),
            Effect::Filter { .. } => self.filter = true,
            Effect::CallHooks { op, .. } => self.session_hooks = Some(op),
            Effect::Consult { op, .. } => self.notes = Some(op),
            Effect::CountTokens { op, .. } => self.count = Some(op),
            Effect::CallModel { op, candidate, .. } => (self.model, self.candidate) = (Some(op), candidate),
            Effect::Compact { op, query } if query.cause == CompactionCause::Threshold => {
                self.preparing = Some(op)
            }
            Effect::Compact { op, .. } => self.compaction = Some(op),
            // The first timer is the deadline of the whole run; the others limit effects that the replay
            // answers at once.
            Effect::StartTimer { op, .. } => drop(self.deadline.get_or_insert(op)),
            Effect::Abandon { op } => {
                self.session_hooks.take_if(|asked| *asked == op);
                self.notes.take_if(|asked| *asked == op);
                self.count.take_if(|asked| *asked == op);
                self.model.take_if(|asked| *asked == op);
                self.compaction.take_if(|asked| *asked == op);
                self.admission.take_if(|asked| *asked == op);
                self.preparing.take_if(|asked| *asked == op);
            }
            Effect::Authorize { call } => self.gate.push(call),
            Effect::Ask { request } => self.asked.push((request.tool_call_id.clone(), request.id)),
            Effect::RunTool { call, .. } => self.tools.push(call.id.clone()),
            Effect::Admit { op, .. } => self.admission = Some(op),
            Effect::AdmitTool { call, args } => self.tool_admissions.push((call.id.clone(), args)),
            Effect::AskForMore { request } => self.budget_request = Some(request),
            Effect::Withdraw { request } => drop(self.budget_request.take_if(|asked| asked.id == request)),
            _ => {}
        }
    }

    /// Describes what the machine waits for.
    pub(super) fn describe_pending(&self) -> String {
        let mut waits: Vec<String> = Vec::new();
        let one = [
            (self.hook, "a hook"),
            (self.filter, "the input filters"),
            (self.session_hooks.is_some(), "the hooks of the session"),
            (self.notes.is_some(), "the notes for the model"),
            (self.count.is_some(), "a token count"),
            (self.model.is_some(), "the model"),
            (self.compaction.is_some() || self.preparing.is_some(), "a compaction"),
            (self.admission.is_some(), "an admission"),
            (self.budget_request.is_some(), "a larger budget"),
        ];
        waits.extend(one.into_iter().filter(|(waits, _)| *waits).map(|(_, what)| what.to_owned()));
        waits.extend(self.gate.iter().map(|call| format!("the permission check of {}", call.id)));
        waits.extend(self.asked.iter().map(|(call, _)| format!("the approval of {call}")));
        waits.extend(self.tools.iter().map(|call| format!("the result of {call}")));
        if waits.is_empty() {
            "the loop waits for nothing".to_owned()
        } else {
            format!("the loop waits for {}", waits.join(" and "))
        }
    }

    /// Returns the inputs that lead to the next recorded event; `None` if no pending effect does.
    pub(super) fn answer(&mut self, rest: &[Event], ids: &IdMap) -> Option<Vec<Input>> {
        let next = &rest.first()?.event;
        if let Some(input) = self.prepared_compaction(rest, ids) {
            return Some(vec![input]);
        }
        if let Some(input) = self.unrequested_input(next, ids) {
            return Some(vec![input]);
        }
        if self.hook {
            self.hook = false;
            let stopped = matches!(next, AgentEvent::AgentEnd { outcome: RunOutcome::StoppedByHook, .. });
            return Some(vec![Input::HookAnswered { proceed: !stopped }]);
        }
        if self.filter {
            self.filter = false;
            return Some(vec![Input::Filtered(filter_outcome(rest))]);
        }
        if let Some(op) = self.session_hooks.take() {
            return Some(vec![Input::HooksAnswered { op, answer: hook_answer(next) }]);
        }
        if let Some(op) = self.notes.take() {
            return Some(vec![Input::Consulted { op, notes: notes(rest) }]);
        }
        if let Some(op) = self.count.take() {
            let tokens = match next {
                AgentEvent::ContextCounted { tokens } => Some(*tokens),
                _ => None,
            };
            return Some(vec![Input::Counted { op, tokens }]);
        }
        if let Some(op) = self.admission.take() {
            return Some(vec![Input::Admitted { op, admission: admission(rest) }]);
        }
        match next {
            AgentEvent::LimitReached { .. } if self.budget_request.is_some() => {
                let (request, by) = (self.budget_request.take()?.id, String::new());
                Some(vec![Input::BudgetAnswered { request, more: None, by }])
            }
            AgentEvent::PermissionRequired { request } if self.tools.contains(&request.tool_call_id) => {
                let (call, request) = (request.tool_call_id.clone(), PermissionRequest::clone(request));
                Some(vec![Input::ToolAsked { call, request: Box::new(request) }])
            }
            AgentEvent::PermissionRequired { request } => {
                let call = self.take_gate(&request.tool_call_id)?;
                let verdict = Verdict::Ask(PermissionRequest::clone(request));
                Some(vec![Input::Authorized { call, verdict }])
            }
            AgentEvent::PermissionDecided { tool_call_id, decision, .. } => {
                let at = self.asked.iter().position(|(call, _)| call == tool_call_id)?;
                let (_, request) = self.asked.swap_remove(at);
                Some(vec![Input::PermissionAnswered { request, decision: decision.clone() }])
            }
            AgentEvent::ToolBlocked { tool_call_id, by, reason, .. } => {
                let call = self.take_gate(tool_call_id)?;
                let verdict = match by {
                    BlockedBy::Callback => Verdict::Skip,
                    _ => Verdict::Deny(reason.clone().unwrap_or_default()),
                };
                Some(vec![Input::Authorized { call, verdict }])
            }
            AgentEvent::PlanChangeQueued { tool_call_id, summary, .. } => {
                let call = self.take_gate(tool_call_id)?;
                Some(vec![Input::Authorized { call, verdict: Verdict::Queue { summary: summary.clone() } }])
            }
            AgentEvent::ToolExecutionStart { tool_call_id, .. } if self.is_admitting(tool_call_id) => {
                self.admit_tool(tool_call_id, None)
            }
            AgentEvent::ToolExecutionStart { tool_call_id, args, .. } => {
                let call = self.take_gate(tool_call_id)?;
                let verdict = match args {
                    ArgsRef::Rewritten(args) => Verdict::Rewrite(Arc::clone(args)),
                    _ => Verdict::Allow,
                };
                Some(vec![Input::Authorized { call, verdict }])
            }
            AgentEvent::ToolExecutionEnd { .. } | AgentEvent::RepetitionDetected { .. } => {
                self.tool_end(rest)
            }
            AgentEvent::MessageEnd { message: RecordedMessage::Full(message) } => self.message(message),
            AgentEvent::Compaction { cause: CompactionCause::Overflow, .. }
            | AgentEvent::CompactionRefused { cause: CompactionCause::Overflow, .. }
                if self.compaction.is_none() =>
            {
                let signal = ModelSignal::Failed(ProviderError::ContextOverflow("as recorded".into()));
                Some(vec![Input::Model { op: self.model.take()?, signal }])
            }
            AgentEvent::ContextFull(_) => {
                let signal = ModelSignal::Failed(ProviderError::ContextOverflow("as recorded".into()));
                Some(vec![Input::Model { op: self.model.take()?, signal }])
            }
            AgentEvent::Compaction { edits, usage, .. } => {
                let op = self.compaction.take()?;
                Some(vec![Input::Compacted { op, compacted: with_replay_ids(edits, *usage, ids) }])
            }
            AgentEvent::CompactionRefused { usage, .. } => {
                let op = self.compaction.take()?;
                Some(vec![Input::Compacted {
                    op,
                    compacted: CompactionProposal { usage: *usage, ..CompactionProposal::default() },
                }])
            }
            _ => None,
        }
    }

    /// Gives a prepared compaction at the last moment before it was applied or refused, because the journal
    /// does not say when it was ready.
    fn prepared_compaction(&mut self, rest: &[Event], ids: &IdMap) -> Option<Input> {
        let op = self.preparing?;
        let life = || rest.iter().map(|record| &record.event);
        let of_room = |event: &&AgentEvent| {
            matches!(
                event,
                AgentEvent::Compaction { cause: CompactionCause::Threshold, .. }
                    | AgentEvent::CompactionRefused { cause: CompactionCause::Threshold, .. }
                    | AgentEvent::LoopRecovered { .. }
            )
        };
        let at = life().position(|event| of_room(&event))?;
        let is_reply = |event: &&AgentEvent| match event {
            AgentEvent::MessageEnd { message } => {
                message.shared().is_some_and(|message| message.as_assistant().is_some())
            }
            _ => false,
        };
        let replies = life().take(at).filter(is_reply).count();
        let due = replies == 0 || replies == 1 && life().next().as_ref().is_some_and(is_reply);
        let compacted = match life().nth(at)? {
            AgentEvent::Compaction { edits, usage, .. } if due => with_replay_ids(edits, *usage, ids),
            AgentEvent::CompactionRefused { reason, usage, .. }
                if due && was_refused_when_applied(reason) =>
            {
                let (first, last) = Default::default();
                let edits = vec![CompactionEdit::Drop { first, last }];
                CompactionProposal { edits, usage: *usage, refused: None }
            }
            AgentEvent::CompactionRefused { usage, .. } if at == 0 => {
                CompactionProposal { usage: *usage, ..CompactionProposal::default() }
            }
            _ => return None,
        };
        self.preparing = None;
        Some(Input::Compacted { op, compacted })
    }

    /// Returns an input that no effect requested.
    fn unrequested_input(&self, next: &AgentEvent, ids: &IdMap) -> Option<Input> {
        match next {
            AgentEvent::MessagePinned { message_id, pinned } => {
                Some(Input::Pin { message: ids.replayed_id(*message_id), pinned: *pinned })
            }
            AgentEvent::MessageQueued { queue, message } => {
                Some(Input::Queued { queue: *queue, message: AgentMessage::clone(message) })
            }
            AgentEvent::MessageUnqueued { message_id } => {
                Some(Input::Unqueue { message: ids.replayed_id(*message_id) })
            }
            AgentEvent::AbortRequested => Some(Input::Cancel),
            AgentEvent::HookStopped { reason } => Some(Input::Halt { reason: reason.clone() }),
            AgentEvent::BudgetExtended { scope, limits, by } => {
                Some(Input::BudgetExtended { scope: *scope, limits: *limits, by: by.clone() })
            }
            AgentEvent::LimitReached { limit: LimitKind::Duration, scope: BudgetScope::Run, .. }
                if self.budget_request.is_none() =>
            {
                self.deadline.map(|op| Input::Timer { op })
            }
            _ => None,
        }
    }

    fn take_gate(&mut self, id: &ToolCallId) -> Option<ToolCallId> {
        let at = self.gate.iter().position(|call| call.id == *id)?;
        Some(self.gate.remove(at).id.clone())
    }

    fn message(&mut self, message: &AgentMessage) -> Option<Vec<Input>> {
        if let Some(reply) = message.as_assistant() {
            let op = self.model.take()?;
            let asked = self.models.get(self.candidate).is_some_and(|model| is_by(model, reply));
            if !asked && self.models.iter().skip(self.candidate + 1).any(|model| is_by(model, reply)) {
                // Another model answered, so the call to this one failed before.
                let signal = ModelSignal::Failed(ProviderError::Network("as recorded".into()));
                return Some(vec![Input::Model { op, signal }]);
            }
            return Some(model_signals(op, reply));
        }
        // A result without an execution: the permission check denied the tool call.
        let result = message.as_tool_result()?;
        let words = joined_text(&result.content);
        if self.is_admitting(&result.tool_call_id) {
            return self.admit_tool(&result.tool_call_id, Some(&words));
        }
        let call = self.take_gate(&result.tool_call_id)?;
        let verdict = match words.strip_prefix(DENIED) {
            Some(reason) => Verdict::Deny(reason.to_owned()),
            None if words == SKIPPED_BY_HOOK => Verdict::Skip,
            None if words.starts_with(NO_CALLS_LEFT) => Verdict::Allow,
            None => Verdict::Deny(words),
        };
        Some(vec![Input::Authorized { call, verdict }])
    }

    fn is_admitting(&self, id: &ToolCallId) -> bool {
        self.tool_admissions.iter().any(|(call, _)| call == id)
    }

    /// Answers the admission of a tool call that was started, or that was refused with this text.
    fn admit_tool(&mut self, id: &ToolCallId, refused: Option<&str>) -> Option<Vec<Input>> {
        let at = self.tool_admissions.iter().position(|(call, _)| call == id)?;
        let (call, args) = self.tool_admissions.swap_remove(at);
        let refused = refused.map(refused_calls);
        Some(vec![Input::ToolAdmitted { call, args, refused }])
    }

    fn tool_end(&mut self, rest: &[Event]) -> Option<Vec<Input>> {
        let (at, id, details, child, is_error) =
            rest.iter().enumerate().find_map(|(at, record)| match &record.event {
                AgentEvent::ToolExecutionEnd { tool_call_id, details, child_loop_id, is_error, .. } => {
                    Some((at, tool_call_id, details, child_loop_id, *is_error))
                }
                _ => None,
            })?;
        let running = self.tools.iter().position(|call| call == id)?;
        let recorded = rest.get(at..)?.iter().find_map(|record| match &record.event {
            AgentEvent::MessageEnd { message } => {
                message.shared()?.as_tool_result().filter(|result| result.tool_call_id == *id).cloned()
            }
            _ => None,
        });
        let call = self.tools.swap_remove(running);
        // If the journal is cut off, only the end of the tool call is known.
        let missing = || vec![Content::text("(not recorded)")];
        let mut content = recorded.map_or_else(missing, |result: ToolResultMessage| result.content);
        content.retain(|block| block.as_text().is_none_or(|text| !text.starts_with(NOTE_PREFIX)));
        let result = if is_error {
            Err(ToolError::Failed(joined_text(&content)))
        } else {
            let (details, child_loop_id) = (details.clone(), child.clone());
            Ok(ToolResult { content, details, child_loop_id })
        };
        Some(vec![Input::ToolFinished { call, result }])
    }
}

/// Returns whether a compaction was refused when it was about to be applied, judging by the text; others were
/// refused when they were proposed.
fn was_refused_when_applied(reason: &str) -> bool {
    let words = ["it would shrink only", "it was not needed", "message ", "the overlay would"];
    words.iter().any(|words| reason.starts_with(words))
}

/// Builds a compaction with the ids of the replay.
fn with_replay_ids(edits: &[CompactionEdit], usage: Usage, ids: &IdMap) -> CompactionProposal {
    let edits = edits.iter().map(|edit| translate_edit(edit, ids)).collect();
    CompactionProposal { edits, usage, refused: None }
}

fn is_by(model: &FallbackModel, reply: &AssistantMessage) -> bool {
    model.provider == reply.provider && model.model == reply.asked_model()
}

/// Translates an edit to the ids of the replay.
fn translate_edit(edit: &CompactionEdit, ids: &IdMap) -> CompactionEdit {
    let mut edit = edit.clone();
    match &mut edit {
        CompactionEdit::ClearToolOutput { message } => *message = ids.replayed_id(*message),
        CompactionEdit::Summarise { first, last, .. } | CompactionEdit::Drop { first, last } => {
            (*first, *last) = (ids.replayed_id(*first), ids.replayed_id(*last));
        }
    }
    edit
}

fn filter_outcome(rest: &[Event]) -> FilterOutcome {
    let mut warnings = Vec::new();
    for record in rest {
        match &record.event {
            AgentEvent::InputWarned { warning } => warnings.push(warning.clone()),
            AgentEvent::InputRejected { reason } => return FilterOutcome::Reject { reason: reason.clone() },
            _ => break,
        }
    }
    // The recorded prompt already contains what hooks added.
    FilterOutcome::Pass { context: Vec::new(), warnings }
}

/// Returns the hook answer that leads to the next recorded event.
fn hook_answer(next: &AgentEvent) -> HookAnswer {
    match next {
        AgentEvent::StopBlocked { reason, .. } => HookAnswer::block(reason),
        AgentEvent::MessageEnd { message: RecordedMessage::Full(message) } => {
            HookAnswer { context: hook_context(message), ..HookAnswer::default() }
        }
        _ => HookAnswer::default(),
    }
}

/// Returns the notes that lead to the next recorded events.
fn notes(rest: &[Event]) -> Vec<Note> {
    let note = |record: &Event| match &record.event {
        AgentEvent::MessageEnd { message: RecordedMessage::Full(message) } => {
            let content = message.as_llm()?.content();
            let section = message.note_section().filter(|section| *section != BUDGET_SECTION)?;
            Some(Note::new(section, joined_text(content)).with_images(content.iter().cloned()))
        }
        _ => None,
    };
    rest.iter().map_while(note).collect()
}

/// Returns the answer of the shared budgets that leads to the next recorded events.
fn admission(rest: &[Event]) -> Admission {
    let shared = |scope: BudgetScope| matches!(scope, BudgetScope::Day | BudgetScope::Pool);
    let mut admission = Admission::default();
    for record in rest {
        match &record.event {
            AgentEvent::BudgetWarning { limit, scope, used, cap, .. } => {
                let standing = BudgetStatus::new(*scope, *limit, *used, *cap);
                admission.statuses.extend(Some(standing).filter(|standing| shared(standing.scope)));
            }
            AgentEvent::BudgetExtensionRequested { request } if shared(request.standing.scope) => {
                admission.refused = Some(request.standing);
                break;
            }
            AgentEvent::LimitReached { limit, scope, note } if shared(*scope) => {
                let (used, cap) = amounts(note);
                admission.refused = Some(BudgetStatus::new(*scope, *limit, used, cap));
                break;
            }
            _ => break,
        }
    }
    admission
}

/// Reads the exhausted limit from the text of a refused tool call.
fn refused_calls(words: &str) -> BudgetStatus {
    let (used, cap) = amounts(words);
    let today = words.contains("for today");
    let scope = if today { BudgetScope::Day } else { BudgetScope::Pool };
    BudgetStatus::new(scope, LimitKind::ToolCalls, used, cap)
}

/// Reads the two numbers of a budget status from its text.
fn amounts(words: &str) -> (u64, u64) {
    let money = words.contains('$');
    let number = |word: &str| {
        let word = word.trim_start_matches('$');
        if money { word.parse::<f64>().ok().map(|usd| (usd * 1e9).round() as u64) } else { word.parse().ok() }
    };
    let mut numbers = words.split_whitespace().filter_map(number);
    let scale = if words.contains(" seconds") { 1000 } else { 1 };
    (numbers.next().unwrap_or_default() * scale, numbers.next().unwrap_or_default() * scale)
}

/// Builds the stream that produces this reply.
fn model_signals(op: OpId, reply: &AssistantMessage) -> Vec<Input> {
    let mut events = vec![StreamEvent::Start { model: reply.model.clone() }];
    for (index, block) in reply.content.iter().enumerate() {
        match block {
            Content::Text { text } => events.push(StreamEvent::TextDelta { index, delta: text.clone() }),
            Content::Thinking { thinking, signature } => {
                events.push(StreamEvent::ThinkingDelta { index, delta: thinking.clone() });
                let signature = signature.clone();
                events.extend(signature.map(|signature| StreamEvent::ThinkingSignature { index, signature }));
            }
            Content::ToolCall(call) => {
                events.push(StreamEvent::ToolCallEnd { index, call: ToolCall::clone(call) });
            }
            other => events.push(StreamEvent::Block { index, content: other.clone() }),
        }
    }
    let mut signals: Vec<ModelSignal> = events.into_iter().map(ModelSignal::Event).collect();
    signals.push(match reply.stop_reason {
        StopReason::Error | StopReason::Aborted => {
            let words = reply.error_message.clone().unwrap_or_default();
            ModelSignal::Failed(ProviderError::Other(words.into()))
        }
        stop_reason => ModelSignal::Event(StreamEvent::Done { stop_reason, usage: reply.usage }),
    });
    signals.into_iter().map(|signal| Input::Model { op, signal }).collect()
}
