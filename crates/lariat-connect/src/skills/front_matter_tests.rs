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
fn valid_yaml_is_read_as_yaml() {
    let front = front(
        "name: \"tab\\there\"\ndescription: 'one\n  two'\nallowed: &tools [Read, 'a, b']\nagain: *tools\nopen:\n\
         metadata:\n  author: ada\n  stable: true\nflow: {\n  a: 1 }\nfolded: >\n  a\n    b\n\n  c",
    );
    assert_eq!(front.get("name"), Some("tab\there"));
    assert_eq!(front.get("description"), Some("one two"));
    assert_eq!(front.list("allowed"), ["Read", "a, b"]);
    assert_eq!(front.list("again"), ["Read", "a, b"]);
    assert_eq!(front.get("open"), Some(""));
    assert_eq!(front.get("metadata"), Some("author: ada\nstable: true"));
    assert_eq!(front.get("flow"), Some("a: 1"));
    assert_eq!(front.get("folded"), Some("a\n  b\n\nc"));
}

#[test]
fn invalid_yaml_is_read_leniently() {
    for (text, key, values) in [
        ("paths: **/*.rs, src/*\nname: x", "paths", &["**/*.rs", "src/*"][..]),
        ("paths:\n  - *.md\n  - a: b: c", "paths", &["*.md", "a: b: c"]),
        ("name: a\nname: b", "name", &["a"]),
        ("description: see [the docs\nname: x", "description", &["see [the docs"]),
        ("name: @me\n%x: y", "name", &["@me"]),
    ] {
        assert_eq!(front(text).list(key), values, "{text}");
    }
    // Aliases that double each other must not take for ever.
    let mut bomb = "a0: &a0 [x, x]\n".to_owned();
    (1..60).for_each(|at| bomb.push_str(&format!("a{at}: &a{at} [*a{0}, *a{0}]\n", at - 1)));
    assert_eq!(front(&bomb).list("a0").len(), 2);
}

#[test]
fn text_without_front_matter_is_all_body() {
    for text in ["", "# Title\n", "---\nname: never closed\n", "text\n---\n"] {
        assert_eq!(FrontMatter::split(text), (FrontMatter::default(), text));
    }
    let (front, body) = FrontMatter::split("\u{feff}---\r\nname: a\r\n---\r\nbody\r\n");
    assert_eq!((front.get("name"), body), (Some("a"), "body\r\n"));
}
