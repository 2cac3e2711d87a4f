//! Measures the tools: search compared with `rg`, file tools, and commands compared with a bare spawn.
//!
//! Both sides alternate in one run, on the same files, and their results are compared before their times. All
//! caches are warm.

mod map;
mod repository;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use lariat_core::cancel::CancellationToken;
use lariat_core::id::{LoopId, SessionId};
use lariat_core::tool::{AgentTool, ToolContext, ToolResult};
use lariat_host::files::{Sync, Workspace};
use lariat_host::process::Environment;
use lariat_tools::{Commands, Workbench, default_tools};
use serde_json::{Value, json};

use super::Size;
use super::measure::{figure, goal, median};
use repository::Repository;

/// Options that make `rg` search the same files as our tools.
const SAME_FILES: [&str; 4] = ["--no-config", "--hidden", "--glob", "!.git"];

struct Bench {
    runtime: tokio::runtime::Runtime,
    tools: Vec<Arc<dyn AgentTool>>,
    repository: Repository,
}

/// A search that both sides perform.
struct Race {
    what: &'static str,
    pattern: &'static str,
    path: String,
    rounds: usize,
    at_most: f64,
}

/// Label, tool, goal in milliseconds, and arguments by turn.
type TimedCall = (&'static str, &'static str, f64, fn(usize) -> Value);

pub(crate) fn measure(size: Size) -> bool {
    match prepare(size) {
        Ok(bench) => bench.measure(size),
        Err(error) => {
            eprintln!("cannot create the files: {error}");
            false
        }
    }
}

fn prepare(size: Size) -> std::io::Result<Bench> {
    let repository = Repository::make(if size == Size::Full { 100_000 } else { 3_000 })?;
    let line = "a line of text as it is in many files, no more\n";
    std::fs::write(repository.path().join("10k.log"), line.repeat(10_000 / line.len()))?;
    std::fs::write(repository.path().join("1m.log"), line.repeat(1_000_000 / line.len()))?;
    std::fs::write(
        repository.path().join("edited.log"),
        format!("{}mark 0\n", "some line of code\n".repeat(500)),
    )?;
    let workspace = Workspace::open(repository.path()).map_err(std::io::Error::other)?;
    let bench = Workbench::new(workspace.with_sync(Sync::Fast))
        .with_commands(Commands::Unconfined)
        .with_environment(Environment::from_inherited(std::env::vars_os()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    Ok(Bench { runtime, tools: default_tools(&bench), repository })
}

impl Bench {
    fn measure(&self, size: Size) -> bool {
        figure("files", self.repository.files);
        let rounds = if size == Size::Full { 7 } else { 31 };
        // Searching a tree that takes `rg` only milliseconds says more about the machine than about either
        // tool.
        let whole = if size == Size::Full { 1.1 } else { 1.3 };
        // The short form looks for regressions on shared machines; the real goals apply to the full form.
        let slack = if size == Size::Full { 1.0 } else { 4.0 };
        let race = |what, pattern| Race { what, pattern, path: ".".to_owned(), rounds, at_most: whole };
        let races = [
            race("search, rare words, whole tree", "find_me_needle"),
            race("search, expression, whole tree", r"fn \w+_needle_\d+\("),
            race("search, ignoring case, whole tree", "(?i)FIND_ME_NEEDLE_[0-9]+"),
            race("search, nothing found, whole tree", "no such words anywhere"),
            Race {
                what: "search, one directory",
                pattern: "find_me_needle",
                path: self.repository.small.clone(),
                rounds: 101,
                at_most: 1.0,
            },
        ];
        let mut met = true;
        for race in &races {
            met &= self.search(race);
        }
        met &= self.glob("glob, whole tree", ".", rounds, whole);
        met &= self.glob("glob, one directory", &self.repository.small, 101, 1.0);
        met &= self.files(slack);
        met &= self.commands(slack);
        // Run last, so that its memory does not affect the other measurements.
        met & map::measure(&self.runtime, slack)
    }

    /// Times both in alternation, and prints both times and the ratio of their medians beside its goal.
    fn compare(&self, what: &str, rounds: usize, at_most: f64, ours: impl Fn(), theirs: impl Fn()) -> bool {
        let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
        for round in 0..=rounds {
            let (our_time, their_time) = (timed(&ours), timed(&theirs));
            // The first round only warms up.
            if round > 0 {
                our_times.push(our_time);
                their_times.push(their_time);
            }
        }
        let (our_time, their_time) = (median(our_times), median(their_times));
        figure(&format!("{what}: ours, theirs"), format!("{our_time:.2}, {their_time:.2} ms"));
        goal(&format!("{what}: ours against theirs"), our_time / their_time, "×", at_most)
    }

    fn search(&self, race: &Race) -> bool {
        let call = json!({ "pattern": race.pattern, "path": race.path, "limit": 5_000 });
        let mut arguments = vec!["--line-number", race.pattern, &race.path];
        arguments.extend(SAME_FILES);
        let (text, lines) = (self.text("search", &call), rg(self.repository.path(), &arguments));
        let found = text
            .lines()
            .filter(|line| line.split_once(": ").is_some_and(|(number, _)| number.parse::<u64>().is_ok()));
        let found = found.count();
        if found != lines {
            println!("{}: {found} lines found, rg finds {lines}", race.what);
            return false;
        }
        self.compare(
            race.what,
            race.rounds,
            race.at_most,
            || drop(self.call("search", call.clone())),
            || {
                rg(self.repository.path(), &arguments);
            },
        )
    }

    fn glob(&self, what: &str, path: &str, rounds: usize, at_most: f64) -> bool {
        let call = json!({ "pattern": "*_test.rs", "path": path, "limit": 5_000 });
        let mut arguments = vec!["--files", "--glob", "*_test.rs", path];
        arguments.extend(SAME_FILES);
        let found = self.call("glob", call.clone()).and_then(|result| result.details.get("files")?.as_u64());
        let theirs = rg(self.repository.path(), &arguments) as u64;
        if found != Some(theirs) {
            println!("{what}: {found:?} files found, rg finds {theirs}");
            return false;
        }
        self.compare(
            what,
            rounds,
            at_most,
            || drop(self.call("glob", call.clone())),
            || {
                rg(self.repository.path(), &arguments);
            },
        )
    }

    fn files(&self, slack: f64) -> bool {
        const ROUNDS: usize = 301;
        let calls: [TimedCall; 4] = [
            ("read_file, 10 KB", "read_file", 0.09, |_| json!({ "path": "10k.log", "again": true })),
            (
                "read_file, 1 MB",
                "read_file",
                1.0,
                |_| json!({ "path": "1m.log", "limit": 100_000, "again": true }),
            ),
            (
                "read_file, 1 MB, unchanged since it was shown",
                "read_file",
                0.09,
                |_| json!({ "path": "1m.log", "limit": 100_000 }),
            ),
            (
                "edit_file, 9 KB, without sync",
                "edit_file",
                0.2,
                |turn| json!({ "path": "edited.log", "old_string": format!("mark {turn}\n"), "new_string": format!("mark {}\n", turn + 1) }),
            ),
        ];
        let mut met = true;
        for (what, name, at_most, arguments) in calls {
            let mut times = Vec::new();
            for turn in 0..ROUNDS {
                let arguments = arguments(turn);
                times.push(timed(&|| drop(self.call(name, arguments.clone()))));
            }
            met &= goal(what, median(times), "ms", at_most * slack);
        }
        met
    }

    fn commands(&self, slack: f64) -> bool {
        let call = json!({ "command": "true" });
        self.compare(
            "bash true, no sandbox, against a bare spawn",
            101,
            1.3 * slack,
            || drop(self.call("bash", call.clone())),
            || drop(Command::new("bash").args(["-c", "true"]).stdin(Stdio::null()).output()),
        )
    }

    fn call(&self, name: &str, arguments: Value) -> Option<ToolResult> {
        let tool = self.tools.iter().find(|tool| tool.name() == name)?;
        call_tool(&self.runtime, &**tool, arguments)
    }

    fn text(&self, name: &str, arguments: &Value) -> String {
        let result = self.call(name, arguments.clone()).and_then(|result| serde_json::to_value(result).ok());
        let text = result.and_then(|result| Some(result.pointer("/content/0/text")?.as_str()?.to_owned()));
        text.unwrap_or_default()
    }
}

/// Returns the result of a tool call, or `None` if it fails.
fn call_tool(
    runtime: &tokio::runtime::Runtime,
    tool: &dyn AgentTool,
    arguments: Value,
) -> Option<ToolResult> {
    let (session, running) = (SessionId::from("s"), LoopId::from("l"));
    let context = ToolContext::new("call".into(), tool.name(), session, running, CancellationToken::new());
    match runtime.block_on(tool.execute(arguments, context)) {
        Ok(result) => Some(result),
        Err(error) => {
            println!("{} failed: {error}", tool.name());
            None
        }
    }
}

/// Milliseconds of one execution.
fn timed(work: &impl Fn()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1_000.0
}

/// Number of lines that `rg` prints.
fn rg(directory: &Path, arguments: &[&str]) -> usize {
    let output = Command::new("rg").args(arguments).current_dir(directory).stdin(Stdio::null()).output();
    output.map_or(usize::MAX, |output| output.stdout.iter().filter(|byte| **byte == b'\n').count())
}
