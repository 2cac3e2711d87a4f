//! The MCP servers of a session: which ones are configured, how they run, and which of their tools the user accepted.
//!
//! - `entries`: the configured servers; the user's own entries come before a project's.
//! - `connector`: starts a server in the sandbox, with the environment that its entry names.
//! - `accepted`: the tools of each server that the user accepted, in the state directory.
//! - `logins`: the logins of the user at services.
//! - `offered`: the prompts and resources that a user names in a message.
//! - `logs`: what servers wrote to standard error.
//!
//! Invariants: an untrusted project has no entries, so nothing of it starts. The model is offered exactly the tools that the
//! user accepted; they are known from the first contact, so later sessions start a server only when one of its tools is
//! called, and the prompt stays the same.

mod accepted;
mod connector;
mod entries;
mod logins;
mod logs;
mod offered;

use std::sync::Arc;

use futures_util::future::join_all;
use lariat_connect::mcp::{
    AcceptedTool, McpConnection, McpServer, McpServerState, McpToolAdapter, McpToolInfo, SaveAccepted,
    ServerLogin,
};
use lariat_core::tool::AgentTool;
use lariat_host::process::Environment;
use lariat_model::http::ClientConfig;
use lariat_runtime::redact::Redactor;
use lariat_tools::Commands;
use serde::Serialize;

use crate::UserDirectories;
use crate::loaded_project::LoadedProject;
use crate::models::Keys;
use accepted::{AcceptedTools, Record};
use connector::SessionPrograms;
pub use entries::McpEntry;
pub use lariat_connect::mcp::tool_server::{HttpServer, ToolServer};
pub use lariat_connect::mcp::{
    LoginSummary, McpError, McpLogin, McpServerConfig, McpTransport, ToolChange, ToolChangeKind,
};
pub use logins::LOGIN_PREFIX;
pub use offered::KnownResource;
pub(crate) use offered::{known_prompts, mentions};

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
    /// `connected`, `pending` (starts with the first tool call), `needs-auth`, `failed` or `untrusted`.
    pub status: &'static str,
    /// Why it failed, or why it does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How many of its tools the model is offered.
    pub tools: usize,
}

/// A configured server that may run.
#[derive(Clone)]
struct UsableServer {
    entry: McpEntry,
    server: Arc<McpServer>,
    login: Option<Arc<ServerLogin>>,
    /// Whether the server wanted a login when it was contacted last.
    needed_login: bool,
}

/// The configured servers of a directory. Clones share them.
#[derive(Clone)]
pub struct McpServers {
    servers: Vec<UsableServer>,
    folders: UserDirectories,
    /// Knows the secrets of the entries, which a server may echo.
    redactor: Redactor,
    /// Entries that cannot be used, and servers of an untrusted project.
    refused: Vec<McpServerReport>,
}

impl McpServers {
    /// The servers that apply in a directory. Starts nothing.
    pub(crate) fn new(
        place: &LoadedProject,
        folders: &UserDirectories,
        keys: &Arc<dyn Keys>,
        commands: &Commands,
        environment: &Environment,
        client: &ClientConfig,
        redactor: &Redactor,
    ) -> Self {
        let entries::Entries { usable: entries, mut refused, secrets } = entries::of(place, &**keys);
        redactor.add(secrets);
        let programs = SessionPrograms::new(place, folders, commands, environment, client.clone());
        let mut servers = Vec::new();
        for entry in entries {
            match AcceptedTools::of(folders, entry.config.identity()).load() {
                Ok(known) => {
                    let login = logins::of(&entry, keys, client, redactor);
                    let connector = programs.connector(entry.scope, login.clone());
                    let server = McpServer::new(entry.config.clone(), connector, known.era, known.tools)
                        .with_acceptance(save_accepted(folders, &entry));
                    let needed_login = known.needs_login;
                    servers.push(UsableServer { entry, server: Arc::new(server), login, needed_login });
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
        Self { servers, folders: folders.clone(), redactor: redactor.clone(), refused }
    }

    /// Whether no server is configured.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.refused.is_empty()
    }

    /// The entries of the usable servers, by name.
    pub fn entries(&self) -> impl Iterator<Item = &McpEntry> {
        self.servers.iter().map(|usable| &usable.entry)
    }

    /// What to show about each server.
    pub fn reports(&self) -> Vec<McpServerReport> {
        let report = |usable: &UsableServer| {
            let name = usable.entry.config.name.clone();
            let (status, error) = match usable.server.state() {
                McpServerState::Connected => ("connected", None),
                McpServerState::Failed(why) => ("failed", Some(self.redactor.text(&why).into_owned())),
                McpServerState::NeedsLogin => ("needs-auth", Some(needs_login(&name))),
                _ if usable.needed_login => ("needs-auth", Some(needs_login(&name))),
                _ => ("pending", None),
            };
            McpServerReport { name, status, error, tools: usable.server.accepted_tools().len() }
        };
        self.servers.iter().map(report).chain(self.refused.iter().cloned()).collect()
    }

    /// The tools of all servers that the user accepted, without a check of their schemas. Starts the servers whose tools are not known yet, all at once, each
    /// within its deadline.
    pub(crate) async fn tools(&self, first: FirstContact, notices: &mut Vec<String>) -> Vec<McpToolAdapter> {
        for refused in &self.refused {
            let why = refused.error.as_deref().unwrap_or_default();
            notices.push(format!("MCP server `{}` is not started: {why}", refused.name));
        }
        if first == FirstContact::Start {
            let unknown = self.servers.iter().filter(|usable| usable.server.accepted_tools().is_empty());
            let contacts =
                unknown.map(|usable| async move { (&usable.entry, self.contact(&usable.server).await) });
            for (entry, contact) in join_all(contacts).await {
                let name = &entry.config.name;
                match contact {
                    Ok(_) => {}
                    Err(McpError::LoginRequired { .. }) => notices
                        .push(format!("MCP server `{name}` {}, so its tools are missing", needs_login(name))),
                    Err(error) => notices.push(format!(
                        "MCP server `{name}` did not start, so its tools are missing: {error}; hint: run `lariat mcp test {name}`"
                    )),
                }
            }
        }
        self.servers.iter().flat_map(|usable| McpToolAdapter::unchecked_from_server(&usable.server)).collect()
    }

    /// Starts a server, and records its tools as accepted if it has no record. Returns how its tools differ from the record.
    ///
    /// # Errors
    /// `None` if no server has this name; otherwise why it did not start.
    pub async fn test(&self, name: &str) -> Option<Result<McpTest, McpError>> {
        let server = &self.find(name)?.server;
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
        let Some(UsableServer { server, .. }) = self.find(name) else { return Ok(()) };
        self.record(server, |record| record.tools = current(server))
    }

    /// Begins a login at a service. `scope` are the scopes to ask for; those of the entry or of the server if `None`.
    ///
    /// # Errors
    /// `None` if no server has this name; otherwise why the user cannot log in.
    pub async fn begin_login(&self, name: &str, scope: Option<&str>) -> Option<Result<McpLogin, McpError>> {
        let UsableServer { entry, login, .. } = self.find(name)?;
        let Some(login) = login else { return Some(Err(no_login(entry))) };
        let mut options = entry.config.login.clone();
        options.scopes = scope.map(str::to_owned).or(options.scopes);
        Some(McpLogin::begin(Arc::clone(login), &options).await)
    }

    /// Removes the login at a service. Returns whether there was one.
    ///
    /// # Errors
    /// `None` if no server has this name; otherwise why the login could not be removed.
    pub async fn logout(&self, name: &str) -> Option<Result<bool, McpError>> {
        let UsableServer { entry, login, .. } = self.find(name)?;
        let Some(login) = login else { return Some(Err(no_login(entry))) };
        Some(login.remove().await)
    }

    /// The names that the model has for the accepted tools of a server.
    pub fn tool_names(&self, name: &str) -> Vec<String> {
        let Some(UsableServer { server, .. }) = self.find(name) else { return Vec::new() };
        McpToolAdapter::from_server(server).0.iter().map(|tool| tool.name().to_owned()).collect()
    }

    /// What a server wrote to standard error when it ran last.
    pub fn log(&self, name: &str) -> Option<String> {
        let UsableServer { entry, .. } = self.find(name)?;
        Some(logs::read(&self.folders, entry.config.identity()))
    }

    /// Ends all servers and saves what they wrote.
    pub async fn close(&self) {
        let close = |server: &Arc<McpServer>| {
            let server = Arc::clone(server);
            async move {
                self.save_log(&server).await;
                if server.state() == McpServerState::NeedsLogin {
                    let _ = self.record(&server, |record| record.needs_login = true);
                }
                self.record_prompts(&server);
                server.close().await;
            }
        };
        join_all(self.servers.iter().map(|usable| close(&usable.server))).await;
    }

    fn find(&self, name: &str) -> Option<&UsableServer> {
        self.servers.iter().find(|usable| usable.entry.config.name == name)
    }

    async fn contact(&self, server: &McpServer) -> Result<McpConnection, McpError> {
        let client = server.connect().await;
        // A server may echo the secrets of its entry.
        let client = client.map_err(|error| error.map_text(|text| self.redactor.text(text).into_owned()));
        if let Err(error) = &client {
            logs::save(&self.folders, server.config().identity(), &format!("{error}\n"));
            if matches!(error, McpError::LoginRequired { .. }) {
                let _ = self.record(server, |record| record.needs_login = true);
            }
        }
        let about = client?.about().clone();
        let known = AcceptedTools::of(&self.folders, server.config().identity()).load();
        if known.is_ok_and(|known| known.tools.is_none() || known.needs_login) {
            // Without a record, the next session starts the server again.
            let _ = self.record(server, |record| {
                record.needs_login = false;
                record.tools.get_or_insert(current(server).unwrap_or_default());
            });
        }
        self.record_prompts(server);
        Ok(about)
    }

    /// Records the prompts and resources of a server that ran, if they changed.
    fn record_prompts(&self, server: &McpServer) {
        let (Some(prompts), Some(resources)) = (server.prompts(), server.resources()) else { return };
        let Ok(known) = AcceptedTools::of(&self.folders, server.config().identity()).load() else { return };
        if known.prompts != prompts || known.resources != resources {
            let _ = self.record(server, |record| (record.prompts, record.resources) = (prompts, resources));
        }
    }

    /// Changes the record of a server.
    fn record(&self, server: &McpServer, change: impl FnOnce(&mut Record)) -> Result<(), String> {
        let accepted = AcceptedTools::of(&self.folders, server.config().identity());
        let changed = accepted.update(&server.config().name, |record| {
            record.era = server.era();
            change(record);
        });
        changed.map_err(|error| error.to_string())
    }

    async fn save_log(&self, server: &McpServer) {
        let text = server.errors().await;
        if !text.is_empty() {
            logs::save(&self.folders, server.config().identity(), &self.redactor.text(&text));
        }
    }
}

/// Records the tools that the user accepts during a session. If that fails, the user is asked again next time.
fn save_accepted(folders: &UserDirectories, entry: &McpEntry) -> SaveAccepted {
    let (folders, config) = (folders.clone(), entry.config.clone());
    Arc::new(move |tools: &[AcceptedTool]| {
        let accepted = AcceptedTools::of(&folders, config.identity());
        let _ = accepted.update(&config.name, |record| record.tools = Some(tools.to_vec()));
    })
}

/// The tools that a server has, as the user accepts them.
fn current(server: &McpServer) -> Option<Vec<AcceptedTool>> {
    Some(server.current_tools()?.into_iter().map(AcceptedTool::from).collect())
}

/// What the user does about a server that wants a login.
fn needs_login(name: &str) -> String {
    format!("needs login: lariat mcp login {name}")
}

/// Why the user cannot log in at a server.
fn no_login(entry: &McpEntry) -> McpError {
    McpError::Login(match entry.config.transport {
        McpTransport::Stdio { .. } => "it is a program, which has no login".to_owned(),
        _ => "its entry has a header `Authorization`, which Lariat sends instead of a login".to_owned(),
    })
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
