//! Tests `lariat sessions` on a session that the program created.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use lariat_proofs::server::Turn;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::errors::CLAUDE;
use crate::kit::{Home, RunResult, Scene, snap};

fn done(home: &Home, args: &[&str]) -> RunResult {
    let ran = home.run(args);
    assert_eq!(ran.code, Some(0), "{args:?}: {ran}");
    ran
}

fn json(home: &Home, args: &[&str]) -> Value {
    serde_json::from_slice(&home.bytes(args)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_shows_tails_verifies_and_costs_a_session() {
    let (scene, id) = Scene::with_session().await;
    let home = &scene.home;
    let mut text = String::new();
    for args in [
        &["sessions", "list"][..],
        &["sessions", "list", "greeting", "HELLO"],
        &["sessions", "list", "unheard-of"],
        &["sessions", "list", "--here", "--limit", "1"],
        &["sessions", "list", "--tag", "none"],
        &["sessions", "show", &id],
        &["sessions", "tail", &id, "-n", "6"],
        &["sessions", "verify", &id],
        &["sessions", "repair", &id],
        &["sessions", "cost", &id],
        &["sessions", "cost", "--days", "1"],
        &["undo", "--list"],
        &["replay", &id],
    ] {
        let ran = done(home, args);
        text.push_str(&format!("$ lariat {}\n{ran}\n", home.named(&args.join(" ")).trim_end()));
    }
    snap("sessions", &text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_output_has_the_same_data() {
    let (scene, id) = Scene::with_session().await;
    let home = &scene.home;
    let listed = json(home, &["sessions", "list", "--json"]);
    assert_eq!(listed.pointer("/0/first_prompt"), Some(&Value::from("write a greeting")));
    let shown = json(home, &["sessions", "show", &id[..8], "--json"]);
    assert_eq!(shown.pointer("/session/session_id"), Some(&Value::from(id.as_str())));
    assert!(shown.get("messages").unwrap().as_array().unwrap().len() >= 6, "{shown}");
    let tail = home.bytes(&["sessions", "tail", &id, "-n", "3", "--json"]);
    let lines: Vec<Value> =
        String::from_utf8(tail).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines.last().unwrap().get("type"), Some(&Value::from("AgentEnd")));
    let verdict = json(home, &["sessions", "verify", "--all", "--json"]);
    assert_eq!(verdict.pointer("/0/damage"), Some(&Value::Array(Vec::new())));
    let cost = json(home, &["sessions", "cost", &id, "--json"]);
    assert_eq!(cost.pointer("/total/output"), Some(&Value::from(120)));
    let days = json(home, &["sessions", "cost", "--json"]);
    assert_eq!(days.pointer("/total"), cost.pointer("/total"));
    let replayed = json(home, &["replay", &id, "--json"]);
    assert!(replayed.as_array().unwrap().iter().all(|one| one.get("difference").is_none()), "{replayed}");
    let undo = json(home, &["undo", "--list", "--json"]);
    assert_eq!(undo.pointer("/0/paths/0"), Some(&Value::from("hello.txt")));
    let context = json(home, &["context", "show", "--continue", "--json"]);
    assert!(context.get("parts").unwrap().as_array().unwrap().len() > 3, "{context}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn export_and_import_preserve_a_session() {
    let (scene, id) = Scene::with_session().await;
    let home = &scene.home;
    done(home, &["sessions", "export", &id, "-o", "kept.lariat"]);
    let events = home.bytes(&["sessions", "export", &id, "--format", "jsonl"]);
    let claude = home.bytes(&["sessions", "export", &id, "--format", "claude"]);
    assert!(String::from_utf8(claude).unwrap().lines().all(|line| line.contains("sessionId")));

    // Import into another home, where it does not exist yet.
    let other = Home::offline();
    std::fs::copy(home.path("project/kept.lariat"), other.path("project/kept.lariat")).unwrap();
    let ran = done(&other, &["sessions", "import", "kept.lariat"]);
    assert_eq!(ran.out, "[ID]\n");
    // The imported events equal the exported ones, after a marker event.
    let events_without_seq = |bytes: Vec<u8>| -> Vec<Value> {
        let lines = String::from_utf8(bytes).unwrap();
        let snapshot_steps = |line: &str| {
            let mut event: Value = serde_json::from_str(line).unwrap();
            event.as_object_mut().unwrap().remove("seq");
            event
        };
        lines.lines().map(snapshot_steps).collect()
    };
    let came = events_without_seq(other.bytes(&["sessions", "export", &id, "--format", "jsonl"]));
    assert_eq!(came[0]["type"], "SessionImported", "{}", came[0]);
    assert_eq!(came[1..], events_without_seq(events));
    // Importing twice changes nothing.
    done(&other, &["sessions", "import", "kept.lariat"]);
    assert_eq!(events_without_seq(other.bytes(&["sessions", "export", &id, "--format", "jsonl"])), came);
}

#[test]
fn recognizes_sessions_of_other_programs() {
    let home = Home::offline();
    home.write("project/claude.jsonl", CLAUDE);
    home.write(
        "project/codex.jsonl",
        "{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi codex\"}]}}\n",
    );
    home.write(
        "project/loops.jsonl",
        "{\"type\":\"session_start\",\"timestamp\":\"2025-01-27T15:30:45Z\",\"prompt\":\"hi loops\",\"working_dir\":\"/w\"}\n",
    );
    for file in ["claude.jsonl", "codex.jsonl", "loops.jsonl"] {
        done(&home, &["sessions", "import", file]);
    }
    snap("sessions_imported", &done(&home, &["sessions", "list"]).to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rewinds_conversation_and_undoes_files_separately() {
    let (scene, id) = Scene::with_session().await;
    let home = &scene.home;
    let mut text = String::new();
    let mut step = |args: &[&str]| {
        let ran = done(home, args);
        text.push_str(&format!("$ lariat {}\n{ran}\n", home.named(&args.join(" ")).trim_end()));
    };
    step(&["sessions", "rewind", &id, "--yes"]);
    step(&["sessions", "show", &id]);
    step(&["sessions", "rewind", &id, "--turns", "9", "--yes"]);
    step(&["sessions", "rewind", &id, "--yes"]);
    assert_eq!(home.read("project/hello.txt"), "hello\n", "files stay");
    step(&["undo", "--yes"]);
    assert!(!home.path("project/hello.txt").exists(), "undo removes the file");
    step(&["undo", "rewind-1", "--yes"]);
    assert_eq!(home.read("project/hello.txt"), "hello\n", "an undo can be undone");
    // A later change by the user is kept, and reported.
    home.write("project/hello.txt", "mine\n");
    step(&["undo", "call_1", "--yes"]);
    assert_eq!(home.read("project/hello.txt"), "mine\n");
    snap("sessions_rewound", &text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fork_survives_its_deleted_parent() {
    let (scene, id) = Scene::with_session().await;
    let home = &scene.home;
    let ran = home.bytes(&["sessions", "fork", &id]);
    let fork = String::from_utf8(ran).unwrap().trim().to_owned();
    assert_ne!(fork, id);
    done(home, &["sessions", "delete", &id, "--yes"]);
    assert_eq!(home.run(&["sessions", "show", &id]).code, Some(6));
    let shown = done(home, &["sessions", "show", &fork]);
    assert!(shown.out.contains("It says hello."), "{shown}");
}

/// The names of an object's fields, in alphabetical order.
fn fields(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_commands_print_json() {
    let (scene, id) = Scene::with_session().await;
    let home = &scene.home;
    let events = json(home, &["sessions", "list", "--json"])[0]["events"].clone();

    let forked = json(home, &["sessions", "fork", &id[..8], "--json"]);
    assert_eq!(fields(&forked), ["events", "from", "session_id"]);
    assert_eq!((&forked["from"], &forked["events"]), (&Value::from(id.as_str()), &events));
    let fork = forked["session_id"].as_str().unwrap();
    let at = json(home, &["sessions", "fork", &id, "--at", "3", "--json"]);
    assert_eq!(at["events"], 3);

    let exported = json(home, &["sessions", "export", &id, "-o", "kept.lariat", "--json"]);
    assert_eq!(fields(&exported), ["bytes", "file", "session_id"]);
    assert_eq!((&exported["file"], &exported["session_id"]), (&"kept.lariat".into(), &id.as_str().into()));
    let bytes = std::fs::metadata(home.path("project/kept.lariat")).unwrap().len();
    assert_eq!(exported["bytes"], bytes);

    let deleted = json(home, &["sessions", "delete", fork, "--yes", "--json"]);
    assert_eq!(deleted, serde_json::json!({ "session_id": fork, "deleted": true }));
    assert_eq!(home.run(&["sessions", "show", fork]).code, Some(6));

    let repaired = json(home, &["sessions", "repair", &id, "--json"]);
    assert_eq!(fields(&repaired), ["damage", "intact", "repaired", "session_id"]);
    assert_eq!((&repaired["intact"], &repaired["repaired"]), (&events, &Value::from(false)));
    damage(home);
    let repaired = json(home, &["sessions", "repair", &id, "--json"]);
    assert_eq!((&repaired["repaired"], &repaired["damage"][0]["kind"]), (&true.into(), &"checksum".into()));
    assert_eq!(json(home, &["sessions", "verify", &id, "--json"])[0]["damage"], serde_json::json!([]));
}

#[test]
fn import_prints_json() {
    let home = Home::offline();
    home.write("project/claude.jsonl", &format!("{CLAUDE}no JSON\n"));
    let report = json(&home, &["sessions", "import", "claude.jsonl", "--json"]);
    assert_eq!(fields(&report), ["format", "notes", "session_id"]);
    assert_eq!(report["session_id"], "22222222-2222-4222-8222-222222222222");
    assert_eq!((&report["format"], &report["notes"][0]["line"]), (&"claude".into(), &3.into()));
    assert!(report["notes"][0]["text"].is_string(), "{report}");
    home.bytes(&["sessions", "export", "22222222", "-o", "kept.lariat"]);
    let other = Home::offline();
    std::fs::copy(home.path("project/kept.lariat"), other.path("project/kept.lariat")).unwrap();
    let report = json(&other, &["sessions", "import", "kept.lariat", "--json"]);
    assert_eq!((&report["format"], &report["notes"]), (&"lariat".into(), &serde_json::json!([])));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rewind_and_undo_print_json() {
    let (scene, id) = Scene::with_session().await;
    let home = &scene.home;
    let ids = |messages: &Value| -> Vec<Value> {
        messages.as_array().unwrap().iter().map(|message| message["id"].clone()).collect()
    };
    let before = ids(&json(home, &["sessions", "show", &id, "--json"])["messages"]);

    let rewound = json(home, &["sessions", "rewind", &id, "--yes", "--json"]);
    assert_eq!(fields(&rewound), ["left", "rewound", "session_id", "tip", "undo"]);
    let after = ids(&json(home, &["sessions", "show", &id, "--json"])["messages"]);
    assert_eq!((&rewound["rewound"], &rewound["tip"]), (&true.into(), after.last().unwrap()));
    assert_eq!(rewound["left"].as_array().unwrap(), &before[after.len()..]);
    assert_eq!(rewound["undo"], serde_json::json!([]));

    let all = json(home, &["sessions", "rewind", &id, "--turns", "9", "--yes", "--json"]);
    assert_eq!((&all["tip"], all["left"].as_array().unwrap()), (&Value::Null, &after));
    assert_eq!(all["undo"], serde_json::json!([{ "call": "call_1", "paths": ["hello.txt"] }]));
    let nothing = json(home, &["sessions", "rewind", &id, "--yes", "--json"]);
    assert_eq!((&nothing["rewound"], &nothing["left"]), (&false.into(), &serde_json::json!([])));

    let undone = json(home, &["undo", "--yes", "--json"]);
    assert_eq!(
        undone,
        serde_json::json!({
            "to": "call_1", "undo": "rewind-1", "restored": ["hello.txt"], "kept": [], "not_restorable": []
        })
    );
    home.bytes(&["undo", "rewind-1", "--yes"]);
    home.write("project/hello.txt", "mine\n");
    let kept = json(home, &["undo", "call_1", "--yes", "--json"]);
    assert_eq!((&kept["undo"], &kept["restored"]), (&Value::Null, &serde_json::json!([])));
    assert_eq!(kept["kept"], serde_json::json!([{ "path": "hello.txt", "reason": "changed_by_user" }]));
    assert_eq!(home.read("project/hello.txt"), "mine\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_without_yes_changes_and_prints_nothing() {
    let (scene, id) = Scene::with_session().await;
    let home = &scene.home;
    for args in [
        &["sessions", "delete", &id, "--json"][..],
        &["sessions", "rewind", &id, "--json"],
        &["undo", "--json"],
    ] {
        let ran = home.run(args);
        assert!(ran.code == Some(2) && ran.out.is_empty(), "{args:?}: {ran}");
    }
    assert!(home.path("project/hello.txt").exists());
    assert!(done(home, &["sessions", "show", &id]).out.contains("It says hello."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tail_follow_shows_events_of_another_process() {
    let (scene, id) = Scene::with_session().await;
    let home = &scene.home;
    let mut following = home
        .command(&["sessions", "tail", &id, "--follow", "--json", "-n", "1"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines().map(|line| {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        line.get("type").unwrap().as_str().unwrap().to_owned()
    });
    assert_eq!(lines.next().as_deref(), Some("AgentEnd"), "the last event");
    done(home, &["run", "--no-sandbox", "--continue", "and now?"]);
    assert!(lines.by_ref().take(20).any(|kind| kind == "AgentEnd"), "new events");
    // Interrupted, it exits with 130.
    kill_process(Pid::from_child(&following), Signal::INT).unwrap();
    assert_eq!(following.wait().unwrap().code(), Some(130));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verifies_reports_and_repairs_damage() {
    let (scene, id) = Scene::with_session().await;
    let home = &scene.home;
    let mut text = String::new();
    let mut step = |args: &[&str]| {
        let ran = home.run(args);
        text.push_str(&format!("$ lariat {}\n{ran}\n", home.named(&args.join(" ")).trim_end()));
        ran.code
    };
    damage(home);
    assert_eq!(step(&["sessions", "verify", &id]), Some(8));
    assert_eq!(step(&["doctor"]), Some(8));
    assert_eq!(step(&["sessions", "repair", &id]), Some(0));
    assert_eq!(step(&["sessions", "verify", &id]), Some(0));
    // Lost events cannot be replayed, so the replay differs and names the place.
    assert_eq!(step(&["replay", &id]), Some(8));
    let text: String = text.lines().filter(|line| !machine(line)).map(|line| format!("{line}\n")).collect();
    snap("sessions_damaged", &text);
}

/// Changes one character of the model's reply, wherever it is in the database.
fn damage(home: &Home) {
    let path = home.path("home/.local/state/lariat/sessions.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let said = b"\"It says hello.\"";
    let places: Vec<usize> =
        (0..bytes.len() - said.len()).filter(|at| bytes[*at..].starts_with(said)).collect();
    assert!(!places.is_empty(), "the reply is not in the database");
    places.iter().for_each(|at| bytes[at + 1] = b'X');
    std::fs::write(&path, bytes).unwrap();
}

/// Whether a line of the doctor's output depends on the machine.
fn machine(line: &str) -> bool {
    ["git  ", "install git", "local  "].iter().any(|about| line.contains(about))
}

/// Text that would take over a terminal: colors, title, clipboard, reordered characters.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]52;c;ZXZpbA==\u{7}\u{9b}31m\u{202e}gpj.exe\r";

#[test]
fn session_content_is_neutralised_in_all_output() {
    let home = Home::offline();
    let line = |kind: &str, id: u8, parent: Option<u8>, content: Value| {
        let name = |id: u8| format!("{id}{id}{id}{id}{id}{id}{id}{id}-1111-4111-8111-111111111111");
        serde_json::json!({
            "type": kind, "uuid": name(id), "parentUuid": parent.map(name), "cwd": HOSTILE,
            "sessionId": "22222222-2222-4222-8222-222222222222", "timestamp": "2026-01-01T00:00:00.000Z",
            "message": { "id": name(id), "role": kind, "model": HOSTILE, "content": content, "stop_reason": "tool_use" },
        })
        .to_string()
    };
    let call = serde_json::json!([
        { "type": "text", "text": HOSTILE },
        { "type": "tool_use", "id": "call_1", "name": "bash", "input": { "command": HOSTILE } },
    ]);
    let result = serde_json::json!([{ "type": "tool_result", "tool_use_id": "call_1", "content": HOSTILE }]);
    let lines = [
        line("user", 1, None, Value::from(HOSTILE)),
        line("assistant", 2, Some(1), call),
        line("user", 3, Some(2), result),
    ];
    home.write("project/hostile.jsonl", &lines.join("\n"));
    home.write("project/.claude/settings.json", &serde_json::json!({ "env": { "A": HOSTILE } }).to_string());
    let id = "22222222";
    for args in [
        &["sessions", "import", "hostile.jsonl"][..],
        &["sessions", "list"],
        &["sessions", "show", id],
        &["sessions", "tail", id],
        &["sessions", "cost", id],
        &["sessions", "rewind", id],
        &["sessions", "delete", id],
        &["sessions", "show", HOSTILE],
        &["replay", id],
        &["trust"],
        &["permissions", "explain", "bash", HOSTILE],
        &["models", "show", HOSTILE],
        &["undo", HOSTILE],
    ] {
        let output = home.command(args).stdin(Stdio::null()).output().unwrap();
        let shown = [output.stdout, output.stderr].concat();
        let shown = String::from_utf8(shown).unwrap();
        let hides = |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
        assert!(!shown.contains(hides), "{args:?}: {shown:?}");
    }
    let shown = home.run(&["sessions", "show", id]);
    assert!(shown.out.contains("⟨U+001B⟩"), "neutralised characters are visible: {shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn model_output_is_neutralised() {
    let scene = Scene::new(vec![
        Turn::new().text(HOSTILE).call("call_1", "glob", &serde_json::json!({ "pattern": HOSTILE })),
        Turn::new().text(HOSTILE),
    ])
    .await;
    scene.home.run(&["run", "--no-sandbox", HOSTILE]);
    let id = scene.id();
    for command in ["show", "tail"] {
        let shown = scene.home.bytes(&["sessions", command, &id]);
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.contains("⟨U+001B⟩"), "{shown:?}");
        assert!(
            !shown.contains(|letter: char| letter.is_control() && letter != '\n'),
            "{command}: {shown:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn undo_keeps_later_changes_of_the_user() {
    let write = |id: &str, path: &str| {
        let arguments = serde_json::json!({ "path": path, "content": "theirs\n" });
        Turn::new().call(id, "write_file", &arguments)
    };
    let scene =
        Scene::new(vec![write("call_1", "one.txt"), write("call_2", "two.txt"), Turn::new().text("Done.")])
            .await;
    let home = &scene.home;
    done(home, &["run", "--mode", "accept-edits", "--no-sandbox", "write"]);
    home.write("project/two.txt", "mine\n");
    let ran = done(home, &["undo", "--last", "2", "--yes"]);
    assert!(!home.path("project/one.txt").exists(), "{ran}");
    assert_eq!(home.read("project/two.txt"), "mine\n", "{ran}");
    assert!(ran.err.contains("kept two.txt: changed since by something other than the agent"), "{ran}");
}
