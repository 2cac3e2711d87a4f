use super::*;

const COLUMNS: &[Column] =
    &[Column::whole("session"), Column::text("title"), Column::number("turns"), Column::number("cost")];

fn rows() -> Vec<Vec<String>> {
    let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
    vec![
        row(["s1a2", "Make the parser accept trailing commas", "12", "$0.0123"]),
        row(["s9", "漢字 in names", "3", "$1.20"]),
        row(["s10", "a\u{1b}[2Jb", "100", "$0"]),
    ]
}

#[test]
fn aligns_numbers_right_and_shrinks_text() {
    insta::assert_snapshot!(table(COLUMNS, &rows(), &Theme::plain(44)), @r#"
    session  title                turns     cost
    s1a2     Make the parser ac…     12  $0.0123
    s9       漢字 in names            3    $1.20
    s10      a⟨U+001B⟩[2Jb          100       $0
    "#);
    insta::assert_snapshot!(table(COLUMNS, &rows(), &Theme::piped()), @r#"
    session  title                                   turns     cost
    s1a2     Make the parser accept trailing commas     12  $0.0123
    s9       漢字 in names                               3    $1.20
    s10      a⟨U+001B⟩[2Jb                             100       $0
    "#);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in 34..90 {
        for line in table(COLUMNS, &rows(), &Theme::plain(width)).lines() {
            assert!(text::width(line) <= width, "{width}: {line:?}");
        }
    }
}

#[test]
fn whole_columns_are_not_cut_and_table_may_be_empty() {
    let columns = [Column::whole("session"), Column::text("title")];
    let rows = [vec!["0123456789".to_owned(), "abcdefghijkl".to_owned()]];
    assert_eq!(table(&columns, &rows, &Theme::plain(10)), "session     title\n0123456789  abcdefg…\n");
    assert_eq!(table(&columns, &[], &Theme::full(80)), "session  title\n");
}
