//! Gets the reply of a turn: calls the model and processes its stream. `retry.rs` decides about failed calls.
//!
//! Also detects stalled streams. In every case, a turn gets exactly one recorded reply.

use std::sync::Arc;

use super::assembly::Assembler;
use super::effect::OpId;
use super::flow::StepResult;
use super::input::ModelSignal;
use super::retry::Attempts;
use super::{Activity, Effect, HookCall, Run};
use crate::content::{Content, ToolCall};
use crate::event::{AgentEvent, MessageRef, RecordedMessage, StreamDelta};
use crate::id::{MessageId, ToolCallId};
use crate::message::{AgentMessage, AssistantMessage, LlmMessage, Message, StopReason};
use crate::model::{ProviderError, StreamEvent};
use crate::time::Timestamp;
use crate::usage::Usage;

/// A pending model call.
#[derive(Debug)]
pub(super) struct ModelCall {
    op: OpId,
    pub(super) attempts: Attempts,
    pub(super) message_id: MessageId,
    model: Option<String>,
    assembler: Assembler,
    /// Observers received part of the reply, so it must be withdrawn before another is requested.
    pub(super) delivered: bool,
    stall: OpId,
    last_signal: Timestamp,
}

impl Run {
    /// Gets the reply of the open turn, step by step.
    pub(super) fn get_reply(&mut self) -> StepResult {
        if self.state.stop_outcome().is_some() {
            self.record_reply(None, StopReason::Aborted, Usage::default(), None);
            return StepResult::Taken;
        }
        if let Err(why) = self.state.transcript.request() {
            if self.deliver_late() {
                return StepResult::Taken;
            }
            self.fail_reply(None, why.to_string());
            return StepResult::Taken;
        }
        if self.sends_budget_request() {
            return StepResult::Waiting;
        }
        if self.wants_notes() {
            self.request_notes();
            return StepResult::Waiting;
        }
        self.compact_if_needed().unwrap_or_else(|| {
            if !self.transient.admitted {
                return self.admit();
            }
            self.call_model(Attempts::default());
            StepResult::Waiting
        })
    }

    pub(super) fn call_model(&mut self, attempts: Attempts) {
        let Some(turn_index) = self.state.turn.as_ref().map(|turn| turn.index) else { return };
        let (op, stall) = (self.op(), self.op());
        let call = ModelCall {
            op,
            attempts,
            message_id: self.message_id(),
            model: None,
            assembler: Assembler::default(),
            delivered: false,
            stall,
            last_signal: self.now,
        };
        self.activity = Activity::Calling(Box::new(call));
        let window = self.state.transcript.window();
        self.out.push_back(Effect::StartTimer { op: stall, at: self.now.after(self.config.stall_timeout) });
        let (candidate, attempt) = (self.candidate, attempts.attempt);
        self.out.push_back(Effect::CallModel { op, window, turn_index, attempt, candidate });
    }

    /// Returns provider and model of the current candidate.
    pub(super) fn candidate_names(&self) -> (&str, &str) {
        let fallback = self.candidate.checked_sub(1).and_then(|at| self.config.fallbacks.get(at));
        match fallback {
            Some(fallback) => (&fallback.provider, &fallback.model),
            None => (&self.config.provider, &self.config.model),
        }
    }

    pub(super) fn on_model(&mut self, op: OpId, signal: ModelSignal) {
        let now = self.now;
        let Activity::Calling(call) = &mut self.activity else { return };
        if call.op != op {
            return;
        }
        call.last_signal = now;
        match signal {
            ModelSignal::Event(StreamEvent::Done {
                stop_reason: StopReason::Error | StopReason::Aborted,
                ..
            }) => {
                self.on_model_failed(ProviderError::Other("the provider broke off the reply".into()));
            }
            ModelSignal::Event(StreamEvent::Done { stop_reason, usage }) => {
                self.finish_reply(stop_reason, usage);
            }
            ModelSignal::Event(event) => self.on_stream_event(event),
            ModelSignal::Failed(error) => self.on_model_failed(error),
            ModelSignal::Ended => {
                self.on_model_failed(ProviderError::Network(
                    "the stream ended before the reply was complete".into(),
                ));
            }
        }
    }

    fn on_stream_event(&mut self, event: StreamEvent) {
        let Activity::Calling(call) = &mut self.activity else { return };
        if let StreamEvent::Start { model } = event {
            call.model = Some(model);
            return;
        }
        call.assembler.push(&event);
        let message = MessageRef::unresolved(call.message_id);
        let first = !std::mem::replace(&mut call.delivered, true);
        if first {
            self.record(AgentEvent::MessageStart { message: message.clone() });
        }
        let delta = match event {
            StreamEvent::TextDelta { delta, .. } => StreamDelta::Text { delta },
            StreamEvent::ThinkingDelta { delta, .. } => StreamDelta::Thinking { delta },
            StreamEvent::ToolCallDelta { delta, .. } => StreamDelta::ToolCallDelta { delta },
            _ => return,
        };
        self.record(AgentEvent::MessageUpdate { message, delta });
    }

    pub(super) fn take_call(&mut self) -> Option<Box<ModelCall>> {
        match std::mem::take(&mut self.activity) {
            Activity::Calling(call) => {
                self.out.push_back(Effect::Abandon { op: call.stall });
                Some(call)
            }
            other => {
                self.activity = other;
                None
            }
        }
    }

    fn finish_reply(&mut self, stop_reason: StopReason, usage: Usage) {
        let call = self.take_call();
        self.record_reply(call, stop_reason, usage, None);
    }

    pub(super) fn fail_reply(&mut self, call: Option<Box<ModelCall>>, error: String) {
        self.record_reply(call, StopReason::Error, Usage::default(), Some(error.clone()));
        self.hook(HookCall::OnError { error });
    }

    /// Records the turn's reply, complete or broken off.
    fn record_reply(
        &mut self,
        call: Option<Box<ModelCall>>,
        stop_reason: StopReason,
        usage: Usage,
        error_message: Option<String>,
    ) {
        self.settle_call(Some(usage));
        let broken = matches!(stop_reason, StopReason::Error | StopReason::Aborted);
        let mut content = Vec::new();
        let mut announced = None;
        let mut model = None;
        if let Some(mut call) = call {
            content = call.assembler.finish();
            announced = call.delivered.then_some(call.message_id);
            model = call.model;
        }
        if broken {
            content.retain(|block| block.as_tool_call().is_none());
        }
        content.iter_mut().for_each(Content::make_arguments_an_object);
        self.make_calls_unique(&mut content);
        let id = announced.unwrap_or_else(|| self.message_id());
        let (provider, asked) = self.candidate_names();
        let (provider, asked) = (provider.to_owned(), asked.to_owned());
        let model = model.filter(|reported| !reported.is_empty()).unwrap_or_else(|| asked.clone());
        let message = Arc::new(AgentMessage::Llm(LlmMessage {
            id,
            turn_id: self.turn_id(),
            message: Message::Assistant(AssistantMessage {
                content,
                stop_reason,
                requested_model: (model != asked).then_some(asked),
                model,
                provider,
                usage,
                timestamp: self.now,
                error_message,
            }),
        }));
        if announced.is_some() {
            self.record(AgentEvent::MessageEnd { message: RecordedMessage::Full(message) });
        } else {
            self.record_message(message);
        }
    }

    /// Assigns new ids where the model repeated, omitted or reused one; ids must be unique in a conversation.
    fn make_calls_unique(&mut self, content: &mut [Content]) {
        let mut seen: Vec<ToolCallId> = Vec::new();
        for block in content {
            let Content::ToolCall(call) = block else { continue };
            let taken = call.id.as_str().is_empty()
                || self.state.transcript.has_call(&call.id)
                || seen.contains(&call.id);
            if taken {
                let id = ToolCallId::from(format!("call_{}", self.minter.uuid().simple()));
                *call = Arc::new(ToolCall { id, ..ToolCall::clone(call) });
            }
            seen.push(call.id.clone());
        }
    }

    pub(super) fn on_timer(&mut self, op: OpId) {
        if self.deadline == Some(op) {
            self.deadline = None;
            self.on_deadline();
            return;
        }
        match &mut self.activity {
            Activity::BackingOff { op: waiting, attempts } if *waiting == op => {
                let attempts = *attempts;
                self.activity = Activity::None;
                self.call_model(attempts);
            }
            Activity::Calling(call) if call.stall == op => {
                let quiet_until = call.last_signal.after(self.config.stall_timeout);
                if self.now < quiet_until {
                    self.out.push_back(Effect::StartTimer { op, at: quiet_until });
                    return;
                }
                let (op, seconds) = (call.op, self.config.stall_timeout.as_secs());
                self.out.push_back(Effect::Abandon { op });
                let silence = format!("nothing arrived for {seconds} seconds");
                self.on_model_failed(ProviderError::Network(silence.into()));
            }
            _ => {}
        }
    }

    /// Breaks off pending operations because the run should end. `calls.rs` ends the tools.
    pub(super) fn break_off(&mut self) {
        self.withdraw_budget_request();
        self.abandon_prepared();
        if let Some(call) = self.take_call() {
            self.out.push_back(Effect::Abandon { op: call.op });
            self.record_reply(Some(call), StopReason::Aborted, Usage::default(), None);
        }
        if let Activity::BackingOff { op, .. }
        | Activity::Compacting { op, .. }
        | Activity::Filtering { op }
        | Activity::RequestingNotes { op }
        | Activity::CountingTokens { op }
        | Activity::Admitting { op }
        | Activity::CallingHooks { op, .. } = self.activity
        {
            self.out.push_back(Effect::Abandon { op });
            self.activity = Activity::None;
        }
    }
}
