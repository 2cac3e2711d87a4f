//! Regression tests for problems of embedding programs, with real stores, real connections and the real
//! catalogue.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lariat::budget::BudgetLimits;
use lariat::budget::{BudgetPool, DailyBudget, MemorySpending};
use lariat::model::{FailureKind, FindModel, ModelCost, ProviderRegistry, RetryConfig};
use lariat::serde_json::{Value, json};
use lariat::store::Durability;
use lariat::store::JsonlStore;
use lariat::store::SqliteStore;
use lariat::store::StoreOptions;
use lariat::{
    Agent, AgentBuilder, AgentEvent, AgentTool, AllowAll, BoxFuture, BuildError, Cost, ExecutionLimits,
    ModelConfig, SessionStore, ToolContext, ToolError, ToolResult,
};
use lariat_test::{Reply, ScriptedModel};

/// A temporary directory, removed on drop.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        let name = format!("lariat-embed-{}-{:?}", std::process::id(), std::thread::current().id());
        // In memory where possible: hundreds of syncs take long on a disk.
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let path = parent.join(name.replace(['(', ')'], ""));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    async fn stores(&self) -> [(&'static str, Arc<dyn SessionStore>); 2] {
        let options = StoreOptions::with_durability(Durability::Batched);
        let sqlite = SqliteStore::open(self.0.join("sessions.db"), options).await.unwrap();
        let jsonl = JsonlStore::open(self.0.join("files"), options).await.unwrap();
        [("sqlite", Arc::new(sqlite)), ("jsonl", Arc::new(jsonl))]
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Sessions that were closed or dropped leave no file descriptor open, and other processes can claim them.
#[tokio::test]
async fn closed_and_dropped_sessions_leave_no_open_descriptors() {
    let dir = TempDir::new();
    let stores = dir.stores().await;
    let others = dir.stores().await;
    for ((name, store), (_, other)) in stores.iter().zip(&others) {
        let mut highest = [0, 0];
        for at in 0..300 {
            let model = ScriptedModel::new([Reply::text("done")]);
            let id = format!("s{at}");
            let agent = Agent::builder().model(model).store(Arc::clone(store)).session_id(id.as_str());
            let agent = agent.build().unwrap();
            assert_eq!(agent.run("go").await.unwrap().text, "done");
            if at % 2 == 0 {
                agent.close().await;
            }
            drop(agent);
            let began = Instant::now();
            let epoch = loop {
                match other.claim(&id.as_str().into()).await {
                    Ok(epoch) => break epoch,
                    Err(error) if began.elapsed() > Duration::from_secs(5) => panic!("{name} {at}: {error}"),
                    // A drop releases the session in the background.
                    Err(_) => tokio::task::yield_now().await,
                }
            };
            other.release(&id.as_str().into(), epoch).await.unwrap();
            highest[usize::from(at >= 30)] = highest[usize::from(at >= 30)].max(descriptors());
        }
        assert!(highest[1] <= highest[0] + 4, "{name}: {} descriptors, then {}", highest[0], highest[1]);
    }
    let locks = std::fs::read_dir(dir.0.join("sessions.db.locks")).unwrap().count();
    assert_eq!(locks, 0, "no lock remains for closed sessions");
}

/// An address where nothing listens.
fn unused_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn real(config: Option<ModelConfig>) -> AgentBuilder {
    let builder = Agent::builder().model(ProviderRegistry::default());
    match config {
        Some(config) => builder.model_config(config),
        None => builder,
    }
}

/// A model that cannot work is an error with its kind, not an empty answer.
#[tokio::test]
async fn unreachable_and_keyless_models_fail_with_their_kind_and_unknown_ones_do_not_build() {
    let unreachable =
        ModelConfig::new("anthropic-messages", "claude").with_base_url(unused_address()).with_api_key("k");
    let keyless = ModelConfig::new("anthropic-messages", "claude").with_base_url(unused_address());
    let unknown = ModelConfig::new("telepathy", "oracle").with_api_key("k");
    let addressless =
        ModelConfig::new("anthropic-messages", "claude").with_base_url("not an address").with_api_key("k");
    let cases = [
        (Some(unreachable), FailureKind::Network),
        (Some(keyless), FailureKind::Auth),
        (Some(addressless), FailureKind::Config),
    ];
    for config in [Some(unknown), None] {
        assert!(matches!(real(config).build(), Err(BuildError::Model(_))));
    }
    for (config, kind) in cases {
        let agent = real(config).retry(RetryConfig::none()).build().unwrap();
        let error = agent.run("hello").await.unwrap_err();
        let failure = error.failure().unwrap_or_else(|| panic!("{error:?}"));
        assert_eq!(failure.kind, kind, "{error}");
        assert!(error.to_string().starts_with("the model call failed: "), "{error}");
        assert_eq!(error.is_retryable(), kind == FailureKind::Network);
    }
}

/// While a server cannot be reached, observers see the retries immediately.
#[tokio::test]
async fn retries_of_an_unreachable_server_are_visible_immediately() {
    let config =
        ModelConfig::new("anthropic-messages", "claude").with_base_url(unused_address()).with_api_key("k");
    let agent = real(Some(config)).build().unwrap();
    let began = Instant::now();
    let mut stream = agent.run_stream("hello");
    let error = loop {
        let event = stream.next().await.expect("a retry comes before the end");
        if let AgentEvent::ModelRetry { error, .. } = &event.event {
            break error.clone();
        }
    };
    assert!(error.starts_with("network: "), "{error}");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    stream.cancel();
    stream.finish().await.unwrap();
}

fn free() -> ModelCost {
    ModelCost::default()
}

/// A limit on money without prices fails the build, for every kind of limit and every model of the agent.
#[tokio::test]
async fn money_limit_without_price_fails_to_build() {
    type ChangeBuilder = fn(AgentBuilder) -> AgentBuilder;
    const CENT: Cost = Cost::from_nano_usd(10_000_000);
    fn money() -> BudgetLimits {
        BudgetLimits::none().with_cost(CENT)
    }
    let caps: [(&str, ChangeBuilder); 4] = [
        ("run", |builder| builder.limits(ExecutionLimits::default().with_max_cost(CENT))),
        ("session", |builder| builder.session_budget(money())),
        ("pool", |builder| builder.budget_pool(BudgetPool::new(money()).child(BudgetLimits::none()))),
        ("day", |builder| {
            builder.daily_budget(DailyBudget::new(money(), Arc::new(MemorySpending::default())))
        }),
    ];
    let unpriced = || ModelConfig::new("anthropic-messages", "who-knows");
    let priced = || {
        let mut model = ModelConfig::new("anthropic-messages", "known");
        model.cost = Some(free());
        model
    };
    for (name, cap) in caps {
        let refused = Err(BuildError::CapWithoutPrice("who-knows".into()));
        assert_eq!(cap(real(Some(unpriced()))).build().map(drop), refused, "{name}");
        assert_eq!(cap(real(Some(priced())).fallback_model(unpriced())).build().map(drop), refused, "{name}");
        assert_eq!(
            cap(real(Some(priced())).compaction_model(unpriced())).build().map(drop),
            refused,
            "{name}"
        );
        assert_eq!(cap(real(Some(priced()))).build().map(drop), Ok(()), "{name}");
    }
    assert!(real(Some(unpriced())).build().is_ok(), "no price is needed without a limit");
}

/// A model of the catalogue has what limits and compaction need.
#[test]
fn catalogue_models_have_price_and_window() {
    let model = ModelConfig::find("anthropic/claude-sonnet-4-5").unwrap();
    assert_eq!((model.provider.as_str(), model.context_window), ("anthropic", 200_000));
    assert!(model.cost.is_some());
    let unknown = ModelConfig::find("anthropic/claude-sonet-4-5").unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "unknown model `anthropic/claude-sonet-4-5`; did you mean `anthropic/claude-sonnet-4-5`?"
    );
}

/// A tool that returns far too much output.
struct LongOutput(fn() -> String);

impl AgentTool for LongOutput {
    fn name(&self) -> &str {
        "flood"
    }

    fn description(&self) -> &str {
        "Returns too much output."
    }

    fn parameters_schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn execute<'a>(&'a self, _: Value, _: ToolContext) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async { Ok(ToolResult::text((self.0)())) })
    }
}

/// Returns the text of the newest tool result.
fn last_result(messages: &lariat::Window) -> String {
    let found = messages
        .iter_back()
        .find_map(|message| Some(message.as_tool_result()?.content.first()?.as_text()?.to_owned()));
    found.unwrap_or_default()
}

/// The model receives 128 KiB of a 50 MB output and can read the rest with `recall`: from every store,
/// whether the output is many lines or one line.
#[tokio::test]
async fn output_of_50_megabytes_is_truncated_and_can_be_recalled() {
    const LINES: fn() -> String = || (0..5_000_000).map(|n| format!("row {n:05}\n")).collect();
    const ONE_LINE: fn() -> String = || format!("{}the end", "0123456789".repeat(5_000_000));
    let dir = TempDir::new();
    let stores = dir.stores().await;
    let cases = [(&stores[0], LINES, "row 4999999"), (&stores[1], ONE_LINE, "the end")];
    for ((name, store), output, last) in cases {
        let sizes: Arc<Mutex<Vec<usize>>> = Arc::default();
        let (seen, recalled) = (Arc::clone(&sizes), Arc::new(Mutex::new(String::new())));
        let results = Arc::clone(&recalled);
        let model = ScriptedModel::from_fn(move |n, request| {
            let result = last_result(&request.messages);
            seen.lock().unwrap().push(result.len());
            match n {
                0 => Reply::tool_call("c1", "flood", json!({})),
                1 => {
                    let id = result.split("id `").nth(1).and_then(|rest| rest.split('`').next());
                    let id = id.unwrap_or("none").to_owned();
                    Reply::tool_call("c2", "recall", json!({"id": id, "pattern": "4999999"}))
                }
                2 => {
                    results.lock().unwrap().push_str(&result);
                    let id = request.messages.iter().find_map(|message| {
                        let text = message.as_tool_result()?.content.first()?.as_text()?.to_owned();
                        Some(text.split("id `").nth(1)?.split('`').next()?.to_owned())
                    });
                    let offset = if result.contains("row") { 4_999_999 } else { 25_000 };
                    Reply::tool_call("c3", "recall", json!({"id": id, "offset": offset}))
                }
                _ => {
                    results.lock().unwrap().push_str(&result);
                    Reply::text("done")
                }
            }
        });
        let agent = Agent::builder().model(model).tool(LongOutput(output)).permission_policy(AllowAll);
        let agent = agent.store(Arc::clone(store)).session_id("flood").build().unwrap();
        assert_eq!(agent.run("go").await.unwrap().text, "done");
        let sizes = sizes.lock().unwrap().clone();
        assert!(sizes[1] > 100 * 1024, "{name}: most of the limit is used: {sizes:?}");
        assert!(sizes.iter().all(|size| *size <= 128 * 1024), "{name}: {sizes:?}");
        let recalled = recalled.lock().unwrap().clone();
        assert!(recalled.contains(last), "{name}: {recalled:.400}");
    }
}
