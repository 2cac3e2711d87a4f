//! Starts servers: programs in the sandbox of commands, with a minimal environment and what their entries name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_connect::mcp::{
    McpClient, McpConnector, McpError, McpHttpClient, McpLimits, McpServerConfig, McpTransport, ProtocolEra,
    ServerLogin, ServerSandbox,
};
use lariat_core::BoxFuture;
use lariat_host::process::{Environment, Launch, Supervisor};
use lariat_host::sandbox::{Network, Sandbox};
use lariat_model::http::{ClientConfig, HttpClient};
use lariat_tools::Commands;

use super::logins::reachable;
use crate::UserDirectories;
use crate::configured_entries::EntryScope;
use crate::loaded_project::LoadedProject;

/// Variables that every server gets: to find programs, files of the user, certificates, and to choose a language.
const INHERITED: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Starts a server of a session.
pub(super) struct SandboxedConnector {
    session: Arc<SessionPrograms>,
    scope: EntryScope,
    login: Option<Arc<ServerLogin>>,
}

/// What the servers of a session have in common.
pub(super) struct SessionPrograms {
    /// Not the supervisor of commands, whose programs the model can stop and write to.
    supervisor: Supervisor,
    commands: Commands,
    environment: Environment,
    directory: PathBuf,
    home: PathBuf,
    client: ClientConfig,
}

impl SessionPrograms {
    pub(super) fn new(
        place: &LoadedProject,
        folders: &UserDirectories,
        commands: &Commands,
        inherited: &Environment,
        client: ClientConfig,
    ) -> Arc<Self> {
        let named = INHERITED.iter().filter_map(|name| Some((*name, inherited.value(name)?)));
        let environment = named.fold(Environment::default(), |all, (name, value)| all.with(name, value));
        let untrusted = place.more_directories().into_iter().chain([place.path().to_owned()]);
        Arc::new(Self {
            supervisor: Supervisor::new(),
            commands: commands.clone(),
            environment: environment.with_untrusted_directories(untrusted),
            directory: place.path().to_owned(),
            home: folders.home.clone(),
            client,
        })
    }

    /// A connector for a server of a scope, with its login.
    pub(super) fn connector(
        self: &Arc<Self>,
        scope: EntryScope,
        login: Option<Arc<ServerLogin>>,
    ) -> Arc<dyn McpConnector> {
        Arc::new(SandboxedConnector { session: Arc::clone(self), scope, login })
    }
}

impl SandboxedConnector {
    /// The sandbox of a server; `None` if it runs without one.
    fn sandbox(&self, wanted: &ServerSandbox) -> Result<Option<Sandbox>, McpError> {
        if wanted.enabled == Some(false) {
            return Ok(None);
        }
        let sandbox = match &self.session.commands {
            Commands::Confined(sandbox) => sandbox,
            Commands::Unconfined => return Ok(None),
            _ => {
                return Err(McpError::Transport(
                    "no sandbox works on this machine, so MCP servers do not run; hint: run `lariat doctor`"
                        .to_owned(),
                ));
            }
        };
        let mut policy = sandbox.policy().clone();
        match wanted.network {
            Some(true) => policy.network = Network::On,
            Some(false) => policy.network = Network::Off,
            None => {}
        }
        policy.writable.extend(wanted.writable.iter().map(|path| self.absolute(path)));
        Ok(Some(Sandbox::new(policy, sandbox.backend().clone())))
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("~") {
            Ok(beneath) => self.session.home.join(beneath),
            Err(_) => self.session.directory.join(path),
        }
    }

    async fn open(&self, config: &McpServerConfig, era: Option<ProtocolEra>) -> Result<McpClient, McpError> {
        let limits = McpLimits::new(config.start_timeout, config.call_timeout).with_questions();
        match &config.transport {
            McpTransport::Stdio { command, arguments, environment, directory } => {
                let variables = environment.iter();
                let variables = variables
                    .fold(self.session.environment.clone(), |all, (name, value)| all.with(name, value));
                let directory =
                    directory.as_deref().map_or(self.session.directory.clone(), |path| self.absolute(path));
                let mut launch =
                    Launch::new(command, directory).with_arguments(arguments).with_environment(variables);
                if let Some(sandbox) = self.sandbox(&config.sandbox)? {
                    launch = launch.with_sandbox(sandbox);
                }
                McpClient::start(&self.session.supervisor, launch, era, limits).await
            }
            McpTransport::Http { url, headers } | McpTransport::Sse { url, headers } => {
                let addresses = Arc::new(reachable(self.scope));
                let http = HttpClient::new(self.session.client.clone()).with_address_check(addresses);
                let mut client = McpHttpClient::from(http);
                if let Some(login) = &self.login {
                    client = client.with_login(Arc::clone(login));
                }
                match config.transport {
                    McpTransport::Sse { .. } => McpClient::connect_sse(client, url, headers, limits).await,
                    _ => McpClient::connect_service(client, url, headers, era, limits).await,
                }
            }
            other => Err(McpError::Transport(format!(
                "this version does not support the transport `{}`",
                other.name()
            ))),
        }
    }
}

impl McpConnector for SandboxedConnector {
    fn connect<'a>(
        &'a self,
        config: &'a McpServerConfig,
        era: Option<ProtocolEra>,
    ) -> BoxFuture<'a, Result<McpClient, McpError>> {
        Box::pin(self.open(config, era))
    }
}
