use super::*;

const TERMINAL: Facts<'static> = Facts {
    is_terminal: true,
    columns: Some(100),
    no_color: None,
    force_color: None,
    term: Some("xterm-256color"),
    colour: "auto",
    links: true,
    locale: Some("de_DE.UTF-8"),
};

#[test]
fn terminal_gets_all_features_and_pipe_gets_plain_text() {
    assert_eq!(Look::of(&TERMINAL), Look::full(100));
    let pipe = Facts { is_terminal: false, columns: None, ..TERMINAL };
    assert_eq!(Look::of(&pipe), Look::piped());
}

#[test]
fn color_follows_setting_then_environment_then_terminal() {
    let colour = |facts: Facts<'_>| Look::of(&facts).colour;
    let pipe = Facts { is_terminal: false, ..TERMINAL };
    for (facts, expected) in [
        (Facts { no_color: Some("1"), ..TERMINAL }, false),
        (Facts { no_color: Some(""), ..TERMINAL }, true),
        (Facts { no_color: Some("1"), colour: "always", ..TERMINAL }, true),
        (Facts { no_color: Some("1"), force_color: Some("1"), ..TERMINAL }, false),
        (Facts { force_color: Some("1"), ..pipe }, true),
        (Facts { force_color: Some("0"), ..pipe }, false),
        (Facts { colour: "never", force_color: Some("1"), ..TERMINAL }, false),
        (Facts { colour: "always", ..pipe }, true),
        (Facts { term: Some("dumb"), ..TERMINAL }, false),
    ] {
        assert_eq!(colour(facts), expected, "{facts:?}");
    }
}

#[test]
fn dumb_terminal_has_no_redraw_and_no_links() {
    let look = Look::of(&Facts { term: Some("dumb"), ..TERMINAL });
    assert!(look.is_terminal && !look.live && !look.links);
    assert!(!Look::of(&Facts { term: Some("linux"), ..TERMINAL }).links);
    assert!(!Look::of(&Facts { links: false, ..TERMINAL }).links);
}

#[test]
fn unknown_width_is_eighty() {
    assert_eq!(Look::of(&Facts { columns: Some(0), ..TERMINAL }).width, 80);
    assert_eq!(Look::of(&Facts { columns: None, ..TERMINAL }).width, 80);
    assert!(!Look::of(&Facts { locale: Some("C"), ..TERMINAL }).unicode);
    assert!(!Look::of(&Facts { locale: None, ..TERMINAL }).unicode);
}

#[test]
fn paint_resets_style() {
    let look = Look::full(80);
    assert_eq!(look.paint(Style::Strong, "a"), "\u{1b}[1ma\u{1b}[0m");
    assert_eq!(look.paint(Style::Plain, "a"), "a");
    assert_eq!(look.paint(Style::Strong, ""), "");
    assert_eq!(Look::plain(80).paint(Style::Bad, "a"), "a");
}

#[test]
fn link_target_cannot_end_its_sequence() {
    let look = Look::full(80);
    assert_eq!(
        look.link("https://x.y/a\u{1b}\\b c", "t"),
        "\u{1b}]8;;https://x.y/a%1B\\b%20c\u{1b}\\t\u{1b}]8;;\u{1b}\\"
    );
    assert_eq!(look.link("file:///etc/passwd", "t"), "t");
    assert_eq!(look.link("vscode://open", "t"), "t");
    assert_eq!(Look::plain(80).link("https://x.y", "t"), "t");
}
