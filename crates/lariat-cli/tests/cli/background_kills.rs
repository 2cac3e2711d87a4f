//! Kills the background host at random moments while three clients send commands and follow the log.
//!
//! Afterwards, no acknowledged command is lost, none was carried out twice, every follower has seen exactly the journal, and
//! the view of the host is the fold of the journal. `cargo xtask kill-host` runs it with more kills.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use lariat_api::{
    Action, ClientName, CommandId, CreateSession, Cursor, Delivery, LogItem, LogRequest, ProblemCode,
    PromptContent, SessionCommand, SessionStatus, Sessions as _,
};
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::{EventId, SessionId};
use lariat_core::message::AgentMessage;
use lariat_core::store::SessionStore as _;
use lariat_proofs::engine::ViewFold;
use lariat_proofs::server::{Answer, Request, Script, Turn};
use lariat_server::Remote;
use lariat_test::SeededRandom;
use serde_json::json;

use super::fixture::{Fixture, text};

/// Kills without `LARIAT_KILLS`.
const KILLS: usize = 8;
const CLIENTS: usize = 3;
const SESSIONS: [&str; 2] = ["first", "second"];

/// The model writes the number of each prompt to a file, and then says so.
fn model(request: &Request) -> Answer {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let last = messages.last().cloned().unwrap_or_default();
    let is_result = last["content"]
        .as_array()
        .is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_result"));
    let words = text(&last["content"]);
    let number = words.split_whitespace().filter_map(|word| word.strip_prefix("task-")).next_back();
    match (is_result, number) {
        (false, Some(number)) => {
            let command = format!("echo {number} >> effects.txt");
            let id = format!("call_{number}_{}", messages.len());
            Turn::new().call(id, "bash", &json!({"command": command, "description": "note"})).into()
        }
        _ => Turn::new().text("done").into(),
    }
}

struct Host<'a> {
    fixture: &'a Fixture,
    child: std::process::Child,
}

impl<'a> Host<'a> {
    fn start(fixture: &'a Fixture) -> Self {
        Self { fixture, child: fixture.spawn(&["host", "serve", "--idle", "600"]) }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn restart(&mut self) {
        self.child = self.fixture.spawn(&["host", "serve", "--idle", "600"]);
    }
}

impl Drop for Host<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the clients know in the end.
#[derive(Default)]
struct Known {
    /// Acknowledged commands: session, id, position.
    acknowledged: Vec<(usize, String, u64)>,
}

/// Sends prompts until the killing is over.
async fn send_prompts(
    socket: PathBuf,
    client: usize,
    seed: u64,
    over: Arc<AtomicBool>,
    known: Arc<Mutex<Known>>,
) {
    let remote = Remote::new(socket);
    let mut dice = SeededRandom::new(seed).fork(&format!("client {client}"));
    let mut number = 0;
    while !over.load(Ordering::SeqCst) {
        number += 1;
        let (session, id) = (dice.index(SESSIONS.len()), format!("c{client}-{number}"));
        let content = PromptContent::text(format!("please do task-{id}"));
        let delivery = if dice.chance(50) { Delivery::Steer } else { Delivery::Queue };
        let command = SessionCommand::new(
            CommandId::new(&*id),
            ClientName::new("test"),
            Action::Prompt { content, delivery },
        );
        let session_id = SessionId::from(SESSIONS[session]);
        let receipt = loop {
            match remote.send(&session_id, command.clone()).await {
                Ok(receipt) => break receipt,
                Err(problem) if is_outage(&problem.code) => {
                    tokio::time::sleep(Duration::from_millis(20)).await
                }
                Err(problem) => panic!("{id}: {problem:?}"),
            }
        };
        known.lock().unwrap().acknowledged.push((session, id, receipt.seq));
        tokio::time::sleep(Duration::from_millis(20 + dice.below(120))).await;
    }
}

fn is_outage(code: &ProblemCode) -> bool {
    matches!(code, ProblemCode::Unavailable | ProblemCode::OwnedElsewhere)
}

/// Follows a log over every restart. Returns the events, and fails if one is missing or repeated.
async fn follow(socket: PathBuf, session: &'static str, events: Arc<Mutex<Vec<EventId>>>) {
    let (remote, session_id) = (Remote::new(socket), SessionId::from(session));
    let (mut cursor, mut next) = (None::<Cursor>, 0);
    loop {
        let mut request = LogRequest::default();
        (request.after, request.follow) = (cursor.clone(), true);
        if let Ok(mut items) = remote.log(&session_id, request).await {
            while let Some(Ok(item)) = items.next().await {
                if let LogItem::Event { cursor: after, event } = item {
                    assert_eq!(event.seq, next, "a follower of {session} missed or repeated an event");
                    (cursor, next) = (Some(after), next + 1);
                    events.lock().unwrap().push(event.id);
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn until_idle(remote: &Remote) {
    let begun = Instant::now();
    for session in SESSIONS {
        loop {
            let view = remote.view(&SessionId::from(session)).await;
            if view.as_ref().is_ok_and(|view| view.status == SessionStatus::Idle && view.queue.is_empty()) {
                break;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "session {session} does not finish: {view:#?}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// How often each text was delivered to the model's conversation.
fn deliveries(journal: &[Event]) -> BTreeMap<String, usize> {
    let words = |message: &AgentMessage| message.as_user().map(|_| message.as_llm().unwrap().text());
    let (mut queued, mut delivered) = (HashMap::new(), BTreeMap::new());
    for event in journal {
        match &event.event {
            AgentEvent::MessageQueued { message, .. } => drop(queued.insert(message.id(), words(message))),
            AgentEvent::MessageEnd { message } => {
                let full = message.shared().and_then(|message| words(message));
                if let Some(text) = full.or_else(|| queued.get(&message.id()).cloned().flatten()) {
                    *delivered.entry(text).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    delivered
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn host_killed_at_any_moment_loses_and_repeats_no_command() {
    let kills = number("LARIAT_KILLS").map_or(KILLS, |kills| usize::try_from(kills).unwrap());
    let seed = number("LARIAT_SEED").unwrap_or(1);
    let fixture = Fixture::new(Script::answer(model)).await;
    let socket = fixture.path("state/lariat/host/socket");
    let mut host = Host::start(&fixture);
    let remote = Remote::new(&socket);
    for session in SESSIONS {
        let request = CreateSession::new(session.into(), fixture.workspace().display().to_string());
        let begun = Instant::now();
        while let Err(problem) = remote.create(request.clone()).await {
            assert!(begun.elapsed() < Duration::from_secs(30), "{problem:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let (over, known) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Known::default())));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            tokio::spawn(send_prompts(socket.clone(), client, seed, Arc::clone(&over), Arc::clone(&known)))
        })
        .collect();
    let seen: Vec<(&str, Arc<Mutex<Vec<EventId>>>)> =
        (0..CLIENTS).map(|client| (SESSIONS[client % SESSIONS.len()], Arc::default())).collect();
    let followers: Vec<_> = seen
        .iter()
        .map(|(session, events)| tokio::spawn(follow(socket.clone(), session, Arc::clone(events))))
        .collect();

    let mut dice = SeededRandom::new(seed).fork("kills");
    for _ in 0..kills {
        tokio::time::sleep(Duration::from_millis(5 + dice.below(400))).await;
        host.kill();
        host.restart();
    }
    over.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }
    until_idle(&remote).await;
    let known = std::mem::take(&mut *known.lock().unwrap());
    check(&fixture, &remote, &known, &seen).await;
    for follower in followers {
        // A follower that failed an assertion has ended.
        assert!(!follower.is_finished());
        follower.abort();
    }
    let sent = known.acknowledged.len();
    println!(
        "{kills} kills, {sent} acknowledged commands, 0 lost, 0 carried out twice, {CLIENTS} followers complete"
    );
}

async fn check(fixture: &Fixture, remote: &Remote, known: &Known, seen: &[(&str, Arc<Mutex<Vec<EventId>>>)]) {
    let store = fixture.store().await.unwrap();
    for (at, session) in SESSIONS.into_iter().enumerate() {
        let session_id = SessionId::from(session);
        let journal = store.read(&session_id, 0, usize::MAX).await.unwrap();
        let mut accepted: HashMap<&str, Vec<u64>> = HashMap::new();
        for event in &journal {
            if let AgentEvent::CommandAccepted(command) = &event.event {
                accepted.entry(command.command_id.as_str()).or_default().push(event.seq);
            }
        }
        assert!(accepted.values().all(|places| places.len() == 1), "a command was recorded twice");
        let delivered = deliveries(&journal);
        for (_, id, seq) in known.acknowledged.iter().filter(|(session, ..)| *session == at) {
            assert_eq!(accepted.get(id.as_str()), Some(&vec![*seq]), "command {id} was acknowledged");
            assert_eq!(delivered.get(&format!("please do task-{id}")), Some(&1), "command {id}");
        }
        assert!(delivered.values().all(|count| *count == 1), "{delivered:?}");
        let mut fold = ViewFold::new(session_id.clone());
        journal.iter().for_each(|event| fold.apply(event));
        let (mut of_host, mut of_fold) = (remote.view(&session_id).await.unwrap(), fold.view(false));
        (of_host.clients, of_fold.ask_policy) = (Vec::new(), of_host.ask_policy);
        of_fold.clients = Vec::new();
        assert_eq!(of_host, of_fold);
        let ids: Vec<EventId> = journal.iter().map(|event| event.id).collect();
        for (_, events) in seen.iter().filter(|(followed, _)| *followed == session) {
            let begun = Instant::now();
            while *events.lock().unwrap() != ids {
                assert!(begun.elapsed() < Duration::from_secs(30), "a follower of {session} is not complete");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    let effects = effects(&fixture.workspace());
    let twice: Vec<_> = effects.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "carried out twice: {twice:?}");
}

fn effects(workspace: &Path) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(workspace.join("effects.txt")).unwrap_or_default();
    let mut effects = BTreeMap::new();
    for line in text.lines() {
        *effects.entry(line.to_owned()).or_default() += 1;
    }
    effects
}
