//! Regression tests for hooks and imported sessions.

use std::sync::Arc;

use lariat_core::event::{AgentEvent, Event, EventRecord};
use lariat_core::id::SessionId;
use lariat_core::permission::PermissionDecision;
use lariat_core::store::{Append, SessionStore as _};
use lariat_proofs::engine::{SqliteStore, archive_file};
use lariat_proofs::server::{Script, Turn};
use serde_json::{Value, json};

use crate::fixture::{Fixture, last_result, text};

const PATCH: &str =
    "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-one\n+two\n";

/// A model that makes these tool calls in order, and then repeats every result in its answer.
async fn script_with_calls(calls: Vec<(&'static str, Value)>) -> Fixture {
    Fixture::new(Script::answer(move |request| {
        let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
        let results: Vec<String> = messages
            .iter()
            .flat_map(|message| message["content"].as_array().cloned().unwrap_or_default())
            .filter(|block| block["type"] == "tool_result")
            .map(|block| text(&block["content"]))
            .collect();
        match calls.get(results.len()) {
            Some((tool, arguments)) => {
                Turn::new().call(format!("toolu_{}", results.len()), *tool, arguments).into()
            }
            None => Turn::new().text(format!("done: {}", results.join("\n"))).into(),
        }
    }))
    .await
}

fn write_user_settings(fixture: &Fixture, settings: &Value) {
    std::fs::create_dir_all(fixture.path(".claude")).unwrap();
    std::fs::write(fixture.path(".claude/settings.json"), settings.to_string()).unwrap();
}

fn project(fixture: &Fixture, settings: &Value) {
    std::fs::create_dir_all(fixture.workspace().join(".claude")).unwrap();
    fixture.write(".claude/settings.json", settings.to_string());
}

fn hook(event: &str, matcher: &str, command: &str) -> Value {
    json!({ "hooks": { event: [{ "matcher": matcher, "hooks": [{ "type": "command", "command": command }] }] } })
}

/// A hook on Edit, Write or MultiEdit covers every tool that writes.
#[tokio::test(flavor = "multi_thread")]
async fn hook_on_any_writer_blocks_apply_patch() {
    for matcher in ["Edit|Write|MultiEdit", "Edit", "Write", "MultiEdit", "apply_patch", "^(Edit|Write)$"] {
        let calls =
            vec![("read_file", json!({ "path": "a.txt" })), ("apply_patch", json!({ "patch": PATCH }))];
        let fixture = script_with_calls(calls).await;
        fixture.write("a.txt", "one\n");
        fixture.write("b.txt", "one\n");
        write_user_settings(&fixture, &hook("PreToolUse", matcher, "echo no writes >&2; exit 2"));
        let ran = fixture.run(&["run", "change it"]).expect(0);
        assert_eq!(std::fs::read_to_string(fixture.workspace().join("a.txt")).unwrap(), "one\n", "{matcher}");
        assert!(ran.stdout.contains("no writes"), "{matcher}: {ran:?}");
    }
}

/// A hook runs once for each file of a patch, with Claude Code's input format.
#[tokio::test(flavor = "multi_thread")]
async fn hook_runs_for_each_file_of_a_patch_as_an_edit() {
    let fixture = script_with_calls(vec![("apply_patch", json!({ "patch": PATCH }))]).await;
    fixture.write("a.txt", "one\n");
    fixture.write("b.txt", "one\n");
    let reported = fixture.path("told");
    write_user_settings(
        &fixture,
        &hook("PreToolUse", "Edit|Write", &format!("cat >> {0}; echo >> {0}", reported.display())),
    );
    fixture.run(&["run", "change it"]).expect(0);
    let reported = std::fs::read_to_string(reported).unwrap();
    let reported: Vec<Value> = reported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let workspace = fixture.workspace().canonicalize().unwrap();
    for (input, file) in reported.iter().zip(["a.txt", "b.txt"]) {
        assert_eq!(input["tool_name"], "Edit");
        assert_eq!(input["permission_mode"], "bypassPermissions");
        assert_eq!(input["tool_input"]["file_path"], json!(workspace.join(file)));
        assert!(input["tool_input"]["new_string"].as_str().unwrap().contains("two"));
    }
    assert_eq!(reported.len(), 2);
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("b.txt")).unwrap(), "two\n");
}

/// Hooks on Bash also check text for a running program.
#[tokio::test(flavor = "multi_thread")]
async fn hook_on_bash_blocks_text_for_a_running_command() {
    let calls = vec![("bash_input", json!({ "id": "bash_1", "text": "forbidden\n" }))];
    let fixture = script_with_calls(calls).await;
    write_user_settings(
        &fixture,
        &hook(
            "PreToolUse",
            "Bash",
            "grep -q '\"command\":\"forbidden' && { echo not that >&2; exit 2; } || true",
        ),
    );
    let ran = fixture.run(&["run", "type it"]).expect(0);
    assert!(ran.stdout.contains("Denied: not that"), "{ran:?}");
}

/// A bare rule for one writing tool covers all of them.
#[tokio::test(flavor = "multi_thread")]
async fn deny_edit_covers_apply_patch_and_reads_cover_the_map() {
    let calls = vec![("apply_patch", json!({ "patch": PATCH })), ("repo_map", json!({}))];
    let fixture = script_with_calls(calls).await;
    fixture.write("a.txt", "one\n");
    fixture.write("b.txt", "one\n");
    let ran = fixture.run(&["run", "change it", "--deny", "Edit", "--deny", "Read"]).expect(0);
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("a.txt")).unwrap(), "one\n");
    assert_eq!(ran.stdout.matches("Denied: ").count(), 2, "{ran:?}");
}

/// A denial has a single prefix.
#[tokio::test(flavor = "multi_thread")]
async fn denial_has_one_prefix() {
    let fixture = script_with_calls(vec![("bash", json!({ "command": "touch made" }))]).await;
    let ran = fixture.run(&["run", "make it", "--deny", "Bash(touch *)"]).expect(0);
    assert!(ran.stdout.starts_with("done: Denied: `touch made`: matches the deny rule"), "{ran:?}");
    assert_eq!(ran.stdout.matches("Denied").count(), 1, "{ran:?}");
}

/// A hook does not run if anything changed its script.
#[tokio::test(flavor = "multi_thread")]
async fn hook_whose_script_changed_does_not_run() {
    for (command, script) in [
        ("sh tools/h.sh", "tools/h.sh"),
        ("\"$CLAUDE_PROJECT_DIR\"/tools/h.sh", "tools/h.sh"),
        ("cd tools && ./h.sh", "tools/h.sh"),
        ("python3 -m tools.h", "tools/h.py"),
        ("make -s check", "Makefile"),
    ] {
        // In bypass mode and without a sandbox, only the hash protects.
        let write = format!("printf 'changed\\n' > {script}");
        let calls = vec![("bash", json!({ "command": write })), ("bash", json!({ "command": "echo after" }))];
        let fixture = script_with_calls(calls).await;
        std::fs::create_dir_all(fixture.workspace().join("tools")).unwrap();
        let path = fixture
            .write(script, if script == "Makefile" { "check:\n\ttrue\n" } else { "#!/bin/sh\ntrue\n" });
        if script.ends_with(".py") {
            fixture.write(script, "pass\n");
        }
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        project(&fixture, &hook("PreToolUse", "", command));
        fixture.run(&["trust", "--yes"]).expect(0);
        let ran = fixture.run(&["run", "try it"]).expect(0);
        let why = format!("`{script}` changed since the hook was trusted");
        assert!(ran.stdout.contains(&why), "{command}: {ran:?}");
        assert!(
            !ran.stdout.contains("after\n"),
            "{command}: a tool call is blocked if its hook cannot run: {ran:?}"
        );
    }
}

/// Neither a file tool nor a sandboxed command changes a script that a hook runs.
#[tokio::test(flavor = "multi_thread")]
async fn hook_script_is_protected_from_tools_and_commands() {
    const SCRIPT: &str = "#!/bin/sh\ntrue\n";
    let edit = |path: &str| json!({ "path": path, "old_string": "true", "new_string": "false" });
    let calls = vec![
        ("read_file", json!({ "path": "tools/h.sh" })),
        ("edit_file", edit("tools/h.sh")),
        ("read_file", json!({ "path": "tools/other.sh" })),
        ("edit_file", edit("tools/other.sh")),
        // In a file, so that the permission check sees no name and the sandbox alone decides.
        ("bash", json!({ "command": "bash change.sh" })),
    ];
    let fixture = script_with_calls(calls).await;
    std::fs::create_dir_all(fixture.workspace().join("tools")).unwrap();
    fixture.write("tools/h.sh", SCRIPT);
    fixture.write("tools/other.sh", SCRIPT);
    fixture.write(
        "change.sh",
        "echo changed > tools/h.sh; echo new > tools/new; mv -f tools/new tools/h.sh; rm -f tools/h.sh; echo made > tools/made\n",
    );
    // The hook never runs, so that its hash cannot refuse a tool call first.
    project(&fixture, &hook("PreToolUse", "WebSearch", "sh tools/h.sh"));
    fixture.run(&["trust", "--yes"]).expect(0);
    let mut command = fixture.command(&["run", "change it", "--mode", "auto"]);
    let output = command.env("LARIAT_SANDBOX__ENABLED", "true").output().unwrap();
    let content = |name: &str| std::fs::read_to_string(fixture.workspace().join(name)).unwrap_or_default();
    assert_eq!(content("tools/h.sh"), SCRIPT, "{output:?}");
    // The control: other files of the same directory can be changed in both ways.
    assert_eq!(content("tools/other.sh"), "#!/bin/sh\nfalse\n", "{output:?}");
    assert_eq!(content("tools/made"), "made\n", "{output:?}");
}

/// A project's hook runs in the sandbox; only the user can change that.
#[tokio::test(flavor = "multi_thread")]
async fn project_hook_cannot_write_outside_the_workspace() {
    for (setting, escapes) in [("true", false), ("false", true)] {
        let fixture = script_with_calls(vec![("bash", json!({ "command": "true" }))]).await;
        let mark = fixture.path("ESCAPED");
        project(&fixture, &hook("PostToolUse", "", &format!("touch {}", mark.display())));
        fixture.write("lariat.toml", "[sandbox]\nhooks = false\n");
        fixture.run(&["trust", "--yes"]).expect(0);
        let mut command = fixture.command(&["run", "try it", "--mode", "auto"]);
        command.env("LARIAT_SANDBOX__ENABLED", "true").env("LARIAT_SANDBOX__HOOKS", setting);
        let output = command.output().unwrap();
        assert_eq!(mark.exists(), escapes, "{setting}: {output:?}");
    }
}

/// The user's own hook does not run files of an untrusted workspace.
#[tokio::test(flavor = "multi_thread")]
async fn personal_hook_does_not_run_a_script_of_an_untrusted_workspace() {
    let fixture = script_with_calls(vec![("bash", json!({ "command": "echo ran" }))]).await;
    std::fs::create_dir_all(fixture.workspace().join("tools")).unwrap();
    fixture.write("tools/h.sh", "#!/bin/sh\ntouch \"$CLAUDE_PROJECT_DIR\"/hooked\n");
    write_user_settings(&fixture, &hook("PreToolUse", "Bash", "sh \"$CLAUDE_PROJECT_DIR\"/tools/h.sh"));
    let ran = fixture.run(&["run", "try it"]).expect(0);
    assert!(!fixture.workspace().join("hooked").exists());
    assert!(ran.stdout.contains("untrusted workspace"), "{ran:?}");
    assert!(ran.stderr.contains("lariat trust"), "{ran:?}");
    fixture.run(&["trust", "--yes"]).expect(0);
    let ran = fixture.run(&["run", "try it"]).expect(0);
    assert!(fixture.workspace().join("hooked").exists() && ran.stdout.contains("ran"), "{ran:?}");
}

/// A model that wants to run `touch made` on every prompt.
async fn making() -> Fixture {
    Fixture::new(Script::answer(|request| {
        let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
        let last =
            messages.last().and_then(|message| message["content"].as_array().cloned()).unwrap_or_default();
        if last.iter().any(|block| block["type"] == "tool_result") {
            return Turn::new().text("done").into();
        }
        Turn::new()
            .call(format!("toolu_{}", messages.len()), "bash", &json!({ "command": "touch made" }))
            .into()
    }))
    .await
}

/// Exports a foreign session that approved `touch made` for the session; with `cut`, it ends right after that.
async fn approved_elsewhere(fixture: &Fixture, cut: bool) -> SessionId {
    fixture.run(&["run", "make it", "--mode", "default"]).expect(0);
    let events = fixture.journal().await;
    let approve = |event: &Event| {
        let mut record = EventRecord::clone(event);
        if let AgentEvent::PermissionDecided { decision, .. } = &mut record.event {
            *decision = PermissionDecision::AllowSession;
        }
        Arc::new(record)
    };
    let decided = events.iter().position(|event| matches!(event.event, AgentEvent::PermissionDecided { .. }));
    let decided = decided.expect("the call was asked about");
    let events: Vec<Event> =
        events.iter().map(approve).take(if cut { decided + 1 } else { events.len() }).collect();
    let store = SqliteStore::in_memory().await.unwrap();
    let session = SessionId::from("elsewhere");
    let epoch = store.claim(&session).await.unwrap();
    store.append(Append::new(&session, epoch, 0, &events)).await.unwrap();
    let mut file = std::fs::File::create(fixture.path("session.lariat")).unwrap();
    archive_file::export(&store, &session, &mut file).await.unwrap();
    session
}

/// Approvals in an imported session do not apply here.
#[tokio::test(flavor = "multi_thread")]
async fn imported_session_carries_no_approval() {
    for cut in [false, true] {
        for fork in [false, true] {
            let fixture = making().await;
            let session = approved_elsewhere(&fixture, cut).await;
            let file = fixture.path("session.lariat");
            fixture.run(&["sessions", "import", file.to_str().unwrap()]).expect(0);
            let shown = fixture.run(&["sessions", "show", session.as_str()]).expect(0);
            assert!(shown.stdout.contains("imported   lariat session elsewhere"), "{shown:?}");
            let id = if fork {
                fixture.run(&["sessions", "fork", session.as_str()]).expect(0).stdout.trim().to_owned()
            } else {
                session.to_string()
            };
            let mut words = vec!["run", "--resume", &id, "--mode", "default"];
            words.extend((!cut).then_some("go on"));
            let ran = fixture.run(&words);
            assert!(!fixture.workspace().join("made").exists(), "cut {cut}, fork {fork}: {ran:?}");
            assert!(ran.stderr.contains("this session was imported"), "cut {cut}, fork {fork}: {ran:?}");
            // The control: the session continues if the mode allows it.
            let ran = fixture.run(&["run", "--resume", &id, "again", "--mode", "bypass"]).expect(0);
            assert!(fixture.workspace().join("made").exists() && ran.stdout.contains("done"), "{ran:?}");
        }
    }
}

/// An imported file cannot claim that this machine took it over.
#[tokio::test(flavor = "multi_thread")]
async fn archive_cannot_take_itself_over() {
    let fixture = making().await;
    let session = approved_elsewhere(&fixture, true).await;
    let first = std::fs::read(fixture.path("session.lariat")).unwrap();
    let inner = archive_file::check(&first[..]).unwrap().chain.to_string();
    // Another machine imported it, took it over and approved the tool call.
    let store = SqliteStore::in_memory().await.unwrap();
    archive_file::import(&store, std::io::Cursor::new(&first), None).await.unwrap();
    let events = store.read(&session, 0, usize::MAX).await.unwrap();
    let record = |event: AgentEvent, seq: u64| {
        let last = events.last().unwrap();
        Arc::new(EventRecord { seq, event, loop_id: None, ..EventRecord::clone(last) })
    };
    let asked = events.iter().rposition(|event| matches!(event.event, AgentEvent::PermissionRequired { .. }));
    let decided = &events[asked.unwrap()..];
    assert!(decided.iter().any(|event| matches!(event.event, AgentEvent::PermissionDecided { .. })));
    let next = events.len() as u64;
    let mut more = vec![record(AgentEvent::SessionTakenOver { import_id: inner }, next)];
    for (seq, event) in (next + 1..).zip(decided) {
        more.push(Arc::new(EventRecord { seq, ..EventRecord::clone(event) }));
    }
    let epoch = store.claim(&session).await.unwrap();
    store.append(Append::new(&session, epoch, next, &more)).await.unwrap();
    let mut file = std::fs::File::create(fixture.path("again.lariat")).unwrap();
    archive_file::export(&store, &session, &mut file).await.unwrap();
    fixture.run(&["sessions", "import", fixture.path("again.lariat").to_str().unwrap()]).expect(0);
    let ran = fixture.run(&["run", "--resume", session.as_str(), "--mode", "default"]);
    assert!(!fixture.workspace().join("made").exists(), "{ran:?}");
    assert!(
        last_result(&fixture.requests().last().unwrap().body).is_some(),
        "the tool call has a result: {ran:?}"
    );
}
