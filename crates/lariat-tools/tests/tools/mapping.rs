//! Tests `repo_map`: its cache, its budget and cancellation.

use std::sync::{Arc, Mutex};

use lariat_core::cancel::CancellationToken;
use lariat_core::tool::{ToolEffects, ToolError};
use serde_json::json;

use crate::ground::{Ground, context, text};

fn filled(files: usize) -> Ground {
    let ground = Ground::new();
    for file in 0..files {
        let other = (file * 7) % files;
        let source = format!("def function_{file}():\n    return function_{other}()\n");
        ground.put(&format!("package_{}/file_{file}.py", file % 9), source);
    }
    ground
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_map_parses_nothing_and_is_the_same() {
    let ground = filled(700);
    let first = ground.call("repo_map", json!({})).await.unwrap();
    let second = ground.call("repo_map", json!({})).await.unwrap();
    assert_eq!((&first.details["parsed"], &second.details["parsed"]), (&json!(700), &json!(0)));
    assert_eq!(text(&first), text(&second));
}

#[tokio::test]
async fn only_what_changed_is_parsed_again() {
    let ground = filled(30);
    ground.call("repo_map", json!({})).await.unwrap();
    ground.put("package_3/file_3.py", "def changed_now():\n    pass\n");
    let again = ground.call("repo_map", json!({ "tokens": 20_000 })).await.unwrap();
    assert_eq!(again.details["parsed"], 1);
    assert!(text(&again).contains("changed_now") && !text(&again).contains("def function_3()"));
}

#[tokio::test]
async fn a_map_stays_within_its_budget_and_says_what_is_missing() {
    let ground = filled(300);
    for tokens in [100, 500, 2_000] {
        let map = ground.call("repo_map", json!({ "tokens": tokens })).await.unwrap();
        let shown = text(&map);
        assert!(shown.len() <= tokens * 4, "{tokens}: {}", shown.len());
        assert!(shown.contains("of 300 files shown"), "{shown}");
        assert!(map.details["shown"].as_u64().unwrap() > 0);
    }
    assert!(ground.error("repo_map", json!({ "tokens": 50 })).await.contains("from 100 to 20000"));
}

#[tokio::test]
async fn a_cancelled_map_ends() {
    let ground = filled(50);
    let token = CancellationToken::new();
    let mut context = context("repo_map", token.clone());
    // The first progress message cancels the call in the middle of the work.
    context.on_progress = Some(Arc::new(move |_| token.cancel()));
    let result = ground.tool("repo_map").execute(json!({}), context).await;
    assert!(matches!(result, Err(ToolError::Cancelled)), "{result:?}");
}

#[tokio::test]
async fn a_map_tells_its_progress_and_only_reads() {
    let ground = filled(450);
    let told = Arc::new(Mutex::new(Vec::new()));
    let mut context = context("repo_map", CancellationToken::new());
    let tell = Arc::clone(&told);
    context.on_progress = Some(Arc::new(move |words| tell.lock().unwrap().push(words)));
    ground.tool("repo_map").execute(json!({}), context).await.unwrap();
    assert_eq!(told.lock().unwrap().len(), 3);
    assert_eq!(ground.tool("repo_map").effects(), ToolEffects::READS);
}
