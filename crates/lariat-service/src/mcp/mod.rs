//! The MCP servers of a session: which ones are configured, how they run, and which of their tools the user accepted.
//!
//! - `entries`: the configured servers; the user's own entries come before a project's.
//! - `connector`: starts a server in the sandbox, with the environment that its entry names.
//! - `accepted`: the tools of each server that the user accepted, in the state directory.
//! - `logs`: what servers wrote to standard error.
//!
//! Invariants: an untrusted project has no entries, so nothing of it starts. The model is offered exactly the tools that the
//! user accepted; they are known from the first contact, so later sessions start a server only when one of its tools is
//! called, and the prompt stays the same.

mod accepted;
mod connector;
mod entries;
mod logs;

use std::sync::Arc;

use futures_util::future::join_all;
use lariat_connect::mcp::{McpConnection, McpError, McpServer, McpServerState, McpToolAdapter, McpToolInfo};
use lariat_core::tool::AgentTool;
use lariat_host::process::Environment;
use lariat_model::http::ClientConfig;
use lariat_tools::Commands;
use serde::Serialize;

use crate::UserDirectories;
use crate::loaded_project::LoadedProject;
use crate::models::Keys;
use accepted::AcceptedTools;
use connector::SandboxedConnector;
pub use entries::McpEntry;
pub use lariat_connect::mcp::tool_server::{HttpServer, ToolServer};
pub use lariat_connect::mcp::{McpServerConfig, McpTransport, ToolChange, ToolChangeKind};

/// Whether a server whose tools are not known yet may be started to list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstContact {
    /// Start it.
    Start,
    /// Leave its tools out.
    Skip,
}

/// What a front end shows about a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct McpServerReport {
    /// Its name.
    pub name: String,
    /// `connected`, `pending` (starts with the first tool call), `failed` or `untrusted`.
    pub status: &'static str,
    /// Why it failed, or why it does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How many of its tools the model is offered.
    pub tools: usize,
}

/// The configured servers of a directory.
pub struct McpServers {
    servers: Vec<(McpEntry, Arc<McpServer>)>,
    folders: UserDirectories,
    /// Entries that cannot be used, and servers of an untrusted project.
    refused: Vec<McpServerReport>,
}

impl McpServers {
    /// The servers that apply in a directory. Starts nothing.
    pub(crate) fn new(
        place: &LoadedProject,
        folders: &UserDirectories,
        keys: &dyn Keys,
        commands: &Commands,
        environment: &Environment,
        client: &ClientConfig,
    ) -> Self {
        let (entries, mut refused) = entries::of(place, keys);
        let connector = SandboxedConnector::new(place, folders, commands, environment, client.clone());
        let mut servers = Vec::new();
        for entry in entries {
            match AcceptedTools::of(folders, entry.config.identity()).load() {
                Ok(known) => {
                    let connector = connector.for_scope(entry.scope);
                    let server = McpServer::new(entry.config.clone(), connector, known.era, known.tools);
                    servers.push((entry, Arc::new(server)));
                }
                // Without the record, a changed tool would look like a new one.
                Err(error) => refused.push(McpServerReport {
                    name: entry.config.name,
                    status: "failed",
                    error: Some(format!("{error}; hint: delete the file to accept its tools again")),
                    tools: 0,
                }),
            }
        }
        Self { servers, folders: folders.clone(), refused }
    }

    /// Whether no server is configured.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.refused.is_empty()
    }

    /// The entries of the usable servers, by name.
    pub fn entries(&self) -> impl Iterator<Item = &McpEntry> {
        self.servers.iter().map(|(entry, _)| entry)
    }

    /// What to show about each server.
    pub fn reports(&self) -> Vec<McpServerReport> {
        let report = |(entry, server): &(McpEntry, Arc<McpServer>)| {
            let (status, error) = match server.state() {
                McpServerState::Connected => ("connected", None),
                McpServerState::Failed(why) => ("failed", Some(why)),
                _ => ("pending", None),
            };
            let tools = server.accepted_tools().len();
            McpServerReport { name: entry.config.name.clone(), status, error, tools }
        };
        self.servers.iter().map(report).chain(self.refused.iter().cloned()).collect()
    }

    /// The tools of all servers that the user accepted. Starts the servers whose tools are not known yet, all at once, each
    /// within its deadline.
    pub(crate) async fn tools(
        &self,
        first: FirstContact,
        notices: &mut Vec<String>,
    ) -> Vec<Arc<dyn AgentTool>> {
        for refused in &self.refused {
            let why = refused.error.as_deref().unwrap_or_default();
            notices.push(format!("MCP server `{}` is not started: {why}", refused.name));
        }
        if first == FirstContact::Start {
            let unknown = self.servers.iter().filter(|(_, server)| server.accepted_tools().is_empty());
            let contacts = unknown.map(|(entry, server)| async move { (entry, self.contact(server).await) });
            for (entry, contact) in join_all(contacts).await {
                if let Err(error) = contact {
                    let name = &entry.config.name;
                    notices.push(format!(
                        "MCP server `{name}` did not start, so its tools are missing: {error}; hint: run `lariat mcp test {name}`"
                    ));
                }
            }
        }
        let mut tools: Vec<Arc<dyn AgentTool>> = Vec::new();
        for (entry, server) in &self.servers {
            let (adapters, problems) = McpToolAdapter::from_server(server);
            let name = &entry.config.name;
            notices.extend(problems.into_iter().map(|problem| format!("MCP server `{name}`: {problem}")));
            tools.extend(adapters.into_iter().map(|adapter| Arc::new(adapter) as Arc<dyn AgentTool>));
        }
        tools
    }

    /// Starts a server, and records its tools as accepted if it has no record. Returns how its tools differ from the record.
    ///
    /// # Errors
    /// `None` if no server has this name; otherwise why it did not start.
    pub async fn test(&self, name: &str) -> Option<Result<McpTest, McpError>> {
        let (_, server) = self.find(name)?;
        let tested = self.contact(server).await.map(|about| McpTest {
            protocol: about.version,
            server: about.server,
            tools: server.current_tools().unwrap_or_default(),
            changes: server.changes(),
        });
        self.save_log(server).await;
        Some(tested)
    }

    /// Accepts the tools that a server has now. Needs [`test`](Self::test) before.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn accept(&self, name: &str) -> Result<(), String> {
        let Some((_, server)) = self.find(name) else { return Ok(()) };
        self.record(server, server.current_tools())
    }

    /// The names that the model has for the accepted tools of a server.
    pub fn tool_names(&self, name: &str) -> Vec<String> {
        let Some((_, server)) = self.find(name) else { return Vec::new() };
        McpToolAdapter::from_server(server).0.iter().map(|tool| tool.name().to_owned()).collect()
    }

    /// What a server wrote to standard error when it ran last.
    pub fn log(&self, name: &str) -> Option<String> {
        let (entry, _) = self.find(name)?;
        Some(logs::read(&self.folders, entry.config.identity()))
    }

    /// Ends all servers and saves what they wrote.
    pub async fn close(&self) {
        let close = |server: &Arc<McpServer>| {
            let server = Arc::clone(server);
            async move {
                self.save_log(&server).await;
                server.close().await;
            }
        };
        join_all(self.servers.iter().map(|(_, server)| close(server))).await;
    }

    fn find(&self, name: &str) -> Option<&(McpEntry, Arc<McpServer>)> {
        self.servers.iter().find(|(entry, _)| entry.config.name == name)
    }

    async fn contact(&self, server: &McpServer) -> Result<McpConnection, McpError> {
        let client = server.connect().await;
        if let Err(error) = &client {
            logs::save(&self.folders, server.config().identity(), &format!("{error}\n"));
        }
        let about = client?.about().clone();
        let is_new = AcceptedTools::of(&self.folders, server.config().identity()).load();
        if is_new.is_ok_and(|known| known.tools.is_none()) {
            // Without a record, the next session starts the server again.
            let _ = self.record(server, server.current_tools());
        }
        Ok(about)
    }

    fn record(&self, server: &McpServer, tools: Option<Vec<McpToolInfo>>) -> Result<(), String> {
        let accepted = AcceptedTools::of(&self.folders, server.config().identity());
        accepted.save(&server.config().name, server.era(), tools).map_err(|error| error.to_string())
    }

    async fn save_log(&self, server: &McpServer) {
        let text = server.errors().await;
        if !text.is_empty() {
            logs::save(&self.folders, server.config().identity(), &text);
        }
    }
}

/// The result of a test.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpTest {
    /// The revision of the protocol.
    pub protocol: String,
    /// The server's own name and version.
    pub server: Option<String>,
    /// The tools that the server has.
    pub tools: Vec<McpToolInfo>,
    /// How they differ from the accepted ones.
    pub changes: Vec<ToolChange>,
}
