//! Tests permissions, trust, models, auth, config, doctor and init.

use std::os::unix::fs::PermissionsExt as _;

use lariat_proofs::server::{Script, Server, Turn, Wire};
use serde_json::Value;

use crate::fixture::Fixture;
use crate::kit::{CONFIG, Home, snap};

/// Runs commands in order in one home, and compares their output with a snapshot.
fn snapshot_steps(name: &str, home: &Home, steps: &[&[&str]]) {
    let mut text = String::new();
    for args in steps {
        let ran = home.run(args);
        text.push_str(&format!("$ lariat {}\n{ran}\n", args.join(" ")));
    }
    snap(name, &text);
}

#[test]
fn lists_permissions_and_tests_calls() {
    let home = Home::offline();
    let rules = r#"{ "permissions": { "allow": ["Bash(cargo test *)"], "ask": ["Bash(cargo publish)"], "deny": ["Read(.env)"] } }"#;
    home.write("home/.claude/settings.json", rules);
    home.write(
        "project/.claude/settings.json",
        r#"{ "permissions": { "allow": ["Bash(make *)"], "deny": ["Bash(git push *)"] } }"#,
    );
    snapshot_steps(
        "permissions",
        &home,
        &[
            &["permissions", "list"],
            &["permissions", "list", "--json"],
            &["permissions", "test", "bash", "cargo test --all"],
            &["permissions", "test", "bash", "cargo", "test", "&&", "cargo", "publish"],
            &["permissions", "test", "Read", ".env"],
            &["permissions", "test", "bash", "make all"],
            &["permissions", "explain", "bash", "cargo test; git push origin; make"],
            &["permissions", "test", "--mode", "bypass", "bash", "make all"],
            &["permissions", "test", "--json", "bash", "cat .env"],
        ],
    );
}

#[test]
fn trust_covers_exactly_the_reviewed_configuration() {
    let home = Home::offline();
    home.write(
        "project/.claude/settings.json",
        r#"{ "env": { "A": "1" }, "permissions": { "allow": ["Bash(make *)"] } }"#,
    );
    snapshot_steps(
        "trust_before",
        &home,
        &[&["trust", "--json"], &["trust", "--yes"], &["trust"], &["trust", "--list"]],
    );
    let allowed = home.run(&["permissions", "test", "bash", "make all"]);
    assert_eq!(allowed.code, Some(0), "{allowed}");
    let report: Value = serde_json::from_slice(&home.bytes(&["trust", "--json"])).unwrap();
    assert_eq!(report["standing"], "trusted");
    home.write(
        "project/.claude/settings.json",
        r#"{ "env": { "A": "2" }, "permissions": { "allow": ["Bash(make *)"] } }"#,
    );
    snapshot_steps(
        "trust_changed",
        &home,
        &[
            &["trust", "--json"],
            &["permissions", "test", "bash", "make all"],
            &["trust", "--yes"],
            &["trust", "--revoke"],
            &["trust", "--list"],
        ],
    );
}

#[test]
fn trust_and_revoke_print_json() {
    let home = Home::offline();
    home.write("project/.claude/settings.json", r#"{ "env": { "A": "1" } }"#);
    let json = |args: &[&str]| -> Value { serde_json::from_slice(&home.bytes(args)).unwrap() };
    // Showing changes nothing.
    for _ in 0..2 {
        assert_eq!(json(&["trust", "--json"])["standing"], "not trusted");
    }
    let report = json(&["trust", "--yes", "--json"]);
    assert_eq!((&report["standing"], &report["changed"]), (&"trusted".into(), &serde_json::json!([])));
    assert_eq!(report["brings"][0]["what"], "A=1");
    assert_eq!(json(&["trust", "--json"])["standing"], "trusted");
    let directory = home.path("project").display().to_string();
    let report = json(&["trust", "--revoke", "--json"]);
    assert_eq!(report, serde_json::json!({ "directory": directory, "revoked": true }));
    assert_eq!(json(&["trust", "--json"])["standing"], "not trusted");
    let again = home.run(&["trust", "--revoke", "--json"]);
    assert!(again.code == Some(1) && again.out.is_empty(), "{again}");
}

#[test]
fn lists_models_by_words_and_shows_prices() {
    let home = Home::offline();
    home.write(CONFIG, "[providers.mine]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodels = [\"one\", \"two\"]\ncontext = 32000\n");
    snapshot_steps(
        "models",
        &home,
        &[
            &["models", "list", "--provider", "mine"],
            &["models", "list", "anthropic/", "sonnet-4-5"],
            &["models", "show", "anthropic/claude-sonnet-4-5"],
            &["models", "show", "mine/two", "--json"],
        ],
    );
    let all: Value = serde_json::from_slice(&home.bytes(&["models", "list", "--json"])).unwrap();
    assert!(all.as_array().unwrap().len() > 100);
}

#[test]
fn stores_and_removes_key_without_printing_it() {
    let home = Home::offline().with("OPENAI_API_KEY", "sk-in-a-variable");
    let ran = home.run_with(&["auth", "login", "anthropic"], "sk-secret-1\n");
    assert_eq!(ran.code, Some(0), "{ran}");
    let keys = home.path("home/.local/state/lariat/keys.json");
    assert_eq!(std::fs::metadata(&keys).unwrap().permissions().mode() & 0o777, 0o600);
    snapshot_steps(
        "auth",
        &home,
        &[&["auth", "status"], &["auth", "logout", "anthropic"], &["auth", "status", "--json"]],
    );
    assert!(!home.read("home/.local/state/lariat/keys.json").contains("sk-secret"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sends_stored_key_to_its_provider() {
    let server = Server::start(Script::queue([Turn::new().text("Hello.")])).await.unwrap();
    let home = Home::new().with("LARIAT_MODEL", "anthropic/claude-sonnet-5-5");
    let address = server.base_url(Wire::AnthropicMessages);
    home.write(
        CONFIG,
        &format!("[sandbox]\nenabled = false\n[providers.anthropic]\nbase_url = \"{address}\"\n"),
    );
    assert_eq!(home.run(&["run", "hello"]).code, Some(3));
    home.run_with(&["auth", "login", "anthropic"], "sk-secret-1\n");
    let ran = home.run(&["run", "hello"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(server.requests()[0].headers["x-api-key"], "sk-secret-1");
}

#[test]
fn config_show_names_origins_and_ignored_settings() {
    let home = Home::new().with("LARIAT_LIMITS__TURNS", "7");
    home.write(CONFIG, "modle = \"x\"\nthinking = \"hgih\"\n[limits]\ncost = 2.5\n");
    home.write("project/lariat.toml", "[limits]\nturns = 9\n[sandbox]\nenabled = false\n");
    snapshot_steps(
        "config",
        &home,
        &[
            &["config", "path"],
            &["config", "show"],
            &["config", "show", "--origin"],
            &["trust", "--yes"],
            &["config", "show", "--origin"],
        ],
    );
    let shown: Value = serde_json::from_slice(&home.bytes(&["config", "show", "--json"])).unwrap();
    let turns = shown.as_array().unwrap().iter().find(|one| one["key"] == "limits.turns").unwrap();
    assert_eq!(turns["value"], 7);
    assert_eq!(turns["origin"], "environment");
    let schema: Value = serde_json::from_slice(&home.bytes(&["config", "schema"])).unwrap();
    assert_eq!(schema["properties"]["limits"]["properties"]["turns"]["type"], "integer");
}

#[test]
fn config_edit_uses_the_editor_and_reports_typos() {
    let home = Home::new().with("EDITOR", "sed -i s/^..model.=.*/modell=1/");
    let ran = home.run(&["config", "edit"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.err.contains("did you mean `model`?"), "{ran}");
    let written = home.read(CONFIG);
    assert!(written.contains("# [limits]") && written.contains("modell=1"), "{written}");
}

#[test]
fn context_show_of_new_session_saves_nothing() {
    let home = Home::offline().with("LARIAT_MODEL", "ollama/x");
    home.write("project/AGENTS.md", "Be brief.\n");
    let ran = home.run(&["context", "show"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    for part in ["tools", "SHARE", "tokens"] {
        assert!(ran.out.contains(part), "{ran}");
    }
    assert_eq!(home.run(&["sessions", "list"]).out, "");
}

#[test]
fn context_show_needs_no_model_and_no_key() {
    let home = Home::offline();
    home.write("project/AGENTS.md", "Be brief.\n");
    let ran = home.run(&["context", "show"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.out.contains("of 100.0k tokens") && ran.out.contains("no model configured"), "{ran}");
    assert!(ran.out.contains("memory") && ran.err.is_empty(), "{ran}");
    let settings = home.read(CONFIG);
    home.write(CONFIG, &format!("[context]\nwindow = 32000\n{settings}"));
    let ran = home.run(&["context", "show"]);
    assert!(ran.out.contains("of 32.0k tokens"), "the settings define a context window: {ran}");
    let ran = home.with("LARIAT_MODEL", "anthropic/claude-sonnet-4-5").run(&["context", "show"]);
    assert!(ran.code == Some(0) && ran.out.contains("claude-sonnet-4-5"), "no key is needed: {ran}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn context_show_of_session_contacts_no_server() {
    let fixture = Fixture::new(Script::tool_loop()).await;
    let words = "some words ".repeat(200);
    fixture.run(&["run", &format!("!say \"{words}\"")]).expect(0);
    let (asked, events) = (fixture.requests().len(), fixture.journal().await.len());
    std::fs::write(fixture.path("config/lariat/config.toml"), "[sandbox]\nenabled = false\n").unwrap();
    let mut command = fixture.command(&["context", "show", "--continue", "--json"]);
    let shown = command.env_remove("TEST_KEY").output().unwrap();
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let parts = shown["parts"].as_array().unwrap();
    let person = parts.iter().find(|part| part["kind"] == "person").unwrap();
    assert!(person["tokens"].as_u64() > Some(200), "{shown}");
    assert_eq!(fixture.requests().len(), asked);
    assert_eq!(fixture.journal().await.len(), events, "showing adds no event");
}

/// A home in which the doctor's findings do not depend on the machine.
fn machine_independent_home() -> Home {
    let home = Home::offline();
    let settings = home.read(CONFIG);
    home.write(CONFIG, &format!("[sandbox]\nenabled = false\n{settings}"));
    home.write("bin/git", "#!/bin/sh\n");
    std::fs::set_permissions(home.path("bin/git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = home.path("bin").display().to_string();
    home.with("PATH", &path)
}

#[test]
fn doctor_reports_problems_and_fixes() {
    let home = machine_independent_home();
    home.write("project/.mcp.json", r#"{ "mcpServers": { "x": { "command": "x" } } }"#);
    let settings = home.read(CONFIG);
    home.write(CONFIG, &format!("[sandboks]\nenabled = true\n{settings}"));
    snapshot_steps("doctor", &home, &[&["doctor"], &["doctor", "--json"]]);
}

#[test]
fn doctor_lists_every_broken_restriction() {
    let home = machine_independent_home();
    let settings = home.read(CONFIG);
    home.write(CONFIG, &format!("mode = \"plna\"\n{settings}\n[limits]\nturns = \"abc\"\n"));
    let rules = r#"{ "permissions": { "deny": ["Raed(x)", "Bash("], "ask": [7] } }"#;
    home.write("project/.claude/settings.json", rules);
    let found = home.run(&["doctor"]);
    assert_eq!(found.code, Some(8));
    for subject in ["`mode`", "limits.turns", "Raed(x)", "Bash(", "`ask`"] {
        assert!(found.out.contains(subject), "{subject}: {found}");
    }
    // A run names one and says where the others are.
    let run = home.run(&["run", "hello"]);
    assert!(run.err.contains("also: 4 more, which `lariat doctor` lists"), "{run}");
}

#[test]
fn doctor_succeeds_without_problems() {
    let home = machine_independent_home().with("LARIAT_MODEL", "ollama/x");
    snapshot_steps("doctor_healthy", &home, &[&["doctor"]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn detects_and_suggests_local_server() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = [0; 512];
            let read = stream.read(&mut asked).await.unwrap();
            assert!(asked[..read].starts_with(b"GET /v1/models HTTP/1.1\r\n"));
            let body = r#"{"data":[{"id":"qwen3:8b"},{"id":"llama"}]}"#;
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let home = machine_independent_home();
    let settings = home.read(CONFIG).replacen("http://127.0.0.1:1/v1", &format!("http://{address}/v1"), 1);
    home.write(CONFIG, &settings);
    snapshot_steps("local_server", &home, &[&["doctor"], &["run", "hello"]]);
    serving.abort();
}

#[test]
fn init_overwrites_nothing() {
    let home = Home::offline();
    home.write("project/Cargo.toml", "[package]\nname = \"x\"\n");
    home.write("project/Makefile", "test:\n\tcargo test\n");
    snapshot_steps("init", &home, &[&["init", "--yes"], &["init", "--yes"]]);
    assert!(home.read("project/AGENTS.md").contains("`make test`"));
    home.write("project/AGENTS.md", "mine\n");
    std::fs::remove_file(home.path("project/lariat.toml")).unwrap();
    assert_eq!(home.run(&["init", "--yes"]).code, Some(0));
    assert_eq!(home.read("project/AGENTS.md"), "mine\n");
    // The program accepts the files without warnings.
    assert_eq!(home.run(&["trust", "--yes"]).code, Some(0));
    let shown = home.run(&["config", "show"]);
    assert!(shown.err.is_empty(), "{shown}");
}

#[test]
fn lists_and_revokes_remembered_approval() {
    let home = Home::offline();
    let project = home.path("project").display().to_string();
    let approvals = serde_json::json!([
        { "project": project, "rule": "Bash(npm test)", "asked": "npm test" },
        { "project": "/elsewhere", "rule": "Bash(npm test)", "asked": "npm test" },
    ]);
    home.write("home/.local/state/lariat/approvals.json", &approvals.to_string());
    snapshot_steps(
        "approvals",
        &home,
        &[
            &["permissions", "list"],
            &["permissions", "test", "bash", "npm test"],
            &["permissions", "revoke", "Bash(npm tset)"],
            &["permissions", "revoke", "Bash(npm test)"],
            &["permissions", "test", "bash", "npm test"],
        ],
    );
    assert!(
        home.read("home/.local/state/lariat/approvals.json").contains("/elsewhere"),
        "approvals of other projects stay"
    );
}

#[test]
fn revoke_prints_json() {
    let home = Home::offline();
    let project = home.path("project").display().to_string();
    let approvals =
        serde_json::json!([{ "project": project, "rule": "Bash(npm test)", "asked": "npm test" }]);
    home.write("home/.local/state/lariat/approvals.json", &approvals.to_string());
    let report = home.bytes(&["permissions", "revoke", "Bash(npm test)", "--json"]);
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(
        report,
        serde_json::json!({ "directory": project, "rule": "Bash(npm test)", "revoked": true })
    );
    assert_eq!(home.run(&["permissions", "test", "bash", "npm test"]).code, Some(8));
    let again = home.run(&["permissions", "revoke", "Bash(npm test)", "--json"]);
    assert!(again.code == Some(1) && again.out.is_empty(), "{again}");
}

#[test]
fn key_in_variable_is_used_without_reading_stored_keys() {
    let home = Home::offline().with("ANTHROPIC_API_KEY", "sk-in-a-variable");
    home.write("home/.local/state/lariat/keys.json", "this is not JSON");
    let ran = home.run(&["context", "show"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(!ran.err.contains("keys"), "{ran}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_contacts_model_host_only_with_a_key() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let settings = format!("[providers.far]\nbase_url = \"http://{address}/v1\"\nkey_env = \"FAR_KEY\"\n");
    let open = |home: Home| {
        let old = home.read(CONFIG);
        home.write(CONFIG, &format!("{old}{settings}"));
        home.with("LARIAT_MODEL", "far/x")
    };
    let without = open(machine_independent_home()).run(&["doctor"]);
    assert!(without.code == Some(0) && !without.out.contains("network"), "{without}");
    let home = open(machine_independent_home()).with("FAR_KEY", "sk");
    let with = home.run(&["doctor"]);
    assert!(with.code == Some(0) && with.out.contains("network   connected to [ADDRESS]"), "{with}");
    drop(listener);
    let gone = home.run(&["doctor"]);
    assert!(gone.code == Some(8) && gone.out.contains("could not connect to"), "{gone}");
}
