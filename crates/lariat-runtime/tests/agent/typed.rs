//! Typed answers, and tools made from functions.

use std::sync::Arc;

use lariat_core::event::RunOutcome;
use lariat_core::message::Origin;
use lariat_core::model::ProviderError;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError};
use lariat_runtime::{Agent, AgentError, BuildError, FunctionTool, TypedError};
use lariat_test::{Reply, ScriptedModel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::fixture::Fixture;

/// A city.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct City {
    name: String,
    /// Inhabitants.
    #[schemars(range(max = 50_000_000))]
    people: u32,
    nickname: Option<String>,
}

fn vienna() -> City {
    City { name: "Vienna".into(), people: 2_000_000, nickname: None }
}

const VIENNA: &str = r#"{"name": "Vienna", "people": 2000000, "nickname": null}"#;

#[tokio::test(start_paused = true)]
async fn answer_has_the_requested_type_and_the_next_run_has_no_schema() {
    let fixture = Fixture::new([Reply::text(VIENNA), Reply::text("You are welcome.")]);
    let agent = fixture.agent().build().unwrap();
    let typed = agent.run_typed::<City>("The largest city of Austria?").await.unwrap();
    assert_eq!((typed.value, typed.tries), (vienna(), 1));
    assert_eq!(typed.output.structured.unwrap()["people"], 2_000_000);
    let output = agent.run("Thanks.").await.unwrap();
    assert_eq!((output.text.as_str(), output.structured), ("You are welcome.", None));

    let requests = fixture.model.recorded_requests();
    let schema = requests[0].output_schema.as_ref().unwrap();
    assert_eq!(schema.name, "City");
    assert_eq!(schema.schema["additionalProperties"], false);
    assert_eq!(schema.schema["required"], json!(["name", "nickname", "people"]));
    assert_eq!(requests[1].output_schema, None);
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn invalid_answer_is_reported_to_the_model_and_requested_again() {
    let wrong = r#"{"name": "Vienna", "people": 99000000}"#;
    let fixture = Fixture::new([Reply::text("Vienna!"), Reply::text(wrong), Reply::text(VIENNA)]);
    let agent = fixture.agent().build().unwrap();
    let typed = agent.run_typed::<City>("The largest city of Austria?").await.unwrap();
    assert_eq!((typed.value, typed.tries), (vienna(), 3));
    assert_eq!((typed.output.turns, typed.output.messages.len()), (3, 6));
    assert_eq!(typed.output.usage.output, 15, "the usage of all three attempts");
    let sent_messages = fixture.sent_messages(2);
    assert!(sent_messages[2].contains("it is not JSON"), "{sent_messages:?}");
    assert!(
        sent_messages[4].contains("at `/people`") && sent_messages[4].contains("50000000"),
        "{sent_messages:?}"
    );
    // Notes of the runtime are not user messages.
    let messages = agent.messages();
    let user = |at: usize| messages[at].as_user().unwrap().origin.clone();
    assert_eq!(user(0), Origin::Person);
    assert_eq!(user(2), Origin::Note { section: "answer".into() });
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn answers_that_never_match_end_in_an_error_with_the_last_answer() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two"), Reply::text("three")]);
    let agent = fixture.agent().build().unwrap();
    let error = agent.run_typed::<City>("A city?").await.unwrap_err();
    let TypedError::Invalid { problem, tries: 3, output } = error else { panic!("{error}") };
    assert_eq!(output.text, "three");
    assert!(problem.contains("not JSON"), "{problem}");

    let fixture = Fixture::new([Reply::text("one")]);
    let agent = fixture.agent().answer_retries(0).build().unwrap();
    let error = agent.run_typed::<City>("A city?").await.unwrap_err();
    assert!(matches!(error, TypedError::Invalid { tries: 1, .. }), "{error}");
    assert_eq!(fixture.model.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn fenced_answer_is_accepted_and_a_list_is_wrapped_in_an_object() {
    let fixture = Fixture::new([Reply::text("Here:\n```json\n{\"answer\": [1, 2, 3]}\n```")]);
    let agent = fixture.agent().build().unwrap();
    let typed = agent.run_typed::<Vec<u8>>("The first three numbers?").await.unwrap();
    assert_eq!(typed.value, [1, 2, 3]);
    assert_eq!(typed.output.structured, Some(json!([1, 2, 3])));
    let schema = fixture.model.recorded_requests()[0].output_schema.clone().unwrap();
    assert_eq!(schema.schema["properties"]["answer"]["type"], "array");
}

#[tokio::test(start_paused = true)]
async fn schema_as_data_is_sent_unchanged_and_validated() {
    let schema = json!({
        "title": "a word!", "type": "object",
        "properties": {"word": {"type": "string", "pattern": "^[a-z]+$"}}, "required": ["word"],
    });
    let fixture = Fixture::new([Reply::text(r#"{"word": "NO"}"#), Reply::text(r#"{"word": "yes"}"#)]);
    let agent = fixture.agent().build().unwrap();
    let typed = agent.run_with_schema("Say a word.", schema.clone()).await.unwrap();
    assert_eq!((typed.value, typed.tries), (json!({"word": "yes"}), 2));
    let sent = fixture.model.recorded_requests()[0].output_schema.clone().unwrap();
    assert_eq!((sent.name.as_str(), &sent.schema), ("a_word_", &schema));

    for wrong in [json!("text"), json!({"type": "nonsense"}), json!({"$ref": "https://example.com/s.json"})] {
        let error = agent.run_with_schema("?", wrong.clone()).await.unwrap_err();
        assert!(matches!(error, TypedError::Schema(_)), "{wrong}: {error}");
    }
    assert_eq!(fixture.model.requests(), 2, "no request is sent with an invalid schema");
}

#[tokio::test(start_paused = true)]
async fn failed_run_has_no_answer() {
    let fixture = Fixture::new([Reply::error(ProviderError::Auth("no".into()))]);
    let agent = fixture.agent().build().unwrap();
    let error = agent.run_typed::<City>("A city?").await.unwrap_err();
    assert!(matches!(error, TypedError::Agent(AgentError::Failed(_))), "{error}");
    assert!(matches!(error.output().unwrap().outcome, RunOutcome::Failed { .. }));
    assert_eq!(fixture.model.requests(), 1, "retrying would not help");
}

#[derive(Deserialize, JsonSchema)]
struct Sum {
    /// What to add.
    terms: Vec<i64>,
}

#[derive(Serialize)]
struct Total {
    total: i64,
}

#[tokio::test(start_paused = true)]
async fn function_tool_reports_errors_to_the_model() {
    let replies = [
        Reply::tool_call("c1", "add", json!({"terms": [1, "two"]})),
        Reply::tool_call("c2", "add", json!({"terms": [1, 2]})),
        Reply::tool_call("c3", "add", json!({"terms": []})),
        Reply::text("3"),
    ];
    let fixture = Fixture::new(replies);
    let calls = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let add = FunctionTool::new("add", "Adds numbers.", move |sum: Sum, _: ToolContext| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async move {
            if sum.terms.is_empty() {
                return Err(ToolError::Failed("there is nothing to add".into()));
            }
            Ok(Total { total: sum.terms.iter().sum() })
        }
    });
    let agent = fixture.agent().tool(add.effects(ToolEffects::NONE)).build().unwrap();
    assert_eq!(agent.run("1 + 2?").await.unwrap().text, "3");
    let sent_messages = fixture.sent_messages(3);
    assert!(
        sent_messages[2].contains("`terms[1]`") && sent_messages[2].contains("expected i64"),
        "{sent_messages:?}"
    );
    assert_eq!(sent_messages[4], r#"tool: {"total":3}"#);
    assert!(sent_messages[6].ends_with("there is nothing to add"), "{sent_messages:?}");
    assert_eq!(
        calls.load(std::sync::atomic::Ordering::Relaxed),
        2,
        "wrong arguments never reach the function"
    );
    fixture.assert_valid();
}

#[test]
fn names_must_match_the_elements_of_the_tuple() {
    let add = || FunctionTool::pure("add", "Adds.", |(a, b): (i64, i64)| Ok::<_, String>(a + b));
    let build = |tool| Agent::builder().model(ScriptedModel::new([Reply::text("3")])).tool(tool).build();
    for tool in [add(), add().names(["a"]), add().names(["a", "b", "c"])] {
        assert_eq!(build(tool).unwrap_err(), BuildError::InvalidToolParameters("add".to_owned()));
    }
    assert!(build(add().names(["a", "b"])).is_ok());
}
