//! Sessions: the same ones as in the terminal, several at once, after a kill, and with servers of the editor.

use lariat_core::event::{AgentEvent, Event};
use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use super::{Editor, asking_once, background_status, of_kind, said, tool_call, waiting_in_background};
use crate::background::HostGuard;
use crate::fixture::{Fixture, last_result, wait_for};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lariat-connect/tests/mcp/server.py");

/// What an editor shows of a conversation in the end: texts, tool calls, the plan.
fn shown(updates: &[Value]) -> Value {
    let mut ids: Vec<String> = Vec::new();
    for call in of_kind(updates, "tool_call") {
        ids.push(call["toolCallId"].as_str().unwrap().to_owned());
    }
    let calls: Vec<Value> = ids.iter().map(|id| tool_call(updates, id)).collect();
    json!({
        "replies": said(updates, "agent_message_chunk"),
        "thoughts": said(updates, "agent_thought_chunk"),
        "calls": calls,
        "plan": of_kind(updates, "plan").last().map(|plan| plan["entries"].clone()),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_load_shows_what_the_first_editor_saw() {
    let todo = json!({ "items": [{ "content": "write it", "status": "in_progress" }] });
    let fixture = Fixture::new(Script::queue([
        Turn::new().thinking("Let me see.").text("First ").call("call_1", "todo", &todo),
        Turn::new().call("call_2", "write_file", &json!({ "path": "note.txt", "content": "one\n" })),
        Turn::new().call(
            "call_3",
            "edit_file",
            &json!({ "path": "note.txt", "old_string": "one", "new_string": "two" }),
        ),
        Turn::new().call("call_4", "read_file", &json!({ "path": "missing.txt" })),
        Turn::new().text("and last."),
    ]))
    .await;
    let mut editor = Editor::start(&fixture);
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "write a note");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    let live = editor.updates();
    editor.close();
    assert_eq!(tool_call(&live, "call_3")["content"][0]["newText"], "two\n");
    assert_eq!(tool_call(&live, "call_4")["status"], "failed");

    let mut editor = Editor::start(&fixture);
    let replayed = editor.load(&fixture, &session);
    assert_eq!(shown(&replayed), shown(&live));
    assert_eq!(shown(&replayed)["plan"][0]["status"], "in_progress");
    assert_eq!(said(&replayed, "user_message_chunk"), "write a note");
    assert!(of_kind(&replayed, "session_info_update").iter().any(|info| info["title"] == "write a note"));

    // To resume needs no history.
    let mut editor = Editor::start(&fixture);
    let params = json!({ "sessionId": session, "cwd": fixture.workspace(), "mcpServers": [] });
    editor.call("session/resume", params);
    assert_eq!(said(&editor.updates(), "user_message_chunk"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_sessions_are_those_of_the_terminal() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("hello").into())).await;
    fixture.run(&["run", "from the terminal"]).expect(0);
    let mut editor = Editor::start(&fixture);
    let own = editor.new_session(&fixture);
    let prompt = editor.prompt(&own, "from the editor");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    let listed = fixture.run(&["sessions", "list", "--json"]).expect(0).json();
    assert!(
        listed.as_array().unwrap().iter().any(|session| session["session_id"] == own.as_str()),
        "{listed:#}"
    );

    let sessions = editor.call("session/list", json!({ "cwd": fixture.workspace() }))["sessions"].clone();
    let titles: Vec<&str> =
        sessions.as_array().unwrap().iter().map(|session| session["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["from the editor", "from the terminal"]);
    let terminal = sessions[1]["sessionId"].as_str().unwrap().to_owned();
    let replayed = editor.load(&fixture, &terminal);
    assert_eq!(said(&replayed, "user_message_chunk"), "from the terminal");
    let prompt = editor.prompt(&terminal, "and on");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    let elsewhere = editor.call("session/list", json!({ "cwd": fixture.path("config") }));
    assert_eq!(elsewhere["sessions"], json!([]));
    let other = json!({ "sessionId": terminal, "cwd": fixture.path("config"), "mcpServers": [] });
    let refused = editor.try_call("session/load", other).unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("another directory"), "{refused}");
    let unknown = json!({ "sessionId": "nope", "cwd": fixture.workspace(), "mcpServers": [] });
    assert_eq!(editor.try_call("session/load", unknown).unwrap_err()["code"], -32_002);
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_two_sessions_run_at_the_same_time() {
    let script = Script::answer(|request| {
        let body = request.body.to_string();
        let name = if body.contains("LEFT-SIDE") { "left" } else { "right" };
        let other = if name == "left" { "right" } else { "left" };
        match last_result(&request.body) {
            // Each command waits for the other one.
            None => {
                let command = format!("touch {name}; while [ ! -e {other} ]; do sleep 0.05; done");
                Turn::new().call(format!("call_{name}"), "bash", &json!({ "command": command })).into()
            }
            Some(_) => Turn::new().text(name).into(),
        }
    });
    let fixture = Fixture::new(script).await;
    let mut editor = Editor::start(&fixture);
    let sessions = [editor.new_session(&fixture), editor.new_session(&fixture)];
    let prompts = [editor.prompt(&sessions[0], "LEFT-SIDE"), editor.prompt(&sessions[1], "RIGHT-SIDE")];
    for prompt in prompts {
        assert_eq!(editor.stop_reason(prompt), "end_turn");
    }
    for (session, name) in sessions.iter().zip(["left", "right"]) {
        let own: Vec<Value> = editor
            .seen
            .iter()
            .filter(|message| message["params"]["sessionId"] == session.as_str())
            .cloned()
            .collect();
        assert_eq!(said(&super::updates(&own), "agent_message_chunk"), name);
    }
    editor.call("session/close", json!({ "sessionId": sessions[0] }));
    let closed = editor.try_call(
        "session/prompt",
        json!({ "sessionId": sessions[0], "prompt": [{ "type": "text", "text": "x" }] }),
    );
    assert_eq!(closed.unwrap_err()["code"], -32_002);
    assert_eq!(editor.close(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_killed_session_is_loaded_and_no_command_runs_twice() {
    let script = Script::answer(|request| match last_result(&request.body) {
        None => Turn::new().call("call_1", "bash", &json!({ "command": "echo x >> began; sleep 60" })).into(),
        Some(_) => Turn::new().text("continuing").into(),
    });
    let fixture = Fixture::new(script).await;
    let mut editor = Editor::direct(&fixture);
    let session = editor.new_session(&fixture);
    editor.prompt(&session, "go");
    let began = || std::fs::read_to_string(fixture.workspace().join("began")).unwrap_or_default();
    wait_for("the command", || began() == "x\n");
    editor.kill();

    let mut editor = Editor::start(&fixture);
    wait_for("the session", || {
        let params = json!({ "sessionId": session, "cwd": fixture.workspace(), "mcpServers": [] });
        editor.try_call("session/load", params).is_ok()
    });
    let call = tool_call(&editor.updates(), "call_1");
    assert_eq!(call["status"], "failed", "it does not run any more: {call:#}");
    let prompt = editor.prompt(&session, "continue please");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(fixture.requests().last().unwrap().body.to_string().contains("continue please"));
    assert_eq!(began(), "x\n");
    let journal = fixture.journal().await;
    let started = journal.iter().filter(|event| matches!(event.event, AgentEvent::ToolExecutionStart { .. }));
    assert_eq!(started.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_session_killed_while_its_run_stops_takes_the_next_prompt() {
    let script = Script::answer(|request| match last_result(&request.body) {
        // The command does not end when it is asked to, so the run needs time to stop.
        None => {
            let command = json!({ "command": "trap '' TERM INT; touch began; while true; do sleep 1; done" });
            Turn::new().call("call_1", "bash", &command).into()
        }
        Some(_) => Turn::new().text("here again").into(),
    });
    let fixture = Fixture::new(script).await;
    let mut editor = Editor::direct(&fixture);
    let session = editor.new_session(&fixture);
    editor.prompt(&session, "go");
    wait_for("the command", || fixture.workspace().join("began").exists());
    editor.notify("session/cancel", json!({ "sessionId": session }));
    let is_stopping =
        |journal: &[Event]| journal.iter().any(|event| matches!(event.event, AgentEvent::AbortRequested));
    while !is_stopping(&fixture.journal().await) {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    editor.kill();
    let has_ended =
        fixture.journal().await.iter().any(|event| matches!(event.event, AgentEvent::AgentEnd { .. }));

    let mut editor = Editor::start(&fixture);
    wait_for("the session", || {
        let params = json!({ "sessionId": session, "cwd": fixture.workspace(), "mcpServers": [] });
        editor.try_call("session/load", params).is_ok()
    });
    let prompt = editor.prompt(&session, "SECOND-TRY");
    assert_eq!(editor.stop_reason(prompt), "end_turn", "the run had ended: {has_ended}");
    assert!(fixture.requests().last().unwrap().body.to_string().contains("SECOND-TRY"));
    assert!(said(&editor.updates(), "agent_message_chunk").ends_with("here again"));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_question_that_is_answered_elsewhere_is_withdrawn() {
    let fixture = asking_once().await;
    let _host = HostGuard(&fixture);
    let session = waiting_in_background(&fixture);
    let mut editor = Editor::start(&fixture);
    editor.load(&fixture, &session);
    let request = editor.asked("session/request_permission");
    assert_eq!(request["params"]["toolCall"]["toolCallId"], "call_1");
    fixture.run(&["sessions", "approve", &session]).expect(0);
    let id = request["id"].clone();
    editor.wait("the withdrawal", move |message| {
        message["method"] == "$/cancel_request" && message["params"]["requestId"] == id
    });
    editor.wait("the end", |message| {
        message["params"]["update"]["content"]["text"].as_str().is_some_and(|text| text.contains("done"))
    });
    // The editor leaves, and the session of the other process stays.
    assert_eq!(editor.close(), Some(0));
    wait_for("the end", || background_status(&fixture) == "idle");
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_servers_of_the_editor_give_the_model_their_tools() {
    let script = Script::answer(|request| match last_result(&request.body) {
        None => Turn::new().call("call_1", "mcp__mine__echo", &json!({ "text": "hello" })).into(),
        Some((_, text, _)) => Turn::new().text(format!("got {text}")).into(),
    });
    let fixture = Fixture::new(script).await;
    let marker = fixture.workspace().join("marker");
    let mut editor = Editor::start(&fixture);
    let server =
        json!({ "name": "mine", "command": "python3", "args": [SERVER, "plain", marker], "env": [] });
    let created = editor.call("session/new", json!({ "cwd": fixture.workspace(), "mcpServers": [server] }));
    let prompt = editor.prompt(created["sessionId"].as_str().unwrap(), "echo");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert_eq!(said(&editor.updates(), "agent_message_chunk"), "got hello");
}
