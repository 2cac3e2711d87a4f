use crossterm::event::{KeyCode, KeyModifiers};

use super::*;

fn with(name: &str, keys: &str) -> Result<Keymap, KeymapError> {
    Keymap::with(&BTreeMap::from([(name.to_owned(), keys.to_owned())]))
}

#[test]
fn every_default_key_can_be_read_and_is_shown_as_it_is_written() {
    for row in actions() {
        for key in row.keys {
            assert_eq!(Chord::parse(key).map(|chord| chord.to_string()).as_deref(), Ok(*key), "{}", row.name);
        }
    }
}

#[test]
fn no_scope_has_a_name_or_a_key_twice() {
    for (at, row) in actions().iter().enumerate() {
        for other in &actions()[at + 1..] {
            assert_ne!(row.name, other.name);
            let shared = row.keys.iter().find(|key| other.keys.contains(key));
            assert!(
                row.scope != other.scope || shared.is_none(),
                "{} and {}: {shared:?}",
                row.name,
                other.name
            );
        }
    }
}

#[test]
fn names_of_the_settings_stay() {
    for name in ["interrupt", "queue", "focus_ask", "full_screen", "pager", "editor", "history_search"] {
        assert!(actions().iter().any(|row| row.name == name), "{name}");
    }
}

#[test]
fn finds_actions_by_scope() {
    let keymap = Keymap::default();
    assert_eq!(keymap.action(Scope::Composer, &event("alt+enter")), Some(Action::Queue));
    assert_eq!(keymap.action(Scope::Session, &event("ctrl+y")), Some(Action::FocusAsk));
    assert_eq!(keymap.action(Scope::Composer, &event("ctrl+y")), None);
    assert_eq!(keymap.action(Scope::Pager, &event("G")), Some(Action::PagerLast));
    assert_eq!(keymap.action(Scope::Pager, &event("g")), Some(Action::PagerFirst));
}

#[test]
fn reads_a_chord_of_two_keys() {
    let keymap = Keymap::default();
    let KeyMeaning::Prefix(first) = keymap.meaning(Scope::Composer, None, &event("ctrl+x")) else { panic!() };
    let second = keymap.meaning(Scope::Composer, Some(first), &event("ctrl+e"));
    assert_eq!(second, KeyMeaning::Action(Action::Editor));
    // A key that ends no chord is what it is alone.
    let other = keymap.meaning(Scope::Composer, Some(first), &event("ctrl+a"));
    assert_eq!(other, KeyMeaning::Action(Action::LineStart));
}

#[test]
fn one_escape_interrupts_and_the_second_rewinds() {
    let keymap = Keymap::default();
    let escape = event("esc");
    assert_eq!(keymap.meaning(Scope::Session, None, &escape), KeyMeaning::Action(Action::Interrupt));
    let second = keymap.meaning(Scope::Session, Some(Key::of(&escape)), &escape);
    assert_eq!(second, KeyMeaning::Action(Action::Rewind));
}

#[test]
fn different_reports_of_one_key_are_the_same_key() {
    let keymap = Keymap::default();
    let control = KeyModifiers::CONTROL;
    for (code, modifiers, action) in [
        (KeyCode::Char('7'), control, Action::Undo),
        (KeyCode::Char('/'), control, Action::Undo),
        (KeyCode::Char('-'), control | KeyModifiers::SHIFT, Action::Undo),
        (KeyCode::Char('_'), control | KeyModifiers::SHIFT, Action::Undo),
        (KeyCode::Char('_'), KeyModifiers::ALT | KeyModifiers::SHIFT, Action::Redo),
    ] {
        let key = KeyEvent::new(code, modifiers);
        assert_eq!(keymap.action(Scope::Composer, &key), Some(action), "{key:?}");
    }
    for (code, modifiers) in [(KeyCode::BackTab, KeyModifiers::NONE), (KeyCode::BackTab, KeyModifiers::SHIFT)]
    {
        let key = KeyEvent::new(code, modifiers);
        assert_eq!(keymap.action(Scope::Session, &key), Some(Action::NextMode));
    }
}

#[test]
fn a_change_replaces_the_keys_and_takes_them_from_others() {
    let keymap = with("editor", "F4, ctrl+k").unwrap();
    assert_eq!(keymap.keys(Action::Editor), ["f4", "ctrl+k"]);
    assert_eq!(keymap.action(Scope::Composer, &event("ctrl+k")), Some(Action::Editor));
    assert_eq!(keymap.keys(Action::CutLineEnd), [""; 0]);
    assert_eq!(keymap.action(Scope::Composer, &event("ctrl+g")), None);
    assert_eq!(with("editor", "none").unwrap().hint(Action::Editor), "");
    assert_eq!(with("editor", "Ctrl+E").unwrap().hint(Action::Editor), "ctrl+e");
}

#[test]
fn errors_name_what_is_wrong_and_what_is_valid() {
    let error = with("editor", "ctrl+sapce").unwrap_err().to_string();
    assert!(
        error.starts_with("invalid key for `editor`: unknown key in `ctrl+sapce`; valid keys: "),
        "{error}"
    );
    assert!(error.contains("space") && error.contains("f1 to f24") && error.contains("ctrl+"), "{error}");
    let error = with("editor", "hyper+a").unwrap_err().to_string();
    assert!(error.contains("unknown modifier in `hyper+a`"), "{error}");
    let error = with("editor", "a b c").unwrap_err().to_string();
    assert!(error.contains("more than two keys"), "{error}");
    assert!(with("editor", "").unwrap_err().to_string().contains("missing key"));
    let error = with("edit", "a").unwrap_err().to_string();
    assert!(error.starts_with("unknown action `edit`; valid actions: interrupt, "), "{error}");
    let two = [("undo".to_owned(), "f5".to_owned()), ("redo".to_owned(), "f5".to_owned())];
    let error = Keymap::with(&BTreeMap::from(two)).unwrap_err().to_string();
    assert_eq!(error, "`f5` is set for both `redo` and `undo`");
}
