//! Every finished row is printed once, whatever live items arrive.

use lariat_core::content::Content;
use lariat_core::event::{AgentEvent, RunOutcome, StreamDelta};
use lariat_terminal::painted;
use lariat_terminal::theme::Theme;
use proptest::prelude::*;
use serde_json::json;

use super::sample::*;
use crate::transcript::{Detail, Transcript};

const REPLY: &str = "I look at the **parser** first, because every list of the file is rejected since the last \
    change, and the change is small enough to read it as a whole, line by line, before anything else.\n\n\
    # What\n\n- one\n- two with `code` and more words than fit on one row of the terminal\n\n\
    | a | b |\n|---|---|\n| 1 | 2 |\n\n```rust\nfn main() { println!(\"a line of code that is longer than the row\"); }\n```\n\nDone.";
const THOUGHT: &str = "The parser fails on commas.\nSo I look.";

/// What a client does with the pieces of a reply.
#[derive(Clone, Debug)]
enum Step {
    /// This many bytes arrive.
    Arrive(usize),
    /// This many bytes are lost, and the client learns that something was.
    Lose(usize),
    /// The terminal prints.
    Print,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1_usize..60).prop_map(Step::Arrive),
        1 => (0_usize..60).prop_map(Step::Lose),
        4 => Just(Step::Print),
    ]
}

/// The live events of a reply, piece by piece, then its durable event; with the printed rows.
fn printed(steps: &[Step], theme: &Theme, texts: (&str, &str)) -> Vec<String> {
    let mut transcript = Transcript::new();
    let mut rows = Vec::new();
    let mut print = |transcript: &mut Transcript| rows.extend(transcript.take_finished(theme));
    let mut script = Script::default();
    script.user(1, "fix it").add(reply_start(2));
    script.events.iter().for_each(|event| transcript.apply(event));
    let (mut thought, mut text) = texts;
    for step in steps {
        match step {
            Step::Arrive(bytes) | Step::Lose(bytes) => {
                let is_thought = !thought.is_empty();
                let rest = if is_thought { &mut thought } else { &mut text };
                let (piece, after) = rest.split_at(rest.ceil_char_boundary(*bytes));
                *rest = after;
                let delta = if is_thought { thinking_delta(2, piece) } else { text_delta(2, piece) };
                match step {
                    Step::Lose(_) => transcript.resync(),
                    _ => transcript.apply_live(&wire(1, 0, delta)),
                }
            }
            Step::Print => print(&mut transcript),
        }
    }
    let mut script = Script::default();
    script.reply(2, vec![thinking(texts.0), Content::text(texts.1)]).run_end(RunOutcome::Completed);
    script.events.iter().for_each(|event| transcript.apply(event));
    print(&mut transcript);
    assert!(transcript.take_finished(theme).is_empty());
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_split_and_loss_prints_the_same_rows(
        steps in prop::collection::vec(step(), 0..60),
        width in 12_usize..100,
        is_full in any::<bool>(),
    ) {
        let theme = if is_full { Theme::full(width) } else { Theme::plain(width) };
        let expected = printed(&[], &theme, (THOUGHT, REPLY));
        prop_assert_eq!(printed(&steps, &theme, (THOUGHT, REPLY)), expected);
    }

    #[test]
    fn any_text_prints_the_same_rows(
        steps in prop::collection::vec(step(), 0..40),
        text in "([a-z]{1,9} |\\*\\*|`|\n|\n\n|- |```\n|\\| a \\| b \\|\n|[0-9]\\. |> |_|<b>|\\[x\\]\\(y\\)){0,60}",
    ) {
        let theme = Theme::plain(24);
        let expected = printed(&[], &theme, ("", &text));
        prop_assert_eq!(printed(&steps, &theme, ("", &text)), expected);
    }
}

/// Live rows continue after the printed rows: together they are the whole reply.
#[test]
fn printed_and_live_rows_are_the_reply_so_far() {
    let theme = Theme::plain(30);
    let mut transcript = Transcript::new();
    transcript.apply_live(&wire(0, 0, reply_start(1)));
    let mut printed = Vec::new();
    let mut so_far = String::new();
    for word in REPLY.split_inclusive(' ') {
        so_far.push_str(word);
        transcript.apply_live(&wire(0, 0, text_delta(1, word)));
        printed.extend(transcript.take_finished(&theme));
        let mut all = printed.clone();
        all.extend(transcript.live_rows(&theme, at(0), usize::MAX));
        let mut script = Script::default();
        script.reply(1, vec![Content::text(&so_far)]);
        let mut whole = Transcript::new();
        whole.apply(&script.events[0]);
        assert_eq!(all, whole.take_finished(&theme));
        assert_eq!(transcript.rows(&theme, Detail::Folded), all);
    }
    assert!(printed.len() > 5);
}

#[test]
fn resize_while_a_reply_arrives_loses_and_repeats_nothing() {
    let widths = [40, 20, 90, 13, 60];
    let mut transcript = Transcript::new();
    transcript.apply_live(&wire(0, 0, reply_start(1)));
    let mut rows: Vec<String> = Vec::new();
    for (at, word) in REPLY.split_inclusive(' ').enumerate() {
        transcript.apply_live(&wire(0, 0, text_delta(1, word)));
        let theme = Theme::full(widths[at / 12 % widths.len()]);
        let new = transcript.take_finished(&theme);
        assert!(new.iter().all(|row| painted::width(row) <= theme.width));
        rows.extend(new);
    }
    transcript.apply(&wire(
        0,
        0,
        ended(assistant(1, vec![Content::text(REPLY)], lariat_core::message::StopReason::Stop)),
    ));
    rows.extend(transcript.take_finished(&Theme::full(25)));
    let letters = |rows: &[String]| -> String {
        rows.iter()
            .flat_map(|row| painted::plain(row).chars().filter(|c| c.is_alphanumeric()).collect::<Vec<_>>())
            .collect()
    };
    let mut script = Script::default();
    script.reply(1, vec![Content::text(REPLY)]);
    let mut whole = Transcript::new();
    whole.apply(&script.events[0]);
    assert_eq!(letters(&rows), letters(&whole.take_finished(&Theme::full(40))));
}

/// A client that attaches in the middle of a reply does not know how it began.
#[test]
fn reply_without_its_start_is_a_preview_only() {
    let theme = Theme::plain(40);
    let mut transcript = Transcript::new();
    transcript.apply_live(&wire(0, 0, text_delta(1, "the end.\n\nOf it.\n\nAll")));
    assert!(transcript.take_finished(&theme).is_empty());
    assert_eq!(transcript.live_rows(&theme, at(0), 9), ["…", "the end.", "", "Of it.", "", "All"]);
    assert_eq!(transcript.live_rows(&theme, at(0), 2), ["", "All"]);
    let mut script = Script::default();
    script.reply(1, vec![Content::text("This is the end.\n\nOf it.\n\nAll.")]);
    transcript.apply(&script.events[0]);
    assert_eq!(transcript.take_finished(&theme), ["This is the end.", "", "Of it.", "", "All."]);
    assert!(transcript.live_rows(&theme, at(0), 9).is_empty());
}

#[test]
fn reply_that_changed_is_printed_again() {
    let theme = Theme::plain(60);
    let mut transcript = Transcript::new();
    transcript.apply_live(&wire(0, 0, reply_start(1)));
    transcript.apply_live(&wire(0, 0, text_delta(1, "One.\n\nTwo")));
    assert_eq!(transcript.take_finished(&theme), ["One."]);
    let mut script = Script::default();
    script.reply(1, vec![Content::text("Other.\n\nTwo.")]);
    transcript.apply(&script.events[0]);
    let expected = ["", "▸ the reply changed while it arrived; the whole reply:", "", "Other.", "", "Two."];
    assert_eq!(transcript.take_finished(&theme), expected);
}

#[test]
fn withdrawn_reply_is_noted_if_a_part_is_printed() {
    let theme = Theme::plain(60);
    for (text, expected) in [
        ("One.\n\nTwo", &["One.", "", "▸ the reply was cut off and discarded", "", "Next."][..]),
        ("One", &["Next."][..]),
    ] {
        for is_withdrawn in [true, false] {
            let mut transcript = Transcript::new();
            transcript.apply_live(&wire(0, 0, reply_start(1)));
            transcript.apply_live(&wire(0, 0, text_delta(1, text)));
            let mut rows = transcript.take_finished(&theme);
            if is_withdrawn {
                transcript.apply_live(&wire(0, 0, AgentEvent::MessageWithdrawn { message_id: id(1) }));
            } else {
                transcript.resync();
            }
            transcript.apply_live(&wire(0, 0, reply_start(2)));
            rows.extend(transcript.take_finished(&theme));
            let mut script = Script::default();
            script.reply(2, vec![Content::text("Next.")]);
            transcript.apply(&script.events[0]);
            rows.extend(transcript.take_finished(&theme));
            assert_eq!(rows, expected);
        }
    }
}

#[test]
fn other_blocks_wait_while_a_reply_is_printed() {
    let theme = Theme::plain(60);
    let mut transcript = Transcript::new();
    transcript.apply_live(&wire(0, 0, reply_start(1)));
    transcript.apply_live(&wire(0, 0, text_delta(1, "One.\n\nTwo")));
    let mut rows = transcript.take_finished(&theme);
    transcript.apply(&wire(0, 0, AgentEvent::ModeChanged { mode: "auto".to_owned() }));
    rows.extend(transcript.take_finished(&theme));
    assert_eq!(rows, ["One."]);
    let mut script = Script::default();
    script.reply(1, vec![Content::text("One.\n\nTwo.")]);
    transcript.apply(&script.events[0]);
    rows.extend(transcript.take_finished(&theme));
    assert_eq!(rows, ["One.", "", "Two.", "", "▸ mode: auto"]);
}

#[test]
fn running_call_shows_the_end_of_its_output() {
    let theme = Theme::plain(40);
    let mut script = Script::default();
    script.reply(1, vec![Content::tool_call("c1", "bash", json!({ "command": "make" }))]);
    script.call_starts("c1", "bash");
    for text in ["one\ntwo\nthr", "ee\nfour\n50%\r100%"] {
        script.add(output("c1", text));
    }
    let mut transcript = Transcript::new();
    script.events.iter().for_each(|event| transcript.apply(event));
    let expected = ["● bash  make  2s", "  three", "  four", "  100%"];
    assert_eq!(transcript.live_rows(&theme, at(2_000), 9), expected);
    assert_eq!(transcript.live_rows(&theme, at(2_000), 2), ["  four", "  100%"]);
    let progress = AgentEvent::ProgressMessage {
        tool_call_id: "c1".into(),
        tool_name: "bash".to_owned(),
        text: "linking".to_owned(),
    };
    transcript.resync();
    transcript.apply_live(&wire(0, 0, progress));
    assert_eq!(transcript.live_rows(&theme, at(2_000), 9), ["● bash  make  2s", "  linking"]);
    assert!(transcript.take_finished(&theme).is_empty());
}

#[test]
fn retry_is_live_until_the_reply_arrives() {
    let theme = Theme::plain(60);
    let mut transcript = Transcript::new();
    let retry = AgentEvent::ModelRetry { attempt: 1, delay_ms: 4_000, error: "overloaded".to_owned() };
    transcript.apply_live(&wire(0, 0, retry));
    assert_eq!(transcript.live_rows(&theme, at(0), 9), ["▸ attempt 1 failed, retrying in 4s: overloaded"]);
    transcript.apply_live(&wire(0, 0, reply_start(1)));
    assert!(transcript.live_rows(&theme, at(0), 9).is_empty());
}

/// Blocks depend on durable events only.
#[test]
fn live_items_do_not_change_the_rows_of_the_durable_events() {
    let theme = Theme::plain(50);
    let script = super::screens::session();
    let (mut with, mut without) = (Transcript::new(), Transcript::new());
    for event in &script.events {
        with.apply(event);
        if event.is_durable() {
            without.apply(event);
        }
    }
    for detail in [Detail::Folded, Detail::Full] {
        assert_eq!(with.rows(&theme, detail), without.rows(&theme, detail));
    }
    let tool = StreamDelta::ToolCallDelta { delta: "{".to_owned() };
    with.apply_live(&wire(0, 0, update(99, tool)));
    assert_eq!(with.take_finished(&theme), without.take_finished(&theme));
}
