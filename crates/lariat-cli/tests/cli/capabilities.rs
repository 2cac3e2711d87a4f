//! Compares docs/capabilities.md with the public methods in the sources and with the commands of the program.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::help::COMMANDS;

/// A type, how its methods are declared, and the sources that declare them.
const TYPES: &[(&str, &str, &str, &str)] = &[
    ("Agent", "impl Agent {", "pub ", "lariat-runtime/src"),
    ("Gate", "impl Gate {", "pub ", "lariat-runtime/src"),
    ("Session", "impl Session {", "pub ", "lariat-service/src"),
    ("LocalService", "impl LocalService {", "pub ", "lariat-service/src"),
    ("LoopPlan", "impl LoopPlan {", "pub ", "lariat-service/src"),
    ("LoopRun", "impl LoopRun {", "pub ", "lariat-service/src"),
    ("MeasuredLoop", "impl MeasuredLoop {", "pub ", "lariat-service/src"),
    ("LoopMetrics", "impl LoopMetrics {", "pub ", "lariat-service/src"),
    ("RacePlan", "impl RacePlan {", "pub ", "lariat-service/src"),
    ("RaceRun", "impl RaceRun {", "pub ", "lariat-service/src"),
    ("SubAgentTool", "impl SubAgentTool {", "pub ", "lariat-runtime/src"),
    ("SessionArchive", "pub trait SessionArchive: SessionStore {", "", "lariat-core/src"),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn page() -> String {
    std::fs::read_to_string(crates().join("../docs/capabilities.md")).unwrap()
}

/// All Rust files below a directory.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found
}

/// The methods that blocks with this head declare, if their declaration starts with `visibility`.
fn methods(source: &str, head: &str, visibility: &str) -> Vec<String> {
    let mut is_inside = false;
    let mut found = Vec::new();
    for line in source.lines() {
        if line == head {
            is_inside = true;
        } else if line.starts_with('}') {
            is_inside = false;
        }
        let declared = line.strip_prefix("    ").and_then(|line| line.strip_prefix(visibility));
        let Some(declared) = declared.filter(|_| is_inside) else { continue };
        let declared = declared.trim_start_matches("const ").trim_start_matches("async ");
        if let Some(name) = declared.strip_prefix("fn ") {
            let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            found.push(name[..end.unwrap_or(name.len())].to_owned());
        }
    }
    found
}

/// Every `Type::method` of the sources.
fn declared() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (name, head, visibility, directory) in TYPES {
        let before = all.len();
        for path in sources(&crates().join(directory)) {
            let source = std::fs::read_to_string(path).unwrap();
            all.extend(
                methods(&source, head, visibility).into_iter().map(|method| format!("{name}::{method}")),
            );
        }
        assert!(all.len() > before, "no method of {name} found below {directory}");
    }
    all
}

/// The rows of the page's tables: methods, and how they are reached or why not.
fn rows() -> Vec<(Vec<String>, String)> {
    let row = |line: &str| {
        let (methods, about) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
        let methods = methods.split(", ").map(|name| name.trim_matches('`').to_owned()).collect();
        Some((methods, about.trim().to_owned()))
    };
    let page = page();
    let rows = page.lines().filter(|line| line.starts_with("| `")).filter_map(row);
    rows.collect()
}

#[test]
fn lists_every_public_method() {
    let mut listed = BTreeSet::new();
    for (methods, about) in rows() {
        for method in methods {
            assert!(!about.is_empty(), "{method}: how does a user reach it, or why not?");
            assert!(listed.insert(method.clone()), "{method} is listed twice");
        }
    }
    let declared = declared();
    let missing: Vec<&String> = declared.difference(&listed).collect();
    let gone: Vec<&String> = listed.difference(&declared).collect();
    assert!(missing.is_empty(), "docs/capabilities.md must list {missing:?}");
    assert!(gone.is_empty(), "docs/capabilities.md lists {gone:?}, which the sources do not declare");
}

#[test]
fn lists_only_commands_of_the_program() {
    let mut count = 0;
    for (_, about) in rows() {
        for code in about.split('`').skip(1).step_by(2) {
            let Some(words) = code.strip_prefix("lariat ") else { continue };
            let words: Vec<&str> = words
                .split(' ')
                .take_while(|word| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'))
                .take_while(|word| !word.starts_with('-'))
                .collect();
            assert!(COMMANDS.contains(&words.join(" ").as_str()), "`{code}` is not a command");
            count += 1;
        }
    }
    assert!(count > 20, "only {count} commands found");
}
