//! Measures whether the map for a task shows the files that the task's commit changed. Called by `cargo xtask repo-map`.
//!
//! A task is the message of a commit of this repository, with the tree before the commit. The tasks are the newest
//! commits without merges that change one to eight Rust files that existed before; nothing else selects them. The map
//! is the tool `repo_map` as an agent calls it, with the message as `task`, and its first 20 files are compared.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments, runs git and keeps a work tree of its own"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use lariat_core::cancel::CancellationToken;
use lariat_core::content::joined_text;
use lariat_core::tool::{AgentTool, ToolContext};
use lariat_host::files::Workspace;
use lariat_proofs::proof::ended;
use lariat_tools::{Workbench, search_tools};
use serde_json::json;

const USAGE: &str = "\
usage: repo_map [--tasks N] [--skip N] [--at COMMIT]   measure N tasks before COMMIT, after the N newest [default: 30, 0, HEAD]";

/// Number of files of a map that are compared.
const SHOWN: usize = 20;
/// Length of a map in tokens: enough for more files than are compared.
const TOKENS: u64 = 20_000;
/// Minimum share of tasks, in percent, whose map shows a file that the commit changed.
const GOAL: usize = 70;
/// Maximum number of Rust files that the commit of a task changes.
const MAX_CHANGED: usize = 8;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    ended(Options::parse(&arguments).and_then(|options| measure(&options)), USAGE)
}

struct Options {
    tasks: usize,
    skip: usize,
    at: String,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self { tasks: 30, skip: 0, at: "HEAD".to_owned() };
        let mut words = arguments.iter();
        while let Some(flag) = words.next() {
            let value = words.next().ok_or_else(|| format!("`{flag}` needs a value"))?;
            let number = || value.parse().map_err(|_| format!("`{value}` is not a number"));
            match flag.as_str() {
                "--tasks" => options.tasks = number()?,
                "--skip" => options.skip = number()?,
                "--at" => options.at.clone_from(value),
                _ => return Err(format!("unknown argument `{flag}`")),
            }
        }
        Ok(options)
    }
}

/// A commit and the Rust files that existed before it and that it changed.
struct Task {
    commit: String,
    message: String,
    changed: Vec<String>,
}

fn measure(options: &Options) -> Result<bool, String> {
    let repository = git(Path::new("."), &["rev-parse", "--show-toplevel"])?;
    let repository = PathBuf::from(repository.trim());
    let tasks = tasks(&repository, options)?;
    let tree = WorkTree::new(&repository)?;
    let workspace = Workspace::open(&tree.files).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let tools = search_tools(&Workbench::new(workspace));
    let map = tools.iter().find(|tool| tool.name() == "repo_map").ok_or("the tool `repo_map` is missing")?;
    let (mut hits, mut recall) = (0, 0.0);
    for task in &tasks {
        tree.check_out(&format!("{}^", task.commit))?;
        let shown = runtime.block_on(shown(&**map, &task.message))?;
        let found = task.changed.iter().filter(|path| shown.contains(path)).count();
        hits += usize::from(found > 0);
        recall += found as f64 / task.changed.len() as f64;
        let subject = task.message.lines().next().unwrap_or_default();
        let short = task.commit.get(..8).unwrap_or_default();
        println!("{short} {found} of {} {subject}", task.changed.len());
    }
    let count = tasks.len();
    let share = hits * 100 / count;
    println!(
        "{hits} of {count} tasks ({share} %): a file that the commit changed is among the first {SHOWN} files of the map"
    );
    println!("mean share of the changed files among them: {:.1} %", recall * 100.0 / count as f64);
    println!("goal: at least {GOAL} % of the tasks");
    Ok(share >= GOAL)
}

/// The first files of the map for a task.
async fn shown(map: &dyn AgentTool, task: &str) -> Result<Vec<String>, String> {
    let context = ToolContext::new("".into(), "repo_map", "".into(), "".into(), CancellationToken::new());
    let drawn = map.execute(json!({ "task": task, "tokens": TOKENS }), context).await;
    let text = joined_text(&drawn.map_err(|error| error.to_string())?.content);
    let is_path = |line: &&str| !line.starts_with([' ', '[']);
    Ok(text.lines().filter(is_path).take(SHOWN).map(str::to_owned).collect())
}

fn tasks(repository: &Path, options: &Options) -> Result<Vec<Task>, String> {
    let commits = git(repository, &["log", "--no-merges", "--format=%H", &options.at])?;
    let mut tasks = Vec::new();
    let mut skipped = 0;
    for commit in commits.lines() {
        // The first commit has no parent, and no file existed before it.
        let parent = format!("{commit}^");
        let Ok(changes) =
            git(repository, &["diff-tree", "-r", "--no-renames", "--name-status", &parent, commit])
        else {
            continue;
        };
        let changed = changes.lines().filter_map(|line| line.split_once('\t'));
        let changed = changed.filter(|(status, path)| *status != "A" && path.ends_with(".rs"));
        let changed: Vec<String> = changed.map(|(_, path)| path.to_owned()).collect();
        if !(1..=MAX_CHANGED).contains(&changed.len()) {
            continue;
        }
        if skipped < options.skip {
            skipped += 1;
            continue;
        }
        let message = git(repository, &["log", "-1", "--format=%B", commit])?;
        tasks.push(Task { commit: commit.to_owned(), message, changed });
        if tasks.len() == options.tasks {
            return Ok(tasks);
        }
    }
    Err(format!("the history has only {} tasks; a shallow clone has too few commits", tasks.len()))
}

/// A work tree outside the repository, with an index of its own. It is removed on drop.
struct WorkTree {
    repository: PathBuf,
    folder: PathBuf,
    files: PathBuf,
}

impl WorkTree {
    fn new(repository: &Path) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("lariat-repo-map-{}", std::process::id()));
        let files = folder.join("files");
        std::fs::create_dir_all(&files).map_err(|error| error.to_string())?;
        Ok(Self { repository: repository.to_owned(), folder, files })
    }

    /// Makes the files equal to the tree of a commit.
    fn check_out(&self, commit: &str) -> Result<(), String> {
        let ran = Command::new("git")
            .arg("-C")
            .arg(&self.repository)
            .arg("--work-tree")
            .arg(&self.files)
            .args(["read-tree", "-u", "--reset", commit])
            .env("GIT_INDEX_FILE", self.folder.join("index"))
            .output()
            .map_err(|error| error.to_string())?;
        if ran.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&ran.stderr).into_owned()) }
    }
}

impl Drop for WorkTree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn git(repository: &Path, arguments: &[&str]) -> Result<String, String> {
    let ran = Command::new("git").arg("-C").arg(repository).args(arguments).output();
    let ran = ran.map_err(|error| error.to_string())?;
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}
