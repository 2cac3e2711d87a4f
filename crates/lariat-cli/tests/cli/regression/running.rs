//! Regression tests for `lariat run` at a terminal and in scripts.

use std::io::Read as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use lariat_proofs::server::{Answer, Frame, RawResponse, Request, Script, Turn};
use rustix::process::{Pid, Signal};
use serde_json::json;

use crate::fixture::{Fixture, last_result, signal, silence, text, wait, wait_for};
use crate::terminal::Terminal;

/// The user messages of a request, in order.
fn user_texts(request: &Request) -> Vec<String> {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let of_people = messages.iter().filter(|message| message["role"] == "user");
    of_people.map(|message| text(&message["content"])).collect()
}

fn last_user_text(fixture: &Fixture) -> String {
    user_texts(fixture.requests().last().unwrap()).pop().unwrap()
}

/// A model that runs a command once, and then prints its result.
fn running(command: &'static str) -> Script {
    script_with_calls("bash", json!({ "command": command }))
}

/// A model that makes one tool call, and then prints its result.
fn script_with_calls(tool: &'static str, arguments: serde_json::Value) -> Script {
    Script::answer(move |request| match last_result(&request.body) {
        None => Turn::new().call("toolu_1", tool, &arguments).into(),
        Some((_, result, is_error)) => Turn::new().text(format!("{is_error}: {result}")).into(),
    })
}

fn has(fixture: &Fixture, name: &str) -> bool {
    fixture.workspace().join(name).exists()
}

/// Text typed during a run must not reach the shell.
#[tokio::test(flavor = "multi_thread")]
async fn typed_line_steers_the_run_and_never_reaches_the_shell() {
    let fixture = Fixture::new(running("touch began; until [ -e go ]; do sleep 0.05; done")).await;
    let terminal = Terminal::shell(&fixture);
    terminal.shows("ready$");
    terminal.types(&["lariat run 'begin'", "Enter"]);
    wait_for("the command", || has(&fixture, "began"));
    terminal.types(&["touch PWN", "Enter"]);
    terminal.shows("you: touch PWN");
    terminal.types(&["touch PWN2"]);
    terminal.shows("› touch PWN2");
    fixture.write("go", "");
    terminal.shows("not sent, because the run ended: touch PWN2");
    terminal.shows_times("ready$", 2);
    terminal.types(&["", "Enter", "echo over", "Enter"]);
    terminal.shows_times("over", 2);
    assert!(!has(&fixture, "PWN") && !has(&fixture, "PWN2"));
    assert!(user_texts(fixture.requests().last().unwrap()).iter().any(|words| words.contains("touch PWN")));
}

/// The process whose arguments contain a marker.
fn process(marker: &str) -> Pid {
    let mut found = None;
    wait_for("the process", || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        found = processes
            .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
            .find(|id| {
                let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
                line.starts_with(b"lariat\0") && String::from_utf8_lossy(&line).contains(marker)
            })
            .and_then(Pid::from_raw);
        found.is_some()
    });
    found.unwrap()
}

/// The terminal mode is restored however the program ends. `ended` appears only then.
#[tokio::test(flavor = "multi_thread")]
async fn restores_terminal_mode_after_every_signal() {
    for (name, code) in [("TERM", 143), ("HUP", 143), ("INT", 130), ("QUIT", 130)] {
        let fixture = Fixture::new(Script::answer(|_| silence())).await;
        let marker = format!("wait-{}-{name}", std::process::id());
        let terminal = Terminal::start(&fixture, &["run", &marker]);
        terminal.shows("waiting for the model");
        let number = match name {
            "TERM" => Signal::TERM,
            "HUP" => Signal::HUP,
            "INT" => Signal::INT,
            _ => Signal::QUIT,
        };
        rustix::process::kill_process(process(&marker), number).unwrap();
        terminal.shows(&format!("ended: {code}"));
    }
}

/// While suspended, the shell has the terminal; after resuming, the program reads keys again.
#[tokio::test(flavor = "multi_thread")]
async fn suspend_and_resume_hand_over_the_terminal() {
    let fixture = Fixture::new(running("touch began; until [ -e go ]; do sleep 0.05; done")).await;
    let terminal = Terminal::shell(&fixture);
    terminal.shows("ready$");
    terminal.types(&["lariat run 'begin'", "Enter"]);
    wait_for("the command", || has(&fixture, "began"));
    terminal.types(&["C-z"]);
    terminal.shows("Stopped");
    terminal.types(&["echo mode $(stty -a | grep -o ' -*icanon')", "Enter"]);
    terminal.shows("mode icanon");
    terminal.types(&["fg", "Enter"]);
    terminal.shows_times("lariat run", 2);
    wait_for("the program to read keys", || {
        terminal.types(&["x"]);
        terminal.screen().contains("› x")
    });
    terminal.types(&["C-u"]);
    fixture.write("go", "");
    terminal.shows_times("ready$", 4);
}

/// `cat log | lariat run "explain this"` sends the data.
#[tokio::test(flavor = "multi_thread")]
async fn piped_data_is_sent_with_the_prompt() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    fixture.run_with(&["run", "explain this"], "ERROR 7\n").expect(0);
    assert!(
        last_user_text(&fixture).contains("explain this\n\n<stdin>\nERROR 7\n</stdin>"),
        "{}",
        last_user_text(&fixture)
    );
    let long = format!("first\n{}last\n", "x\n".repeat(400_000));
    let ran = fixture.run_with(&["run", "explain this"], long).expect(0);
    let sent = last_user_text(&fixture);
    assert!(sent.contains("<stdin>\nfirst") && sent.contains("last\n</stdin>") && sent.len() < 300_000);
    assert!(ran.stderr.contains("the piped data is too long"), "{}", ran.stderr);
    fixture.run_with(&["run", "nothing piped"], "").expect(0);
    assert!(!last_user_text(&fixture).contains("stdin"));
}

/// `echo prompt | lariat run` uses the input as the prompt.
#[tokio::test(flavor = "multi_thread")]
async fn standard_input_is_the_prompt_if_none_is_given() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    fixture.run_with(&["run"], "count the files\n").expect(0);
    assert!(
        last_user_text(&fixture).contains("count the files") && !last_user_text(&fixture).contains("<stdin>")
    );
}

/// `cat p.md | lariat run -` on a terminal can still ask.
#[tokio::test(flavor = "multi_thread")]
async fn prompt_from_pipe_leaves_terminal_for_questions() {
    let fixture = Fixture::new(running("touch made")).await;
    fixture.write("p.md", "make it\n");
    let terminal = Terminal::script(&fixture, "cat p.md | lariat run - --mode default", "90");
    terminal.shows("y/s/a/n/e>");
    terminal.types(&["y"]);
    terminal.shows("ended: 0");
    assert!(has(&fixture, "made"));
}

/// A script that plans a file and a command.
fn planning() -> Script {
    let change = |tool: &str, arguments: serde_json::Value| json!({ "tool": tool, "arguments": arguments });
    Script::answer(move |request| match last_result(&request.body) {
        None => Turn::new()
            .call(
                "toolu_1",
                "plan_change",
                &change("write_file", json!({ "path": "a.md", "content": "# A\n" })),
            )
            .call("toolu_2", "plan_change", &change("bash", json!({ "command": "touch built" })))
            .into(),
        Some(_) => Turn::new().text("So it is.").into(),
    })
}

/// A plan can be applied after approval.
#[tokio::test(flavor = "multi_thread")]
async fn plan_is_applied_after_approval() {
    let fixture = Fixture::new(planning()).await;
    let terminal = Terminal::start(&fixture, &["run", "plan it", "--mode", "plan"]);
    terminal.shows("Plan: 2 changes");
    terminal.shows("touch built");
    terminal.shows("y/s/n/l>");
    assert!(!has(&fixture, "a.md"));
    terminal.types(&["y"]);
    terminal.shows("ended: 0");
    assert!(has(&fixture, "a.md") && has(&fixture, "built"));
}

/// A plan can be approved in part, later, or not at all.
#[tokio::test(flavor = "multi_thread")]
async fn plan_can_be_approved_in_part_later_or_discarded() {
    let fixture = Fixture::new(planning()).await;
    let terminal = Terminal::start(&fixture, &["run", "plan it", "--mode", "plan"]);
    terminal.shows("y/s/n/l>");
    terminal.types(&["l"]);
    terminal.shows("2 changes are planned, but not applied");
    terminal.shows("ended: 0");
    drop(terminal);
    let terminal = Terminal::start(&fixture, &["run", "--continue"]);
    terminal.shows("y/s/n/l>");
    terminal.types(&["s"]);
    terminal.shows("y/n>");
    terminal.types(&["n"]);
    terminal.shows_times("y/n>", 2);
    terminal.types(&["y"]);
    terminal.shows("ended: 0");
    assert!(!has(&fixture, "a.md") && has(&fixture, "built"));
    drop(terminal);
    let terminal = Terminal::start(&fixture, &["run", "plan it", "--mode", "plan"]);
    terminal.shows("y/s/n/l>");
    terminal.types(&["n"]);
    terminal.shows("discarded");
    terminal.shows("ended: 0");
    assert!(!has(&fixture, "a.md"));
}

/// In a pipe, the output says how to approve the plan, and that works.
#[tokio::test(flavor = "multi_thread")]
async fn plan_in_a_pipe_is_approved_with_a_flag() {
    let fixture = Fixture::new(planning()).await;
    let ran = fixture.run(&["run", "plan it", "--mode", "plan"]).expect(0);
    assert!(ran.stderr.contains("2 changes are planned, but not applied"), "{}", ran.stderr);
    assert!(ran.stderr.contains("`lariat plan approve ") && !has(&fixture, "a.md"), "{}", ran.stderr);
    fixture.run(&["run", "--continue", "--approve-plan"]).expect(0);
    assert!(has(&fixture, "a.md") && has(&fixture, "built"));
}

/// Continues without a prompt, by id and by directory, and checks that each run reaches the model.
fn assert_continues(fixture: &Fixture) {
    let listed = fixture.run(&["sessions", "list", "--json"]).expect(0).json();
    let id = listed[0]["session_id"].as_str().unwrap().to_owned();
    for args in [&["run", "--resume", &id][..], &["run", "--continue"]] {
        let before = fixture.requests().len();
        let ran = fixture.run(args).expect(0);
        assert!(ran.stdout.contains("Here again."), "{args:?}: {ran:?}");
        assert!(fixture.requests().len() > before, "{args:?}");
    }
}

/// A model whose first response is different.
fn first(first: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Script {
    let count = AtomicUsize::new(0);
    Script::answer(move |request| match count.fetch_add(1, Ordering::SeqCst) {
        0 => first(request),
        _ => Turn::new().text("Here again.").into(),
    })
}

/// Continuing without a prompt works after success.
#[tokio::test(flavor = "multi_thread")]
async fn continues_without_prompt_after_success() {
    let fixture = Fixture::new(first(|_| Turn::new().text("Done.").into())).await;
    fixture.run(&["run", "begin"]).expect(0);
    assert_continues(&fixture);
    assert!(
        last_user_text(&fixture).contains("Continue where you left off."),
        "{}",
        last_user_text(&fixture)
    );
}

/// The same after a provider failure.
#[tokio::test(flavor = "multi_thread")]
async fn continues_without_prompt_after_provider_failure() {
    let fixture = Fixture::new(first(|request| Answer::error(request.wire, 401, "no"))).await;
    fixture.run(&["run", "begin"]).expect(4);
    assert_continues(&fixture);
    let said = user_texts(&fixture.requests()[1]);
    assert!(said.len() == 1 && said[0].contains("begin"), "the original prompt is answered: {said:?}");
}

/// The same after Ctrl-C.
#[tokio::test(flavor = "multi_thread")]
async fn continues_without_prompt_after_interrupt() {
    let fixture = Fixture::new(first(|_| silence())).await;
    let child = fixture.spawn(&["run", "begin"]);
    wait_for("the request", || !fixture.requests().is_empty());
    signal(&child, Signal::INT);
    let ran = wait(child).expect(130);
    assert!(ran.stderr.contains("`lariat run --resume "), "{}", ran.stderr);
    assert_continues(&fixture);
}

/// The same after a limit.
#[tokio::test(flavor = "multi_thread")]
async fn continues_without_prompt_after_limit() {
    let call = |_: &Request| Turn::new().call("toolu_1", "bash", &json!({ "command": "true" })).into();
    let fixture = Fixture::new(first(call)).await;
    fixture.run(&["run", "begin", "--max-turns", "1"]).expect(5);
    assert_continues(&fixture);
}

/// A failed command has no tick, and a tool call that did not run has a line.
#[tokio::test(flavor = "multi_thread")]
async fn failed_denied_and_unknown_calls_have_a_cross() {
    let fixture = Fixture::new(Script::answer(|request| match last_result(&request.body) {
        None => Turn::new()
            .call("toolu_1", "bash", &json!({ "command": "echo partial; exit 127" }))
            .call("toolu_2", "bash", &json!({ "command": "cat secret" }))
            .call("toolu_3", "bsh", &json!({ "x": 1 }))
            .into(),
        Some(_) => Turn::new().text("Oh.").into(),
    }))
    .await;
    let terminal = Terminal::start(&fixture, &["run", "fail", "--deny", "Bash(cat *)"]);
    terminal.shows("ended: 0");
    let screen = terminal.screen();
    assert!(
        screen.contains("✗ bash  echo partial; exit 127") && screen.contains("exit 127\n  partial"),
        "{screen}"
    );
    assert!(screen.contains("✗ bash  cat secret  denied: "), "{screen}");
    assert!(screen.contains("✗ bsh") && screen.contains("There is no tool named `bsh`"), "{screen}");
    assert!(!screen.contains('✓'), "{screen}");
}

/// A command killed by Ctrl-C has no tick.
#[tokio::test(flavor = "multi_thread")]
async fn interrupted_command_is_a_failure() {
    let fixture = Fixture::new(running("touch began; sleep 60")).await;
    let terminal = Terminal::start(&fixture, &["run", "wait"]);
    wait_for("the command", || has(&fixture, "began"));
    terminal.types(&["C-c"]);
    terminal.shows("ended: 130");
    let screen = terminal.screen();
    assert!(screen.contains("✗ bash  touch began; sleep 60") && screen.contains("interrupted"), "{screen}");
    assert!(!screen.contains('✓'), "{screen}");
}

/// A reply that starts and never ends.
fn partial_reply(words: &str) -> Answer {
    let start = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"scripted","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}"#;
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let delta = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": words } });
    let frame =
        |kind: &str, data: &str| Frame::Bytes(format!("event: {kind}\ndata: {data}\n\n").into_bytes());
    let frames = vec![
        frame("message_start", start),
        frame("content_block_start", block),
        frame("content_block_delta", &delta.to_string()),
        Frame::Stall,
    ];
    Answer::Raw(RawResponse { status: 200, headers: Vec::new(), frames })
}

/// Text appears before its paragraph is complete.
#[tokio::test(flavor = "multi_thread")]
async fn shows_words_before_their_paragraph_ends() {
    let fixture = Fixture::new(Script::answer(|_| partial_reply("Half of a **para"))).await;
    let terminal = Terminal::start(&fixture, &["run", "speak"]);
    terminal.shows("Half of a **para");
    terminal.types(&["C-c"]);
    terminal.shows("ended: 130");
    assert_eq!(terminal.screen().matches("Half of a").count(), 1, "{}", terminal.screen());
}

/// In a pipe, a long answer is streamed.
#[tokio::test(flavor = "multi_thread")]
async fn streams_long_answer_to_a_pipe() {
    let fixture = Fixture::new(Script::answer(|_| partial_reply("A first paragraph.\n\nAnd a second"))).await;
    let mut child = fixture.spawn(&["run", "speak"]);
    let mut got = [0; 32];
    child.stdout.as_mut().unwrap().read_exact(&mut got).unwrap();
    assert_eq!(&got, b"A first paragraph.\n\nAnd a second");
    signal(&child, Signal::INT);
    wait(child).expect(130);
}

/// The first line names the model and the session.
#[tokio::test(flavor = "multi_thread")]
async fn first_line_names_model_and_session() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    let terminal = Terminal::start(&fixture, &["run", "count the files"]);
    terminal.shows("ended: 0");
    assert!(
        terminal.screen().contains("test/scripted · bypass mode · new session "),
        "{}",
        terminal.screen()
    );
    drop(terminal);
    let terminal = Terminal::start(&fixture, &["run", "--continue", "and now?"]);
    terminal.shows("ended: 0");
    let screen = terminal.screen();
    assert!(screen.contains("continues session ") && screen.contains(": count the files"), "{screen}");
}

/// The end of a command's output is visible while it runs.
#[tokio::test(flavor = "multi_thread")]
async fn shows_output_of_running_command() {
    let fixture = Fixture::new(running("echo one; echo two; until [ -e go ]; do sleep 0.05; done")).await;
    let terminal = Terminal::start(&fixture, &["run", "wait"]);
    terminal.shows("  one\n  two\n");
    fixture.write("go", "");
    terminal.shows("ended: 0");
}

/// Background commands that end with the run are named.
#[tokio::test(flavor = "multi_thread")]
async fn names_background_commands_that_it_stops() {
    let fixture =
        Fixture::new(script_with_calls("bash", json!({ "command": "sleep 100", "background": true }))).await;
    let ran = fixture.run(&["run", "serve"]).expect(0);
    assert!(ran.stderr.contains("stopped the background command `sleep 100`"), "{}", ran.stderr);
}

/// `--resume` from another directory says so.
#[tokio::test(flavor = "multi_thread")]
async fn notes_that_a_session_moves_to_another_directory() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    let first = fixture.run(&["run", "begin", "--output", "json"]).expect(0).json();
    let id = first["session_id"].as_str().unwrap();
    let other = fixture.path("other");
    std::fs::create_dir_all(&other).unwrap();
    let output = fixture.command(&["run", "--resume", id, "go on"]).current_dir(&other).output().unwrap();
    let reported = String::from_utf8(output.stderr).unwrap();
    assert!(
        reported.contains("note: this session worked in ") && reported.contains("lariat run -C "),
        "{reported}"
    );
    let same = fixture.run(&["run", "--resume", id, "go on"]).expect(0);
    assert!(!same.stderr.contains("worked in"), "{}", same.stderr);
}

/// A command is shown as text, not JSON, and a key needs no Enter.
#[tokio::test(flavor = "multi_thread")]
async fn shows_command_as_text_and_one_key_answers() {
    let arguments = json!({ "command": "touch made", "description": "Make the file" });
    let fixture = Fixture::new(script_with_calls("bash", arguments)).await;
    let terminal = Terminal::start(&fixture, &["run", "make it", "--mode", "default"]);
    terminal.shows("y/s/a/n/e>");
    let screen = terminal.screen();
    assert!(
        screen.contains("│ touch made\n") && screen.contains("the model says: Make the file"),
        "{screen}"
    );
    assert!(!screen.contains('{'), "{screen}");
    terminal.types(&["y"]);
    terminal.shows("ended: 0");
    assert!(has(&fixture, "made"));
}

/// Keys typed before a question appears do not answer it.
#[tokio::test(flavor = "multi_thread")]
async fn keys_typed_before_a_question_do_not_answer_it() {
    let fixture = Fixture::new(Script::answer(|request| match last_result(&request.body) {
        None => {
            let wait = "touch began; until [ -e go ]; do sleep 0.05; done";
            Turn::new().call("toolu_1", "bash", &json!({ "command": wait })).into()
        }
        Some((_, result, _)) if result.contains("No output") => {
            Turn::new().call("toolu_2", "bash", &json!({ "command": "rm -rf ." })).into()
        }
        Some(_) => Turn::new().text("Done.").into(),
    }))
    .await;
    let terminal = Terminal::start(&fixture, &["run", "go"]);
    wait_for("the command", || has(&fixture, "began"));
    fixture.write("go", "");
    for _ in 0..20 {
        terminal.types(&["y"]);
    }
    terminal.shows("rm -rf .");
    terminal.shows("y/n/e>");
    terminal.types(&["n"]);
    terminal.shows("ended: 0");
    assert!(terminal.screen().contains("denied"), "{}", terminal.screen());
}

/// `bash test.sh` can be allowed for the session and always.
#[tokio::test(flavor = "multi_thread")]
async fn script_can_be_allowed_for_session_and_always() {
    let fixture = Fixture::new(running("bash test.sh")).await;
    fixture.write("test.sh", "touch made\n");
    let terminal = Terminal::start(&fixture, &["run", "test it", "--mode", "default"]);
    terminal.shows("[s] allow for this session: Bash(bash test.sh)");
    terminal.shows("y/s/a/n/e>");
    terminal.types(&["a"]);
    terminal.shows("ended: 0");
    assert!(has(&fixture, "made"));
    let again = fixture.run(&["run", "test it", "--mode", "default"]).expect(0);
    assert!(!again.stderr.contains("denied"), "{}", again.stderr);
}

/// The dialog for `git status` says that the repository is not trusted.
#[tokio::test(flavor = "multi_thread")]
async fn dialog_suggests_trust_where_it_would_help() {
    let fixture = Fixture::new(running("git status")).await;
    let made =
        std::process::Command::new("git").args(["init", "-q"]).current_dir(fixture.workspace()).status();
    assert!(made.unwrap().success());
    let terminal = Terminal::start(&fixture, &["run", "look", "--mode", "default"]);
    terminal.shows("this directory is not trusted");
    terminal.shows("`lariat trust`");
    terminal.shows("n/e>");
    terminal.types(&["n"]);
    terminal.shows("ended: 0");
}

/// A key shows the rest of a long diff.
#[tokio::test(flavor = "multi_thread")]
async fn key_shows_full_diff() {
    let content: String = (1..=60).map(|number| format!("line {number}\n")).collect();
    let fixture =
        Fixture::new(script_with_calls("write_file", json!({ "path": "long.txt", "content": content })))
            .await;
    let terminal = Terminal::start(&fixture, &["run", "write it", "--mode", "default"]);
    terminal.shows("[d] show the full diff");
    terminal.shows("e/d>");
    terminal.types(&["d"]);
    terminal.shows("line 60");
    terminal.shows("e/d>");
    terminal.types(&["y"]);
    terminal.shows("ended: 0");
    assert!(has(&fixture, "long.txt"));
}

/// An approved commit must be able to write to the repository.
#[tokio::test(flavor = "multi_thread")]
async fn approved_commit_succeeds() {
    let fixture = by_default(running("git add a.txt && git commit -q -m first")).await;
    fixture.write("a.txt", "one\n");
    let git = |args: &[&str]| {
        let output =
            std::process::Command::new("git").args(args).current_dir(fixture.workspace()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["config", "user.name", "a"]);
    git(&["config", "user.email", "a@localhost"]);
    let terminal = Terminal::start(&fixture, &["run", "commit it"]);
    terminal.shows("if approved, it may: write to the repository");
    terminal.shows("n/e>");
    terminal.types(&["y"]);
    terminal.shows("ended: 0");
    assert!(git(&["log", "--oneline"]).contains("first"), "{}", terminal.screen());
}

/// An approved `npm install` must have network access.
#[tokio::test(flavor = "multi_thread")]
async fn dialog_offers_network_access_for_install() {
    let fixture = by_default(running("npm install left-pad")).await;
    let terminal = Terminal::start(&fixture, &["run", "install it"]);
    terminal.shows("if approved, it may: use the network, including services on this machine");
    terminal.shows("n/e>");
    let screen = terminal.screen();
    assert!(screen.contains("[o] once, outside the sandbox   [c] once, without extra access"), "{screen}");
    terminal.types(&["n"]);
    terminal.shows("ended: 0");
}

/// The output says what the sandbox blocked.
#[tokio::test(flavor = "multi_thread")]
async fn names_what_the_sandbox_blocked() {
    let fixture = by_default(running("touch ../outside")).await;
    let terminal = Terminal::start(&fixture, &["run", "touch it", "--mode", "auto"]);
    terminal.shows("ended: 0");
    let screen = terminal.screen();
    assert!(screen.contains("✗ bash  touch ../outside"), "{screen}");
    assert!(screen.contains("the sandbox blocked writing "), "{screen}");
}

/// A whole run takes milliseconds. A debug build on a busy machine gets more time, but not much.
#[tokio::test(flavor = "multi_thread")]
async fn run_with_one_reply_takes_less_than_a_second() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    let once = || {
        let begun = std::time::Instant::now();
        fixture.run(&["run", "hello"]).expect(0);
        begun.elapsed()
    };
    let best = (0..10).map(|_| once()).min().unwrap();
    assert!(best < std::time::Duration::from_secs(1), "{best:?}");
}

/// 200 MB of output need little memory.
#[tokio::test(flavor = "multi_thread")]
async fn much_output_needs_little_memory() {
    let fixture = Fixture::new(running("head -c 200000000 /dev/zero | tr '\\0' x")).await;
    let mut child = fixture.spawn(&["run", "print"]);
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        most = peak.and_then(|peak| peak.trim().parse::<u64>().ok()).unwrap_or_default().max(most);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let ran = wait(child).expect(0);
    assert!(ran.stdout.contains('x') && ran.stdout.len() < 200_000, "{}", ran.stdout.len());
    assert!(most > 0 && most < 128 * 1024, "{most} kB");
}

/// A fixture without settings for mode and sandbox.
async fn by_default(script: Script) -> Fixture {
    let fixture = Fixture::new(script).await;
    let path = fixture.path("config/lariat/config.toml");
    let settings = std::fs::read_to_string(&path).unwrap();
    let settings = settings.replace("mode = \"bypass\"\n[sandbox]\nenabled = false\n", "");
    std::fs::write(&path, settings).unwrap();
    fixture
}

/// The sandbox is enabled by default.
#[tokio::test(flavor = "multi_thread")]
async fn sandbox_is_enabled_by_default() {
    let fixture = by_default(running("touch inside; touch ../outside")).await;
    fixture.run(&["run", "touch", "--mode", "auto"]).expect(0);
    assert!(has(&fixture, "inside") && !fixture.path("outside").exists());
}

/// Removing everything requires approval in every mode.
#[tokio::test(flavor = "multi_thread")]
async fn removing_the_workspace_requires_approval_in_auto_and_bypass() {
    for mode in ["auto", "bypass"] {
        let fixture = by_default(running("rm -rf .")).await;
        fixture.write("kept", "x");
        let ran = fixture.run(&["run", "clean", "--mode", mode]).expect(0);
        assert!(has(&fixture, "kept") && ran.stderr.contains("denied 1 tool call"), "{mode}: {ran:?}");
    }
}

/// Undo covers commands, and keeps later changes by the user.
#[tokio::test(flavor = "multi_thread")]
async fn undo_reverts_commands_and_keeps_user_edits() {
    let fixture = by_default(running("echo agent > a.txt; echo agent > b.txt")).await;
    fixture.write("a.txt", "mine\n");
    fixture.run(&["run", "write", "--mode", "auto"]).expect(0);
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("a.txt")).unwrap(), "agent\n");
    fixture.write("b.txt", "edited by me\n");
    let undone = fixture.run(&["undo", "--yes"]);
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("a.txt")).unwrap(), "mine\n", "{undone:?}");
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("b.txt")).unwrap(), "edited by me\n");
}

/// Killed during a command, the program leaves no process behind, runs nothing twice, and reports the outcome.
#[tokio::test(flavor = "multi_thread")]
async fn kill_during_command_leaves_no_orphan_and_runs_nothing_twice() {
    let fixture = Fixture::new(running("echo $$ >> pids; exec sleep 60")).await;
    let child = fixture.spawn(&["run", "wait"]);
    let pids = || std::fs::read_to_string(fixture.workspace().join("pids")).unwrap_or_default();
    wait_for("the command", || pids().ends_with('\n'));
    signal(&child, Signal::KILL);
    wait(child);
    let id = pids().trim().to_owned();
    let is_gone = || {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    wait_for("the command to end", is_gone);
    let ran = fixture.run(&["run", "--continue"]).expect(0);
    assert!(
        ran.stdout.starts_with("true: "),
        "the model learns that the command was interrupted: {}",
        ran.stdout
    );
    assert_eq!(pids().lines().count(), 1);
}
