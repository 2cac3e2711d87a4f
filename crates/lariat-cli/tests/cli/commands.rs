//! Tests the user's and the project's own `/` commands.

use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// Writes a command into the project.
fn put(fixture: &Fixture, name: &str, text: &str) {
    let path = fixture.workspace().join(".claude/commands").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

async fn fixture() -> Fixture {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    let review = "---\ndescription: Review a change\nargument-hint: [number]\n---\nReview change $1.\nState: !`echo state-$1`\n";
    put(&fixture, "review.md", review);
    put(&fixture, "db/migrate.md", "Write a migration.");
    fixture
}

/// Runs a prompt in the sandbox. Returns the messages of the last request.
fn sent(fixture: &Fixture, arguments: &[&str]) -> String {
    let mut command = fixture.command(&[&["run"], arguments].concat());
    let ran = command.env("LARIAT_SANDBOX__ENABLED", "true").output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    fixture.requests().last().unwrap().body["messages"].to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn command_of_a_trusted_project_reaches_the_model_with_its_arguments_and_output() {
    let fixture = fixture().await;
    let first = sent(&fixture, &["/review 12", "--trust"]);
    assert!(first.contains("/review 12"), "the message of the user: {first}");
    assert!(first.contains("Review change 12.\\nState: ") && first.contains("state-12"), "{first}");
    assert!(!first.contains("!`echo"), "{first}");
    let second = sent(&fixture, &["--continue", "/db:migrate users", "--trust"]);
    assert!(second.contains("Write a migration.\\n\\nARGUMENTS: users"), "{second}");
    assert_eq!(second.matches("Review change 12.").count(), 1, "{second}");
}

#[tokio::test(flavor = "multi_thread")]
async fn project_that_is_not_trusted_has_no_commands() {
    let fixture = fixture().await;
    let sent = sent(&fixture, &["/review 12"]);
    assert!(sent.contains("/review 12") && !sent.contains("Review change"), "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn shell_command_in_a_text_needs_no_approval_or_does_not_run_and_never_writes() {
    let fixture = fixture().await;
    put(&fixture, "write.md", "Now: !`touch made-by-command`");
    let denied = sent(&fixture, &["/write", "--trust", "--deny", "Bash(touch:*)"]);
    assert!(denied.contains("`touch made-by-command` did not run"), "{denied}");
    let asked = sent(&fixture, &["/write", "--trust", "--mode", "default"]);
    assert!(asked.contains("needs the user's approval"), "{asked}");
    let allowed = sent(&fixture, &["/write", "--trust"]);
    assert!(!allowed.contains("did not run"), "{allowed}");
    assert!(!fixture.workspace().join("made-by-command").exists(), "{allowed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn allowed_tools_of_a_command_allow_its_calls_until_the_next_message() {
    let write = json!({"path": "note.txt", "content": "hello\n"});
    let turns = [
        Turn::new().call("c1", "write_file", &write),
        Turn::new().text("Done."),
        Turn::new().call("c2", "write_file", &write),
        Turn::new().text("Denied."),
    ];
    let fixture = Fixture::new(Script::queue(turns)).await;
    let text = "---\nallowed-tools: Edit(note.txt), Bash(touch:*)\n---\nWrite a note. Now: !`touch made`";
    put(&fixture, "note.md", text);
    let last = sent(&fixture, &["/note", "--trust", "--mode", "default"]);
    assert!(!last.contains("did not run"), "the rule allows the shell command: {last}");
    let note = fixture.workspace().join("note.txt");
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "hello\n");
    std::fs::remove_file(&note).unwrap();
    let next = sent(&fixture, &["--continue", "write it again", "--trust", "--mode", "default"]);
    assert!(!note.exists(), "an ordinary message has no such rules: {next}");
}

#[tokio::test(flavor = "multi_thread")]
async fn allowed_tools_of_a_command_do_not_override_a_rule_that_denies() {
    let write = json!({"path": "note.txt", "content": "hello\n"});
    let turns = [Turn::new().call("c1", "write_file", &write), Turn::new().text("Denied.")];
    let fixture = Fixture::new(Script::queue(turns)).await;
    put(&fixture, "note.md", "---\nallowed-tools: [Edit]\n---\nWrite a note.");
    sent(&fixture, &["/note", "--trust", "--mode", "default", "--deny", "Edit(note.txt)"]);
    assert!(!fixture.workspace().join("note.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn path_at_the_start_of_a_message_and_an_unknown_name_are_ordinary_text() {
    let fixture = fixture().await;
    for message in ["/usr/bin/env fails", "/unknown thing"] {
        let sent = sent(&fixture, &[message, "--trust"]);
        assert!(sent.contains(message) && !sent.contains("<command"), "{sent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_listed_with_where_they_come_from() {
    let fixture = fixture().await;
    let personal = fixture.path(".claude/commands/mine.md");
    std::fs::create_dir_all(personal.parent().unwrap()).unwrap();
    std::fs::write(personal, "Do mine.").unwrap();
    let names = |listed: &Value| -> Vec<String> {
        listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    let before = fixture.run(&["commands", "list", "--json"]).expect(0);
    assert_eq!(names(&before.json()), ["mine"], "before trust");
    fixture.run(&["trust", "--yes"]).expect(0);
    let after = fixture.run(&["commands", "list", "--json"]).expect(0).json();
    assert_eq!(names(&after), ["db:migrate", "mine", "review"]);
    assert_eq!(after[2]["arguments"], json!("[number]"));
    assert_eq!(after[1]["source"], json!("user"));
}
