//! Editors that send nonsense, too much, or go away.

use std::time::{Duration, Instant};

use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use super::Editor;
use crate::fixture::{Fixture, silence, wait_for};

fn initialize(editor: &mut Editor) {
    editor.call("initialize", json!({ "protocolVersion": 99 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_nonsense_gets_errors_and_the_connection_stays_usable() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("ok").into())).await;
    let mut editor = Editor::raw(&fixture);
    let early = editor.try_call("session/new", json!({ "cwd": fixture.workspace(), "mcpServers": [] }));
    assert_eq!(early.unwrap_err()["code"], -32_600, "not before initialize");
    initialize(&mut editor);
    assert_eq!(editor.seen.last().unwrap()["result"]["protocolVersion"], 1, "the version that it speaks");

    let lines: &[(&[u8], i64)] = &[
        (b"{", -32_700),
        (b"\xff\xfe", -32_700),
        (b"[]", -32_600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"nope\"}", -32_601),
        (b"{\"jsonrpc\":\"1.0\",\"id\":1}", -32_600),
    ];
    for (line, code) in lines {
        let before = editor.seen.len();
        editor.write(&[line, &b"\n"[..]].concat());
        while editor.seen.len() == before {
            assert!(editor.receive("an error"));
        }
        assert_eq!(editor.seen.last().unwrap()["error"]["code"], *code, "{}", String::from_utf8_lossy(line));
    }
    // These need no answer: an empty line, an unknown notification, responses without a request.
    editor.write(b"\n  \n");
    editor.notify("$/unknown", Value::Null);
    editor.notify("session/cancel", json!({ "sessionId": 7 }));
    editor.notify("session/cancel", json!({ "sessionId": "nope" }));
    editor.send(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    editor.send(&json!({ "jsonrpc": "2.0", "id": "x", "error": { "code": 1, "message": "no" } }));

    let cases = [
        ("nope", json!({}), -32_601),
        ("initialize", json!({ "protocolVersion": 1 }), -32_600),
        ("session/new", json!({ "cwd": 5 }), -32_602),
        ("session/new", json!({ "cwd": "relative", "mcpServers": [] }), -32_602),
        ("session/new", json!({ "cwd": "/does/not/exist", "mcpServers": [] }), -32_602),
        ("session/new", json!({ "cwd": fixture.workspace(), "additionalDirectories": ["/"] }), -32_602),
        ("session/prompt", json!({ "sessionId": "nope", "prompt": [] }), -32_002),
        ("session/prompt", json!([1, 2]), -32_602),
        ("session/close", json!({ "sessionId": "nope" }), -32_002),
        ("session/list", json!({ "cursor": "nonsense" }), -32_602),
        ("authenticate", json!({ "methodId": "x" }), -32_602),
    ];
    for (method, params, code) in cases {
        let error = editor.try_call(method, params.clone()).unwrap_err();
        assert_eq!(error["code"], code, "{method} {params}: {error}");
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "hello");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert_eq!(editor.close(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_gigantic_line_is_refused_and_skipped() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("ok").into())).await;
    let mut editor = Editor::raw(&fixture);
    initialize(&mut editor);
    let part = vec![b'x'; 1024 * 1024];
    editor.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
    for _ in 0..40 {
        editor.write(&part);
    }
    editor.write(b"\"}\n");
    let at = editor.wait("the error", |message| message["error"]["code"] == -32_700);
    assert_eq!(editor.seen[at]["id"], Value::Null);
    editor.new_session(&fixture);
    assert_eq!(editor.close(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_end_of_the_input_stops_the_run_and_the_program() {
    let script = Script::answer(|request| {
        if request.body.to_string().contains("RUN-A-COMMAND") {
            let command = json!({ "command": "touch began; sleep 60" });
            return Turn::new().call("call_1", "bash", &command).into();
        }
        silence()
    });
    let fixture = Fixture::new(script).await;
    for text in ["RUN-A-COMMAND", "wait for the model"] {
        let mut editor = Editor::raw(&fixture);
        initialize(&mut editor);
        let session = editor.new_session(&fixture);
        let before = fixture.requests().len();
        editor.prompt(&session, text);
        wait_for("the model", || fixture.requests().len() > before);
        if text == "RUN-A-COMMAND" {
            wait_for("the command", || fixture.workspace().join("began").exists());
        }
        let begun = Instant::now();
        assert_eq!(editor.close(), Some(0));
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        // The session is free for the next process.
        let shown = fixture.run(&["sessions", "show", &session]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_many_requests_at_once_are_all_answered() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("ok").into())).await;
    let mut editor = Editor::raw(&fixture);
    initialize(&mut editor);
    let ids: Vec<u64> = (0..300).map(|_| editor.request("session/list", json!({}))).collect();
    for id in ids {
        // Beyond the limit, a request gets an error and not silence.
        let _ = editor.response(id);
    }
    editor.new_session(&fixture);
}
