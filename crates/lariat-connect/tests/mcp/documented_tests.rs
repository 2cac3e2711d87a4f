//! The table of features in `docs/mcp.md` names a test for each; this checks that the tests exist, and that no test of
//! misbehaviour is missing in the table.

use std::collections::BTreeSet;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mcp.md");
const FOLDERS: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../lariat-cli/tests/cli"),
];

/// The names of the test functions in a source.
fn tests_of(source: &str) -> impl Iterator<Item = &str> {
    let plain = source.split("test]\n").skip(1);
    plain.chain(source.split("test(flavor = \"multi_thread\")]\n").skip(1)).filter_map(|after| {
        let line = after.lines().find(|line| line.contains("fn "))?;
        Some(line.split("fn ").nth(1)?.split('(').next()?.trim())
    })
}

fn sources() -> Vec<(String, String)> {
    let files = FOLDERS.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "rs"));
    paths.map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap())).collect()
}

#[test]
fn the_page_names_tests_that_exist_and_every_test_of_misbehaviour() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let table =
        page.split("<!-- features:begin -->").nth(1).unwrap().split("<!-- features:end -->").next().unwrap();
    let named: BTreeSet<&str> =
        table.split('`').skip(1).step_by(2).filter(|name| name.contains('_')).collect();
    assert!(named.len() > 20, "{} tests are named", named.len());
    let sources = sources();
    let known: BTreeSet<&str> = sources.iter().flat_map(|(_, source)| tests_of(source)).collect();
    let missing: Vec<_> = named.difference(&known).collect();
    assert!(missing.is_empty(), "docs/mcp.md names tests that do not exist: {missing:?}");
    let (_, misbehaviour) = sources.iter().find(|(path, _)| path.ends_with("misbehaviour.rs")).unwrap();
    let unnamed: Vec<&str> = tests_of(misbehaviour).filter(|test| !named.contains(test)).collect();
    assert!(unnamed.is_empty(), "docs/mcp.md does not name these tests: {unnamed:?}");
    println!("{}", table.trim());
}
