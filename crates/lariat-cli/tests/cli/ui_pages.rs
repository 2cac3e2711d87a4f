//! Pages of the terminal UI that come from this machine, and its settings.

use std::time::Duration;

use lariat_proofs::server::{Script, Turn};

use crate::fixture::{Fixture, wait_for};
use crate::pty::Pty;

const READY: &str = "Type a message";

async fn fixture() -> Fixture {
    Fixture::new(Script::answer(|_| Turn::new().text("All good. ".repeat(400)).piece(2_000).into())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_doctor_and_servers_open_in_the_pager() {
    let fixture = fixture().await;
    let mut pty = Pty::start(&fixture, &[], 100, 40);
    pty.shows(READY);
    pty.type_text("/permissions\r");
    pty.shows("mode: bypass");
    pty.shows("approvals for this session only");
    pty.type_text("q/doctor\r");
    pty.shows("all settings are valid");
    pty.shows("q close");
    pty.type_text("q/mcp\r");
    pty.shows("no MCP servers are configured");
    pty.shows("q close");
    pty.type_text("q");
    pty.shows("idle");
    assert_eq!(pty.quit(), Some(0), "{}", pty.screen());
}

#[tokio::test(flavor = "multi_thread")]
async fn share_exports_the_session_and_says_where() {
    let fixture = fixture().await;
    let mut pty = Pty::start(&fixture, &["check the tests"], 100, 30);
    pty.shows("idle");
    pty.type_text("/share copy.session\r");
    pty.shows("copy.session");
    crate::fixture::wait_for("the file", || fixture.workspace().join("copy.session").exists());
    pty.shows("lariat sessions import");
    pty.type_text("/share copy.session\r");
    pty.shows("choose another file name");
    assert_eq!(pty.quit(), Some(0), "{}", pty.screen());
}

#[tokio::test(flavor = "multi_thread")]
async fn compaction_is_previewed_confirmed_and_undone() {
    let fixture = fixture().await;
    let mut pty = Pty::start(&fixture, &["first"], 100, 30);
    pty.shows("idle");
    for count in 2..9 {
        pty.type_text("again\r");
        crate::fixture::wait_for("the request", || fixture.requests().len() == count);
        pty.settle();
    }
    pty.shows("idle");
    pty.type_text("/compact\r");
    pty.shows("Compact the conversation?");
    pty.shows("Frees about");
    let requests = fixture.requests().len();
    pty.type_text("\r");
    pty.shows("compacted");
    assert!(fixture.requests().len() > requests, "the summary needs the model");
    pty.type_text("/compact undo\r");
    pty.shows("undone");
    assert_eq!(pty.quit(), Some(0), "{}", pty.screen());
}

#[tokio::test(flavor = "multi_thread")]
async fn status_items_are_chosen_by_a_setting() {
    let fixture = fixture().await;
    let path = fixture.path("config/lariat/config.toml");
    let settings = std::fs::read_to_string(&path).unwrap();
    let with = |items: &str| std::fs::write(&path, format!("{settings}\n[ui]\nstatus = {items}\n")).unwrap();
    with(r#"["modell"]"#);
    let mut pty = Pty::start(&fixture, &[], 100, 30);
    pty.shows("unknown status item `modell`");
    pty.shows("the items are waits, elapsed, mode");
    assert_ne!(pty.end(), Some(0));
    with(r#"["directory", "waits"]"#);
    let mut pty = Pty::start(&fixture, &[], 100, 30);
    pty.shows(" · idle");
    assert!(!pty.screen().contains("bypass"), "{}", pty.screen());
    assert_eq!(pty.quit(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn screen_reader_gets_lines_and_no_cursor_movement() {
    // Long enough for a line that says what the program waits for.
    let slow = |_: &_| {
        std::thread::sleep(Duration::from_millis(700));
        Turn::new().text("All **good**.").into()
    };
    let fixture = Fixture::new(Script::answer(slow)).await;
    let path = fixture.path("config/lariat/config.toml");
    let settings = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{settings}\n[ui]\nscreen_reader = true\n")).unwrap();
    let mut pty = Pty::start(&fixture, &[], 80, 24);
    pty.shows("ready: type a message");
    pty.type_text("check the tests\r");
    let ready = |row: &&String| row.trim_end() == "ready: type a message";
    wait_for("the line after the run", || pty.all_rows().iter().filter(ready).count() == 2);
    assert_eq!(pty.frames(), 0, "a synchronized update");
    assert_eq!(pty.quit(), Some(0), "{}", pty.screen());
    let rows = pty.all_rows();
    let order = [
        "ready: type a message",
        "> check the tests",
        "waiting for the model",
        "All good.",
        "ready: type a message",
    ];
    let mut rows = rows.iter();
    for words in order {
        assert!(rows.any(|row| row.trim_end() == words), "{words}\n{}", pty.screen());
    }
}
