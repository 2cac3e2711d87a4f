//! The process to kill: it runs several prompts, each with tool calls, on a real store.
//!
//! It prints each acknowledged event at once (`ack SEQ ID`), each outage of the journal (`outage`), each snapshot that is
//! being saved (`saving`, `saved`) and each failure that a planted mistake hides (`ignored`). Its tool has a lasting effect: a line in a ledger, synced before the tool call returns. When
//! started again, it resumes. The replies of the model depend only on the request, so every process of a run follows the same
//! script.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::archive::SessionArchive;
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::SessionId;
use lariat_core::model::StreamConfig;
use lariat_core::permission::AllowAll;
use lariat_core::store::{Ack, Append, BlobHash, Durability, Epoch, SessionStore, Snapshot, StoreError};
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_runtime::Agent;
use lariat_runtime::drive::JournalConfig;
use lariat_store::StoreOptions;
use lariat_test::{Reply, ScriptedModel};
use serde_json::{Value, json};

use super::open::Kind;
use super::{number, option};

/// Tool calls per prompt.
const CALLS: usize = 3;
/// How long a store with the planted mistake `recovers-late` waits: longer than one fault may delay a run.
const TOO_LATE: Duration = Duration::from_secs(30);

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let kind = Kind::named(option(options, "--store").unwrap_or_default())?;
    let place = option(options, "--place").ok_or("--place is missing")?.to_owned();
    let session = option(options, "--session").unwrap_or("s").to_owned();
    let ledger = PathBuf::from(option(options, "--ledger").ok_or("--ledger is missing")?);
    let prompts = number(options, "--prompts", 3)?;
    let slow = Duration::from_millis(number(options, "--slow", 0)?);
    let large = option(options, "--large").is_some();
    let mistake = option(options, "--mistake").unwrap_or_default().to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(run_prompts(
        kind,
        &place,
        session,
        FileLedger { path: ledger, twice: mistake == "runs-twice", slow, large },
        prompts,
        mistake,
    ))
}

async fn run_prompts(
    kind: Kind,
    place: &str,
    session: String,
    ledger: FileLedger,
    prompts: u64,
    mistake: String,
) -> Result<bool, String> {
    let level = if mistake == "skips-syncs" { Durability::Fast } else { Durability::Durable };
    let inner = kind.open_with(place, StoreOptions::with_durability(level)).await?;
    let (early, deaf) = (mistake == "acknowledges-early", mistake == "ignores-failure");
    let after_failure = if mistake == "recovers-late" { TOO_LATE } else { Duration::ZERO };
    let store: Arc<dyn SessionStore> = Arc::new(ReportingStore { inner, early, deaf, after_failure });
    let shows_outages = mistake != "hides-outages";
    let session_id = SessionId::from(session);
    let model = Arc::new(ScriptedModel::from_fn(|_, request| reply(request)));
    let agent = Agent::builder()
        .provider(Arc::clone(&model))
        .tool(ledger)
        .permission_policy(AllowAll)
        .repetition(None)
        .retry(lariat_core::config::RetryConfig::none())
        .journal(JournalConfig { snapshot_every: 12, ..JournalConfig::default() })
        .session_id(session_id.clone())
        .store(Arc::clone(&store))
        .on_event(move |event| {
            if shows_outages && matches!(event, AgentEvent::JournalUnavailable { .. }) {
                say("outage");
            }
        })
        .build()
        .map_err(|error| error.to_string())?;
    // At most one run can be interrupted here, but checking for more costs nothing.
    while mistake != "never-recovers" && agent.recover().await.map_err(|error| error.to_string())?.is_some() {
    }
    for prompt in done(&*store, &session_id).await?..prompts {
        agent.run(format!("prompt {prompt}")).await.map_err(|error| error.to_string())?;
    }
    let violations = model.violations();
    if !violations.is_empty() {
        say(&format!("violation {violations:?}"));
    }
    say("done");
    Ok(violations.is_empty())
}

/// Number of prompts that were completed or begun; recovery has happened before.
async fn done(store: &dyn SessionStore, session_id: &SessionId) -> Result<u64, String> {
    let events = store.read(session_id, 0, usize::MAX).await.map_err(|error| error.to_string())?;
    Ok(events.iter().filter(|event| matches!(event.event, AgentEvent::AgentStart(_))).count() as u64)
}

/// Replies with tool calls until there were enough since the last prompt, then with text.
fn reply(request: &StreamConfig) -> Reply {
    let messages: Vec<_> = request.messages.llm_messages().collect();
    let results =
        messages.iter().filter(|message| matches!(message, lariat_core::message::Message::ToolResult(_)));
    let since = messages
        .iter()
        .rev()
        .take_while(|message| !matches!(message, lariat_core::message::Message::User(_)));
    let number = results.count();
    if since.count() < 2 * CALLS {
        let text = format!("step {number}, {}", "because ".repeat(40));
        return Reply::text(text).then_call(format!("c{number}"), "note", json!({ "number": number }));
    }
    Reply::text("that was all")
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// A tool that writes a durable line before it returns.
struct FileLedger {
    path: PathBuf,
    /// A planted mistake: it writes the line twice.
    twice: bool,
    /// How long a tool call takes.
    slow: Duration,
    /// Whether one call in three returns text that stores keep as a blob, some of it twice.
    large: bool,
}

impl AgentTool for FileLedger {
    fn name(&self) -> &str {
        "note"
    }

    fn label(&self) -> &str {
        "note"
    }

    fn description(&self) -> &str {
        "Notes a number in the ledger."
    }

    fn parameters_schema(&self) -> Value {
        json!({"type": "object", "properties": {"number": {"type": "integer"}}})
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::WRITES
    }

    fn execute<'a>(
        &'a self,
        _args: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            tokio::time::sleep(self.slow).await;
            let opened = std::fs::OpenOptions::new().create(true).append(true).open(&self.path);
            let noted = opened.and_then(|mut file| {
                let line = format!("{} {}\n", context.loop_id, context.tool_call_id);
                file.write_all(line.repeat(1 + usize::from(self.twice)).as_bytes())?;
                file.sync_data()
            });
            noted.map_err(|error| ToolError::Failed(error.to_string()))?;
            let number = context.tool_call_id.to_string().trim_start_matches('c').parse().unwrap_or(0);
            if self.large && number % 3 == 1 {
                return Ok(ToolResult::text(format!("noted {} ", number.min(4_u64)).repeat(5_000)));
            }
            Ok(ToolResult::text("noted ".repeat(60)))
        })
    }
}

/// A store that prints what it acknowledged before its caller knows.
struct ReportingStore {
    inner: Arc<dyn SessionArchive>,
    /// A planted mistake: it prints before the write is confirmed.
    early: bool,
    /// A planted mistake: it treats a failed write as successful.
    deaf: bool,
    /// A planted mistake: it waits this long before it reports a failed write.
    after_failure: Duration,
}

impl SessionStore for ReportingStore {
    fn claim<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Epoch, StoreError>> {
        self.inner.claim(session_id)
    }

    fn release<'a>(
        &'a self,
        session_id: &'a SessionId,
        epoch: Epoch,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.release(session_id, epoch)
    }

    fn append<'a>(&'a self, append: Append<'a>) -> BoxFuture<'a, Result<Ack, StoreError>> {
        Box::pin(async move {
            let line = |event: &Event| format!("ack {} {}", event.seq, event.id);
            let lines = append.events.iter().map(line).collect::<Vec<String>>().join("\n");
            if self.early {
                say(&lines);
                return self.inner.append(append).await;
            }
            let ack = match self.inner.append(append).await {
                Err(StoreError::Unavailable(_)) if self.deaf => {
                    say("ignored");
                    let next_seq = append.expected_seq + append.events.len() as u64;
                    Ack { next_seq, durability: Durability::Durable }
                }
                Err(error) => {
                    tokio::time::sleep(self.after_failure).await;
                    return Err(error);
                }
                Ok(ack) => ack,
            };
            say(&lines);
            Ok(ack)
        })
    }

    fn read<'a>(
        &'a self,
        session_id: &'a SessionId,
        from_seq: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        self.inner.read(session_id, from_seq, limit)
    }

    fn head<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.inner.head(session_id)
    }

    fn put_blob<'a>(&'a self, bytes: &'a [u8]) -> BoxFuture<'a, Result<BlobHash, StoreError>> {
        self.inner.put_blob(bytes)
    }

    fn blob<'a>(&'a self, hash: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, StoreError>> {
        self.inner.blob(hash)
    }

    fn put_snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        snapshot: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            say("saving");
            self.inner.put_snapshot(session_id, snapshot).await?;
            say("saved");
            Ok(())
        })
    }

    fn snapshot<'a>(
        &'a self,
        session_id: &'a SessionId,
        seq: u64,
    ) -> BoxFuture<'a, Result<Option<Snapshot>, StoreError>> {
        self.inner.snapshot(session_id, seq)
    }
}
