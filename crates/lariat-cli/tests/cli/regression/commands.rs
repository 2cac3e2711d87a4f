//! Regression tests for the output and errors of commands, and for provider failures.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lariat_core::event::AgentEvent;
use lariat_testkit::server::{Answer, Frame, RawAnswer, Request, Script, Turn, TurnUsage};
use serde_json::{Value, json};

use crate::ground::{Ground, last_result};

/// A stream of the Messages API that breaks after a piece of text.
fn broken_stream() -> Answer {
    let event =
        |kind: &str, data: Value| Frame::Bytes(format!("event: {kind}\ndata: {data}\n\n").into_bytes());
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 10, "output_tokens": 1 },
    });
    let frames = vec![
        event("message_start", json!({ "type": "message_start", "message": message })),
        event(
            "content_block_start",
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        ),
        event(
            "content_block_delta",
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Hel" } }),
        ),
        // A reset drops data that is still in transit.
        Frame::Pause(Duration::from_millis(200)),
        Frame::Reset,
    ];
    let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
    Answer::Raw(RawAnswer { status: 200, headers, frames })
}

/// A model that sends this response a number of times, and then replies.
fn after(times: usize, answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Script {
    let asked = AtomicUsize::new(0);
    Script::answer(move |request| {
        if asked.fetch_add(1, Ordering::SeqCst) < times {
            return answer(request);
        }
        Turn::new().text("Hello.").into()
    })
}

fn saying(words: &'static str) -> Script {
    Script::answer(move |_| Turn::new().text(words).into())
}

/// A model that runs a command, then replies.
fn running(command: &'static str) -> Script {
    Script::answer(move |request| match last_result(&request.body) {
        None => Turn::new().call("toolu_1", "bash", &json!({ "command": command })).into(),
        Some(_) => Turn::new().text("Done.").into(),
    })
}

/// A broken stream must not end the run.
#[tokio::test(flavor = "multi_thread")]
async fn broken_stream_is_withdrawn_and_asked_again() {
    let ground = Ground::new(after(1, |_| broken_stream())).await;
    let ran = ground.run(&["run", "say hello"]).expect(0);
    assert_eq!(ran.stdout, "Hello.\n");
    assert!(ran.stderr.contains("attempt 1 failed, retrying in "), "{}", ran.stderr);
    assert_eq!(ground.requests().len(), 2);
    let replies = ground.journal().await.into_iter().filter(|event| match &event.event {
        AgentEvent::MessageEnd { message } => message.shared().is_some_and(|m| m.as_assistant().is_some()),
        _ => false,
    });
    assert_eq!(replies.count(), 1, "only the whole reply is kept");

    let ground = Ground::new(after(1, |_| broken_stream())).await;
    let stream = ["run", "x", "--output", "stream-json", "--include-partial-messages"];
    let lines = ground.run(&stream).expect(0).lines();
    let at = |wanted: &dyn Fn(&Value) -> bool| lines.iter().position(wanted).expect("the line is there");
    let begun = at(&|line| line["event"]["type"] == "message_start");
    let withdrawn = at(&|line| line["subtype"] == "message_withdrawn");
    let again = at(&|line| line["subtype"] == "api_retry");
    assert!(begun < withdrawn && withdrawn < again, "{lines:#?}");
    assert_eq!(lines[withdrawn]["message_id"], lines[begun]["event"]["message"]["id"]);
}

/// Tool calls of a broken reply must never run.
#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_broken_reply_never_run() {
    let ground = Ground::new(after(1, |_| {
        let Answer::Raw(mut raw) = broken_stream() else { unreachable!() };
        let call = json!({ "type": "content_block_start", "index": 1, "content_block":
            { "type": "tool_use", "id": "toolu_9", "name": "bash", "input": { "command": "touch made" } } });
        let frame = format!("event: content_block_start\ndata: {call}\n\n").into_bytes();
        raw.frames.insert(3, Frame::Bytes(frame));
        Answer::Raw(raw)
    }))
    .await;
    ground.run(&["run", "make it"]).expect(0);
    assert!(!ground.workspace().join("made").exists());
}

/// A run must survive more than three failures.
#[tokio::test(flavor = "multi_thread")]
async fn more_than_three_failures_in_a_row_are_survived() {
    let ground = Ground::new(after(4, |request| Answer::error(request.wire, 500, "boom"))).await;
    let ran = ground.run(&["run", "say hello"]).expect(0);
    assert_eq!((ran.stdout.as_str(), ground.requests().len()), ("Hello.\n", 5));
    assert!(ran.stderr.contains("attempt 4 failed, retrying in"), "{}", ran.stderr);
    let shown = ground.run(&["config", "show"]).expect(0).stdout;
    assert!(shown.contains("retry.attempts") && shown.contains("retry.patience"), "{shown}");
}

/// The error must name the attempts, and retries must be configurable.
#[tokio::test(flavor = "multi_thread")]
async fn failing_server_is_named_with_attempts_and_settings() {
    let ground = Ground::new(Script::answer(|request| Answer::error(request.wire, 500, "boom"))).await;
    let run = |attempts: &str| {
        let mut command = ground.command(&["run", "say hello"]);
        String::from_utf8(command.env("LARIAT_RETRY__ATTEMPTS", attempts).output().unwrap().stderr).unwrap()
    };
    let told = run("0");
    assert_eq!(ground.requests().len(), 1, "no retry");
    assert!(
        told.starts_with("error: test failed to respond (HTTP 500)\n  at:   http://127.0.0.1:"),
        "{told}"
    );
    assert!(told.contains("\n  said: boom\n"), "{told}");
    assert!(told.contains("  hint: continue later with `lariat run --resume "), "{told}");
    let told = run("1");
    assert_eq!(ground.requests().len(), 3);
    assert!(told.contains("error: test failed to respond (HTTP 500), tried 2 times in "), "{told}");
    assert!(told.contains("`retry.attempts` and `retry.patience`"), "{told}");
}

/// A wait longer than `retry.patience` does not start.
#[tokio::test(flavor = "multi_thread")]
async fn retry_after_beyond_patience_ends_at_once_and_says_what_to_set() {
    let ground = Ground::new(Script::answer(|_| {
        let headers = vec![
            ("retry-after".to_owned(), "1800".to_owned()),
            ("content-type".to_owned(), "application/json".to_owned()),
        ];
        let body =
            json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow down" } });
        Answer::Raw(RawAnswer {
            status: 429,
            headers,
            frames: vec![Frame::Bytes(body.to_string().into_bytes())],
        })
    }))
    .await;
    let told = ground.run(&["run", "say hello"]).expect(4).stderr;
    assert_eq!(ground.requests().len(), 1);
    assert!(told.starts_with("error: test is rate limiting requests or overloaded (HTTP 429)\n"), "{told}");
    assert!(
        told.contains(
            "asks to wait 30m 00s; to wait that long, run `lariat config set retry.patience 1860s`"
        ),
        "{told}"
    );
}

/// The error must name provider, address, key and hint.
#[tokio::test(flavor = "multi_thread")]
async fn rejected_key_names_provider_address_key_and_hint() {
    let refuse = |request: &Request| Answer::error(request.wire, 401, "invalid x-api-key");
    let ground = Ground::new(Script::answer(refuse)).await;
    let told = ground.run(&["run", "hello"]).expect(4).stderr;
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "error: test rejected the API key (HTTP 401)");
    assert!(lines[1].starts_with("  at:   http://127.0.0.1:"), "{told}");
    assert_eq!(lines[2], "  said: invalid x-api-key");
    assert_eq!(lines[3], "  key:  TEST_KEY, from the environment");
    assert!(
        told.contains("  hint: store a valid key with `lariat auth login test`; then continue"),
        "{told}"
    );
}

/// The error must name the address and how to start the server.
#[tokio::test(flavor = "multi_thread")]
async fn missing_server_is_named_with_address_and_start_command() {
    let ground = Ground::new(saying("never")).await;
    let mut command = ground.command(&["run", "hello", "-m", "ollama/x"]);
    command
        .env("LARIAT_RETRY__ATTEMPTS", "0")
        .env("LARIAT_PROVIDERS__OLLAMA__BASE_URL", "http://127.0.0.1:1/v1");
    let ran = command.output().unwrap();
    let told = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(4), "{told}");
    assert!(
        told.starts_with("error: could not connect to ollama\n  at:   http://127.0.0.1:1/v1\n"),
        "{told}"
    );
    assert!(told.contains("  hint: start Ollama with `ollama serve`; then continue with"), "{told}");
}

/// The error must name the setting and the flag.
#[tokio::test(flavor = "multi_thread")]
async fn limit_is_named_with_setting_and_flag() {
    let ground = Ground::new(running("true")).await;
    let told = ground.run(&["run", "go", "--max-turns", "1"]).expect(5).stderr;
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines[..2],
        ["error: the run reached its turn limit", "  set:  limits.turns = 1, flags"],
        "{told}"
    );
    assert!(lines[2].starts_with("  hint: raise it and continue: `lariat run --resume "), "{told}");
    assert!(lines[2].ends_with(" --max-turns N`"), "{told}");
}

/// The hint must contain the complete command to explain.
#[tokio::test(flavor = "multi_thread")]
async fn refused_call_without_a_rule_is_explained_by_a_whole_command() {
    let ground = Ground::new(running("rm -rf ~/x && echo \"it's\" > y")).await;
    let told = ground.run(&["run", "go", "--mode", "default"]).expect(0).stderr;
    let hint = told.lines().find(|line| line.starts_with("  hint: ")).unwrap_or_else(|| panic!("{told}"));
    if let Some(command) = hint.split('`').nth(1) {
        let words = Command::new("bash").args(["-c", &format!("printf '%s\\n' {command}")]).output().unwrap();
        let words = String::from_utf8(words.stdout).unwrap();
        assert_eq!(words.lines().count(), 5, "one word each for the shell: {words}");
    }
}

/// Configures a provider from the catalogue, so that requests have a price.
fn priced(ground: &Ground, args: &[&str]) -> Command {
    let mut command = ground.command(args);
    let address = ground.server.base_url(lariat_testkit::server::Wire::AnthropicMessages);
    command
        .env("ANTHROPIC_API_KEY", "sk-ant-test")
        .env("LARIAT_MODEL", "anthropic/claude-sonnet-5-5")
        .env("LARIAT_PROVIDERS__ANTHROPIC__BASE_URL", address);
    command
}

fn costly() -> Script {
    let mut usage = TurnUsage::default();
    (usage.input, usage.output) = (10_000, 1_000);
    Script::answer(move |_| Turn::new().text("Done.").usage(usage).into())
}

/// A daily budget must include earlier runs of the day.
#[tokio::test(flavor = "multi_thread")]
async fn day_budget_includes_runs_made_before_it_was_set() {
    let ground = Ground::new(costly()).await;
    let spent = priced(&ground, &["run", "spend"]).output().unwrap();
    assert_eq!(spent.status.code(), Some(0), "{}", String::from_utf8_lossy(&spent.stderr));
    let capped = priced(&ground, &["run", "more"]).env("LARIAT_BUDGET__DAY", "0.01").output().unwrap();
    let told = String::from_utf8(capped.stderr).unwrap();
    assert_eq!(capped.status.code(), Some(5), "{told}");
    assert!(told.starts_with("error: today's cost budget is used up\n"), "{told}");
    assert!(told.contains("lariat config set budget.day VALUE"), "{told}");
    assert_eq!(ground.requests().len(), 1);
}

/// Shared history must not be counted twice.
#[tokio::test(flavor = "multi_thread")]
async fn forks_are_not_counted_twice_in_costs() {
    let ground = Ground::new(costly()).await;
    assert!(priced(&ground, &["run", "spend"]).status().unwrap().success());
    let total = || ground.run(&["sessions", "cost", "--json"]).expect(0).json()["total"]["cost"].clone();
    let before = total();
    assert_ne!(before, json!(0));
    let session = ground.run(&["sessions", "list", "--json"]).expect(0).json()[0]["session_id"].clone();
    let fork = ground.run(&["sessions", "fork", session.as_str().unwrap()]).expect(0).stdout;
    assert_eq!(total(), before);
    let of_fork = ground.run(&["sessions", "cost", fork.trim(), "--json"]).expect(0).json();
    assert!(of_fork["total"]["cost"].is_null(), "the fork itself spent nothing: {of_fork}");
    ground.run(&["sessions", "delete", session.as_str().unwrap(), "--yes"]).expect(0);
    assert_eq!(total(), before, "after the parent is deleted, its cost counts for the fork");
}

/// Without HOME, nothing may be written to the root of the file system.
#[tokio::test(flavor = "multi_thread")]
async fn missing_home_is_refused_and_nothing_is_written() {
    let ground = Ground::new(saying("Hi.")).await;
    for home in [None, Some(""), Some("/"), Some("relative")] {
        let mut command = ground.command(&["run", "hello"]);
        command.env_remove("HOME").env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        home.map(|home| command.env("HOME", home));
        let ran = command.output().unwrap();
        let told = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(3), "{home:?}: {told}");
        assert!(told.starts_with("error: HOME is ") && told.contains("\n  hint: set HOME"), "{told}");
    }
    let mut command = ground.command(&["completions", "bash"]);
    assert!(command.env_remove("HOME").output().unwrap().status.success(), "completions need no home");
    let mut command = ground.command(&["run", "hello"]);
    let ran = command.env_remove("HOME").output().unwrap();
    assert!(ran.status.success(), "both directories are set: {}", String::from_utf8_lossy(&ran.stderr));
}

/// The list has directories, `show` has ids, and title and tags can be set.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_show_directory_ids_title_and_tags() {
    let ground = Ground::new(saying("Hi.")).await;
    ground.run(&["sessions", "show"]).expect(6);
    ground.run(&["run", "the first prompt"]).expect(0);
    ground.run(&["run", "-c", "the second prompt"]).expect(0);
    let listed = ground.run(&["sessions", "list"]).expect(0).stdout;
    assert!(listed.contains("DIRECTORY") && listed.contains("~/work"), "{listed}");
    let shown = ground.run(&["sessions", "show"]).expect(0).stdout;
    let (first, _) = shown.split_once("> the second prompt").unwrap_or_else(|| panic!("{shown}"));
    let ids: Vec<&str> = first.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']')).collect();
    // The last id is the second prompt's; the one before it is the first answer's.
    let answer = ids[ids.len() - 2];
    let session = ground.run(&["sessions", "list", "--json"]).expect(0).json()[0]["session_id"].clone();
    let session = session.as_str().unwrap();
    ground.run(&["sessions", "rewind", session, "--to", answer, "--yes"]).expect(0);
    let shown = ground.run(&["sessions", "show"]).expect(0).stdout;
    assert!(shown.contains("the first prompt") && !shown.contains("the second prompt"), "{shown}");

    ground.run(&["sessions", "edit", session]).expect(2);
    ground.run(&["sessions", "edit", session, "--title", "My work", "--tag", "a", "--tag", "b"]).expect(0);
    ground.run(&["sessions", "edit", session, "--untag", "a", "--tag", "c"]).expect(0);
    let edited = ground.run(&["sessions", "list", "--tag", "c", "--json"]).expect(0).json();
    assert_eq!((&edited[0]["title"], &edited[0]["tags"]), (&json!("My work"), &json!(["b", "c"])));
    ground.run(&["run", "-c", "continue"]).expect(0);
}

/// `undo --list` shows time, prompt and lines, and commands report the files that they changed.
#[tokio::test(flavor = "multi_thread")]
async fn undo_list_has_time_prompt_and_lines_and_commands_report_their_files() {
    let ground = Ground::new(running("printf 'a\\nb\\n' > made.txt; rm old.txt")).await;
    ground.write("old.txt", "x\n");
    let lines = ground.run(&["run", "make a file", "--output", "stream-json"]).expect(0).lines();
    let result = lines.iter().find(|line| line["type"] == "user" && line["tool_use_result"].is_object());
    let files = &result.unwrap()["tool_use_result"]["files"];
    let expected =
        json!([{ "path": "made.txt", "change": "added" }, { "path": "old.txt", "change": "deleted" }]);
    assert_eq!(files, &expected);
    let listed = ground.run(&["undo", "--list"]).expect(0).stdout;
    assert!(listed.contains("+2 -1") && listed.contains("make a file"), "{listed}");
    let listed = ground.run(&["undo", "--list", "--json"]).expect(0).json();
    assert_eq!((&listed[0]["added"], &listed[0]["prompt"]), (&json!(2), &json!("make a file")));
    assert!(listed[0]["at"].is_string() || listed[0]["at"].is_number(), "{listed}");
}

/// `lariat models` lists, and `models show` works for the configured model.
#[tokio::test(flavor = "multi_thread")]
async fn models_lists_alone_and_shows_the_configured_model() {
    let ground = Ground::new(saying("Hi.")).await;
    let listed = ground.run(&["models"]).expect(0).stdout;
    assert!(listed.contains("test/scripted") && listed.contains("anthropic/claude-sonnet-5-5"), "{listed}");
    for args in [&["models", "show", "test/scripted"][..], &["models", "show"]] {
        let shown = ground.run(args).expect(0).stdout;
        assert!(shown.contains("test/scripted") && shown.contains("http://127.0.0.1:"), "{shown}");
    }
    ground.run(&["models", "show", "test"]).expect(3);
}

/// Completions for `--resume` and `-m` must not offer files.
#[tokio::test(flavor = "multi_thread")]
async fn completions_offer_sessions_and_models() {
    let ground = Ground::new(saying("Hi.")).await;
    ground.run(&["run", "begin"]).expect(0);
    let session = ground.run(&["sessions", "list", "--json"]).expect(0).json()[0]["session_id"].clone();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_lariat")).parent().unwrap();
    let completed = |words: &str, count: usize| {
        let script = format!(
            "source <(lariat completions bash); COMP_WORDS=({words}); COMP_CWORD={count}; \
             _lariat lariat \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; echo \"${{COMPREPLY[*]}}\""
        );
        let mut command = Command::new("bash");
        let environment = ground.command(&[]);
        command.args(["-c", &script]).current_dir(ground.workspace()).env_clear();
        command.envs(environment.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", format!("{}:/usr/bin:/bin", program.display()));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    for option in ["--resume", "-r"] {
        assert_eq!(completed(&format!("lariat run {option} ''"), 3).trim(), session.as_str().unwrap());
    }
    let models = completed("lariat run -m test", 3);
    assert_eq!(models.trim(), "test/scripted");
    for (shell, asks) in [("zsh", ":SESSION:_lariat_sessions"), ("fish", "-a \"(lariat __complete sessions")]
    {
        let script = ground.run(&["completions", shell]).expect(0).stdout;
        assert!(script.contains(asks), "{shell}");
        assert!(script.contains("__complete models"), "{shell}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn config_set_writes_one_value_and_keeps_comments() {
    let ground = Ground::new(saying("Hi.")).await;
    let file = ground.path("config/lariat/config.toml");
    let text = format!("# my settings\n{}", std::fs::read_to_string(&file).unwrap());
    std::fs::write(&file, &text).unwrap();
    ground.run(&["config", "set", "limits.cost", "2.5"]).expect(0);
    ground.run(&["config", "set", "retry.patience", "30m"]).expect(0);
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.starts_with(&text), "{written}");
    let shown = ground.run(&["config", "show", "--json"]).expect(0).json();
    let value = |key: &str| {
        let found = shown.as_array().unwrap().iter().find(|setting| setting["key"] == key);
        found.unwrap()["value"].clone()
    };
    assert_eq!((value("limits.cost"), value("retry.patience")), (json!(2.5), json!("30m")));
    let told = ground.run(&["config", "set", "modle", "x"]).expect(2).stderr;
    assert!(told.contains("did you mean `model`?"), "{told}");
    ground.run(&["config", "set", "limits.cost", "much"]).expect(2);
    ground.run(&["config", "set", "limits.cost", "--unset"]).expect(0);
    ground.run(&["config", "set", "--project", "mode", "auto"]).expect(2);
    ground.run(&["config", "set", "--project", "limits.turns", "7"]).expect(0);
    assert_eq!(
        std::fs::read_to_string(ground.workspace().join("lariat.toml")).unwrap(),
        "[limits]\nturns = 7\n"
    );
    ground.run(&["run", "it still works"]).expect(0);
}

/// A prompt works without `run`.
#[tokio::test(flavor = "multi_thread")]
async fn prompt_without_a_command_runs_and_typos_are_reported() {
    let ground = Ground::new(saying("Done.")).await;
    let prompts: [&[&str]; 4] =
        [&["fix it now"], &["fix", "the", "tests"], &["run", "fix", "the", "tests"], &["-c", "and now"]];
    for (at, args) in prompts.iter().enumerate() {
        assert_eq!(ground.run(args).expect(0).stdout, "Done.\n", "{args:?}");
        let words = ["fix it now", "fix the tests", "fix the tests", "and now"][at];
        assert!(ground.requests()[at].body["messages"].to_string().contains(words), "{words}");
    }
    for slip in [&["sesions"][..], &["sesions", "list"], &["modles"], &["rnu", "it"]] {
        let told = ground.run(slip).expect(2).stderr;
        assert!(told.contains("unrecognized subcommand") && told.contains("similar"), "{told}");
    }
    assert_eq!(ground.requests().len(), 4);
}

/// No misplaced caret of the TOML parser, and `modle` suggests `model`.
#[tokio::test(flavor = "multi_thread")]
async fn toml_errors_name_line_and_column() {
    let ground = Ground::new(saying("Hi.")).await;
    let file = ground.path("config/lariat/config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("modle = \"x\"\n{text}")).unwrap();
    let told = ground.run(&["config", "show"]).stderr;
    assert!(told.contains("`modle`") && told.contains("did you mean `model`?"), "{told}");
    std::fs::write(&file, format!("{text}\n[limits]\n  turns = oops\n")).unwrap();
    let told = ground.run(&["run", "x"]).expect(3).stderr;
    let line = text.lines().count() + 3;
    assert!(told.contains(&format!("line {line}, column 11: ")), "{told}");
    assert!(!told.contains('^') && !told.contains(" | "), "{told}");
}
