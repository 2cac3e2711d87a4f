//! The methods and the capabilities that announce them.

use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use super::{Editor, asking_once, background_status, waiting_in_background};
use crate::background::HostGuard;
use crate::fixture::{Fixture, silence, wait_for};

/// Every method of an agent in the stable schema, and the capability without which an editor must not use it.
const METHODS: &[(&str, &str)] = &[
    ("authenticate", ""),
    ("logout", "/agentCapabilities/auth/logout"),
    ("session/new", ""),
    ("session/load", "/agentCapabilities/loadSession"),
    ("session/resume", "/agentCapabilities/sessionCapabilities/resume"),
    ("session/list", "/agentCapabilities/sessionCapabilities/list"),
    ("session/close", "/agentCapabilities/sessionCapabilities/close"),
    ("session/delete", "/agentCapabilities/sessionCapabilities/delete"),
    ("session/prompt", ""),
    ("session/set_mode", ""),
    ("session/set_config_option", ""),
    // Not stable, so not announced.
    ("session/fork", "/agentCapabilities/sessionCapabilities/fork"),
    ("providers/list", "/agentCapabilities/providers"),
];

#[tokio::test(flavor = "multi_thread")]
async fn acp_capabilities_name_exactly_the_methods_that_work() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("ok").into())).await;
    let mut editor = Editor::direct(&fixture);
    let announced = editor.seen[0]["result"].clone();
    let expected = json!({
        "loadSession": true,
        "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
        "mcpCapabilities": { "http": true, "sse": false },
        "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "delete": {} },
    });
    assert_eq!(announced["agentCapabilities"], expected);
    assert_eq!(announced["authMethods"], json!([]));
    for (method, capability) in METHODS {
        let is_announced = capability.is_empty() || announced.pointer(capability).is_some();
        let answered = editor.try_call(method, json!({ "sessionId": 7 }));
        let is_known = answered.err().is_none_or(|error| error["code"] != -32_601);
        assert_eq!(is_known, is_announced, "{method}");
    }
}

fn ids(listed: &Value) -> Vec<&str> {
    listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["sessionId"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_deleted_session_is_gone_everywhere() {
    let fixture = Fixture::new(Script::answer(|request| {
        if request.body.to_string().contains("WAIT-FOR-ME") {
            silence()
        } else {
            Turn::new().text("ok").into()
        }
    }))
    .await;
    let mut editor = Editor::start(&fixture);
    let (kept, deleted, running) =
        (editor.new_session(&fixture), editor.new_session(&fixture), editor.new_session(&fixture));
    for session in [&kept, &deleted] {
        let prompt = editor.prompt(session, "hello");
        assert_eq!(editor.stop_reason(prompt), "end_turn");
    }
    let delete = |session: &str| json!({ "sessionId": session });
    assert_eq!(editor.call("session/delete", delete(&deleted)), json!({}));
    // A run ends first, and its prompt with it.
    let requests = fixture.requests().len();
    let prompt = editor.prompt(&running, "WAIT-FOR-ME");
    wait_for("the model", || fixture.requests().len() > requests);
    editor.call("session/delete", delete(&running));
    assert_eq!(editor.stop_reason(prompt), "cancelled");
    let listed = editor.call("session/list", json!({ "cwd": fixture.workspace() }));
    assert_eq!(ids(&listed), [kept.as_str()]);
    for session in [&deleted, &running] {
        let load = json!({ "sessionId": session, "cwd": fixture.workspace(), "mcpServers": [] });
        assert_eq!(editor.try_call("session/load", load).unwrap_err()["code"], -32_002);
        let shown = fixture.run(&["sessions", "show", session]);
        assert_ne!(shown.code, Some(0), "{shown:?}");
    }
    // Again, and one that never was: the protocol wants silence.
    editor.call("session/delete", delete(&deleted));
    editor.call("session/delete", delete("never there"));
    let prompt = editor.prompt(&kept, "and on");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_session_that_runs_in_another_process_is_not_deleted() {
    let fixture = asking_once().await;
    let _host = HostGuard(&fixture);
    let session = waiting_in_background(&fixture);
    let mut editor = Editor::start(&fixture);
    editor.load(&fixture, &session);
    let refused = editor.try_call("session/delete", json!({ "sessionId": session })).unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("another process"), "{refused}");
    assert_eq!(background_status(&fixture), "requires_action");
}
