//! Regression tests for the output and errors of commands, and for provider failures.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lariat_core::event::AgentEvent;
use lariat_proofs::server::{Answer, Frame, RawResponse, Request, Script, Turn, TurnUsage};
use serde_json::{Value, json};

use crate::fixture::{Fixture, last_result};

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
    Answer::Raw(RawResponse { status: 200, headers, frames })
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
    let fixture = Fixture::new(after(1, |_| broken_stream())).await;
    let ran = fixture.run(&["run", "say hello"]).expect(0);
    assert_eq!(ran.stdout, "Hello.\n");
    assert!(ran.stderr.contains("attempt 1 failed, retrying in "), "{}", ran.stderr);
    assert_eq!(fixture.requests().len(), 2);
    let replies = fixture.journal().await.into_iter().filter(|event| match &event.event {
        AgentEvent::MessageEnd { message } => message.shared().is_some_and(|m| m.as_assistant().is_some()),
        _ => false,
    });
    assert_eq!(replies.count(), 1, "only the whole reply is kept");

    let fixture = Fixture::new(after(1, |_| broken_stream())).await;
    let stream = ["run", "x", "--output", "stream-json", "--include-partial-messages"];
    let lines = fixture.run(&stream).expect(0).lines();
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
    let fixture = Fixture::new(after(1, |_| {
        let Answer::Raw(mut raw) = broken_stream() else { unreachable!() };
        let call = json!({ "type": "content_block_start", "index": 1, "content_block":
            { "type": "tool_use", "id": "toolu_9", "name": "bash", "input": { "command": "touch made" } } });
        let frame = format!("event: content_block_start\ndata: {call}\n\n").into_bytes();
        raw.frames.insert(3, Frame::Bytes(frame));
        Answer::Raw(raw)
    }))
    .await;
    fixture.run(&["run", "make it"]).expect(0);
    assert!(!fixture.workspace().join("made").exists());
}

/// A run must survive more than three failures.
#[tokio::test(flavor = "multi_thread")]
async fn more_than_three_failures_in_a_row_are_survived() {
    let fixture = Fixture::new(after(4, |request| Answer::error(request.wire, 500, "boom"))).await;
    let ran = fixture.run(&["run", "say hello"]).expect(0);
    assert_eq!((ran.stdout.as_str(), fixture.requests().len()), ("Hello.\n", 5));
    assert!(ran.stderr.contains("attempt 4 failed, retrying in"), "{}", ran.stderr);
    let shown = fixture.run(&["config", "show"]).expect(0).stdout;
    assert!(shown.contains("retry.attempts") && shown.contains("retry.patience"), "{shown}");
}

/// The error must name the attempts, and retries must be configurable.
#[tokio::test(flavor = "multi_thread")]
async fn failing_server_is_named_with_attempts_and_settings() {
    let fixture = Fixture::new(Script::answer(|request| Answer::error(request.wire, 500, "boom"))).await;
    let run = |attempts: &str| {
        let mut command = fixture.command(&["run", "say hello"]);
        String::from_utf8(command.env("LARIAT_RETRY__ATTEMPTS", attempts).output().unwrap().stderr).unwrap()
    };
    let stderr_text = run("0");
    assert_eq!(fixture.requests().len(), 1, "no retry");
    assert!(
        stderr_text.starts_with("error: test failed to respond (HTTP 500)\n  at:   http://127.0.0.1:"),
        "{stderr_text}"
    );
    assert!(stderr_text.contains("\n  said: boom\n"), "{stderr_text}");
    assert!(stderr_text.contains("  hint: continue later with `lariat run --resume "), "{stderr_text}");
    let stderr_text = run("1");
    assert_eq!(fixture.requests().len(), 3);
    assert!(
        stderr_text.contains("error: test failed to respond (HTTP 500), tried 2 times in "),
        "{stderr_text}"
    );
    assert!(stderr_text.contains("`retry.attempts` and `retry.patience`"), "{stderr_text}");
}

/// A wait longer than `retry.patience` does not start.
#[tokio::test(flavor = "multi_thread")]
async fn retry_after_beyond_patience_ends_at_once_and_says_what_to_set() {
    let fixture = Fixture::new(Script::answer(|_| {
        let headers = vec![
            ("retry-after".to_owned(), "1800".to_owned()),
            ("content-type".to_owned(), "application/json".to_owned()),
        ];
        let body =
            json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow down" } });
        Answer::Raw(RawResponse {
            status: 429,
            headers,
            frames: vec![Frame::Bytes(body.to_string().into_bytes())],
        })
    }))
    .await;
    let stderr_text = fixture.run(&["run", "say hello"]).expect(4).stderr;
    assert_eq!(fixture.requests().len(), 1);
    assert!(
        stderr_text.starts_with("error: test is rate limiting requests or overloaded (HTTP 429)\n"),
        "{stderr_text}"
    );
    assert!(
        stderr_text.contains(
            "asks to wait 30m 00s; to wait that long, run `lariat config set retry.patience 1860s`"
        ),
        "{stderr_text}"
    );
}

/// The error must name provider, address, key and hint.
#[tokio::test(flavor = "multi_thread")]
async fn rejected_key_names_provider_address_key_and_hint() {
    let refuse = |request: &Request| Answer::error(request.wire, 401, "invalid x-api-key");
    let fixture = Fixture::new(Script::answer(refuse)).await;
    let stderr_text = fixture.run(&["run", "hello"]).expect(4).stderr;
    let lines: Vec<&str> = stderr_text.lines().collect();
    assert_eq!(lines[0], "error: test rejected the API key (HTTP 401)");
    assert!(lines[1].starts_with("  at:   http://127.0.0.1:"), "{stderr_text}");
    assert_eq!(lines[2], "  said: invalid x-api-key");
    assert_eq!(lines[3], "  key:  TEST_KEY, from the environment");
    assert!(
        stderr_text.contains("  hint: store a valid key with `lariat auth login test`; then continue"),
        "{stderr_text}"
    );
}

/// The error must name the address and how to start the server.
#[tokio::test(flavor = "multi_thread")]
async fn missing_server_is_named_with_address_and_start_command() {
    let fixture = Fixture::new(saying("never")).await;
    let mut command = fixture.command(&["run", "hello", "-m", "ollama/x"]);
    command
        .env("LARIAT_RETRY__ATTEMPTS", "0")
        .env("LARIAT_PROVIDERS__OLLAMA__BASE_URL", "http://127.0.0.1:1/v1");
    let ran = command.output().unwrap();
    let stderr_text = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(4), "{stderr_text}");
    assert!(
        stderr_text.starts_with("error: could not connect to ollama\n  at:   http://127.0.0.1:1/v1\n"),
        "{stderr_text}"
    );
    assert!(
        stderr_text.contains("  hint: start Ollama with `ollama serve`; then continue with"),
        "{stderr_text}"
    );
}

/// The error must name the setting and the flag.
#[tokio::test(flavor = "multi_thread")]
async fn limit_is_named_with_setting_and_flag() {
    let fixture = Fixture::new(running("true")).await;
    let stderr_text = fixture.run(&["run", "go", "--max-turns", "1"]).expect(5).stderr;
    let lines: Vec<&str> = stderr_text.lines().collect();
    assert_eq!(
        lines[..2],
        ["error: the run reached its turn limit", "  set:  limits.turns = 1, flags"],
        "{stderr_text}"
    );
    assert!(lines[2].starts_with("  hint: raise it and continue: `lariat run --resume "), "{stderr_text}");
    assert!(lines[2].ends_with(" --max-turns N`"), "{stderr_text}");
}

/// The hint must contain the complete command to explain.
#[tokio::test(flavor = "multi_thread")]
async fn refused_call_without_a_rule_is_explained_by_a_whole_command() {
    // No rule can be suggested for `sudo`.
    let fixture = Fixture::new(running("sudo make x && echo \"it's\" > y")).await;
    let stderr_text = fixture.run(&["run", "go", "--mode", "default"]).expect(0).stderr;
    let hint = stderr_text
        .lines()
        .find(|line| line.starts_with("  hint: "))
        .unwrap_or_else(|| panic!("{stderr_text}"));
    let command = hint.split('`').nth(1).unwrap_or_else(|| panic!("{stderr_text}"));
    let words = Command::new("bash").args(["-c", &format!("printf '%s\\n' {command}")]).output().unwrap();
    let words = String::from_utf8(words.stdout).unwrap();
    assert_eq!(words.lines().count(), 5, "one word each for the shell: {words}");
    assert!(words.lines().last().is_some_and(|last| last.starts_with("sudo make x")), "{words}");
}

/// Configures a provider from the catalogue, so that requests have a price.
fn priced(fixture: &Fixture, args: &[&str]) -> Command {
    let mut command = fixture.command(args);
    let address = fixture.server.base_url(lariat_proofs::server::Wire::AnthropicMessages);
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
    let fixture = Fixture::new(costly()).await;
    let spent = priced(&fixture, &["run", "spend"]).output().unwrap();
    assert_eq!(spent.status.code(), Some(0), "{}", String::from_utf8_lossy(&spent.stderr));
    let capped = priced(&fixture, &["run", "more"]).env("LARIAT_BUDGET__DAY", "0.01").output().unwrap();
    let stderr_text = String::from_utf8(capped.stderr).unwrap();
    assert_eq!(capped.status.code(), Some(5), "{stderr_text}");
    assert!(stderr_text.starts_with("error: today's cost budget is used up\n"), "{stderr_text}");
    assert!(stderr_text.contains("lariat config set budget.day VALUE"), "{stderr_text}");
    assert_eq!(fixture.requests().len(), 1);
}

/// Shared history must not be counted twice.
#[tokio::test(flavor = "multi_thread")]
async fn forks_are_not_counted_twice_in_costs() {
    let fixture = Fixture::new(costly()).await;
    assert!(priced(&fixture, &["run", "spend"]).status().unwrap().success());
    let total = || fixture.run(&["sessions", "cost", "--json"]).expect(0).json()["total"]["cost"].clone();
    let before = total();
    assert_ne!(before, json!(0));
    let session = fixture.run(&["sessions", "list", "--json"]).expect(0).json()[0]["session_id"].clone();
    let fork = fixture.run(&["sessions", "fork", session.as_str().unwrap()]).expect(0).stdout;
    assert_eq!(total(), before);
    let of_fork = fixture.run(&["sessions", "cost", fork.trim(), "--json"]).expect(0).json();
    assert!(of_fork["total"]["cost"].is_null(), "the fork itself spent nothing: {of_fork}");
    fixture.run(&["sessions", "delete", session.as_str().unwrap(), "--yes"]).expect(0);
    assert_eq!(total(), before, "after the parent is deleted, its cost counts for the fork");
}

/// Of several forks of a deleted session, only one may count the shared history.
#[tokio::test(flavor = "multi_thread")]
async fn cost_of_a_deleted_session_is_included_once_for_its_forks() {
    let fixture = Fixture::new(costly()).await;
    assert!(priced(&fixture, &["run", "spend"]).status().unwrap().success());
    let total = || fixture.run(&["sessions", "cost", "--json"]).expect(0).json()["total"].clone();
    let before = total();
    assert_eq!(before["output"], json!(1_000), "{before}");
    let session = fixture.run(&["sessions", "list", "--json"]).expect(0).json()[0]["session_id"].clone();
    let fork = || fixture.run(&["sessions", "fork", session.as_str().unwrap()]).expect(0).stdout;
    let (first, _) = (fork(), fork());
    fixture.run(&["sessions", "delete", session.as_str().unwrap(), "--yes"]).expect(0);
    assert_eq!(total(), before);
    assert!(priced(&fixture, &["run", "--resume", first.trim(), "more"]).status().unwrap().success());
    assert_eq!(total()["output"], json!(2_000), "what the fork spends itself is added");
}

/// Without HOME, nothing may be written to the root of the file system.
#[tokio::test(flavor = "multi_thread")]
async fn missing_home_is_refused_and_nothing_is_written() {
    let fixture = Fixture::new(saying("Hi.")).await;
    for home in [None, Some(""), Some("/"), Some("relative")] {
        let mut command = fixture.command(&["run", "hello"]);
        command.env_remove("HOME").env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        home.map(|home| command.env("HOME", home));
        let ran = command.output().unwrap();
        let stderr_text = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(3), "{home:?}: {stderr_text}");
        assert!(
            stderr_text.starts_with("error: HOME is ") && stderr_text.contains("\n  hint: set HOME"),
            "{stderr_text}"
        );
    }
    let mut command = fixture.command(&["completions", "bash"]);
    assert!(command.env_remove("HOME").output().unwrap().status.success(), "completions need no home");
    let mut command = fixture.command(&["run", "hello"]);
    let ran = command.env_remove("HOME").output().unwrap();
    assert!(ran.status.success(), "both directories are set: {}", String::from_utf8_lossy(&ran.stderr));
}

/// The list has directories, `show` has ids, and title and tags can be set.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_show_directory_ids_title_and_tags() {
    let fixture = Fixture::new(saying("Hi.")).await;
    fixture.run(&["sessions", "show"]).expect(6);
    fixture.run(&["run", "the first prompt"]).expect(0);
    fixture.run(&["run", "-c", "the second prompt"]).expect(0);
    let listed = fixture.run(&["sessions", "list"]).expect(0).stdout;
    assert!(listed.contains("DIRECTORY") && listed.contains("~/work"), "{listed}");
    let shown = fixture.run(&["sessions", "show"]).expect(0).stdout;
    let (first, _) = shown.split_once("> the second prompt").unwrap_or_else(|| panic!("{shown}"));
    let ids: Vec<&str> = first.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']')).collect();
    // The last id is the second prompt's; the one before it is the first answer's.
    let answer = ids[ids.len() - 2];
    let session = fixture.run(&["sessions", "list", "--json"]).expect(0).json()[0]["session_id"].clone();
    let session = session.as_str().unwrap();
    fixture.run(&["sessions", "rewind", session, "--to", answer, "--yes"]).expect(0);
    let shown = fixture.run(&["sessions", "show"]).expect(0).stdout;
    assert!(shown.contains("the first prompt") && !shown.contains("the second prompt"), "{shown}");

    fixture.run(&["sessions", "edit", session]).expect(2);
    fixture.run(&["sessions", "edit", session, "--title", "My work", "--tag", "a", "--tag", "b"]).expect(0);
    fixture.run(&["sessions", "edit", session, "--untag", "a", "--tag", "c"]).expect(0);
    let edited = fixture.run(&["sessions", "list", "--tag", "c", "--json"]).expect(0).json();
    assert_eq!((&edited[0]["title"], &edited[0]["tags"]), (&json!("My work"), &json!(["b", "c"])));
    fixture.run(&["run", "-c", "continue"]).expect(0);
}

/// `undo --list` shows time, prompt and lines, and commands report the files that they changed.
#[tokio::test(flavor = "multi_thread")]
async fn undo_list_has_time_prompt_and_lines_and_commands_report_their_files() {
    let fixture = Fixture::new(running("printf 'a\\nb\\n' > made.txt; rm old.txt")).await;
    fixture.write("old.txt", "x\n");
    let lines = fixture.run(&["run", "make a file", "--output", "stream-json"]).expect(0).lines();
    let result = lines.iter().find(|line| line["type"] == "user" && line["tool_use_result"].is_object());
    let files = &result.unwrap()["tool_use_result"]["files"];
    let expected =
        json!([{ "path": "made.txt", "change": "added" }, { "path": "old.txt", "change": "deleted" }]);
    assert_eq!(files, &expected);
    let listed = fixture.run(&["undo", "--list"]).expect(0).stdout;
    assert!(listed.contains("+2 -1") && listed.contains("make a file"), "{listed}");
    let listed = fixture.run(&["undo", "--list", "--json"]).expect(0).json();
    assert_eq!((&listed[0]["added"], &listed[0]["prompt"]), (&json!(2), &json!("make a file")));
    assert!(listed[0]["at"].is_string() || listed[0]["at"].is_number(), "{listed}");
}

/// `lariat models` lists, and `models show` works for the configured model.
#[tokio::test(flavor = "multi_thread")]
async fn models_lists_alone_and_shows_the_configured_model() {
    let fixture = Fixture::new(saying("Hi.")).await;
    let listed = fixture.run(&["models"]).expect(0).stdout;
    assert!(listed.contains("test/scripted") && listed.contains("anthropic/claude-sonnet-5-5"), "{listed}");
    for args in [&["models", "show", "test/scripted"][..], &["models", "show"]] {
        let shown = fixture.run(args).expect(0).stdout;
        assert!(shown.contains("test/scripted") && shown.contains("http://127.0.0.1:"), "{shown}");
    }
    fixture.run(&["models", "show", "test"]).expect(3);
}

/// Completions for `--resume` and `-m` must not offer files.
#[tokio::test(flavor = "multi_thread")]
async fn completions_offer_sessions_and_models() {
    let fixture = Fixture::new(saying("Hi.")).await;
    fixture.run(&["run", "begin"]).expect(0);
    let session = fixture.run(&["sessions", "list", "--json"]).expect(0).json()[0]["session_id"].clone();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_lariat")).parent().unwrap();
    let completed = |words: &str, count: usize| {
        let script = format!(
            "source <(lariat completions bash); COMP_WORDS=({words}); COMP_CWORD={count}; \
             _lariat lariat \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; echo \"${{COMPREPLY[*]}}\""
        );
        let mut command = Command::new("bash");
        let environment = fixture.command(&[]);
        command.args(["-c", &script]).current_dir(fixture.workspace()).env_clear();
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
        let script = fixture.run(&["completions", shell]).expect(0).stdout;
        assert!(script.contains(asks), "{shell}");
        assert!(script.contains("__complete models"), "{shell}");
    }
}

/// A setting could be changed only by editing the file.
#[tokio::test(flavor = "multi_thread")]
async fn config_set_writes_one_value_and_keeps_comments() {
    let fixture = Fixture::new(saying("Hi.")).await;
    let file = fixture.path("config/lariat/config.toml");
    let text = format!("# my settings\n{}", std::fs::read_to_string(&file).unwrap());
    std::fs::write(&file, &text).unwrap();
    fixture.run(&["config", "set", "limits.cost", "2.5"]).expect(0);
    fixture.run(&["config", "set", "retry.patience", "30m"]).expect(0);
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.starts_with(&text), "{written}");
    let shown = fixture.run(&["config", "show", "--json"]).expect(0).json();
    let value = |key: &str| {
        let found = shown.as_array().unwrap().iter().find(|setting| setting["key"] == key);
        found.unwrap()["value"].clone()
    };
    assert_eq!((value("limits.cost"), value("retry.patience")), (json!(2.5), json!("30m")));
    let stderr_text = fixture.run(&["config", "set", "modle", "x"]).expect(2).stderr;
    assert!(stderr_text.contains("did you mean `model`?"), "{stderr_text}");
    fixture.run(&["config", "set", "limits.cost", "much"]).expect(2);
    fixture.run(&["config", "set", "limits.cost", "--unset"]).expect(0);
    fixture.run(&["config", "set", "--project", "mode", "auto"]).expect(2);
    fixture.run(&["config", "set", "--project", "limits.turns", "7"]).expect(0);
    assert_eq!(
        std::fs::read_to_string(fixture.workspace().join("lariat.toml")).unwrap(),
        "[limits]\nturns = 7\n"
    );
    fixture.run(&["run", "it still works"]).expect(0);
}

/// A prompt works without `run`.
#[tokio::test(flavor = "multi_thread")]
async fn prompt_without_a_command_runs_and_typos_are_reported() {
    let fixture = Fixture::new(saying("Done.")).await;
    let prompts: [&[&str]; 4] =
        [&["fix it now"], &["fix", "the", "tests"], &["run", "fix", "the", "tests"], &["-c", "and now"]];
    for (at, args) in prompts.iter().enumerate() {
        assert_eq!(fixture.run(args).expect(0).stdout, "Done.\n", "{args:?}");
        let words = ["fix it now", "fix the tests", "fix the tests", "and now"][at];
        assert!(fixture.requests()[at].body["messages"].to_string().contains(words), "{words}");
    }
    for slip in [&["sesions"][..], &["sesions", "list"], &["modles"], &["rnu", "it"]] {
        let stderr_text = fixture.run(slip).expect(2).stderr;
        assert!(
            stderr_text.contains("unrecognized subcommand") && stderr_text.contains("similar"),
            "{stderr_text}"
        );
    }
    assert_eq!(fixture.requests().len(), 4);
}

/// No misplaced caret of the TOML parser, and `modle` suggests `model`.
#[tokio::test(flavor = "multi_thread")]
async fn toml_errors_name_line_and_column() {
    let fixture = Fixture::new(saying("Hi.")).await;
    let file = fixture.path("config/lariat/config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("modle = \"x\"\n{text}")).unwrap();
    let stderr_text = fixture.run(&["config", "show"]).stderr;
    assert!(
        stderr_text.contains("`modle`") && stderr_text.contains("did you mean `model`?"),
        "{stderr_text}"
    );
    std::fs::write(&file, format!("{text}\n[limits]\n  turns = oops\n")).unwrap();
    let stderr_text = fixture.run(&["run", "x"]).expect(3).stderr;
    let line = text.lines().count() + 3;
    assert!(stderr_text.contains(&format!("line {line}, column 11: ")), "{stderr_text}");
    assert!(!stderr_text.contains('^') && !stderr_text.contains(" | "), "{stderr_text}");
}
