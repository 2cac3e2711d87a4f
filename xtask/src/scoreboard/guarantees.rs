//! Checks that every guarantee of docs/guarantees.md names tests that exist and can fail, and proofs that run.

use anyhow::{Result, bail};

use crate::workspace::Workspace;

const PAGE: &str = "docs/guarantees.md";

/// Fails if a guarantee names no test, a test that does not exist, or an unknown command.
pub(super) fn check(workspace: &Workspace) -> Result<()> {
    let found = problems(&workspace.read(PAGE)?, |path| workspace.read(path).ok());
    if !found.is_empty() {
        bail!("{PAGE}:\n{}", found.join("\n"));
    }
    Ok(())
}

/// A guarantee: its heading and its text.
struct Guarantee<'a> {
    heading: &'a str,
    text: &'a str,
}

/// The guarantees of the page: its numbered sections.
fn guarantees(page: &str) -> Vec<Guarantee<'_>> {
    let sections = page.split("\n### ").skip(1);
    let parsed = sections.filter_map(|section| {
        let (heading, text) = section.split_once('\n')?;
        let text = text.split("\n## ").next().unwrap_or(text);
        heading.starts_with(|c: char| c.is_ascii_digit()).then_some(Guarantee { heading, text })
    });
    parsed.collect()
}

/// The code spans of a text.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// What is wrong with a page, whose files `read` returns.
fn problems(page: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut problems = Vec::new();
    for Guarantee { heading, text } in guarantees(page) {
        let mut tests = 0;
        for span in spans(text) {
            let Some((path, name)) = test_of(span) else { continue };
            match read(path) {
                None => problems.push(format!("{heading}: {path} does not exist")),
                Some(source) if has_test(path, &source, name) => tests += 1,
                Some(_) => problems.push(format!("{heading}: {span} is not a test")),
            }
        }
        if tests == 0 {
            problems.push(format!("{heading}: names no test"));
        }
        for command in spans(text).filter_map(|span| span.strip_prefix("cargo xtask ")) {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            if crate::menu::parse(&words).is_err() {
                problems.push(format!("{heading}: `cargo xtask {command}` does not exist"));
            }
        }
    }
    problems
}

/// The file and the name of a test, if a span names one: `crates/a/src/b.rs::name`, or a whole file of tests.
fn test_of(span: &str) -> Option<(&str, Option<&str>)> {
    let (path, name) = match span.split_once("::") {
        Some((path, name)) => (path, Some(name.rsplit("::").next().unwrap_or(name))),
        None => (span, None),
    };
    let is_source = path.ends_with(".rs") && (path.starts_with("crates/") || path.starts_with("proofs/"));
    is_source.then_some((path, name))
}

/// Whether a file has this test, or this check of a proof; without a name, whether it has tests.
fn has_test(path: &str, source: &str, name: Option<&str>) -> bool {
    let Some(name) = name else {
        return source.contains("#[test]")
            || source.contains("#[tokio::test")
            || source.contains("proptest!");
    };
    let Some(at) = source.find(&format!("fn {name}(")) else { return false };
    // Proofs and the conformance suite call their checks themselves.
    let is_check = path.starts_with("proofs/src/") || path.starts_with("crates/lariat-test/src/");
    let before = source.get(..at).unwrap_or_default();
    let attributes = before.rsplit("\n\n").next().unwrap_or_default();
    is_check
        || attributes.contains("#[test]")
        || attributes.contains("#[tokio::test")
        || before.contains("proptest!")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guarantee_names_tests_that_exist() {
        let workspace = Workspace::repository();
        assert!(guarantees(&workspace.read(PAGE).unwrap()).len() >= 30);
        check(&workspace).unwrap();
    }

    #[test]
    fn a_missing_test_a_helper_and_an_unknown_proof_are_problems() {
        let source = "#[test]\nfn works() {}\n\nfn helper() {}\n";
        let read = |path: &str| (path == "crates/a/src/b.rs").then(|| source.to_owned());
        let of = |text: &str| problems(&format!("# Page\n\n### 1. Works\n\n{text}\n"), read);
        assert_eq!(of("`crates/a/src/b.rs::works`, `cargo xtask layers`"), Vec::<String>::new());
        assert_eq!(of("`crates/a/src/b.rs::helper`").len(), 2);
        assert_eq!(of("`crates/a/src/c.rs::works`").len(), 2);
        assert_eq!(of("words only"), ["1. Works: names no test"]);
        assert_eq!(of("`crates/a/src/b.rs::works`, `cargo xtask lasso`").len(), 1);
    }
}
