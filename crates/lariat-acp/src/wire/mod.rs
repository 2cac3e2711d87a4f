//! The types of ACP version 1, as far as Lariat uses them.
//!
//! What an editor sends is read leniently: unknown fields are ignored. What Lariat sends has only fields of the stable
//! schema.

mod content;
mod methods;
mod rpc;
mod update;

pub(crate) use content::{ContentBlock, ResourceContents};
pub(crate) use methods::{
    CancelParams, ClientCapabilities, ConfigOption, ConfigValue, InitializeParams, ListParams, McpServer,
    ModeState, NamedValue, NewParams, OpenParams, PromptParams, SessionMode, SessionParams, SetConfigParams,
    SetModeParams,
};
pub(crate) use rpc::{Incoming, RpcError, parse, request_line, response_line};
pub(crate) use update::{
    AvailableCommand, CommandInput, Cost, Location, Notice, PermissionOption, PermissionOptionKind,
    PermissionOutcome, PlanEntry, PlanStatus, Priority, Severity, ToolCall, ToolContent, ToolKind,
    ToolStatus, Update,
};
