//! Opens and closes `tracing` spans during a run: `run`, in it `turn`, in that `request` and `tool`.
//!
//! [`Spans`] derives what the fields hold, here and for OpenTelemetry, so both report the same. This module only
//! decides when a span opens and closes. An observer receives a durable event after it is saved, so a span begins and
//! ends a little later than the work. Spans are never entered, because the work happens in other tasks: what a
//! tool logs is not inside its span. Invariant: no field holds text of a user, a model, a tool or a provider.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use lariat_core::event::{AgentEvent, Event, LoopStart};
use lariat_core::id::{LoopId, SessionId, ToolCallId};
use tracing::Span;
use tracing::span::Id;

use super::genai;
use super::spans::Spans;
use super::telemetry::{self, Attribute, AttributeValue, Telemetry};
use crate::observe::Observer;

/// Opens a span with every field that a span may have, all without a value. `tracing` needs the names at compile
/// time, and shows no field without a value.
macro_rules! open {
    ($name:literal, $parent:expr) => {
        tracing::info_span!(
            target: "lariat",
            parent: $parent,
            $name,
            "gen_ai.operation.name" = tracing::field::Empty,
            "gen_ai.provider.name" = tracing::field::Empty,
            "gen_ai.conversation.id" = tracing::field::Empty,
            "gen_ai.agent.id" = tracing::field::Empty,
            "gen_ai.request.model" = tracing::field::Empty,
            "gen_ai.request.max_tokens" = tracing::field::Empty,
            "gen_ai.request.temperature" = tracing::field::Empty,
            "gen_ai.response.model" = tracing::field::Empty,
            "gen_ai.response.finish_reasons" = tracing::field::Empty,
            "gen_ai.usage.input_tokens" = tracing::field::Empty,
            "gen_ai.usage.output_tokens" = tracing::field::Empty,
            "gen_ai.usage.cache_read.input_tokens" = tracing::field::Empty,
            "gen_ai.usage.cache_creation.input_tokens" = tracing::field::Empty,
            "gen_ai.tool.name" = tracing::field::Empty,
            "gen_ai.tool.type" = tracing::field::Empty,
            "gen_ai.tool.call.id" = tracing::field::Empty,
            "error.type" = tracing::field::Empty,
            "lariat.loop.id" = tracing::field::Empty,
            "lariat.outcome" = tracing::field::Empty,
            "lariat.turn" = tracing::field::Empty,
            "lariat.turns" = tracing::field::Empty,
            "lariat.cost.usd" = tracing::field::Empty,
            "lariat.retry" = tracing::field::Empty,
        )
    };
}

/// Opens `tracing` spans for runs, turns, model requests and tool calls of the observed agents. Their fields are those of
/// the OpenTelemetry spans: ids, names, usage and outcomes, never contents.
///
/// ```
/// # use std::sync::Arc;
/// # use lariat_runtime::{Agent, trace::TracingSpans};
/// let agent = Agent::builder().observer(Arc::new(TracingSpans::default()));
/// ```
#[derive(Debug, Default)]
pub struct TracingSpans(Mutex<SpanState>);

#[derive(Debug, Default)]
struct SpanState {
    derived: Spans,
    runs: HashMap<LoopId, OpenSpans>,
}

/// The open spans of a run.
#[derive(Debug)]
struct OpenSpans {
    run: Span,
    turn: Option<Span>,
    request: Option<Span>,
    tools: HashMap<ToolCallId, Span>,
}

impl Observer for TracingSpans {
    fn observe(&self, session_id: &SessionId, event: &Event) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(loop_id) = &event.loop_id else { return };
        state.open(session_id, loop_id, &event.event);
        let mut completed = Vec::new();
        state.derived.observe(session_id, event, |telemetry| match telemetry {
            Telemetry::Span(span) => completed.push(span),
            Telemetry::Measured(_) => {}
        });
        if let Some(run) = state.runs.get_mut(loop_id) {
            completed.iter().for_each(|span| run.complete(span));
            run.after(&event.event);
        }
        if matches!(event.event, AgentEvent::AgentEnd { .. }) {
            state.runs.remove(loop_id);
        }
    }
}

impl SpanState {
    fn open(&mut self, session_id: &SessionId, loop_id: &LoopId, event: &AgentEvent) {
        match event {
            AgentEvent::AgentStart(start) => self.open_run(session_id, loop_id, Some(&**start)),
            AgentEvent::LoopRecovered { .. } if !self.runs.contains_key(loop_id) => {
                self.open_run(session_id, loop_id, None);
            }
            _ => {}
        }
        let Some(run) = self.runs.get_mut(loop_id) else { return };
        match event {
            AgentEvent::TurnStart { turn_index, .. } => {
                let turn = open!("turn", run.run.id());
                turn.record("lariat.turn", turn_index);
                run.request = Some(open!("request", turn.id()));
                run.turn = Some(turn);
            }
            AgentEvent::ToolExecutionStart { tool_call_id, tool_name, .. } => {
                let tool = open!("tool", run.turn.as_ref().unwrap_or(&run.run).id());
                tool.record(genai::TOOL_NAME, tool_name.as_str());
                tool.record(genai::TOOL_CALL_ID, tool_call_id.as_str());
                run.tools.insert(tool_call_id.clone(), tool);
            }
            _ => {}
        }
    }

    /// The run of a sub-agent belongs to the tool call that spawned it.
    fn open_run(&mut self, session_id: &SessionId, loop_id: &LoopId, start: Option<&LoopStart>) {
        let spawned = start.and_then(|start| start.spawned_by.as_ref());
        let parent: Option<Id> = spawned.and_then(|spawn| {
            let parent = self.runs.get(&spawn.parent_loop_id)?;
            parent.tools.get(&spawn.tool_call_id).unwrap_or(&parent.run).id()
        });
        let run = open!("run", parent);
        run.record(genai::CONVERSATION_ID, session_id.as_str());
        run.record(genai::LOOP_ID, loop_id.as_str());
        self.runs
            .insert(loop_id.clone(), OpenSpans { run, turn: None, request: None, tools: HashMap::new() });
    }
}

impl OpenSpans {
    /// Records what was derived for a completed span, and closes it.
    fn complete(&mut self, derived: &telemetry::Span) {
        let text = |name: &str| {
            derived.attributes.iter().find_map(|(known, value)| match value {
                AttributeValue::Text(text) if *known == name => Some(text.as_str()),
                _ => None,
            })
        };
        let closing = match text(genai::OPERATION_NAME) {
            Some(genai::OPERATION_CHAT) => self.request.take(),
            Some(genai::OPERATION_EXECUTE_TOOL) => {
                text(genai::TOOL_CALL_ID).and_then(|call| self.tools.remove(&ToolCallId::from(call)))
            }
            // `AgentEnd` closes it, after its tools.
            _ => return derived.attributes.iter().for_each(|attribute| record(&self.run, attribute)),
        };
        if let Some(span) = closing {
            derived.attributes.iter().for_each(|attribute| record(&span, attribute));
        }
    }

    /// Opens the next attempt after a failed one, and closes a turn.
    fn after(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::ModelRetry { .. } | AgentEvent::ModelFallback { .. } => {
                self.request = self.turn.as_ref().map(|turn| open!("request", turn.id()));
            }
            AgentEvent::TurnEnd { .. } => (self.turn, self.request) = (None, None),
            _ => {}
        }
    }
}

fn record(span: &Span, (name, value): &Attribute) {
    match value {
        AttributeValue::Text(text) => span.record(*name, text.as_str()),
        AttributeValue::Texts(texts) => span.record(*name, texts.join(",").as_str()),
        AttributeValue::Integer(number) => span.record(*name, number),
        AttributeValue::Number(number) => span.record(*name, number),
    };
}
