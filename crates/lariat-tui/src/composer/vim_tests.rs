use super::super::tests::{press, type_text};
use super::*;

fn normal(text: &str) -> Composer {
    let mut composer = Composer::new(Vec::new());
    composer.set_vim(true);
    composer.set_draft(text);
    press(&mut composer, &["esc", "g", "g"]);
    composer
}

fn after(text: &str, keys: &str) -> (String, usize) {
    let mut composer = normal(text);
    for key in keys.chars() {
        press(&mut composer, &[if key == ' ' { "space".to_owned() } else { key.to_string() }.as_str()]);
    }
    (composer.draft(), composer.buffer.caret())
}

#[test]
fn vim_keys_are_off_by_default() {
    let mut composer = Composer::new(Vec::new());
    type_text(&mut composer, "dd");
    assert_eq!((composer.vim_mode(), composer.draft().as_str()), (None, "dd"));
}

#[test]
fn escape_goes_to_normal_mode_and_i_back() {
    let mut composer = Composer::new(Vec::new());
    composer.set_vim(true);
    type_text(&mut composer, "hello");
    press(&mut composer, &["esc"]);
    assert_eq!((composer.vim_mode(), composer.buffer.caret()), (Some(VimMode::Normal), 4));
    type_text(&mut composer, "iX");
    assert_eq!((composer.vim_mode(), composer.draft().as_str()), (Some(VimMode::Insert), "hellXo"));
    // In normal mode, Esc is for the application.
    press(&mut composer, &["esc"]);
    assert_eq!(composer.key(crate::keymap::event("esc")), Outcome::Unused);
}

#[test]
fn motions_move_the_caret_as_in_vim() {
    for (keys, caret) in [
        ("l", 1),
        ("lh", 0),
        ("h", 0),
        ("w", 4),
        ("ww", 7),
        ("e", 2),
        ("ee", 6),
        ("$", 10),
        ("$b", 9),
        ("$0", 0),
        ("j", 12),
        ("jk", 0),
        ("G", 14),
        ("Ggg", 0),
    ] {
        assert_eq!(after("one two, ab\ncde", keys).1, caret, "{keys}");
    }
}

#[test]
fn commands_edit_the_draft_as_in_vim() {
    for (keys, text) in [
        ("x", "ne two\nx"),
        ("D", "\nx"),
        ("dd", "x"),
        ("jdd", "one two"),
        ("dw", "two\nx"),
        ("wdb", "two\nx"),
        ("de", " two\nx"),
        ("d$", "\nx"),
        ("ccnew", "new\nx"),
        ("cwnew", "new two\nx"),
        ("C!", "!\nx"),
        ("ddp", "x\none two"),
        ("yyp", "one two\none two\nx"),
        ("yyjP", "one two\none two\nx"),
        ("xp", "noe two\nx"),
        ("oab", "one two\nab\nx"),
        ("Oab", "ab\none two\nx"),
        ("wAb", "one twob\nx"),
        ("wIb", "bone two\nx"),
        ("ab", "obne two\nx"),
        ("ddu", "one two\nx"),
        ("dz", "one two\nx"),
    ] {
        assert_eq!(after("one two\nx", keys).0, text, "{keys}");
    }
}

#[test]
fn control_r_redoes() {
    let mut composer = normal("one");
    press(&mut composer, &["x", "u", "ctrl+r"]);
    assert_eq!(composer.draft(), "ne");
}

#[test]
fn goes_through_the_history_with_j_and_k() {
    let mut composer = Composer::new(vec!["old".to_owned()]);
    composer.set_vim(true);
    press(&mut composer, &["esc", "k"]);
    assert_eq!(composer.draft(), "old");
    press(&mut composer, &["j"]);
    assert_eq!(composer.draft(), "");
}

#[test]
fn enter_sends_in_normal_mode_and_the_next_draft_is_in_insert_mode() {
    let mut composer = normal("go");
    let outcome = composer.key(crate::keymap::event("enter"));
    assert_eq!(outcome, Outcome::Submit { text: "go".to_owned(), queue: false });
    composer.sent();
    assert_eq!(composer.vim_mode(), Some(VimMode::Insert));
}
