//! Finds the API keys and local model servers that this machine already has.
//!
//! `doctor` and the first-run advice use it. It connects to the loopback only, with a short timeout, and only when called.

use std::time::Duration;

use lariat_service::config::Settings;
use lariat_service::mcp::LOGIN_PREFIX;
use lariat_service::model_servers::local_models;
use lariat_service::models::{KNOWN, LOCAL_SERVERS, LocalServer, known_provider};
use serde::Serialize;
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::{Host, Url};

use crate::keys::KeyFile;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// Timeout for a server on another machine.
const REMOTE_TIMEOUT: Duration = Duration::from_secs(2);

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
    let stored_names = stored.keys().map(String::as_str).filter(|name| !name.starts_with(LOGIN_PREFIX));
    let others = settings.providers.keys().map(String::as_str).chain(stored_names);
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
    Url::parse(&base_url).ok().filter(is_loopback)?;
    let models = local_models(server.name, &base_url).await?;
    Some(DetectedServer { name: server.name, title: server.title, base_url, models })
}

/// Connects to the host of a URL. Returns `host:port`, or why it failed.
pub(crate) async fn connect(base_url: &str) -> Result<String, String> {
    let (host, port) =
        host_and_port(base_url).ok_or_else(|| format!("`{base_url}` is not a valid provider URL"))?;
    let name = format!("{host}:{port}");
    match timeout(REMOTE_TIMEOUT, TcpStream::connect((host.as_str(), port))).await {
        Ok(Ok(_)) => Ok(name),
        Ok(Err(error)) => Err(format!("could not connect to {name}: {error}")),
        Err(_) => Err(format!("{name} did not answer within {} s", REMOTE_TIMEOUT.as_secs())),
    }
}

/// Returns the host, without the brackets of an IPv6 address, and the port of a provider's URL.
fn host_and_port(url: &str) -> Option<(String, u16)> {
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    Some((host, url.port_or_known_default()?))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
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
mod tests {
    use super::*;

    #[test]
    fn parses_provider_urls() {
        for (url, host, port) in [
            ("http://127.0.0.1:11434/v1", "127.0.0.1", 11434),
            ("https://api.example.com", "api.example.com", 443),
            ("http://localhost/v1/", "localhost", 80),
            ("http://user:word@127.0.0.1:81/x", "127.0.0.1", 81),
            ("http://[::1]:8080/v1", "::1", 8080),
        ] {
            assert_eq!(host_and_port(url), Some((host.to_owned(), port)), "{url}");
        }
        for wrong in ["", "127.0.0.1:80", "ftp://127.0.0.1", "http://", "http://h:port/"] {
            assert_eq!(host_and_port(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn recognizes_loopback_hosts_only() {
        for (url, is_here) in [
            ("http://127.0.0.1:1/v1", true),
            ("http://localhost:1/v1", true),
            ("http://[::1]:1/v1", true),
            ("http://127.0.0.1@example.com/v1", false),
            ("http://localhost.example.com/v1", false),
            ("http://10.0.0.1/v1", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), is_here, "{url}");
        }
    }
}
