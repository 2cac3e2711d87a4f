//! Derives the spans and metrics of the GenAI conventions from events.
//!
//! A run is an `invoke_agent` span, each attempt of a model call in it a `chat {model}` span, each tool that
//! runs an `execute_tool {tool}` span; the run of a sub-agent is a child of the tool call that spawned it. Branches are children of
//! an `invoke_workflow branches` span, and the runs of a loop or a race of a [`Workflow`].
//! The spans are derived from the events, not from `tracing`: observers receive events after they are
//! durable, so the times of a `tracing` span are a little late. Here, times are those of the events, and ids are
//! derived from event ids, so that the same journal gives the same spans. Programs that use `tracing` get the
//! same fields from `TracingSpans`.
//!
//! Invariant: with [`Content::Off`], a span contains no text of a user, a model, a tool or a provider.

use std::collections::HashMap;

use lariat_core::event::{AgentEvent, Event, LoopStart, RunOutcome, SpawnRef};
use lariat_core::id::{EventId, LoopId, SessionId, ToolCallId};
use lariat_core::message::{AssistantMessage, Message};
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;
use serde_json::Value;

use super::genai;
use super::telemetry::{Attribute, AttributeValue, Content, Measurement, Metric, Span, SpanKind, Telemetry};
use super::workflow::{OpenBranches, Workflow};

/// Derives spans from the events of any number of sessions.
#[derive(Debug, Default)]
pub struct Spans {
    content: Content,
    loops: HashMap<LoopId, OpenRun>,
    /// The branches that run, at most one group per session.
    branches: HashMap<SessionId, OpenBranches>,
    workflow: Option<Workflow>,
}

#[derive(Debug)]
struct OpenRun {
    trace_id: u128,
    span_id: u64,
    parent: Option<u64>,
    /// The tool call that spawned this run, until its span is known or the first span of this run is complete.
    spawned_by: Option<SpawnRef>,
    start: Timestamp,
    attributes: Vec<Attribute>,
    provider: String,
    model: String,
    /// When the next model call began, as far as known.
    ready: Timestamp,
    retry: u32,
    turns: u64,
    input_messages: Vec<Value>,
    tools: HashMap<ToolCallId, OpenTool>,
    /// The spans of tool calls that ended and whose sub-agents may work in the background.
    spawning: HashMap<ToolCallId, u64>,
}

#[derive(Debug)]
struct OpenTool {
    span_id: u64,
    name: String,
    start: Timestamp,
    arguments: Option<String>,
}

impl Spans {
    /// Creates a state without open runs.
    pub fn new(content: Content) -> Self {
        Self { content, ..Self::default() }
    }

    /// Makes all runs that no tool call spawned children of this span.
    #[must_use]
    pub const fn with_workflow(mut self, workflow: Option<Workflow>) -> Self {
        self.workflow = workflow;
        self
    }

    /// Processes an event; passes the spans and metrics that it completes to `out`.
    pub fn observe(&mut self, session_id: &SessionId, event: &Event, mut out: impl FnMut(Telemetry)) {
        match &event.event {
            AgentEvent::ParallelLoopStart { loop_ids, .. } => {
                let branches = OpenBranches::new(event, loop_ids, self.workflow);
                self.branches.insert(session_id.clone(), branches);
                return;
            }
            AgentEvent::ParallelLoopEnd { selected_loop_id, evaluation_usage, .. } => {
                if let Some(branches) = self.branches.remove(session_id) {
                    let span = branches.end(session_id, event.timestamp, selected_loop_id, evaluation_usage);
                    out(Telemetry::Span(Box::new(span)));
                }
                return;
            }
            _ => {}
        }
        let Some(loop_id) = &event.loop_id else { return };
        let (at, content) = (event.timestamp, self.content);
        match &event.event {
            AgentEvent::AgentStart(start) => {
                let mut run = begin(session_id, loop_id, event.id, at, start);
                self.place(&mut run, session_id, loop_id);
                self.loops.insert(loop_id.clone(), run);
                self.link(loop_id);
                return;
            }
            // An earlier process has reported its own part of the run.
            AgentEvent::LoopRecovered { .. } if !self.loops.contains_key(loop_id) => {
                let start = LoopStart::new("".into(), session_id.clone(), loop_id.clone());
                let mut run = begin(session_id, loop_id, event.id, at, &start);
                self.place(&mut run, session_id, loop_id);
                self.loops.insert(loop_id.clone(), run);
                return;
            }
            AgentEvent::AgentEnd { usage, outcome, .. } => {
                self.settle_link(loop_id);
                if let Some(run) = self.loops.remove(loop_id) {
                    run.end(at, usage, outcome, content, &mut out);
                }
                return;
            }
            _ => {}
        }
        match completes_span(&event.event) {
            true => self.settle_link(loop_id),
            false => self.link(loop_id),
        }
        let Some(run) = self.loops.get_mut(loop_id) else { return };
        match &event.event {
            AgentEvent::TurnStart { .. } => run.turn(at),
            AgentEvent::Compaction { .. } | AgentEvent::CompactionRefused { .. } => run.ready = at,
            AgentEvent::ModelRetry { attempt, delay_ms, error } => {
                run.failed_call(event.id, at, error, content, &mut out);
                run.retry = *attempt;
                run.ready = Timestamp::from_millis(at.as_millis().saturating_add(*delay_ms));
            }
            AgentEvent::ModelFallback { to, error, .. } => {
                run.failed_call(event.id, at, error, content, &mut out);
                run.model.clone_from(to);
                run.ready = at;
            }
            AgentEvent::MessageEnd { message } => {
                match message.shared().and_then(|message| message.as_llm()) {
                    Some(Message::Assistant(reply)) => run.reply(event.id, at, reply, content, &mut out),
                    Some(message) => run.add_message(at, message, content),
                    None => {}
                }
            }
            AgentEvent::ToolExecutionStart { tool_call_id, tool_name, args } => {
                let wanted = args.get().filter(|_| content == Content::On);
                let tool = OpenTool {
                    span_id: span_id_of(event.id),
                    name: tool_name.clone(),
                    start: at,
                    arguments: wanted.map(Value::to_string),
                };
                run.tools.insert(tool_call_id.clone(), tool);
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, message, is_error, child_loop_id, .. } => {
                let spawned = run.tools.get(tool_call_id).filter(|_| child_loop_id.is_some());
                run.spawning.extend(spawned.map(|tool| (tool_call_id.clone(), tool.span_id)));
                let result = message.get().and_then(|message| message.as_llm()).map(Message::text);
                let error = is_error.then_some("tool_error");
                run.end_tool(tool_call_id, at, error, result.filter(|_| content == Content::On), &mut out);
            }
            _ => {}
        }
    }

    /// Makes a run that no tool call spawned a child of its branches or of the workflow.
    fn place(&self, run: &mut OpenRun, session_id: &SessionId, loop_id: &LoopId) {
        let of_branches = self.branches.get(session_id).and_then(|branches| branches.above(loop_id));
        let above = of_branches.or(self.workflow).filter(|_| run.spawned_by.is_none());
        if let Some(Workflow { trace_id, span_id }) = above {
            (run.trace_id, run.parent) = (trace_id, Some(span_id));
        }
    }

    /// Makes the run of a sub-agent a child of the tool call that spawned it, once that is known: the events of two sessions may
    /// arrive in any order.
    fn link(&mut self, loop_id: &LoopId) {
        let Some(spawn) = self.loops.get(loop_id).and_then(|run| run.spawned_by.clone()) else { return };
        self.link(&spawn.parent_loop_id);
        let call = &spawn.tool_call_id;
        let parent = self.loops.get(&spawn.parent_loop_id).filter(|parent| parent.spawned_by.is_none());
        let found = parent.and_then(|parent| {
            let span = parent.tools.get(call).map(|tool| tool.span_id);
            Some((parent.trace_id, span.or_else(|| parent.spawning.get(call).copied())?))
        });
        if let (Some((trace_id, span_id)), Some(run)) = (found, self.loops.get_mut(loop_id)) {
            (run.trace_id, run.parent, run.spawned_by) = (trace_id, Some(span_id), None);
        }
    }

    /// Decides the trace of a run for good. If the tool call that spawned it began in an earlier process, the run belongs to the
    /// run of its parent.
    fn settle_link(&mut self, loop_id: &LoopId) {
        let Some(spawn) = self.loops.get(loop_id).and_then(|run| run.spawned_by.clone()) else { return };
        self.settle_link(&spawn.parent_loop_id);
        self.link(loop_id);
        let Some(spawn) = self.loops.get_mut(loop_id).and_then(|run| run.spawned_by.take()) else { return };
        let found = self.loops.get(&spawn.parent_loop_id).map(|parent| (parent.trace_id, parent.span_id));
        let found = found.or(self.workflow.map(|workflow| (workflow.trace_id, workflow.span_id)));
        if let (Some((trace_id, span_id)), Some(run)) = (found, self.loops.get_mut(loop_id)) {
            (run.trace_id, run.parent) = (trace_id, Some(span_id));
        }
    }
}

fn begin(session_id: &SessionId, loop_id: &LoopId, id: EventId, at: Timestamp, start: &LoopStart) -> OpenRun {
    let mut attributes: Vec<Attribute> = vec![
        (genai::OPERATION_NAME, genai::OPERATION_INVOKE_AGENT.into()),
        (genai::CONVERSATION_ID, session_id.as_str().into()),
        (genai::LOOP_ID, loop_id.as_str().into()),
    ];
    if !start.agent_id.as_str().is_empty() {
        attributes.push((genai::AGENT_ID, start.agent_id.as_str().into()));
    }
    let config = start.config.as_deref();
    let provider = config.map_or("", |config| genai::provider_name(&config.provider)).to_owned();
    let model = config.map(|config| config.model.clone()).unwrap_or_default();
    attributes.push((genai::PROVIDER_NAME, provider.as_str().into()));
    attributes.push((genai::REQUEST_MODEL, model.as_str().into()));
    if let Some(limit) = config.and_then(|config| config.max_tokens) {
        attributes.push((genai::REQUEST_MAX_TOKENS, u64::from(limit).into()));
    }
    if let Some(temperature) = config.and_then(|config| config.temperature) {
        attributes.push((genai::REQUEST_TEMPERATURE, AttributeValue::Number(f64::from(temperature))));
    }
    OpenRun {
        trace_id: id.uuid().as_u128(),
        span_id: span_id_of(id),
        parent: None,
        spawned_by: start.spawned_by.clone(),
        start: at,
        attributes,
        provider,
        model,
        ready: at,
        retry: 0,
        turns: 0,
        input_messages: Vec::new(),
        tools: HashMap::new(),
        spawning: HashMap::new(),
    }
}

/// Returns whether an event completes a span of its run.
fn completes_span(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::MessageEnd { message } => {
            message.shared().is_some_and(|message| message.as_assistant().is_some())
        }
        AgentEvent::ModelRetry { .. }
        | AgentEvent::ModelFallback { .. }
        | AgentEvent::ToolExecutionEnd { .. } => true,
        _ => false,
    }
}

impl OpenRun {
    fn turn(&mut self, at: Timestamp) {
        self.turns += 1;
        self.retry = 0;
        self.ready = at;
    }

    /// The model is called after the messages to it were recorded.
    fn add_message(&mut self, at: Timestamp, message: &Message, content: Content) {
        self.ready = at;
        if content == Content::On {
            self.input_messages.push(message_json(message));
        }
    }

    fn chat_span(&mut self, id: EventId, at: Timestamp, model: &str) -> Span {
        let mut attributes: Vec<Attribute> = vec![
            (genai::OPERATION_NAME, genai::OPERATION_CHAT.into()),
            (genai::PROVIDER_NAME, self.provider.as_str().into()),
            (genai::REQUEST_MODEL, model.into()),
        ];
        if self.retry > 0 {
            attributes.push((genai::RETRY, u64::from(self.retry).into()));
        }
        if !self.input_messages.is_empty() {
            let input_messages = Value::from(std::mem::take(&mut self.input_messages)).to_string();
            attributes.push((genai::INPUT_MESSAGES, AttributeValue::Text(input_messages)));
        }
        Span {
            trace_id: self.trace_id,
            span_id: span_id_of(id),
            parent: Some(self.span_id),
            name: format!("{} {model}", genai::OPERATION_CHAT),
            kind: SpanKind::Client,
            // A retry that started earlier than announced began at its end, at the latest.
            start: self.ready.min(at),
            end: at,
            attributes,
            error: None,
        }
    }

    fn failed_call(
        &mut self,
        id: EventId,
        at: Timestamp,
        error: &str,
        content: Content,
        out: &mut impl FnMut(Telemetry),
    ) {
        let model = self.model.clone();
        let mut span = self.chat_span(id, at, &model);
        span.fail(genai::error_type(error), error, content);
        self.measure_duration(&span, out);
        out(Telemetry::Span(Box::new(span)));
    }

    fn reply(
        &mut self,
        id: EventId,
        at: Timestamp,
        reply: &AssistantMessage,
        content: Content,
        out: &mut impl FnMut(Telemetry),
    ) {
        let model = reply.requested_model.as_deref().unwrap_or(&reply.model).to_owned();
        let mut span = self.chat_span(id, at, &model);
        self.ready = at;
        let usage = &reply.usage;
        let reason = serde_json::to_value(reply.stop_reason).ok();
        let reason = reason.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        span.attributes.extend([
            (genai::RESPONSE_MODEL, reply.model.as_str().into()),
            (genai::RESPONSE_FINISH_REASONS, AttributeValue::Texts(vec![reason])),
        ]);
        span.attributes.extend(usage_attributes(usage));
        if content == Content::On {
            let output = Value::from(vec![message_json(&Message::Assistant(reply.clone()))]).to_string();
            span.attributes.push((genai::OUTPUT_MESSAGES, AttributeValue::Text(output)));
        }
        if let Some(error) = &reply.error_message {
            span.fail(genai::error_type(error), error, content);
        }
        // A failed call has no usage; do not record zeros.
        let counted = [("input", usage.context()), ("output", usage.output)];
        for (kind, tokens) in counted.into_iter().filter(|_| usage.total() > 0) {
            let mut attributes = metric_attributes(&span);
            attributes.push((genai::TOKEN_TYPE, kind.into()));
            attributes.push((genai::RESPONSE_MODEL, reply.model.as_str().into()));
            let measured = Measurement { metric: Metric::TokenUsage, value: tokens as f64, attributes };
            out(Telemetry::Measured(measured));
        }
        self.measure_duration(&span, out);
        out(Telemetry::Span(Box::new(span)));
    }

    fn end_tool(
        &mut self,
        call: &ToolCallId,
        at: Timestamp,
        error: Option<&str>,
        result: Option<String>,
        out: &mut impl FnMut(Telemetry),
    ) {
        // The model reads the result next.
        self.ready = at;
        let Some(tool) = self.tools.remove(call) else { return };
        let mut attributes: Vec<Attribute> = vec![
            (genai::OPERATION_NAME, genai::OPERATION_EXECUTE_TOOL.into()),
            (genai::TOOL_NAME, tool.name.as_str().into()),
            (genai::TOOL_CALL_ID, call.as_str().into()),
            (genai::TOOL_TYPE, "function".into()),
        ];
        let with_content = [(genai::TOOL_CALL_ARGUMENTS, tool.arguments), (genai::TOOL_CALL_RESULT, result)];
        let with_content = with_content.into_iter().filter_map(|(name, text)| Some((name, text?)));
        attributes.extend(with_content.map(|(name, text)| (name, AttributeValue::Text(text))));
        let mut span = Span {
            trace_id: self.trace_id,
            span_id: tool.span_id,
            parent: Some(self.span_id),
            name: format!("{} {}", genai::OPERATION_EXECUTE_TOOL, tool.name),
            kind: SpanKind::Internal,
            start: tool.start,
            end: at,
            attributes,
            error: None,
        };
        if let Some(error) = error {
            span.fail(error, "", Content::Off);
        }
        self.measure_duration(&span, out);
        out(Telemetry::Span(Box::new(span)));
    }

    fn end(
        mut self,
        at: Timestamp,
        usage: &Usage,
        outcome: &RunOutcome,
        content: Content,
        out: &mut impl FnMut(Telemetry),
    ) {
        let left: Vec<ToolCallId> = self.tools.keys().cloned().collect();
        for call in left {
            self.end_tool(&call, at, Some("cancelled"), None, out);
        }
        let mut span = Span {
            trace_id: self.trace_id,
            span_id: self.span_id,
            parent: self.parent,
            name: genai::OPERATION_INVOKE_AGENT.to_owned(),
            kind: SpanKind::Internal,
            start: self.start,
            end: at,
            attributes: std::mem::take(&mut self.attributes),
            error: None,
        };
        let ended = serde_json::to_value(outcome).unwrap_or_default();
        let ended = ended.get("kind").and_then(Value::as_str).unwrap_or("unknown");
        span.attributes.extend([(genai::OUTCOME, ended.into()), (genai::TURNS, self.turns.into())]);
        span.attributes.extend(usage_attributes(usage));
        match outcome {
            RunOutcome::Failed { error } => span.fail(genai::error_type(error), error, content),
            RunOutcome::ContextFull(_) => span.fail("context_full", "", content),
            _ => {}
        }
        self.measure_duration(&span, out);
        out(Telemetry::Span(Box::new(span)));
    }

    fn measure_duration(&self, span: &Span, out: &mut impl FnMut(Telemetry)) {
        let value = span.end.since(span.start).as_secs_f64();
        let metric = Metric::OperationDuration;
        out(Telemetry::Measured(Measurement { metric, value, attributes: metric_attributes(span) }));
    }
}

/// Returns the attributes of a span that its metrics also have: those with few values.
fn metric_attributes(span: &Span) -> Vec<Attribute> {
    const LOW_CARDINALITY: [&str; 5] = [
        genai::OPERATION_NAME,
        genai::PROVIDER_NAME,
        genai::REQUEST_MODEL,
        genai::TOOL_NAME,
        genai::ERROR_TYPE,
    ];
    span.attributes.iter().filter(|(name, _)| LOW_CARDINALITY.contains(name)).cloned().collect()
}

pub(super) fn usage_attributes(usage: &Usage) -> Vec<Attribute> {
    let mut attributes: Vec<Attribute> = vec![
        (genai::USAGE_INPUT_TOKENS, usage.context().into()),
        (genai::USAGE_OUTPUT_TOKENS, usage.output.into()),
        (genai::USAGE_CACHE_READ, usage.cache_read.into()),
        (genai::USAGE_CACHE_CREATION, usage.cache_write.into()),
    ];
    if !usage.cost.is_zero() {
        attributes.push((genai::COST_USD, AttributeValue::Number(usage.cost.as_usd())));
    }
    attributes
}

/// Formats a message as the conventions require.
fn message_json(message: &Message) -> Value {
    let role = match message {
        Message::User(_) => "user",
        Message::Assistant(_) => "assistant",
        Message::ToolResult(_) => "tool",
    };
    serde_json::json!({"role": role, "parts": [{"type": "text", "content": message.text()}]})
}

/// Returns the random half of an event's id.
pub(super) fn span_id_of(id: EventId) -> u64 {
    id.uuid().as_u64_pair().1
}
