//! Sessions in a host, with real tools: diffs, restores of files, questions of the model, and the user's own commands.

use std::time::{Duration, Instant};

use lariat_api::{
    Action, Answer, AskPolicy, AskSubject, CheckpointParts, ClientName, CommandId, CreateSession, Delivery,
    FileChange, Principal, Problem, ProblemCode, PromptContent, Receipt, SessionCommand, SessionStatus,
    SessionView, Sessions,
};
use lariat_core::event::{AgentEvent, CommandRecord, EventRecord, FORMAT_VERSION, FileRestore};
use lariat_core::id::{EventId, SessionId};
use lariat_core::store::Append;
use lariat_core::time::{Minter, Stamp, Timestamp};
use lariat_service::{HostOptions, Local, ProjectAgents};

use super::*;

struct Hosted<'a> {
    fixture: &'a Fixture,
    service: LocalService,
    host: Local,
    session_id: SessionId,
}

impl<'a> Hosted<'a> {
    async fn new(fixture: &'a Fixture, server: &Server, mode: &str) -> Self {
        let service = fixture.service().await;
        let mut options = HostOptions::default();
        options.ask_policy = AskPolicy::Wait;
        let mut load = fixture.options(server);
        load.flags.insert("mode".to_owned(), mode.into());
        let agents = ProjectAgents::new(service.clone(), Default::default()).with_options(load);
        let host = agents.into_host(Principal::new("user:ada"), options);
        let session_id = SessionId::from("s");
        let directory = fixture.project().display().to_string();
        host.create(CreateSession::new(session_id.clone(), directory)).await.unwrap();
        Self { fixture, service, host, session_id }
    }

    async fn send(&self, id: &str, action: Action) -> Result<Receipt, Problem> {
        let command = SessionCommand::new(CommandId::new(id), ClientName::new("test"), action);
        self.host.send(&self.session_id, command).await
    }

    async fn prompt(&self, id: &str, text: &str) {
        let (content, delivery) = (PromptContent::text(text), Delivery::Reject);
        self.send(id, Action::Prompt { content, delivery }).await.unwrap();
    }

    async fn until(&self, status: &SessionStatus) -> SessionView {
        let begun = Instant::now();
        loop {
            let view = self.host.view(&self.session_id).await.unwrap();
            if view.status == *status {
                return view;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "not {status:?}: {view:#?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn run(&self, id: &str, text: &str) {
        self.prompt(id, text).await;
        self.until(&SessionStatus::Idle).await;
    }

    fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.fixture.project().join(name)).ok()
    }
}

fn write(call: &str, path: &str, text: &str) -> Turn {
    Turn::new().call(call, "write_file", &json!({ "path": path, "content": text }))
}

fn restore(parts: CheckpointParts) -> Action {
    Action::Restore { label: "before".to_owned(), parts }
}

/// A session that wrote a file, named a checkpoint, and then changed that file and wrote another.
async fn with_checkpoint<'a>(fixture: &'a Fixture, server: &Server) -> Hosted<'a> {
    let hosted = Hosted::new(fixture, server, "bypass").await;
    hosted.run("p1", "first").await;
    hosted.send("k", Action::Checkpoint { label: "before".to_owned() }).await.unwrap();
    hosted.run("p2", "second").await;
    assert_eq!(hosted.file("b.txt").as_deref(), Some("new\n"));
    hosted
}

async fn writing_server() -> Server {
    let turns = [
        write("c1", "a.txt", "one\n"),
        Turn::new().text("done"),
        Turn::new().call("c2", "bash", &json!({ "command": "echo two > a.txt; echo new > b.txt" })),
        Turn::new().text("done"),
        Turn::new().text("I see"),
    ];
    Server::start(Script::queue(turns)).await.unwrap()
}

#[tokio::test]
async fn diff_has_the_net_change_of_each_file() {
    let (fixture, server) = (Fixture::new("hosted-diff"), writing_server().await);
    let hosted = with_checkpoint(&fixture, &server).await;
    let diff = hosted.host.diff(&hosted.session_id).await.unwrap();
    let found: Vec<_> = diff.iter().map(|file| (file.path.as_str(), file.change)).collect();
    assert_eq!(found, [("a.txt", FileChange::Added), ("b.txt", FileChange::Added)]);
    let text = diff[0].diff.as_deref().unwrap();
    assert!(text.contains("+two") && !text.contains("one"), "{text}");
}

#[tokio::test]
async fn restore_returns_files_and_conversation_and_can_be_repeated_safely() {
    let (fixture, server) = (Fixture::new("hosted-restore"), writing_server().await);
    let hosted = with_checkpoint(&fixture, &server).await;
    std::fs::write(fixture.project().join("mine.txt"), "mine\n").unwrap();
    let receipt = hosted.send("r", restore(CheckpointParts::Both)).await.unwrap();
    assert_eq!((hosted.file("a.txt").as_deref(), hosted.file("b.txt")), (Some("one\n"), None));
    assert_eq!(hosted.file("mine.txt").as_deref(), Some("mine\n"), "files of the user stay");
    assert_eq!(hosted.send("r", restore(CheckpointParts::Both)).await.unwrap(), receipt);
    let diff = hosted.host.diff(&hosted.session_id).await.unwrap();
    assert_eq!(diff.len(), 1, "what was undone is not a change any more: {diff:?}");
    hosted.run("p3", "third").await;
    let body = server.requests().last().unwrap().body.to_string();
    assert!(body.contains(r#""first""#) && !body.contains(r#""second""#), "{body}");
}

/// Leaves a session as a host does that is killed before a restore changed its first file.
async fn leave_restore_open(fixture: &Fixture, hosted: Hosted<'_>, call: &str) {
    hosted.send("close", Action::Close).await.unwrap();
    hosted.until(&SessionStatus::Closed).await;
    drop(hosted);
    let service = fixture.service().await;
    let (archive, id) = (service.archive(), SessionId::from("s"));
    let mut epoch = archive.claim(&id).await;
    while epoch.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
        epoch = archive.claim(&id).await;
    }
    let (epoch, head) = (epoch.unwrap(), archive.head(&id).await.unwrap());
    let record = CommandRecord::new("r", "test", "user:ada", "restore", "digest");
    let events = [
        AgentEvent::CommandAccepted(Box::new(record)),
        AgentEvent::FileRestoreStarted(Box::new(FileRestore::new(vec![call.to_owned()], None))),
    ];
    let (timestamp, mut minter) = (Timestamp::from_millis(1), Minter::default());
    minter.stamp(Stamp { now: timestamp, entropy: 7 });
    let record = |(event, seq): (AgentEvent, u64)| {
        let id = EventId::new(minter.uuid());
        Arc::new(EventRecord { v: FORMAT_VERSION, seq, id, timestamp, loop_id: None, event })
    };
    let events: Vec<_> = events.into_iter().zip(head..).map(record).collect();
    archive.append(Append::new(&id, epoch, head, &events)).await.unwrap();
    archive.release(&id, epoch).await.unwrap();
    drop((archive, service));
}

#[tokio::test]
async fn restore_that_a_killed_host_began_is_finished_by_the_next() {
    let (fixture, server) = (Fixture::new("hosted-killed"), writing_server().await);
    leave_restore_open(&fixture, with_checkpoint(&fixture, &server).await, "c2").await;
    let hosted = Hosted::new(&fixture, &server, "bypass").await;
    let id = hosted.session_id.clone();
    let view = hosted.host.view(&id).await.unwrap();
    assert_eq!(view.status, SessionStatus::Interrupted);
    let recovered = hosted.host.recover_interrupted(Timestamp::from_millis(0)).await.unwrap();
    assert_eq!(recovered, [id]);
    assert_eq!((hosted.file("a.txt").as_deref(), hosted.file("b.txt")), (Some("one\n"), None));
    hosted.until(&SessionStatus::Idle).await;
}

#[tokio::test]
async fn interrupted_restore_does_not_undo_what_the_agent_changed_since() {
    let (fixture, server) = (Fixture::new("hosted-since"), writing_server().await);
    // The restore began when `c1` was the newest call; `c2` came later.
    leave_restore_open(&fixture, with_checkpoint(&fixture, &server).await, "c1").await;
    let hosted = Hosted::new(&fixture, &server, "bypass").await;
    hosted.host.recover_interrupted(Timestamp::from_millis(0)).await.unwrap();
    assert_eq!(
        (hosted.file("a.txt").as_deref(), hosted.file("b.txt").as_deref()),
        (Some("two\n"), Some("new\n"))
    );
    let events = hosted.service.events(&hosted.session_id).await.unwrap();
    let AgentEvent::FileRestoreEnded(ended) = &events.last().unwrap().event else { panic!("{events:#?}") };
    assert!(ended.problem.as_deref().unwrap().contains("changed files here since"), "{ended:?}");
}

#[tokio::test]
async fn question_of_the_model_waits_for_a_client_and_its_answer_reaches_the_model() {
    let fixture = Fixture::new("hosted-question");
    let question = json!({ "question": "Which colour?", "options": ["red", "blue"] });
    let turns = [Turn::new().call("q1", "ask_user", &question), Turn::new().text("painted")];
    let server = Server::start(Script::queue(turns)).await.unwrap();
    let hosted = Hosted::new(&fixture, &server, "default").await;
    hosted.prompt("p", "paint it").await;
    let view = hosted.until(&SessionStatus::RequiresAction).await;
    let ask = &view.asks[0];
    let AskSubject::Question { text, .. } = &ask.subject else { panic!("{ask:?}") };
    assert_eq!(text, "Which colour?");
    let labels: Vec<_> = ask.choices.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, ["red", "blue", "decline to answer"]);
    let answer = |answer| Action::Answer { ask_id: ask.id.clone(), digest: ask.digest.clone(), answer };
    let empty = answer(Answer::Value { value: "".into() });
    assert_eq!(hosted.send("e", empty).await.unwrap_err().code, ProblemCode::Invalid);
    hosted.send("a", answer(Answer::Value { value: "green".into() })).await.unwrap();
    let late = hosted.send("b", answer(Answer::Value { value: "red".into() })).await.unwrap_err();
    assert_eq!(late.code, ProblemCode::AlreadyAnswered);
    assert!(late.message.contains("user:ada"), "{late}");
    hosted.until(&SessionStatus::Idle).await;
    let body = server.requests().last().unwrap().body.to_string();
    assert!(body.contains("green"), "{body}");
}

#[tokio::test]
async fn declined_question_lets_the_model_decide() {
    let fixture = Fixture::new("hosted-decline");
    let turns =
        [Turn::new().call("q1", "ask_user", &json!({ "question": "Which?" })), Turn::new().text("fine")];
    let server = Server::start(Script::queue(turns)).await.unwrap();
    let hosted = Hosted::new(&fixture, &server, "default").await;
    hosted.prompt("p", "paint it").await;
    let view = hosted.until(&SessionStatus::RequiresAction).await;
    let ask = view.asks[0].clone();
    let answer = Answer::Decline { reason: None };
    hosted.send("a", Action::Answer { ask_id: ask.id, digest: ask.digest, answer }).await.unwrap();
    hosted.until(&SessionStatus::Idle).await;
    let body = server.requests().last().unwrap().body.to_string();
    assert!(body.contains("declined to answer"), "{body}");
}

#[tokio::test]
async fn command_of_the_user_runs_in_the_directory_and_is_undone_by_a_restore() {
    let (fixture, server) = (Fixture::new("hosted-shell"), writing_server().await);
    let hosted = Hosted::new(&fixture, &server, "default").await;
    hosted.send("k", Action::Checkpoint { label: "before".to_owned() }).await.unwrap();
    let shell = Action::Shell { command: "echo hello; echo x > made.txt; exit 3".to_owned() };
    hosted.send("x", shell).await.unwrap();
    hosted.until(&SessionStatus::Idle).await;
    assert_eq!(hosted.file("made.txt").as_deref(), Some("x\n"));
    let events = hosted.service.events(&hosted.session_id).await.unwrap();
    let AgentEvent::UserCommandEnded(ended) = &events.last().unwrap().event else { panic!("{events:#?}") };
    assert_eq!((ended.exit_code, &ended.problem), (Some(3), &None));
    let AgentEvent::MessagesImported { messages, .. } = &events[events.len() - 2].event else {
        panic!("{events:#?}")
    };
    let text = messages[0].as_llm().unwrap().text();
    assert!(text.contains("hello") && text.contains("3"), "{text}");
    hosted.send("r", restore(CheckpointParts::Files)).await.unwrap();
    assert_eq!(hosted.file("made.txt"), None);
}
