use super::*;

fn front(text: &str) -> FrontMatter {
    FrontMatter::of(&format!("---\n{text}\n---\nbody"))
}

#[test]
fn parses_flat_keys_with_colons_comments_and_quotes() {
    let front = front(
        "name: pdf\n# a comment\ndescription: Use when: the user says PDF # really\nlicense: \"MIT\"\nother: 'it''s'",
    );
    assert_eq!(front.get("name"), Some("pdf"));
    assert_eq!(front.get("description"), Some("Use when: the user says PDF"));
    assert_eq!(front.get("license"), Some("MIT"));
    assert_eq!(front.get("other"), Some("it's"));
    assert_eq!(front.get("missing"), None);
}

#[test]
fn joins_indented_continuation_lines() {
    let front =
        front("description: >-\n  Fills\n  forms.\n\n  Always.\nliteral: |\n  a\n  b\nplain: one\n  two");
    assert_eq!(front.get("description"), Some("Fills forms.\nAlways."));
    assert_eq!(front.get("literal"), Some("a\nb"));
    assert_eq!(front.get("plain"), Some("one two"));
}

#[test]
fn parses_lists_from_items_and_from_commas() {
    let front =
        front("paths:\n  - \"src/**/*.rs\"\n  - tests/*\nmore: a.rs, src/{b,c}.rs\ninline: [\"x\", y]");
    assert_eq!(front.list("paths"), ["src/**/*.rs", "tests/*"]);
    assert_eq!(front.list("more"), ["a.rs", "src/{b,c}.rs"]);
    assert_eq!(front.list("inline"), ["x", "y"]);
    assert!(front.list("missing").is_empty());
}

#[test]
fn text_without_front_matter_is_all_body() {
    for text in ["", "# Title\n", "---\nname: never closed\n", "text\n---\n"] {
        assert_eq!(FrontMatter::split(text), (FrontMatter::default(), text));
    }
    let (front, body) = FrontMatter::split("\u{feff}---\r\nname: a\r\n---\r\nbody\r\n");
    assert_eq!((front.get("name"), body), (Some("a"), "body\r\n"));
}
