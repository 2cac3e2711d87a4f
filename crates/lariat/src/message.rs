//! Messages, their content, and the ids of everything in a session.

pub use lariat_core::content::{Content, ToolCall};
pub use lariat_core::id::{AgentId, LoopId, MessageId, RequestId, SessionId, ToolCallId};
pub use lariat_core::message::{
    AgentMessage, AssistantMessage, ExtensionMessage, Message, SharedMessage, StopReason, ToolResultMessage,
    UserMessage,
};
pub use lariat_core::transcript::Window;
