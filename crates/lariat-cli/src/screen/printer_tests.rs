use lariat_core::event::{Event, RunOutcome};
use lariat_core::permission::AllowAll;
use lariat_core::tool::ToolEffects;
use lariat_proofs::engine::Agent;
use lariat_proofs::terminal::{assert_harmless, hostile, without_sequences};
use lariat_test::{Act, Ledger, LedgerTool, Reply, ScriptedModel, SeededRandom, VirtualClock};
use serde_json::json;

use super::*;
use crate::screen::summary::Summary;
use crate::screen::test_data::*;

/// The output for events, each at its own time.
fn print(theme: Theme, verbosity: Verbosity, events: &[Event]) -> String {
    let mut printer = Printer::new(theme, verbosity);
    let mut shown: String = events.iter().map(|event| printer.event(event, event.timestamp)).collect();
    shown.push_str(&printer.finish());
    shown
}

/// The screen after an output, without trailing empty lines.
fn screen(output: &str, rows: u16, columns: u16) -> String {
    terminal(output, rows, columns).screen().contents()
}

/// A terminal after an output.
fn terminal(output: &str, rows: u16, columns: u16) -> vt100::Parser {
    let size = |number| std::num::NonZero::new(number).unwrap();
    let mut terminal = vt100::Parser::new(size(rows), size(columns), 1_000);
    terminal.process(output.replace('\n', "\r\n").as_bytes());
    terminal
}

const DIFF: &str = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-let a = 1;\n+let a = 2;\n";

/// A run with every kind of event.
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
fn prints_run_in_order() {
    let shown = print(Theme::plain(72), Verbosity::Normal, &run());
    insta::assert_snapshot!(screen(&shown, 40, 72), @r#"
    thinking… The parser fails on commas.

    I will look at the parser first.

    Then the test.

    ✓ read_file  src/a.rs  50ms
    ✗ bash  cargo test  8.7s  error: test failed
    ▸ attempt 1 failed, retrying in 4s: overloaded
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
fn verbose_shows_thinking_and_output() {
    let shown = print(Theme::plain(72), Verbosity::Verbose, &run());
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
    ▸ attempt 1 failed, retrying in 4s: overloaded
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
fn verbose_output_is_complete() {
    let output: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    let events = [
        loop_start(0),
        tool_start(100, "a", "bash", json!({"command": "seq 30"})),
        tool_end(200, "a", "bash", Ok((output.as_str(), Value::Null))),
    ];
    let shown = print(Theme::plain(72), Verbosity::Verbose, &events);
    assert!(
        shown.contains("line 21") && shown.contains("line 30") && !shown.contains("more lines"),
        "{shown}"
    );
}

#[test]
fn dumb_terminal_gets_plain_lines() {
    let theme = Theme { live: false, unicode: false, ..Theme::plain(72) };
    let shown = print(theme, Verbosity::Normal, &run());
    assert!(!shown.contains(['\r', '\u{1b}']));
    insta::assert_snapshot!(shown, @r#"
    thinking... The parser fails on commas.

    I will look at the parser first.

    Then the test.

    * read_file  src/a.rs
    + read_file  src/a.rs  50ms
    * bash  cargo test
    x bash  cargo test  8.7s  error: test failed
    > attempt 1 failed, retrying in 4s: overloaded
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
fn status_line_stays_at_bottom_until_run_ends() {
    let mut printer = Printer::new(Theme::plain(60), Verbosity::Normal);
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
fn scrollback_is_complete() {
    let output = print(Theme::plain(60), Verbosity::Normal, &run());
    let mut terminal = terminal(&output, 6, 60);
    terminal.screen_mut().set_scrollback(1_000);
    let top = terminal.screen().contents();
    let whole = screen(&output, 60, 60);
    assert_eq!(top.lines().take(5).collect::<Vec<_>>(), whole.lines().take(5).collect::<Vec<_>>());
    assert!(!whole.contains("waiting for the model"), "{whole}");
}

#[test]
fn redraws_at_most_ten_times_a_second() {
    let mut printer = Printer::new(Theme::plain(60), Verbosity::Normal);
    printer.event(&loop_start(0), at(0));
    let drawn = (1..=1_000).filter(|millis| !printer.tick(at(*millis)).is_empty()).count();
    assert_eq!(drawn, 10);
    // Streamed text is redrawn less often than once per character.
    let drawn =
        (1_001..=2_000).filter(|millis| !printer.event(&text_delta(*millis, "x"), at(*millis)).is_empty());
    assert!((25..=45).contains(&drawn.count()));
}

#[test]
fn question_pauses_the_printer() {
    let mut printer = Printer::new(Theme::plain(60), Verbosity::Normal);
    printer.event(&loop_start(0), at(0));
    printer.event(&text_delta(10, "I need to run something."), at(10));
    assert_eq!(printer.pause(), "\r\u{1b}[KI need to run something.\n");
    assert_eq!(printer.tick(at(5_000)), "");
    assert!(printer.resume(at(6_000)).starts_with('\r'));
    assert_eq!(printer.finish(), "\r\u{1b}[K");
}

/// Words appear before their paragraph is complete, and complete lines are written once.
#[test]
fn streamed_words_appear_at_once_and_only_once() {
    let mut printer = Printer::new(Theme::plain(30), Verbosity::Normal);
    let words = "It **fails** because the list has a trailing comma, and the parser of lists does not know those, \
                 so that every list of the file is rejected now; the fix is one line.\n\nAll of it is `done`.";
    let mut output = printer.event(&loop_start(0), at(0));
    for (number, word) in words.split_inclusive(' ').enumerate() {
        let now = 100 * (number as u64 + 1);
        output.push_str(&printer.event(&text_delta(now, word), at(now)));
        let shown = screen(&output, 40, 30);
        let last = word.trim().trim_matches(['*', '`', '.']).rsplit('\n').next().unwrap();
        assert!(shown.contains(last), "{last:?} is not there: {shown}");
    }
    output.push_str(&printer.event(&reply_end(9_000, words), at(9_000)));
    output.push_str(&printer.finish());
    insta::assert_snapshot!(screen(&output, 40, 30), @r"
    It fails because the list has
    a trailing comma, and the
    parser of lists does not know
    those, so that every list of
    the file is rejected now; the
    fix is one line.

    All of it is `done`.
    ");
    // The scrollback is intact: nothing was redrawn.
    let mut small = terminal(&output, 8, 30);
    small.screen_mut().set_scrollback(1_000);
    assert!(small.screen().contents().starts_with("It fails because the list has"));
}

/// Ctrl-C during a reply must not print the unfinished paragraph twice.
#[test]
fn interrupted_reply_is_printed_once() {
    let mut printer = Printer::new(Theme::plain(60), Verbosity::Normal);
    let mut output = printer.event(&loop_start(0), at(0));
    output.push_str(&printer.event(&text_delta(10, "Half a para"), at(10)));
    output.push_str(&printer.note(Style::Warning, "stopping", at(20)));
    output.push_str(&printer.event(&reply_end(30, "Half a para"), at(30)));
    output.push_str(&printer.finish());
    assert_eq!(screen(&output, 20, 60).trim_end(), "Half a para\n\n▸ stopping");
}

/// Tool calls that did not run have a line.
#[test]
fn prints_denied_call_and_unknown_tool() {
    let events = [
        loop_start(0),
        result(10, "c1", "bash", "Denied: not in this project", true),
        result(20, "c2", "bsh", "There is no tool named `bsh`. Available: bash.", true),
        loop_end(30, RunOutcome::Completed),
    ];
    insta::assert_snapshot!(screen(&print(Theme::plain(72), Verbosity::Normal, &events), 20, 72), @r"
    ✗ bash  denied: not in this project
    ✗ bsh  There is no tool named `bsh`. Available: bash.
    ");
}

/// The end of a command's output is visible while it runs, and disappears on success.
#[test]
fn shows_last_lines_of_running_command() {
    let mut printer = Printer::new(Theme::plain(40), Verbosity::Normal);
    let mut output = printer.event(&loop_start(0), at(0));
    let start = tool_start(100, "c1", "bash", json!({"command": "make"}));
    output.push_str(&printer.event(&start, at(100)));
    for (number, text) in ["one\ntwo\nthr", "ee\nfour\n50%\r100%"].iter().enumerate() {
        let now = 500 * (number as u64 + 1);
        let partial_result = std::sync::Arc::new(lariat_core::tool::ToolResult::text(*text));
        let update = AgentEvent::ToolExecutionUpdate {
            tool_call_id: "c1".into(),
            tool_name: "bash".to_owned(),
            partial_result,
        };
        output.push_str(&printer.event(&event(now, update), at(now)));
    }
    let shown = screen(&output, 20, 40);
    assert!(shown.starts_with("  three\n  four\n  100%\n⠋ bash 0s make"), "{shown}");
    let end = tool_end(2_000, "c1", "bash", Ok(("one", json!({"exit_code": 0, "output_bytes": 3}))));
    output.push_str(&printer.event(&end, at(2_000)));
    output.push_str(&printer.finish());
    assert_eq!(screen(&output, 20, 40).trim_end(), "✓ bash  make  1.9s");
}

#[test]
fn shows_tasks_only_when_they_change() {
    let list =
        |status: &str| json!({"items": [{"content": "fix", "status": status}], "completed": 0, "total": 1});
    let mut events = vec![loop_start(0)];
    for (number, status) in ["pending", "pending", "completed"].iter().enumerate() {
        let id = format!("c{number}");
        events.push(tool_start(10, &id, "todo", json!({"items": []})));
        events.push(tool_end(10, &id, "todo", Ok(("", list(status)))));
    }
    insta::assert_snapshot!(screen(&print(Theme::plain(40), Verbosity::Normal, &events), 20, 40), @r"
    ✓ todo  0ms  0 of 1 done
      ☐ fix
    ✓ todo  0ms  0 of 1 done
    ✓ todo  0ms  0 of 1 done
      ☑ fix
    ");
}

/// The typed line replaces the status line.
#[test]
fn shows_typed_line_at_bottom() {
    let mut printer = Printer::new(Theme::plain(20), Verbosity::Normal);
    let mut output = printer.event(&loop_start(0), at(0));
    output.push_str(&printer.draft("a line that is longer\u{1b}[2J", at(10)));
    let shown = screen(&output, 5, 20);
    assert!(shown.starts_with("› ") && shown.trim_end().ends_with("[2J"), "{shown}");
    output.push_str(&printer.draft("", at(20)));
    assert!(screen(&output, 5, 20).contains("waiting for"), "the status is back");
}

#[test]
fn ignores_events_of_subagents() {
    let mut printer = Printer::new(Theme::plain(60), Verbosity::Normal);
    printer.event(&loop_start(0), at(0));
    let mut other = EventRecord::clone(&text_delta(10, "# other\n"));
    other.loop_id = Some("s2.c.1".into());
    assert_eq!(printer.event(&other, at(500)), "");
}

#[test]
fn unstreamed_reply_is_printed_once() {
    let events = [loop_start(0), reply_end(10, "All at once."), loop_end(20, RunOutcome::Completed)];
    assert_eq!(
        without_sequences(&print(Theme { live: false, ..Theme::plain(60) }, Verbosity::Normal, &events)),
        "All at once.\n"
    );
}

#[test]
fn output_has_no_control_characters() {
    for seed in 0..300 {
        let mut dice = SeededRandom::new(seed);
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
            let shown = print(Theme::full(50), verbosity, &events);
            assert_harmless(&shown, &format!("seed {seed}"));
        }
    }
}

#[tokio::test]
async fn prints_text_tools_and_summary_of_a_real_run() {
    let clock = VirtualClock::new().shared();
    let replies = [
        Reply::text("Let me *look*.").then_call("c1", "write", json!({"path": "a"})).split(3),
        Reply::text("# Done\n\nIt works."),
    ];
    let tool = LedgerTool::new("write", Ledger::new(), clock.clone())
        .with_effects(ToolEffects::WRITES)
        .with_script(|_| Act::text("written"));
    let agent = Agent::builder()
        .model(ScriptedModel::new(replies).with_clock(clock.clone()))
        .clock(clock)
        .permission_policy(AllowAll)
        .tool(tool)
        .build()
        .unwrap();
    let mut printer = Printer::new(Theme::plain(60), Verbosity::Normal);
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
    shown.push_str(&summary.lines(&Theme::plain(60)));
    insta::assert_snapshot!(screen(&shown, 30, 60), @r#"
    Let me look.

    ✓ write  {"path":"a"}  0ms

    # Done

    It works.

    2 turns · 20 in, 10 out · 0ms
    continue: lariat run --resume s1
    "#);
}
