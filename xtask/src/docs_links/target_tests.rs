use super::{Location, defines, has_word, problem, resolve, split_location};
use crate::docs_links::markdown::{Kind, Reference};
use crate::workspace::Workspace;

/// Tests run in the crate's directory, so `src/main.rs` exists and `src` is a top-level entry.
fn check(document: &str, kind: Kind, text: &str) -> Option<String> {
    problem(&Workspace::fake("target"), document, &Reference { line: 1, kind, text: text.to_owned() })
}

#[test]
fn accepts_valid_links() {
    for link in [
        "src/main.rs",
        "./src",
        "src/main.rs#L3",
        "#heading",
        "https://example.com/x",
        "mailto:a@example.com",
    ] {
        assert_eq!(check("README.md", Kind::Link, link), None, "{link}");
    }
    assert_eq!(check("docs/guide/a.md", Kind::Link, "../../src/main.rs"), None);
}

#[test]
fn rejects_links_to_missing_or_outside_files() {
    for link in ["src/gone.rs", "../xtask/src/main.rs", "main.rs"] {
        assert!(check("README.md", Kind::Link, link).is_some(), "{link}");
    }
}

#[test]
fn checks_line_and_name_of_file_references() {
    for good in [
        "src/main.rs",
        "src/main.rs:1",
        "src/main.rs:1-3",
        "src/main.rs::perform",
        "src/main.rs::a::perform()",
    ] {
        assert_eq!(check("README.md", Kind::Code, good), None, "{good}");
    }
    for bad in [
        "src/gone.rs",
        "src/gone.rs:1",
        "other/gone.rs:1",
        "src/main.rs:99999",
        "src/main.rs::perfor",
        "src/main.rs::",
        "src/main.rs::perform::",
        "src/main.rs::()",
    ] {
        assert!(check("README.md", Kind::Code, bad).is_some(), "{bad}");
    }
}

#[test]
fn ignores_code_that_is_not_a_file_reference() {
    for other in
        ["cargo xtask", "lariat-proofs/planted", ".claude/settings.json", "rule.rs", "a/b.rs c", "std::fs"]
    {
        assert_eq!(check("README.md", Kind::Code, other), None, "{other}");
    }
}

#[test]
fn splits_location_from_path() {
    assert_eq!(split_location("a/b.rs:12:4"), Some(("a/b.rs", Location::Line(12))));
    assert_eq!(split_location("a/b.rs:name"), Some(("a/b.rs", Location::Name("name"))));
    assert_eq!(split_location("a/b.rs"), Some(("a/b.rs", Location::Whole)));
    assert_eq!(split_location("https://example.com/b.rs"), None);
}

#[test]
fn rejects_paths_that_leave_the_repository() {
    assert_eq!(resolve("docs/a.md", "../b.md"), Some("b.md".to_owned()));
    assert_eq!(resolve("docs/a.md", "../../b.md"), None);
}

#[test]
fn matches_names_as_whole_words() {
    assert!(has_word("fn perform()", "perform"));
    assert!(!has_word("fn performed()", "perform"));
    assert!(!has_word("fn re_perform()", "perform"));
}

#[test]
fn name_of_a_rust_file_is_an_item_and_not_a_mention() {
    let source =
        "// fn commented\nasync fn one() { two(); }\nmacro_rules! three { () => {} }\nconst FOUR: u8 = 4;\n";
    for name in ["one", "three", "FOUR"] {
        assert!(defines(source, name), "{name}");
    }
    for name in ["commented", "two", "on"] {
        assert!(!defines(source, name), "{name}");
    }
}
