//! A connection to a server that runs: lists its tools and calls them, each within a deadline.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Duration;

use lariat_core::cancel::CancellationToken;
use lariat_core::display;
use lariat_core::tool::QuestionFn;
use lariat_host::process::{Environment, Exit, Input, Launch, Output, Process, Supervisor};
use lariat_http::{ClientConfig, HttpClient};
use serde_json::{Map, Value};

use super::authorized_client::McpHttpClient;
use super::config::{CALL_TIMEOUT, START_TIMEOUT};
use super::content::{McpContent, McpPromptInfo, McpResourceInfo, McpToolCallResult, McpToolInfo};
use super::dialog::Dialog;
use super::error::McpError;
use super::http;
use super::protocol::{Progress, ProtocolEra, ServerConnection};
use super::sse;
use crate::line_pipe::{LineFault, LinePipe};

/// Maximum number of questions of a server that wait until the user answered another one.
const MAX_WAITING_QUESTIONS: usize = 4;
/// A tool call ends after so many times its deadline, however much progress the server reports.
const MAX_EXTENSIONS: u32 = 6;
/// How long the exit of a server that closed its output is awaited, to report it.
const EXIT_WAIT: Duration = Duration::from_secs(1);
/// How long closing a connection may take before the program is ended.
const CLOSE_WAIT: Duration = Duration::from_secs(4);
/// How many bytes of a server's error output an error shows.
const SHOWN_ERRORS: usize = 600;
/// How many denials of the sandbox an error shows.
const SHOWN_DENIALS: usize = 3;
/// Where programs are found if the environment does not say.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Deadlines of a connection, and whether its server may ask the user.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct McpLimits {
    /// For the start of the server, for a list, for a prompt and for a resource.
    pub start: Duration,
    /// For a tool call, counted again from each report of progress.
    pub call: Duration,
    /// Whether Lariat tells the server that it may ask the user questions during a call.
    pub has_questions: bool,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self::new(START_TIMEOUT, CALL_TIMEOUT)
    }
}

impl McpLimits {
    /// Sets both deadlines.
    pub const fn new(start: Duration, call: Duration) -> Self {
        Self { start, call, has_questions: false }
    }

    /// Tells the server that it may ask the user questions during a call.
    #[must_use]
    pub const fn with_questions(mut self) -> Self {
        self.has_questions = true;
        self
    }
}

/// What the caller of a tool offers while the tool runs.
#[derive(Clone)]
#[non_exhaustive]
pub struct CallObserver<'a> {
    /// Ends the call.
    pub cancel: &'a CancellationToken,
    /// Receives what the server reports.
    pub report: &'a (dyn Fn(String) + Sync),
    /// Asks the user; without it, every question of the server is declined.
    pub ask: Option<QuestionFn>,
}

impl fmt::Debug for CallObserver<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallObserver").field("asks", &self.ask.is_some()).finish_non_exhaustive()
    }
}

impl<'a> CallObserver<'a> {
    /// Observes a call without a user.
    pub const fn new(cancel: &'a CancellationToken, report: &'a (dyn Fn(String) + Sync)) -> Self {
        Self { cancel, report, ask: None }
    }

    /// Lets the server ask the user.
    #[must_use]
    pub fn with_user(mut self, ask: Option<QuestionFn>) -> Self {
        self.ask = ask;
        self
    }
}

/// A connection to an MCP server. Dropping it ends a server that it started.
pub struct McpClient {
    connection: ServerConnection,
    program: Option<Program>,
    /// Sends the requests to a service.
    http: Option<McpHttpClient>,
    limits: McpLimits,
    about: McpConnection,
}

/// What both sides agreed on when a connection was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpConnection {
    /// The revision of the protocol.
    pub version: String,
    /// The era of that revision.
    pub era: ProtocolEra,
    /// The server's own name and version.
    pub server: Option<String>,
}

/// The program behind a connection over standard input and output.
struct Program {
    process: Process,
    fault: LineFault,
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpClient").field("about", &self.about).finish_non_exhaustive()
    }
}

impl McpClient {
    /// Starts a program with exactly these variables, besides `PATH` if it is missing, and opens a connection to it. The
    /// program runs without a sandbox.
    ///
    /// # Errors
    /// If the program does not start, or does not answer in time.
    pub async fn connect_stdio(
        command: &str,
        arguments: &[&str],
        environment: &HashMap<String, String>,
    ) -> Result<Self, McpError> {
        let mut variables = Environment::default().with("PATH", DEFAULT_PATH);
        for (name, value) in environment {
            variables = variables.with(name, value);
        }
        let launch = Launch::new(command, ".").with_arguments(arguments).with_environment(variables);
        Self::start(&Supervisor::new(), launch, None, McpLimits::default()).await
    }

    /// Opens a connection to a service that speaks streamable HTTP.
    ///
    /// # Errors
    /// If the service cannot be reached, or does not answer in time.
    pub async fn connect_http(url: &str) -> Result<Self, McpError> {
        let client = HttpClient::new(ClientConfig::default());
        Self::connect_service(client, url, &BTreeMap::new(), None, McpLimits::default()).await
    }

    /// Opens a connection to a service with a configured client, which decides about proxies and addresses, and with these
    /// headers in each request. Without an era, tries both.
    ///
    /// # Errors
    /// If the service cannot be reached, or does not answer in time.
    pub async fn connect_service(
        client: impl Into<McpHttpClient>,
        url: &str,
        headers: &BTreeMap<String, String>,
        era: Option<ProtocolEra>,
        limits: McpLimits,
    ) -> Result<Self, McpError> {
        let client = client.into();
        let opening = http::open(client.clone(), url, headers, era, limits.has_questions);
        Self::contact(opening, client, limits).await
    }

    /// Opens a connection to a service that speaks the older HTTP with server-sent events.
    ///
    /// # Errors
    /// If the service cannot be reached, or does not answer in time.
    pub async fn connect_sse(
        client: impl Into<McpHttpClient>,
        url: &str,
        headers: &BTreeMap<String, String>,
        limits: McpLimits,
    ) -> Result<Self, McpError> {
        let client = client.into();
        let opening = sse::open(client.clone(), url, headers, limits.has_questions);
        Self::contact(opening, client, limits).await
    }

    async fn contact(
        opening: impl Future<Output = Result<ServerConnection, McpError>>,
        client: McpHttpClient,
        limits: McpLimits,
    ) -> Result<Self, McpError> {
        let opened = tokio::time::timeout(limits.start, Box::pin(opening)).await;
        match opened.unwrap_or(Err(McpError::TimedOut(limits.start))) {
            Ok(connection) => Ok(Self { http: Some(client), ..Self::new(connection, None, limits) }),
            Err(error) => Err(client.login_error().unwrap_or(error)),
        }
    }

    /// Starts a program as `launch` says, and opens a connection to it. Sets its input, output and time limit. Without an
    /// era, tries both; some older servers end when they get an unknown first request, so they are started again.
    ///
    /// # Errors
    /// If the program does not start, or does not answer in time.
    pub async fn start(
        supervisor: &Supervisor,
        launch: Launch,
        era: Option<ProtocolEra>,
        limits: McpLimits,
    ) -> Result<Self, McpError> {
        let launch = launch.with_input(Input::Written).with_output(Output::Piped).with_time(None);
        let started = Self::start_once(supervisor, launch.clone(), era, limits).await;
        match started {
            Err(McpError::ConnectionClosed(_)) if era.is_none() => {
                Self::start_once(supervisor, launch, Some(ProtocolEra::Initialize), limits).await
            }
            started => started,
        }
    }

    async fn start_once(
        supervisor: &Supervisor,
        launch: Launch,
        era: Option<ProtocolEra>,
        limits: McpLimits,
    ) -> Result<Self, McpError> {
        let begun = tokio::time::Instant::now();
        let process = tokio::time::timeout(limits.start, Box::pin(supervisor.start(launch))).await;
        let process = process.map_err(|_| McpError::TimedOut(limits.start))?;
        let process = process.map_err(|error| McpError::Transport(error.to_string()))?;
        let pipe = LinePipe::new(process.clone(), supervisor.clone());
        let program = Program { process, fault: pipe.fault() };
        let opening = Box::pin(ServerConnection::open_pipe(pipe, era, limits.has_questions));
        match tokio::time::timeout_at(begun + limits.start, opening).await {
            Ok(Ok(connection)) => Ok(Self::new(connection, Some(program), limits)),
            Ok(Err(error)) => Err(program.explain(error).await),
            Err(_) => {
                let (seconds, hints) = (limits.start.as_secs(), program.hints());
                Err(McpError::Transport(format!("the server did not start within {seconds} s{hints}")))
            }
        }
    }

    fn new(connection: ServerConnection, program: Option<Program>, limits: McpLimits) -> Self {
        let about = McpConnection {
            version: connection.version(),
            era: connection.era(),
            server: connection.server_name(),
        };
        Self { connection, program, http: None, limits, about }
    }

    /// What both sides agreed on.
    pub const fn about(&self) -> &McpConnection {
        &self.about
    }

    /// Whether the server ended or closed the connection.
    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// The last part of what the server wrote to standard error.
    pub fn errors(&self) -> String {
        self.program.as_ref().map(|program| program.process.errors().text()).unwrap_or_default()
    }

    /// How often the server said that its tools changed.
    pub(super) fn tool_list_changes(&self) -> u64 {
        self.connection.tool_list_changes()
    }

    /// Lists the tools of the server.
    ///
    /// # Errors
    /// If the server does not answer in time, or breaks the protocol.
    pub async fn list_tools(&self) -> Result<Vec<McpToolInfo>, McpError> {
        self.within_start(self.connection.list_tools()).await
    }

    /// Lists the prompts of the server; none if it has none.
    ///
    /// # Errors
    /// If the server does not answer in time, or breaks the protocol.
    pub async fn list_prompts(&self) -> Result<Vec<McpPromptInfo>, McpError> {
        self.within_start(self.connection.list_prompts()).await
    }

    /// Lists the resources of the server; none if it has none.
    ///
    /// # Errors
    /// If the server does not answer in time, or breaks the protocol.
    pub async fn list_resources(&self) -> Result<Vec<McpResourceInfo>, McpError> {
        self.within_start(self.connection.list_resources()).await
    }

    /// Reads a prompt with these arguments: its messages, each with its role (`user` or `assistant`).
    ///
    /// # Errors
    /// If the server does not know the prompt, does not answer in time, or breaks the protocol.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Vec<(&'static str, McpContent)>, McpError> {
        self.within_start(self.connection.get_prompt(name, arguments)).await
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// If the server does not know the resource, does not answer in time, or breaks the protocol.
    pub async fn read_resource(&self, uri: &str) -> Result<Vec<McpContent>, McpError> {
        self.within_start(self.connection.read_resource(uri)).await
    }

    async fn within_start<T>(
        &self,
        request: impl Future<Output = Result<T, McpError>>,
    ) -> Result<T, McpError> {
        match tokio::time::timeout(self.limits.start, Box::pin(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.explain(error).await),
            Err(_) => Err(McpError::TimedOut(self.limits.start)),
        }
    }

    /// Calls a tool by the server's name for it.
    ///
    /// # Errors
    /// If the server ends, does not answer in time, or answers with an error. A tool that failed is a result.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<McpToolCallResult, McpError> {
        self.call_tool_observed(name, arguments, &CancellationToken::new(), &|_| {}).await
    }

    /// Like [`call_tool`](Self::call_tool), until `cancel` is cancelled. Passes on what the server reports meanwhile.
    ///
    /// # Errors
    /// The same as those of `call_tool`, and [`McpError::Cancelled`].
    pub async fn call_tool_observed(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        cancel: &CancellationToken,
        report: &(dyn Fn(String) + Sync),
    ) -> Result<McpToolCallResult, McpError> {
        self.call_tool_for("", name, arguments, &CallObserver::new(cancel, report)).await
    }

    /// Like [`call_tool_observed`](Self::call_tool_observed), and lets the server ask the user, who reads `server` as its
    /// name. The deadline does not run while the user is asked.
    ///
    /// # Errors
    /// The same as those of `call_tool_observed`.
    pub async fn call_tool_for(
        &self,
        server: &str,
        name: &str,
        arguments: Map<String, Value>,
        observer: &CallObserver<'_>,
    ) -> Result<McpToolCallResult, McpError> {
        let (reports, mut progress) = tokio::sync::watch::channel(Progress::default());
        let (questions, mut asked) = tokio::sync::mpsc::channel(MAX_WAITING_QUESTIONS);
        let started = tokio::time::Instant::now();
        let mut last = started + self.limits.call * MAX_EXTENSIONS;
        let mut deadline = started + self.limits.call;
        let mut call = Box::pin(self.connection.call_tool(name, arguments, reports, questions));
        let mut dialog = Dialog::new(server, observer);
        loop {
            tokio::select! {
                result = &mut call => return match result {
                    Ok(result) => Ok(dialog.with_notes(result)),
                    Err(error) => {
                        drop(call);
                        Err(self.explain(error).await)
                    }
                },
                () = observer.cancel.cancelled() => return Err(McpError::Cancelled),
                Some(question) = asked.recv(), if !dialog.is_open() => dialog.open(question),
                waited = dialog.answered(), if dialog.is_open() => {
                    (deadline, last) = (deadline + waited, last + waited);
                }
                () = tokio::time::sleep_until(deadline), if !dialog.is_open() => {
                    drop(call);
                    return Err(self.explain(McpError::TimedOut(self.limits.call)).await);
                }
                Ok(()) = progress.changed() => {
                    deadline = last.min(tokio::time::Instant::now() + self.limits.call);
                    let text = progress.borrow_and_update().text.clone();
                    if !text.is_empty() {
                        (observer.report)(text);
                    }
                }
            }
        }
    }

    /// Returns whether the server still answers within `limit`.
    pub async fn answers_within(&self, limit: Duration) -> bool {
        tokio::time::timeout(limit, Box::pin(self.connection.answers())).await.unwrap_or(false)
    }

    /// Closes the connection. A program gets the end of its input, and is ended if it keeps running.
    pub async fn close(&self) {
        self.connection.close();
        if let Some(program) = &self.program
            && tokio::time::timeout(CLOSE_WAIT, program.process.wait()).await.is_err()
        {
            program.process.stop().await;
        }
    }

    /// Adds how the program ended to the error of a closed connection, and says if the user must log in.
    async fn explain(&self, error: McpError) -> McpError {
        if let Some(error) = self.http.as_ref().and_then(McpHttpClient::login_error) {
            return error;
        }
        match &self.program {
            Some(program) => program.explain(error).await,
            None => error,
        }
    }
}

impl Program {
    async fn explain(&self, error: McpError) -> McpError {
        if matches!(error, McpError::JsonRpc { .. } | McpError::Cancelled) {
            return error;
        }
        if let Some(fault) = self.fault.reason() {
            return McpError::Transport(format!("the connection was closed: {fault}"));
        }
        if !matches!(error, McpError::ConnectionClosed(_) | McpError::Transport(_)) {
            return error;
        }
        let ended = tokio::time::timeout(EXIT_WAIT, self.process.wait()).await;
        let how = match ended.map(|ended| ended.exit) {
            Ok(Exit::Code(code)) => format!(": it exited with code {code}"),
            Ok(Exit::Signal(signal)) => format!(": signal {signal} ended it"),
            _ => String::new(),
        };
        McpError::ConnectionClosed(format!("{how}{}", self.hints()))
    }

    /// The end of the program's error output, and what the sandbox denied.
    fn hints(&self) -> String {
        let text = self.process.errors().text();
        let text = text.trim();
        let from = text.ceil_char_boundary(text.len().saturating_sub(SHOWN_ERRORS));
        let mut hints = String::new();
        if let Some(shown) = text.get(from..).filter(|shown| !shown.is_empty()) {
            hints = format!("; its error output ends with: {}", display::line(shown));
        }
        let mut denied: Vec<String> = self.process.denials().iter().map(ToString::to_string).collect();
        denied.dedup();
        denied.truncate(SHOWN_DENIALS);
        if !denied.is_empty() {
            hints = format!("{hints}; the sandbox denied: {}", denied.join(", "));
        }
        hints
    }
}
