//! Two terminals that are attached to one session of the background host.

use lariat_proofs::server::{Script, Turn};
use serde_json::json;

use crate::fixture::{Fixture, last_result};
use crate::pty::Pty;

const FOCUS: &str = "\x19";

/// Ends the host with the test.
struct HostGuard<'a>(&'a Fixture);

impl Drop for HostGuard<'_> {
    fn drop(&mut self) {
        self.0.run(&["host", "stop"]);
    }
}

/// A model that writes a file if the newest message says so.
async fn writing() -> Fixture {
    let fixture = Fixture::new(Script::answer(|request| {
        let said = request.body.to_string();
        match last_result(&request.body) {
            Some((_, _, is_error)) => Turn::new().text(if is_error { "Refused." } else { "Written." }).into(),
            None if said.contains("write the note") => Turn::new()
                .call("toolu_1", "write_file", &json!({ "path": "note.txt", "content": "hello\n" }))
                .into(),
            None => Turn::new().text("Hello.").into(),
        }
    }))
    .await;
    fixture.run(&["config", "set", "mode", "default"]).expect(0);
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn two_terminals_share_prompts_questions_and_answers() {
    let fixture = writing().await;
    let _host = HostGuard(&fixture);
    let id = fixture.run(&["run", "--detach", "say hello"]).expect(0).stdout.trim().to_owned();
    let mut first = Pty::start(&fixture, &["attach", &id], 100, 30);
    let mut second = Pty::start(&fixture, &["attach", &id], 80, 24);
    for terminal in [&first, &second] {
        terminal.shows("say hello");
        terminal.shows("Hello.");
        terminal.shows("idle");
    }
    second.type_text("a draft of my own");
    first.type_text("write the note\r");
    for terminal in [&first, &second] {
        terminal.shows("write the note");
        terminal.shows("Allow write_file?");
    }
    second.shows("a draft of my own");
    assert!(!first.screen().contains("a draft of my own"), "{}", first.screen());
    first.type_text(FOCUS);
    first.shows("y/s/a/n/e>");
    std::thread::sleep(std::time::Duration::from_millis(400));
    first.type_text("y");
    for terminal in [&first, &second] {
        terminal.shows("Written.");
        terminal.lacks("Allow write_file?");
    }
    second.shows("a draft of my own");
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("note.txt")).unwrap(), "hello\n");
    // Leaving one terminal leaves the session to the other.
    assert_eq!(first.quit(), Some(0));
    second.type_text("\x03");
    second.type_text("still there?\r");
    second.shows("still there?");
    assert_eq!(second.quit(), Some(0));
}
