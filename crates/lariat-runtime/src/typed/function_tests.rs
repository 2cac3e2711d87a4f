use lariat_core::cancel::CancellationToken;
use lariat_core::content::Content;
use lariat_core::tool::{AgentTool, ToolContext, ToolEffects, ToolError, ToolResult};
use serde_json::{Value, json};

use super::FunctionTool;

fn context() -> ToolContext {
    ToolContext::new("c".into(), "t", "s".into(), "l".into(), CancellationToken::new())
}

async fn output_of(tool: FunctionTool) -> Result<String, ToolError> {
    let result = tool.execute(json!({}), context()).await?;
    Ok(result.content.iter().filter_map(Content::as_text).collect())
}

#[tokio::test]
async fn returns_text_json_or_tool_results() {
    let text = FunctionTool::new("t", "d", |(): (), _| async { Ok::<_, ToolError>("as it is") });
    assert_eq!(output_of(text).await.unwrap(), "as it is");
    let data = FunctionTool::new("t", "d", |(): (), _| async { Ok::<_, ToolError>(vec![1, 2]) });
    assert_eq!(output_of(data).await.unwrap(), "[1,2]");
    let nothing = FunctionTool::new("t", "d", |(): (), _| async { Ok::<_, ToolError>(()) });
    assert_eq!(output_of(nothing).await.unwrap(), "Done.");
    let own = FunctionTool::new("t", "d", |(): (), _| async {
        Ok::<_, ToolError>(ToolResult::text("own").with_details(json!({"a": 1})))
    });
    let result = own.execute(json!({}), context()).await.unwrap();
    assert_eq!(result, ToolResult::text("own").with_details(json!({"a": 1})));
}

#[tokio::test]
async fn returns_error_messages_and_tool_errors_unchanged() {
    let words = FunctionTool::new("t", "d", |(): (), _| async { Err::<(), _>("no such city") });
    assert_eq!(output_of(words).await, Err(ToolError::Failed("no such city".into())));
    let own = FunctionTool::new("t", "d", |(): (), _| async { Err::<(), _>(ToolError::Cancelled) });
    assert_eq!(output_of(own).await, Err(ToolError::Cancelled));
}

#[test]
fn undeclared_properties_have_the_strictest_defaults() {
    let tool = || FunctionTool::new("t", "d", |(): (), _| async { Ok::<_, ToolError>(()) });
    assert_eq!((tool().effects, AgentTool::effects(&tool())), (ToolEffects::ALL, ToolEffects::ALL));
    assert!(!tool().is_parallel_safe());
    assert!(tool().effects(ToolEffects::READS).is_parallel_safe());
    assert!(tool().parallel_safe().is_parallel_safe());
    assert_eq!((AgentTool::label(&tool()), AgentTool::label(&tool().label("Tool"))), ("t", "Tool"));
    assert_eq!(tool().parameters_schema(), json!({"type": "object", "properties": {}}));
    assert_eq!(tool().parameters_schema().get("$schema"), None::<&Value>);
}

#[tokio::test]
async fn named_tuple_reads_an_object_and_names_the_wrong_argument() {
    let tool = FunctionTool::pure("t", "d", |(a, b): (i64, Option<i64>)| Ok::<_, String>(a + b.unwrap_or(1)));
    let tool = tool.names(["a", "b"]);
    let schema = tool.parameters_schema();
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["a"])));
    assert_eq!(schema["properties"]["a"]["type"], "integer");
    assert_eq!((AgentTool::effects(&tool), tool.is_parallel_safe()), (ToolEffects::NONE, true));
    for (arguments, sum) in [(json!({"a": 20, "b": 22}), "42"), (json!({"a": 1}), "2")] {
        let result = tool.execute(arguments, context()).await.unwrap();
        assert_eq!(result.content[0].as_text(), Some(sum));
    }
    let Err(ToolError::InvalidArgs(text)) = tool.execute(json!({"a": "x"}), context()).await else {
        panic!("text is not a number")
    };
    assert!(text.starts_with("invalid argument `a`: "), "{text}");
}
