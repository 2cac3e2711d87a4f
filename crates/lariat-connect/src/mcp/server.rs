//! A configured server that starts when it is first needed, and again after it died.
//!
//! A server that keeps dying is started less and less often, and a call during such a pause fails at once with the reason.
//! Invariant: a tool is called only while the server describes it exactly as the user accepted it. If it changed, the user is
//! asked with the difference; where no user can answer, it is not called.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::display;
use lariat_core::question::{UserAnswer, UserQuestion};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::accepted_tool::AcceptedTool;
use super::client::{CallObserver, McpClient};
use super::config::McpServerConfig;
use super::content::{McpContent, McpPromptInfo, McpResourceInfo, McpToolCallResult, McpToolInfo};
use super::error::McpError;
use super::protocol::ProtocolEra;
use crate::tool_change::{PinnedTool as _, ToolChange, tool_changes};

/// Maximum characters of the difference that the user is asked about.
const MAX_DIFFERENCE: usize = 4_000;
/// The answer that accepts a changed tool.
const ACCEPT: &str = "accept the change and call it";
/// The answer that does not.
const REFUSE: &str = "do not call it";
/// The pause after the second failure in a row; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// A call waits for the end of a pause that is not longer than this.
const SHORT_PAUSE: Duration = Duration::from_secs(2);
/// How long a server that let a call time out may take to answer before it is started again.
const ANSWER: Duration = Duration::from_secs(5);

/// Opens connections to servers. The implementation decides about sandboxes, environments and allowed addresses.
pub trait McpConnector: Send + Sync {
    /// Starts or contacts a server. `era` is the one that the server spoke last time.
    fn connect<'a>(
        &'a self,
        config: &'a McpServerConfig,
        era: Option<ProtocolEra>,
    ) -> BoxFuture<'a, Result<McpClient, McpError>>;
}

/// What a server does at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpServerState {
    /// It starts with the first call.
    Pending,
    /// It runs.
    Connected,
    /// It refuses requests until the user logs in.
    NeedsLogin,
    /// It could not be started, or it died.
    Failed(String),
}

/// A configured server.
pub struct McpServer {
    config: McpServerConfig,
    connector: Arc<dyn McpConnector>,
    running: tokio::sync::Mutex<ServerRun>,
    known: Mutex<ServerRecord>,
    on_accepted: Option<SaveAccepted>,
}

/// Stores the tools that the user accepted.
pub type SaveAccepted = Arc<dyn Fn(&[AcceptedTool]) + Send + Sync>;

/// The connection, and how often there was none.
#[derive(Default)]
struct ServerRun {
    client: Option<Arc<McpClient>>,
    /// Failures since the last call that succeeded.
    failures: u32,
    /// When the server may be started again.
    not_before: Option<Instant>,
    /// How many changes of its tools the server had announced when they were listed.
    announced: u64,
    /// Whether the last call timed out.
    is_suspect: bool,
}

/// What is known about the server, running or not.
struct ServerRecord {
    state: McpServerState,
    era: Option<ProtocolEra>,
    /// The tools that the user accepted; `None` before the first contact.
    accepted: Option<Vec<AcceptedTool>>,
    /// Changed tools that the user accepted since, in their new form.
    reviewed: Vec<McpToolInfo>,
    /// The tools that the server has, if it ran.
    current: Option<Vec<McpToolInfo>>,
    /// The prompts that the server has, if it ran.
    prompts: Option<Vec<McpPromptInfo>>,
    /// The resources that the server has, if it ran.
    resources: Option<Vec<McpResourceInfo>>,
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer").field("config", &self.config).finish_non_exhaustive()
    }
}

impl McpServer {
    /// A server that does not run yet. `accepted` are the tools that the user accepted; the ones of the first contact if
    /// `None`.
    pub fn new(
        config: McpServerConfig,
        connector: Arc<dyn McpConnector>,
        era: Option<ProtocolEra>,
        accepted: Option<Vec<AcceptedTool>>,
    ) -> Self {
        let known = ServerRecord {
            state: McpServerState::Pending,
            era,
            accepted,
            reviewed: Vec::new(),
            current: None,
            prompts: None,
            resources: None,
        };
        let (running, known) = (tokio::sync::Mutex::default(), Mutex::new(known));
        Self { config, connector, running, known, on_accepted: None }
    }

    /// Calls `save` with all accepted tools when the user accepts one that changed.
    #[must_use]
    pub fn with_acceptance(mut self, save: SaveAccepted) -> Self {
        self.on_accepted = Some(save);
        self
    }

    /// How it is configured.
    pub const fn config(&self) -> &McpServerConfig {
        &self.config
    }

    /// What it does at the moment.
    pub fn state(&self) -> McpServerState {
        self.known().state.clone()
    }

    /// The era of the protocol that it spoke last.
    pub fn era(&self) -> Option<ProtocolEra> {
        self.known().era
    }

    /// The tools that the user accepted, or that the server had at the first contact.
    pub fn accepted_tools(&self) -> Vec<AcceptedTool> {
        self.known().accepted.clone().unwrap_or_default()
    }

    /// The tools that the server has, if it ran.
    pub fn current_tools(&self) -> Option<Vec<McpToolInfo>> {
        self.known().current.clone()
    }

    /// The prompts that the server has, if it ran.
    pub fn prompts(&self) -> Option<Vec<McpPromptInfo>> {
        self.known().prompts.clone()
    }

    /// The resources that the server has, if it ran.
    pub fn resources(&self) -> Option<Vec<McpResourceInfo>> {
        self.known().resources.clone()
    }

    /// How the tools of the server differ from the accepted ones. Nothing before it ran.
    pub fn changes(&self) -> Vec<ToolChange> {
        let known = self.known();
        match (&known.accepted, &known.current) {
            (Some(accepted), Some(current)) => {
                let accepted: Vec<McpToolInfo> = accepted.iter().map(|tool| tool.info().clone()).collect();
                tool_changes(&accepted, current)
            }
            _ => Vec::new(),
        }
    }

    /// Starts the server, unless it runs.
    ///
    /// # Errors
    /// If it does not start in time, or failed so recently that it is not started again yet.
    pub async fn connect(&self) -> Result<Arc<McpClient>, McpError> {
        let mut running = self.running.lock().await;
        if let Some(client) = running.client.clone() {
            let is_usable =
                !client.is_closed() && (!running.is_suspect || client.answers_within(ANSWER).await);
            if is_usable {
                running.is_suspect = false;
                if running.announced != client.tool_list_changes() {
                    self.list(&client, &mut running).await?;
                }
                return Ok(client);
            }
            client.close().await;
            running.client = None;
            self.failed(&mut running, "the server died".to_owned());
        }
        self.pause(&running).await?;
        let era = self.known().era;
        let mut started = self.connector.connect(&self.config, era).await;
        if era.is_some() && matches!(started, Err(McpError::JsonRpc { .. } | McpError::Protocol(_))) {
            // The server may speak another era since it was updated.
            started = self.connector.connect(&self.config, None).await;
        }
        let listed = match started {
            Ok(client) => self.list(&client, &mut running).await.map(|()| client),
            Err(error) => Err(error),
        };
        match listed {
            Ok(client) => {
                let client = Arc::new(client);
                running.client = Some(Arc::clone(&client));
                let mut known = self.known();
                known.state = McpServerState::Connected;
                known.era = Some(client.about().era);
                Ok(client)
            }
            Err(error) => {
                self.failed_by(&mut running, &error);
                Err(error)
            }
        }
    }

    /// Calls a tool as the user accepted it, and starts the server if it does not run.
    ///
    /// # Errors
    /// If the server does not start, describes the tool in another way, dies, or does not answer in time.
    pub async fn call(
        &self,
        tool: &McpToolInfo,
        arguments: Map<String, Value>,
        cancel: &CancellationToken,
        report: &(dyn Fn(String) + Sync),
    ) -> Result<McpToolCallResult, McpError> {
        self.call_for(tool, arguments, &CallObserver::new(cancel, report)).await
    }

    /// Like [`call`](Self::call), and asks the user about a tool that changed and what the server asks of the user.
    ///
    /// # Errors
    /// The same as those of `call`.
    pub async fn call_for(
        &self,
        tool: &McpToolInfo,
        arguments: Map<String, Value>,
        observer: &CallObserver<'_>,
    ) -> Result<McpToolCallResult, McpError> {
        let client = tokio::select! {
            client = Box::pin(self.connect()) => client?,
            () = observer.cancel.cancelled() => return Err(McpError::Cancelled),
        };
        if let Err(changed) = self.check(tool) {
            self.review(tool, observer, changed).await?;
        }
        let result = client.call_tool_for(&self.config.name, &tool.name, arguments, observer).await;
        if matches!(result, Err(McpError::Cancelled)) {
            return result;
        }
        let mut running = self.running.lock().await;
        match &result {
            Ok(_) | Err(McpError::JsonRpc { .. }) => running.failures = 0,
            Err(McpError::TimedOut(_)) => running.is_suspect = true,
            Err(error) => {
                let is_current = running.client.as_ref().is_some_and(|now| Arc::ptr_eq(now, &client));
                if is_current {
                    running.client = None;
                    self.failed_by(&mut running, error);
                }
            }
        }
        result
    }

    /// Reads a prompt, and starts the server if it does not run.
    ///
    /// # Errors
    /// If the server does not start, does not know the prompt, or does not answer in time.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Vec<(&'static str, McpContent)>, McpError> {
        Box::pin(self.connect()).await?.get_prompt(name, arguments).await
    }

    /// Reads a resource, and starts the server if it does not run.
    ///
    /// # Errors
    /// If the server does not start, does not know the resource, or does not answer in time.
    pub async fn read_resource(&self, uri: &str) -> Result<Vec<McpContent>, McpError> {
        Box::pin(self.connect()).await?.read_resource(uri).await
    }

    /// Ends the server, if it runs.
    pub async fn close(&self) {
        let client = self.running.lock().await.client.take();
        if let Some(client) = client {
            client.close().await;
            self.known().state = McpServerState::Pending;
        }
    }

    /// The last part of what the running server wrote to standard error.
    pub async fn errors(&self) -> String {
        self.running.lock().await.client.as_ref().map(|client| client.errors()).unwrap_or_default()
    }

    async fn list(&self, client: &McpClient, running: &mut ServerRun) -> Result<(), McpError> {
        let announced = client.tool_list_changes();
        let tools = client.list_tools().await?;
        // Prompts and resources are for the user only; a server whose list fails still has its tools.
        let prompts = client.list_prompts().await.unwrap_or_default();
        let resources = client.list_resources().await.unwrap_or_default();
        running.announced = announced;
        let mut known = self.known();
        (known.prompts, known.resources) = (Some(prompts), Some(resources));
        known.accepted.get_or_insert_with(|| tools.iter().cloned().map(AcceptedTool::from).collect());
        known.current = Some(tools);
        Ok(())
    }

    /// Checks that the server still describes a tool as the user accepted it.
    fn check(&self, tool: &McpToolInfo) -> Result<(), McpError> {
        let known = self.known();
        let current = known.current.iter().flatten().find(|current| current.name == tool.name);
        let reviewed = known.reviewed.iter().find(|reviewed| reviewed.name == tool.name);
        let (server, name) = (&self.config.name, &tool.name);
        match current {
            Some(current) if reviewed.unwrap_or(tool).is_same(current) => Ok(()),
            Some(_) => Err(McpError::ToolsChanged(format!(
                "the server changed the description or the arguments of `{name}` since the user accepted it, so Lariat does not call it; hint: the user can review the change with `lariat mcp trust {server}`"
            ))),
            None => Err(McpError::ToolsChanged(format!("the server no longer has the tool `{name}`"))),
        }
    }

    /// Asks the user whether to accept a tool that changed, with the difference. Returns `changed` if the user does not, or
    /// if no user can answer.
    async fn review(
        &self,
        tool: &McpToolInfo,
        observer: &CallObserver<'_>,
        changed: McpError,
    ) -> Result<(), McpError> {
        let current = self.known().current.iter().flatten().find(|now| now.name == tool.name).cloned();
        let (Some(current), Some(ask)) = (current, &observer.ask) else { return Err(changed) };
        let change = tool_changes(std::slice::from_ref(tool), std::slice::from_ref(&current));
        let difference = change.first().map(|change| change.difference.as_str()).unwrap_or_default();
        if difference.chars().count() > MAX_DIFFERENCE {
            // What the user does not see, the user cannot accept.
            return Err(changed);
        }
        let text = format!(
            "The MCP server `{}` changed the tool `{}` since you accepted it. The model obeys its description.\n\n{}",
            self.config.name,
            display::line(&tool.name),
            display::block(difference)
        );
        let options = vec![ACCEPT.to_owned(), REFUSE.to_owned()];
        let answer = tokio::select! {
            answer = ask(UserQuestion::new(text, options)) => answer,
            () = observer.cancel.cancelled() => return Err(McpError::Cancelled),
        };
        if !matches!(&answer, UserAnswer::Text(text) if text == ACCEPT) {
            return Err(changed);
        }
        let accepted = {
            let mut known = self.known();
            known.reviewed.retain(|reviewed| reviewed.name != current.name);
            known.reviewed.push(current.clone());
            let accepted = known.accepted.get_or_insert_default();
            let old = accepted.iter_mut().filter(|old| old.name() == current.name);
            old.for_each(|old| *old = current.clone().into());
            accepted.clone()
        };
        if let Some(save) = &self.on_accepted {
            save(&accepted);
        }
        // The server may have changed it again meanwhile.
        self.check(tool)
    }

    /// A server that wants a login does not need a pause: the user may log in at any moment.
    fn failed_by(&self, running: &mut ServerRun, error: &McpError) {
        match error {
            McpError::LoginRequired { .. } => self.known().state = McpServerState::NeedsLogin,
            error => self.failed(running, error.to_string()),
        }
    }

    fn failed(&self, running: &mut ServerRun, reason: String) {
        running.failures = running.failures.saturating_add(1);
        running.not_before = running.failures.checked_sub(2).map(|more| {
            let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(more)).min(MAX_PAUSE);
            Instant::now() + pause
        });
        self.known().state = McpServerState::Failed(reason);
    }

    /// Waits for the end of a short pause.
    async fn pause(&self, running: &ServerRun) -> Result<(), McpError> {
        let Some(until) = running.not_before else { return Ok(()) };
        let left = until.saturating_duration_since(Instant::now());
        if left <= SHORT_PAUSE {
            tokio::time::sleep(left).await;
            return Ok(());
        }
        let reason = match &self.known().state {
            McpServerState::Failed(reason) => reason.clone(),
            _ => String::new(),
        };
        let (times, seconds) = (running.failures, left.as_secs() + 1);
        Err(McpError::Transport(format!(
            "the server failed {times} times in a row and is started again in {seconds} s at the earliest; the last failure: {reason}"
        )))
    }

    fn known(&self) -> MutexGuard<'_, ServerRecord> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
