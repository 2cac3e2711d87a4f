//! The program passes the conformance suite of session hosts through an editor, as far as ACP can express its scripts.
//!
//! `cargo xtask editors` also kills the program after every step of every script.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use lariat_core::BoxFuture;
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::message::{AgentMessage, Message};
use lariat_proofs::server::{Answer, Request, Script, Turn};
use lariat_test::sessions::{
    Approval, EditorConnection, EditorFixture, Kills, ModelScript, PlannedReply, Report, all_scripts,
    editor_obstacle, run_editor_script,
};
use serde_json::{Value, json};

use super::{Editor, asking};
use crate::fixture::{Fixture, read_journal, text};

/// The scripts that an editor cannot express, and why.
const OBSTACLES: &[(&str, &str)] = &[
    ("the_queue_waits_for_the_run", STEERS),
    ("steering_overtakes_the_queue", STEERS),
    ("an_interrupting_prompt_replaces_the_run", STEERS),
    ("a_prompt_that_must_not_wait_is_refused", "an editor cannot send a message that must not wait"),
    ("an_interruption_pauses_the_queue", STEERS),
    ("a_prompt_runs_while_the_queue_is_paused", STEERS),
    ("clients_edit_the_queue", STEERS),
    ("the_first_answer_wins", "the answers of an editor have no digest"),
    ("an_ask_survives_a_crash", CONTINUES),
    ("an_ask_without_a_client_is_denied", "a session of an editor always has a client"),
    ("a_run_outlives_its_clients", "the runs of an editor end with it"),
    ("a_title_is_set_and_removed", "an editor can change a title (`/rename`), but not remove it"),
    ("a_failed_run_continues", CONTINUES),
    ("a_crash_during_a_reply_loses_nothing", STEERS),
    (
        "a_slow_live_reader_reads_the_log",
        "an editor has one channel, and the agent waits until the editor reads it",
    ),
    ("a_conversation_is_restored", RESTORES),
    ("files_are_restored", RESTORES),
    ("a_restore_returns_to_a_message", RESTORES),
    ("a_restore_to_the_start_undoes_everything", RESTORES),
    ("a_restore_is_refused_while_a_run_works", RESTORES),
    ("an_unknown_point_is_not_restored", RESTORES),
    ("a_restore_survives_a_crash", RESTORES),
    ("a_users_command_runs_once", RUNS_COMMANDS),
    ("a_users_command_excludes_runs", RUNS_COMMANDS),
    ("a_users_command_is_interrupted", RUNS_COMMANDS),
    ("a_crash_ends_a_users_command", RUNS_COMMANDS),
];
const STEERS: &str = "a message that an editor sends while the agent works steers it";
const RESTORES: &str = "an editor restores with a message (`/restore`)";
const RUNS_COMMANDS: &str = "an editor runs the commands of its user itself";
const CONTINUES: &str = "an editor continues a run only with a message";

/// A home for `lariat acp`, with the model of the suite behind the scripted server.
struct EditorHome {
    fixture: Fixture,
    model: ModelScript,
    editor: Mutex<Option<Arc<Line>>>,
}

/// A running program.
struct Line(Mutex<Editor>);

impl EditorConnection for Line {
    fn send(&self, message: &Value) {
        self.0.lock().unwrap().send(message);
    }

    fn received(&self, known: usize) -> Vec<Value> {
        let mut editor = self.0.lock().unwrap();
        editor.receive_waiting();
        // The suite does not know the response to `initialize`.
        editor.seen.get(known + 1..).unwrap_or_default().to_vec()
    }
}

impl EditorHome {
    async fn new() -> Self {
        let model = ModelScript::new(|mark, approval| {
            let program = if approval == Approval::Needed { "mark-asks" } else { "mark-free" };
            ("bash".to_owned(), json!({ "command": format!("./{program} {mark}") }))
        });
        let replying = model.clone();
        let fixture = asking(Script::answer(move |request| reply(&replying, request))).await;
        let path = fixture.path("config/lariat/config.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        let rule = "[permissions]\nallow = [\"Bash(./mark-free *)\"]\n";
        std::fs::write(path, format!("{settings}{rule}")).unwrap();
        for program in ["mark-free", "mark-asks"] {
            let path = fixture.write(program, "#!/bin/sh\necho \"$1\" >> marks.log\n");
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { fixture, model, editor: Mutex::default() }
    }
}

/// What the model of the suite replies to a request of the Messages API.
fn reply(model: &ModelScript, request: &Request) -> Answer {
    let conversation = conversation(&request.body);
    let reply = tokio::task::block_in_place(|| {
        tokio::runtime::Handle::current().block_on(model.reply(&conversation))
    });
    match reply {
        PlannedReply::Text(pieces) => Turn::new().text(pieces.concat()).into(),
        PlannedReply::Call(call) => Turn::new().call(call.id.as_str(), call.name, &call.arguments).into(),
        PlannedReply::Failure(why) => Answer::error(request.wire, 400, &why),
        other => panic!("{other:?}"),
    }
}

fn conversation(body: &Value) -> Vec<Message> {
    let mut conversation = Vec::new();
    for message in body["messages"].as_array().unwrap() {
        if message["role"] == "assistant" {
            conversation.extend(AgentMessage::assistant("").as_llm().cloned());
            continue;
        }
        let texts = match &message["content"] {
            Value::Array(blocks) => blocks
                .iter()
                .filter(|block| block["type"] == "text")
                .map(|block| text(&json!([block])))
                .collect(),
            content => vec![text(content)],
        };
        conversation.extend(texts.into_iter().map(Message::user));
    }
    conversation
}

impl EditorFixture for EditorHome {
    fn connect(&self) -> BoxFuture<'_, Arc<dyn EditorConnection>> {
        let line = Arc::new(Line(Mutex::new(Editor::start(&self.fixture))));
        *self.editor.lock().unwrap() = Some(Arc::clone(&line));
        Box::pin(std::future::ready(line as Arc<dyn EditorConnection>))
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        if let Some(line) = self.editor.lock().unwrap().take() {
            line.0.lock().unwrap().kill();
        }
        Box::pin(std::future::ready(()))
    }

    fn directory(&self) -> String {
        self.fixture.workspace().display().to_string()
    }

    fn model(&self) -> &ModelScript {
        &self.model
    }

    fn marks(&self) -> Vec<String> {
        let marks = std::fs::read_to_string(self.fixture.workspace().join("marks.log")).unwrap_or_default();
        marks.lines().map(str::to_owned).collect()
    }

    fn other_mode(&self) -> String {
        "plan".to_owned()
    }

    fn other_model(&self) -> String {
        "test/second".to_owned()
    }

    fn journal<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Vec<Event>> {
        Box::pin(async move {
            match self.fixture.store().await {
                Some(store) => read_journal(&store, session_id).await,
                None => Vec::new(),
            }
        })
    }
}

#[test]
fn acp_scripts_that_an_editor_cannot_express_are_known() {
    let found: Vec<(&str, &str)> =
        all_scripts().iter().filter_map(|script| Some((script.name(), editor_obstacle(script)?))).collect();
    assert_eq!(found, OBSTACLES, "say in docs/editors.md what changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn acp_editor_passes_the_scripts_that_it_can_express() {
    let kills = match std::env::var_os("LARIAT_KILLS") {
        Some(_) => Kills::AfterEveryStep,
        None => Kills::None,
    };
    let home: Arc<dyn EditorFixture> = Arc::new(EditorHome::new().await);
    let mut report = Report::default();
    for script in all_scripts().iter().filter(|script| editor_obstacle(script).is_none()) {
        report.add(Box::pin(run_editor_script(&home, script, kills)).await);
    }
    let (played, left_out) = (report.scripts, OBSTACLES.len());
    println!("the scripts of the session protocol over ACP: {played} of {}; {report}", played + left_out);
    report.check();
    assert_eq!(played + left_out, all_scripts().len());
}
