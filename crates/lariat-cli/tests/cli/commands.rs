//! Tests the user's and the project's own `/` commands.

use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use crate::fixture::{Fixture, wait_for};

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

/// Writes a file of the user.
fn put_own(fixture: &Fixture, name: &str, text: &str) {
    let path = fixture.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn models(fixture: &Fixture) -> Vec<String> {
    let requests = fixture.requests();
    requests.iter().map(|request| request.body["model"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn model_of_a_command_answers_its_message_only() {
    let fixture = fixture().await;
    put(&fixture, "fast.md", "---\nmodel: test/other\n---\nBe quick.");
    put(&fixture, "same.md", "---\nmodel: inherit\n---\nBe slow.");
    sent(&fixture, &["/fast now", "--trust"]);
    sent(&fixture, &["--continue", "and now?", "--trust"]);
    sent(&fixture, &["--continue", "/same", "--trust"]);
    assert_eq!(models(&fixture), ["other", "scripted", "scripted"]);
    let untrusted = sent(&fixture, &["/fast now"]);
    assert_eq!(models(&fixture).pop().unwrap(), "scripted", "{untrusted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn model_of_a_command_lasts_for_one_message_of_a_session() {
    let fixture = fixture().await;
    put(&fixture, "fast.md", "---\nmodel: test/other\n---\nBe quick.");
    fixture.run(&["trust", "--yes"]).expect(0);
    let _host = crate::background::HostGuard(&fixture);
    let id = fixture.run(&["run", "--detach", "first"]).expect(0).stdout.trim().to_owned();
    for (count, message) in [(1, "/fast second"), (2, "third")] {
        wait_for("the answer", || fixture.requests().len() == count && status(&fixture) == "idle");
        fixture.run(&["sessions", "steer", &id, message]).expect(0);
    }
    wait_for("the last answer", || fixture.requests().len() == 3 && status(&fixture) == "idle");
    assert_eq!(models(&fixture), ["scripted", "other", "scripted"]);
}

fn status(fixture: &Fixture) -> String {
    let all = fixture.run(&["ps", "--all", "--json"]).expect(0).json();
    all[0]["status"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_model_of_a_command_is_reported_and_the_message_is_answered() {
    let fixture = fixture().await;
    put(&fixture, "fast.md", "---\nmodel: no-such-model\n---\nBe quick.");
    let ran = fixture.run(&["run", "/fast now", "--trust"]).expect(0);
    assert!(ran.stdout.contains("Done."), "{ran:?}");
    assert!(
        ran.stderr.contains("no-such-model") && ran.stderr.contains("the model of the session answers"),
        "{ran:?}"
    );
    assert_eq!(models(&fixture), ["scripted"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn skill_for_files_is_offered_when_the_task_touches_one() {
    let turns = [
        Turn::new().text("Nothing to do."),
        Turn::new().text("I see it."),
        Turn::new().call("c1", "read_file", &json!({ "path": "db/schema.sql" })),
        Turn::new().text("Read."),
    ];
    let fixture = Fixture::new(Script::queue(turns)).await;
    let skill =
        "---\nname: sql\ndescription: Writes migrations.\npaths: [\"db/**/*.sql\", \"*.sql\"]\n---\nBody.";
    put_own(&fixture, ".claude/skills/sql/SKILL.md", skill);
    std::fs::create_dir_all(fixture.workspace().join("db")).unwrap();
    fixture.write("db/schema.sql", "create table a (b int);");
    let last = |fixture: &Fixture| fixture.requests().pop().unwrap().body.to_string();
    fixture.run(&["run", "what is new?"]).expect(0);
    assert!(!last(&fixture).contains("Writes migrations."), "no such file is part of the task");
    fixture.run(&["run", "look at (@db/schema.sql)."]).expect(0);
    assert!(last(&fixture).contains("Writes migrations."), "the message names the file");
    fixture.run(&["run", "read the schema"]).expect(0);
    assert!(last(&fixture).contains("Writes migrations."), "the model read the file");
    let requests = fixture.requests();
    assert!(!requests[2].body.to_string().contains("Writes migrations."), "not before");
}

#[tokio::test(flavor = "multi_thread")]
async fn skill_that_asks_to_run_apart_is_delegated_to_a_sub_agent() {
    let fixture = fixture().await;
    let skill = "---\nname: apart\ndescription: Looks around.\ncontext: fork\n---\nBody.";
    put_own(&fixture, ".claude/skills/apart/SKILL.md", skill);
    let listed = fixture.run(&["commands", "list", "--json"]).expect(0).json();
    let apart = listed.as_array().unwrap().iter().find(|one| one["name"] == "apart").unwrap();
    assert_eq!(apart["description"], "Looks around. [runs in a sub-agent]");
    let text = sent(&fixture, &["/apart"]);
    assert!(text.contains("The user invoked the skill `apart`."), "{text}");
    assert!(text.contains("call the tool `agent` once, with the subagent_type `general`"), "{text}");
}

/// Installs a plugin with a command, a skill, a hook and an MCP server.
fn install(fixture: &Fixture, id: &str) {
    let root = fixture.path(".claude/plugins/cache/tools");
    let file =
        |name: &str, text: &str| put_own(fixture, &format!(".claude/plugins/cache/tools/{name}"), text);
    file(".claude-plugin/plugin.json", "{\"name\": \"tools\"}");
    file("commands/review.md", "Review with ${CLAUDE_PLUGIN_ROOT}/list.txt.");
    file("skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Fills forms.\n---\nThe body of the skill.");
    let command = "touch \"$CLAUDE_PROJECT_DIR/hooked\" && test -e ${CLAUDE_PLUGIN_ROOT}/commands/review.md";
    let hooks =
        json!({ "hooks": { "SessionStart": [{ "hooks": [{ "type": "command", "command": command }] }] } });
    file("hooks/hooks.json", &hooks.to_string());
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/../lariat-connect/tests/mcp/server.py");
    std::fs::copy(server, root.join("server.py")).unwrap();
    let entry = json!({ "command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"],
        "env": { "KEY": "${TEST_KEY:-none}", "STORED": "${keyring:test:-none}" }, "sandbox": { "enabled": false } });
    file(".mcp.json", &json!({ "mcpServers": { "mine": entry } }).to_string());
    let installed = json!({ "version": 2, "plugins": { id: [{ "scope": "user", "installPath": root }] } });
    put_own(fixture, ".claude/plugins/installed_plugins.json", &installed.to_string());
}

fn enable(fixture: &Fixture, enabled: &Value) {
    put_own(fixture, ".claude/settings.json", &json!({ "enabledPlugins": enabled }).to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn enabled_plugin_brings_commands_skills_hooks_and_servers() {
    let fixture = fixture().await;
    install(&fixture, "tools@shop");
    let names = || -> Vec<(String, String)> {
        let listed = fixture.run(&["commands", "list", "--json"]).expect(0).json();
        let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
        listed.as_array().unwrap().iter().map(|one| (text(one, "name"), text(one, "source"))).collect()
    };
    assert!(names().is_empty(), "it is installed and not enabled");
    enable(&fixture, &json!({ "tools@shop": true, "absent@shop": true }));
    let plugin = |name: &str| (name.to_owned(), "plugin".to_owned());
    assert_eq!(names(), [plugin("tools:pdf"), plugin("tools:review")]);
    let text = sent(&fixture, &["/tools:review"]);
    assert!(text.contains("Review with ") && text.contains("cache/tools/list.txt"), "{text}");
    let request = fixture.requests().pop().unwrap().body;
    assert!(request["system"].to_string().contains("tools:pdf"), "{request}");
    assert!(request["tools"].to_string().contains("mcp__plugin_tools_mine__echo"), "{request}");
    assert!(fixture.workspace().join("hooked").exists(), "the hook ran");
    let got = fixture.run(&["mcp", "get", "plugin_tools_mine", "--json"]).expect(0).json();
    assert_eq!(got["scope"], "plugin");
    let doctor = fixture.run(&["run", "again"]).expect(0);
    assert!(doctor.stderr.contains("`absent@shop` is not used: it is not installed"), "{doctor:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_is_not_read_if_a_setting_disables_it_or_it_is_elsewhere() {
    let fixture = fixture().await;
    install(&fixture, "tools@shop");
    enable(&fixture, &json!({ "tools@shop": true }));
    let local = fixture.workspace().join(".claude/settings.local.json");
    std::fs::write(&local, json!({ "enabledPlugins": { "tools@shop": false } }).to_string()).unwrap();
    let listed = || fixture.run(&["commands", "list", "--json"]).expect(0).stdout;
    assert!(listed().contains("tools:review"), "a project that is not trusted decides nothing");
    fixture.run(&["trust", "--yes"]).expect(0);
    assert!(!listed().contains("tools:review"), "any setting can disable it");
    std::fs::remove_file(&local).unwrap();
    fixture.run(&["trust", "--yes"]).expect(0);
    std::os::unix::fs::symlink(fixture.workspace(), fixture.path(".claude/plugins/cache/link")).unwrap();
    for outside in [fixture.workspace(), fixture.path(".claude/plugins/cache/link"), fixture.path(".claude")]
    {
        let installed = json!({ "version": 1, "plugins": { "tools@shop": { "installPath": outside } } });
        put_own(&fixture, ".claude/plugins/installed_plugins.json", &installed.to_string());
        let ran = fixture.run(&["run", "hello"]).expect(0);
        assert!(ran.stderr.contains("is not in"), "{ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_of_a_plugin_runs_in_the_sandbox() {
    let script = Script::answer(|request| match crate::fixture::last_result(&request.body) {
        None => Turn::new()
            .call("c1", "mcp__plugin_tools_mine__write", &json!({ "path": "/var/tmp/lariat-plugin" }))
            .into(),
        Some((_, text, _)) => Turn::new().text(format!("result: {text}")).into(),
    });
    let fixture = Fixture::new(script).await;
    install(&fixture, "tools@shop");
    enable(&fixture, &json!({ "tools@shop": true }));
    let last = sent(&fixture, &["go"]);
    assert!(last.contains("Read-only file system") || last.contains("Permission denied"), "{last}");
}
