//! A session whose tool calls come from another program instead of a model, such as a client of `lariat mcp serve`.
//!
//! Each call is a run of its own: the provider of the session replies with the call, and ends the run after it. So a call passes
//! the same permission check, hooks, sandbox, redaction, output limits, undo and journal as a call of a model. Calls run one
//! after another, in the order in which they arrive.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt as _, stream};
use lariat_connect::mcp::tool_server::{CallClient, ClientAnswer, ServedCall};
use lariat_connect::mcp::{McpContent, McpToolCallResult, McpToolInfo};
use lariat_core::cancel::CancellationToken;
use lariat_core::content::{Content, ToolCall};
use lariat_core::display;
use lariat_core::event::{AgentEvent, Description};
use lariat_core::id::{SessionId, ToolCallId};
use lariat_core::message::{AgentMessage, StopReason};
use lariat_core::model::{ModelConfig, ModelStream, StreamConfig, StreamEvent, StreamProvider};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::tool::{AgentTool, ToolDefinition};
use lariat_core::usage::Usage;
use lariat_runtime::{Agent, AgentError, RunStream, new_session_id};
use lariat_tools::default_tools;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::assembly::{self, SessionParts};
use crate::loaded_project::LoadedProject;
use crate::models::{Models, Purpose};
use crate::session::SessionOptions;
use crate::{LocalService, ServiceError};

/// The tools that make sense without a model.
const SERVED: &[&str] = &[
    "apply_patch",
    "bash",
    "bash_input",
    "bash_output",
    "bash_stop",
    "edit_file",
    "fetch",
    "glob",
    "list_files",
    "multi_edit",
    "read_file",
    "recall",
    "repo_map",
    "search",
    "write_file",
];
/// Maximum number of calls that wait. The server limits calls at a time to fewer.
const QUEUE: usize = 64;

/// A session that another program controls by tool calls.
pub struct ServedSession {
    session_id: SessionId,
    tools: Vec<McpToolInfo>,
    calls: mpsc::Sender<QueuedCall>,
    stop: CancellationToken,
    worker: Mutex<Option<JoinHandle<()>>>,
    notices: Vec<String>,
}

/// A call that waits for its turn.
struct QueuedCall {
    call: ServedCall,
    client: CallClient,
    cancel: CancellationToken,
    result: oneshot::Sender<McpToolCallResult>,
}

impl LocalService {
    /// Opens a new session in a directory, for tool calls of another program. Needs no model.
    ///
    /// # Errors
    /// If the permission rules cannot be read, or the session cannot be built.
    pub async fn serve_session(&self, place: &LoadedProject) -> Result<ServedSession, ServiceError> {
        let (id, driving) = (new_session_id(), SessionOptions::default());
        ServedSession::open(self.parts(place, id, Purpose::Inspecting, driving)).await
    }
}

impl ServedSession {
    async fn open(parts: SessionParts<'_>) -> Result<Self, ServiceError> {
        let (place, session_id) = (parts.place, parts.session_id.clone());
        let mut notices = assembly::notices(place);
        let environment = place.environment(&parts.environment);
        let commands = assembly::commands(&parts, &environment, &mut notices).await;
        let gate = assembly::gate(&parts, &parts.supervisor, &environment, &commands, None)?;
        let bench = assembly::bench(&parts, commands, &environment, &gate, &mut notices);
        // Several clients may use the session, and none sees the results of another.
        let mut tools = default_tools(&bench.with_repeated_reads());
        tools.retain(|tool| is_served(tool.name(), place.tools.as_ref()));
        let offered = tools.iter().map(|tool| info(&**tool)).collect();
        let next = Arc::new(Mutex::new(None));
        let mut description = Description::default();
        description.cwd = Some(place.path().display().to_string());
        description.title = Some("Tool calls of an MCP client".to_owned());
        let mut builder = Agent::builder()
            .model(Arc::new(ClientCalls(Arc::clone(&next))) as Arc<dyn StreamProvider>)
            .model_config(ModelConfig::new("mcp", "client"))
            .store(Arc::clone(&parts.store))
            .session_id(session_id.clone())
            .tools(tools)
            .permission_policy(gate)
            .context(None)
            .repetition(None)
            .without_limits()
            .description(description);
        // A command can print the key of the model as in any other session.
        let models = Models::new(&place.settings, &*parts.keys).with_catalogue(&place.catalogue);
        if let Ok(model) = models.selected_model()
            && let Some(key) = model.api_key.expose()
        {
            builder = builder.secret(model.provider.clone(), key);
        }
        let worker = Worker { agent: builder.build()?, next, count: 0 };
        let (calls, queue) = mpsc::channel(QUEUE);
        let stop = CancellationToken::new();
        let worker = Mutex::new(Some(tokio::spawn(worker.work(queue, stop.clone()))));
        Ok(Self { session_id, tools: offered, calls, stop, worker, notices })
    }

    /// The id of the session.
    pub const fn id(&self) -> &SessionId {
        &self.session_id
    }

    /// Notes for the user before the session starts.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The tools, with the schemas of their arguments.
    pub fn tools(&self) -> &[McpToolInfo] {
        &self.tools
    }

    /// Calls a tool. Dropping the future cancels the call.
    pub async fn call(&self, call: ServedCall, client: CallClient) -> McpToolCallResult {
        let (sender, result) = oneshot::channel();
        let cancel = CancellationToken::new();
        let _guard = CancelOnDrop(cancel.clone());
        if self.calls.try_send(QueuedCall { call, client, cancel, result: sender }).is_err() {
            return McpToolCallResult::error("too many calls wait; try again later");
        }
        result.await.unwrap_or_else(|_| McpToolCallResult::error("the session ended"))
    }

    /// Ends the session: waits for the call that runs, then runs the hooks for the end of a session.
    pub async fn close(&self) {
        self.stop.cancel();
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(worker) = worker {
            let _ = worker.await;
        }
    }
}

/// Cancels a call when its caller no longer waits.
pub(crate) struct CancelOnDrop(pub(crate) CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn is_served(name: &str, only: Option<&BTreeSet<String>>) -> bool {
    SERVED.contains(&name) && only.is_none_or(|only| only.contains(name))
}

fn info(tool: &dyn AgentTool) -> McpToolInfo {
    let definition = ToolDefinition::of(tool);
    let mut info = McpToolInfo::new(definition.name, Some(definition.description), definition.parameters);
    info.read_only_hint = tool.effects().is_read_only();
    info
}

/// Replies with the call of the client, and ends the run when the model of a session would see its result.
struct ClientCalls(Arc<Mutex<Option<ToolCall>>>);

impl StreamProvider for ClientCalls {
    fn provider_id(&self) -> &str {
        "mcp"
    }

    fn stream(&self, request: StreamConfig, _: CancellationToken) -> ModelStream {
        let call = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (block, stop_reason) = match call {
            Some(call) => (StreamEvent::ToolCallEnd { index: 0, call }, StopReason::ToolUse),
            None => (StreamEvent::TextDelta { index: 0, delta: "Done.".to_owned() }, StopReason::Stop),
        };
        let start = StreamEvent::Start { model: request.model_config.id.clone() };
        let done = StreamEvent::Done { stop_reason, usage: Usage::default() };
        stream::iter([start, block, done]).map(Ok).boxed()
    }
}

/// Runs the calls of a session, one after another.
struct Worker {
    agent: Agent,
    next: Arc<Mutex<Option<ToolCall>>>,
    count: u64,
}

impl Worker {
    async fn work(mut self, mut queue: mpsc::Receiver<QueuedCall>, stop: CancellationToken) {
        loop {
            let next = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                next = queue.recv() => next,
            };
            let Some(QueuedCall { call, client, cancel, result }) = next else { break };
            if !cancel.is_cancelled() {
                let ended = self.run(call, &client, &cancel).await;
                let _ =
                    result.send(ended.unwrap_or_else(|error| McpToolCallResult::error(error.to_string())));
            }
        }
        self.agent.close().await;
    }

    async fn run(
        &mut self,
        call: ServedCall,
        client: &CallClient,
        cancel: &CancellationToken,
    ) -> Result<McpToolCallResult, AgentError> {
        if self.count > 0 {
            // Each call is a conversation of its own, so that memory does not grow with the number of calls.
            self.agent.rewind(None).await?;
        }
        self.count += 1;
        let id = ToolCallId::from(format!("call_{}", self.count));
        let who = call.client.as_deref().unwrap_or("A client");
        let prompt = AgentMessage::user(format!("{who} calls `{}`.", call.tool));
        let arguments = Value::Object(call.arguments);
        let call = ToolCall { id: id.clone(), name: call.tool, arguments, signature: None };
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
        let mut run = self.agent.prompt_messages(vec![prompt])?;
        let result = follow(&mut run, &id, client, cancel).await;
        // A run that a hook stopped at its start did not take the call.
        self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (result, run.finish().await) {
            (Some(result), _) => Ok(result),
            (None, Ok(output)) => {
                Ok(McpToolCallResult::error(format!("the call did not run: {}", output.text)))
            }
            (None, Err(error)) => Err(error),
        }
    }
}

/// Follows a run to its end. Returns the result of the call.
async fn follow(
    run: &mut RunStream,
    id: &ToolCallId,
    client: &CallClient,
    cancel: &CancellationToken,
) -> Option<McpToolCallResult> {
    let (mut result, mut is_stopping) = (None, false);
    loop {
        let event = tokio::select! {
            event = run.next() => event,
            () = cancel.cancelled(), if !is_stopping => {
                is_stopping = true;
                run.cancel();
                continue;
            }
        };
        let Some(event) = event else { return result };
        match &event.event {
            AgentEvent::PermissionRequired { request } => {
                let decision = tokio::select! {
                    decision = decide(request, client) => decision,
                    () = cancel.cancelled() => PermissionDecision::deny("the client cancelled the call"),
                };
                run.respond_permission(request.id, decision);
            }
            AgentEvent::ProgressMessage { text, .. } => client.report(display::line(text)),
            AgentEvent::MessageEnd { message } => {
                let ended = message.shared().and_then(|message| message.as_tool_result());
                if let Some(ended) = ended.filter(|ended| ended.tool_call_id == *id) {
                    result = Some(shown(&ended.content, ended.is_error));
                }
            }
            AgentEvent::AgentEnd { .. } => return result,
            _ => {}
        }
    }
}

/// Asks the user of the client, if the client can.
async fn decide(request: &PermissionRequest, client: &CallClient) -> PermissionDecision {
    let reason = request.reason.as_deref().map(|reason| format!("\n{reason}")).unwrap_or_default();
    let preview = request.preview.as_deref().map(|preview| format!("\n\n{preview}")).unwrap_or_default();
    let text = format!("Lariat asks to run `{}`: {}{reason}{preview}", request.tool_name, request.summary);
    match client.ask(display::block(&text)).await {
        ClientAnswer::Approved => PermissionDecision::Allow,
        ClientAnswer::Declined => PermissionDecision::deny("the user declined"),
        _ => {
            let rule = request.remember.as_deref().unwrap_or(&request.tool_name);
            PermissionDecision::deny(format!(
                "the call needs approval, and the client cannot ask its user; hint: start the server with `--allow '{rule}'` or another `--mode`"
            ))
        }
    }
}

fn shown(content: &[Content], is_error: bool) -> McpToolCallResult {
    let block = |content: &Content| match content {
        Content::Text { text } => Some(McpContent::Text { text: text.clone() }),
        Content::Image { data, mime_type } => {
            Some(McpContent::Image { data: data.clone(), mime_type: mime_type.clone() })
        }
        _ => None,
    };
    let mut result = McpToolCallResult::default();
    (result.content, result.is_error) = (content.iter().filter_map(block).collect(), is_error);
    result
}
