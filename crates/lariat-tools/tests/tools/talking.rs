//! Tests `todo`, `ask_user`, and what is true for every tool.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::tool::ToolError;
use lariat_tools::{Asker, Question};
use serde_json::json;

use crate::ground::{Ground, context};

#[tokio::test]
async fn a_plan_is_given_back_and_has_one_step_at_most_in_progress() {
    let ground = Ground::new();
    let items = json!([
        { "content": "look", "status": "completed" },
        { "content": "think", "status": "in_progress" },
        { "content": "act", "status": "pending" },
    ]);
    let result = ground.call("todo", json!({ "items": items })).await.unwrap();
    assert_eq!(crate::ground::text(&result), "[x] look\n[>] think\n[ ] act\n");
    assert_eq!(result.details, json!({ "items": items, "completed": 1, "total": 3 }));
    let two =
        json!([{ "content": "a", "status": "in_progress" }, { "content": "b", "status": "in_progress" }]);
    assert!(ground.error("todo", json!({ "items": two })).await.contains("at most one"));
    let empty = json!([{ "content": " ", "status": "pending" }]);
    assert!(ground.error("todo", json!({ "items": empty })).await.contains("items[0].content"));
    let odd = json!([{ "content": "a", "status": "done" }]);
    assert!(ground.error("todo", json!({ "items": odd })).await.contains("`items[0].status` must be one of"));
}

struct Person;

impl Asker for Person {
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
async fn a_question_reaches_a_person_or_says_that_nobody_is_there() {
    let nobody = Ground::new();
    assert!(nobody.error("ask_user", json!({ "question": "Which?" })).await.contains("No user is available"));
    let ground = Ground::with(|bench| bench.with_asker(Arc::new(Person)));
    let answer = ground.text("ask_user", json!({ "question": "Which?", "options": ["a", "b"] })).await;
    assert_eq!(answer, "b");
    assert!(ground.text("ask_user", json!({ "question": "Hm?" })).await.contains("declined to answer"));
    let cancel = CancellationToken::new();
    let asking =
        ground.tool("ask_user").execute(json!({ "question": "Never?" }), context("ask_user", cancel.clone()));
    let (answer, ()) = tokio::join!(asking, async { cancel.cancel() });
    assert_eq!(answer.unwrap_err(), ToolError::Cancelled);
}

#[tokio::test]
async fn every_tool_has_its_own_name_describes_itself_and_refuses_unknown_arguments() {
    let ground = Ground::new();
    let mut names: Vec<_> = ground.tools().iter().map(|tool| tool.name().to_owned()).collect();
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
    assert_eq!(names.len(), ground.tools().len());
    for tool in ground.tools() {
        assert!((40..700).contains(&tool.description().len()), "{}", tool.name());
        let schema = tool.parameters_schema();
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name());
        let error = ground.error(tool.name(), json!({ "nonsense": 1 })).await;
        assert!(error.contains("unknown argument `nonsense`"), "{}: {error}", tool.name());
    }
}
