//! How long the file tools take, printed. Not part of the checks: `cargo nextest run -p lariat-tools --test tools
//! --run-ignored only --no-capture`.
#![expect(clippy::disallowed_methods, reason = "a measurement makes its files and reads the clock")]

use std::time::Instant;

use lariat_core::cancel::CancellationToken;
use lariat_core::id::{LoopId, SessionId};
use lariat_core::tool::ToolContext;
use lariat_host::files::{Sync, Workspace};
use lariat_tools::{Workbench, file_tools};
use serde_json::{Value, json};

const TURNS: usize = 301;

/// What is measured, by which tool, with which arguments in which turn.
type Measured = (&'static str, &'static str, fn(usize) -> Value);

#[tokio::test]
#[ignore = "a measurement"]
async fn the_median_time_of_each_call_is_printed() {
    let folder = std::env::temp_dir().join(format!("lariat-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, size) in [("10k", 10_000), ("1m", 1_000_000)] {
        let line = "a line of text as it is in many files, no more\n";
        std::fs::write(folder.join(name), line.repeat(size / line.len())).unwrap();
    }
    std::fs::write(folder.join("edited"), format!("{}mark 0\n", "some line of code\n".repeat(500))).unwrap();
    let tools = file_tools(&Workbench::new(Workspace::open(&folder).unwrap().with_sync(Sync::Fast)));
    let calls: [Measured; 3] = [
        ("10 KB", "read_file", |_| json!({ "path": "10k" })),
        ("1 MB", "read_file", |_| json!({ "path": "1m", "limit": 100_000 })),
        (
            "9 KB",
            "edit_file",
            |turn| json!({ "path": "edited", "old_string": format!("mark {turn}\n"), "new_string": format!("mark {}\n", turn + 1) }),
        ),
    ];
    for (what, name, arguments) in calls {
        let tool = tools.iter().find(|tool| tool.name() == name).unwrap();
        let mut times = Vec::new();
        for turn in 0..TURNS {
            let (session, running) = (SessionId::from("s"), LoopId::from("l"));
            let context = ToolContext::new("call".into(), name, session, running, CancellationToken::new());
            let arguments = arguments(turn);
            let start = Instant::now();
            tool.execute(arguments, context).await.unwrap();
            times.push(start.elapsed());
        }
        times.sort();
        println!("{name} {what}: median {:.3} ms", times[TURNS / 2].as_secs_f64() * 1000.0);
    }
    std::fs::remove_dir_all(folder).unwrap();
}
