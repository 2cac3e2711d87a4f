//! Several sessions that share their tools: an agent and its sub-agents.

use std::sync::Arc;

use lariat_core::cancel::CancellationToken;
use lariat_core::content::joined_text;
use lariat_core::id::SessionId;
use serde_json::json;

use super::fixture::{Fixture, context};

const FILES: usize = 1_000;

async fn call(
    fixture: &Fixture,
    session: &str,
    tool: &str,
    arguments: serde_json::Value,
) -> Result<(), String> {
    let mut context = context(tool, CancellationToken::new());
    context.session_id = SessionId::from(session);
    let done = fixture.tool(tool).execute(arguments, context).await;
    done.map(drop).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn file_that_another_session_changed_must_be_read_again() {
    let fixture = Fixture::new();
    fixture.put("a.txt", "one\n");
    for session in ["parent", "child"] {
        call(&fixture, session, "read_file", json!({ "path": "a.txt" })).await.unwrap();
    }
    let write = |text: &str| json!({ "path": "a.txt", "content": text });
    call(&fixture, "child", "write_file", write("one\ntwo\n")).await.unwrap();
    let refused = call(&fixture, "parent", "write_file", write("one\nthree\n")).await.unwrap_err();
    assert!(refused.contains("changed"), "{refused}");
    assert_eq!(fixture.content("a.txt").unwrap(), "one\ntwo\n");
    call(&fixture, "parent", "read_file", json!({ "path": "a.txt" })).await.unwrap();
    call(&fixture, "parent", "write_file", write("one\ntwo\nthree\n")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn branch_neither_sees_nor_overwrites_what_only_another_branch_has_read() {
    let fixture = Fixture::new();
    fixture.put("a.txt", "one\n");
    let call = async |branch: &str, tool: &str, arguments: serde_json::Value| {
        let mut context = context(tool, CancellationToken::new());
        (context.loop_id, context.is_branch) = (branch.into(), true);
        let done = fixture.tool(tool).execute(arguments, context).await;
        done.map(|done| joined_text(&done.content)).map_err(|error| error.to_string())
    };
    for branch in ["s.a.1", "s.b.2"] {
        let read = call(branch, "read_file", json!({ "path": "a.txt" })).await.unwrap();
        assert!(read.contains("one"), "{branch}: {read}");
    }
    let write = |text: &str| json!({ "path": "a.txt", "content": text });
    call("s.a.1", "write_file", write("one\ntwo\n")).await.unwrap();
    let refused = call("s.b.2", "write_file", write("one\nthree\n")).await.unwrap_err();
    assert!(refused.contains("changed"), "{refused}");
}

/// Adds a line to every file, and reads a file again if another session changed it.
async fn add_lines(fixture: Arc<Fixture>, session: &'static str) -> usize {
    let mut refused = 0;
    for at in 0..FILES {
        let path = format!("f{at}.txt");
        loop {
            call(&fixture, session, "read_file", json!({ "path": path })).await.unwrap();
            let text = fixture.content(&path).unwrap() + session + "\n";
            match call(&fixture, session, "write_file", json!({ "path": path, "content": text })).await {
                Ok(()) => break,
                Err(_) => refused += 1,
            }
        }
    }
    refused
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_racing_for_files_lose_no_update() {
    let fixture = Arc::new(Fixture::new());
    (0..FILES).for_each(|at| fixture.put(&format!("f{at}.txt"), "start\n"));
    let racing = ["one", "two"].map(|session| tokio::spawn(add_lines(Arc::clone(&fixture), session)));
    for task in racing {
        task.await.unwrap();
    }
    for at in 0..FILES {
        let text = fixture.content(&format!("f{at}.txt")).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["one", "start", "two"], "file {at}");
    }
}
