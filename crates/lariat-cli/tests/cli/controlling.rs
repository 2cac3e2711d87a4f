//! Tests what a program that controls a session can change: arguments, hooks, directories and the session's id.

use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use crate::fixture::{Fixture, last_result};
use crate::wire::ControllingProgram;

const ASKING: [&str; 4] = ["--permission-mode", "default", "--permission-prompt-tool", "stdio"];

/// A model that makes one tool call, and then prints its result.
fn calling(tool: &'static str, arguments: Value) -> Script {
    Script::answer(move |request| match last_result(&request.body) {
        None => Turn::new().call("toolu_1", tool, &arguments).into(),
        Some((_, said, _)) => Turn::new().text(said).into(),
    })
}

/// Registers a function for an event. It has more time than a test.
fn registration(event: &str, matcher: &Value) -> Value {
    json!({ "subtype": "initialize", "hooks":
        { event: [{ "matcher": matcher, "hookCallbackIds": ["hook_0"], "timeout": 600 }] } })
}

fn answer(program: &mut ControllingProgram, request: &Value, response: Value) {
    program.send(json!({ "type": "control_response", "response":
        { "subtype": "success", "request_id": request["request_id"], "response": response } }));
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_calls_have_claude_codes_names_on_every_wire() {
    let script = calling("edit_file", json!({ "path": "a", "old_string": "x", "new_string": "y" }));
    let fixture = Fixture::new(script).await;
    fixture.write("a", "x\n");
    let mut program = ControllingProgram::start(&fixture, &ASKING);
    program.say("edit it");
    let (before, question) = program.until("control_request");
    let input = json!({ "file_path": "a", "old_string": "x", "new_string": "y" });
    let block = before.iter().find_map(|line| {
        line["message"]["content"].as_array()?.iter().find(|block| block["type"] == "tool_use").cloned()
    });
    let block = block.unwrap();
    assert_eq!((&block["name"], &block["input"]), (&json!("Edit"), &input));
    let request = &question["request"];
    assert_eq!((&request["tool_name"], &request["input"]), (&json!("Edit"), &input));
    answer(&mut program, &question, json!({ "behavior": "deny", "message": "not now" }));
    let (_, result) = program.until("result");
    let denial = &result["permission_denials"][0];
    assert_eq!((&denial["tool_name"], &denial["tool_input"]), (&json!("Edit"), &input));
    program.end(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn patch_keeps_its_own_name_where_a_call_is_shown_once() {
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n";
    let fixture = Fixture::new(calling("apply_patch", json!({ "patch": patch }))).await;
    let mut program = ControllingProgram::start(&fixture, &ASKING);
    program.say("patch it");
    let (_, question) = program.until("control_request");
    let request = &question["request"];
    assert_eq!((&request["tool_name"], &request["input"]["patch"]), (&json!("apply_patch"), &json!(patch)));
    answer(&mut program, &question, json!({ "behavior": "allow" }));
    program.until("result");
    program.end(0);
    assert!(fixture.workspace().join("a").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_with_changed_arguments_runs_them() {
    let fixture = Fixture::new(calling("write_file", json!({ "path": "wanted", "content": "x\n" }))).await;
    let mut program = ControllingProgram::start(&fixture, &ASKING);
    program.say("write it");
    let (_, question) = program.until("control_request");
    let changed = json!({ "file_path": "changed", "content": "y\n" });
    answer(&mut program, &question, json!({ "behavior": "allow", "updatedInput": changed }));
    let (_, result) = program.until("result");
    assert_eq!(result["permission_denials"], json!([]), "{result}");
    program.end(0);
    assert!(!fixture.workspace().join("wanted").exists());
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("changed")).unwrap(), "y\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_judge_the_arguments_that_an_approval_changes() {
    let fixture = Fixture::new(calling("write_file", json!({ "path": "wanted", "content": "x\n" }))).await;
    let mut arguments = ASKING.to_vec();
    arguments.extend(["--disallowedTools", "Edit(secret)"]);
    for changed in [
        json!({ "file_path": "secret", "content": "y\n" }),
        json!({ "file_path": "fine", "path": "secret", "content": "y\n" }),
        json!("secret"),
    ] {
        let mut program = ControllingProgram::start(&fixture, &arguments);
        program.say("write it");
        let (_, question) = program.until("control_request");
        answer(&mut program, &question, json!({ "behavior": "allow", "updatedInput": changed }));
        let (_, result) = program.until("result");
        assert_eq!(result["permission_denials"].as_array().unwrap().len(), 1, "{changed}: {result}");
        program.end(0);
        assert_eq!(std::fs::read_dir(fixture.workspace()).unwrap().count(), 0, "{changed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hook_callback_judges_the_arguments_that_an_approval_changes() {
    let fixture = Fixture::new(calling("write_file", json!({ "path": "wanted", "content": "x\n" }))).await;
    let mut program = ControllingProgram::start(&fixture, &ASKING);
    program.ask("r1", registration("PreToolUse", &json!("Write")));
    program.say("write it");
    let (_, call) = program.until("control_request");
    assert_eq!(call["request"]["subtype"], "hook_callback");
    answer(&mut program, &call, json!({}));
    let (_, question) = program.until("control_request");
    assert_eq!(question["request"]["subtype"], "can_use_tool");
    let changed = json!({ "file_path": "changed", "content": "y\n" });
    answer(&mut program, &question, json!({ "behavior": "allow", "updatedInput": changed }));
    let (_, judging) = program.until("control_request");
    assert_eq!(judging["request"]["input"]["tool_input"]["content"], "y\n");
    assert!(!fixture.workspace().join("changed").exists(), "the tool call waits for the hook");
    answer(&mut program, &judging, json!({}));
    program.until("result");
    program.end(0);
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("changed")).unwrap(), "y\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn program_interrupts_a_run_whose_changed_approval_is_judged() {
    let fixture = Fixture::new(calling("write_file", json!({ "path": "wanted", "content": "x\n" }))).await;
    let mut program = ControllingProgram::start(&fixture, &ASKING);
    program.ask("r1", registration("PreToolUse", &json!("Write")));
    program.say("write it");
    let (_, call) = program.until("control_request");
    answer(&mut program, &call, json!({}));
    let (_, question) = program.until("control_request");
    let changed = json!({ "file_path": "changed", "content": "y\n" });
    answer(&mut program, &question, json!({ "behavior": "allow", "updatedInput": changed }));
    program.until("control_request");
    program.ask("r2", json!({ "subtype": "interrupt" }));
    let (_, result) = program.until("result");
    assert_eq!(result["terminal_reason"], "aborted_streaming", "{result}");
    program.end(130);
    assert_eq!(std::fs::read_dir(fixture.workspace()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn question_of_an_interrupted_run_is_asked_again() {
    let fixture = Fixture::new(calling("write_file", json!({ "path": "wanted", "content": "x\n" }))).await;
    let mut program = ControllingProgram::start(&fixture, &ASKING);
    program.say("write it");
    let (before, question) = program.until("control_request");
    let id = before[0]["session_id"].as_str().unwrap().to_owned();
    program.kill();
    let mut program = ControllingProgram::start(&fixture, &[&ASKING[..], &["--resume", &id]].concat());
    program.ask("r1", json!({ "subtype": "initialize", "hooks": null }));
    let (_, again) = program.until("control_request");
    assert_eq!(again["request"]["input"], question["request"]["input"]);
    answer(&mut program, &again, json!({ "behavior": "allow" }));
    program.say("and now?");
    let (after, _) = program.until("result");
    assert!(after.iter().all(|line| line["type"] != "control_request"), "asked once: {after:#?}");
    program.end(0);
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("wanted")).unwrap(), "x\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn script_denies_once_what_an_interrupted_run_asked() {
    let fixture = Fixture::new(calling("write_file", json!({ "path": "wanted", "content": "x\n" }))).await;
    let mut program = ControllingProgram::start(&fixture, &ASKING);
    program.say("write it");
    let (before, _) = program.until("control_request");
    let id = before[0]["session_id"].as_str().unwrap().to_owned();
    program.kill();
    let ran = fixture.run(&["run", "--resume", &id, "and now?"]).expect(0);
    assert!(ran.stderr.contains("denied 1 tool call"), "{}", ran.stderr);
    assert!(!fixture.workspace().join("wanted").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_mode_and_model_are_commands_of_the_session() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("done").into())).await;
    let mut program = ControllingProgram::start(&fixture, &[]);
    program.ask("r1", json!({ "subtype": "set_permission_mode", "mode": "plan" }));
    let listed = fixture.run(&["sessions", "list"]).expect(0);
    assert!(
        listed.stderr.contains("no sessions"),
        "a session without a prompt is not stored: {}",
        listed.stdout
    );
    program.ask("r2", json!({ "subtype": "set_model", "model": "test/other" }));
    program.say("one");
    let (before, _) = program.until("result");
    assert_eq!((&before[0]["permissionMode"], &before[0]["model"]), (&json!("plan"), &json!("other")));
    let id = before[0]["session_id"].as_str().unwrap().to_owned();
    program.end(0);
    let journal = fixture.run(&["sessions", "tail", &id, "--json", "--lines", "100"]).expect(0);
    for action in ["setModel", "setMode", "prompt"] {
        let command = format!("\"action\":\"{action}\"");
        assert!(journal.stdout.contains(&command), "{action}: {}", journal.stdout);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hook_callback_denies_a_tool_call() {
    let fixture = Fixture::new(calling("bash", json!({ "command": "touch made" }))).await;
    let mut program = ControllingProgram::start(&fixture, &[]);
    let welcome = program.ask("r1", registration("PreToolUse", &json!("Bash")));
    assert_eq!(welcome["subtype"], "success", "{welcome}");
    program.say("make it");
    let (_, call) = program.until("control_request");
    let request = &call["request"];
    assert_eq!((&request["subtype"], &request["callback_id"]), (&json!("hook_callback"), &json!("hook_0")));
    assert_eq!(request["tool_use_id"], "toolu_1");
    let input = &request["input"];
    assert_eq!((&input["hook_event_name"], &input["tool_name"]), (&json!("PreToolUse"), &json!("Bash")));
    assert_eq!(input["tool_input"], json!({ "command": "touch made" }));
    assert!(!fixture.workspace().join("made").exists(), "the tool call waits for the answer");
    let denial = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse",
        "permissionDecision": "deny", "permissionDecisionReason": "no files today" } });
    answer(&mut program, &call, denial);
    let (_, result) = program.until("result");
    assert!(result["result"].as_str().unwrap().contains("no files today"), "{result}");
    program.end(0);
    assert!(!fixture.workspace().join("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn hook_callback_changes_arguments_and_rules_judge_them() {
    let fixture =
        Fixture::new(calling("bash", json!({ "command": "touch made", "timeout_seconds": 9 }))).await;
    for (command, runs) in [("touch other", true), ("touch forbidden", false)] {
        let mut program =
            ControllingProgram::start(&fixture, &["--disallowedTools", "Bash(touch forbidden)"]);
        program.ask("r1", registration("PreToolUse", &Value::Null));
        program.say("make it");
        let (_, call) = program.until("control_request");
        assert_eq!(call["request"]["input"]["tool_input"]["timeout"], 9_000);
        let updated = json!({ "command": command, "timeout": 9_000 });
        let output = json!({ "hookEventName": "PreToolUse", "updatedInput": updated });
        answer(&mut program, &call, json!({ "hookSpecificOutput": output }));
        let (_, result) = program.until("result");
        program.end(0);
        let name = command.strip_prefix("touch ").unwrap();
        assert_eq!(fixture.workspace().join(name).exists(), runs, "{result}");
    }
    assert!(!fixture.workspace().join("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn hook_callback_that_fails_or_does_not_answer_blocks() {
    let fixture = Fixture::new(calling("bash", json!({ "command": "touch made" }))).await;
    let mut program = ControllingProgram::start(&fixture, &[]);
    program.ask("r1", registration("PreToolUse", &json!("Bash")));
    program.say("make it");
    let (_, call) = program.until("control_request");
    program.send(json!({ "type": "control_response", "response":
        { "subtype": "error", "request_id": call["request_id"], "error": "it broke" } }));
    let (_, result) = program.until("result");
    assert!(result["result"].as_str().unwrap().contains("it broke"), "{result}");
    program.say("again");
    program.until("result");
    program.end(0);
    // The input ends while the function is asked.
    let mut program = ControllingProgram::start(&fixture, &[]);
    program.ask("r1", registration("PreToolUse", &json!("Bash")));
    program.say("make it");
    program.until("control_request");
    program.end(0);
    assert!(!fixture.workspace().join("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_if_hook_callbacks_cannot_be_used() {
    let fixture = Fixture::new(calling("bash", json!({ "command": "touch made" }))).await;
    for hooks in [
        json!({ "PreToolUse": [{ "matcher": "(", "hookCallbackIds": ["hook_0"] }] }),
        json!({ "PreToolUse": [{ "matcher": "Bash" }] }),
        json!({ "PreToolUse": [{ "hookCallbackIds": [3] }] }),
        json!({ "PreToolUse": [{ "hookCallbackIds": ["hook_0"], "timeout": "long" }] }),
        json!({ "PreToolUes": [{ "hookCallbackIds": ["hook_0"] }] }),
        json!("PreToolUse"),
    ] {
        let mut program = ControllingProgram::start(&fixture, &[]);
        let refused = program.ask("r1", json!({ "subtype": "initialize", "hooks": hooks }));
        assert_eq!(refused["subtype"], "error", "{hooks}: {refused}");
        let (_, stderr) = program.end(3);
        assert!(stderr.contains("cannot use the program's hooks"), "{stderr}");
    }
    assert!(fixture.requests().is_empty());
    assert!(!fixture.workspace().join("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_and_stop_reach_hook_callbacks() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("done").into())).await;
    let mut program = ControllingProgram::start(&fixture, &[]);
    let both = json!({ "UserPromptSubmit": [{ "matcher": null, "hookCallbackIds": ["hook_0"] }],
        "Stop": [{ "hookCallbackIds": ["hook_1"] }] });
    program.ask("r1", json!({ "subtype": "initialize", "hooks": both }));
    program.say("hello");
    let (_, prompt) = program.until("control_request");
    assert_eq!(prompt["request"]["input"]["prompt"], "hello");
    let context = json!({ "hookEventName": "UserPromptSubmit", "additionalContext": "use tabs" });
    answer(&mut program, &prompt, json!({ "hookSpecificOutput": context }));
    let (_, stop) = program.until("control_request");
    let input = &stop["request"]["input"];
    assert_eq!(
        (&stop["request"]["callback_id"], &input["hook_event_name"]),
        (&json!("hook_1"), &json!("Stop"))
    );
    answer(&mut program, &stop, json!({}));
    program.until("result");
    program.end(0);
    assert!(fixture.requests()[0].body.to_string().contains("use tabs"));
}

#[tokio::test(flavor = "multi_thread")]
async fn session_id_names_a_new_session() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("done").into())).await;
    let id = "0192aaaa-bbbb-4ccc-8ddd-eeeeffff0000";
    let named = ["-p", "one", "--session-id", id, "--output-format", "json"];
    assert_eq!(fixture.run(&named).expect(0).json()["session_id"], id);
    let ran = fixture.run(&["run", "--session-id", id, "two"]).expect(6);
    assert!(ran.stderr.contains("already exists"), "{}", ran.stderr);
    let again = fixture.run(&["-p", "two", "--resume", id, "--output-format", "json"]).expect(0);
    assert_eq!(again.json()["session_id"], id);
    fixture.run(&["run", "--session-id", "mine", "three"]).expect(3);
    fixture.run(&["-p", "three", "--resume", id, "--session-id", id]).expect(3);
    let fork = "0192aaaa-bbbb-4ccc-8ddd-eeeeffff0001";
    let forked =
        ["-p", "four", "--resume", id, "--fork-session", "--session-id", fork, "--output-format", "json"];
    assert_eq!(fixture.run(&forked).expect(0).json()["session_id"], fork);
}

#[tokio::test(flavor = "multi_thread")]
async fn added_directory_belongs_to_the_workspace() {
    let fixture = Fixture::new(calling("write_file", json!({ "path": "../more/a", "content": "x\n" }))).await;
    let more = fixture.path("more");
    std::fs::create_dir(&more).unwrap();
    let run = |arguments: &[&str]| {
        let mut all = vec!["run", "--mode", "accept-edits"];
        all.extend(arguments);
        fixture.run(&all)
    };
    run(&["write it"]).expect(0);
    assert!(!more.join("a").exists(), "not without the flag");
    run(&["--add-dir", "../more", "write it"]).expect(0);
    assert_eq!(std::fs::read_to_string(more.join("a")).unwrap(), "x\n");
    std::fs::remove_file(more.join("a")).unwrap();
    let flags = ["-p", "write it", "--permission-mode", "acceptEdits", "--add-dir"];
    fixture.run(&[&flags[..], &["../more"]].concat()).expect(0);
    assert!(more.join("a").exists());
    run(&["--add-dir", "../missing", "write it"]).expect(3);
    for broken in ["../missing", ""] {
        let ran = fixture.run(&[&flags[..], &[broken]].concat()).expect(3);
        assert!(ran.stderr.contains("directory"), "{}", ran.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn project_cannot_add_directories_before_trust() {
    let fixture = Fixture::new(calling("write_file", json!({ "path": "../more/a", "content": "x\n" }))).await;
    let more = fixture.path("more");
    std::fs::create_dir(&more).unwrap();
    std::fs::create_dir(fixture.workspace().join(".claude")).unwrap();
    fixture.write(".claude/settings.json", r#"{ "permissions": { "additionalDirectories": ["../more"] } }"#);
    fixture.run(&["run", "--mode", "accept-edits", "write it"]).expect(0);
    assert!(!more.join("a").exists(), "an untrusted project adds nothing");
    fixture.run(&["run", "--mode", "accept-edits", "--trust", "write it"]).expect(0);
    assert!(more.join("a").exists());
}

/// A hook of the user that keeps its input, and a copy of the transcript at that moment.
const KEEPER: &str = r#"input=$(cat); printf %s "$input" > "$HOME/input.json"; path=$(printf %s "$input" | sed 's/.*"transcript_path":"\([^"]*\)".*/\1/'); test -z "$path" || cp "$path" "$HOME/seen.jsonl""#;

#[tokio::test(flavor = "multi_thread")]
async fn transcript_grows_where_claude_code_writes_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture =
        Fixture::new(calling("bash", json!({ "command": "touch made", "timeout_seconds": 5 }))).await;
    let hooks = json!({ "hooks": { "PreToolUse": [{ "hooks": [{ "command": KEEPER }] }] } });
    std::fs::create_dir_all(fixture.path(".claude")).unwrap();
    std::fs::write(fixture.path(".claude/settings.json"), hooks.to_string()).unwrap();
    let read = |name: &str| std::fs::read_to_string(fixture.path(name)).unwrap_or_default();
    let input = || serde_json::from_str::<Value>(&read("input.json")).unwrap();

    fixture.run(&["run", "make it"]).expect(0);
    assert_eq!(input()["transcript_path"], "", "off by default");
    assert!(!fixture.path(".claude/projects").exists());

    let secret = "ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R";
    let prompt = format!("make it, the token is {secret}");
    let run = |arguments: &[&str]| {
        let output = fixture.command(arguments).env("LARIAT_CLAUDE__TRANSCRIPTS", "true").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["run", &prompt]);
    let (given, cwd) = (input(), fixture.workspace().canonicalize().unwrap());
    let folder: String =
        cwd.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let id = given["session_id"].as_str().unwrap();
    let path = format!(".claude/projects/{folder}/{id}.jsonl");
    assert_eq!(given["transcript_path"], fixture.path(&path).to_str().unwrap());
    let lines =
        |text: &str| -> Vec<Value> { text.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    let (seen, whole) = (lines(&read("seen.jsonl")), lines(&read(&path)));
    assert_eq!(
        seen.last().unwrap()["message"]["content"][0]["name"],
        "Bash",
        "the hook reads the call it is about"
    );
    assert_eq!(seen.last().unwrap()["message"]["content"][0]["input"]["timeout"], 5_000);
    assert_eq!(whole[..seen.len()], seen, "lines are only added");
    assert!(whole.len() >= seen.len() + 2, "the result and the reply follow");
    let said = |kind: &str| whole.iter().filter(|line| line["type"] == kind).count();
    assert!(said("user") >= 2 && said("assistant") == 2, "{whole:#?}");
    for pair in whole.windows(2) {
        assert_eq!(pair[1]["parentUuid"], pair[0]["uuid"], "one chain");
    }
    assert!(whole.iter().all(|line| line["sessionId"] == id));
    assert!(read(&path).contains("the token is") && !read(&path).contains(secret), "secrets are removed");
    let mode = std::fs::metadata(fixture.path(&path)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    run(&["run", "--resume", id, "and now?"]);
    let again = lines(&read(&path));
    assert_eq!(again[..whole.len()], whole, "a resumed session continues its file");
    assert!(again.len() > whole.len());
    let before = std::fs::read_dir(fixture.path(".claude/projects").join(&folder)).unwrap().count();
    run(&["run", "--ephemeral", "make it"]);
    let after = std::fs::read_dir(fixture.path(".claude/projects").join(&folder)).unwrap().count();
    assert_eq!(before, after, "a session that is not saved has no file");
}

#[tokio::test(flavor = "multi_thread")]
async fn transcript_of_another_program_is_not_overwritten() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("done").into())).await;
    let id = "0192aaaa-bbbb-4ccc-8ddd-eeeeffff0000";
    let (claude, cwd) = (fixture.path("claude"), fixture.workspace().canonicalize().unwrap());
    let folder: String =
        cwd.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let file = claude.join("projects").join(folder).join(format!("{id}.jsonl"));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = fixture.command(arguments);
        command.env("LARIAT_CLAUDE__TRANSCRIPTS", "true").env("CLAUDE_CONFIG_DIR", &claude);
        let output = command.output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let theirs = "{\"type\":\"user\",\"version\":\"2.0.1\"}\n";
    std::fs::write(&file, theirs).unwrap();
    let notes = run(&["run", "--session-id", id, "hello"]);
    assert!(notes.contains("another program wrote"), "{notes}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), theirs);
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(fixture.path("elsewhere"), &file).unwrap();
    assert!(run(&["run", "--resume", id, "again"]).contains("not a regular file"));
    assert!(!fixture.path("elsewhere").exists());
    std::fs::remove_file(&file).unwrap();
    run(&["run", "--resume", id, "again"]);
    assert!(
        std::fs::read_to_string(&file).unwrap().contains("hello"),
        "in the directory of CLAUDE_CONFIG_DIR"
    );
    assert!(!fixture.path(".claude").exists());
}
