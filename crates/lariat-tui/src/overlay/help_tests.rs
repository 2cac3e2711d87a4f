use std::collections::BTreeMap;

use super::*;
use crate::keymap::event;

fn help(keymap: Keymap) -> Help {
    let [name, arguments, summary] = ["model", "[name]", "Show or change the model"].map(str::to_owned);
    Help::new(keymap, vec![CommandHint { name, arguments, summary }])
}

fn screen(help: &mut Help, columns: usize, rows: usize) -> String {
    let (rows, _) = help.rows(&Theme::plain(columns), Size { columns, rows });
    assert!(rows.iter().all(|row| text::width(row) <= columns), "{rows:#?}");
    rows.iter().map(|row| row.trim_end()).collect::<Vec<_>>().join("\n")
}

#[test]
fn lists_every_action_and_command() {
    let all = screen(&mut help(Keymap::default()), 120, 300);
    for row in actions() {
        assert!(all.contains(row.description), "{}", row.name);
    }
    assert!(all.contains("/model [name]"));
}

#[test]
fn shows_the_keys_that_the_user_set() {
    let changes = BTreeMap::from([("editor".to_owned(), "f4".to_owned())]);
    let all = screen(&mut help(Keymap::with(&changes).unwrap()), 120, 300);
    let line = all.lines().find(|line| line.contains("$EDITOR")).unwrap();
    assert!(line.trim_start().starts_with("f4  "), "{line}");
}

#[test]
fn fits_small_and_large_terminals() {
    let mut help = help(Keymap::default());
    let wide = screen(&mut help, 80, 24);
    let narrow = screen(&mut help, 40, 10);
    help.key(event("pagedown"));
    let next = screen(&mut help, 40, 10);
    insta::assert_snapshot!([wide, narrow, next].join("\n--\n"));
    assert_eq!(help.key(event("q")), OverlayOutcome::Closed);
}
