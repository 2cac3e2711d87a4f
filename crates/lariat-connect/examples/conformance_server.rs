//! A server for the conformance suite of MCP, with the tools that the suite calls. `cargo xtask connect` runs it.
//!
//! Only the tools are made for the suite; the server is the one of `lariat mcp serve`. It prints `listening` and its address.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a program of the tests")]

use std::sync::Arc;
use std::time::Duration;

use lariat_connect::mcp::tool_server::{
    CallClient, ClientAnswer, HttpServer, ServedCall, ServedTools, ToolServer,
};
use lariat_connect::mcp::{McpContent, McpToolCallResult, McpToolInfo};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use serde_json::json;

/// A picture of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The tools, each with what it does.
const TOOLS: &[(&str, &str)] = &[
    ("test_simple_text", "Returns a text."),
    ("test_image_content", "Returns an image."),
    ("test_error_handling", "Fails."),
    ("test_tool_with_progress", "Reports progress."),
    ("test_input_required_result_elicitation", "Asks the user."),
    ("test_input_required_result_tampered_state", "Asks the user."),
];

struct SuiteTools;

impl ServedTools for SuiteTools {
    fn tools(&self) -> Vec<McpToolInfo> {
        let schema = json!({ "type": "object", "properties": {} });
        TOOLS
            .iter()
            .map(|(name, about)| McpToolInfo::new(*name, Some((*about).to_owned()), schema.clone()))
            .collect()
    }

    fn call<'a>(&'a self, call: ServedCall, client: CallClient) -> BoxFuture<'a, McpToolCallResult> {
        Box::pin(async move {
            match call.tool.as_str() {
                "test_simple_text" => McpToolCallResult::text("This is a simple text response for testing."),
                "test_image_content" => {
                    let image =
                        McpContent::Image { data: PIXEL.to_owned(), mime_type: "image/png".to_owned() };
                    let mut result = McpToolCallResult::default();
                    result.content.push(image);
                    result
                }
                "test_tool_with_progress" => {
                    for step in ["begun", "half", "done"] {
                        client.report(step);
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                    McpToolCallResult::text("done")
                }
                "test_input_required_result_elicitation" | "test_input_required_result_tampered_state" => {
                    match client.ask("May the tool continue?").await {
                        ClientAnswer::Approved => McpToolCallResult::text("approved"),
                        ClientAnswer::Declined => McpToolCallResult::text("declined"),
                        _ => McpToolCallResult::error("the client cannot ask its user"),
                    }
                }
                _ => McpToolCallResult::error("This tool intentionally returns an error for testing"),
            }
        })
    }
}

#[tokio::main]
async fn main() {
    let server = HttpServer::bind(([127, 0, 0, 1], 0).into(), None).await.unwrap();
    println!("listening {}", server.url());
    let tools = ToolServer::new(Arc::new(SuiteTools), "Tools of the conformance suite.");
    server.serve(&tools, CancellationToken::new()).await;
}
