use super::*;
use crate::keymap::event;

fn pager(count: usize) -> Pager {
    let theme = Theme::full(80);
    let rows =
        (1..=count).map(|at| format!("row {} of the text", theme.paint(Style::Strong, &at.to_string())));
    let mut pager = Pager::new("Transcript", rows.collect(), Keymap::default());
    screen(&mut pager, 40, 12);
    pager
}

fn press(pager: &mut Pager, keys: &[&str]) -> OverlayOutcome {
    keys.iter().fold(OverlayOutcome::Unused, |_, key| pager.key(event(key)))
}

fn screen(pager: &mut Pager, columns: usize, rows: usize) -> String {
    let (shown, caret) = pager.rows(&Theme::plain(columns), Size { columns, rows });
    assert_eq!(shown.len(), rows);
    let shown: Vec<_> = shown.iter().map(|row| painted::plain(row).trim_end().to_owned()).collect();
    assert!(shown.iter().all(|row| text::width(row) <= columns), "{shown:#?}");
    format!("{}\n{caret:?}", shown.join("\n"))
}

#[test]
fn scrolls_by_line_half_page_page_and_end() {
    let mut pager = pager(100);
    for (keys, top) in [
        (&["j", "down"][..], 2),
        (&["k"], 1),
        (&["space"], 10),
        (&["d"], 15),
        (&["u"], 10),
        (&["b", "pageup"], 0),
        (&["G", "j", "pagedown"], 90),
        (&["g"], 0),
        (&["end"], 90),
        (&["home", "up"], 0),
    ] {
        press(&mut pager, keys);
        assert_eq!(pager.top, top, "{keys:?}");
    }
    for key in ["q", "esc", "ctrl+c"] {
        assert_eq!(press(&mut pager, &[key]), OverlayOutcome::Closed);
    }
    assert_eq!(press(&mut pager, &["x"]), OverlayOutcome::Unused);
}

#[test]
fn searches_and_goes_to_the_next_and_previous_match() {
    let mut pager = pager(100);
    press(&mut pager, &["/", "R", "O", "W", "space", "5", "enter"]);
    assert_eq!((pager.top, pager.matches.len()), (4, 11));
    press(&mut pager, &["n"]);
    assert_eq!(pager.top, 49);
    press(&mut pager, &["N"]);
    assert_eq!(pager.top, 4);
    assert!(screen(&mut pager, 80, 12).contains("match 1/11"));
    let (rows, _) = pager.rows(&Theme::full(80), Size { columns: 80, rows: 12 });
    assert_eq!(rows[1], "\u{1b}[1;7;32mrow 5\u{1b}[0m of the text");
    // A search takes letters as text, and Esc leaves only the search.
    assert_eq!(press(&mut pager, &["/", "q", "y", "esc"]), OverlayOutcome::Changed);
    press(&mut pager, &["/", "z", "enter"]);
    assert!(screen(&mut pager, 80, 12).contains("match 0/0"));
}

#[test]
fn copies_text_without_styles() {
    let mut pager = pager(100);
    let OverlayOutcome::Copy(shown) = press(&mut pager, &["j", "y"]) else { panic!() };
    assert!(shown.starts_with("row 2 of the text\nrow 3 ") && shown.ends_with("row 11 of the text\n"));
    let OverlayOutcome::Copy(all) = press(&mut pager, &["Y"]) else { panic!() };
    assert_eq!(all.lines().count(), 100);
}

#[test]
fn stays_at_the_end_when_rows_arrive() {
    let mut pager = pager(100).at_end();
    screen(&mut pager, 40, 12);
    assert_eq!(pager.top, 90);
    pager.set_rows(vec![String::new(); 120]);
    assert_eq!(pager.top, 110);
    press(&mut pager, &["k"]);
    pager.set_rows(vec![String::new(); 130]);
    assert_eq!(pager.top, 109);
    pager.set_rows(vec![String::new(); 3]);
    assert_eq!(pager.top, 0);
}

#[test]
fn fits_small_and_large_terminals() {
    let mut pager = pager(30);
    let mut shown = vec![screen(&mut pager, 80, 24), screen(&mut pager, 40, 10), screen(&mut pager, 8, 3)];
    press(&mut pager, &["/", "r", "o", "w"]);
    shown.push(screen(&mut pager, 40, 10));
    insta::assert_snapshot!(shown.join("\n--\n"));
    assert_eq!(pager.rows(&Theme::plain(1), Size { columns: 1, rows: 1 }).0.len(), 1);
}
