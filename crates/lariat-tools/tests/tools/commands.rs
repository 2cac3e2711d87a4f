//! Tests `bash` and the tools for background commands with real commands.
#![expect(
    clippy::disallowed_methods,
    reason = "tests check processes and files without going through the tools"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_core::cancel::CancellationToken;
use lariat_core::tool::Access;
use lariat_host::process::Environment;
use lariat_host::sandbox::{Policy, Sandbox};
use lariat_host::sandbox_probe::probe;
use lariat_tools::Commands;
use serde_json::json;

use crate::fixture::{Fixture, context, text};

#[tokio::test]
async fn command_returns_output_in_order_and_exit_code() {
    let fixture = Fixture::new();
    let result =
        fixture.call("bash", json!({ "command": "echo out; echo err >&2; pwd; exit 3" })).await.unwrap();
    assert_eq!(text(&result), format!("out\nerr\n{}\n[Exit code 3.]\n", fixture.base.join("ws").display()));
    assert_eq!(result.details["exit_code"], 3);
    let result = fixture.call("bash", json!({ "command": "true" })).await.unwrap();
    assert_eq!((text(&result).as_str(), &result.details["exit_code"]), ("[No output.]\n", &json!(0)));
    let result = fixture.call("bash", json!({ "command": "kill -9 $$" })).await.unwrap();
    assert!(text(&result).contains("signal 9"), "{}", text(&result));
    assert_eq!(result.details["signal"], 9);
}

#[tokio::test]
async fn runs_nothing_without_a_sandbox_choice() {
    let fixture = Fixture::with(|bench| bench);
    for background in [false, true] {
        let error = fixture.error("bash", json!({ "command": "touch ran", "background": background })).await;
        assert!(error.contains("no working sandbox"), "{error}");
    }
    assert_eq!(fixture.content("ran"), None);
}

#[tokio::test]
async fn read_only_access_lets_commands_read_but_not_write() {
    let fixture = sandboxed(true).await;
    fixture.put("a", "text");
    let tool = fixture.tool("bash");
    assert!(tool.is_offered(Access::Reads) && !fixture.tool("write_file").is_offered(Access::Reads));
    let reading = |command: &str| {
        let mut context = context("bash", CancellationToken::new());
        context.access = Access::Reads;
        tool.execute(json!({ "command": command }), context)
    };
    let done = reading("cat a; echo x > a; rm -f a; mkdir b; echo t > /tmp/t && cat /tmp/t").await.unwrap();
    assert!(text(&done).starts_with("text") && text(&done).contains("\nt\n"), "{}", text(&done));
    assert_eq!((fixture.content("a").as_deref(), fixture.content("b")), (Some("text"), None));
    assert!(!fixture.base.join("ws/b").exists());

    let open = Fixture::new();
    let mut context = context("bash", CancellationToken::new());
    context.access = Access::Reads;
    let refused = open.tool("bash").execute(json!({ "command": "touch x" }), context).await.unwrap_err();
    assert!(refused.to_string().contains("changes are not allowed now"), "{refused}");
    assert!(!open.base.join("ws/x").exists());
}

/// A fixture whose commands run in the first sandbox that works here, with or without a private `/tmp`.
async fn sandboxed(tmp: bool) -> Fixture {
    let place = std::env::temp_dir().join(format!("lariat-probe-{}-{tmp}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    let found = probe(&place, &Environment::from_inherited(std::env::vars_os())).await;
    std::fs::remove_dir_all(&place).unwrap();
    assert_eq!(found.refused, [], "both backends must work on a machine that runs these tests");
    let backend = found.backends.first().cloned().unwrap();
    Fixture::with(|bench| {
        let mut policy = Policy::workspace(bench.workspace().path(), None);
        if tmp {
            let temporary = bench.workspace().path().with_file_name("tmp");
            std::fs::create_dir(&temporary).unwrap();
            policy.temporary = Some(temporary);
        }
        bench.with_commands(Commands::Confined(Sandbox::new(policy, backend)))
    })
}

#[tokio::test]
async fn sandbox_denial_names_its_rule() {
    let fixture = sandboxed(false).await;
    let outside = fixture.base.join("outputs/escaped");
    let command = format!("echo in > inside; echo out > {}", outside.display());
    let result = fixture.call("bash", json!({ "command": command })).await.unwrap();
    assert_eq!(fixture.content("inside").as_deref(), Some("in\n"));
    assert!(!outside.exists());
    assert_eq!(result.details["exit_code"], 1);
    assert!(text(&result).contains("[Blocked: "), "{}", text(&result));
    assert_eq!(result.details["denials"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn timeout_ends_a_command_and_what_it_started() {
    let fixture = Fixture::new();
    let command = "echo begun; (sleep 30; touch survived) & sleep 30";
    let result = fixture.call("bash", json!({ "command": command, "timeout_seconds": 1 })).await.unwrap();
    let shown = text(&result);
    assert!(shown.starts_with("begun\n[Timed out after 1 s."), "{shown}");
    assert_eq!(result.details["end"], "timed_out");
    assert!(result.details["elapsed_ms"].as_u64().unwrap() < 3_000);
}

/// Time passes as soon as everything waits, so the test does not wait for real.
#[tokio::test(start_paused = true)]
async fn command_without_a_time_limit_ends_after_120_seconds() {
    let fixture = Fixture::new();
    let begun = tokio::time::Instant::now();
    let result = fixture.call("bash", json!({ "command": "sleep 600" })).await.unwrap();
    let waited = begun.elapsed().as_secs();
    assert!((119..130).contains(&waited), "{waited} s: {}", text(&result));
    assert_eq!(result.details["end"], "timed_out");
    assert!(text(&result).contains("Timed out after 120 s."), "{}", text(&result));
}

#[tokio::test]
async fn cancelled_command_ends_and_shows_its_output() {
    let fixture = Fixture::new();
    let cancel = CancellationToken::new();
    let mut context = context("bash", cancel.clone());
    // The first output cancels the command.
    let seen = Arc::new(Mutex::new(String::new()));
    let note = Arc::clone(&seen);
    context.on_update = Some(Arc::new(move |partial| {
        note.lock().unwrap().push_str(&text(&partial));
        cancel.cancel();
    }));
    let result =
        fixture.tool("bash").execute(json!({ "command": "echo begun; sleep 60" }), context).await.unwrap();
    assert_eq!(text(&result), "begun\n[Cancelled. The command and everything it started were ended.]\n");
    assert_eq!(result.details["end"], "cancelled");
    assert_eq!(*seen.lock().unwrap(), "begun\n");
}

#[tokio::test]
async fn cuts_long_output_and_recalls_it() {
    let fixture = Fixture::new();
    for (lines, spilled) in [(20_000, false), (200_000, true)] {
        let result = fixture.call("bash", json!({ "command": format!("seq 1 {lines}") })).await.unwrap();
        let shown = text(&result);
        assert!(shown.len() < 34_000 && shown.contains("`recall`"), "{}", shown.len());
        assert!(shown.starts_with("1\n2\n") && shown.ends_with(&format!("\n{lines}\n")));
        let id = result.details["output_id"].as_str().unwrap();
        let middle = fixture.text("recall", json!({ "id": id, "offset": lines / 2, "limit": 2 })).await;
        let next = lines / 2 + 2;
        assert_eq!(
            middle,
            format!(
                "{}\n{}\n[More lines follow. Continue with `offset` {next}.]\n",
                lines / 2,
                lines / 2 + 1
            )
        );
        let found = fixture.text("recall", json!({ "id": id, "pattern": "^1234.$", "limit": 3 })).await;
        assert_eq!(
            found,
            "12340: 12340\n12341: 12341\n12342: 12342\n[More lines follow. Continue with `offset` 12343.]\n"
        );
        let end = fixture.text("recall", json!({ "id": id, "offset": lines })).await;
        assert_eq!(end, format!("{lines}\n[End of the output.]\n"));
        let file = std::fs::read_dir(fixture.base.join("outputs")).unwrap().count();
        assert_eq!(file, usize::from(spilled));
    }
    assert!(fixture.error("recall", json!({ "id": "o999" })).await.contains("Unknown id `o999`"));
    assert!(
        fixture.error("recall", json!({ "id": "o2", "pattern": "(" })).await.contains("regular expression")
    );
}

#[tokio::test]
async fn reads_writes_and_stops_a_background_command() {
    let fixture = Fixture::new();
    let command = "echo ready; while read line; do echo \"got $line\"; done; echo over";
    let started = fixture.call("bash", json!({ "command": command, "background": true })).await.unwrap();
    let id = started.details["id"].as_str().unwrap();
    let output = async || fixture.text("bash_output", json!({ "id": id, "wait_seconds": 20 })).await;
    assert_eq!(output().await, "ready\n[Still running.]\n");
    assert_eq!(
        fixture.text("bash_output", json!({ "id": id })).await,
        "[No new output.]\n[Still running.]\n"
    );
    fixture.text("bash_input", json!({ "id": id, "text": "one\n" })).await;
    assert_eq!(output().await, "got one\n[Still running.]\n");
    fixture.text("bash_input", json!({ "id": id, "close": true })).await;
    let mut rest = String::new();
    while !rest.contains("Exit code") {
        rest.push_str(&output().await);
    }
    assert!(rest.contains("over\n") && rest.ends_with("[Exit code 0.]\n"), "{rest}");
    assert!(fixture.error("bash_input", json!({ "id": id, "text": "x" })).await.contains("has ended"));
    let again = fixture.call("bash", json!({ "command": "sleep 100", "background": true })).await.unwrap();
    let id = again.details["id"].as_str().unwrap();
    let stopped = fixture.call("bash_stop", json!({ "id": id })).await.unwrap();
    assert!(text(&stopped).contains("[Stopped"), "{}", text(&stopped));
    assert_eq!(stopped.details["end"], "stopped");
    let unknown = fixture.error("bash_output", json!({ "id": "b77" })).await;
    assert!(unknown.contains("background command `b77`") && unknown.contains("`b1` (ended)"), "{unknown}");
}

#[tokio::test]
async fn runs_background_command_in_a_terminal() {
    let fixture = Fixture::new();
    let command = "test -t 0 && test -t 1 && echo a-terminal; read line; echo got-$line";
    let call = json!({ "command": command, "background": true, "terminal": true });
    let started = fixture.call("bash", call).await.unwrap();
    let id = started.details["id"].as_str().unwrap();
    assert_eq!(
        fixture.text("bash_output", json!({ "id": id, "wait_seconds": 20 })).await,
        "a-terminal\n[Still running.]\n"
    );
    fixture.text("bash_input", json!({ "id": id, "text": "word\n" })).await;
    let mut seen = String::new();
    while !seen.contains("Exit code 0") {
        seen.push_str(&fixture.text("bash_output", json!({ "id": id, "wait_seconds": 20 })).await);
    }
    assert!(seen.contains("got-word"), "{seen}");
    let error = fixture.error("bash", json!({ "command": "true", "terminal": true })).await;
    assert!(error.contains("requires `background`"), "{error}");
}

#[tokio::test]
async fn background_commands_are_limited_and_end_with_their_tools() {
    let fixture = Fixture::new();
    let marker = format!("lariat-marker-{}", std::process::id());
    let mut refused = None;
    for count in 0..20 {
        let command = format!("exec -a {marker}-{count} sleep 1000");
        match fixture.call("bash", json!({ "command": command, "background": true })).await {
            Ok(_) => {}
            Err(error) => refused = refused.or(Some((count, error.to_string()))),
        }
    }
    let (count, error) = refused.unwrap();
    assert_eq!(count, 16);
    assert!(error.contains("bash_stop"), "{error}");
    assert!(alive(&marker));
    drop(fixture);
    for _ in 0..200 {
        if !alive(&marker) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("commands outlived their tools");
}

fn alive(marker: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read_to_string(entry.path().join("cmdline"));
        line.is_ok_and(|line| line.starts_with(marker))
    })
}

/// A session with one message.
struct OneMessage;

impl lariat_core::tool::EarlierMessages for OneMessage {
    fn text<'a>(
        &'a self,
        name: &'a str,
    ) -> lariat_core::BoxFuture<'a, Result<Option<String>, lariat_core::tool::ToolError>> {
        let text = (name == "m0123456789ab").then(|| "one\ntwo\nthree".to_owned());
        Box::pin(std::future::ready(Ok(text)))
    }

    fn stream_text<'a>(
        &'a self,
        name: &'a str,
        take: &'a mut (dyn FnMut(&str) + Send),
    ) -> lariat_core::BoxFuture<'a, Result<bool, lariat_core::tool::ToolError>> {
        Box::pin(async move {
            if name.contains("..") {
                (1..=1_000).for_each(|n| take(&format!("[m{n} user]\nline {n}\n")));
            }
            let text = self.text(name).await?;
            Ok(text.map(|text| take(&text)).is_some() || name.contains(".."))
        })
    }
}

#[tokio::test]
async fn recalls_messages_like_outputs() {
    let fixture = Fixture::new();
    let recall = async |arguments| {
        let mut context = context("recall", CancellationToken::new());
        context.earlier = Some(std::sync::Arc::new(OneMessage));
        fixture.tool("recall").execute(arguments, context).await
    };
    let lines = recall(json!({ "id": "m0123456789ab", "offset": 2, "limit": 1 })).await.unwrap();
    assert_eq!(text(&lines), "two\n[More lines follow. Continue with `offset` 3.]\n");
    let found = recall(json!({ "id": "m0123456789ab", "pattern": "^t" })).await.unwrap();
    assert_eq!(text(&found), "2: two\n3: three\n[End of the output.]\n");
    // A range arrives in pieces, and its lines are counted across them.
    let range = "m0123456789ab..mba9876543210";
    let lines = recall(json!({ "id": range, "offset": 1_998, "limit": 2 })).await.unwrap();
    assert_eq!(text(&lines), "line 999\n[m1000 user]\n[More lines follow. Continue with `offset` 2000.]\n");
    let found = recall(json!({ "id": range, "pattern": "^line 77", "limit": 3 })).await.unwrap();
    assert_eq!(
        text(&found),
        "154: line 77\n1540: line 770\n1542: line 771\n[More lines follow. Continue with `offset` 1543.]\n"
    );
    let last = recall(json!({ "id": range, "pattern": "1000$" })).await.unwrap();
    assert_eq!(text(&last), "2000: line 1000\n[End of the output.]\n");
    let unknown = recall(json!({ "id": "mba9876543210" })).await.unwrap_err();
    assert!(unknown.to_string().contains("no message has it"), "{unknown}");
}
