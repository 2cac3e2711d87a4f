//! The parts of the product that connect to addresses that others write: each makes one request.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lariat::otlp::{Otlp, OtlpConfig};
use lariat_connect::mcp::{McpClient, McpLimits, ReachableAddresses};
use lariat_core::cancel::CancellationToken;
use lariat_core::id::{LoopId, SessionId};
use lariat_core::tool::{AgentTool, ToolContext};
use lariat_host::files::Workspace;
use lariat_host::process::{Environment, Launch, LaunchHelper, Supervisor};
use lariat_host::sandbox::{Backend, Destination, Network, Policy, Sandbox};
use lariat_model::http::{ClientConfig, HttpClient, Post, post};
use lariat_runtime::Agent;
use lariat_test::{Reply, ScriptedModel};
use lariat_tools::{Commands, Workbench, default_tools};
use serde_json::json;

use super::cases::{CHANGING, Case, CaseKind};
use super::world::ZONE;

/// Longest time for one request.
const TIME: Duration = Duration::from_secs(5);
/// Longest time for all requests of a sandboxed program.
const TIME_FOR_ALL: Duration = Duration::from_secs(120);

/// A part of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// The tool `fetch`.
    Fetch,
    /// The proxy of a sandbox that lists all names of the zone.
    Proxy,
    /// A hook by HTTP. The user wrote its address, so only redirects are hostile.
    Hook,
    /// A collector of telemetry, likewise.
    Telemetry,
    /// An MCP server of a project.
    Mcp,
}

impl Client {
    pub(crate) const ALL: [Self; 5] = [Self::Fetch, Self::Proxy, Self::Hook, Self::Telemetry, Self::Mcp];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
            Self::Proxy => "the sandbox's proxy",
            Self::Hook => "hooks",
            Self::Telemetry => "OTLP",
            Self::Mcp => "MCP",
        }
    }

    /// Whether a case concerns this part.
    pub(crate) fn takes(self, case: &Case) -> bool {
        match self {
            Self::Fetch => true,
            // A project may name this machine for its server.
            Self::Mcp => {
                !["//localhost", "//127.0.0.1/", "//[::1]/"].iter().any(|host| case.url.contains(host))
            }
            // Only names are listed, and the proxy follows no redirect: that is up to the program.
            Self::Proxy => {
                case.kind != CaseKind::Redirect && (case.kind != CaseKind::Public || case.url.contains(ZONE))
            }
            Self::Hook => case.kind == CaseKind::Redirect,
            // Several requests go to the name that the user wrote, which may get another address.
            Self::Telemetry => case.kind == CaseKind::Redirect && !case.url.contains(CHANGING),
        }
    }
}

/// A mistake of this proof's own: the part is configured so that it reaches what it must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planted {
    /// `fetch` may reach an internal name.
    FetchKnowsTheName,
    /// The user listed an internal address.
    ProxyListsTheAddress,
    /// The server of a project is treated as the user's.
    McpReachesAll,
    /// A client that checks a name and then resolves it again.
    ResolvesTwice,
    /// A client that follows redirects.
    FollowsRedirects,
}

impl Planted {
    pub(crate) const ALL: [Self; 5] = [
        Self::FetchKnowsTheName,
        Self::ProxyListsTheAddress,
        Self::McpReachesAll,
        Self::ResolvesTwice,
        Self::FollowsRedirects,
    ];

    /// The part whose requests must show it.
    pub(crate) const fn client(self) -> Client {
        match self {
            Self::FetchKnowsTheName | Self::ResolvesTwice => Client::Fetch,
            Self::ProxyListsTheAddress => Client::Proxy,
            Self::McpReachesAll => Client::Mcp,
            Self::FollowsRedirects => Client::Hook,
        }
    }
}

/// Makes requests.
pub(crate) struct Clients {
    place: PathBuf,
    backend: Backend,
    planted: Option<Planted>,
    fetch: Arc<dyn AgentTool>,
}

impl Clients {
    pub(crate) fn new(place: &Path, backend: Backend, planted: Option<Planted>) -> Result<Self, String> {
        let workspace = place.join("workspace");
        std::fs::create_dir_all(&workspace).map_err(|error| error.to_string())?;
        let opened = Workspace::open(&workspace).map_err(|error| error.to_string())?;
        let mut bench = Workbench::new(opened).with_commands(Commands::Unconfined);
        if planted == Some(Planted::FetchKnowsTheName) {
            bench = bench.with_internal_host(format!("v4-10-0-0-1.{ZONE}"));
        }
        let fetch = default_tools(&bench).into_iter().find(|tool| tool.name() == "fetch");
        let fetch = fetch.ok_or("the built-in tools do not include `fetch`")?;
        Ok(Self { place: workspace, backend, planted, fetch })
    }

    /// Makes the request of a case. What comes of it does not matter: the listener judges.
    pub(crate) async fn request(&self, client: Client, case: &Case) {
        let url = case.url.as_str();
        let requested = async {
            match (self.planted, client) {
                (Some(Planted::ResolvesTwice), _) => resolve_twice(url).await,
                (Some(Planted::FollowsRedirects), _) => follow(url).await,
                (_, Client::Fetch) => drop(self.fetch.execute(json!({ "url": url }), context()).await),
                (_, Client::Hook) => {
                    let post_request = Post {
                        url: url.to_owned(),
                        headers: Vec::new(),
                        body: "{}".to_owned(),
                        timeout: TIME,
                        limit: 1000,
                    };
                    drop(post(&HttpClient::new(ClientConfig::default()), post_request).await);
                }
                (_, Client::Telemetry) => export(url).await,
                (planted, Client::Mcp) => {
                    let reachable = match planted {
                        Some(Planted::McpReachesAll) => ReachableAddresses::All,
                        _ => ReachableAddresses::PublicAndNamedLoopback,
                    };
                    let http =
                        HttpClient::new(ClientConfig::default()).with_address_check(Arc::new(reachable));
                    let limits = McpLimits::new(TIME, TIME);
                    drop(McpClient::connect_service(http, url, &BTreeMap::new(), None, limits).await);
                }
                (_, Client::Proxy) => {}
            }
        };
        let _ = tokio::time::timeout(TIME, Box::pin(requested)).await;
    }

    /// Makes the requests of all cases from a sandboxed program, each as a request and as a tunnel.
    pub(crate) async fn request_from_sandbox(&self, cases: &[&Case]) -> Result<(), String> {
        let list: String = cases.iter().map(|case| format!("{}\n", case.url)).collect();
        std::fs::write(self.place.join("list"), list).map_err(|error| error.to_string())?;
        let mut listed = vec![Destination::host(format!("*.{ZONE}")), Destination::host("localhost")];
        if self.planted == Some(Planted::ProxyListsTheAddress) {
            listed.push(Destination::host("10.0.0.1"));
        }
        let policy = Policy::workspace(&self.place, None).with_network(Network::Only(listed));
        let environment = Environment::default().with("PATH", "/usr/bin:/bin");
        let launch = Launch::new("/usr/bin/python3", &self.place)
            .with_arguments(["-c", PROGRAM])
            .with_environment(environment)
            .with_time(Some(TIME_FOR_ALL))
            .with_sandbox(Sandbox::new(policy, self.backend.clone()));
        let supervisor = Supervisor::with_launch_helper(LaunchHelper::current_executable());
        let ran =
            supervisor.run(launch, &CancellationToken::new()).await.map_err(|error| error.to_string())?;
        let text = ran.output.text();
        let expected = format!("asked {}", cases.len());
        if text.contains(&expected) {
            Ok(())
        } else {
            Err(format!("the sandboxed program did not finish: {text}"))
        }
    }
}

/// Sends every address of `list` to the proxy, as a request and as a tunnel.
const PROGRAM: &str = r#"
import os, socket, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["HTTP_PROXY"])
def say(text, then=None):
    s = socket.create_connection((proxy.hostname, proxy.port), 5); s.settimeout(5)
    try:
        s.sendall(text.encode()); got = s.recv(100)
        if then and b" 200 " in got: s.sendall(then.encode()); s.recv(100)
    except OSError: pass
    finally: s.close()
count = 0
for url in open("list", encoding="utf-8"):
    url = url.strip(); count += 1
    host = url.split("/")[2]
    say("GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % url)
    port = "" if ":" in host.rsplit("]", 1)[-1] else ":80"
    say("CONNECT %s%s HTTP/1.1\r\n\r\n" % (host, port), "GET /tunnel HTTP/1.1\r\n\r\n")
print("asked", count)
"#;

fn context() -> ToolContext {
    let (session, loop_id) = (SessionId::from("s"), LoopId::from("l"));
    ToolContext::new("call".into(), "fetch", session, loop_id, CancellationToken::new())
}

/// Exports the telemetry of a short run.
async fn export(url: &str) {
    let otlp = Otlp::start(OtlpConfig::new(url));
    let model = ScriptedModel::new([Reply::text("done")]);
    if let Ok(agent) = Agent::builder().model(model).observer(otlp.clone()).build() {
        drop(agent.run("hi").await);
    }
    otlp.flush().await;
}

/// Checks the addresses of a name, then connects to the name.
async fn resolve_twice(url: &str) {
    let host = url.split('/').nth(2).unwrap_or_default().to_owned();
    let Ok(mut found) = tokio::net::lookup_host((host.as_str(), 80)).await else { return };
    if found.all(|address| !super::cases::is_forbidden(address.ip())) {
        drop(tokio::net::TcpStream::connect((host.as_str(), 80)).await);
    }
}

/// Follows one redirect without a check of its target.
async fn follow(url: &str) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let host = url.split('/').nth(2).unwrap_or_default();
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    let Ok(mut stream) = tokio::net::TcpStream::connect((host, 80)).await else { return };
    let _ = stream.write_all(format!("GET /{path} HTTP/1.1\r\n\r\n").as_bytes()).await;
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    let target = answer.lines().find_map(|line| line.strip_prefix("Location: http://"));
    let target = target.and_then(|target| target.split('/').next());
    if let Some(target) = target {
        let target = if target.contains(':') { target.to_owned() } else { format!("{target}:80") };
        drop(tokio::net::TcpStream::connect(target).await);
    }
}
