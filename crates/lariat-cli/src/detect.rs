//! Finds the API keys and local model servers that this machine already has.
//!
//! `doctor` and the first-run advice use it. It connects to the loopback only, with a short timeout, and only when called.

use std::time::Duration;

use lariat_core::model::ModelConfig;
use lariat_model::protocol::ApiProtocol;
use lariat_service::config::Settings;
use lariat_service::models::{KNOWN, LOCAL_SERVERS, LocalServer, known_provider};
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::keys::KeyFile;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// Timeout for a server on this machine.
const LOCAL_TIMEOUT: Duration = Duration::from_millis(300);
/// Timeout for a server on another machine.
const REMOTE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of a model list, in bytes.
const MAX_LIST_BYTES: u64 = 1024 * 1024;

/// Where a provider's API key is. Never holds the key itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DetectedKey {
    pub(crate) provider: String,
    /// A variable's name, `keyring` or `file`.
    pub(crate) from: String,
}

/// Lists every provider with a key and where the key is. The first source wins, in the order in which a run looks. Does not
/// query the keyring.
pub(crate) fn keys(env: &ProcessEnv, settings: &Settings) -> Result<Vec<DetectedKey>, Problem> {
    let stored = KeyFile::new(env.folders.keys()).load()?;
    let mut names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
    let others = settings.providers.keys().map(String::as_str).chain(stored.keys().map(String::as_str));
    for name in others {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let found = names.into_iter().filter_map(|provider| {
        let named = settings.providers.get(provider).and_then(|provider| provider.key_env.as_deref());
        let usual = known_provider(provider).map(|known| known.variables).unwrap_or_default();
        let mut variables = named.into_iter().chain(usual.iter().copied());
        let variable = variables.find(|name| env.variable(name).is_some());
        let from = match variable {
            Some(name) => name.to_owned(),
            None => stored.get(provider)?.place().to_owned(),
        };
        Some(DetectedKey { provider: provider.to_owned(), from })
    });
    Ok(found.collect())
}

/// A local server that answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DetectedServer {
    /// The provider name in settings.
    pub(crate) name: &'static str,
    /// The product name.
    pub(crate) title: &'static str,
    pub(crate) base_url: String,
    pub(crate) models: Vec<String>,
}

/// Returns the local servers that answer now.
pub(crate) async fn servers(settings: &Settings) -> Vec<DetectedServer> {
    let mut found = Vec::new();
    for server in LOCAL_SERVERS {
        found.extend(probe_server(server, settings).await);
    }
    found
}

async fn probe_server(server: &LocalServer, settings: &Settings) -> Option<DetectedServer> {
    let set = settings.providers.get(server.name).and_then(|provider| provider.base_url.clone());
    let base_url = set.unwrap_or_else(|| server.base_url.to_owned());
    let address = Address::of(&base_url).filter(Address::is_loopback)?;
    let models = timeout(LOCAL_TIMEOUT, list_models(&address)).await.ok()??;
    Some(DetectedServer { name: server.name, title: server.title, base_url, models })
}

/// Lists a server's models. Uses HTTP/1.0, so that the end of the connection ends the response.
async fn list_models(address: &Address) -> Option<Vec<String>> {
    let mut stream = TcpStream::connect((address.host.as_str(), address.port)).await.ok()?;
    let request = format!("GET {}/models HTTP/1.0\r\nHost: {}\r\n\r\n", address.path, address.host);
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut response = Vec::new();
    stream.take(MAX_LIST_BYTES).read_to_end(&mut response).await.ok()?;
    let response = String::from_utf8_lossy(&response);
    let (head, body) = response.split_once("\r\n\r\n")?;
    if head.split(' ').nth(1) != Some("200") {
        return None;
    }
    let body: Value = serde_json::from_str(body).ok()?;
    let models = body.get("data")?.as_array()?.iter();
    Some(models.filter_map(|model| Some(model.get("id")?.as_str()?.to_owned())).collect())
}

/// Returns the URL of a model's provider, or `None` if only the provider's SDK decides it.
pub(crate) fn address(model: &ModelConfig) -> Option<String> {
    let api: ApiProtocol = model.api.parse().ok()?;
    let listing = api.implementation().list_request(model).map(|request| request.url);
    listing.or_else(|| Some(model.base_url.clone()).filter(|url| !url.is_empty()))
}

/// Connects to the host of a URL. Returns `host:port`, or why it failed.
pub(crate) async fn connect(base_url: &str) -> Result<String, String> {
    let address = Address::of(base_url).ok_or_else(|| format!("`{base_url}` is not a valid provider URL"))?;
    let name = format!("{}:{}", address.host, address.port);
    let connected = timeout(REMOTE_TIMEOUT, TcpStream::connect((address.host.as_str(), address.port))).await;
    match connected {
        Ok(Ok(_)) => Ok(name),
        Ok(Err(error)) => Err(format!("could not connect to {name}: {error}")),
        Err(_) => Err(format!("{name} did not answer within {} s", REMOTE_TIMEOUT.as_secs())),
    }
}

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

/// Four lines of advice for a user without a model.
pub(crate) async fn first_steps(settings: &Settings) -> String {
    let variables = KNOWN.iter().take(3).filter_map(|known| known.variables.first().copied());
    let variables = variables.collect::<Vec<_>>().join(", ");
    let local = match servers(settings).await.first() {
        Some(server) => match server.models.first() {
            Some(model) => format!(
                "{} is running here: try `lariat run --model {}/{model} \"…\"`, or make it the default with `lariat config edit`",
                server.title, server.name
            ),
            None => {
                format!("{} is running here, but has no models: download one, then try again", server.title)
            }
        },
        None => {
            let start: Vec<&str> = LOCAL_SERVERS.iter().map(|server| server.title).collect();
            format!("or use a local model: start {}, then run `lariat doctor`", start.join(", "))
        }
    };
    [
        format!("set an API key: {variables} (`lariat auth status` lists more)"),
        "or store one with `lariat auth login anthropic`".to_owned(),
        local,
        "`lariat models list` lists models and prices; `lariat doctor` checks your setup".to_owned(),
    ]
    .join("\n        ")
}

#[cfg(test)]
#[path = "detect_tests.rs"]
mod tests;
