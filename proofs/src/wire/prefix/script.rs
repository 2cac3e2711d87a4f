//! The long run: an agent with sections, notes, tools and a small context window, with a script from a seed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::clock::Clock;
use lariat_core::config::ContextConfig;
use lariat_core::context::{ContextSource, Note, NotesQuery};
use lariat_core::event::AgentEvent;
use lariat_core::model::{CacheConfig, StreamConfig, SystemPrompt};
use lariat_core::permission::AllowAll;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_core::usage::Usage;
use lariat_runtime::Agent;
use lariat_runtime::prompt::{Environment, NoteWriter, Section, SectionStability};
use lariat_test::{Reply, ScriptedModel, SeededRandom, VirtualClock};
use serde_json::{Value, json};

use super::{PrefixCache, Report, Turn, blocks};
use crate::server::Wire;
use crate::wire::{model, protocol};

/// Tokens of the context window: small enough for several compactions.
const WINDOW: usize = 100_000;
/// Duration of a turn.
const TURN: Duration = Duration::from_secs(20);
/// The request before which the user pauses longer than the cache keeps entries.
const PAUSE_AT: usize = 120;
const PAUSE: Duration = Duration::from_secs(400);
/// The text of a cache mark.
const MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Changing facts are in the system prompt.
    FactsInTheSystemPrompt,
    /// Requests have no marks.
    NoMarks,
    /// The newest part of the conversation comes before the oldest.
    NewestFirst,
}

impl Mistake {
    /// Every mistake.
    pub const ALL: [Self; 3] = [Self::FactsInTheSystemPrompt, Self::NoMarks, Self::NewestFirst];
}

/// Plays a run of this many requests.
///
/// # Errors
/// Fails if the run itself fails, or if the provider would reject a request.
pub async fn play(seed: u64, requests: usize, mistake: Option<Mistake>) -> Result<Report, String> {
    let clock = VirtualClock::new();
    let (agent, watch) = (Arc::new(OnceLock::<Agent>::new()), Arc::new(Mutex::new(Watch::default())));
    let (edits, compacted) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (handle, seen, time, made) =
        (Arc::clone(&agent), Arc::clone(&watch), clock.clone(), Arc::clone(&compacted));
    let mut dice = SeededRandom::new(seed);
    let script = ScriptedModel::from_fn(move |n, request| {
        time.advance(if n == PAUSE_AT { PAUSE } else { TURN });
        // Compaction may request a summary outside the conversation, without its tools.
        if request.tools.is_empty() {
            lock(&seen).report.beside += 1;
            return Reply::text("What was done: step after step.");
        }
        let now = time.now().as_millis();
        let usage = lock(&seen).examine(request, now, made.swap(false, Ordering::Relaxed), (n, mistake));
        if n % 20 == 5
            && let Some(agent) = handle.get()
        {
            agent.steer(format!("Steering {n}: mind the edge cases."));
        }
        reply(n, &mut dice).with_usage(usage)
    });
    let mut context = ContextConfig::with_window(WINDOW);
    context.keep_recent = 20;
    let mut builder = Agent::builder()
        .model(script)
        .model_config(model(Wire::AnthropicMessages, "http://127.0.0.1"))
        .clock(clock.shared())
        .permission_policy(AllowAll)
        .without_limits()
        .repetition(None)
        .context(Some(context))
        .standard_context()
        .section(Section::new(
            "memory",
            SectionStability::SemiStatic,
            "Use tabs, and never push.\n".repeat(150),
        ))
        .section(Section::new("map", SectionStability::SemiStatic, "src/lib.rs: pub fn work()\n".repeat(300)))
        .context_source(Environment::new().with("system", "Linux").with("directory", "/work"))
        .context_source(Status { edits: Arc::clone(&edits), teller: NoteWriter::default() })
        .on_event(move |event| {
            if matches!(event, AgentEvent::Compaction { .. }) {
                compacted.store(true, Ordering::Relaxed);
            }
        });
    if mistake == Some(Mistake::NoMarks) {
        builder = builder.cache(CacheConfig { enabled: false, ..CacheConfig::default() });
    }
    for name in ["read_file", "edit_file", "search", "bash", "todo", "list_files", "glob", "recall"] {
        builder = builder.tool(WorkTool { name, edits: Arc::clone(&edits) });
    }
    let built = builder.build().map_err(|error| error.to_string())?;
    let _ = agent.set(built.clone());
    let mut prompt = 0;
    while lock(&watch).requests < requests {
        prompt += 1;
        let output = built.run(format!("Task {prompt}: go on with the work, and check it.")).await;
        let output = output.map_err(|error| error.to_string())?;
        if !output.outcome.is_completed() {
            return Err(format!("task {prompt} ended as {:?}", output.outcome));
        }
    }
    let mut watch = lock(&watch);
    match watch.fault.take() {
        Some(fault) => Err(fault),
        None => Ok(std::mem::take(&mut watch.report)),
    }
}

fn lock(watch: &Mutex<Watch>) -> std::sync::MutexGuard<'_, Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The model's reply to a request: mostly tool calls, sometimes many at once, sometimes the end of a task.
fn reply(n: usize, dice: &mut SeededRandom) -> Reply {
    let id = |k: usize| format!("call-{n}-{k}");
    let size = 500 + dice.index(6_000);
    match n {
        _ if n % 25 == 24 => Reply::text("This step is done."),
        _ if n.is_multiple_of(40) => {
            let list = format!("[x] step {n}\n[>] step {}\n[ ] step {}\n", n + 1, n + 2);
            Reply::tool_call(id(0), "todo", json!({"say": list}))
        }
        _ if n % 50 == 10 => Reply::calls(
            (0..15).map(|k| (id(k), "read_file", json!({"path": format!("src/{k}.rs"), "size": 600}))),
        ),
        _ if n % 11 == 3 => Reply::tool_call(id(0), "bash", json!({"command": "make", "fail": "no rule"})),
        _ if n % 7 == 1 => Reply::tool_call(id(0), "edit_file", json!({"path": "src/lib.rs", "size": 200})),
        _ => Reply::text("I look at it.").then_call(
            id(0),
            "read_file",
            json!({"path": format!("src/{n}.rs"), "size": size}),
        ),
    }
}

/// Examines every request.
#[derive(Default)]
struct Watch {
    requests: usize,
    last: Option<(String, String)>,
    cache: PrefixCache,
    report: Report,
    fault: Option<String>,
}

impl Watch {
    fn examine(
        &mut self,
        request: &StreamConfig,
        now: u64,
        compacted: bool,
        (n, mistake): (usize, Option<Mistake>),
    ) -> Usage {
        self.requests += 1;
        let mut request = request.clone();
        if mistake == Some(Mistake::FactsInTheSystemPrompt) {
            request.system_prompt =
                SystemPrompt::new(format!("It is {n}.\n\n{}", request.system_prompt.as_str()));
        }
        match self.judge(&request, now, compacted, mistake) {
            Ok(usage) => usage,
            Err(fault) => {
                self.fault.get_or_insert(format!("request {n}: {fault}"));
                Usage::new(1, 1)
            }
        }
    }

    fn judge(
        &mut self,
        request: &StreamConfig,
        now: u64,
        compacted: bool,
        mistake: Option<Mistake>,
    ) -> Result<Usage, String> {
        let outgoing =
            protocol(Wire::AnthropicMessages).request(request).map_err(|error| error.to_string())?;
        let mut body: Value = serde_json::from_slice(&outgoing.body).map_err(|error| error.to_string())?;
        let mut raw = String::from_utf8_lossy(&outgoing.body).into_owned();
        if mistake == Some(Mistake::NewestFirst) {
            if let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) {
                messages.reverse();
            }
            raw = body.to_string();
        }
        let plain = raw.replace(MARK, "");
        if let Some((last_raw, last_plain)) = &self.last {
            self.report.turns.push(Turn {
                compacted,
                shared: shared(last_plain, &plain),
                shared_with_marks: shared(last_raw, &raw),
            });
        }
        self.last = Some((raw, plain));
        let hit = self.cache.ask(&blocks(&body), now)?;
        self.report.tokens += hit.tokens;
        self.report.read += hit.read;
        let mut usage = Usage::new(hit.tokens.saturating_sub(hit.read + hit.written), 50);
        (usage.cache_read, usage.cache_write) = (hit.read, hit.written);
        Ok(usage)
    }
}

/// The share of a text that equals the start of the previous one, in per mille.
fn shared(before: &str, now: &str) -> u64 {
    let same = before.bytes().zip(now.bytes()).take_while(|(before, now)| before == now).count();
    same as u64 * 1_000 / (now.len() as u64).max(1)
}

/// A git status, which changes with every edit.
struct Status {
    edits: Arc<AtomicU64>,
    teller: NoteWriter,
}

impl ContextSource for Status {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        let edits = self.edits.load(Ordering::Relaxed);
        let lines: String = (0..edits).map(|n| format!(" M src/{n}.rs\n")).collect();
        let note = self.teller.note("git", &format!("## main\n{lines}"), &query.told);
        Box::pin(std::future::ready(note.into_iter().collect()))
    }
}

/// A tool that returns as much text as requested.
struct WorkTool {
    name: &'static str,
    edits: Arc<AtomicU64>,
}

impl AgentTool for WorkTool {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "Works on the files of the project, and reports the result. Give it the path of the file."
    }

    fn parameters_schema(&self) -> Value {
        let text = json!({"type": "string"});
        json!({"type": "object", "properties": {"path": text, "command": text, "size": {"type": "integer"}}})
    }

    fn effects(&self) -> ToolEffects {
        ToolEffects::READS
    }

    fn execute<'a>(&'a self, params: Value, _: ToolContext) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        if self.name == "edit_file" {
            self.edits.fetch_add(1, Ordering::Relaxed);
        }
        let text = |name: &str| params.get(name).and_then(Value::as_str).map(str::to_owned);
        let size = params.get("size").and_then(Value::as_u64).unwrap_or(20) as usize;
        let said = || "let x = work(y);\n".repeat(size / 17 + 1);
        let result = match text("fail") {
            Some(why) => Err(ToolError::Failed(why)),
            None => Ok(ToolResult::text(text("say").unwrap_or_else(said))),
        };
        Box::pin(std::future::ready(result))
    }
}
