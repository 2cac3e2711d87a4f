use lariat_core::event::{Event, RunOutcome};
use lariat_core::permission::AllowAll;
use lariat_core::tool::ToolEffects;
use lariat_runtime::Agent;
use lariat_testkit::{Act, Ledger, LedgerTool, Reply, ScriptedModel, Seeded, VirtualClock};
use serde_json::json;

use super::*;
use crate::screen::samples::*;
use crate::screen::summary::Summary;

/// What a printer writes for events, at the time of each.
fn print(look: Look, verbosity: Verbosity, events: &[Event]) -> String {
    let mut printer = Printer::new(look, verbosity);
    let mut shown: String = events.iter().map(|event| printer.event(event, event.timestamp)).collect();
    shown.push_str(&printer.finish());
    shown
}

/// The screen of a terminal after it got an output, without empty lines at the end.
fn screen(output: &str, rows: u16, columns: u16) -> String {
    terminal(output, rows, columns).screen().contents()
}

/// A terminal that got an output.
fn terminal(output: &str, rows: u16, columns: u16) -> vt100::Parser {
    let size = |number| std::num::NonZero::new(number).unwrap();
    let mut terminal = vt100::Parser::new(size(rows), size(columns), 1_000);
    terminal.process(output.replace('\n', "\r\n").as_bytes());
    terminal
}

const DIFF: &str = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-let a = 1;\n+let a = 2;\n";

/// A run with one of everything.
fn run() -> Vec<Event> {
    vec![
        loop_start(0),
        turn_start(0, 0),
        reply_start(400),
        delta(500, StreamDelta::Thinking { delta: "The parser fails on commas.\nSo I".to_owned() }),
        delta(600, StreamDelta::Thinking { delta: " look at it.".to_owned() }),
        text_delta(900, "I will look at the **par"),
        text_delta(950, "ser** first.\n\nThen"),
        text_delta(980, " the test."),
        reply_end(1_000, "I will look at the **parser** first.\n\nThen the test."),
        tool_start(1_100, "c1", "read_file", json!({"path": "src/a.rs"})),
        tool_end(1_150, "c1", "read_file", Ok(("1 let a = 1;", json!({"lines": 1})))),
        tool_start(1_200, "c2", "bash", json!({"command": "cargo test"})),
        tool_end(9_900, "c2", "bash", Err("error: test failed\nmore")),
        turn_end(9_900),
        turn_start(9_900, 1),
        event(9_950, AgentEvent::ModelRetry { attempt: 1, delay_ms: 4_000, error: "overloaded".to_owned() }),
        reply_start(14_000),
        tool_start(15_000, "c3", "edit_file", json!({"path": "src/a.rs", "old_string": "1"})),
        tool_end(15_020, "c3", "edit_file", Ok(("Edited", json!({"path": "src/a.rs", "diff": DIFF})))),
        text_delta(16_000, "Done:\n- one\n- two\n"),
        reply_end(16_100, "Done:\n- one\n- two\n"),
        turn_end(16_100),
        loop_end(16_200, RunOutcome::Completed),
    ]
}

#[test]
fn a_run_reads_from_top_to_bottom() {
    let shown = print(Look::plain(72), Verbosity::Normal, &run());
    insta::assert_snapshot!(screen(&shown, 40, 72), @r#"
    thinking… The parser fails on commas.

    I will look at the parser first.

    Then the test.

    ✓ read_file  src/a.rs  50ms
    ✗ bash  cargo test  8.7s  error: test failed
    ▸ attempt 1 failed, the next begins in 4s: overloaded
    ✓ edit_file  src/a.rs  20ms  +1 -1
      src/a.rs
      1 - let a = 1;
      1 + let a = 2;

    Done:
    • one
    • two
    "#);
}

#[test]
fn more_is_told_to_whoever_asks_for_it() {
    let shown = print(Look::plain(72), Verbosity::Verbose, &run());
    insta::assert_snapshot!(screen(&shown, 50, 72), @r#"
      The parser fails on commas.
      So I look at it.

    I will look at the parser first.

    Then the test.

    ✓ read_file  src/a.rs  50ms
      1 let a = 1;
    ✗ bash  cargo test  8.7s  error: test failed
      error: test failed
      more
    ▸ attempt 1 failed, the next begins in 4s: overloaded
    ✓ edit_file  src/a.rs  20ms  +1 -1
      src/a.rs
      1 - let a = 1;
      1 + let a = 2;

    Done:
    • one
    • two
    "#);
}

#[test]
fn verbose_output_is_whole() {
    let output: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    let events = [
        loop_start(0),
        tool_start(100, "a", "bash", json!({"command": "seq 30"})),
        tool_end(200, "a", "bash", Ok((output.as_str(), Value::Null))),
    ];
    let shown = print(Look::plain(72), Verbosity::Verbose, &events);
    assert!(
        shown.contains("line 21") && shown.contains("line 30") && !shown.contains("more lines"),
        "{shown}"
    );
}

#[test]
fn a_dumb_terminal_gets_lines_only() {
    let look = Look { live: false, unicode: false, ..Look::plain(72) };
    let shown = print(look, Verbosity::Normal, &run());
    assert!(!shown.contains(['\r', '\u{1b}']));
    insta::assert_snapshot!(shown, @r#"
    thinking... The parser fails on commas.

    I will look at the parser first.

    Then the test.

    * read_file  src/a.rs
    + read_file  src/a.rs  50ms
    * bash  cargo test
    x bash  cargo test  8.7s  error: test failed
    > attempt 1 failed, the next begins in 4s: overloaded
    * edit_file  src/a.rs
    + edit_file  src/a.rs  20ms  +1 -1
      src/a.rs
      1 - let a = 1;
      1 + let a = 2;

    Done:
    - one
    - two
    "#);
}

#[test]
fn a_pipe_gets_the_last_reply_alone() {
    assert_eq!(print(Look::piped(), Verbosity::Normal, &run()), "Done:\n- one\n- two\n");
    let reply = [
        loop_start(0),
        reply_end(1, "first"),
        reply_end(2, "a\u{1b}[2Jb"),
        loop_end(3, RunOutcome::Completed),
    ];
    assert_eq!(print(Look::piped(), Verbosity::Verbose, &reply), "a⟨U+001B⟩[2Jb\n");
}

#[test]
fn the_status_line_is_below_everything_until_the_run_ends() {
    let mut printer = Printer::new(Look::plain(60), Verbosity::Normal);
    let mut output = String::new();
    for event in run() {
        let piece = printer.event(&event, event.timestamp);
        assert!(!piece.contains("\u{1b}[2J") && !piece.contains("\u{1b}[H"), "{piece:?}");
        output.push_str(&piece);
        let shown = screen(&output, 40, 60);
        let is_last = matches!(event.event, AgentEvent::AgentEnd { .. });
        let spinners = shown.lines().filter(|line| line.starts_with('⠋') || line.starts_with("⠙")).count();
        let below = shown.trim_end().lines().last().unwrap_or_default().chars().next();
        assert!(
            is_last || below.is_some_and(|letter| ('\u{2800}'..='\u{28ff}').contains(&letter)),
            "{shown}"
        );
        assert!(spinners <= 1 && !(is_last && spinners > 0), "{shown}");
    }
}

#[test]
fn what_scrolls_away_is_whole() {
    let output = print(Look::plain(60), Verbosity::Normal, &run());
    let mut terminal = terminal(&output, 6, 60);
    terminal.screen_mut().set_scrollback(1_000);
    let top = terminal.screen().contents();
    let whole = screen(&output, 60, 60);
    assert_eq!(top.lines().take(5).collect::<Vec<_>>(), whole.lines().take(5).collect::<Vec<_>>());
    assert!(!whole.contains("waiting for the model"), "{whole}");
}

#[test]
fn time_alone_draws_ten_times_a_second_at_most() {
    let mut printer = Printer::new(Look::plain(60), Verbosity::Normal);
    printer.event(&loop_start(0), at(0));
    let drawn = (1..=1_000).filter(|millis| !printer.tick(at(*millis)).is_empty()).count();
    assert_eq!(drawn, 10);
    // Deltas that complete nothing count as time.
    let drawn =
        (1_001..=2_000).filter(|millis| !printer.event(&text_delta(*millis, "x"), at(*millis)).is_empty());
    assert_eq!(drawn.count(), 10);
}

#[test]
fn a_question_has_the_screen_for_itself() {
    let mut printer = Printer::new(Look::plain(60), Verbosity::Normal);
    printer.event(&loop_start(0), at(0));
    printer.event(&text_delta(10, "I need to run something."), at(10));
    assert_eq!(printer.pause(), "\r\u{1b}[KI need to run something.\n");
    assert_eq!(printer.tick(at(5_000)), "");
    assert!(printer.resume(at(6_000)).starts_with('\r'));
    assert_eq!(printer.finish(), ERASE);
}

#[test]
fn helpers_are_not_mixed_in() {
    let mut printer = Printer::new(Look::plain(60), Verbosity::Normal);
    printer.event(&loop_start(0), at(0));
    let mut other = EventRecord::clone(&text_delta(10, "# other\n"));
    other.loop_id = Some("s2.c.1".into());
    assert_eq!(printer.event(&other, at(500)), "");
}

#[test]
fn a_reply_that_did_not_stream_is_printed_once() {
    let events = [loop_start(0), reply_end(10, "All at once."), loop_end(20, RunOutcome::Completed)];
    assert_eq!(
        without_ours(&print(Look { live: false, ..Look::plain(60) }, Verbosity::Normal, &events)),
        "All at once.\n"
    );
}

#[test]
fn no_event_gets_a_control_character_through() {
    for seed in 0..300 {
        let mut dice = Seeded::new(seed);
        let mut events = vec![loop_start(0)];
        for at in 0..12 {
            let (first, second) = (hostile(&mut dice), hostile(&mut dice));
            let millis = at * 70;
            events.push(match dice.below(8) {
                0 => text_delta(millis, &first),
                1 => delta(millis, StreamDelta::Thinking { delta: first }),
                2 => tool_start(millis, "c", &first, json!({"command": second, "path": first})),
                3 => tool_end(millis, "c", &first, Ok((&second, json!({"diff": second})))),
                4 => tool_end(millis, "c", "bash", Err(&second)),
                5 => event(millis, AgentEvent::HookStopped { reason: first }),
                6 => event(millis, AgentEvent::ModelRetry { attempt: 1, delay_ms: 1, error: first }),
                _ => reply_end(millis, &first),
            });
        }
        for verbosity in [Verbosity::Normal, Verbosity::Verbose] {
            let shown = print(Look::full(50), verbosity, &events);
            assert_harmless(&shown, &format!("seed {seed}"));
        }
    }
}

#[tokio::test]
async fn a_real_run_prints_its_text_its_tools_and_what_it_came_to() {
    let clock = VirtualClock::new().shared();
    let replies = [
        Reply::text("Let me *look*.").then_call("c1", "write", json!({"path": "a"})).split(3),
        Reply::text("# Done\n\nIt works."),
    ];
    let tool = LedgerTool::new("write", Ledger::new(), clock.clone())
        .with_effects(ToolEffects::WRITES)
        .acting(|_| Act::text("written"));
    let agent = Agent::builder()
        .model(ScriptedModel::new(replies).with_clock(clock.clone()))
        .clock(clock)
        .permission_policy(AllowAll)
        .tool(tool)
        .build()
        .unwrap();
    let mut printer = Printer::new(Look::plain(60), Verbosity::Normal);
    let mut stream = agent.prompt("go").unwrap();
    let mut shown = String::new();
    while let Some(event) = stream.next().await {
        shown.push_str(&printer.event(&event, event.timestamp));
    }
    shown.push_str(&printer.finish());
    let output = stream.finish().await.unwrap();
    let summary = Summary {
        outcome: &output.outcome,
        turns: output.turns,
        usage: output.usage,
        duration: output.duration,
        files: &output.files_changed,
        session: Some("s1"),
    };
    shown.push_str(&summary.lines(&Look::plain(60)));
    insta::assert_snapshot!(screen(&shown, 30, 60), @r#"
    Let me look.

    ✓ write  {"path":"a"}  0ms

    # Done

    It works.

    2 turns · 20 in, 10 out · 0ms
    go on: lariat run --resume s1
    "#);
}
