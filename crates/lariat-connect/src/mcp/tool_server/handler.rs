//! The protocol of a server, by `rmcp`, which serves both eras: a client begins with `initialize` or describes each request.
//!
//! A question reaches a client of the first era as a request (`elicitation/create`), and one of the second as the result of
//! its call (`input_required`), which it repeats with the answer.

use std::borrow::Cow;
use std::sync::Arc;

use lariat_core::display;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, ContentBlock, ElicitRequest, ElicitRequestParams, ElicitationAction, ErrorData,
    Implementation, InputRequest, InputRequests, InputRequiredResult, JsonRpcMessage,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig,
    Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{Peer, ServerHandler, serve_server};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

use super::call::{ANSWER_WAIT, ClientAnswer, ClientQuestion, RunningClientCall, WaitingCalls, answer_of};
use super::{ServedCall, ServedTools};
use crate::line_pipe::MAX_MESSAGE;
use crate::mcp::content::{McpContent, McpToolCallResult, McpToolInfo};
use crate::mcp::error::McpError;

/// Maximum number of calls at a time; further ones fail at once.
const MAX_CALLS: usize = 32;
/// Maximum number of requests that a client may send ahead of our answers. `rmcp` starts a task for each.
const MAX_UNANSWERED: usize = 256;
/// The name of the question in a result that asks.
const QUESTION: &str = "approval";

/// Answers the requests of clients.
#[derive(Clone)]
pub(super) struct Handler {
    tools: Arc<dyn ServedTools>,
    instructions: Arc<str>,
    calls: Arc<Semaphore>,
    waiting: WaitingCalls,
}

impl Handler {
    pub(super) fn new(tools: Arc<dyn ServedTools>, instructions: String) -> Self {
        let calls = Arc::new(Semaphore::new(MAX_CALLS));
        Self { tools, instructions: instructions.into(), calls, waiting: WaitingCalls::default() }
    }

    /// Starts the call of a request, or continues the one that the request answers.
    fn running(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<RunningClientCall, ErrorData> {
        let tool = request.name.into_owned();
        if self.tools.tools().iter().all(|known| known.name != tool) {
            return Err(ErrorData::invalid_params(format!("unknown tool `{}`", display::line(&tool)), None));
        }
        let mut call = ServedCall::new(tool, request.arguments.unwrap_or_default());
        call.client = context.client_info().map(|own| display::line(&own.name).into_owned());
        if let Some(state) = &request.request_state {
            let response = request.input_responses.as_ref().and_then(|responses| responses.get(QUESTION));
            let action = response.and_then(|response| response.get("action")).and_then(Value::as_str);
            let content = response.and_then(|response| response.get("content"));
            let answer = answer_of(action.unwrap_or_default(), content);
            let found = self.waiting.answer(state, &call, answer);
            return found.ok_or_else(|| {
                ErrorData::invalid_params("no such call waits for an answer; call the tool again", None)
            });
        }
        let permit = Arc::clone(&self.calls).try_acquire_owned().map_err(|_| {
            ErrorData::internal_error(format!("more than {MAX_CALLS} calls at a time; try again later"), None)
        })?;
        Ok(RunningClientCall::start(Arc::clone(&self.tools), call, can_ask(context), permit))
    }

    /// Waits for the result of a call, and carries its questions and reports to the client.
    async fn follow(
        &self,
        mut running: RunningClientCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let token = context.meta.get_progress_token();
        let mut reports = 0.0;
        loop {
            tokio::select! {
                Some(question) = running.questions.recv() => {
                    if is_stateless(context) {
                        let request = InputRequest::Elicitation(ElicitRequest::new(form(question.text)?));
                        let state = self.waiting.put(running, question.answer);
                        let requests = InputRequests::from([(QUESTION.to_owned(), request)]);
                        return Ok(InputRequiredResult::new(Some(requests), Some(state)).into());
                    }
                    ask(&context.peer, question).await?;
                }
                Some(text) = running.reports.recv() => {
                    if let Some(token) = &token {
                        reports += 1.0;
                        let report = ProgressNotificationParam::new(token.clone(), reports);
                        let _ = context.peer.notify_progress(report.with_message(text)).await;
                    }
                }
                result = &mut running.task => {
                    let failed = |_| ErrorData::internal_error("the tool call failed", None);
                    return Ok(call_result(result.map_err(failed)?).into());
                }
            }
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let own = Implementation::new("lariat", env!("CARGO_PKG_VERSION")).with_title("Lariat");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(own)
            .with_instructions(&*self.instructions)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.tools().into_iter().map(tool).collect()))
    }

    // A server without prompts, resources and completion does not know their methods.

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let running = self.running(request, &context)?;
        tokio::select! {
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
            response = self.follow(running, &context) => response,
        }
    }
}

fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Whether the client shows forms to its user. A client that names no kind of elicitation means forms.
fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities().and_then(|capabilities| capabilities.elicitation);
    capabilities.is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}

fn form(message: String) -> Result<ElicitRequestParams, ErrorData> {
    let schema = json!({
        "type": "object",
        "properties": { "allow": { "type": "boolean", "title": "Allow this tool call", "default": false } },
        "required": ["allow"],
    });
    let requested_schema =
        serde_json::from_value(schema).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// Asks a client of the first era.
async fn ask(peer: &Peer<RoleServer>, question: ClientQuestion) -> Result<(), ErrorData> {
    let asked = peer.create_elicitation_with_timeout(form(question.text)?, Some(ANSWER_WAIT)).await;
    let answer = match asked {
        Ok(result) if result.action == ElicitationAction::Accept => {
            answer_of("accept", result.content.as_ref())
        }
        Ok(_) => ClientAnswer::Declined,
        Err(_) => ClientAnswer::Unavailable,
    };
    let _ = question.answer.send(answer);
    Ok(())
}

fn tool(info: McpToolInfo) -> Tool {
    let schema = match info.input_schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    let description = info.description.map(Cow::Owned);
    let hints = ToolAnnotations::new().read_only(info.read_only_hint);
    Tool::new_with_raw(info.name, description, Arc::new(schema)).with_annotations(hints)
}

fn call_result(result: McpToolCallResult) -> CallToolResult {
    let block = |content: McpContent| match content {
        McpContent::Text { text } => ContentBlock::text(text),
        McpContent::Image { data, mime_type } => ContentBlock::image(data, mime_type),
        McpContent::Other { description, text } => {
            ContentBlock::text(text.map_or(description.clone(), |text| format!("{description}\n{text}")))
        }
    };
    let content = result.content.into_iter().map(block).collect();
    let mut shown =
        if result.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    shown.structured_content = result.structured_content;
    shown
}

/// Serves one client on streams.
pub(super) async fn serve_streams<R, W>(handler: Handler, input: R, output: W) -> Result<(), McpError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let streams = AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_MESSAGE);
    let service = serve_server(handler, PacedTransport { inner: streams, unanswered: 0 }).await;
    let service = match service {
        Ok(service) => service,
        // A client that goes away before it begins wants nothing.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(McpError::Protocol(error.to_string())),
    };
    service.waiting().await.map_err(|error| McpError::Protocol(error.to_string()))?;
    Ok(())
}

/// Reads no further requests while [`MAX_UNANSWERED`] wait.
struct PacedTransport<T> {
    inner: T,
    unanswered: usize,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for PacedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        if matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) {
            self.unanswered = self.unanswered.saturating_sub(1);
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        if self.unanswered >= MAX_UNANSWERED {
            // `rmcp` drops this future when it has an answer to send, and then calls again.
            std::future::pending::<()>().await;
        }
        let message = self.inner.receive().await?;
        match &message {
            JsonRpcMessage::Request(_) => self.unanswered += 1,
            // A cancelled request gets no answer.
            JsonRpcMessage::Notification(notification) if is_cancellation(&notification.notification) => {
                self.unanswered = self.unanswered.saturating_sub(1);
            }
            _ => {}
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.inner.close()
    }
}

fn is_cancellation(notification: &rmcp::model::ClientNotification) -> bool {
    matches!(notification, rmcp::model::ClientNotification::CancelledNotification(_))
}
