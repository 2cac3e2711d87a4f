use super::{Place, beside, fault, has_word, split_place};
use crate::docs_links::markdown::{Kind, Reference};
use crate::workspace::Workspace;

/// Tests run in the crate's folder, so `src/main.rs` exists and `src` is a top-level entry.
fn check(document: &str, kind: Kind, text: &str) -> Option<String> {
    fault(&Workspace::fake("target"), document, &Reference { line: 1, kind, text: text.to_owned() })
}

#[test]
fn links_that_lead_somewhere_pass() {
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
fn links_that_lead_nowhere_or_outside_fail() {
    for link in ["src/gone.rs", "../xtask/src/main.rs", "main.rs"] {
        assert!(check("README.md", Kind::Link, link).is_some(), "{link}");
    }
}

#[test]
fn file_references_are_checked_down_to_the_line_and_the_name() {
    for good in [
        "src/main.rs",
        "src/main.rs:1",
        "src/main.rs:1-3",
        "src/main.rs::perform",
        "src/main.rs::a::perform()",
    ] {
        assert_eq!(check("README.md", Kind::Code, good), None, "{good}");
    }
    for bad in ["src/gone.rs", "src/gone.rs:1", "other/gone.rs:1", "src/main.rs:99999", "src/main.rs::perfor"]
    {
        assert!(check("README.md", Kind::Code, bad).is_some(), "{bad}");
    }
}

#[test]
fn code_that_is_no_reference_of_ours_is_left_alone() {
    for other in
        ["cargo xtask", "lariat-testkit/planted", ".claude/settings.json", "rule.rs", "a/b.rs c", "std::fs"]
    {
        assert_eq!(check("README.md", Kind::Code, other), None, "{other}");
    }
}

#[test]
fn places_are_split_from_paths() {
    assert_eq!(split_place("a/b.rs:12:4"), Some(("a/b.rs", Place::Line(12))));
    assert_eq!(split_place("a/b.rs:name"), Some(("a/b.rs", Place::Name("name"))));
    assert_eq!(split_place("a/b.rs"), Some(("a/b.rs", Place::Whole)));
    assert_eq!(split_place("https://example.com/b.rs"), None);
}

#[test]
fn a_path_cannot_climb_out_of_the_repository() {
    assert_eq!(beside("docs/a.md", "../b.md"), Some("b.md".to_owned()));
    assert_eq!(beside("docs/a.md", "../../b.md"), None);
}

#[test]
fn a_name_is_a_whole_word() {
    assert!(has_word("fn perform()", "perform"));
    assert!(!has_word("fn performed()", "perform"));
    assert!(!has_word("fn re_perform()", "perform"));
}
