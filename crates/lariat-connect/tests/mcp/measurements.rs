//! How long a tool call takes, beside the same call with bare `rmcp`. `cargo xtask connect` runs this in an optimised build.

use std::process::Stdio;
use std::time::{Duration, Instant};

use lariat_connect::mcp::McpToolAdapter;
use lariat_core::cancel::CancellationToken;
use lariat_core::tool::AgentTool as _;
use rmcp::model::CallToolRequestParams;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _};
use serde_json::json;

use crate::support::{SERVER, context, limits, object, server, tool};

/// The most that a call may take, as a multiple of a call with bare `rmcp`.
const LIMIT: f64 = 1.3;
/// Calls of a block. Blocks of both clients alternate, so that both see the same machine.
const CALLS: usize = 50;
const BLOCKS: usize = 40;

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures, and needs an optimised build: cargo xtask connect"]
async fn a_call_over_stdio_takes_at_most_1_3_times_as_long_as_with_bare_rmcp() {
    let server = server(&["plain"], limits());
    tool(&server, "echo").await;
    let (tools, _) = McpToolAdapter::from_server(&server);
    let echo = tools.into_iter().find(|tool| tool.name() == "mcp__test__echo").unwrap();

    let mut program = tokio::process::Command::new("python3");
    program.args([SERVER, "plain"]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = program.spawn().unwrap();
    let streams = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let bare = ().serve_with_lifecycle(streams, ClientLifecycleMode::Initialize).await.unwrap();

    let arguments = json!({ "text": "hello" });
    let never = CancellationToken::new();
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for block in 0..=BLOCKS {
        for _ in 0..CALLS {
            let begun = Instant::now();
            echo.execute(arguments.clone(), context(&never)).await.unwrap();
            own.push(begun.elapsed());
        }
        for _ in 0..CALLS {
            let begun = Instant::now();
            let call = CallToolRequestParams::new("echo").with_arguments(object(arguments.clone()));
            bare.call_tool(call).await.unwrap();
            other.push(begun.elapsed());
        }
        if block == 0 {
            // Both clients and servers are warm now.
            (own, other) = (Vec::new(), Vec::new());
        }
    }
    let (own, other) = (median(own), median(other));
    let times = own.as_secs_f64() / other.as_secs_f64();
    println!(
        "call over stdio: {own:?}, with bare rmcp {other:?}: {times:.2} times (limit {LIMIT}, median of {})",
        CALLS * BLOCKS
    );
    assert!(times <= LIMIT, "{times:.2} times");
}
