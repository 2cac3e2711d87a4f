//! One configured server: what to start or contact, with its variables expanded, and its identity.
//!
//! Reads the entries of `.mcp.json`, of `mcpServers` in settings and of `mcp_servers` in `lariat.toml`, which have the same
//! fields. Invariant: the identity covers the text of every field that decides what runs or is contacted.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::login::LoginOptions;
use super::variables::expand;

/// How long a server may take to start and to list its tools.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a tool call may take without progress.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(300);
/// Maximum length of a server's name: with a tool's name it must fit into 64 characters.
const MAX_NAME: usize = 32;

/// How many characters of the hash of an address the name of a login has.
const LOGIN_HASH: usize = 16;

/// Why an entry cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("MCP server `{name}`: {reason}")]
pub struct McpConfigError {
    /// The name of the entry.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

/// One configured server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpServerConfig {
    /// Its name: letters, digits, `-` and `_`.
    pub name: String,
    /// How to reach it.
    pub transport: McpTransport,
    /// How long it may take to start and to list its tools.
    pub start_timeout: Duration,
    /// How long a tool call may take without progress.
    pub call_timeout: Duration,
    /// How its sandbox differs from that of commands.
    pub sandbox: ServerSandbox,
    /// How to log in to a service.
    pub login: LoginOptions,
    identity: String,
}

/// How to reach a server.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpTransport {
    /// A program that reads messages from standard input and writes them to standard output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// The variables that it gets, besides those that find programs and choose a language.
        environment: BTreeMap<String, String>,
        /// Its working directory; that of the session if `None`.
        directory: Option<PathBuf>,
    },
    /// A service that speaks streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers of each request.
        headers: BTreeMap<String, String>,
    },
    /// A service that speaks the older HTTP with server-sent events.
    Sse {
        /// Its address.
        url: String,
        /// Headers of each request.
        headers: BTreeMap<String, String>,
    },
}

impl McpTransport {
    /// The name of the transport, as entries write it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
            Self::Sse { .. } => "sse",
        }
    }

    /// The command line, or the address, without values of variables and headers.
    pub fn target(&self) -> String {
        match self {
            Self::Stdio { command, arguments, .. } => {
                let words = std::iter::once(command.as_str()).chain(arguments.iter().map(String::as_str));
                words.collect::<Vec<_>>().join(" ")
            }
            Self::Http { url, .. } | Self::Sse { url, .. } => url.clone(),
        }
    }
}

/// Shows names of variables and headers, not their values, which may be secret.
impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = match self {
            Self::Stdio { environment, .. } => environment.keys().collect(),
            Self::Http { headers, .. } | Self::Sse { headers, .. } => headers.keys().collect(),
        };
        f.debug_struct(self.name()).field("target", &self.target()).field("names", &names).finish()
    }
}

/// How the sandbox of a server differs from that of commands. Applies only to entries of the user's own settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ServerSandbox {
    /// Whether the server runs in a sandbox; as commands do if `None`.
    pub enabled: Option<bool>,
    /// Whether it may use the network; as commands do if `None`.
    pub network: Option<bool>,
    /// Directories that it may write, besides those that commands may write. A leading `~/` is the home directory.
    pub writable: Vec<PathBuf>,
}

/// How to log in to a service, as Claude Code writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OAuthEntry {
    client_id: Option<String>,
    client_secret: Option<String>,
    callback_port: Option<u16>,
    scopes: Option<String>,
    auth_server_metadata_url: Option<String>,
}

/// The fields of an entry. Other programs add fields of their own, so unknown ones are ignored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct RawEntry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    #[serde(rename = "headersHelper")]
    headers_helper: Option<String>,
    /// In milliseconds.
    timeout: Option<u64>,
    /// In milliseconds.
    #[serde(alias = "startTimeout")]
    start_timeout: Option<u64>,
    oauth: OAuthEntry,
    sandbox: ServerSandbox,
}

impl McpServerConfig {
    /// Reads an entry. `value` returns the value of a variable. `scope` is part of the identity: two scopes with the same
    /// entry are two servers.
    ///
    /// # Errors
    /// If a field is missing, empty or invalid, or a variable has no value.
    pub fn parse(
        name: &str,
        entry: &Value,
        scope: &str,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, McpConfigError> {
        let failed = |reason: String| McpConfigError { name: name.to_owned(), reason };
        check_name(name).map_err(failed)?;
        let written: RawEntry = RawEntry::deserialize(entry).map_err(|error| failed(error.to_string()))?;
        if written.headers_helper.is_some() {
            return Err(failed("`headersHelper` is not supported; write `headers`".to_owned()));
        }
        let text = |text: &str| {
            expand(text, value).map_err(|missing| failed(format!("the variable `{missing}` is not set")))
        };
        let filled = |field: &str, written: &str| match text(written)? {
            expanded if expanded.trim().is_empty() => Err(failed(format!("`{field}` is empty"))),
            expanded => Ok(expanded),
        };
        let each = |map: &BTreeMap<String, String>| {
            map.iter().map(|(key, value)| Ok((key.clone(), text(value)?))).collect::<Result<_, _>>()
        };
        let kind = written.kind.as_deref();
        let url = || match &written.url {
            Some(url) => filled("url", url),
            None => Err(failed("`url` is missing".to_owned())),
        };
        let transport = match (kind, &written.command, &written.url) {
            (Some("stdio") | None, Some(command), None) => McpTransport::Stdio {
                command: filled("command", command)?,
                arguments: written.args.iter().map(|argument| text(argument)).collect::<Result<_, _>>()?,
                environment: each(&written.env)?,
                directory: written.cwd.as_deref().map(text).transpose()?.map(PathBuf::from),
            },
            (Some("http" | "streamable-http"), None, _) => {
                McpTransport::Http { url: url()?, headers: each(&written.headers)? }
            }
            (Some("sse"), None, _) => McpTransport::Sse { url: url()?, headers: each(&written.headers)? },
            (Some("stdio") | None, None, None) => return Err(failed("`command` is missing".to_owned())),
            (None, None, Some(_)) => {
                return Err(failed("`url` needs `\"type\": \"http\"` or `\"type\": \"sse\"`".to_owned()));
            }
            (None | Some("stdio" | "http" | "streamable-http" | "sse"), _, _) => {
                return Err(failed("an entry has either `command` or `url`, as its `type` says".to_owned()));
            }
            (Some(other), _, _) => {
                return Err(failed(format!(
                    "the transport `{other}` is not supported; use stdio, http or sse"
                )));
            }
        };
        let headers = match &transport {
            McpTransport::Http { headers, .. } | McpTransport::Sse { headers, .. } => headers.clone(),
            McpTransport::Stdio { .. } => BTreeMap::new(),
        };
        let OAuthEntry { client_id, client_secret, callback_port, scopes, auth_server_metadata_url } =
            written.oauth.clone();
        let login = LoginOptions {
            client_id: client_id.as_deref().map(text).transpose()?,
            client_secret: client_secret.as_deref().map(text).transpose()?,
            callback_port,
            scopes,
            metadata_url: auth_server_metadata_url,
            headers,
        };
        let time = |milliseconds: Option<u64>, default| {
            milliseconds.filter(|limit| *limit > 0).map_or(default, Duration::from_millis)
        };
        Ok(Self {
            name: name.to_owned(),
            transport,
            start_timeout: time(written.start_timeout, START_TIMEOUT),
            call_timeout: time(written.timeout, CALL_TIMEOUT),
            sandbox: written.sandbox.clone(),
            login,
            identity: identity(name, scope, &written),
        })
    }

    /// A hash of the scope, the name and the text of the command, arguments, variables, working directory, address, headers
    /// and authorization server. The values of `${VAR}` are not part of it, so that a new token is not a new server.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The identity of an entry whose variables need not have values.
    ///
    /// # Errors
    /// If the entry cannot be read.
    pub fn identity_of(name: &str, entry: &Value, scope: &str) -> Result<String, McpConfigError> {
        let read = RawEntry::deserialize(entry);
        let failed =
            |error: serde_json::Error| McpConfigError { name: name.to_owned(), reason: error.to_string() };
        Ok(identity(name, scope, &read.map_err(failed)?))
    }

    /// The name under which the login of the user is stored: the server's name and a hash of its address, so that a server
    /// of the same name at another address has another login.
    pub fn login_name(&self) -> String {
        let hash = blake3::hash(self.transport.target().as_bytes()).to_hex();
        format!("{}.{}", self.name, hash.chars().take(LOGIN_HASH).collect::<String>())
    }
}

/// Checks that rules can name the server: with `__` in it, `mcp__a__b` could be a tool of `a` or the server `a__b`.
fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
        return Err(format!("a name has 1 to {MAX_NAME} letters, digits, `-` or `_`"));
    }
    if name.contains("__") || name.starts_with('_') || name.ends_with('_') {
        return Err("a name does not contain `__`, and does not start or end with `_`".to_owned());
    }
    Ok(())
}

fn identity(name: &str, scope: &str, entry: &RawEntry) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |field: &str, text: &str| {
        for part in [field, text] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    };
    add("scope", scope);
    add("name", name);
    let single =
        [("type", &entry.kind), ("command", &entry.command), ("cwd", &entry.cwd), ("url", &entry.url)];
    for (field, text) in single {
        if let Some(text) = text {
            add(field, text);
        }
    }
    entry.args.iter().for_each(|argument| add("argument", argument));
    for (field, map) in [("env", &entry.env), ("header", &entry.headers)] {
        for (key, value) in map {
            add(field, key);
            add("value", value);
        }
    }
    let oauth = &entry.oauth;
    let login = [
        ("client", &oauth.client_id),
        ("client_secret", &oauth.client_secret),
        ("metadata", &oauth.auth_server_metadata_url),
    ];
    for (field, text) in login {
        if let Some(text) = text {
            add(field, text);
        }
    }
    hasher.finalize().to_hex().to_string()
}
