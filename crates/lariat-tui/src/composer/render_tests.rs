use super::super::tests::{press, type_text};
use super::super::{CommandHint, Request};
use super::*;

fn hint(name: &str, arguments: &str, summary: &str) -> CommandHint {
    let [name, arguments, summary] = [name, arguments, summary].map(str::to_owned);
    CommandHint { name, arguments, summary }
}

fn composer() -> Composer {
    let mut composer = Composer::new(vec!["fix the parser".to_owned(), "two\nlines 日本".to_owned()]);
    composer.set_commands(vec![
        hint("clear", "", "Start a new session"),
        hint("compact", "[focus]", "Summarize the conversation to free context"),
        hint("model", "[name]", "Show or change the model"),
        hint("permissions", "", "List the permission rules of this session"),
    ]);
    composer
}

/// The rows with the caret as `▮`.
fn screen(composer: &mut Composer, columns: usize, most: usize) -> String {
    let (rows, caret) = composer.rows(&Theme::plain(columns), most);
    let mark = |(at, row): (usize, &String)| {
        if at != caret.row {
            return row.trim_end().to_owned();
        }
        let (start, rest) = text::split(row, caret.column);
        let gap = " ".repeat(caret.column - text::width(start));
        format!("{start}{gap}▮{rest}").trim_end().to_owned()
    };
    rows.iter().enumerate().map(mark).collect::<Vec<_>>().join("\n")
}

#[test]
fn prompts_and_placeholder() {
    let mut shown = Vec::new();
    for text in ["", "hello", "!ls", "#note", "/clear", "two\nlines\n"] {
        let mut composer = composer();
        composer.set_draft(text);
        shown.push(screen(&mut composer, 80, 8));
        shown.push(screen(&mut composer, 40, 8));
    }
    insta::assert_snapshot!(shown.join("\n--\n"));
}

#[test]
fn commands_at_80_and_40_columns() {
    let mut composer = composer();
    type_text(&mut composer, "/");
    press(&mut composer, &["down"]);
    let wide = screen(&mut composer, 80, 23);
    let narrow = screen(&mut composer, 40, 9);
    let low = screen(&mut composer, 40, 3);
    press(&mut composer, &["tab"]);
    let arguments = screen(&mut composer, 40, 9);
    insta::assert_snapshot!([wide, narrow, low, arguments].join("\n--\n"));
}

#[test]
fn files_at_80_and_40_columns() {
    let mut composer = composer();
    type_text(&mut composer, "look at @ma");
    let files =
        ["src/main.rs", "a\u{1b}[31m/mark.rs", "crates/with/a/very/long/path/that/does/not/fit/main.rs"];
    let request = Request::Files { query: "ma".to_owned() };
    composer.completed(&request, files.map(|file| file.to_owned().into()).to_vec());
    let wide = screen(&mut composer, 80, 23);
    let narrow = screen(&mut composer, 40, 9);
    insta::assert_snapshot!([wide, narrow].join("\n--\n"));
}

#[test]
fn history_search_at_80_and_40_columns() {
    let mut composer = composer();
    press(&mut composer, &["ctrl+r"]);
    type_text(&mut composer, "lin");
    let wide = screen(&mut composer, 80, 23);
    let narrow = screen(&mut composer, 40, 2);
    type_text(&mut composer, "z");
    let failed = screen(&mut composer, 40, 9);
    insta::assert_snapshot!([wide, narrow, failed].join("\n--\n"));
}

#[test]
fn a_long_draft_scrolls_with_the_caret() {
    let mut composer = composer();
    composer.set_draft("1\n2\n3\n4\n5\n6");
    assert_eq!(screen(&mut composer, 40, 3), "  4\n  5\n  6▮");
    press(&mut composer, &["up", "up"]);
    assert_eq!(screen(&mut composer, 40, 3), "  4▮\n  5\n  6");
    press(&mut composer, &["up"]);
    assert_eq!(screen(&mut composer, 40, 3), "  3▮\n  4\n  5");
    press(&mut composer, &["down"]);
    assert_eq!(screen(&mut composer, 40, 3), "  3\n  4▮\n  5");
}

#[test]
fn ascii_terminals_get_ascii_marks() {
    let mut composer = composer();
    type_text(&mut composer, "/");
    let theme = Theme { unicode: false, ..Theme::plain(40) };
    let (rows, _) = composer.rows(&theme, 9);
    assert!(rows.iter().all(|row| row.is_ascii()), "{rows:?}");
}

/// The caret is in the cell where a terminal would put the next character.
#[test]
fn the_caret_is_where_the_terminal_puts_the_next_character() {
    for text in ["abc", "日本語", "a日b本", "한글 test", "tab\tx", "e\u{301}e\u{301}", "😀 ok", "\u{1b}[2J"]
    {
        for columns in [40, 9, 12] {
            let mut composer = composer();
            composer.set_draft(text);
            let (rows, caret) = composer.rows(&Theme::full(columns), 8);
            let mut terminal = vt100::Parser::new(
                8_u16.try_into().unwrap(),
                u16::try_from(columns).unwrap().try_into().unwrap(),
                0,
            );
            terminal.process(rows.join("\r\n").as_bytes());
            let (row, column) = terminal.screen().cursor_position();
            let place = (usize::from(row), usize::from(column));
            assert_eq!(place, (caret.row, caret.column), "{text:?} in {columns}: {rows:?}");
        }
    }
}
