//! Tests parts of a search.

use serde_json::json;

use super::matches::{FileMatches, ReportLine};
use super::pattern::{Filter, Pattern};
use super::report::Report;
use super::{Arguments, BenchTool, Mode, Search};
use crate::arguments;

fn arguments(value: serde_json::Value) -> Arguments {
    arguments::read(Search::FIELDS, value).unwrap()
}

fn file(path: &str, count: usize) -> FileMatches {
    let lines =
        (0..count).map(|line| ReportLine::Match { number: line as u64 + 1, text: "x".to_owned() }).collect();
    FileMatches { path: path.to_owned(), count, lines }
}

fn text(report: Report, arguments: &Arguments) -> String {
    serde_json::to_value(report.result(arguments, 9, &[])).unwrap()["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn report_pages_join_without_gaps_or_repetition() {
    for size in 1..9 {
        let mut seen = Vec::new();
        let mut offset = 0;
        loop {
            let arguments = arguments(json!({ "pattern": "x", "limit": size, "offset": offset }));
            let mut report = Report::new(Mode::Lines, offset, size);
            let _ = report.take(vec![file("a", 3), file("b", 1)]);
            let _ = report.take(vec![file("c", 4)]);
            let text = text(report, &arguments);
            let mut name = "";
            for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('[')) {
                match line.split_once(':') {
                    Some((number, _)) => seen.push(format!("{name}{number}")),
                    None => name = line,
                }
            }
            if !text.contains("more follow") {
                break;
            }
            offset += size;
        }
        assert_eq!(seen, ["a1", "a2", "a3", "b1", "c1", "c2", "c3", "c4"], "pages of {size}");
    }
}

#[test]
fn invalid_pattern_error_says_what_to_do() {
    let refused =
        |pattern: &str| Pattern::new(&arguments(json!({ "pattern": pattern })), 1).err().unwrap().to_string();
    assert!(refused("fn (").contains("escape"), "{}", refused("fn ("));
    assert!(refused("a\\nb").contains("set `multiline`"), "{}", refused("a\\nb"));
}

#[test]
fn globs_match_names_at_any_depth_and_paths_beneath_the_start() {
    let wants =
        |start: &str, glob: &str, path: &str| Filter::new(start, Some(glob), None).unwrap().wants(path);
    assert!(wants(".", "*.rs", "a/b/c.rs"));
    assert!(!wants(".", "*.rs", "a/b/c.py"));
    assert!(wants(".", "src/*.rs", "src/a.rs"));
    assert!(!wants(".", "src/*.rs", "src/b/a.rs"));
    assert!(wants("src", "b/**", "src/b/c/a.rs"));
    assert!(wants(".", "**/{a,b}.rs", "x/y/b.rs"));
    assert!(!wants(".", "!*.lock", "Cargo.lock"));
    assert!(wants(".", "!*.lock", "Cargo.toml"));
    assert!(Filter::new(".", Some("a{"), None).is_err());
}

#[test]
fn unknown_type_error_suggests_a_known_one() {
    assert!(Filter::new(".", None, Some("rust")).unwrap().wants("a/b.rs"));
    assert!(!Filter::new(".", None, Some("rust")).unwrap().wants("a/b.py"));
    let error = Filter::new(".", None, Some("rustt")).err().unwrap().to_string();
    assert!(error.contains("Did you mean `rust`?"), "{error}");
}
