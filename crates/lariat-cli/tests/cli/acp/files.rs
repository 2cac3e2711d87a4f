//! Files that the user has not saved in the editor, and output that the editor shows while a command runs.

use std::time::{Duration, Instant};

use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use super::{Editor, asking, of_kind, said, tool_call};
use crate::fixture::{Fixture, last_result};

/// A model that calls tools in turn, and repeats what the last one returned.
fn calling(calls: Vec<(&'static str, Value)>) -> Script {
    Script::answer(move |request| {
        let done = request.body["messages"].to_string().matches("\"tool_result\"").count();
        match calls.get(done) {
            Some((tool, arguments)) => Turn::new().call(format!("call_{done}"), *tool, arguments).into(),
            None => {
                let (_, text, is_error) = last_result(&request.body).unwrap();
                Turn::new().text(format!("{is_error}: {text}")).into()
            }
        }
    })
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({ "path": path }))
}

fn edit(old: &str, new: &str) -> (&'static str, Value) {
    ("edit_file", json!({ "path": "note.txt", "old_string": old, "new_string": new }))
}

fn reading(is_saving: bool) -> Value {
    json!({ "fs": { "readTextFile": true, "writeTextFile": is_saving } })
}

impl Editor {
    /// Answers a question about the file `note.txt` with its unsaved text.
    fn show(&mut self, fixture: &Fixture, text: &str) {
        let request = self.asked("fs/read_text_file");
        assert_eq!(request["params"]["path"], json!(fixture.workspace().join("note.txt")));
        self.answer(&request, json!({ "content": text }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_read_file_sees_the_unsaved_buffer() {
    let fixture = Fixture::new(calling(vec![read("note.txt")])).await;
    fixture.write("note.txt", "saved\n");
    let mut editor = Editor::with_capabilities(&fixture, reading(false));
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "read it");
    editor.show(&fixture, "typed just now\n");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    let said = said(&editor.updates(), "agent_message_chunk");
    assert!(said.contains("typed just now") && said.contains("not saved"), "{said}");
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("note.txt")).unwrap(), "saved\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_edit_changes_the_unsaved_text_and_undo_returns_it() {
    let fixture = asking(calling(vec![edit("typed", "edited")])).await;
    let path = fixture.write("note.txt", "saved\n");
    let mut editor = Editor::with_capabilities(&fixture, reading(true));
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "edit it");
    let buffer = "typed just now\n";
    // The diff that the user approves is about what the user sees.
    editor.show(&fixture, buffer);
    let asked = editor.choose("allow_once");
    assert_eq!(asked["toolCall"]["content"][0]["oldText"], buffer, "{asked:#}");
    // Again before it runs: it must be the same, and is saved then.
    let saving = loop {
        let asked = ["fs/read_text_file", "fs/write_text_file"].map(|method| editor.try_asked(method));
        match asked {
            [_, Some(saving)] => break saving,
            [Some(reading), None] => editor.answer(&reading, json!({ "content": buffer })),
            [None, None] => assert!(editor.receive("a request about the file")),
        }
    };
    assert_eq!(saving["params"]["content"], buffer);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "saved\n", "Lariat has not touched it yet");
    std::fs::write(&path, buffer).unwrap();
    editor.answer(&saving, json!({}));
    editor.show(&fixture, buffer);
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "edited just now\n");
    assert_eq!(editor.close(), Some(0));
    fixture.run(&["undo", "--yes"]).expect(0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), buffer, "what the user typed is not lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_edit_of_a_buffer_that_cannot_be_saved_is_refused() {
    let fixture = Fixture::new(calling(vec![edit("typed", "edited")])).await;
    let path = fixture.write("note.txt", "saved\n");
    let mut editor = Editor::with_capabilities(&fixture, reading(false));
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "edit it");
    editor.show(&fixture, "typed just now\n");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    let said = said(&editor.updates(), "agent_message_chunk");
    assert!(said.starts_with("true: ") && said.contains("unsaved changes to `note.txt`"), "{said}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "saved\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_editor_that_never_answers_about_files_delays_a_run_once() {
    let calls = vec![read("note.txt"), read("other.txt"), edit("saved", "edited")];
    let fixture = Fixture::new(calling(calls)).await;
    let path = fixture.write("note.txt", "saved\n");
    fixture.write("other.txt", "other\n");
    let mut editor = Editor::with_capabilities(&fixture, reading(true));
    let session = editor.new_session(&fixture);
    let begun = Instant::now();
    let prompt = editor.prompt(&session, "read and edit");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let said = said(&editor.updates(), "agent_message_chunk");
    assert!(said.contains("The editor did not answer"), "{said}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), "edited\n");
    let asked = editor.seen.iter().filter(|message| message["method"] == "fs/read_text_file").count();
    assert_eq!(asked, 1, "the editor is not asked again while it owes an answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_editor_is_not_asked_about_a_file_that_a_rule_denies() {
    let calls = vec![read("note.txt"), edit("typed", "edited")];
    let fixture = Fixture::new(calling(calls)).await;
    fixture.write("note.txt", "saved\n");
    let path = fixture.path("config/lariat/config.toml");
    let settings = std::fs::read_to_string(&path).unwrap();
    let rule = "[permissions]\ndeny = [\"Read(./note.txt)\"]\n";
    std::fs::write(path, format!("{settings}{rule}")).unwrap();
    let mut editor = Editor::with_capabilities(&fixture, reading(true));
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "read it");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    let asked = |message: &&Value| message["method"].as_str().is_some_and(|method| method.starts_with("fs/"));
    assert_eq!(editor.seen.iter().find(asked), None);
    assert!(said(&editor.updates(), "agent_message_chunk").starts_with("true: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_output_of_a_command_is_shown_while_it_runs() {
    let command = "printf 'first line\\n'; while [ ! -e go ]; do sleep 0.05; done; echo last line";
    let fixture = Fixture::new(calling(vec![("bash", json!({ "command": command }))])).await;
    let mut editor = Editor::with_capabilities(&fixture, json!({ "terminal": true }));
    let session = editor.new_session(&fixture);
    let prompt = editor.prompt(&session, "run it");
    // The command waits until the editor has shown its first line.
    let at = editor.wait("the output so far", |message| {
        let update = &message["params"]["update"];
        update["toolCallId"] == "call_0" && update["content"].to_string().contains("first line")
    });
    let update = &editor.seen[at]["params"]["update"];
    assert_eq!(update.get("status"), None, "it still runs: {update:#}");
    fixture.write("go", "");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    let call = tool_call(&editor.updates(), "call_0");
    assert_eq!(call["status"], "completed");
    assert!(call["content"].to_string().contains("last line"), "{call:#}");
    let uses =
        |message: &&Value| message["method"].as_str().is_some_and(|method| method.starts_with("terminal/"));
    assert_eq!(editor.seen.iter().find(uses), None, "commands run in the sandbox of Lariat");
    for update in of_kind(&editor.updates(), "tool_call_update") {
        assert!(update.to_string().len() < 16 * 1024, "{} bytes", update.to_string().len());
    }
}
