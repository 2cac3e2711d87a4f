//! The process that handles hostile repositories: it opens each, queries git about it, and runs an agent in
//! it.
//!
//! `strace` traces it, and it leaves a mark in the trace between any two stages. It reports on each
//! repository with a line of JSON. It uses no sandbox, so that a program that is started by mistake really
//! runs.

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lariat::host::files::Workspace;
use lariat::host::git::Git;
use lariat::host::process::{Environment, Supervisor};
use lariat::local::{ConfiguredKind, HookPrograms, LoadedWorkspace, ProjectHooks};
use lariat::permission::GuardDecision;
use lariat::permission::trust::TrustStore;
use lariat::serde_json::{self, Value, json};
use lariat::tool::{Commands, Workbench, default_tools};
use lariat::{Agent, AgentEvent, Approver, BoxFuture, PermissionDecision, PermissionRequest};
use lariat_test::{Reply, ScriptedModel};

use super::mistake::{self, Mistake};
use super::repository::Layout;
use super::trace::MARK;
use super::{opening, privilege};

/// Time limit per repository: a longer time means a hang.
const TIME: Duration = Duration::from_secs(20);

/// A repository assigned to a worker.
pub(crate) struct Task {
    pub(crate) number: usize,
    pub(crate) is_unreadable: bool,
}

/// The tool calls of the model. Those that are not read-only need approval, which is denied.
fn calls() -> Vec<(String, &'static str, Value)> {
    let commands = [
        "ls -la",
        "cat README.md",
        "git status",
        "git diff",
        "git log -p -1",
        "yarn --version",
        "./payload.sh",
    ];
    let tools = [
        ("list_files", json!({ "all": true, "depth": 6 })),
        ("glob", json!({ "pattern": "**/*", "all": true })),
        ("search", json!({ "pattern": "payload", "all": true })),
        ("read_file", json!({ "path": "README.md" })),
        ("read_file", json!({ "path": "CLAUDE.md" })),
        ("repo_map", json!({})),
    ];
    let commands = commands.map(|command| ("bash", json!({ "command": command })));
    let numbered = tools.into_iter().chain(commands).enumerate();
    numbered.map(|(number, (tool, arguments))| (format!("call-{number}"), tool, arguments)).collect()
}

/// Answers every approval request in the same way, and counts them.
struct FixedApprover {
    asked: Arc<AtomicUsize>,
    yes: bool,
}

impl Approver for FixedApprover {
    fn ask<'a>(&'a self, _: &'a PermissionRequest) -> BoxFuture<'a, PermissionDecision> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let answer =
            if self.yes { PermissionDecision::Allow } else { PermissionDecision::deny("no user is present") };
        Box::pin(std::future::ready(answer))
    }
}

/// Handles all repositories of a list.
pub(crate) fn run(layout: &Layout, tasks: &[Task], mistake: Option<Mistake>) -> Result<bool, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let empty = mistake::open(opening(layout, &layout.base.join("empty"), &book(layout))?, None)?;
    let empty = privilege::judge_probes(&empty);
    let now = Arc::new(Mutex::new((0_usize, Instant::now())));
    watch(Arc::clone(&now));
    for task in tasks {
        *now.lock().unwrap_or_else(PoisonError::into_inner) = (task.number, Instant::now());
        let said = runtime
            .block_on(handle(layout, task, &empty, mistake))
            .unwrap_or_else(|fault| WorkerReport::fault(&fault));
        print_report(task.number, &said);
    }
    mark("end", "");
    Ok(true)
}

/// What a worker reports about a repository.
#[derive(Default)]
struct WorkerReport {
    faults: Vec<String>,
    ran: u64,
    asked: usize,
}

impl WorkerReport {
    fn fault(fault: &str) -> Self {
        Self { faults: vec![fault.to_owned()], ..Self::default() }
    }
}

fn print_report(number: usize, said: &WorkerReport) {
    println!("{}", json!({ "number": number, "faults": said.faults, "ran": said.ran, "asked": said.asked }));
}

async fn handle(
    layout: &Layout,
    task: &Task,
    empty: &[(String, GuardDecision)],
    mistake: Option<Mistake>,
) -> Result<WorkerReport, String> {
    let root = layout.repository(task.number);
    let number = task.number.to_string();
    mark(&number, "open");
    let opened = match mistake::open(opening(layout, &root, &book(layout))?, mistake) {
        Ok(opened) => opened,
        // Refusing to open is correct, because the unreadable file could contain any deny rule.
        Err(_) if mistake != Some(Mistake::PassesOver) => return Ok(WorkerReport::default()),
        Err(_) => opening(layout, &layout.base.join("empty"), &book(layout))?
            .open()
            .map_err(|error| error.to_string())?,
    };
    let mut faults = privilege::raised_permissions(&opened, empty);
    if task.is_unreadable {
        faults.push("its settings cannot be read, but the session starts".to_owned());
    }
    mark(&number, "host");
    let environment = environment(layout, &opened);
    look_at_git(&root, layout, &environment).await;
    mark(&number, "agent");
    let asked = Arc::new(AtomicUsize::new(0));
    let answers = FixedApprover { asked: Arc::clone(&asked), yes: mistake == Some(Mistake::SaysYes) };
    let ran = agent(&root, &opened, environment, answers).await?;
    let asked = asked.load(Ordering::Relaxed);
    if !task.is_unreadable && ran == 0 {
        faults.push("the agent ran no tool call".to_owned());
    }
    Ok(WorkerReport { faults, ran, asked })
}

/// The environment of commands and hooks: of the workspace only the settings that apply.
fn environment(layout: &Layout, opened: &LoadedWorkspace) -> Environment {
    let path = format!("{}:/usr/bin:/bin", layout.programs().display());
    let mut environment = Environment::default().with("PATH", path).with("HOME", layout.home().as_os_str());
    for value in opened.values.iter().filter(|value| value.kind == ConfiguredKind::Variable) {
        environment = environment.with(&value.name, value.value.as_str().unwrap_or_default());
    }
    environment
}

/// Performs every git query of the host.
async fn look_at_git(root: &Path, layout: &Layout, environment: &Environment) {
    let scratch = layout.base.join("scratch");
    // Not being a repository, or one that git rejects, is not a fault here.
    if let Ok(git) = Git::open(root, &scratch, environment, &Supervisor::new()) {
        let _ = git.status().await;
        let _ = git.diff(None).await;
        let _ = git.log(3).await;
    }
}

/// Runs an agent. Returns the number of tool calls that ran.
async fn agent(
    root: &Path,
    opened: &LoadedWorkspace,
    environment: Environment,
    answers: FixedApprover,
) -> Result<u64, String> {
    let workspace = Workspace::open(root).map_err(|error| error.to_string())?;
    let supervisor = Supervisor::new();
    let hooks = HookPrograms::new(supervisor.clone(), root, environment.clone())
        .with_workspace(&workspace)
        .with_project_hooks(ProjectHooks::Unconfined);
    let bench = Workbench::new(workspace)
        .with_commands(Commands::Unconfined)
        .with_environment(environment.clone())
        .with_supervisor(supervisor);
    let ran = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&ran);
    let agent = Agent::builder()
        .model(ScriptedModel::new([Reply::calls(calls()), Reply::text("That is all.")]))
        .tools(default_tools(&bench))
        .permission_policy(opened.gate(Arc::new(hooks), &environment))
        .approver(answers)
        .on_event(move |event| {
            if matches!(event, AgentEvent::ToolExecutionStart { .. }) {
                seen.fetch_add(1, Ordering::Relaxed);
            }
        })
        .build()
        .map_err(|error| error.to_string())?;
    agent.run("What is this?").await.map_err(|error| format!("the run failed: {error}"))?;
    Ok(ran.load(Ordering::Relaxed))
}

fn book(layout: &Layout) -> TrustStore {
    TrustStore::new(layout.base.join("state/trust.json"))
}

/// Leaves a mark in the trace.
fn mark(number: &str, stage: &str) {
    let _ = std::env::set_current_dir(format!("{MARK}{number}/{stage}"));
}

/// Ends the process if one repository takes too long.
fn watch(now: Arc<Mutex<(usize, Instant)>>) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(TIME / 40);
            let (number, since) = *now.lock().unwrap_or_else(PoisonError::into_inner);
            if since.elapsed() > TIME {
                print_report(number, &WorkerReport::fault("hangs"));
                std::process::exit(3);
            }
        }
    });
}

/// Parses a list of tasks.
pub(crate) fn tasks(text: &str) -> Result<Vec<Task>, String> {
    let list: Vec<(usize, bool)> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(list.into_iter().map(|(number, is_unreadable)| Task { number, is_unreadable }).collect())
}
