//! Reads what an agent sends, as far as Lariat uses it.

use serde_json::{Map, Value};

use super::tool_calls::{CUT, CallStatus};
use crate::wire::{Incoming, RpcError, parse};

/// Maximum number of bytes of a text of the agent in an error.
const MAX_ERROR: usize = 2 * 1024;
/// Maximum number of tasks of a plan.
const MAX_TASKS: usize = 100;
/// Maximum number of bytes of an id or of a short text.
const MAX_SHORT: usize = 512;

/// A line of the agent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AgentLine {
    /// The response to one of our requests.
    Response {
        /// The id of the request.
        id: u64,
        /// Its result.
        result: Result<Value, AgentError>,
    },
    /// Something happened in our session.
    Update(SessionUpdate),
    /// The agent wants something. It needs a response with the same id.
    Request {
        /// The id for the response.
        id: Value,
        /// What it wants.
        request: AgentRequest,
    },
    /// Something that Lariat does not use.
    Nothing,
    /// The line is not a message. Some agents print to standard output.
    NoMessage,
}

/// An error that an agent answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentError {
    /// The code.
    pub code: i64,
    /// The message, of bounded length.
    pub message: String,
}

impl AgentError {
    /// Whether the user must log in first.
    pub const fn wants_login(&self) -> bool {
        self.code == -32_000
    }
}

/// Something that happened in the session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionUpdate {
    /// A part of a reply.
    Text(String),
    /// A new tool call, or changes of one.
    ToolCall(ToolCallChange),
    /// The whole list of tasks: text and status.
    Plan(Vec<(String, String)>),
    /// What the session has cost so far, in US dollars.
    Cost(f64),
}

/// What is new about a tool call. Without a value, nothing changed.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolCallChange {
    /// Its id.
    pub id: String,
    /// What it does, for users.
    pub title: Option<String>,
    /// `read`, `edit`, `execute` and so on.
    pub kind: Option<String>,
    /// Whether it waits, runs, completed or failed.
    pub status: Option<CallStatus>,
    /// The arguments of the agent's own tool.
    pub arguments: Option<Value>,
    /// The files that it uses.
    pub paths: Vec<String>,
    /// The files that it changes, with their new content.
    pub changes: Vec<(String, String)>,
    /// Its output.
    pub output: Option<String>,
}

/// What an agent wants.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AgentRequest {
    /// May this tool call run?
    Permission {
        /// The tool call.
        call: ToolCallChange,
        /// The answers that it offers.
        choices: Vec<PermissionChoice>,
    },
    /// Read a text file.
    Read {
        /// The path.
        path: String,
        /// The first line, from 1.
        line: Option<u64>,
        /// The number of lines.
        limit: Option<u64>,
    },
    /// Write a whole text file.
    Write {
        /// The path.
        path: String,
        /// The whole content.
        content: String,
    },
    /// A request that Lariat does not know or does not offer, or whose parameters are not valid.
    Unsupported(AgentError),
}

/// An answer that an agent offers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PermissionChoice {
    /// Its id.
    pub id: String,
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    pub kind: String,
}

/// Why a prompt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopWord {
    /// The agent finished.
    Finished,
    /// The agent did not finish, for this reason.
    Unfinished(String),
}

impl StopWord {
    /// The reason in the response to a prompt.
    pub fn of(result: &Value) -> Self {
        match text(result, "stopReason").as_deref() {
            Some("end_turn") => Self::Finished,
            Some(other) => Self::Unfinished(other.to_owned()),
            None => Self::Unfinished("it did not say why it stopped".to_owned()),
        }
    }
}

/// Reads a line. `session` is ours; `None` before it exists.
pub(super) fn read(line: &[u8], session: Option<&str>) -> AgentLine {
    match parse(line) {
        Err(_) => AgentLine::NoMessage,
        Ok(Incoming::Response { id, result }) => match id.as_u64() {
            Some(id) => AgentLine::Response { id, result: result.map_err(|error| AgentError::from(&error)) },
            None => AgentLine::Nothing,
        },
        Ok(Incoming::Notification { method, params }) => {
            if method != "session/update" || !is_of(&params, session) {
                return AgentLine::Nothing;
            }
            params.get("update").and_then(update).map_or(AgentLine::Nothing, AgentLine::Update)
        }
        Ok(Incoming::Request { id, method, params }) => {
            AgentLine::Request { id, request: request(&method, &params, session) }
        }
    }
}

impl From<&RpcError> for AgentError {
    fn from(error: &RpcError) -> Self {
        // Many agents put the reason into the data.
        let details = error.data.as_ref().and_then(|data| match data {
            Value::String(words) => Some(words.clone()),
            Value::Object(fields) => {
                ["details", "message"].iter().find_map(|name| fields.get(*name)?.as_str().map(str::to_owned))
            }
            _ => None,
        });
        let message = match details {
            Some(details) if !error.message.contains(&details) => format!("{}: {details}", error.message),
            _ => error.message.clone(),
        };
        Self { code: error.code, message: bounded(&message, MAX_ERROR) }
    }
}

fn is_of(params: &Value, session: Option<&str>) -> bool {
    session.is_some() && params.get("sessionId").and_then(Value::as_str) == session
}

fn update(update: &Value) -> Option<SessionUpdate> {
    match update.get("sessionUpdate").and_then(Value::as_str)? {
        "agent_message_chunk" => Some(SessionUpdate::Text(text(update.get("content")?, "text")?)),
        "tool_call" | "tool_call_update" => tool_call(update).map(SessionUpdate::ToolCall),
        "plan" => {
            let entries = update.get("entries")?.as_array()?;
            let task = |entry: &Value| {
                let content = bounded(&text(entry, "content")?, MAX_SHORT);
                Some((content, short(entry, "status").unwrap_or_else(|| "pending".to_owned())))
            };
            Some(SessionUpdate::Plan(entries.iter().take(MAX_TASKS).filter_map(task).collect()))
        }
        "usage_update" => {
            let cost = update.get("cost")?;
            let is_usd = text(cost, "currency").is_some_and(|currency| currency == "USD");
            let amount = cost.get("amount")?.as_f64()?;
            (is_usd && amount.is_finite() && amount >= 0.0).then_some(SessionUpdate::Cost(amount))
        }
        _ => None,
    }
}

fn request(method: &str, params: &Value, session: Option<&str>) -> AgentRequest {
    let invalid = |code, message: String| AgentRequest::Unsupported(AgentError { code, message });
    let known = ["session/request_permission", "fs/read_text_file", "fs/write_text_file"];
    if !known.contains(&method) {
        return invalid(-32_601, format!("unknown method `{}`", bounded(method, MAX_SHORT)));
    }
    if !is_of(params, session) {
        return invalid(-32_602, "`sessionId` is not the session of this client".to_owned());
    }
    let read = || {
        Some(match method {
            "session/request_permission" => {
                let choice = |offered: &Value| {
                    Some(PermissionChoice { id: short(offered, "optionId")?, kind: short(offered, "kind")? })
                };
                AgentRequest::Permission {
                    call: tool_call(params.get("toolCall")?)?,
                    choices: params.get("options")?.as_array()?.iter().take(32).filter_map(choice).collect(),
                }
            }
            "fs/read_text_file" => AgentRequest::Read {
                path: text(params, "path")?,
                line: params.get("line").and_then(Value::as_u64),
                limit: params.get("limit").and_then(Value::as_u64),
            },
            _ => AgentRequest::Write { path: text(params, "path")?, content: text(params, "content")? },
        })
    };
    read().unwrap_or_else(|| invalid(-32_602, format!("the parameters of `{method}` are not valid")))
}

fn tool_call(fields: &Value) -> Option<ToolCallChange> {
    let mut change = ToolCallChange {
        id: text(fields, "toolCallId").filter(|id| id.len() <= MAX_SHORT)?,
        title: text(fields, "title"),
        kind: short(fields, "kind"),
        status: text(fields, "status").and_then(|word| CallStatus::parse(&word)),
        arguments: fields.get("rawInput").filter(|input| !is_empty(input)).cloned(),
        ..ToolCallChange::default()
    };
    let list = |name: &str| fields.get(name).and_then(Value::as_array).into_iter().flatten();
    change.paths = list("locations").filter_map(|location| text(location, "path")).collect();
    let mut output = String::new();
    for content in list("content") {
        match content.get("type").and_then(Value::as_str) {
            Some("diff") => {
                let new = text(content, "newText").unwrap_or_default();
                change.changes.extend(text(content, "path").map(|path| (path, new)));
            }
            Some("content") => {
                output.extend(content.get("content").and_then(|content| text(content, "text")));
            }
            _ => {}
        }
    }
    if output.is_empty() {
        let raw = fields.get("rawOutput");
        output = raw.and_then(Value::as_str).map(str::to_owned).unwrap_or_default();
    }
    change.output = (!output.is_empty()).then_some(output);
    Some(change)
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

pub(super) fn text(fields: &Value, name: &str) -> Option<String> {
    fields.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn short(fields: &Value, name: &str) -> Option<String> {
    text(fields, name).map(|text| bounded(&text, MAX_SHORT))
}

/// The start of a text, of at most this many bytes.
pub(super) fn bounded(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}{CUT}", text.get(..text.floor_char_boundary(limit)).unwrap_or_default())
}
