//! Prompts: tool calls, approvals, cancellation, modes, commands and images.

use lariat_proofs::server::{Answer, Frame, RawResponse, Script, Turn};
use serde_json::{Value, json};

use super::{Editor, asking, of_kind, said, tool_call};
use crate::fixture::{Fixture, last_result, wait_for};

fn write_call() -> Turn {
    Turn::new().text("I write it.").call(
        "call_1",
        "write_file",
        &json!({ "path": "note.txt", "content": "hello\n" }),
    )
}

/// A reply that starts and never ends.
fn partial_reply(words: &str) -> Answer {
    let start = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"scripted","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}"#;
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let delta = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": words } });
    let frame =
        |kind: &str, data: &str| Frame::Bytes(format!("event: {kind}\ndata: {data}\n\n").into_bytes());
    let frames = vec![
        frame("message_start", start),
        frame("content_block_start", block),
        frame("content_block_delta", &delta.to_string()),
        Frame::Stall,
    ];
    Answer::Raw(RawResponse { status: 200, headers: Vec::new(), frames })
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_prompt_with_an_approved_tool_call_writes_the_file() {
    let fixture = asking(Script::queue([write_call(), Turn::new().text("It is there.")])).await;
    let mut editor = Editor::start(&fixture);
    let capabilities = &editor.seen[0]["result"];
    assert_eq!(capabilities["protocolVersion"], 1);
    assert_eq!(capabilities["agentCapabilities"]["loadSession"], true);
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "write a note");
    let asked = editor.choose("allow_once");
    assert_eq!(asked["toolCall"]["toolCallId"], "call_1");
    let file = fixture.workspace().join("note.txt").display().to_string();
    let diff = json!({ "type": "diff", "path": file, "oldText": null, "newText": "hello\n" });
    let shown = &asked["toolCall"]["content"][0];
    assert_eq!((&shown["path"], &shown["newText"]), (&diff["path"], &diff["newText"]), "{asked:#}");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("note.txt")).unwrap(), "hello\n");
    let (end, _) = editor.response(prompt);
    let before_the_end = super::updates(&editor.seen[..end]);
    assert_eq!(said(&before_the_end, "agent_message_chunk"), "I write it.It is there.");
    assert!(of_kind(&before_the_end, "user_message_chunk").is_empty(), "the editor shows its prompt itself");
    let call = tool_call(&before_the_end, "call_1");
    assert_eq!((&call["status"], &call["kind"]), (&json!("completed"), &json!("edit")), "{call:#}");
    assert_eq!(call["content"][0]["newText"], "hello\n");
    assert_eq!(call["locations"][0]["path"], file.as_str());
    let calls = of_kind(&before_the_end, "tool_call_update");
    assert!(calls.iter().any(|update| update["status"] == "in_progress"), "{calls:#?}");
    assert!(!of_kind(&editor.updates(), "available_commands_update").is_empty());
    assert_eq!(editor.close(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_rejected_tool_call_writes_nothing_and_the_model_gets_the_denial() {
    let script = Script::answer(|request| match last_result(&request.body) {
        None => write_call().into(),
        Some((_, text, is_error)) => Turn::new().text(format!("{is_error}: {text}")).into(),
    });
    let fixture = asking(script).await;
    let mut editor = Editor::start(&fixture);
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "write a note");
    editor.choose("reject_once");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(!fixture.workspace().join("note.txt").exists());
    assert_eq!(tool_call(&editor.updates(), "call_1")["status"], "failed");
    assert!(said(&editor.updates(), "agent_message_chunk").contains("true: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_cancel_in_the_middle_of_a_reply_ends_the_prompt_as_cancelled() {
    let script = Script::answer(|request| {
        let text = request.body.to_string();
        if text.contains("PROMPT-TWO") {
            Turn::new().text("fine").into()
        } else {
            partial_reply("Half of it")
        }
    });
    let fixture = Fixture::new(script).await;
    let mut editor = Editor::start(&fixture);
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "first");
    editor.wait("the start of the reply", |message| {
        message["params"]["update"]["content"]["text"].as_str().is_some_and(|text| text.contains("Half"))
    });
    editor.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(editor.stop_reason(prompt), "cancelled");
    // The session can continue.
    let prompt = editor.prompt(&session, "PROMPT-TWO");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    // A cancellation right behind the prompt is not lost.
    let prompt = editor.prompt(&session, "third");
    editor.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(editor.stop_reason(prompt), "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_cancel_while_a_question_waits_withdraws_it() {
    let fixture = asking(Script::queue([write_call()])).await;
    let mut editor = Editor::start(&fixture);
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "write a note");
    let request = editor.asked("session/request_permission");
    editor.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(editor.stop_reason(prompt), "cancelled");
    let id = request["id"].clone();
    editor.wait("the withdrawal", move |message| {
        message["method"] == "$/cancel_request" && message["params"]["requestId"] == id
    });
    // A late answer approves nothing.
    editor.answer(&request, json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } }));
    editor.call("session/set_mode", json!({ "sessionId": session, "modeId": "plan" }));
    assert!(!fixture.workspace().join("note.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_plan_mode_asks_at_the_end_and_makes_the_approved_changes() {
    let script = Script::answer(|request| {
        let body = request.body.to_string();
        let again = json!({ "path": "again.txt", "content": "again" });
        match last_result(&request.body) {
            None => write_call().into(),
            Some(_) if body.contains("write it again") && !body.contains("call_2") => {
                Turn::new().call("call_2", "write_file", &again).into()
            }
            Some(_) => Turn::new().text("That is my plan.").into(),
        }
    });
    let fixture = asking(script).await;
    let mut editor = Editor::start(&fixture);
    let session = editor.new_session(&fixture);
    editor.call("session/set_mode", json!({ "sessionId": session, "modeId": "plan" }));
    editor.wait("the mode", |message| message["params"]["update"]["currentModeId"] == "plan");
    let unknown = editor.try_call("session/set_mode", json!({ "sessionId": session, "modeId": "yolo" }));
    assert!(unknown.unwrap_err()["message"].as_str().unwrap().contains("unknown permission mode `yolo`"));
    let prompt = editor.prompt(&session, "write a note");
    let request = editor.asked("session/request_permission");
    assert!(!fixture.workspace().join("note.txt").exists());
    assert!(request["params"]["toolCall"]["title"].as_str().unwrap().contains("planned changes (1)"));
    editor.answer(&request, json!({ "outcome": { "outcome": "selected", "optionId": "approve_plan" } }));
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(fixture.workspace().join("note.txt").exists());

    let prompt = editor.prompt(&session, "write it again");
    editor.choose("reject_plan");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(!fixture.workspace().join("again.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_options_change_the_model_and_the_effort() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("ok").into())).await;
    let mut editor = Editor::start(&fixture);
    let created = editor.call("session/new", json!({ "cwd": fixture.workspace(), "mcpServers": [] }));
    let session = created["sessionId"].as_str().unwrap();
    let value = |options: &Value, id: &str| {
        let option = options.as_array().unwrap().iter().find(|option| option["id"] == id).unwrap().clone();
        option["currentValue"].as_str().unwrap().to_owned()
    };
    assert_eq!(value(&created["configOptions"], "model"), "test/scripted");
    assert_eq!(created["modes"]["currentModeId"], "bypass");
    let set = |id: &str, value: &str| json!({ "sessionId": session, "configId": id, "value": value });
    let changed = editor.call("session/set_config_option", set("effort", "low"));
    assert_eq!(value(&changed["configOptions"], "effort"), "low");
    let changed = editor.call("session/set_config_option", set("model", "test/other"));
    assert_eq!(value(&changed["configOptions"], "model"), "test/other");
    let prompt = editor.prompt(session, "hello");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert_eq!(fixture.requests().last().unwrap().model, "other");
    editor.try_call("session/set_config_option", set("model", "nothing")).unwrap_err();
    editor.try_call("session/set_config_option", set("colour", "red")).unwrap_err();
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_commands_of_lariat_and_of_the_user_run() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("reviewed").into())).await;
    let folder = fixture.path(".claude/commands");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("review.md"),
        "---\ndescription: Review it\n---\nReview with care: $ARGUMENTS\n",
    )
    .unwrap();
    let mut editor = Editor::start(&fixture);
    let session = editor.new_session(&fixture);
    let at = editor.wait("the commands", |message| {
        message["params"]["update"]["sessionUpdate"] == "available_commands_update"
    });
    let commands = editor.seen[at]["params"]["update"]["availableCommands"].to_string();
    assert!(commands.contains("\"review\"") && commands.contains("\"compact\""), "{commands}");
    let prompt = editor.prompt(&session, "/cost");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(said(&editor.updates(), "agent_message_chunk").contains("Cost: "));
    assert!(fixture.requests().is_empty(), "the model is not asked");
    let prompt = editor.prompt(&session, "/rename The parser");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    editor.wait("the title", |message| message["params"]["update"]["title"] == "The parser");
    let prompt = editor.prompt(&session, "/review the parser");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(fixture.requests().last().unwrap().body.to_string().contains("Review with care: the parser"));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_images_mentions_and_embedded_files_reach_the_model() {
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("a dot").into())).await;
    let file = fixture.write("notes.md", "text");
    let mut editor = Editor::start(&fixture);
    let session = editor.new_session(&fixture);
    let uri = format!("file://{}", file.display());
    let blocks = json!([
        { "type": "text", "text": "what is in " },
        { "type": "resource_link", "uri": uri, "name": "notes.md" },
        { "type": "resource", "resource": { "uri": uri, "text": "unsaved words" } },
        { "type": "image", "data": PIXEL, "mimeType": "image/png" },
    ]);
    let prompt = editor.request("session/prompt", json!({ "sessionId": session, "prompt": blocks }));
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    let body = fixture.requests().last().unwrap().body.to_string();
    for part in [PIXEL, "what is in @notes.md", "unsaved words"] {
        assert!(body.contains(part), "{part}: {body}");
    }
    let audio = json!([{ "type": "audio", "data": "aGk=", "mimeType": "audio/wav" }]);
    let refused = editor.try_call("session/prompt", json!({ "sessionId": session, "prompt": audio }));
    assert_eq!(refused.unwrap_err()["code"], -32_602);
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_failed_model_call_is_an_error_with_its_text() {
    let script = Script::answer(|request| Answer::error(request.wire, 400, "this is not possible"));
    let fixture = Fixture::new(script).await;
    let mut editor = Editor::start(&fixture);
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "hello");
    let error = editor.response(prompt).1.unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("this is not possible"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_second_prompt_steers_the_first_and_both_end() {
    let script = Script::answer(|request| match last_result(&request.body) {
        None => Turn::new().call("call_1", "bash", &json!({ "command": "touch began; sleep 1" })).into(),
        Some(_) => Turn::new().text("done").into(),
    });
    let fixture = Fixture::new(script).await;
    let mut editor = Editor::start(&fixture);
    let session = editor.new_session(&fixture);
    let first = editor.prompt(&session, "go");
    wait_for("the command", || fixture.workspace().join("began").exists());
    let second = editor.prompt(&session, "and look left");
    assert_eq!(editor.stop_reason(first), "end_turn");
    assert_eq!(editor.stop_reason(second), "end_turn");
    assert!(fixture.requests().last().unwrap().body.to_string().contains("and look left"));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_question_of_the_model_is_answered_by_a_form() {
    let script = Script::answer(|request| match last_result(&request.body) {
        None => Turn::new().call("call_1", "ask_user", &json!({ "question": "Which colour?" })).into(),
        Some((_, text, _)) => Turn::new().text(format!("got {text}")).into(),
    });
    let fixture = Fixture::new(script).await;
    let mut editor = Editor::with_capabilities(&fixture, json!({ "elicitation": { "form": {} } }));
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "ask me");
    let request = editor.asked("elicitation/create");
    assert_eq!(request["params"]["message"], "Which colour?");
    editor.answer(&request, json!({ "action": "accept", "content": { "answer": "blue" } }));
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    let said = said(&editor.updates(), "agent_message_chunk");
    assert!(said.contains("got ") && said.contains("blue"), "{said}");
}
