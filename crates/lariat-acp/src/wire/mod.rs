//! The types of ACP version 1, as far as Lariat uses them, and their form in the draft of version 2.
//!
//! What an editor sends is read leniently: unknown fields are ignored. What Lariat sends has only fields of the stable
//! schema.

mod content;
pub(crate) mod draft;
mod methods;
mod rpc;
mod update;

/// The version of the protocol that a connection speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protocol {
    #[default]
    Stable,
    /// The draft of version 2.
    Draft,
}

impl Protocol {
    /// Its number in `initialize`.
    pub(crate) const fn version(self) -> u64 {
        match self {
            Self::Stable => 1,
            Self::Draft => 2,
        }
    }
}

pub(crate) use content::{ContentBlock, ResourceContents};
pub(crate) use methods::{
    CancelParams, ClientCapabilities, ConfigOption, ConfigValue, InitializeParams, ListParams, McpServer,
    ModeState, NamedValue, NewParams, OpenParams, PromptParams, SessionMode, SessionParams, SetConfigParams,
    SetModeParams,
};
pub(crate) use rpc::{Incoming, RpcError, parse, request_line, response_line};
pub(crate) use update::{
    AvailableCommand, CommandInput, Cost, Location, Notice, PermissionOption, PermissionOptionKind,
    PermissionOutcome, PlanEntry, PlanStatus, Priority, Severity, StopReason, ToolCall, ToolContent,
    ToolKind, ToolStatus, Update,
};
