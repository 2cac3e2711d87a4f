//! What a session does outside runs: it restores files and runs the user's own commands. A killed host leaves nothing half done.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use lariat_api::{
    Action, AskPolicy, CheckpointParts, ClientName, CommandId, CreateSession, Delivery, FileChange, FileDiff,
    Principal, Problem, ProblemCode, PromptContent, Receipt, SessionCommand, SessionStatus, SessionView,
    Sessions,
};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::event::{AgentEvent, Event, FileRestoreResult};
use lariat_core::id::SessionId;
use lariat_core::store::SessionStore;
use lariat_core::time::Timestamp;
use lariat_core::tool::ToolEffects;
use lariat_runtime::Agent;
use lariat_runtime::system::SystemClock;
use lariat_sessions::{
    AgentFactory, AgentRequest, FileHistory, HostOptions, HostedAgent, Local, ShellOutput, UserShell,
};
use lariat_store::sqlite::SqliteStore;
use lariat_test::{Act, Ledger, LedgerTool, Reply, ScriptedModel};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use super::fixture::call;
use super::on_runtime::{OnRuntime, end, new_runtime};

/// Files and a shell that record what is asked of them, and that wait for a permit before they finish.
struct Machine {
    permits: Semaphore,
    restored: Mutex<Vec<HashSet<String>>>,
    commands: Mutex<Vec<String>>,
    problem: Mutex<Option<Problem>>,
}

impl Machine {
    fn new(permits: usize) -> Arc<Self> {
        Arc::new(Self {
            permits: Semaphore::new(permits),
            restored: Mutex::default(),
            commands: Mutex::default(),
            problem: Mutex::default(),
        })
    }

    async fn wait(&self) {
        self.permits.acquire().await.unwrap().forget();
    }
}

/// The machine as a session sees it.
#[derive(Clone)]
struct Shared(Arc<Machine>);

impl FileHistory for Shared {
    fn diff(&self, calls: HashSet<String>) -> BoxFuture<'_, Result<Vec<FileDiff>, Problem>> {
        // Without their loops.
        let call = |id: String| id.split_once('@').map_or_else(|| id.clone(), |(call, _)| call.to_owned());
        let mut calls: Vec<String> = calls.into_iter().map(call).collect();
        calls.sort();
        Box::pin(async move {
            Ok(calls.into_iter().map(|call| FileDiff::new(call, FileChange::Modified)).collect())
        })
    }

    fn plan(&self, calls: HashSet<String>) -> BoxFuture<'_, Result<Vec<String>, Problem>> {
        let problem = self.0.problem.lock().unwrap().clone();
        Box::pin(async move { problem.map_or_else(|| Ok(calls.into_iter().collect()), Err) })
    }

    fn restore(&self, calls: HashSet<String>) -> BoxFuture<'_, Result<FileRestoreResult, Problem>> {
        Box::pin(async move {
            self.0.restored.lock().unwrap().push(calls);
            self.0.wait().await;
            if let Some(problem) = self.0.problem.lock().unwrap().clone() {
                return Err(problem);
            }
            let mut result = FileRestoreResult::default();
            result.restored.push("a.txt".to_owned());
            Ok(result)
        })
    }
}

impl UserShell for Shared {
    fn check(&self, command: &str) -> Result<(), Problem> {
        if command.starts_with("sudo") {
            return Err(Problem::new(ProblemCode::Forbidden, "the organisation denies sudo"));
        }
        Ok(())
    }

    fn run<'a>(
        &'a self,
        call_id: &'a str,
        command: &'a str,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, ShellOutput> {
        self.0.commands.lock().unwrap().push(format!("{call_id}: {command}"));
        Box::pin(async move {
            tokio::select! {
                () = self.0.wait() => {
                    ShellOutput { text: "2 passed\n".to_owned(), exit_code: Some(0), problem: None }
                }
                () = cancel.cancelled() => {
                    ShellOutput { problem: Some("interrupted".to_owned()), ..ShellOutput::default() }
                }
            }
        })
    }
}

struct Agents {
    model: Arc<ScriptedModel>,
    machine: Shared,
}

impl AgentFactory for Agents {
    fn build<'a>(&'a self, request: AgentRequest<'a>) -> BoxFuture<'a, Result<HostedAgent, Problem>> {
        let write = LedgerTool::new("write", Ledger::new(), Arc::new(SystemClock))
            // Otherwise the session would ask first.
            .with_effects(ToolEffects::READS)
            .with_script(|_| Act::text("written"));
        let agent = Agent::builder()
            .provider(self.model.clone())
            .store(Arc::clone(request.store))
            .session_id(request.session_id.clone())
            .tool(write)
            .build();
        let shell = Arc::new(self.machine.clone());
        Box::pin(async move { Ok(HostedAgent::new(agent.unwrap()).with_shell(shell)) })
    }

    fn file_history(&self, _: &str) -> Option<Arc<dyn FileHistory>> {
        Some(Arc::new(self.machine.clone()))
    }
}

/// A host on a runtime of its own, which can be killed and started again on the same store.
struct Fixture {
    store: Arc<SqliteStore>,
    agents: Arc<Agents>,
    runtime: Option<Runtime>,
    local: Local,
    host: Arc<dyn Sessions>,
    session_id: SessionId,
}

impl Fixture {
    async fn new(machine: &Arc<Machine>, replies: impl IntoIterator<Item = Reply>) -> Self {
        let store = Arc::new(SqliteStore::in_memory().await.unwrap());
        let model = Arc::new(ScriptedModel::new(replies).with_recording());
        let agents = Arc::new(Agents { model, machine: Shared(Arc::clone(machine)) });
        let (runtime, local, host) = start(&store, &agents);
        let session_id = SessionId::from("s");
        host.create(CreateSession::new(session_id.clone(), "/project")).await.unwrap();
        Self { store, agents, runtime: Some(runtime), local, host, session_id }
    }

    /// Ends the host as a kill does, and starts another.
    async fn kill(&mut self) {
        end(self.runtime.take().unwrap()).await;
        let (runtime, local, host) = start(&self.store, &self.agents);
        (self.runtime, self.local, self.host) = (Some(runtime), local, host);
    }

    async fn send(&self, id: &str, action: Action) -> Result<Receipt, Problem> {
        let command = SessionCommand::new(CommandId::new(id), ClientName::new("test"), action);
        self.host.send(&self.session_id, command).await
    }

    /// Sends a command and does not wait for the reply.
    fn send_later(&self, id: &str, action: Action) {
        let command = SessionCommand::new(CommandId::new(id), ClientName::new("test"), action);
        let (host, session_id) = (Arc::clone(&self.host), self.session_id.clone());
        tokio::spawn(async move { host.send(&session_id, command).await });
    }

    async fn prompt(&self, id: &str, text: &str) -> Result<Receipt, Problem> {
        let (content, delivery) = (PromptContent::text(text), Delivery::Queue);
        self.send(id, Action::Prompt { content, delivery }).await
    }

    async fn until(&self, what: &str, fits: impl Fn(&SessionView) -> bool) -> SessionView {
        for _ in 0..500 {
            let view = self.host.view(&self.session_id).await.unwrap();
            if fits(&view) {
                return view;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("no {what}: {:#?}", self.host.view(&self.session_id).await.unwrap())
    }

    async fn until_idle(&self) -> SessionView {
        self.until("idle session", |view| view.status == SessionStatus::Idle).await
    }

    async fn journal(&self) -> Vec<Event> {
        self.store.read(&self.session_id, 0, usize::MAX).await.unwrap()
    }

    async fn kinds(&self) -> Vec<String> {
        self.journal().await.iter().map(|event| event.event.name().to_owned()).collect()
    }

    async fn recover(&self) -> Vec<SessionId> {
        let local = self.local.clone();
        let recovering = async move { local.recover_interrupted(Timestamp::from_millis(0)).await };
        self.runtime.as_ref().unwrap().spawn(recovering).await.unwrap().unwrap()
    }

    fn last_texts(&self) -> Vec<String> {
        let requests = self.agents.model.recorded_requests();
        let messages = requests.last().unwrap().messages.iter();
        messages.filter_map(|message| message.as_user().map(|_| message.as_llm().unwrap().text())).collect()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn start(store: &Arc<SqliteStore>, agents: &Arc<Agents>) -> (Runtime, Local, Arc<dyn Sessions>) {
    let runtime = new_runtime();
    let mut options = HostOptions::default();
    options.ask_policy = AskPolicy::Wait;
    let principal = Principal::new("user:ada");
    let local = Local::new(store.clone(), agents.clone(), principal, options);
    let host = OnRuntime { host: Arc::new(local.clone()), runtime: runtime.handle().clone() };
    (runtime, local, Arc::new(host))
}

fn restore(parts: CheckpointParts) -> Action {
    Action::Restore { label: "before".to_owned(), parts }
}

fn shell(command: &str) -> Action {
    Action::Shell { command: command.to_owned() }
}

/// A session with a checkpoint after its first run, and a tool call before and after it.
async fn with_checkpoint(machine: &Arc<Machine>) -> Fixture {
    let replies = [call("c1", "write"), Reply::text("one"), call("c2", "write"), Reply::text("two")];
    let fixture = Fixture::new(machine, replies).await;
    fixture.prompt("p1", "first").await.unwrap();
    fixture.until("end of the first run", |view| view.outcome.is_some()).await;
    fixture.until_idle().await;
    fixture.send("k", Action::Checkpoint { label: "before".to_owned() }).await.unwrap();
    fixture.prompt("p2", "second").await.unwrap();
    fixture.until_idle().await;
    fixture
}

fn set(calls: &[&str]) -> HashSet<String> {
    calls.iter().map(|&call| call.to_owned()).collect()
}

/// The tool calls of each restore, without their loops.
fn restored(machine: &Machine) -> Vec<HashSet<String>> {
    let call = |id: &String| id.split_once('@').map_or(id.as_str(), |(call, _)| call).to_owned();
    machine.restored.lock().unwrap().iter().map(|calls| calls.iter().map(call).collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_undoes_the_calls_after_the_checkpoint_and_rewinds_the_conversation() {
    let machine = Machine::new(9);
    let fixture = with_checkpoint(&machine).await;
    let receipt = fixture.send("r", restore(CheckpointParts::Both)).await.unwrap();
    assert_eq!(restored(&machine), [set(&["c2"])]);
    let kinds = fixture.kinds().await;
    let at = usize::try_from(receipt.seq).unwrap();
    assert_eq!(kinds[at..], ["CommandAccepted", "FileRestoreStarted", "FileRestoreEnded", "Rewound"]);
    assert_eq!(fixture.send("r", restore(CheckpointParts::Both)).await.unwrap(), receipt, "a retry");
    assert_eq!(machine.restored.lock().unwrap().len(), 1);
    let diff = fixture.host.diff(&fixture.session_id).await.unwrap();
    assert_eq!(diff.iter().map(|diff| diff.path.as_str()).collect::<Vec<_>>(), ["c1", "c2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_of_files_alone_keeps_the_conversation_and_one_to_the_start_undoes_everything() {
    let machine = Machine::new(9);
    let fixture = with_checkpoint(&machine).await;
    fixture.send("r", restore(CheckpointParts::Files)).await.unwrap();
    assert!(!fixture.kinds().await.contains(&"Rewound".to_owned()));
    let whole = Action::RestoreTo { to: None, parts: CheckpointParts::Both };
    fixture.send("w", whole).await.unwrap();
    assert_eq!(restored(&machine)[1], set(&["c1", "c2"]));
    assert_eq!(fixture.kinds().await.last().unwrap(), "Rewound");
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_that_cannot_begin_leaves_nothing_in_the_journal() {
    let machine = Machine::new(9);
    let fixture = with_checkpoint(&machine).await;
    let before = fixture.journal().await.len();
    *machine.problem.lock().unwrap() = Some(Problem::new(ProblemCode::Unavailable, "the store is in use"));
    let problem = fixture.send("r", restore(CheckpointParts::Both)).await.unwrap_err();
    assert_eq!(problem.code, ProblemCode::Unavailable);
    let unknown = Action::Restore { label: "other".to_owned(), parts: CheckpointParts::Files };
    assert_eq!(fixture.send("u", unknown).await.unwrap_err().code, ProblemCode::NotFound);
    assert_eq!(fixture.journal().await.len(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_that_a_kill_interrupts_is_finished_by_the_next_host() {
    let machine = Machine::new(0);
    let mut fixture = with_checkpoint(&machine).await;
    // A session that a client closed and another command opened again is found, too.
    fixture.send("c", Action::Close).await.unwrap();
    fixture.until("closed session", |view| view.status == SessionStatus::Closed).await;
    fixture.send_later("r", restore(CheckpointParts::Both));
    fixture.until("restore", |_| !machine.restored.lock().unwrap().is_empty()).await;
    fixture.kill().await;
    let view = fixture.host.view(&fixture.session_id).await.unwrap();
    assert_eq!(view.status, SessionStatus::Interrupted);
    machine.permits.add_permits(9);
    assert_eq!(fixture.recover().await, [fixture.session_id.clone()]);
    fixture.until_idle().await;
    assert_eq!(restored(&machine), [set(&["c2"]), set(&["c2"])]);
    let kinds = fixture.kinds().await;
    assert_eq!(kinds[kinds.len() - 3..], ["FileRestoreStarted", "FileRestoreEnded", "Rewound"]);
    // The client that got no reply sends the command again.
    fixture.send("r", restore(CheckpointParts::Both)).await.unwrap();
    assert_eq!(fixture.kinds().await, kinds);
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_that_cannot_be_finished_is_reported_and_keeps_the_conversation() {
    let machine = Machine::new(0);
    let mut fixture = with_checkpoint(&machine).await;
    fixture.send_later("r", restore(CheckpointParts::Both));
    fixture.until("restore", |_| !machine.restored.lock().unwrap().is_empty()).await;
    fixture.kill().await;
    *machine.problem.lock().unwrap() = Some(Problem::new(ProblemCode::WrongStatus, "others changed files"));
    machine.permits.add_permits(9);
    // The next command of any kind settles it first.
    fixture.send("d", Action::Describe { title: Some("t".to_owned()), tags: None }).await.unwrap();
    let journal = fixture.journal().await;
    let ended = journal.iter().find_map(|event| match &event.event {
        AgentEvent::FileRestoreEnded(result) => Some(result.problem.clone()),
        _ => None,
    });
    assert_eq!(ended, Some(Some("others changed files".to_owned())));
    assert!(!fixture.kinds().await.contains(&"Rewound".to_owned()));
    assert_eq!(fixture.until_idle().await.title.as_deref(), Some("t"));
}

#[tokio::test(flavor = "multi_thread")]
async fn command_of_the_user_becomes_a_message_that_the_next_prompt_contains() {
    let machine = Machine::new(9);
    let fixture = Fixture::new(&machine, [Reply::text("I see")]).await;
    let receipt = fixture.send("x", shell("cargo test")).await.unwrap();
    fixture.until_idle().await;
    assert_eq!(fixture.send("x", shell("cargo test")).await.unwrap(), receipt, "a retry");
    assert_eq!(*machine.commands.lock().unwrap(), ["shell-x: cargo test"]);
    let at = usize::try_from(receipt.seq).unwrap();
    assert_eq!(
        fixture.kinds().await[at..],
        ["CommandAccepted", "UserCommandStarted", "MessagesImported", "UserCommandEnded"]
    );
    fixture.prompt("p", "well?").await.unwrap();
    fixture.until("reply", |view| view.outcome.is_some()).await;
    let texts = fixture.last_texts();
    assert!(texts[0].contains("$ cargo test") && texts[0].contains("2 passed"), "{texts:?}");
    assert_eq!(texts[1], "well?");
}

#[tokio::test(flavor = "multi_thread")]
async fn command_of_the_user_excludes_a_run_and_can_be_interrupted() {
    let machine = Machine::new(0);
    let fixture = Fixture::new(&machine, [Reply::text("I see")]).await;
    fixture.send("x", shell("sleep 100")).await.unwrap();
    let view = fixture.host.view(&fixture.session_id).await.unwrap();
    assert_eq!(view.status, SessionStatus::Running);
    for refused in [fixture.prompt("p", "well?").await, fixture.send("y", shell("ls")).await] {
        assert_eq!(refused.unwrap_err().code, ProblemCode::WrongStatus);
    }
    fixture.send("i", Action::Interrupt).await.unwrap();
    fixture.until_idle().await;
    let journal = fixture.journal().await;
    let AgentEvent::UserCommandEnded(ended) = &journal.last().unwrap().event else { panic!("{journal:#?}") };
    assert_eq!(ended.problem.as_deref(), Some("interrupted"));
    assert_eq!(machine.commands.lock().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn command_that_a_kill_interrupts_is_reported_and_not_repeated() {
    let machine = Machine::new(0);
    let mut fixture = Fixture::new(&machine, [Reply::text("I see")]).await;
    fixture.send("x", shell("make deploy")).await.unwrap();
    fixture.kill().await;
    machine.permits.add_permits(9);
    fixture.prompt("p", "well?").await.unwrap();
    fixture.until("reply", |view| view.outcome.is_some()).await;
    assert_eq!(machine.commands.lock().unwrap().len(), 1, "the command ran once");
    let texts = fixture.last_texts();
    assert!(texts[0].contains("$ make deploy") && texts[0].contains("the host stopped"), "{texts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn denied_and_empty_commands_leave_nothing_in_the_journal() {
    let machine = Machine::new(9);
    let fixture = Fixture::new(&machine, []).await;
    let before = fixture.journal().await.len();
    let denied = fixture.send("x", shell("sudo rm -r /")).await.unwrap_err();
    assert_eq!(denied.code, ProblemCode::Forbidden);
    assert_eq!(fixture.send("y", shell(" \n")).await.unwrap_err().code, ProblemCode::Invalid);
    assert_eq!(fixture.journal().await.len(), before);
    assert!(machine.commands.lock().unwrap().is_empty());
}
