//! Tests the terminal UI as its user sees it: the real program on a real terminal.

use std::fmt::Write as _;

use lariat_proofs::server::{Script, Turn};
use serde_json::json;

use crate::fixture::{Fixture, last_result, signal};
use crate::pty::Pty;
use crate::terminal::Terminal;

/// The prompt of an empty draft.
const READY: &str = "Type a message";
/// Focuses the question that waits.
const FOCUS: &str = "\x19";

/// A model that writes a file and then says so, under a gate that asks.
async fn writing() -> Fixture {
    let fixture = Fixture::new(Script::answer(|request| match last_result(&request.body) {
        None => Turn::new()
            .text("I will write it.")
            .call("toolu_1", "write_file", &json!({ "path": "hello.txt", "content": "hello\n" }))
            .into(),
        Some((_, said, is_error)) => Turn::new()
            .text(if is_error { format!("Refused: {said}") } else { "It is written.".to_owned() })
            .into(),
    }))
    .await;
    fixture.run(&["config", "set", "mode", "default"]).expect(0);
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn task_is_typed_approved_and_done() {
    let fixture = writing().await;
    let mut pty = Pty::start(&fixture, &[], 100, 30);
    pty.shows(READY);
    pty.type_text("write hello\r");
    pty.shows("Allow write_file?");
    // What is typed goes to the draft, whatever keys the question knows.
    pty.type_text("yes, always");
    pty.shows("› yes, always");
    assert!(!fixture.workspace().join("hello.txt").exists(), "typed text answered the question");
    pty.type_text(FOCUS);
    pty.shows("y/s/a/n/e>");
    std::thread::sleep(std::time::Duration::from_millis(400));
    pty.type_text("y");
    pty.shows("It is written.");
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("hello.txt")).unwrap(), "hello\n");
    pty.shows("› yes, always");
    assert_eq!(pty.quit(), Some(0), "{}", pty.screen());
    assert!(pty.screen().contains("lariat --resume"), "{}", pty.screen());
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_of_the_command_line_starts_the_session_and_resume_shows_it_again() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("All good.").into())).await;
    let mut pty = Pty::start(&fixture, &["check the tests"], 80, 24);
    pty.shows("All good.");
    assert_eq!(pty.quit(), Some(0));
    let mut again = Pty::start(&fixture, &["-c"], 80, 24);
    again.shows("check the tests");
    again.shows("All good.");
    again.type_text("and now?\r");
    crate::fixture::wait_for("a second request", || fixture.requests().len() == 2);
    assert_eq!(again.quit(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn draft_survives_a_kill() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Hi.").into())).await;
    let mut pty = Pty::start(&fixture, &[], 80, 24);
    pty.shows(READY);
    pty.type_text("a long thought that");
    pty.shows("a long thought that");
    std::thread::sleep(std::time::Duration::from_millis(500));
    pty.child.kill().unwrap();
    pty.child.wait().unwrap();
    let again = Pty::start(&fixture, &[], 80, 24);
    again.shows("a long thought that");
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_is_restored_after_a_signal_and_after_quitting() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Hi.").into())).await;
    // The script of the terminal checks the modes after the program has ended.
    let terminal = Terminal::start(&fixture, &["hello"]);
    terminal.shows("Hi.");
    // While the run is active, the first key asks.
    terminal.shows("idle");
    terminal.types(&["C-d"]);
    terminal.shows("ended: 0");
    let pty = Pty::start(&fixture, &[], 80, 24);
    pty.shows(READY);
    signal(&pty.child, rustix::process::Signal::TERM);
    let mut pty = pty;
    assert!(pty.end().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn piped_input_and_output_need_no_terminal_ui() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("All good.").into())).await;
    assert_eq!(fixture.run(&["check the tests"]).expect(0).stdout.trim(), "All good.");
    let help = fixture.run(&[]).expect(2);
    assert!(help.stderr.contains("Usage: lariat"), "{}", help.stderr);
}

/// A reply of numbered lines.
fn numbered(lines: usize) -> String {
    let mut text = String::new();
    for line in 0..lines {
        writeln!(text, "- line {line:05} of the reply").unwrap();
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn real_terminal_keeps_every_line_over_resizes() {
    const LINES: usize = 120;
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text(numbered(LINES)).piece(7).into())).await;
    let terminal = Terminal::start(&fixture, &["count"]);
    for (columns, rows) in [("60", "20"), ("110", "35"), ("45", "12"), ("90", "40")] {
        terminal.tmux(&["resize-window", "-x", columns, "-y", rows]);
        std::thread::sleep(std::time::Duration::from_millis(60));
    }
    std::thread::sleep(std::time::Duration::from_millis(500));
    terminal.shows(&format!("line {:05}", LINES - 1));
    let all = terminal.tmux(&["capture-pane", "-p", "-J", "-S", "-"]);
    for line in 0..LINES {
        let line = format!("line {line:05} of the reply");
        assert_eq!(all.matches(&line).count(), 1, "{line}\n{all}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn store_that_cannot_be_opened_ends_the_program_with_the_reason() {
    let fixture = Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await;
    std::fs::create_dir_all(fixture.path("state/lariat/sessions.db")).unwrap();
    let mut pty = Pty::start(&fixture, &["go"], 100, 30);
    assert_eq!(pty.end(), Some(3), "{}", pty.screen());
    pty.shows("error: could not use the directory");
    pty.shows("store.path");
    pty.is_restored();
}
