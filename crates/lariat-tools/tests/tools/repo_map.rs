//! Tests `repo_map`: its cache, its budget and cancellation.

use std::sync::{Arc, Mutex};

use lariat_core::cancel::CancellationToken;
use lariat_core::tool::{ToolEffects, ToolError};
use lariat_host::files::Workspace;
use lariat_tools::symbols;
use serde_json::json;

use crate::fixture::{Fixture, context, text};

fn filled(files: usize) -> Fixture {
    let fixture = Fixture::new();
    for file in 0..files {
        let other = (file * 7) % files;
        let source = format!("def function_{file}():\n    return function_{other}()\n");
        fixture.put(&format!("package_{}/file_{file}.py", file % 9), source);
    }
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn second_map_parses_nothing_and_is_identical() {
    let fixture = filled(700);
    let first = fixture.call("repo_map", json!({})).await.unwrap();
    let second = fixture.call("repo_map", json!({})).await.unwrap();
    assert_eq!((&first.details["parsed"], &second.details["parsed"]), (&json!(700), &json!(0)));
    assert_eq!(text(&first), text(&second));
}

#[tokio::test]
async fn parses_only_changed_files_again() {
    let fixture = filled(30);
    fixture.call("repo_map", json!({})).await.unwrap();
    fixture.put("package_3/file_3.py", "def changed_now():\n    pass\n");
    let again = fixture.call("repo_map", json!({ "tokens": 20_000 })).await.unwrap();
    assert_eq!(again.details["parsed"], 1);
    assert!(text(&again).contains("changed_now") && !text(&again).contains("def function_3()"));
}

#[tokio::test]
async fn map_stays_within_its_budget_and_notes_the_rest() {
    let fixture = filled(300);
    for tokens in [100, 500, 2_000] {
        let map = fixture.call("repo_map", json!({ "tokens": tokens })).await.unwrap();
        let shown = text(&map);
        assert!(shown.len() <= tokens * 4, "{tokens}: {}", shown.len());
        assert!(shown.contains("of 300 files shown"), "{shown}");
        assert!(map.details["shown"].as_u64().unwrap() > 0);
    }
    assert!(fixture.error("repo_map", json!({ "tokens": 50 })).await.contains("from 100 to 20000"));
}

#[tokio::test]
async fn cancelled_map_returns_cancelled() {
    let fixture = filled(50);
    let token = CancellationToken::new();
    let mut context = context("repo_map", token.clone());
    // The first progress message cancels the call in the middle of the work.
    context.on_progress = Some(Arc::new(move |_| token.cancel()));
    let result = fixture.tool("repo_map").execute(json!({}), context).await;
    assert!(matches!(result, Err(ToolError::Cancelled)), "{result:?}");
}

#[tokio::test]
async fn map_reports_progress_and_only_reads() {
    let fixture = filled(450);
    let messages = Arc::new(Mutex::new(Vec::new()));
    let mut context = context("repo_map", CancellationToken::new());
    let collector = Arc::clone(&messages);
    context.on_progress = Some(Arc::new(move |words| collector.lock().unwrap().push(words)));
    fixture.tool("repo_map").execute(json!({}), context).await.unwrap();
    assert_eq!(messages.lock().unwrap().len(), 3);
    assert_eq!(fixture.tool("repo_map").effects(), ToolEffects::READS);
}

/// A repository whose most mentioned file is about something else than its tests' tasks.
fn with_topics() -> Fixture {
    let fixture = Fixture::new();
    fixture.put("src/base.py", "def common_helper():\n    pass\n");
    fixture.put(
        "src/store/journal.py",
        "# Appends events to the journal.\ndef append_event():\n    common_helper()\n",
    );
    fixture.put("src/screen/colors.py", "def choose_color():\n    common_helper()\n");
    fixture.put("src/screen/window.py", "def resize():\n    common_helper()\n");
    fixture
}

#[tokio::test]
async fn task_puts_the_files_that_fit_it_first() {
    let fixture = with_topics();
    let first =
        async |arguments| fixture.text("repo_map", arguments).await.lines().next().unwrap().to_owned();
    assert_eq!(first(json!({})).await, "src/base.py");
    assert_eq!(first(json!({ "task": "Appending events twice must fail" })).await, "src/store/journal.py");
    assert_eq!(first(json!({ "task": "the chosen colors are wrong" })).await, "src/screen/colors.py");
    // No word of the task occurs, so mentions decide.
    assert_eq!(first(json!({ "task": "zebra" })).await, "src/base.py");
    assert_eq!(first(json!({ "task": " " })).await, "src/base.py");
}

#[tokio::test]
async fn files_that_the_agent_read_come_earlier_for_a_task() {
    let fixture = with_topics();
    let shown = async || fixture.text("repo_map", json!({ "task": "helper of the screen" })).await;
    let place = |map: &str| map.lines().position(|line| line == "src/store/journal.py").unwrap();
    let before = shown().await;
    fixture.call("read_file", json!({ "path": "src/store/journal.py" })).await.unwrap();
    let after = shown().await;
    assert!(place(&before) > place(&after), "{before}\n{after}");
}

#[test]
fn symbols_have_name_place_and_signature() {
    let fixture = Fixture::new();
    fixture.put("src/lib.rs", "/// Runs.\npub struct Runner;\n\nimpl Runner {\n    pub fn start(&self) -> u8 {\n        fn inner() {}\n        1\n    }\n}\n");
    fixture.put("tool.py", "class Tool:\n    def apply(self):\n        pass\n");
    fixture.put("notes.md", "# fn nothing()\n");
    fixture.put(".gitignore", "out/\n");
    fixture.put("out/made.rs", "fn generated() {}\n");
    let workspace = Workspace::open(fixture.base.join("ws")).unwrap();
    let mut found: Vec<String> = symbols::symbols(&workspace, &CancellationToken::new())
        .unwrap()
        .into_iter()
        .map(|symbol| format!("{} {}:{} {}", symbol.name, symbol.path, symbol.line, symbol.signature))
        .collect();
    found.sort();
    let expected = [
        "Runner src/lib.rs:2 pub struct Runner",
        "Tool tool.py:1 class Tool",
        "apply tool.py:2 def apply(self)",
        "start src/lib.rs:5 pub fn start(&self) -> u8",
    ];
    assert_eq!(found, expected);
}

#[test]
fn cancelled_symbols_end_early() {
    let fixture = filled(300);
    let workspace = Workspace::open(fixture.base.join("ws")).unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let found = symbols::symbols(&workspace, &cancel);
    assert!(found.is_err() || found.is_ok_and(|found| found.is_empty()));
}
