//! Lists everything in a request that real model APIs reject.
//!
//! Examines the messages alone and shares no code with the core's `Transcript`, which guarantees that none of
//! this can happen: an error there must not hide itself here. Covers what all APIs have in common; each
//! protocol has its own validator for the rest.
//! Invariant: a conversation is validated message by message, so that validating it in parts gives the same
//! list.

use std::collections::{HashSet, VecDeque};
use std::fmt;

use lariat_core::content::Content;
use lariat_core::id::ToolCallId;
use lariat_core::message::{AssistantMessage, Message, StopReason, ToolResultMessage};
use lariat_core::tool::ToolDefinition;
use lariat_core::transcript::Window;

/// A defect for which an API responds with HTTP 400.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Position among the messages that the model sees, or among the tools.
    pub at: usize,
    /// What is wrong there.
    pub kind: ViolationKind,
}

/// What is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ViolationKind {
    /// There are no messages.
    EmptyConversation,
    /// The first message is not the user's.
    StartsWithoutUser,
    /// The last message is a reply that does not ask to be continued.
    EndsInReply,
    /// A message without blocks.
    NoContent,
    /// Text without a visible character.
    EmptyText,
    /// An image without bytes.
    EmptyImage,
    /// Reasoning without text, signature or payload.
    EmptyThinking,
    /// A block of an unknown kind without fields.
    EmptyBlock,
    /// A block that this role must not contain, for example a tool call in a user message.
    MisplacedBlock,
    /// A reply that consists of reasoning alone.
    ThinkingOnly,
    /// A reply whose last block is reasoning (Anthropic: "the final block in an assistant message cannot be thinking").
    EndsInThinking,
    /// A tool call without an id.
    EmptyCallId,
    /// A tool call or a tool result without the tool's name.
    EmptyToolName,
    /// Arguments that are not a JSON object.
    ArgumentsNotObject(ToolCallId),
    /// A tool call id that an earlier tool call used.
    DuplicateCallId(ToolCallId),
    /// A tool call without a result in the messages right after it.
    CallWithoutResult(ToolCallId),
    /// A result without a tool call.
    ResultWithoutCall(ToolCallId),
    /// A result of a tool call before the reply directly preceding it.
    ResultNotAdjacent(ToolCallId),
    /// A second result of the same tool call.
    RepeatedResult(ToolCallId),
    /// Results in another order than the tool calls.
    ResultOutOfOrder(ToolCallId),
    /// A tool without a name.
    UnnamedTool,
    /// Two tools with the same name.
    RepeatedTool(String),
    /// A tool's schema is not a JSON object.
    SchemaNotObject(String),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ViolationKind as Kind;
        let at = self.at;
        match &self.kind {
            Kind::EmptyConversation => write!(f, "messages: at least one message is required"),
            Kind::StartsWithoutUser => write!(f, "messages.{at}: the first message must be the user's"),
            Kind::EndsInReply => write!(f, "messages.{at}: the conversation must not end in a reply"),
            Kind::NoContent => write!(f, "messages.{at}: content must not be empty"),
            Kind::EmptyText => write!(f, "messages.{at}: text must contain non-whitespace characters"),
            Kind::EmptyImage => write!(f, "messages.{at}: image without data"),
            Kind::EmptyThinking => write!(f, "messages.{at}: thinking without content"),
            Kind::EmptyBlock => write!(f, "messages.{at}: block without fields"),
            Kind::MisplacedBlock => write!(f, "messages.{at}: block is not allowed in this role"),
            Kind::ThinkingOnly => write!(f, "messages.{at}: a reply must not consist of thinking alone"),
            Kind::EndsInThinking => write!(f, "messages.{at}: the final block must not be thinking"),
            Kind::EmptyCallId => write!(f, "messages.{at}: tool call without id"),
            Kind::EmptyToolName => write!(f, "messages.{at}: tool without name"),
            Kind::ArgumentsNotObject(id) => write!(f, "messages.{at}: arguments of `{id}` are not an object"),
            Kind::DuplicateCallId(id) => write!(f, "messages.{at}: tool call ids must be unique: `{id}`"),
            Kind::CallWithoutResult(id) => write!(f, "messages.{at}: `{id}` has no result right after it"),
            Kind::ResultWithoutCall(id) => write!(f, "messages.{at}: result of unknown call `{id}`"),
            Kind::ResultNotAdjacent(id) => {
                write!(f, "messages.{at}: result of `{id}` is not next to its call")
            }
            Kind::RepeatedResult(id) => write!(f, "messages.{at}: second result of `{id}`"),
            Kind::ResultOutOfOrder(id) => write!(f, "messages.{at}: result of `{id}` is out of order"),
            Kind::UnnamedTool => write!(f, "tools.{at}: tool without name"),
            Kind::RepeatedTool(name) => write!(f, "tools.{at}: tool names must be unique: `{name}`"),
            Kind::SchemaNotObject(name) => write!(f, "tools.{at}: schema of `{name}` is not an object"),
        }
    }
}

/// Everything that an API would reject in a request.
pub fn validate(window: &Window, tools: &[ToolDefinition]) -> Vec<Violation> {
    let mut violations = validate_messages(window.llm_messages());
    violations.extend(validate_tools(tools));
    violations
}

/// Everything that an API would reject in a list of messages.
///
/// ```
/// use lariat_core::message::Message;
/// use lariat_test::model::{validate_messages, ViolationKind};
///
/// let violations = validate_messages(&[Message::user(" ")]);
/// assert_eq!(violations[0].kind, ViolationKind::EmptyText);
/// ```
pub fn validate_messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Violation> {
    let mut validation = Validation::default();
    messages.into_iter().for_each(|message| validation.add(message));
    validation.verdict()
}

/// Everything that an API would reject in the list of tools.
pub fn validate_tools(tools: &[ToolDefinition]) -> Vec<Violation> {
    let mut names = HashSet::new();
    let mut violations = Vec::new();
    for (at, tool) in tools.iter().enumerate() {
        let mut found = |kind| violations.push(Violation { at, kind });
        if tool.name.trim().is_empty() {
            found(ViolationKind::UnnamedTool);
        } else if !names.insert(tool.name.as_str()) {
            found(ViolationKind::RepeatedTool(tool.name.clone()));
        }
        if !tool.parameters.is_object() {
            found(ViolationKind::SchemaNotObject(tool.name.clone()));
        }
    }
    violations
}

/// State of the validation after some messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Validation {
    added: usize,
    calls: HashSet<ToolCallId>,
    /// Tool calls of the preceding reply that still need a result, and the position of that reply.
    open: VecDeque<ToolCallId>,
    open_at: usize,
    /// Tool calls of the preceding reply that have a result.
    answered: Vec<ToolCallId>,
    ends_in_reply: bool,
    violations: Vec<Violation>,
}

impl Validation {
    /// Validates the next message.
    pub(super) fn add(&mut self, message: &Message) {
        let at = self.added;
        if at == 0 && !matches!(message, Message::User(_)) {
            self.report(at, ViolationKind::StartsWithoutUser);
        }
        if message.content().is_empty() {
            self.report(at, ViolationKind::NoContent);
        }
        for block in message.content() {
            self.check_block(at, message, block);
        }
        match message {
            Message::User(_) => self.close(),
            Message::Assistant(assistant) => self.check_reply(at, assistant),
            Message::ToolResult(result) => self.check_result(at, result),
        }
        self.ends_in_reply =
            matches!(message, Message::Assistant(reply) if reply.stop_reason != StopReason::Pause);
        self.added += 1;
    }

    /// Everything wrong with the conversation if it were sent now.
    pub(super) fn verdict(&self) -> Vec<Violation> {
        let mut violations = self.violations.clone();
        let mut found = |at, kind| violations.push(Violation { at, kind });
        if self.added == 0 {
            found(0, ViolationKind::EmptyConversation);
        }
        for id in &self.open {
            found(self.open_at, ViolationKind::CallWithoutResult(id.clone()));
        }
        if self.ends_in_reply {
            found(self.added - 1, ViolationKind::EndsInReply);
        }
        violations
    }

    fn report(&mut self, at: usize, kind: ViolationKind) {
        self.violations.push(Violation { at, kind });
    }

    fn check_block(&mut self, at: usize, message: &Message, block: &Content) {
        let in_reply = matches!(message, Message::Assistant(_));
        match block {
            Content::Text { text } if text.chars().all(char::is_whitespace) => {
                self.report(at, ViolationKind::EmptyText);
            }
            Content::Image { data, mime_type } if data.is_empty() || mime_type.is_empty() => {
                self.report(at, ViolationKind::EmptyImage);
            }
            Content::Thinking { .. } | Content::RedactedThinking { .. } | Content::ToolCall(_)
                if !in_reply =>
            {
                self.report(at, ViolationKind::MisplacedBlock);
            }
            Content::Thinking { thinking, signature: None } if thinking.is_empty() => {
                self.report(at, ViolationKind::EmptyThinking);
            }
            Content::RedactedThinking { data } if data.is_empty() => {
                self.report(at, ViolationKind::EmptyThinking);
            }
            Content::Unknown(fields) if fields.is_empty() => self.report(at, ViolationKind::EmptyBlock),
            _ => {}
        }
    }

    fn check_reply(&mut self, at: usize, reply: &AssistantMessage) {
        self.close();
        self.open_at = at;
        let thinks =
            |block: &Content| matches!(block, Content::Thinking { .. } | Content::RedactedThinking { .. });
        if reply.content.last().is_some_and(thinks) {
            let only = reply.content.iter().all(thinks);
            let kind = if only { ViolationKind::ThinkingOnly } else { ViolationKind::EndsInThinking };
            self.report(at, kind);
        }
        for block in &reply.content {
            let Content::ToolCall(call) = block else { continue };
            if call.id.as_str().is_empty() {
                self.report(at, ViolationKind::EmptyCallId);
            }
            if call.name.is_empty() {
                self.report(at, ViolationKind::EmptyToolName);
            }
            if !call.arguments.is_object() {
                self.report(at, ViolationKind::ArgumentsNotObject(call.id.clone()));
            }
            if !self.calls.insert(call.id.clone()) {
                self.report(at, ViolationKind::DuplicateCallId(call.id.clone()));
            }
            self.open.push_back(call.id.clone());
        }
    }

    fn check_result(&mut self, at: usize, result: &ToolResultMessage) {
        let id = &result.tool_call_id;
        if result.tool_name.is_empty() {
            self.report(at, ViolationKind::EmptyToolName);
        }
        let waiting = self.open.iter().position(|open| open == id);
        let wrong = match waiting {
            Some(0) => None,
            Some(_) => Some(ViolationKind::ResultOutOfOrder(id.clone())),
            None if self.answered.contains(id) => Some(ViolationKind::RepeatedResult(id.clone())),
            None if self.calls.contains(id) => Some(ViolationKind::ResultNotAdjacent(id.clone())),
            None => Some(ViolationKind::ResultWithoutCall(id.clone())),
        };
        if let Some(kind) = wrong {
            self.report(at, kind);
        }
        if let Some(position) = waiting {
            self.open.remove(position);
            self.answered.push(id.clone());
        }
    }

    /// Ends the group of results: called for a message that is not a result.
    fn close(&mut self) {
        while let Some(id) = self.open.pop_front() {
            self.report(self.open_at, ViolationKind::CallWithoutResult(id));
        }
        self.answered.clear();
    }
}

#[cfg(test)]
#[path = "strict_tests.rs"]
mod tests;
