//! Secrets in tool results, prompts and errors: none is recorded, shown or sent.

use lariat_core::BoxFuture;
use lariat_core::content::Content;
use lariat_core::model::{ApiKey, ErrorDetail, ModelConfig, ProviderError};
use lariat_core::tool::{AgentTool, ToolContext, ToolError, ToolResult};
use lariat_test::Reply;
use serde_json::{Value, json};

use super::fixture::{Fixture, rest};

/// A secret value that occurs nowhere else.
fn canary(number: usize) -> String {
    format!("Canary{:04}x{:016x}", number, (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Fifty secrets: some are registered with the agent, the others are recognised by their format.
fn canaries() -> Vec<(String, String)> {
    let looks: [fn(String) -> String; 10] = [
        |c| format!("sk-ant-api03-{c}{c}"),
        |c| format!("sk-proj-{c}{c}"),
        |c| format!("ghp_{c}{c}"),
        |c| format!("github_pat_{c}{c}"),
        |c| format!("glpat-{c}"),
        |c| format!("xoxb-{c}"),
        |c| format!("Authorization: Bearer {c}"),
        |c| format!("postgres://me:{c}@db/x"),
        |c| format!("eyJhbGciOiJIUzI1NiIsInR5.eyJzdWIiOiIxMjM0NTY3ODkw.{c}"),
        |c| format!("-----BEGIN RSA PRIVATE KEY-----\n{c}\n-----END RSA PRIVATE KEY-----"),
    ];
    (0..50)
        .map(|number| match number {
            0..20 => (canary(number), canary(number)),
            _ => (canary(number), looks[number % looks.len()](canary(number))),
        })
        .collect()
}

/// Returns all secrets, in one of the ways that a tool has.
struct LeakyTool;

impl AgentTool for LeakyTool {
    fn name(&self) -> &str {
        "loud"
    }
    fn description(&self) -> &str {
        "Prints secrets."
    }
    fn parameters_schema(&self) -> Value {
        json!({"type": "object"})
    }
    fn execute<'a>(
        &'a self,
        params: Value,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        let all = canaries().into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n");
        Box::pin(async move {
            match params["way"].as_str().unwrap_or_default() {
                "panic" => std::panic::resume_unwind(Box::new(all)),
                "fail" => Err(ToolError::Failed(all)),
                "arguments" => Err(ToolError::InvalidArgs(all)),
                "progress" => {
                    context.progress(all.clone());
                    context.update(ToolResult::text(all));
                    tokio::task::yield_now().await;
                    Ok(ToolResult::text("done"))
                }
                _ => {
                    let mut result =
                        ToolResult::text(&all).with_details(json!({"env": all, (all.clone()): 1}));
                    result.content.push(Content::text(all));
                    Ok(result)
                }
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn no_secret_leaks() {
    let all: String = canaries().into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n");
    let ways = ["text", "fail", "panic", "arguments", "progress"];
    let calls = ways
        .iter()
        .enumerate()
        .map(|(at, way)| Reply::tool_call(format!("c{at}"), "loud", json!({"way": way})));
    let failure = Reply::error(ProviderError::Auth(ErrorDetail::new(all.clone()).with_status(401)));
    let fixture = Fixture::new(calls.chain([failure]));
    let mut config = ModelConfig::new("scripted", "m");
    config.api_key = ApiKey::new(canary(0));
    config.headers.insert("x-key".into(), canary(1));
    let mut agent = fixture.agent().model_config(config.clone()).tool(LeakyTool);
    for number in 2..20 {
        agent = agent.secret(format!("SECRET_{number}"), canary(number));
    }
    let agent = agent.build().unwrap();
    let mut stream = agent.prompt(format!("here are my keys: {all}")).unwrap();
    agent.steer(format!("and again: {all}"));
    let events = rest(&mut stream).await;
    let journal = fixture.journal(&agent.session_id()).await;
    let seen = [
        ("events", events.iter().map(|event| serde_json::to_string(&**event).unwrap()).collect::<String>()),
        ("events, in debug output", format!("{events:?}")),
        ("journal", journal.iter().map(|event| serde_json::to_string(&**event).unwrap()).collect()),
        ("requests", format!("{:?}", fixture.model.recorded_requests())),
        ("configuration", format!("{config:?}")),
    ];
    assert!(
        events.iter().any(|event| format!("{event:?}").contains("ProgressMessage")),
        "no progress was reported"
    );
    assert!(
        fixture.sent_messages(1)[0].contains("[redacted: SECRET_7]"),
        "{:?}",
        fixture.sent_messages(1)[0]
    );
    assert_eq!(fixture.model.requests(), 6);
    for (value, _) in canaries() {
        for (place, text) in &seen {
            if let Some(at) = text.find(&value) {
                let start = text.floor_char_boundary(at.saturating_sub(300));
                panic!("{value} leaked to {place}, after {}", &text[start..at]);
            }
        }
    }
}
