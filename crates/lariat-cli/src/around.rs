//! What there is to use on this machine: keys in variables and those that were stored, servers that run models here.
//!
//! Shared by `doctor` and by the advice for a first run. Reaches the loopback only, for a moment, and only when it is asked.

use std::time::Duration;

use lariat_core::model::ModelConfig;
use lariat_model::protocol::ApiProtocol;
use lariat_service::config::Config;
use lariat_service::models::{KNOWN, LOCAL_SERVERS, LocalServer, known_provider};
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::keys::KeyFile;
use crate::problem::Problem;
use crate::world::World;

/// How long a server on this machine may take to answer.
const LOCAL: Duration = Duration::from_millis(300);
/// How long another machine may take.
const REMOTE: Duration = Duration::from_secs(2);
/// Bytes of a list of models that are read.
const LONGEST: u64 = 1024 * 1024;

/// A key that was found. Never its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FoundKey {
    /// The service it is for.
    pub(crate) provider: String,
    /// Where it is: a variable's name, `keyring` or `file`.
    pub(crate) from: String,
}

/// Every service that has a key, with where it is. What is looked at first counts. The keyring itself is not asked.
pub(crate) fn keys(world: &World, config: &Config) -> Result<Vec<FoundKey>, Problem> {
    let stored = KeyFile::new(world.folders.keys()).load()?;
    let own = config.names_in("providers");
    let mut names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
    let others = own.iter().map(String::as_str).chain(stored.keys().map(String::as_str));
    for name in others {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let found = names.into_iter().filter_map(|provider| {
        let named = config.text(&format!("providers.{provider}.key_env"));
        let usual = known_provider(provider).map(|known| known.variables).unwrap_or_default();
        let mut variables = named.as_deref().into_iter().chain(usual.iter().copied());
        let variable = variables.find(|name| world.variable(name).is_some());
        let from = match variable {
            Some(name) => name.to_owned(),
            None => stored.get(provider)?.place().to_owned(),
        };
        Some(FoundKey { provider: provider.to_owned(), from })
    });
    Ok(found.collect())
}

/// A server that runs models on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FoundServer {
    /// The name of its service.
    pub(crate) name: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    /// Where it is.
    pub(crate) base_url: String,
    /// The models it has.
    pub(crate) models: Vec<String>,
}

/// The servers that answer on this machine.
pub(crate) async fn servers(config: &Config) -> Vec<FoundServer> {
    let mut found = Vec::new();
    for server in LOCAL_SERVERS {
        found.extend(look(server, config).await);
    }
    found
}

async fn look(server: &LocalServer, config: &Config) -> Option<FoundServer> {
    let set = config.text(&format!("providers.{}.base_url", server.name));
    let base_url = set.unwrap_or_else(|| server.base_url.to_owned());
    let address = Address::of(&base_url).filter(Address::is_loopback)?;
    let models = timeout(LOCAL, listed(&address)).await.ok()??;
    Some(FoundServer { name: server.name, title: server.title, base_url, models })
}

/// The models that a server lists. Asked in HTTP/1.0, so that the answer is as long as the connection.
async fn listed(address: &Address) -> Option<Vec<String>> {
    let mut stream = TcpStream::connect((address.host.as_str(), address.port)).await.ok()?;
    let asked = format!("GET {}/models HTTP/1.0\r\nHost: {}\r\n\r\n", address.path, address.host);
    stream.write_all(asked.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(LONGEST).read_to_end(&mut answer).await.ok()?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n")?;
    if head.split(' ').nth(1) != Some("200") {
        return None;
    }
    let body: Value = serde_json::from_str(body).ok()?;
    let models = body.get("data")?.as_array()?.iter();
    Some(models.filter_map(|model| Some(model.get("id")?.as_str()?.to_owned())).collect())
}

/// Where the service of a model is; none when nobody knows before it is asked.
pub(crate) fn address(model: &ModelConfig) -> Option<String> {
    let api: ApiProtocol = model.api.parse().ok()?;
    let listing = api.implementation().list_request(model).map(|request| request.url);
    listing.or_else(|| Some(model.base_url.clone()).filter(|url| !url.is_empty()))
}

/// Whether the host of an address can be reached.
pub(crate) async fn reach(base_url: &str) -> Result<String, String> {
    let address = Address::of(base_url).ok_or_else(|| format!("`{base_url}` is no address of a service"))?;
    let name = format!("{}:{}", address.host, address.port);
    let connected = timeout(REMOTE, TcpStream::connect((address.host.as_str(), address.port))).await;
    match connected {
        Ok(Ok(_)) => Ok(name),
        Ok(Err(error)) => Err(format!("{name} cannot be reached: {error}")),
        Err(_) => Err(format!("{name} does not answer within {} s", REMOTE.as_secs())),
    }
}

/// The parts of an address that matter here.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    host: String,
    port: u16,
    path: String,
}

impl Address {
    fn of(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let usual = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let authority = authority.rsplit('@').next()?;
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']')?;
                (host, rest.strip_prefix(':'))
            }
            None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Some(usual), |port| port.parse().ok())?;
        let path = path.trim_end_matches('/').to_owned();
        (!host.is_empty()).then(|| Self { host: host.to_owned(), port, path })
    }

    fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self.host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
    }
}

/// What to do when no model is set up, in four lines.
pub(crate) async fn first_steps(config: &Config) -> String {
    let variables = KNOWN.iter().take(3).filter_map(|known| known.variables.first().copied());
    let variables = variables.collect::<Vec<_>>().join(", ");
    let local = match servers(config).await.first() {
        Some(server) => match server.models.first() {
            Some(model) => format!(
                "{} runs here: `lariat run --model {}/{model} \"…\"`, or keep it: `lariat config edit`",
                server.title, server.name
            ),
            None => format!("{} runs here, but has no model yet: get one, then try again", server.title),
        },
        None => {
            let start: Vec<&str> = LOCAL_SERVERS.iter().map(|server| server.title).collect();
            format!("or without a key: start {}, then `lariat doctor`", start.join(", "))
        }
    };
    [
        format!("set a key: {variables} (`lariat auth status` knows more)"),
        "or store one: `lariat auth login anthropic`".to_owned(),
        local,
        "`lariat models list` shows models and prices; `lariat doctor` looks at everything".to_owned(),
    ]
    .join("\n        ")
}

#[cfg(test)]
#[path = "around_tests.rs"]
mod tests;
