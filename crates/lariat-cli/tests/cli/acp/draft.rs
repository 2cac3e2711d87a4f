//! The draft of version 2: prompts are answered at once, and a state says how the work goes.

use lariat_proofs::server::{Answer, Script, Turn};
use serde_json::{Value, json};

use super::{Editor, asking, asking_once, of_kind, said, tool_call};
use crate::fixture::Fixture;

impl Editor {
    /// Starts an agent that offers the draft to an editor that asks for it.
    fn draft(fixture: &Fixture) -> Self {
        let client = std::env::var_os("ACP_CLIENT");
        let mut editor = Self::spawn(fixture, client.as_deref(), &["acp", "--draft-v2"]);
        let info = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": 2, "info": info, "capabilities": {} });
        let initialized = editor.call("initialize", params);
        assert_eq!(
            (&initialized["protocolVersion"], &initialized["info"]["name"]),
            (&json!(2), &json!("lariat"))
        );
        assert!(initialized["capabilities"]["session"]["delete"].is_object(), "{initialized:#}");
        editor
    }

    /// Waits until the session is idle, and returns the states since a place in the messages.
    fn states_until_idle(&mut self, from: usize) -> Vec<Value> {
        let count = |messages: &[Value]| {
            messages.iter().filter(|message| message["params"]["update"]["state"] == "idle").count()
        };
        let before = count(&self.seen[..from]);
        while count(&self.seen) == before {
            assert!(self.receive("an idle session"), "the agent ended");
        }
        of_kind(&super::updates(&self.seen[from..]), "state_update")
    }
}

fn states(updates: &[Value]) -> Vec<&str> {
    updates.iter().map(|update| update["state"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_draft_answers_a_prompt_with_its_message_and_reports_the_work() {
    let fixture = asking_once().await;
    let mut editor = Editor::draft(&fixture);
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "write a note");
    let message_id = editor.response(prompt).1.unwrap()["messageId"].clone();
    let asked = editor.choose("allow_once");
    let states_seen = editor.states_until_idle(0);
    assert_eq!(states(&states_seen), ["running", "requires_action", "running", "idle"]);
    assert_eq!(states_seen[3]["stopReason"], "end_turn");
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("note.txt")).unwrap(), "x");
    let file = fixture.workspace().join("note.txt").display().to_string();
    assert_eq!(asked["subject"]["type"], "tool_call");
    let shown = &asked["subject"]["toolCall"]["content"][0];
    let change = json!({ "operation": "add", "path": file, "fileType": "text" });
    assert_eq!(shown["changes"], json!([change]), "{asked:#}");
    let patch = shown["patch"]["text"].as_str().unwrap();
    assert!(patch.contains(&format!("--- /dev/null\n+++ {file}\n@@ -0,0 +1 @@\n+x\n")), "{patch}");
    let updates = editor.updates();
    let own = of_kind(&updates, "user_message_chunk");
    assert_eq!((&own[0]["messageId"], &own[0]["content"]["text"]), (&message_id, &json!("write a note")));
    assert_eq!(said(&updates, "agent_message_chunk"), "done");
    assert!(of_kind(&updates, "tool_call").is_empty());
    assert_eq!(tool_call(&updates, "call_1")["status"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_draft_resumes_with_the_history_and_has_no_methods_of_version_1() {
    let fixture = asking_once().await;
    let mut editor = Editor::draft(&fixture);
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "write a note");
    let message_id = editor.response(prompt).1.unwrap()["messageId"].clone();
    editor.choose("reject_once");
    editor.states_until_idle(0);
    assert_eq!(editor.close(), Some(0));

    let mut editor = Editor::draft(&fixture);
    let at = json!({ "sessionId": session, "cwd": fixture.workspace() });
    let with = |from: Value| {
        let mut params = at.clone();
        params["replayFrom"] = from;
        params
    };
    let error = editor.try_call("session/resume", with(json!({ "type": "_bookmark" }))).unwrap_err();
    assert_eq!(error["code"], -32_602);
    let id = editor.request("session/resume", with(json!({ "type": "start" })));
    let (end, resumed) = editor.response(id);
    let resumed = resumed.unwrap();
    assert!(!resumed["availableCommands"].as_array().unwrap().is_empty(), "{resumed:#}");
    let replayed = super::updates(&editor.seen[..end]);
    assert_eq!(of_kind(&replayed, "user_message_chunk")[0]["messageId"], message_id);
    assert_eq!(said(&replayed, "agent_message_chunk"), "done");
    for (method, params) in [
        ("session/load", json!({ "sessionId": session, "cwd": fixture.workspace(), "mcpServers": [] })),
        ("session/set_mode", json!({ "sessionId": session, "modeId": "plan" })),
    ] {
        assert_eq!(editor.try_call(method, params).unwrap_err()["code"], -32_601, "{method}");
    }
    let chosen = json!({ "sessionId": session, "configId": "mode", "type": "id", "value": "plan" });
    let options = editor.call("session/set_config_option", chosen);
    let mode = &options["configOptions"][0];
    assert_eq!((&mode["configId"], &mode["currentValue"]), (&json!("mode"), &json!("plan")), "{mode:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_draft_says_why_the_work_ended() {
    let script = Script::answer(|request| Answer::error(request.wire, 400, "this is not possible"));
    let fixture = asking(script).await;
    let mut editor = Editor::draft(&fixture);
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "hello");
    assert!(editor.response(prompt).1.unwrap()["messageId"].is_string());
    let ended = editor.states_until_idle(0).pop().unwrap();
    assert_eq!(ended["stopReason"], "error");
    let text = ended["error"]["message"].as_str().unwrap();
    assert!(text.contains("this is not possible"), "{text}");

    let from = editor.seen.len();
    let command = editor.prompt(&session, "/cost");
    let message_id = editor.response(command).1.unwrap()["messageId"].clone();
    let states_seen = editor.states_until_idle(from);
    assert_eq!(states(&states_seen), ["running", "idle"]);
    let own = of_kind(&editor.updates(), "user_message_chunk").pop().unwrap();
    assert_eq!((&own["messageId"], &own["content"]["text"]), (&message_id, &json!("/cost")));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_draft_cancels_a_run_that_waits_for_an_answer() {
    let fixture = asking_once().await;
    let mut editor = Editor::draft(&fixture);
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "write a note");
    editor.response(prompt).1.unwrap();
    editor.asked("session/request_permission");
    editor.notify("session/cancel", json!({ "sessionId": session }));
    let ended = editor.states_until_idle(0).pop().unwrap();
    assert_eq!(ended["stopReason"], "cancelled");
    assert!(!fixture.workspace().join("note.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_draft_is_offered_only_with_its_flag() {
    let fixture = asking(Script::queue([Turn::new().text("hello")])).await;
    let mut editor = Editor::raw(&fixture);
    let initialized = editor.call("initialize", json!({ "protocolVersion": 2 }));
    assert_eq!(initialized["protocolVersion"], 1);
    let mut editor = Editor::spawn(&fixture, None, &["acp", "--draft-v2"]);
    let initialized = editor.call("initialize", json!({ "protocolVersion": 1 }));
    assert_eq!(initialized["protocolVersion"], 1);
    assert!(initialized["agentCapabilities"]["loadSession"].is_boolean());
}
