//! Makes the tools that `lariat mcp serve` offers in a directory: the built-in ones, and sessions of Lariat.
//!
//! The session tools are a client of [`Sessions`], so a session that an MCP client starts is one like any other: the user sees
//! it in `lariat ps`, attaches to it, and answers what it asks. A client never answers for the user, and it reaches only the
//! sessions of this directory.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use lariat_api::{
    Action, Ask, AskSubject, ClientName, CommandId, CreateSession, Delivery, LogItem, LogRequest, Problem,
    ProblemCode, PromptContent, SessionCommand, SessionStatus, SessionView, Sessions,
};
use lariat_connect::mcp::tool_server::{CallClient, ServedCall, ServedTools};
use lariat_connect::mcp::{McpToolCallResult, McpToolInfo};
use lariat_core::BoxFuture;
use lariat_core::display;
use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;
use lariat_core::message::{AgentMessage, Message};
use lariat_runtime::new_session_id;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use crate::served_session::ServedSession;

/// The name by which a user chooses all session tools.
pub const SERVED_SESSION_TOOLS: &str = "lariat";

const START: &str = "lariat_start";
const SEND: &str = "lariat_send";
const WAIT: &str = "lariat_wait";
const READ: &str = "lariat_read";

/// How long `lariat_wait` waits, unless the call says otherwise, in seconds.
const WAIT_SECONDS: u64 = 60;
/// The longest that `lariat_wait` waits, in seconds: many clients end a call after a few minutes.
const MAX_WAIT_SECONDS: u64 = 600;
/// How many of the newest events a result is made from.
const EVENTS: u64 = 500;
/// Maximum size of the text of a conversation in a result, in bytes. The newest part is kept.
const MAX_TEXT: usize = 48 * 1024;

/// Connects to the host of the user's sessions when the first session tool is called.
pub type SessionsConnector =
    Box<dyn Fn() -> BoxFuture<'static, Result<Arc<dyn Sessions>, Problem>> + Send + Sync>;

/// The tools of a directory for MCP clients.
pub struct DirectoryTools {
    built_in: Option<ServedSession>,
    sessions: Option<SessionTools>,
}

impl DirectoryTools {
    /// Serves the built-in tools of a session, or none.
    pub const fn new(built_in: Option<ServedSession>) -> Self {
        Self { built_in, sessions: None }
    }

    /// Also serves sessions in a directory. `mode` is the permission mode of sessions that clients start; the settings choose
    /// without it.
    #[must_use]
    pub fn with_sessions(
        mut self,
        directory: impl Into<String>,
        mode: Option<String>,
        connect: SessionsConnector,
    ) -> Self {
        let directory = directory.into();
        let (host, started) = (OnceCell::new(), Mutex::default());
        self.sessions = Some(SessionTools { directory, mode, connect, host, started });
        self
    }

    /// Interrupts what clients started, and ends the session of the built-in tools.
    pub async fn close(&self) {
        if let Some(sessions) = &self.sessions {
            sessions.interrupt_started().await;
        }
        if let Some(built_in) = &self.built_in {
            built_in.close().await;
        }
    }
}

impl ServedTools for DirectoryTools {
    fn tools(&self) -> Vec<McpToolInfo> {
        let mut tools = self.built_in.as_ref().map(|session| session.tools().to_vec()).unwrap_or_default();
        if self.sessions.is_some() {
            tools.extend(definitions());
        }
        tools
    }

    fn call<'a>(&'a self, call: ServedCall, client: CallClient) -> BoxFuture<'a, McpToolCallResult> {
        Box::pin(async move {
            match (&self.sessions, &self.built_in) {
                (Some(sessions), _) if matches!(call.tool.as_str(), START | SEND | WAIT | READ) => {
                    sessions.call(&call).await.unwrap_or_else(|problem| failure(&problem))
                }
                (_, Some(session)) => session.call(call, client).await,
                _ => McpToolCallResult::error("unknown tool"),
            }
        })
    }
}

fn definitions() -> [McpToolInfo; 4] {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let session = text("The id of the session, as `lariat_start` returned it.");
    let schema = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let tool = |name: &str, about: &str, schema: Value, is_read_only| {
        let mut tool = McpToolInfo::new(name, Some(about.to_owned()), schema);
        tool.read_only_hint = is_read_only;
        tool
    };
    [
        tool(
            START,
            "Starts a session of Lariat, a coding agent, in this directory, and gives it a task. Returns at once; `lariat_wait` waits for the result.",
            schema(
                json!({ "task": text("What the agent should do."), "model": text("The model, as `provider/name`; the user's settings choose without it.") }),
                &["task"],
            ),
            false,
        ),
        tool(
            SEND,
            "Sends a message to a session. A session that works receives it when it is done with the current task.",
            schema(
                json!({ "session_id": session.clone(), "message": text("The message.") }),
                &["session_id", "message"],
            ),
            false,
        ),
        tool(
            WAIT,
            "Waits until a session is done, or needs its user. Returns its status, its newest reply, and what it asks its user. Only the user can answer that, in a terminal.",
            schema(
                json!({
                    "session_id": session.clone(),
                    "seconds": { "type": "integer", "minimum": 0, "maximum": MAX_WAIT_SECONDS, "description": format!("How long to wait (default {WAIT_SECONDS}).") },
                }),
                &["session_id"],
            ),
            true,
        ),
        tool(
            READ,
            "Reads the newest part of the conversation of a session.",
            schema(json!({ "session_id": session }), &["session_id"]),
            true,
        ),
    ]
}

/// Sessions as tools.
struct SessionTools {
    directory: String,
    mode: Option<String>,
    connect: SessionsConnector,
    host: OnceCell<Arc<dyn Sessions>>,
    /// The sessions that a client started or sent a message.
    started: Mutex<BTreeSet<SessionId>>,
}

impl SessionTools {
    async fn host(&self) -> Result<&Arc<dyn Sessions>, Problem> {
        self.host.get_or_try_init(|| (self.connect)()).await
    }

    async fn call(&self, call: &ServedCall) -> Result<McpToolCallResult, Problem> {
        let arguments = &call.arguments;
        match call.tool.as_str() {
            START => {
                let task = required(arguments, "task")?;
                let mut request = CreateSession::new(new_session_id(), self.directory.clone());
                request.model = arguments.get("model").and_then(Value::as_str).map(str::to_owned);
                request.mode.clone_from(&self.mode);
                let view = self.host().await?.create(request).await?;
                self.prompt(&view.session_id, task).await?;
                self.state(&view.session_id, ShownPart::Reply).await
            }
            SEND => {
                let view = self.view(arguments).await?;
                self.prompt(&view.session_id, required(arguments, "message")?).await?;
                self.state(&view.session_id, ShownPart::Reply).await
            }
            WAIT => {
                let view = self.view(arguments).await?;
                let seconds = arguments.get("seconds").and_then(Value::as_u64).unwrap_or(WAIT_SECONDS);
                self.wait(&view.session_id, Duration::from_secs(seconds.min(MAX_WAIT_SECONDS))).await?;
                self.state(&view.session_id, ShownPart::Reply).await
            }
            _ => {
                let view = self.view(arguments).await?;
                self.state(&view.session_id, ShownPart::Conversation).await
            }
        }
    }

    /// The session that the arguments name, if it belongs to this directory.
    async fn view(&self, arguments: &Map<String, Value>) -> Result<SessionView, Problem> {
        let id = SessionId::from(required(arguments, "session_id")?);
        let found = self.host().await?.view(&id).await;
        match found {
            Ok(view) if view.directory.as_deref() == Some(self.directory.as_str()) => Ok(view),
            Ok(_) => Err(unknown(&id)),
            Err(problem) if problem.code == ProblemCode::NotFound => Err(unknown(&id)),
            Err(problem) => Err(problem),
        }
    }

    async fn send(&self, id: &SessionId, action: Action) -> Result<(), Problem> {
        let command_id = CommandId::new(format!("mcp-{}", new_session_id()));
        let command = SessionCommand::new(command_id, ClientName::new("mcp"), action);
        self.host().await?.send(id, command).await.map(drop)
    }

    async fn prompt(&self, id: &SessionId, text: &str) -> Result<(), Problem> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        let content = PromptContent::text(text);
        self.send(id, Action::Prompt { content, delivery: Delivery::Queue }).await
    }

    /// Waits until a session does not work, at most this long.
    async fn wait(&self, id: &SessionId, most: Duration) -> Result<(), Problem> {
        let host = self.host().await?;
        // First the changes, then the view, so that no change is missed between them.
        let mut changes = host.changes().await?;
        let settled = async {
            while host.view(id).await?.status == SessionStatus::Running {
                loop {
                    match changes.next().await.transpose()? {
                        Some(change) if change.session_id == *id => break,
                        Some(_) => {}
                        None => return Ok(()),
                    }
                }
            }
            Ok(())
        };
        tokio::time::timeout(most, settled).await.unwrap_or(Ok(()))
    }

    /// Describes a session to the client.
    async fn state(&self, id: &SessionId, shown: ShownPart) -> Result<McpToolCallResult, Problem> {
        let host = self.host().await?;
        let view = host.view(id).await?;
        let mut request = LogRequest::default();
        request.last = Some(EVENTS);
        let mut log = host.log(id, request).await?;
        let mut said = Vec::new();
        while let Some(LogItem::Event { event, .. }) = log.next().await.transpose()? {
            if let AgentEvent::MessageEnd { message } = &event.event {
                said.extend(message.shared().and_then(|message| line_of(message)));
            }
        }
        let (name, text) = match shown {
            ShownPart::Reply => {
                let reply = said.into_iter().rev().find(|(who, _)| *who == "agent").map(|(_, text)| text);
                ("reply", reply.filter(|_| view.status != SessionStatus::Running).unwrap_or_default())
            }
            ShownPart::Conversation => {
                let lines = said.into_iter().map(|(who, text)| format!("{who}: {text}"));
                ("conversation", lines.collect::<Vec<_>>().join("\n\n"))
            }
        };
        let text = newest(&text);
        let status = serde_json::to_value(&view.status).unwrap_or_default();
        let asks: Vec<String> = view.asks.iter().map(question).collect();
        let mut lines = format!("session: {id}\nstatus: {}\n", status.as_str().unwrap_or_default());
        for ask in &asks {
            lines.push_str(&format!("waits for its user: {ask}\n"));
        }
        if !asks.is_empty() {
            lines.push_str(&format!("The user answers with `lariat attach {id}`.\n"));
        }
        if !text.is_empty() {
            lines.push_str(&format!("\n{text}"));
        }
        let mut result = McpToolCallResult::text(lines);
        result.structured_content =
            Some(json!({ "session_id": id, "status": status, "waits_for_user": asks, name: text }));
        Ok(result)
    }

    /// Interrupts the runs of the sessions that clients used. The sessions remain.
    async fn interrupt_started(&self) {
        let Some(host) = self.host.get() else { return };
        let started = std::mem::take(&mut *self.started.lock().unwrap_or_else(PoisonError::into_inner));
        for id in started {
            let runs = host.view(&id).await.is_ok_and(|view| {
                matches!(view.status, SessionStatus::Running | SessionStatus::RequiresAction)
            });
            if runs {
                let _ = self.send(&id, Action::Interrupt).await;
            }
        }
    }
}

/// What the description of a session contains.
#[derive(Clone, Copy)]
enum ShownPart {
    /// The newest reply of the agent.
    Reply,
    /// Everything that was said.
    Conversation,
}

fn required<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<&'a str, Problem> {
    let given = arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    given.ok_or_else(|| Problem::new(ProblemCode::Invalid, format!("the argument `{name}` must be a text")))
}

fn unknown(id: &SessionId) -> Problem {
    let id = display::line(id.as_str()).into_owned();
    Problem::new(ProblemCode::NotFound, format!("this directory has no session `{id}`"))
        .with_hint("`lariat_start` starts one and returns its id")
}

fn failure(problem: &Problem) -> McpToolCallResult {
    let hint = problem.hint.as_deref().map(|hint| format!("; hint: {hint}")).unwrap_or_default();
    McpToolCallResult::error(format!("{}{hint}", problem.message))
}

/// Who said a message, and its text. `None` for a message without text, such as one with tool calls only.
fn line_of(message: &AgentMessage) -> Option<(&'static str, String)> {
    let (who, content) = match message.as_llm()? {
        Message::User(message) => ("user", &message.content),
        Message::Assistant(message) => ("agent", &message.content),
        Message::ToolResult(_) => return None,
    };
    let text = lariat_core::content::joined_text(content);
    (!text.trim().is_empty()).then(|| (who, display::block(&text).into_owned()))
}

/// The end of a long text.
fn newest(text: &str) -> String {
    let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_TEXT));
    match start {
        0 => text.to_owned(),
        _ => format!("[the beginning is left out]\n{}", text.get(start..).unwrap_or_default()),
    }
}

/// What a session asks its user, in a line.
fn question(ask: &Ask) -> String {
    let text = match &ask.subject {
        AskSubject::Approval { request } => format!("approve `{}`: {}", request.tool_name, request.summary),
        AskSubject::Question { text, .. } => text.clone(),
        AskSubject::Plan { changes } => format!("review a plan of {} changes", changes.len()),
        AskSubject::Budget { .. } => "raise a budget that is used up".to_owned(),
        AskSubject::Elicitation { server, text, .. } => {
            format!("input for the MCP server `{server}`: {text}")
        }
        AskSubject::Login { service, address } => format!("log in to {service}: {address}"),
        _ => "a question of a newer version".to_owned(),
    };
    display::line(&text).into_owned()
}
