//! `lariat run` as a person and a script meet it.

use std::io::Read as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use lariat_testkit::server::{Answer, Frame, RawAnswer, Request, Script, Turn};
use rustix::process::{Pid, Signal};
use serde_json::json;

use crate::ground::{Ground, last_result, signal, silence, text, wait, wait_for};
use crate::terminal::Terminal;

/// What people said in a request, in order.
fn said(request: &Request) -> Vec<String> {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let of_people = messages.iter().filter(|message| message["role"] == "user");
    of_people.map(|message| text(&message["content"])).collect()
}

fn last_said(ground: &Ground) -> String {
    said(ground.requests().last().unwrap()).pop().unwrap()
}

/// A model that runs a command once, and then says what came of it.
fn running(command: &'static str) -> Script {
    calling("bash", json!({ "command": command }))
}

/// A model that makes one call, and then says what came of it.
fn calling(tool: &'static str, arguments: serde_json::Value) -> Script {
    Script::answer(move |request| match last_result(&request.body) {
        None => Turn::new().call("toolu_1", tool, &arguments).into(),
        Some((_, result, is_error)) => Turn::new().text(format!("{is_error}: {result}")).into(),
    })
}

fn has(ground: &Ground, name: &str) -> bool {
    ground.workspace().join(name).exists()
}

/// U1: what is typed while it works was executed by the shell when it ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_line_typed_during_a_run_steers_it_and_never_reaches_the_shell() {
    let ground = Ground::new(running("touch began; until [ -e go ]; do sleep 0.05; done")).await;
    let terminal = Terminal::shell(&ground);
    terminal.shows("ready$");
    terminal.types(&["lariat run 'begin'", "Enter"]);
    wait_for("the command", || has(&ground, "began"));
    terminal.types(&["touch PWN", "Enter"]);
    terminal.shows("you: touch PWN");
    terminal.types(&["touch PWN2"]);
    terminal.shows("› touch PWN2");
    ground.write("go", "");
    terminal.shows("not sent, because the run was over: touch PWN2");
    terminal.shows_times("ready$", 2);
    terminal.types(&["", "Enter", "echo over", "Enter"]);
    terminal.shows_times("over", 2);
    assert!(!has(&ground, "PWN") && !has(&ground, "PWN2"));
    assert!(said(ground.requests().last().unwrap()).iter().any(|words| words.contains("touch PWN")));
}

/// The process of the program whose arguments hold a word.
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

/// U1: the terminal has its own mode again, however the program ends. `ended` appears only then.
#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_is_as_before_after_every_end() {
    for (name, code) in [("TERM", 143), ("HUP", 143), ("INT", 130), ("QUIT", 130)] {
        let ground = Ground::new(Script::answer(|_| silence())).await;
        let marker = format!("wait-{}-{name}", std::process::id());
        let terminal = Terminal::start(&ground, &["run", &marker]);
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

/// U1: suspended, the shell has the terminal; resumed, keys are the program's again.
#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_run_gives_the_terminal_to_the_shell_and_takes_it_back() {
    let ground = Ground::new(running("touch began; until [ -e go ]; do sleep 0.05; done")).await;
    let terminal = Terminal::shell(&ground);
    terminal.shows("ready$");
    terminal.types(&["lariat run 'begin'", "Enter"]);
    wait_for("the command", || has(&ground, "began"));
    terminal.types(&["C-z"]);
    terminal.shows("Stopped");
    terminal.types(&["echo mode $(stty -a | grep -o ' -*icanon')", "Enter"]);
    terminal.shows("mode icanon");
    terminal.types(&["fg", "Enter"]);
    terminal.shows_times("lariat run", 2);
    wait_for("the keys to be the program's", || {
        terminal.types(&["x"]);
        terminal.screen().contains("› x")
    });
    terminal.types(&["C-u"]);
    ground.write("go", "");
    terminal.shows_times("ready$", 4);
}

/// U3: `cat log | lariat run "explain this"` dropped the data.
#[tokio::test(flavor = "multi_thread")]
async fn piped_data_is_sent_with_the_prompt() {
    let ground = Ground::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    ground.run_with(&["run", "explain this"], "ERROR 7\n").expect(0);
    assert!(
        last_said(&ground).contains("explain this\n\n<stdin>\nERROR 7\n</stdin>"),
        "{}",
        last_said(&ground)
    );
    let long = format!("first\n{}last\n", "x\n".repeat(400_000));
    let ran = ground.run_with(&["run", "explain this"], long).expect(0);
    let sent = last_said(&ground);
    assert!(sent.contains("<stdin>\nfirst") && sent.contains("last\n</stdin>") && sent.len() < 300_000);
    assert!(ran.stderr.contains("the piped data is too long"), "{}", ran.stderr);
    ground.run_with(&["run", "nothing piped"], "").expect(0);
    assert!(!last_said(&ground).contains("stdin"));
}

/// U3: `echo prompt | lariat run` said that there was nothing to do.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_prompt_standard_input_is_the_prompt() {
    let ground = Ground::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    ground.run_with(&["run"], "count the files\n").expect(0);
    assert!(last_said(&ground).contains("count the files") && !last_said(&ground).contains("<stdin>"));
}

/// U3: `cat p.md | lariat run -` on a terminal could not ask.
#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_from_a_pipe_leaves_the_terminal_for_questions() {
    let ground = Ground::new(running("touch made")).await;
    ground.write("p.md", "make it\n");
    let terminal = Terminal::script(&ground, "cat p.md | lariat run - --mode default", "90");
    terminal.shows("y/s/a/n/e>");
    terminal.types(&["y"]);
    terminal.shows("ended: 0");
    assert!(has(&ground, "made"));
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

/// U4: `--mode plan` was a dead end.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_carried_out_after_a_yes() {
    let ground = Ground::new(planning()).await;
    let terminal = Terminal::start(&ground, &["run", "plan it", "--mode", "plan"]);
    terminal.shows("The plan: 2 changes");
    terminal.shows("touch built");
    terminal.shows("y/s/n/l>");
    assert!(!has(&ground, "a.md"));
    terminal.types(&["y"]);
    terminal.shows("ended: 0");
    assert!(has(&ground, "a.md") && has(&ground, "built"));
}

/// U4: a plan is approved in part, later, or not at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_approved_in_part_later_or_discarded() {
    let ground = Ground::new(planning()).await;
    let terminal = Terminal::start(&ground, &["run", "plan it", "--mode", "plan"]);
    terminal.shows("y/s/n/l>");
    terminal.types(&["l"]);
    terminal.shows("2 changes are planned and not made");
    terminal.shows("ended: 0");
    drop(terminal);
    let terminal = Terminal::start(&ground, &["run", "--continue"]);
    terminal.shows("y/s/n/l>");
    terminal.types(&["s"]);
    terminal.shows("y/n>");
    terminal.types(&["n"]);
    terminal.shows_times("y/n>", 2);
    terminal.types(&["y"]);
    terminal.shows("ended: 0");
    assert!(!has(&ground, "a.md") && has(&ground, "built"));
    drop(terminal);
    let terminal = Terminal::start(&ground, &["run", "plan it", "--mode", "plan"]);
    terminal.shows("y/s/n/l>");
    terminal.types(&["n"]);
    terminal.shows("discarded");
    terminal.shows("ended: 0");
    assert!(!has(&ground, "a.md"));
}

/// U4: in a pipe the plan says how it is approved, and that works.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_in_a_pipe_is_approved_by_a_flag() {
    let ground = Ground::new(planning()).await;
    let ran = ground.run(&["run", "plan it", "--mode", "plan"]).expect(0);
    assert!(ran.stderr.contains("2 changes are planned and not made"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--approve-plan") && !has(&ground, "a.md"), "{}", ran.stderr);
    ground.run(&["run", "--continue", "--approve-plan"]).expect(0);
    assert!(has(&ground, "a.md") && has(&ground, "built"));
}

/// Runs without a prompt by id and by place, and checks that the model was asked each time.
fn goes_on(ground: &Ground) {
    let listed = ground.run(&["sessions", "list", "--json"]).expect(0).json();
    let id = listed[0]["session_id"].as_str().unwrap().to_owned();
    for args in [&["run", "--resume", &id][..], &["run", "--continue"]] {
        let before = ground.requests().len();
        let ran = ground.run(args).expect(0);
        assert!(ran.stdout.contains("Here again."), "{args:?}: {ran:?}");
        assert!(ground.requests().len() > before, "{args:?}");
    }
}

/// A model that does something else the first time.
fn first(first: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Script {
    let count = AtomicUsize::new(0);
    Script::answer(move |request| match count.fetch_add(1, Ordering::SeqCst) {
        0 => first(request),
        _ => Turn::new().text("Here again.").into(),
    })
}

/// U5: "nothing was interrupted, so there is nothing to go on with".
#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_without_a_prompt_after_success() {
    let ground = Ground::new(first(|_| Turn::new().text("Done.").into())).await;
    ground.run(&["run", "begin"]).expect(0);
    goes_on(&ground);
    assert!(last_said(&ground).contains("Continue where you left off."), "{}", last_said(&ground));
}

/// U5: the same after the service failed.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_without_a_prompt_after_a_failure_of_the_service() {
    let ground = Ground::new(first(|request| Answer::error(request.wire, 401, "no"))).await;
    ground.run(&["run", "begin"]).expect(4);
    goes_on(&ground);
    let said = said(&ground.requests()[1]);
    assert!(
        said.len() == 1 && said[0].contains("begin"),
        "the prompt is answered, not another one: {said:?}"
    );
}

/// U5: the same after Ctrl-C.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_without_a_prompt_after_an_interrupt() {
    let ground = Ground::new(first(|_| silence())).await;
    let child = ground.spawn(&["run", "begin"]);
    wait_for("the request", || !ground.requests().is_empty());
    signal(&child, Signal::INT);
    let ran = wait(child).expect(130);
    assert!(ran.stderr.contains("`lariat run --resume "), "{}", ran.stderr);
    goes_on(&ground);
}

/// U5: the same after a limit.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_without_a_prompt_after_a_limit() {
    let call = |_: &Request| Turn::new().call("toolu_1", "bash", &json!({ "command": "true" })).into();
    let ground = Ground::new(first(call)).await;
    ground.run(&["run", "begin", "--max-turns", "1"]).expect(5);
    goes_on(&ground);
}

/// U6: a command that failed had a tick, and calls that did not run had no line.
#[tokio::test(flavor = "multi_thread")]
async fn failures_look_like_failures() {
    let ground = Ground::new(Script::answer(|request| match last_result(&request.body) {
        None => Turn::new()
            .call("toolu_1", "bash", &json!({ "command": "echo partial; exit 127" }))
            .call("toolu_2", "bash", &json!({ "command": "cat secret" }))
            .call("toolu_3", "bsh", &json!({ "x": 1 }))
            .into(),
        Some(_) => Turn::new().text("Oh.").into(),
    }))
    .await;
    let terminal = Terminal::start(&ground, &["run", "fail", "--deny", "Bash(cat *)"]);
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

/// U6: a command that Ctrl-C killed had a tick.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_an_interrupt_ended_is_a_failure() {
    let ground = Ground::new(running("touch began; sleep 60")).await;
    let terminal = Terminal::start(&ground, &["run", "wait"]);
    wait_for("the command", || has(&ground, "began"));
    terminal.types(&["C-c"]);
    terminal.shows("ended: 130");
    let screen = terminal.screen();
    assert!(screen.contains("✗ bash  touch began; sleep 60") && screen.contains("interrupted"), "{screen}");
    assert!(!screen.contains('✓'), "{screen}");
}

/// A reply that begins, and never ends.
fn begun(words: &str) -> Answer {
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
    Answer::Raw(RawAnswer { status: 200, headers: Vec::new(), frames })
}

/// U10: text appeared only when its paragraph was complete.
#[tokio::test(flavor = "multi_thread")]
async fn words_are_on_the_screen_before_their_paragraph_is_complete() {
    let ground = Ground::new(Script::answer(|_| begun("Half of a **para"))).await;
    let terminal = Terminal::start(&ground, &["run", "speak"]);
    terminal.shows("Half of a **para");
    terminal.types(&["C-c"]);
    terminal.shows("ended: 130");
    assert_eq!(terminal.screen().matches("Half of a").count(), 1, "{}", terminal.screen());
}

/// U10: in a pipe, text appeared at the end of the run.
#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_gets_a_long_answer_before_it_is_complete() {
    let ground = Ground::new(Script::answer(|_| begun("A first paragraph.\n\nAnd a second"))).await;
    let mut child = ground.spawn(&["run", "speak"]);
    let mut got = [0; 32];
    child.stdout.as_mut().unwrap().read_exact(&mut got).unwrap();
    assert_eq!(&got, b"A first paragraph.\n\nAnd a second");
    signal(&child, Signal::INT);
    wait(child).expect(130);
}

/// U10: nothing said which model runs or which session continues.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_line_names_the_model_and_the_session() {
    let ground = Ground::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    let terminal = Terminal::start(&ground, &["run", "count the files"]);
    terminal.shows("ended: 0");
    assert!(
        terminal.screen().contains("test/scripted · bypass mode · new session "),
        "{}",
        terminal.screen()
    );
    drop(terminal);
    let terminal = Terminal::start(&ground, &["run", "--continue", "and now?"]);
    terminal.shows("ended: 0");
    let screen = terminal.screen();
    assert!(screen.contains("continues session ") && screen.contains(": count the files"), "{screen}");
}

/// U10: the end of a command's output was invisible while it ran.
#[tokio::test(flavor = "multi_thread")]
async fn the_output_of_a_running_command_is_visible() {
    let ground = Ground::new(running("echo one; echo two; until [ -e go ]; do sleep 0.05; done")).await;
    let terminal = Terminal::start(&ground, &["run", "wait"]);
    terminal.shows("  one\n  two\n");
    ground.write("go", "");
    terminal.shows("ended: 0");
}

/// U10: background commands were ended without a word.
#[tokio::test(flavor = "multi_thread")]
async fn background_commands_that_a_run_leaves_behind_are_named() {
    let ground = Ground::new(calling("bash", json!({ "command": "sleep 100", "background": true }))).await;
    let ran = ground.run(&["run", "serve"]).expect(0);
    assert!(ran.stderr.contains("the background command `sleep 100` was ended"), "{}", ran.stderr);
}

/// U10: `--resume` from another directory moved the session silently.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_goes_on_in_another_directory_says_so() {
    let ground = Ground::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    let first = ground.run(&["run", "begin", "--output", "json"]).expect(0).json();
    let id = first["session_id"].as_str().unwrap();
    let other = ground.path("other");
    std::fs::create_dir_all(&other).unwrap();
    let output = ground.command(&["run", "--resume", id, "go on"]).current_dir(&other).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("note: this session worked in ") && told.contains("lariat run -C "), "{told}");
    let same = ground.run(&["run", "--resume", id, "go on"]).expect(0);
    assert!(!same.stderr.contains("worked in"), "{}", same.stderr);
}

/// U12: a command with a description was shown as raw JSON, and a letter needed Enter.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_asked_as_text_and_one_key_answers() {
    let arguments = json!({ "command": "touch made", "description": "Make the file" });
    let ground = Ground::new(calling("bash", arguments)).await;
    let terminal = Terminal::start(&ground, &["run", "make it", "--mode", "default"]);
    terminal.shows("y/s/a/n/e>");
    let screen = terminal.screen();
    assert!(
        screen.contains("│ touch made\n") && screen.contains("the model says: Make the file"),
        "{screen}"
    );
    assert!(!screen.contains('{'), "{screen}");
    terminal.types(&["y"]);
    terminal.shows("ended: 0");
    assert!(has(&ground, "made"));
}

/// U12: keys that were typed before a question appeared answered it.
#[tokio::test(flavor = "multi_thread")]
async fn keys_typed_before_a_question_do_not_answer_it() {
    let ground = Ground::new(Script::answer(|request| match last_result(&request.body) {
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
    let terminal = Terminal::start(&ground, &["run", "go"]);
    wait_for("the command", || has(&ground, "began"));
    ground.write("go", "");
    for _ in 0..20 {
        terminal.types(&["y"]);
    }
    terminal.shows("rm -rf .");
    terminal.shows("y/n/e>");
    terminal.types(&["n"]);
    terminal.shows("ended: 0");
    assert!(terminal.screen().contains("denied"), "{}", terminal.screen());
}

/// U12: `bash test.sh` was never offered for longer than once.
#[tokio::test(flavor = "multi_thread")]
async fn a_script_is_offered_for_the_session_and_always() {
    let ground = Ground::new(running("bash test.sh")).await;
    ground.write("test.sh", "touch made\n");
    let terminal = Terminal::start(&ground, &["run", "test it", "--mode", "default"]);
    terminal.shows("[s] yes, for this session: Bash(bash test.sh)");
    terminal.shows("y/s/a/n/e>");
    terminal.types(&["a"]);
    terminal.shows("ended: 0");
    assert!(has(&ground, "made"));
    let again = ground.run(&["run", "test it", "--mode", "default"]).expect(0);
    assert!(!again.stderr.contains("denied"), "{}", again.stderr);
}

/// U12: `git status` was asked without saying that the repository is not trusted.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_trust_would_spare_says_so() {
    let ground = Ground::new(running("git status")).await;
    let made =
        std::process::Command::new("git").args(["init", "-q"]).current_dir(ground.workspace()).status();
    assert!(made.unwrap().success());
    let terminal = Terminal::start(&ground, &["run", "look", "--mode", "default"]);
    terminal.shows("this directory is not trusted");
    terminal.shows("`lariat trust`");
    terminal.shows("n/e>");
    terminal.types(&["n"]);
    terminal.shows("ended: 0");
}

/// U12: a long diff was cut, with no key for the rest.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_shows_the_whole_of_a_long_diff() {
    let content: String = (1..=60).map(|number| format!("line {number}\n")).collect();
    let ground = Ground::new(calling("write_file", json!({ "path": "long.txt", "content": content }))).await;
    let terminal = Terminal::start(&ground, &["run", "write it", "--mode", "default"]);
    terminal.shows("[d] show the whole diff");
    terminal.shows("e/d>");
    terminal.types(&["d"]);
    terminal.shows("line 60");
    terminal.shows("e/d>");
    terminal.types(&["y"]);
    terminal.shows("ended: 0");
    assert!(has(&ground, "long.txt"));
}

/// U2: a commit that was approved failed, because the repository was read-only.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_was_approved_is_made() {
    let ground = by_default(running("git add a.txt && git commit -q -m first")).await;
    ground.write("a.txt", "one\n");
    let git = |args: &[&str]| {
        let output =
            std::process::Command::new("git").args(args).current_dir(ground.workspace()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["config", "user.name", "a"]);
    git(&["config", "user.email", "a@localhost"]);
    let terminal = Terminal::start(&ground, &["run", "commit it"]);
    terminal.shows("a yes lets it: write to the repository");
    terminal.shows("n/e>");
    terminal.types(&["y"]);
    terminal.shows("ended: 0");
    assert!(git(&["log", "--oneline"]).contains("first"), "{}", terminal.screen());
}

/// U2: `npm install` approved as "reaches the network" had no network.
#[tokio::test(flavor = "multi_thread")]
async fn an_install_is_asked_with_the_network_that_it_needs() {
    let ground = by_default(running("npm install left-pad")).await;
    let terminal = Terminal::start(&ground, &["run", "install it"]);
    terminal.shows("a yes lets it: use the network");
    terminal.shows("n/e>");
    let screen = terminal.screen();
    assert!(screen.contains("[o] once, outside of the sandbox   [c] once, without that"), "{screen}");
    terminal.types(&["n"]);
    terminal.shows("ended: 0");
}

/// U2: what the sandbox blocked was not said.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_sandbox_blocked_is_said() {
    let ground = by_default(running("touch ../outside")).await;
    let terminal = Terminal::start(&ground, &["run", "touch it", "--mode", "auto"]);
    terminal.shows("ended: 0");
    let screen = terminal.screen();
    assert!(screen.contains("✗ bash  touch ../outside"), "{screen}");
    assert!(screen.contains("the sandbox blocked writing "), "{screen}");
}

/// What delighted: a whole run takes milliseconds. A debug build on a busy machine gets more, but not much more.
#[tokio::test(flavor = "multi_thread")]
async fn a_whole_run_is_quick() {
    let ground = Ground::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    let once = || {
        let begun = std::time::Instant::now();
        ground.run(&["run", "hello"]).expect(0);
        begun.elapsed()
    };
    let best = (0..10).map(|_| once()).min().unwrap();
    assert!(best < std::time::Duration::from_secs(1), "{best:?}");
}

/// What delighted: 200 MB of output need no memory.
#[tokio::test(flavor = "multi_thread")]
async fn much_output_needs_little_memory() {
    let ground = Ground::new(running("head -c 200000000 /dev/zero | tr '\\0' x")).await;
    let mut child = ground.spawn(&["run", "print"]);
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

/// A ground whose settings say nothing about mode and sandbox.
async fn by_default(script: Script) -> Ground {
    let ground = Ground::new(script).await;
    let path = ground.path("config/lariat/config.toml");
    let settings = std::fs::read_to_string(&path).unwrap();
    let settings = settings.replace("mode = \"bypass\"\n[sandbox]\nenabled = false\n", "");
    std::fs::write(&path, settings).unwrap();
    ground
}

/// What delighted: the sandbox is on without a setting.
#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_is_on_by_default() {
    let ground = by_default(running("touch inside; touch ../outside")).await;
    ground.run(&["run", "touch", "--mode", "auto"]).expect(0);
    assert!(has(&ground, "inside") && !ground.path("outside").exists());
}

/// What delighted: removing everything is asked, whatever the mode.
#[tokio::test(flavor = "multi_thread")]
async fn removing_the_workspace_is_asked_even_in_auto_and_bypass() {
    for mode in ["auto", "bypass"] {
        let ground = by_default(running("rm -rf .")).await;
        ground.write("kept", "x");
        let ran = ground.run(&["run", "clean", "--mode", mode]).expect(0);
        assert!(has(&ground, "kept") && ran.stderr.contains("1 call was denied"), "{mode}: {ran:?}");
    }
}

/// What delighted: undo covers what commands did, and keeps what the person changed since.
#[tokio::test(flavor = "multi_thread")]
async fn undo_takes_back_what_a_command_did_and_keeps_the_persons_edits() {
    let ground = by_default(running("echo agent > a.txt; echo agent > b.txt")).await;
    ground.write("a.txt", "mine\n");
    ground.run(&["run", "write", "--mode", "auto"]).expect(0);
    assert_eq!(std::fs::read_to_string(ground.workspace().join("a.txt")).unwrap(), "agent\n");
    ground.write("b.txt", "edited by me\n");
    let undone = ground.run(&["undo", "--yes"]);
    assert_eq!(std::fs::read_to_string(ground.workspace().join("a.txt")).unwrap(), "mine\n", "{undone:?}");
    assert_eq!(std::fs::read_to_string(ground.workspace().join("b.txt")).unwrap(), "edited by me\n");
}

/// What delighted: killed in mid-command, it leaves no process behind, does nothing twice, and tells the outcome.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_in_mid_command_leaves_no_orphan_and_runs_nothing_twice() {
    let ground = Ground::new(running("echo $$ >> pids; exec sleep 60")).await;
    let child = ground.spawn(&["run", "wait"]);
    let pids = || std::fs::read_to_string(ground.workspace().join("pids")).unwrap_or_default();
    wait_for("the command", || pids().ends_with('\n'));
    signal(&child, Signal::KILL);
    wait(child);
    let id = pids().trim().to_owned();
    let is_gone = || {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    wait_for("the command to end", is_gone);
    let ran = ground.run(&["run", "--continue"]).expect(0);
    assert!(ran.stdout.starts_with("true: "), "the model hears that it was interrupted: {}", ran.stdout);
    assert_eq!(pids().lines().count(), 1);
}
