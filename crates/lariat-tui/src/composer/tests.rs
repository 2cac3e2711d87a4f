use std::collections::BTreeSet;

use crossterm::event::KeyModifiers;
use proptest::prelude::*;

use super::*;
use crate::keymap::event;

pub(super) fn press(composer: &mut Composer, keys: &[&str]) -> Outcome {
    let mut outcome = Outcome::Unused;
    for key in keys {
        outcome = composer.key(event(key));
    }
    outcome
}

pub(super) fn type_text(composer: &mut Composer, text: &str) {
    for letter in text.chars() {
        let code = if letter == '\n' { KeyCode::Char('j') } else { KeyCode::Char(letter) };
        let modifiers = if letter == '\n' { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
        composer.key(KeyEvent::new(code, modifiers));
    }
}

fn with(text: &str) -> Composer {
    let mut composer = Composer::new(Vec::new());
    type_text(&mut composer, text);
    composer
}

fn past(sent: &[&str]) -> Composer {
    Composer::new(sent.iter().map(|text| (*text).to_owned()).collect())
}

fn submit(text: &str, queue: bool) -> Outcome {
    Outcome::Submit { text: text.to_owned(), queue }
}

#[test]
fn enter_submits_and_alt_enter_queues() {
    let mut composer = with("hello");
    assert_eq!(press(&mut composer, &["enter"]), submit("hello", false));
    assert_eq!(composer.draft(), "hello");
    assert_eq!(press(&mut composer, &["alt+enter"]), submit("hello", true));
    composer.sent();
    assert!(composer.is_empty());
    assert_eq!(press(&mut composer, &["enter"]), Outcome::Unused);
    assert_eq!(press(&mut with("  "), &["enter"]), Outcome::Unused);
}

#[test]
fn shift_enter_control_j_and_backslash_enter_break_the_line() {
    let mut composer = with("a");
    press(&mut composer, &["shift+enter", "b", "ctrl+j", "c", "\\", "enter", "d"]);
    assert_eq!(composer.draft(), "a\nb\nc\nd");
}

#[test]
fn what_is_typed_before_the_receipt_stays() {
    let mut composer = with("hello");
    press(&mut composer, &["enter"]);
    type_text(&mut composer, " more");
    composer.sent();
    assert_eq!((composer.draft().as_str(), composer.buffer.caret()), (" more", 5));
    press(&mut composer, &["up"]);
    assert_eq!(composer.draft(), "hello");
    // A draft that was changed in another way stays whole.
    let mut composer = with("hello");
    press(&mut composer, &["enter", "home", "x"]);
    composer.sent();
    assert_eq!(composer.draft(), "xhello");
}

#[test]
fn emacs_keys_move_and_cut() {
    for (keys, text) in [
        (&["ctrl+a", "x"][..], "xone two-three"),
        (&["ctrl+a", "ctrl+e", "x"], "one two-threex"),
        (&["ctrl+b", "x"], "one two-threxe"),
        (&["ctrl+a", "ctrl+f", "x"], "oxne two-three"),
        (&["alt+b", "x"], "one two-xthree"),
        (&["ctrl+left", "ctrl+left", "x"], "one xtwo-three"),
        (&["home", "alt+f", "x"], "onex two-three"),
        (&["home", "ctrl+right", "ctrl+right", "x"], "one twox-three"),
        (&["ctrl+w"], "one "),
        (&["alt+b", "ctrl+k"], "one two-"),
        (&["alt+b", "ctrl+u"], "three"),
        (&["home", "alt+d"], " two-three"),
        (&["backspace", "ctrl+h"], "one two-thr"),
        (&["home", "delete", "ctrl+d"], "e two-three"),
        (&["ctrl+w", "alt+y"], "one two-three"),
    ] {
        let mut composer = with("one two-three");
        press(&mut composer, keys);
        assert_eq!(composer.draft(), text, "{keys:?}");
    }
}

#[test]
fn cuts_in_a_row_are_yanked_together_and_again_yanks_the_one_before() {
    let mut composer = with("one two three");
    press(&mut composer, &["ctrl+w", "ctrl+w", "left", "right", "ctrl+u"]);
    assert_eq!(composer.draft(), "");
    press(&mut composer, &["alt+y"]);
    assert_eq!(composer.draft(), "one ");
    press(&mut composer, &["alt+y"]);
    assert_eq!(composer.draft(), "two three");
    press(&mut composer, &["alt+y"]);
    assert_eq!(composer.draft(), "one ");
}

#[test]
fn undo_and_redo() {
    let mut composer = with("one two");
    press(&mut composer, &["ctrl+w", "ctrl+_"]);
    assert_eq!(composer.draft(), "one two");
    press(&mut composer, &["alt+_"]);
    assert_eq!(composer.draft(), "one ");
    // A message that was sent comes back too.
    composer.sent();
    press(&mut composer, &["ctrl+_"]);
    assert_eq!(composer.draft(), "one ");
}

#[test]
fn control_d_and_control_c_on_an_empty_draft_are_for_the_application() {
    let mut composer = with("");
    for key in ["ctrl+d", "ctrl+c", "esc", "tab", "pageup", "ctrl+l", "ctrl+y", "ctrl+z", "down", "up"] {
        assert_eq!(press(&mut composer, &[key]), Outcome::Unused, "{key}");
    }
    assert_eq!(press(&mut with("x"), &["esc"]), Outcome::Unused);
}

#[test]
fn opens_the_editor_by_both_keys() {
    assert_eq!(press(&mut with("x"), &["ctrl+g"]), Outcome::OpenEditor);
    assert_eq!(press(&mut with("x"), &["ctrl+x", "ctrl+e"]), Outcome::OpenEditor);
    let mut composer = with("x");
    press(&mut composer, &["ctrl+x", "a"]);
    assert_eq!(composer.draft(), "xa");
}

#[test]
fn up_and_down_move_in_rows_and_keep_the_column() {
    let mut composer = with("abcdef\nx\nabcdef");
    press(&mut composer, &["left", "up"]);
    assert_eq!(composer.buffer.caret(), 8);
    press(&mut composer, &["up"]);
    assert_eq!(composer.buffer.caret(), 5);
    press(&mut composer, &["down", "down"]);
    assert_eq!(composer.buffer.caret(), 14);
    // Rows that the edge of the screen makes are rows too.
    let mut composer = with("abcdefghij");
    composer.rows(&Theme::plain(8), 5);
    press(&mut composer, &["up"]);
    assert_eq!(composer.buffer.caret(), 4);
}

#[test]
fn up_at_the_edge_goes_through_the_history_and_back_to_the_draft() {
    let mut composer = past(&["first", "two\nlines", "third"]);
    type_text(&mut composer, "draft");
    press(&mut composer, &["up"]);
    assert_eq!((composer.draft().as_str(), composer.buffer.caret()), ("third", 5));
    press(&mut composer, &["up"]);
    assert_eq!((composer.draft().as_str(), composer.buffer.caret()), ("two\nlines", 3));
    press(&mut composer, &["up"]);
    assert_eq!(composer.draft(), "first");
    assert_eq!(press(&mut composer, &["up"]), Outcome::Unused);
    assert_eq!(composer.draft(), "first");
    press(&mut composer, &["down", "down"]);
    assert_eq!(composer.draft(), "third");
    press(&mut composer, &["down"]);
    assert_eq!(composer.draft(), "draft");
    assert_eq!(press(&mut composer, &["down"]), Outcome::Unused);
}

#[test]
fn an_edited_message_of_the_past_is_a_draft_that_down_does_not_replace() {
    let mut composer = past(&["first", "second"]);
    press(&mut composer, &["up", "!"]);
    assert_eq!(press(&mut composer, &["down"]), Outcome::Unused);
    assert_eq!(composer.draft(), "second!");
    press(&mut composer, &["up", "down"]);
    assert_eq!(composer.draft(), "second!");
}

#[test]
fn the_history_does_not_repeat_a_message_sent_twice_in_a_row() {
    let mut composer = past(&["a", "b"]);
    for text in ["c", "c"] {
        type_text(&mut composer, text);
        press(&mut composer, &["enter"]);
        composer.sent();
    }
    press(&mut composer, &["up", "up"]);
    assert_eq!(composer.draft(), "b");
}

#[test]
fn searches_the_history_backwards() {
    let mut composer = past(&["fix the parser", "run tests", "fix the lexer", "ship it"]);
    type_text(&mut composer, "draft");
    press(&mut composer, &["ctrl+r"]);
    assert!(composer.is_busy());
    type_text(&mut composer, "fix");
    assert_eq!(composer.search.as_ref().unwrap().found(&composer.past), Some("fix the lexer"));
    press(&mut composer, &["ctrl+r"]);
    assert_eq!(composer.draft(), "draft");
    press(&mut composer, &["enter"]);
    assert_eq!(composer.draft(), "fix the parser");
    press(&mut composer, &["ctrl+_"]);
    assert_eq!(composer.draft(), "draft");
    press(&mut composer, &["ctrl+r", "z", "esc"]);
    assert_eq!((composer.draft().as_str(), composer.is_busy()), ("draft", false));
    assert!(composer.reachable().contains('z'));
}

#[test]
fn a_long_paste_is_one_block_and_sent_in_full() {
    let pasted = "line\r\n".repeat(240);
    let mut composer = with("see ");
    composer.paste(&pasted);
    type_text(&mut composer, "!");
    let (rows, caret) = composer.rows(&Theme::plain(80), 5);
    assert_eq!(rows, ["› see [pasted 240 lines]!"]);
    assert_eq!(caret, Caret { row: 0, column: 25 });
    let full = format!("see {}!", "line\n".repeat(240));
    assert_eq!(press(&mut composer, &["enter"]), submit(&full, false));
    press(&mut composer, &["left", "left", "x"]);
    assert_eq!(composer.rows(&Theme::plain(80), 5).0, ["› see x[pasted 240 lines]!"]);
    press(&mut composer, &["right", "backspace"]);
    assert_eq!(composer.draft(), "see x!");
    press(&mut composer, &["ctrl+_"]);
    assert_eq!(composer.draft().len(), "see x!".len() + 240 * 5);
}

#[test]
fn a_short_paste_is_text() {
    let mut composer = with("");
    composer.paste("a\rb\r\nc");
    assert_eq!((composer.draft().as_str(), composer.buffer.len()), ("a\nb\nc", 5));
    composer.paste(&"x".repeat(1_000));
    assert_eq!(composer.buffer.len(), 1_005);
    composer.paste(&"x".repeat(1_001));
    assert_eq!(composer.buffer.len(), 1_006);
    composer.paste(&"x\n".repeat(10));
    assert_eq!(composer.buffer.len(), 1_026);
    composer.paste(&"x\n".repeat(11));
    assert_eq!(composer.buffer.len(), 1_027);
}

#[test]
fn untrusted_text_is_neutralised_on_the_screen_and_sent_unchanged() {
    let text = "a\u{1b}[31m\u{202e}b\u{7}";
    let mut composer = with("");
    composer.paste(text);
    let (rows, _) = composer.rows(&Theme::full(80), 5);
    assert!(!rows[0].contains("\u{1b}[31m") && !rows[0].contains('\u{202e}') && !rows[0].contains('\u{7}'));
    assert_eq!(press(&mut composer, &["enter"]), submit(text, false));
}

#[test]
fn the_first_character_decides_what_the_draft_is() {
    for (text, kind) in [
        ("", Kind::Message),
        ("hi", Kind::Message),
        ("!ls", Kind::Shell),
        ("#note", Kind::Note),
        ("/", Kind::Command),
        ("/model x/y", Kind::Command),
        ("/usr/bin is full", Kind::Message),
        ("// comment", Kind::Message),
    ] {
        assert_eq!(with(text).kind(), kind, "{text}");
    }
    let mut composer = with("");
    composer.paste(&"!rm\n".repeat(20));
    assert_eq!(composer.kind(), Kind::Message);
}

#[test]
fn clear_and_set_draft_can_be_undone() {
    let mut composer = with("hello");
    composer.clear();
    assert!(composer.is_empty());
    press(&mut composer, &["alt+y"]);
    assert_eq!(composer.draft(), "hello");
    composer.set_draft("from the editor");
    press(&mut composer, &["ctrl+_"]);
    assert_eq!(composer.draft(), "hello");
}

#[test]
fn a_key_that_is_released_does_nothing() {
    let mut composer = with("");
    let mut key = event("a");
    key.kind = KeyEventKind::Release;
    assert_eq!((composer.key(key), composer.draft().as_str()), (Outcome::Unused, ""));
    key.kind = KeyEventKind::Repeat;
    composer.key(key);
    composer.key(KeyEvent::new(KeyCode::Char('a'), KeyModifiers::SHIFT));
    assert_eq!(composer.draft(), "aA");
}

#[test]
fn other_keys_can_be_set() {
    let mut composer = with("x");
    let changes = [("editor".to_owned(), "f4".to_owned())];
    composer.set_keymap(Keymap::with(&changes.into()).unwrap());
    assert_eq!(press(&mut composer, &["f4"]), Outcome::OpenEditor);
    assert_eq!(press(&mut composer, &["ctrl+g"]), Outcome::Unused);
}

/// A step of the property test.
#[derive(Clone, Debug)]
enum Step {
    /// Types a character that was never typed before.
    Fresh,
    Key(&'static str),
    Paste(usize),
    Completed,
    Sent,
    Draw(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let keys = crate::keymap::actions().iter().flat_map(|row| row.keys.iter().copied());
    let keys: Vec<&'static str> = keys
        .filter(|key| !key.contains(' '))
        .chain(["/", "@", "!", "#", "\\", "space", "m", "x", "p", "i", "o", "ctrl+x", "ctrl+s", "ctrl+e"])
        .collect();
    let step = prop_oneof![
        4 => Just(Step::Fresh),
        8 => prop::sample::select(keys).prop_map(Step::Key),
        1 => (0_usize..30).prop_map(Step::Paste),
        1 => Just(Step::Completed),
        1 => Just(Step::Sent),
        1 => (1_usize..50, 0_usize..12).prop_map(|(columns, rows)| Step::Draw(columns, rows)),
    ];
    prop::collection::vec(step, 0..120)
}

fn is_fresh(letter: &char) -> bool {
    ('\u{5000}'..'\u{6000}').contains(letter)
}

fn check(steps: Vec<Step>, vim: bool) -> Result<(), TestCaseError> {
    let mut composer = past(&["first message", "second\nmessage"]);
    composer.set_vim(vim);
    composer.set_commands(vec![CommandHint { name: "model".to_owned(), ..CommandHint::default() }]);
    let mut fresh = '\u{5000}'..'\u{6000}';
    let mut request = None;
    let mut seen = BTreeSet::new();
    for step in steps {
        let mut typed = None;
        let outcome = match step {
            Step::Fresh => {
                typed = fresh.next();
                composer.key(KeyEvent::new(KeyCode::Char(typed.unwrap()), KeyModifiers::NONE))
            }
            Step::Key(key) => composer.key(event(key)),
            Step::Paste(lines) => {
                let text: String = fresh.by_ref().take(lines).flat_map(|letter| [letter, '\n']).collect();
                seen.extend(text.chars().filter(is_fresh).filter(|_| composer.search.is_none()));
                composer.paste(&text);
                Outcome::Changed
            }
            Step::Completed => {
                let files = vec!["src/main.rs".to_owned().into(), "a b\u{1b}".to_owned().into()];
                if let Some(request) = &request {
                    composer.completed(request, files);
                }
                Outcome::Changed
            }
            Step::Sent => {
                composer.sent();
                Outcome::Changed
            }
            Step::Draw(columns, rows) => {
                let (shown, caret) = composer.rows(&Theme::plain(columns), rows);
                prop_assert!(shown.len() <= rows.max(1) && caret.row < shown.len(), "{shown:?} {caret:?}");
                prop_assert!(caret.column < columns.max(1), "{caret:?}");
                if columns > 3 {
                    let widest = shown.iter().map(|row| lariat_terminal::text::width(row)).max();
                    prop_assert!(widest <= Some(columns), "{shown:?}");
                }
                Outcome::Unused
            }
        };
        if let Outcome::Ask(asked) = outcome {
            request = Some(asked);
        }
        prop_assert!(composer.buffer.caret() <= composer.buffer.len());
        let reachable: BTreeSet<char> = composer.reachable().chars().filter(is_fresh).collect();
        if let Some(typed) = typed.filter(|_| !vim) {
            prop_assert!(reachable.contains(&typed), "{typed} was not typed");
        }
        seen.extend(composer.draft().chars().filter(is_fresh));
        let lost: Vec<_> = seen.difference(&reachable).collect();
        prop_assert!(lost.is_empty(), "lost {lost:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_key_and_no_paste_loses_text(steps in steps()) {
        check(steps, false)?;
    }

    #[test]
    fn no_vim_key_loses_text(steps in steps()) {
        check(steps, true)?;
    }
}
