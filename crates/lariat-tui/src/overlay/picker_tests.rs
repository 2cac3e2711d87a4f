use super::*;
use crate::keymap::event;

fn items(count: usize) -> Vec<Item> {
    let item = |at: usize| Item {
        id: format!("id{at}"),
        label: format!("session {at} 日本"),
        detail: format!("{at} minutes ago"),
        preview: at
            .is_multiple_of(2)
            .then(|| format!("user: question {at}\nassistant: \u{1b}[31manswer {at}")),
        depth: 0,
    };
    (0..count).map(item).collect()
}

fn picker(count: usize) -> Picker {
    Picker::new("Sessions", items(count), Keymap::default()).with_hint("delete remove")
}

fn press(picker: &mut Picker, keys: &[&str]) -> OverlayOutcome {
    keys.iter().fold(OverlayOutcome::Unused, |_, key| picker.key(event(key)))
}

fn screen(picker: &mut Picker, columns: usize, rows: usize) -> String {
    let (shown, caret) = picker.rows(&Theme::plain(columns), Size { columns, rows });
    assert!(shown.len() <= rows);
    assert!(shown.iter().all(|row| text::width(row) <= columns && !row.contains('\u{1b}')), "{shown:#?}");
    let shown: Vec<_> = shown.iter().map(|row| row.trim_end()).collect();
    format!("{}\n{caret:?}", shown.join("\n"))
}

#[test]
fn moves_by_item_page_and_end() {
    let mut picker = picker(30);
    screen(&mut picker, 40, 10);
    let id = |picker: &Picker| picker.selected().unwrap().id.clone();
    for (keys, selected) in [
        (&["down", "down"][..], "id2"),
        (&["up"], "id1"),
        (&["pagedown"], "id8"),
        (&["end", "down"], "id29"),
        (&["pageup"], "id22"),
        (&["home", "up"], "id0"),
    ] {
        press(&mut picker, keys);
        assert_eq!(id(&picker), selected, "{keys:?}");
        // The selected item is on the screen.
        assert!(screen(&mut picker, 40, 10).contains("❯ session"));
    }
}

#[test]
fn typing_filters_and_enter_chooses() {
    let mut picker = picker(30);
    press(&mut picker, &["2", "7"]);
    assert_eq!(press(&mut picker, &["enter"]), OverlayOutcome::Chosen("id27".to_owned()));
    press(&mut picker, &["x", "x", "x"]);
    assert!(picker.selected().is_none());
    assert_eq!(press(&mut picker, &["enter"]), OverlayOutcome::Changed);
    assert!(screen(&mut picker, 40, 10).contains("nothing matches"));
    press(&mut picker, &["ctrl+u"]);
    assert_eq!(picker.selected().unwrap().id, "id0");
    picker.paste("sess 12\nmore");
    assert_eq!(picker.selected().unwrap().id, "id12");
    press(&mut picker, &["backspace"]);
    assert_eq!(picker.filter, "sess 1");
    assert_eq!(press(&mut picker, &["esc"]), OverlayOutcome::Closed);
}

#[test]
fn other_keys_are_for_the_application() {
    let mut picker = picker(3);
    for key in ["delete", "ctrl+x", "f2", "tab", "backspace"] {
        assert_eq!(press(&mut picker, &[key]), OverlayOutcome::Unused, "{key}");
    }
}

#[test]
fn new_items_keep_the_selection_and_the_filter() {
    let mut picker = picker(10);
    press(&mut picker, &["down", "down", "down"]);
    picker.set_items(items(10).into_iter().skip(2).collect());
    assert_eq!(picker.selected().unwrap().id, "id3");
    picker.set_items(Vec::new());
    assert!(picker.selected().is_none());
    assert!(screen(&mut picker, 40, 10).contains("0/0"));
    picker.set_items(items(10));
    picker.select("id7");
    assert_eq!(picker.selected().unwrap().id, "id7");
}

#[test]
fn asks_for_a_preview_that_is_not_there() {
    let mut picker = picker(3);
    assert_eq!(picker.wanted_preview(), None);
    press(&mut picker, &["down"]);
    assert_eq!(picker.wanted_preview(), Some("id1"));
    picker.set_preview("id1", "now it is".to_owned());
    assert!(screen(&mut picker, 100, 10).contains("now it is"));
}

#[test]
fn fits_small_and_large_terminals() {
    let mut picker = picker(12);
    press(&mut picker, &["down", "down"]);
    let shown =
        [(80, 24), (40, 10), (10, 3), (1, 1)].map(|(columns, rows)| screen(&mut picker, columns, rows));
    insta::assert_snapshot!(shown.join("\n--\n"));
}
