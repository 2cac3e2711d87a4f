//! Tests `todo`, `ask_user`, and what is true for every tool.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::tool::ToolError;
use lariat_tools::{Question, UserPrompter};
use serde_json::json;

use crate::fixture::{Fixture, context};

#[tokio::test]
async fn todo_returns_the_list_and_allows_one_item_in_progress() {
    let fixture = Fixture::new();
    let items = json!([
        { "content": "look", "status": "completed" },
        { "content": "think", "status": "in_progress" },
        { "content": "act", "status": "pending" },
    ]);
    let result = fixture.call("todo", json!({ "items": items })).await.unwrap();
    assert_eq!(crate::fixture::text(&result), "[x] look\n[>] think\n[ ] act\n");
    assert_eq!(result.details, json!({ "items": items, "completed": 1, "total": 3 }));
    let two =
        json!([{ "content": "a", "status": "in_progress" }, { "content": "b", "status": "in_progress" }]);
    assert!(fixture.error("todo", json!({ "items": two })).await.contains("at most one"));
    let empty = json!([{ "content": " ", "status": "pending" }]);
    assert!(fixture.error("todo", json!({ "items": empty })).await.contains("items[0].content"));
    let odd = json!([{ "content": "a", "status": "done" }]);
    assert!(
        fixture.error("todo", json!({ "items": odd })).await.contains("`items[0].status` must be one of")
    );
}

struct ScriptedUser;

impl UserPrompter for ScriptedUser {
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            match question.text.as_str() {
                "Which?" => question.options.last().cloned(),
                "Never?" => std::future::pending().await,
                _ => None,
            }
        })
    }
}

#[tokio::test]
async fn ask_user_returns_the_answer_or_reports_no_user() {
    let without_user = Fixture::new();
    assert!(
        without_user
            .error("ask_user", json!({ "question": "Which?" }))
            .await
            .contains("No user is available")
    );
    let fixture = Fixture::with(|bench| bench.with_asker(Arc::new(ScriptedUser)));
    let answer = fixture.text("ask_user", json!({ "question": "Which?", "options": ["a", "b"] })).await;
    assert_eq!(answer, "b");
    assert!(fixture.text("ask_user", json!({ "question": "Hm?" })).await.contains("declined to answer"));
    let cancel = CancellationToken::new();
    let asking = fixture
        .tool("ask_user")
        .execute(json!({ "question": "Never?" }), context("ask_user", cancel.clone()));
    let (answer, ()) = tokio::join!(asking, async { cancel.cancel() });
    assert_eq!(answer.unwrap_err(), ToolError::Cancelled);
}

#[tokio::test]
async fn every_tool_has_a_unique_name_and_rejects_unknown_arguments() {
    let fixture = Fixture::new();
    let mut names: Vec<_> = fixture.tools().iter().map(|tool| tool.name().to_owned()).collect();
    names.sort();
    let expected = [
        "apply_patch",
        "ask_user",
        "bash",
        "bash_input",
        "bash_output",
        "bash_stop",
        "edit_file",
        "glob",
        "list_files",
        "multi_edit",
        "read_file",
        "recall",
        "repo_map",
        "search",
        "todo",
        "write_file",
    ];
    assert_eq!(names.iter().filter(|name| expected.contains(&name.as_str())).count(), expected.len());
    names.dedup();
    assert_eq!(names.len(), fixture.tools().len());
    for tool in fixture.tools() {
        assert!((40..700).contains(&tool.description().len()), "{}", tool.name());
        let schema = tool.parameters_schema();
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name());
        let error = fixture.error(tool.name(), json!({ "nonsense": 1 })).await;
        assert!(error.contains("unknown argument `nonsense`"), "{}: {error}", tool.name());
    }
}
