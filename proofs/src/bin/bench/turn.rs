//! Compares a turn of the whole runtime with the minimum it needs: a bare HTTP call and a bare durable
//! insert.
//!
//! Our side is an agent with a scripted model over loopback HTTP, a durable SQLite store and one trivial
//! tool: a streamed reply that calls the tool, the tool call, its result. The bare side is hyper reading the
//! same reply, and one row with the bytes that a turn leaves in the journal, committed with
//! `synchronous=FULL`. They alternate, so that other load on the machine affects both, and the ratio is
//! computed per round.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use lariat_core::BoxFuture;
use lariat_core::config::{ContextConfig, ExecutionLimits};
use lariat_core::model::{ApiKey, ModelConfig};
use lariat_core::permission::AllowAll;
use lariat_core::store::{Durability, SessionStore};
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_model::ProviderRegistry;
use lariat_proofs::server::{Turn, Wire, render};
use lariat_runtime::Agent;
use lariat_store::StoreOptions;
use lariat_store::sqlite::SqliteStore;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::Size;
use super::measure::{figure, goal, median};
use super::model::service::{Delivery, Service};

/// How much longer than the bare call plus the bare insert a turn may take.
const GOAL: f64 = 1.5;
/// Limit for the short form: on a machine that does other work, single rounds say little.
const SHORT_GOAL: f64 = 6.0;
/// Size of the bare request and of the bare row: about what one of our turns sends and records.
const REQUEST_BYTES: usize = 4 * 1024;
const ROW_BYTES: usize = 2 * 1024;
/// Chunks of the reply's text, each the size of a token.
const REPLY_PIECES: usize = 60;

type Outcome<T> = Result<T, String>;

pub(super) fn measure(size: Size) -> bool {
    let (rounds, turns, limit) = match size {
        Size::Full => (30, 40, GOAL),
        Size::Short => (5, 10, SHORT_GOAL),
    };
    compare(rounds, turns, limit).unwrap_or_else(|why| {
        eprintln!("not measured: {why}");
        false
    })
}

/// Microseconds per turn in one round.
struct Round {
    ours: f64,
    call: f64,
    insert: f64,
}

fn compare(rounds: usize, turns: usize, limit: f64) -> Outcome<bool> {
    let folder = std::env::temp_dir().join(format!("lariat-bench-turn-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(text)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(text)?;
    let measured = measure_in(&folder, &runtime, rounds, turns);
    // Leftover files in a temporary directory do no harm.
    let _ = std::fs::remove_dir_all(&folder);
    let measured = measured?;
    let of = |part: fn(&Round) -> f64| median(measured.iter().map(part).collect());
    figure("rounds × turns", format!("{rounds} × {turns}"));
    figure("bare HTTP call, per turn", format!("{:.0} µs", of(|round| round.call)));
    figure("bare durable insert, per turn", format!("{:.0} µs", of(|round| round.insert)));
    figure("whole runtime, per turn", format!("{:.0} µs", of(|round| round.ours)));
    let ratio = of(|round| round.ours / (round.call + round.insert));
    Ok(goal("whole runtime against call and insert", ratio, "×", limit))
}

fn measure_in(
    folder: &std::path::Path,
    runtime: &tokio::runtime::Runtime,
    rounds: usize,
    turns: usize,
) -> Outcome<Vec<Round>> {
    let reply = Turn::new().model("claude-sonnet-4-5").piece(5).text("word ".repeat(REPLY_PIECES)).call(
        "toolu_1",
        "nod",
        &json!({}),
    );
    let frames = render::stream(Wire::AnthropicMessages, &reply);
    let service = Service::start(Wire::AnthropicMessages, &frames, Delivery::Single).map_err(text)?;
    let store = SqliteStore::open(folder.join("ours.db"), StoreOptions::with_durability(Durability::Durable));
    let store: Arc<dyn SessionStore> = Arc::new(runtime.block_on(store).map_err(text)?);
    let provider: Arc<ProviderRegistry> = Arc::new(ProviderRegistry::default());
    let bare = connection(&folder.join("bare.db"))?;
    let mut sender = runtime.block_on(connect(&service.url()))?;
    let mut measured = Vec::new();
    for round in 0..=rounds {
        let agent = agent(&service.url(), &provider, &store, turns)?;
        let began = Instant::now();
        let output = runtime.block_on(agent.run("NodTool until the user stops you.")).map_err(text)?;
        let ours = began.elapsed();
        if usize::try_from(output.turns).ok() != Some(turns) {
            return Err(format!("{} turns instead of {turns}: {:?}", output.turns, output.outcome));
        }
        runtime.block_on(agent.close());
        let began = Instant::now();
        for _ in 0..turns {
            runtime.block_on(call(&mut sender, &service.url()))?;
        }
        let call = began.elapsed();
        let began = Instant::now();
        for _ in 0..turns {
            bare.prepare_cached("INSERT INTO events (body) VALUES (?)")
                .and_then(|mut insert| insert.execute([vec![b'x'; ROW_BYTES]]))
                .map_err(text)?;
        }
        let insert = began.elapsed();
        let per_turn = |took: std::time::Duration| took.as_secs_f64() * 1e6 / turns as f64;
        // The first round only warms up connections, caches and the allocator.
        if round > 0 {
            measured.push(Round { ours: per_turn(ours), call: per_turn(call), insert: per_turn(insert) });
        }
    }
    Ok(measured)
}

fn agent(
    url: &str,
    provider: &Arc<ProviderRegistry>,
    store: &Arc<dyn SessionStore>,
    turns: usize,
) -> Outcome<Agent> {
    let mut model = ModelConfig::new("anthropic-messages", "claude-sonnet-4-5").with_base_url(url);
    model.api_key = ApiKey::new("sk-test-key");
    let shared: Arc<dyn lariat_core::model::StreamProvider> = Arc::<ProviderRegistry>::clone(provider);
    Agent::builder()
        .provider(shared)
        .model_config(model)
        .system_prompt("You nod.")
        .tool(NodTool)
        .permission_policy(AllowAll)
        .context(Some(ContextConfig::with_window(200_000)))
        .limits(ExecutionLimits::default().with_max_turns(turns))
        .repetition(None)
        .store(Arc::clone(store))
        .build()
        .map_err(text)
}

async fn connect(url: &str) -> Outcome<SendRequest<Full<Bytes>>> {
    let address = url.strip_prefix("http://").unwrap_or(url);
    let stream = tokio::net::TcpStream::connect(address).await.map_err(text)?;
    stream.set_nodelay(true).map_err(text)?;
    let (sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(text)?;
    tokio::spawn(connection);
    Ok(sender)
}

/// Sends a request and reads the reply to its end.
async fn call(sender: &mut SendRequest<Full<Bytes>>, url: &str) -> Outcome<()> {
    let body = Full::new(Bytes::from(vec![b' '; REQUEST_BYTES]));
    let host = url.strip_prefix("http://").unwrap_or(url);
    let request = http::Request::post("/v1/messages").header("host", host).body(body).map_err(text)?;
    sender.ready().await.map_err(text)?;
    let mut body = sender.send_request(request).await.map_err(text)?.into_body();
    while let Some(frame) = body.frame().await {
        frame.map_err(text)?;
    }
    Ok(())
}

fn connection(path: &std::path::Path) -> Outcome<Connection> {
    let connection = Connection::open(path).map_err(text)?;
    let set = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
        CREATE TABLE events (place INTEGER PRIMARY KEY, body BLOB NOT NULL);";
    connection.execute_batch(set).map_err(text)?;
    Ok(connection)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A tool that does nothing.
struct NodTool;

impl AgentTool for NodTool {
    fn name(&self) -> &str {
        "nod"
    }

    fn description(&self) -> &str {
        "Nods."
    }

    fn parameters_schema(&self) -> Value {
        json!({"type": "object", "properties": {}})
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::NONE
    }

    fn execute<'a>(
        &'a self,
        _params: Value,
        _context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolResult::text("nodded"))))
    }
}
