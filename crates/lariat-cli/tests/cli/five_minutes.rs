//! Runs the commands of docs/first-five-minutes.md in one shell and compares their output with the document.

use std::path::Path;
use std::process::Command;

use lariat_proofs::server::{Script, Server, Turn, Wire};
use serde_json::json;

const DOCUMENT: &str = include_str!("../../../../docs/first-five-minutes.md");
/// The model's URL in the document.
const ADDRESS: &str = "http://127.0.0.1:8080/v1";
/// Marks the end of a command's output.
const MARK: &str = "=== ended with";

/// A command and what it should print.
#[derive(Debug, PartialEq)]
struct Step {
    command: String,
    expected: Vec<String>,
    code: i32,
}

/// The steps of a document: `$ ` starts a command, `> ` continues it, `(exit N)` is its exit code.
fn steps(document: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in document.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if !inside {
        } else if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), expected: Vec::new(), code: 0 });
        } else if let Some(step) = steps.last_mut() {
            if let Some(more) = line.strip_prefix('>') {
                step.command.push('\n');
                step.command.push_str(more.strip_prefix(' ').unwrap_or(more));
            } else if let Some(code) = line.strip_prefix("(exit ").and_then(|rest| rest.strip_suffix(')')) {
                step.code = code.parse().unwrap();
            } else {
                step.expected.push(line.to_owned());
            }
        }
    }
    steps
}

/// Whether lines match: `…` alone matches any number of lines, within a line any text.
fn fits(expected: &[String], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((line, rest)) if line == "…" => {
            (0..=printed.len()).any(|skipped| fits(rest, &printed[skipped..]))
        }
        Some((line, rest)) => {
            printed.split_first().is_some_and(|(first, others)| line_fits(line, first) && fits(rest, others))
        }
    }
}

fn line_fits(expected: &str, printed: &str) -> bool {
    let Some((start, rest)) = expected.split_once('…') else { return expected == printed };
    let Some(printed) = printed.strip_prefix(start) else { return false };
    let places = printed.char_indices().map(|(place, _)| place).chain([printed.len()]);
    rest.is_empty() || places.into_iter().any(|place| line_fits(rest, &printed[place..]))
}

fn turns() -> Vec<Turn> {
    let call = |id: &str, name: &str, arguments: serde_json::Value| Turn::new().call(id, name, &arguments);
    let text = |text: &str| Turn::new().text(text);
    vec![
        call("call-1", "read_file", json!({ "path": "test.sh" })),
        call("call-2", "read_file", json!({ "path": "greet.sh" })),
        call(
            "call-3",
            "edit_file",
            json!({ "path": "greet.sh", "old_string": "Hello, $1!", "new_string": "Good day, $1!" }),
        ),
        call("call-4", "bash", json!({ "command": "bash test.sh" })),
        text("The test wanted another greeting. I changed greet.sh, and test.sh passes."),
        text("Only greet.sh: it says \"Good day\" now."),
        text("ok"),
    ]
}

#[test]
fn document_matches_the_program() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(Server::start(Script::queue(turns()))).unwrap();
    let steps = steps(DOCUMENT);
    assert!(steps.len() >= 15, "found only {} commands", steps.len());
    let address = server.base_url(Wire::OpenAiChat);
    let script: String = steps
        .iter()
        .map(|step| format!("{}\necho \"{MARK} $?\"\n", step.command.replace(ADDRESS, &address)))
        .collect();

    let home = std::env::temp_dir().join(format!("lariat-five-minutes-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(&home).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_lariat")).parent().unwrap();
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .current_dir(&home)
        .env_clear()
        .env("HOME", &home)
        .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display()))
        .env("LANG", "C.UTF-8")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut parts = printed.split(MARK);
    let mut said = parts.next().unwrap_or_default();
    for step in &steps {
        let rest = parts.next().unwrap_or_else(|| panic!("no output of `{}`:\n{printed}", step.command));
        let (code, next) = rest.trim_start().split_once('\n').unwrap_or((rest.trim(), ""));
        let lines: Vec<&str> = said.lines().collect();
        assert!(
            fits(&step.expected, &lines) && code == step.code.to_string(),
            "`{}` should end with {} and print\n{}\nbut ended with {code} and printed\n{said}",
            step.command,
            step.code,
            step.expected.join("\n"),
        );
        said = next;
    }
    std::fs::remove_dir_all(&home).unwrap();
}

#[test]
fn matches_lines_with_ellipsis() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(fits(&lines("a\n…\nz"), &["a", "b", "c", "z"]));
    assert!(fits(&lines("a\n…\nz"), &["a", "z"]));
    assert!(!fits(&lines("a\n…\nz"), &["a", "b"]));
    assert!(line_fits("x … z…", "x y z!"));
    assert!(!line_fits("x … z", "x y"));
    assert!(!fits(&lines("a"), &["a", "b"]));
}
