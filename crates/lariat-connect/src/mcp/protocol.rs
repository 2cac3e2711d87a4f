//! The protocol, by `rmcp`: opens a connection in either era, lists tools and calls them, reads prompts and resources.
//!
//! Revisions up to 2025-11-25 begin with `initialize`; since 2026-07-28 each request describes itself. A server whose era is
//! not known is asked with `server/discover` first, and gets `initialize` if it does not know that. No type of `rmcp`
//! leaves this module and `http`.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lariat_core::display;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientCapabilities,
    ClientConfig, ClientRequest, ContentBlock, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability, GetPromptRequestParams,
    Implementation, InputRequest, InputRequests, InputResponses, JsonRpcMessage, PaginatedRequestParams,
    ProgressNotificationParam, ProgressToken, Prompt, ProtocolVersion, ReadResourceRequestParams, RequestId,
    Resource, ResourceContents, Role, ServerResult, SubscriptionFilter, Tool, UrlElicitationCapability,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, PeerRequestOptions, RequestContext, RequestHandle,
    RunningService, RxJsonRpcMessage, TxJsonRpcMessage,
};
use rmcp::transport::{IntoTransport, Transport};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, Peer, RoleClient, ServiceError};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::content::{
    McpContent, McpPromptArgument, McpPromptInfo, McpResourceInfo, McpToolCallResult, McpToolInfo,
};
use super::elicitation::{Elicitation, ElicitationAnswer, PendingElicitation};
use super::error::McpError;
use crate::line_pipe::LinePipe;

/// Maximum number of tools of one server.
const MAX_TOOLS: usize = 1_000;
/// Maximum number of pages of a list of tools.
const MAX_PAGES: usize = 100;
/// Maximum number of prompts of one server; the others are left out.
const MAX_PROMPTS: usize = 200;
/// Maximum number of resources of one server that are listed; the others are left out.
const MAX_RESOURCES: usize = 200;
/// How often a server may want input before it answers a call.
const MAX_ROUNDS: usize = 10;
/// Maximum number of requests of a server that wait for our answers.
const MAX_UNANSWERED: usize = 64;
/// Maximum number of bytes of a message of a server in an error.
const MAX_ERROR: usize = 4 * 1024;

/// The two ways in which revisions of the protocol begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolEra {
    /// The connection begins with `initialize` (up to 2025-11-25).
    Initialize,
    /// Each request describes itself (since 2026-07-28).
    Stateless,
}

/// A way for whole messages to and from a server, each one JSON value without its separator.
pub(super) trait MessagePipe: Send + 'static {
    /// Queues a message. Does not wait.
    fn send(&mut self, message: Vec<u8>) -> io::Result<()>;
    /// Waits for the next message; `None` after the end. Dropping the future loses nothing.
    fn receive(&mut self) -> impl Future<Output = Option<Vec<u8>>> + Send;
    /// Ends the server in an orderly way.
    fn close(&mut self) -> impl Future<Output = ()> + Send;
}

impl MessagePipe for LinePipe {
    fn send(&mut self, message: Vec<u8>) -> io::Result<()> {
        Self::send(self, message)
    }

    async fn receive(&mut self) -> Option<Vec<u8>> {
        Self::receive(self).await
    }

    async fn close(&mut self) {
        Self::close(self).await;
    }
}

/// Carries the messages of `rmcp` over a pipe. Skips what is not a message: some servers print to standard output.
struct PipeTransport<P>(P);

impl<P: MessagePipe> Transport<RoleClient> for PipeTransport<P> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let sent = serde_json::to_vec(&item).map_err(io::Error::other).and_then(|bytes| self.0.send(bytes));
        std::future::ready(sent)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let bytes = self.0.receive().await?;
            if let Ok(message) = serde_json::from_slice(&bytes) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.0.close().await;
        Ok(())
    }
}

/// Lets a server send at most [`MAX_UNANSWERED`] requests ahead of our answers. `rmcp` starts a task for each. Turns an answer to
/// `server/discover` that is none into an error, after which `rmcp` tries `initialize`: some older servers answer every
/// method that they do not know with an empty result.
struct PacedTransport<T> {
    inner: T,
    unanswered: usize,
    /// The request `server/discover` that has no answer yet.
    discover: Option<RequestId>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for PacedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let is_answer = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        if is_answer && self.unanswered > 0 {
            self.unanswered -= 1;
        }
        if let JsonRpcMessage::Request(request) = &item
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
        {
            self.discover = Some(request.id.clone());
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if self.unanswered >= MAX_UNANSWERED {
            // `rmcp` drops this future when it has an answer to send, and then calls again.
            std::future::pending::<()>().await;
        }
        let message = self.inner.receive().await?;
        match message {
            JsonRpcMessage::Response(response) if self.discover.as_ref() == Some(&response.id) => {
                self.discover = None;
                if matches!(response.result, ServerResult::DiscoverResult(_)) {
                    return Some(JsonRpcMessage::Response(response));
                }
                let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "the answer is empty", None);
                Some(JsonRpcMessage::error(error, Some(response.id)))
            }
            JsonRpcMessage::Request(_) => {
                self.unanswered += 1;
                Some(message)
            }
            message => Some(message),
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.inner.close()
    }
}

/// The progress that a server reported last for one call.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// How often it reported progress.
    pub(super) reports: u64,
    /// What it said, neutralised; empty if nothing.
    pub(super) text: String,
}

/// The calls under way, by the token that their reports of progress name.
type Calls = Arc<Mutex<HashMap<ProgressToken, watch::Sender<Progress>>>>;

/// A call that has been sent. Its progress goes to its caller. Dropping it without an answer sends a cancellation to the
/// server.
struct SentCall {
    peer: Peer<RoleClient>,
    calls: Calls,
    askers: Askers,
    token: ProgressToken,
    id: RequestId,
    is_answered: bool,
}

impl SentCall {
    fn new(
        handle: &RequestHandle<RoleClient>,
        handler: &Handler,
        progress: watch::Sender<Progress>,
        questions: mpsc::Sender<PendingElicitation>,
    ) -> Self {
        let (peer, token, id) = (handle.peer.clone(), handle.progress_token.clone(), handle.id.clone());
        let (calls, askers) = (Arc::clone(&handler.calls), Arc::clone(&handler.askers));
        calls.lock().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), progress);
        askers.lock().unwrap_or_else(PoisonError::into_inner).push((id.clone(), questions));
        Self { peer, calls, askers, token, id, is_answered: false }
    }

    fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for SentCall {
    fn drop(&mut self) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.token);
        self.askers.lock().unwrap_or_else(PoisonError::into_inner).retain(|(id, _)| *id != self.id);
        if self.is_answered {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (peer, id) = (self.peer.clone(), self.id.clone());
            runtime.spawn(async move {
                let _ = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), None)).await;
            });
        }
    }
}

/// The questions of a server go to the newest call: the protocol does not say which one they belong to.
type Askers = Arc<Mutex<Vec<(RequestId, mpsc::Sender<PendingElicitation>)>>>;

/// Answers what a server asks of us: pings, and questions to the user if they are offered. Sampling is not offered.
struct Handler {
    calls: Calls,
    askers: Askers,
    has_questions: bool,
    tool_list_changes: Arc<AtomicU64>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("lariat", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ClientCapabilities::default();
        if self.has_questions {
            let form = FormElicitationCapability::new().with_schema_validation(true);
            let both = ElicitationCapability::new().with_form(form).with_url(UrlElicitationCapability::new());
            capabilities.elicitation = Some(both);
        }
        ClientConfig::new(capabilities, own).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, rmcp::ErrorData> {
        let asker = {
            let askers = self.askers.lock().unwrap_or_else(PoisonError::into_inner);
            askers.last().map(|(_, asker)| asker.clone())
        };
        let answer = match asker {
            Some(asker) => elicit(&asker, request).await,
            None => ElicitationAnswer::Decline("no call is under way".to_owned()),
        };
        let result = |action| ElicitResult::new(action);
        Ok(match answer {
            ElicitationAnswer::Accept(Some(values)) => result(ElicitationAction::Accept).with_content(values),
            ElicitationAnswer::Accept(None) => result(ElicitationAction::Accept),
            ElicitationAnswer::Decline(_) => result(ElicitationAction::Decline),
            ElicitationAnswer::Cancel => result(ElicitationAction::Cancel),
        })
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tool_list_changes.fetch_add(1, Ordering::Relaxed);
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let text = params.message.map(|text| shortened(&display::line(&text))).unwrap_or_default();
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        // A report for another call, or for one that ended, is ignored.
        if let Some(call) = calls.get(&params.progress_token) {
            call.send_modify(|progress| {
                progress.reports += 1;
                progress.text = text;
            });
        }
    }
}

/// An open connection. Dropping it closes it.
pub(super) struct ServerConnection {
    service: RunningService<RoleClient, Handler>,
    /// Receives announcements of changed tools, which a stateless server sends only to a subscriber.
    subscription: Option<JoinHandle<()>>,
}

impl Drop for ServerConnection {
    fn drop(&mut self) {
        if let Some(subscription) = &self.subscription {
            subscription.abort();
        }
    }
}

/// Counts the announcements of changed tools until the subscription ends.
async fn subscribe(peer: Peer<RoleClient>, changes: Arc<AtomicU64>) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let Ok(mut subscription) = peer.listen(filter).await else { return };
    while let Ok(Some(_)) = subscription.next().await {
        changes.fetch_add(1, Ordering::Relaxed);
    }
    // What it missed from now on is not known, so the tools are listed once more.
    changes.fetch_add(1, Ordering::Relaxed);
}

impl fmt::Debug for ServerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConnection").field("version", &self.version()).finish_non_exhaustive()
    }
}

impl ServerConnection {
    /// Opens a connection over a pipe. Without an era, both are tried on the same pipe.
    pub(super) async fn open_pipe(
        pipe: impl MessagePipe,
        era: Option<ProtocolEra>,
        has_questions: bool,
    ) -> Result<Self, McpError> {
        Self::open(PipeTransport(pipe), era, has_questions).await
    }

    /// Opens a connection over a transport of `rmcp`.
    pub(super) async fn open<T, E, A>(
        transport: T,
        era: Option<ProtocolEra>,
        has_questions: bool,
    ) -> Result<Self, McpError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        let lifecycle = match era {
            Some(ProtocolEra::Initialize) => ClientLifecycleMode::Initialize,
            Some(ProtocolEra::Stateless) => ClientLifecycleMode::Discover { preferred_versions },
            None => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
        };
        let changes = Arc::new(AtomicU64::new(0));
        let handler = Handler {
            calls: Calls::default(),
            askers: Askers::default(),
            has_questions,
            tool_list_changes: Arc::clone(&changes),
        };
        let transport = PacedTransport { inner: transport.into_transport(), unanswered: 0, discover: None };
        let opening = handler.serve_with_lifecycle(transport, lifecycle);
        let service = Box::pin(opening).await.map_err(initialize_error)?;
        let mut connection = Self { service, subscription: None };
        if connection.era() == ProtocolEra::Stateless && connection.announces_changes() {
            let peer = connection.service.peer().clone();
            connection.subscription = Some(tokio::spawn(subscribe(peer, changes)));
        }
        Ok(connection)
    }

    /// The revision of the protocol that both sides use.
    pub(super) fn version(&self) -> String {
        let info = self.service.peer_info();
        info.map(|info| info.protocol_version.to_string()).unwrap_or_default()
    }

    /// The era of that revision.
    pub(super) fn era(&self) -> ProtocolEra {
        let info = self.service.peer_info();
        let has_initialize = info.is_none_or(|info| info.protocol_version.has_initialize());
        if has_initialize { ProtocolEra::Initialize } else { ProtocolEra::Stateless }
    }

    fn announces_changes(&self) -> bool {
        let tools = self.service.peer_info().and_then(|info| info.capabilities.tools.clone());
        tools.is_some_and(|tools| tools.list_changed == Some(true))
    }

    /// The server's name and version, neutralised.
    pub(super) fn server_name(&self) -> Option<String> {
        let info = self.service.peer_info()?;
        let own = info.server_info.as_ref()?;
        Some(shortened(&display::line(&format!("{} {}", own.name, own.version))))
    }

    /// Whether the connection ended.
    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    /// Lists all tools, page by page.
    pub(super) async fn list_tools(&self) -> Result<Vec<McpToolInfo>, McpError> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.service.list_tools(Some(page)).await.map_err(service_error)?;
            tools.extend(page.tools.into_iter().map(tool_info));
            if tools.len() > MAX_TOOLS {
                return Err(McpError::Protocol(format!("the server has more than {MAX_TOOLS} tools")));
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(McpError::Protocol(format!("the list of tools has more than {MAX_PAGES} pages")))
    }

    /// Calls a tool; its progress goes to `progress`. Dropping the future tells the server that the call is cancelled.
    pub(super) async fn call_tool(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        progress: watch::Sender<Progress>,
        questions: mpsc::Sender<PendingElicitation>,
    ) -> Result<McpToolCallResult, McpError> {
        let mut params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
        for _ in 0..MAX_ROUNDS {
            let request = CallToolRequest::new(params.clone());
            let request = ClientRequest::CallToolRequest(request);
            let sent = self.service.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
            let handle = sent.map_err(service_error)?;
            let call = SentCall::new(&handle, self.service.service(), progress.clone(), questions.clone());
            let answer = handle.await_response().await;
            call.answered();
            match answer.map_err(service_error)? {
                ServerResult::CallToolResult(result) => return Ok(tool_result(result)),
                ServerResult::InputRequiredResult(wanted) => {
                    params.input_responses =
                        answers(wanted.input_requests.unwrap_or_default(), &questions).await?;
                    params.request_state = wanted.request_state;
                }
                _ => return Err(McpError::Protocol("the server answered something else".to_owned())),
            }
        }
        Err(McpError::Protocol(format!("the server wanted input {MAX_ROUNDS} times and did not answer")))
    }

    /// Lists the prompts of the server; none if it has no prompts.
    pub(super) async fn list_prompts(&self) -> Result<Vec<McpPromptInfo>, McpError> {
        let has_prompts = self.service.peer_info().is_some_and(|info| info.capabilities.prompts.is_some());
        let (mut prompts, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            if !has_prompts {
                break;
            }
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.service.list_prompts(Some(page)).await.map_err(service_error)?;
            prompts.extend(page.prompts.into_iter().map(prompt_info));
            cursor = page.next_cursor;
            if cursor.is_none() || prompts.len() > MAX_PROMPTS {
                break;
            }
        }
        prompts.truncate(MAX_PROMPTS);
        Ok(prompts)
    }

    /// Lists the resources of the server; none if it has no resources.
    pub(super) async fn list_resources(&self) -> Result<Vec<McpResourceInfo>, McpError> {
        let has_resources =
            self.service.peer_info().is_some_and(|info| info.capabilities.resources.is_some());
        let (mut resources, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            if !has_resources {
                break;
            }
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = self.service.list_resources(Some(page)).await.map_err(service_error)?;
            resources.extend(page.resources.into_iter().map(resource_info));
            cursor = page.next_cursor;
            if cursor.is_none() || resources.len() > MAX_RESOURCES {
                break;
            }
        }
        resources.truncate(MAX_RESOURCES);
        Ok(resources)
    }

    /// Reads a prompt with its arguments filled in: its messages, each with the name of its role.
    pub(super) async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Vec<(&'static str, McpContent)>, McpError> {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        let prompt = Box::pin(self.service.get_prompt(params)).await.map_err(service_error)?;
        let message = |message: rmcp::model::PromptMessage| {
            let role = if message.role == Role::Assistant { "assistant" } else { "user" };
            (role, content(message.content))
        };
        Ok(prompt.messages.into_iter().map(message).collect())
    }

    /// Reads a resource.
    pub(super) async fn read_resource(&self, uri: &str) -> Result<Vec<McpContent>, McpError> {
        let params = ReadResourceRequestParams::new(uri);
        let read = Box::pin(self.service.read_resource(params)).await.map_err(service_error)?;
        Ok(read.contents.into_iter().map(resource).collect())
    }

    /// Waits for any answer of the server, so that the caller knows that it still works.
    pub(super) async fn answers(&self) -> bool {
        match self.service.list_tools(Some(PaginatedRequestParams::default())).await {
            Ok(_) | Err(ServiceError::McpError(_)) => true,
            Err(_) => false,
        }
    }

    /// How often the server said that its tools changed.
    pub(super) fn tool_list_changes(&self) -> u64 {
        self.service.service().tool_list_changes.load(Ordering::Relaxed)
    }

    /// Starts to close the connection, which ends the server.
    pub(super) fn close(&self) {
        self.service.cancellation_token().cancel();
    }
}

/// Answers requests for input: the user is asked, and other requests are errors.
async fn answers(
    requests: InputRequests,
    questions: &mpsc::Sender<PendingElicitation>,
) -> Result<Option<InputResponses>, McpError> {
    let mut responses = InputResponses::new();
    for (key, request) in requests {
        let InputRequest::Elicitation(request) = request else {
            return Err(McpError::Protocol("the server wants what Lariat does not offer".to_owned()));
        };
        let answer = match elicit(questions, request.params).await {
            ElicitationAnswer::Accept(Some(values)) => json!({ "action": "accept", "content": values }),
            ElicitationAnswer::Accept(None) => json!({ "action": "accept" }),
            ElicitationAnswer::Decline(_) => json!({ "action": "decline" }),
            ElicitationAnswer::Cancel => json!({ "action": "cancel" }),
        };
        responses.insert(key, answer);
    }
    Ok((!responses.is_empty()).then_some(responses))
}

/// Passes a question to the call that asks the user, and waits for the answer.
async fn elicit(
    questions: &mpsc::Sender<PendingElicitation>,
    request: ElicitRequestParams,
) -> ElicitationAnswer {
    let elicitation = match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let order = requested_schema.property_order.clone().unwrap_or_default();
            let schema = serde_json::to_value(&requested_schema).unwrap_or_default();
            Elicitation::Form { message, schema, order }
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            Elicitation::Address { message, url }
        }
        _ => return ElicitationAnswer::Decline("Lariat does not know this kind of question".to_owned()),
    };
    let (reply, answer) = oneshot::channel();
    let gone = ElicitationAnswer::Cancel;
    if questions.send(PendingElicitation { elicitation, reply }).await.is_err() {
        return gone;
    }
    answer.await.unwrap_or(gone)
}

fn tool_result(result: CallToolResult) -> McpToolCallResult {
    McpToolCallResult {
        content: result.content.into_iter().map(content).collect(),
        structured_content: result.structured_content,
        is_error: result.is_error.unwrap_or(false),
    }
}

fn prompt_info(prompt: Prompt) -> McpPromptInfo {
    let argument = |argument: rmcp::model::PromptArgument| McpPromptArgument {
        name: argument.name,
        required: argument.required.unwrap_or(false),
    };
    McpPromptInfo {
        name: prompt.name,
        description: prompt.description,
        arguments: prompt.arguments.unwrap_or_default().into_iter().map(argument).collect(),
    }
}

fn resource_info(resource: Resource) -> McpResourceInfo {
    let title = resource.title.or(resource.description).unwrap_or(resource.name);
    McpResourceInfo { uri: resource.uri, title: shortened(&display::line(&title)) }
}

fn resource(contents: ResourceContents) -> McpContent {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => McpContent::Text { text },
        ResourceContents::BlobResourceContents { mime_type, blob, .. } => {
            let mime_type = mime_type.unwrap_or_else(|| "an unknown type".to_owned());
            McpContent::Image { data: blob, mime_type }
        }
        _ => McpContent::Other { description: "a resource of an unknown kind".to_owned(), text: None },
    }
}

fn tool_info(tool: Tool) -> McpToolInfo {
    McpToolInfo {
        name: tool.name.into_owned(),
        description: tool.description.map(std::borrow::Cow::into_owned),
        input_schema: Value::Object(Arc::unwrap_or_clone(tool.input_schema)),
        read_only_hint: tool.annotations.and_then(|hints| hints.read_only_hint).unwrap_or(false),
    }
}

fn content(block: ContentBlock) -> McpContent {
    let other = |description: String, text| McpContent::Other { description, text };
    match block {
        ContentBlock::Text(text) => McpContent::Text { text: text.text },
        ContentBlock::Image(image) => McpContent::Image { data: image.data, mime_type: image.mime_type },
        ContentBlock::Audio(audio) => {
            other(format!("audio of type {}, {} bytes in base64", audio.mime_type, audio.data.len()), None)
        }
        ContentBlock::ResourceLink(link) => {
            let about = link.description.map(|about| format!(": {about}")).unwrap_or_default();
            other(format!("resource {} ({}){about}", link.uri, link.name), None)
        }
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                other(format!("resource {uri}"), Some(text))
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.unwrap_or_else(|| "an unknown type".to_owned());
                other(format!("resource {uri} of {kind}, {} bytes in base64", blob.len()), None)
            }
            _ => other("a resource of an unknown kind".to_owned(), None),
        },
        _ => other("content of an unknown kind".to_owned(), None),
    }
}

fn shortened(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_ERROR)).unwrap_or(text).to_owned()
}

fn json_rpc(error: &rmcp::ErrorData) -> McpError {
    McpError::JsonRpc { code: error.code.0.into(), message: shortened(&display::line(&error.message)) }
}

fn service_error(error: ServiceError) -> McpError {
    match error {
        ServiceError::McpError(error) => json_rpc(&error),
        ServiceError::TransportClosed => McpError::ConnectionClosed(String::new()),
        ServiceError::TransportSend(error) => McpError::Transport(error.error.to_string()),
        ServiceError::Cancelled { .. } => McpError::Cancelled,
        other => McpError::Protocol(shortened(&display::line(&other.to_string()))),
    }
}

fn initialize_error(error: ClientInitializeError) -> McpError {
    if error.is_authorization_required() {
        return McpError::Transport(
            "the server wants authorization; hint: write a token into the `headers` of its entry".to_owned(),
        );
    }
    match error {
        ClientInitializeError::JsonRpcError(error) => json_rpc(&error),
        ClientInitializeError::ConnectionClosed(_) => McpError::ConnectionClosed(String::new()),
        ClientInitializeError::TransportError { error, .. } => McpError::Transport(error.error.to_string()),
        ClientInitializeError::Cancelled => McpError::Cancelled,
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => initialize_error(*fallback),
        // The message may contain a whole answer of the server.
        other => McpError::Protocol(shortened(&display::line(&other.to_string()))),
    }
}
