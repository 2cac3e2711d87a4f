use super::*;

const TERMINAL: TerminalFacts<'static> = TerminalFacts {
    is_terminal: true,
    columns: Some(100),
    no_color: None,
    force_color: None,
    term: Some("xterm-256color"),
    colour: None,
    links: true,
    motion: true,
    pictures: None,
    locale: Some("de_DE.UTF-8"),
};

#[test]
fn terminal_gets_all_features_and_pipe_gets_plain_text() {
    assert_eq!(Theme::of(&TERMINAL), Theme::full(100));
    let pipe = TerminalFacts { is_terminal: false, columns: None, ..TERMINAL };
    assert_eq!(Theme::of(&pipe), Theme::piped());
}

#[test]
fn color_follows_setting_then_environment_then_terminal() {
    let colour = |facts: TerminalFacts<'_>| Theme::of(&facts).colour;
    let pipe = TerminalFacts { is_terminal: false, ..TERMINAL };
    for (facts, expected) in [
        (TerminalFacts { no_color: Some("1"), ..TERMINAL }, false),
        (TerminalFacts { no_color: Some(""), ..TERMINAL }, true),
        (TerminalFacts { no_color: Some("1"), colour: Some(true), ..TERMINAL }, true),
        (TerminalFacts { no_color: Some("1"), force_color: Some("1"), ..TERMINAL }, false),
        (TerminalFacts { force_color: Some("1"), ..pipe }, true),
        (TerminalFacts { force_color: Some("0"), ..pipe }, false),
        (TerminalFacts { colour: Some(false), force_color: Some("1"), ..TERMINAL }, false),
        (TerminalFacts { colour: Some(true), ..pipe }, true),
        (TerminalFacts { term: Some("dumb"), ..TERMINAL }, false),
    ] {
        assert_eq!(colour(facts), expected, "{facts:?}");
    }
}

#[test]
fn dumb_terminal_has_no_redraw_and_no_links() {
    let theme = Theme::of(&TerminalFacts { term: Some("dumb"), ..TERMINAL });
    assert!(theme.is_terminal && !theme.live && !theme.links);
    assert!(!Theme::of(&TerminalFacts { term: Some("linux"), ..TERMINAL }).links);
    assert!(!Theme::of(&TerminalFacts { links: false, ..TERMINAL }).links);
}

#[test]
fn unknown_width_is_eighty() {
    assert_eq!(Theme::of(&TerminalFacts { columns: Some(0), ..TERMINAL }).width, 80);
    assert_eq!(Theme::of(&TerminalFacts { columns: None, ..TERMINAL }).width, 80);
    assert!(!Theme::of(&TerminalFacts { locale: Some("C"), ..TERMINAL }).unicode);
    assert!(!Theme::of(&TerminalFacts { locale: None, ..TERMINAL }).unicode);
}

#[test]
fn paint_resets_style() {
    let theme = Theme::full(80);
    assert_eq!(theme.paint(Style::Strong, "a"), "\u{1b}[1ma\u{1b}[0m");
    assert_eq!(theme.paint(Style::Plain, "a"), "a");
    assert_eq!(theme.paint(Style::Strong, ""), "");
    assert_eq!(Theme::plain(80).paint(Style::Bad, "a"), "a");
}

#[test]
fn link_target_cannot_end_its_sequence() {
    let theme = Theme::full(80);
    assert_eq!(
        theme.link("https://x.y/a\u{1b}\\b c", "t"),
        "\u{1b}]8;;https://x.y/a%1B\\b%20c\u{1b}\\t\u{1b}]8;;\u{1b}\\"
    );
    assert_eq!(theme.link("file:///etc/passwd", "t"), "t");
    assert_eq!(theme.link("vscode://open", "t"), "t");
    assert_eq!(Theme::plain(80).link("https://x.y", "t"), "t");
}
