//! Proves that no request reaches a forbidden address. Called by `cargo xtask egress`.
//!
//! Runs in a network in which every address is this machine, with a resolver that gives names other addresses the second
//! time. `fetch`, the proxy of the sandbox, hooks, OTLP and MCP get addresses in every notation, names and
//! redirects; the listener judges by the address that was connected to. Public addresses must be reached.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool looks at the world from outside: files, processes and the wall clock"
)]

mod cases;
mod clients;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use lariat_host::process::Environment;
use lariat_host::sandbox_probe::probe;
use lariat_proofs::proof::{ended, option};

use cases::{Case, CaseKind, is_forbidden};
use clients::{Client, Clients, Planted};
use world::{Hit, SITE, World};

const USAGE: &str = "\
usage: egress              send every request through every part of the product
       egress --planted    check that misconfigured parts are noticed";

fn main() -> ExitCode {
    lariat_host::process::LaunchHelper::serve_if_requested();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = match words.split_first() {
        Some((&"inside", options)) => inside(options),
        _ => outside(&words),
    };
    ended(ran, USAGE)
}

/// Starts this program again in a network of its own.
fn outside(options: &[&str]) -> Result<bool, String> {
    let place = PathBuf::from("/var/tmp").join(format!("lariat-egress-{}", std::process::id()));
    std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    let mut command = world::restart_inside(&place)?;
    command.args(["inside", "--place"]).arg(&place).args(options);
    let status = command.status().map_err(|error| error.to_string());
    let _ = std::fs::remove_dir_all(&place);
    Ok(status?.success())
}

fn inside(options: &[&str]) -> Result<bool, String> {
    let place = PathBuf::from(option(options, "--place").ok_or("where?")?);
    let world = World::open()?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        match options.contains(&"--planted") {
            true => planted(&world, &place).await,
            false => all(&world, &place).await,
        }
    })
}

/// What the requests of one part did.
#[derive(Default)]
struct Verdict {
    requests: usize,
    connections: usize,
    /// Connections that must not be, with the case before them.
    escapes: Vec<String>,
    /// Public addresses that were not reached.
    unreached: Vec<String>,
}

impl Verdict {
    fn judge(&mut self, client: Client, case: &str, hits: &[Hit]) {
        self.connections += hits.len();
        for hit in hits {
            // Hooks and telemetry are sent where the user said, and nowhere else.
            let is_followed =
                matches!(client, Client::Hook | Client::Telemetry) && hit.line.contains("/secret");
            if is_forbidden(hit.peer) || is_followed {
                self.escapes.push(format!("{}: {case}: connected to {hit}", client.name()));
            }
        }
    }
}

async fn clients(place: &std::path::Path, planted: Option<Planted>) -> Result<Clients, String> {
    let environment = Environment::from_inherited(std::env::vars_os());
    let found = probe(&place.join("probe"), &environment).await;
    let backend =
        found.backends.into_iter().next().ok_or_else(|| format!("no sandbox: {:?}", found.refused))?;
    Clients::new(place, backend, planted)
}

/// Makes all requests of a part.
async fn run(world: &World, clients: &Clients, client: Client) -> Result<Verdict, String> {
    let cases: Vec<Case> = cases::all().into_iter().filter(|case| client.takes(case)).collect();
    let mut verdict = Verdict { requests: cases.len(), ..Verdict::default() };
    drop(world.hits());
    // Otherwise the requests of an earlier part would have used up the first addresses.
    world.forget_queries();
    if client == Client::Proxy {
        clients.request_from_sandbox(&cases.iter().collect::<Vec<_>>()).await?;
        let hits = settled(world, Vec::new()).await;
        verdict.judge(client, "all", &hits);
        let wanted = cases.iter().filter(|case| case.kind == CaseKind::Public).count();
        let reached = hits.iter().filter(|hit| !is_forbidden(hit.peer)).count();
        if reached < wanted {
            verdict.unreached.push(format!("{}: {reached} of {wanted} public names", client.name()));
        }
        return Ok(verdict);
    }
    for case in &cases {
        clients.request(client, case).await;
        let mut hits = world.hits();
        if case.kind == CaseKind::Public && hits.is_empty() {
            hits = settled(world, hits).await;
        }
        if case.kind == CaseKind::Public && hits.is_empty() {
            verdict.unreached.push(format!("{}: {}", client.name(), case.url));
        }
        verdict.judge(client, &case.url, &hits);
    }
    verdict.judge(client, "the last cases", &settled(world, Vec::new()).await);
    Ok(verdict)
}

/// The connections, once those that were just made are accepted.
async fn settled(world: &World, mut hits: Vec<Hit>) -> Vec<Hit> {
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    hits.extend(world.hits());
    hits
}

async fn all(world: &World, place: &std::path::Path) -> Result<bool, String> {
    let started = Instant::now();
    let clients = clients(place, None).await?;
    let (mut requests, mut connections, mut escapes, mut unreached) = (0, 0, 0, 0);
    for client in Client::ALL {
        let verdict = run(world, &clients, client).await?;
        for fault in verdict.escapes.iter().chain(&verdict.unreached).take(20) {
            println!("{fault}");
        }
        println!(
            "{}: {} requests, {} connections, {} to forbidden peers, {} public addresses not reached",
            client.name(),
            verdict.requests,
            verdict.connections,
            verdict.escapes.len(),
            verdict.unreached.len()
        );
        requests += verdict.requests;
        connections += verdict.connections;
        escapes += verdict.escapes.len();
        unreached += verdict.unreached.len();
    }
    let (cases, seconds) = (cases::all().len(), started.elapsed().as_secs_f64());
    println!(
        "{cases} addresses and redirects, {requests} requests, {connections} connections (site {SITE}), {escapes} to \
         forbidden peers, {unreached} public addresses not reached ({seconds:.1} s)"
    );
    Ok(escapes == 0 && unreached == 0)
}

/// Every misconfigured part must be noticed, and by a connection.
async fn planted(world: &World, place: &std::path::Path) -> Result<bool, String> {
    let mut caught = 0;
    for mistake in Planted::ALL {
        let clients = clients(place, Some(mistake)).await?;
        let verdict = run(world, &clients, mistake.client()).await?;
        match verdict.escapes.first() {
            Some(escape) => {
                caught += 1;
                println!("{mistake:?}: noticed, {} escapes, the first: {escape}", verdict.escapes.len());
            }
            None => println!("{mistake:?}: NOT NOTICED"),
        }
    }
    println!("{caught} of {} planted mistakes caught", Planted::ALL.len());
    Ok(caught == Planted::ALL.len())
}
