//! Events of a session, as the log and the live channel send them: references are ids.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::event::{
    AgentEvent, ArgsRef, CommandRecord, Event, EventRecord, FORMAT_VERSION, LoopConfigSnapshot, LoopStart,
    MessageRef, QueueKind, RecordedMessage, RunOutcome, StreamDelta, TurnTrigger,
};
use lariat_core::id::MessageId;
use lariat_core::message::{
    AgentMessage, AssistantMessage, LlmMessage, Message, Origin, SharedMessage, StopReason,
    ToolResultMessage, UserMessage,
};
use lariat_core::time::Timestamp;
use lariat_core::tool::ToolResult;
use lariat_core::usage::{Cost, Usage};
use serde_json::{Value, json};

/// Writes events with growing positions and times.
#[derive(Default)]
pub(super) struct Script {
    pub(super) events: Vec<Event>,
    seq: u64,
    millis: u64,
}

pub(super) fn id(number: u64) -> MessageId {
    serde_json::from_value(json!(format!("00000000-0000-0000-0000-{number:012}"))).unwrap()
}

pub(super) fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(1_780_000_000_000 + millis)
}

/// An event as it is read from the wire.
pub(super) fn wire(seq: u64, millis: u64, event: AgentEvent) -> Event {
    let record = EventRecord {
        v: FORMAT_VERSION,
        seq,
        id: serde_json::from_value(json!(format!("00000000-0000-0000-0001-{seq:012}"))).unwrap(),
        timestamp: at(millis),
        loop_id: Some("s.c.1".into()),
        event,
    };
    Arc::new(EventRecord::from_json(&serde_json::to_vec(&record).unwrap()).unwrap())
}

fn message(number: u64, message: Message) -> SharedMessage {
    Arc::new(AgentMessage::Llm(LlmMessage { id: id(number), turn_id: None, message }))
}

pub(super) fn user(number: u64, text: &str) -> SharedMessage {
    message(number, Message::User(UserMessage::new(vec![Content::text(text)])))
}

pub(super) fn note(number: u64, text: &str) -> SharedMessage {
    let origin = Origin::Note { section: "files".to_owned() };
    message(number, Message::User(UserMessage { origin, ..UserMessage::new(vec![Content::text(text)]) }))
}

pub(super) fn thinking(text: &str) -> Content {
    Content::Thinking { thinking: text.to_owned(), signature: None }
}

pub(super) fn assistant(number: u64, content: Vec<Content>, stop_reason: StopReason) -> SharedMessage {
    message(
        number,
        Message::Assistant(AssistantMessage {
            content,
            stop_reason,
            model: "m".to_owned(),
            requested_model: None,
            provider: "p".to_owned(),
            usage: usage(),
            timestamp: at(0),
            error_message: None,
        }),
    )
}

pub(super) fn usage() -> Usage {
    Usage { cache_read: 30_000, cost: Cost::from_nano_usd(12_300_000), ..Usage::new(4_000, 1_000) }
}

pub(super) fn ended(message: SharedMessage) -> AgentEvent {
    AgentEvent::MessageEnd { message: RecordedMessage::Full(message) }
}

pub(super) fn text_delta(number: u64, text: &str) -> AgentEvent {
    update(number, StreamDelta::Text { delta: text.to_owned() })
}

pub(super) fn thinking_delta(number: u64, text: &str) -> AgentEvent {
    update(number, StreamDelta::Thinking { delta: text.to_owned() })
}

pub(super) fn update(number: u64, delta: StreamDelta) -> AgentEvent {
    AgentEvent::MessageUpdate { message: MessageRef::unresolved(id(number)), delta }
}

pub(super) fn reply_start(number: u64) -> AgentEvent {
    AgentEvent::MessageStart { message: MessageRef::unresolved(id(number)) }
}

pub(super) fn output(call: &str, text: &str) -> AgentEvent {
    AgentEvent::ToolExecutionUpdate {
        tool_call_id: call.into(),
        tool_name: "bash".to_owned(),
        partial_result: Arc::new(ToolResult::text(text)),
    }
}

impl Script {
    /// Adds an event after some milliseconds.
    pub(super) fn after(&mut self, millis: u64, event: AgentEvent) -> &mut Self {
        self.millis += millis;
        self.events.push(wire(self.seq, self.millis, event));
        if self.events.last().unwrap().is_durable() {
            self.seq += 1;
        }
        self
    }

    pub(super) fn add(&mut self, event: AgentEvent) -> &mut Self {
        self.after(0, event)
    }

    pub(super) fn run_start(&mut self) -> &mut Self {
        let mut start = LoopStart::new("agent".into(), "s".into(), "s.c.1".into());
        let mut config = LoopConfigSnapshot::default();
        config.model = "m".to_owned();
        start.config = Some(Arc::new(config));
        self.add(AgentEvent::AgentStart(Box::new(start)))
    }

    pub(super) fn turn(&mut self, turn_index: u32) -> &mut Self {
        self.add(AgentEvent::TurnStart { turn_index, triggered_by: TurnTrigger::User })
    }

    pub(super) fn user(&mut self, number: u64, text: &str) -> &mut Self {
        self.add(ended(user(number, text)))
    }

    pub(super) fn reply(&mut self, number: u64, content: Vec<Content>) -> &mut Self {
        self.add(ended(assistant(number, content, StopReason::Stop)))
    }

    /// A tool call that runs for some milliseconds.
    pub(super) fn call(
        &mut self,
        call: &str,
        tool: &str,
        millis: u64,
        result: Result<(&str, Value), &str>,
    ) -> &mut Self {
        self.call_starts(call, tool).call_ends(call, tool, millis, result)
    }

    pub(super) fn call_starts(&mut self, call: &str, tool: &str) -> &mut Self {
        let tool_name = tool.to_owned();
        self.add(AgentEvent::ToolExecutionStart {
            tool_call_id: call.into(),
            tool_name,
            args: ArgsRef::Unresolved,
        })
    }

    pub(super) fn call_ends(
        &mut self,
        call: &str,
        tool: &str,
        millis: u64,
        result: Result<(&str, Value), &str>,
    ) -> &mut Self {
        let is_error = result.is_err();
        let (text, details) = result.unwrap_or_else(|error| (error, Value::Null));
        let number = 5_000 + self.seq;
        self.after(
            millis,
            AgentEvent::ToolExecutionEnd {
                tool_call_id: call.into(),
                tool_name: tool.to_owned(),
                message: MessageRef::unresolved(id(number)),
                details,
                is_error,
                child_loop_id: None,
            },
        );
        self.result(number, call, tool, text, is_error)
    }

    pub(super) fn result(
        &mut self,
        number: u64,
        call: &str,
        tool: &str,
        text: &str,
        is_error: bool,
    ) -> &mut Self {
        let result = ToolResultMessage {
            tool_call_id: call.into(),
            tool_name: tool.to_owned(),
            content: vec![Content::text(text)],
            is_error,
            timestamp: at(self.millis),
        };
        self.add(ended(message(number, Message::ToolResult(result))))
    }

    pub(super) fn queued(&mut self, queue: QueueKind, message: SharedMessage) -> &mut Self {
        self.add(AgentEvent::MessageQueued { queue, message })
    }

    pub(super) fn delivered(&mut self, number: u64) -> &mut Self {
        let message = RecordedMessage::Earlier(MessageRef::unresolved(id(number)));
        self.add(AgentEvent::MessageEnd { message })
    }

    pub(super) fn command(&mut self, by: &str, action: &str) -> &mut Self {
        self.add(AgentEvent::CommandAccepted(Box::new(CommandRecord::new("c", "terminal", by, action, "d"))))
    }

    pub(super) fn run_end(&mut self, outcome: RunOutcome) -> &mut Self {
        self.add(AgentEvent::AgentEnd { messages: Vec::new(), usage: usage(), outcome, rejection: None })
    }
}
