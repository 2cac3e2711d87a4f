//! A table of traces: real repetitions, and traces that only resemble one.

use serde_json::{Value, json};

use super::*;

/// One call: tool, arguments, result, whether it failed. Each call is its own turn.
type TraceStep = (&'static str, Value, String, bool);

fn ok(name: &'static str, arguments: Value, result: impl Into<String>) -> TraceStep {
    (name, arguments, result.into(), false)
}

fn fails(name: &'static str, arguments: Value, result: impl Into<String>) -> TraceStep {
    (name, arguments, result.into(), true)
}

fn bash(command: &str, result: impl Into<String>) -> TraceStep {
    ok("bash", json!({ "command": command }), result)
}

fn read(path: &str) -> TraceStep {
    ok("read", json!({ "path": path }), format!("text of {path}"))
}

fn edit(path: &str, old: &str, new: &str) -> TraceStep {
    ok("edit", json!({ "path": path, "old_string": old, "new_string": new }), "edited")
}

fn write(path: &str, content: &str) -> TraceStep {
    ok("write", json!({ "path": path, "content": content }), "written")
}

fn times(count: usize, steps: &[TraceStep]) -> Vec<TraceStep> {
    (0..count).flat_map(|_| steps.to_vec()).collect()
}

fn each(count: usize, step: impl Fn(usize) -> Vec<TraceStep>) -> Vec<TraceStep> {
    (0..count).flat_map(step).collect()
}

/// Returns the strongest repetition along a trace; `same_turn` puts all calls into one reply.
fn seen(steps: &[TraceStep], same_turn: bool) -> DetectedRepetition {
    let mut repetition = RepetitionDetector::default();
    let mut strongest = DetectedRepetition::default();
    for (at, (name, arguments, result, is_error)) in steps.iter().enumerate() {
        let call = ToolCall {
            id: format!("c{at}").into(),
            name: (*name).to_owned(),
            arguments: arguments.clone(),
            signature: None,
        };
        let content = [Content::text(result.clone()), Content::text(format!("{NOTE_PREFIX}a nudge {at}"))];
        let turn = if same_turn { 1 } else { u32::try_from(at).unwrap() };
        repetition.push(CallFingerprint::of(turn, &call, &content, *is_error));
        if repetition.detected.count > strongest.count {
            strongest = repetition.detected;
        }
    }
    strongest
}

fn repetitions() -> Vec<(&'static str, LoopPattern, u32, Vec<TraceStep>)> {
    use LoopPattern::*;
    let missing =
        |n: usize| vec![fails("read", json!({ "path": "a.rs", "line": n }), format!("no line {n}"))];
    vec![
        ("the same read again and again", Same, 6, times(6, &[read("a")])),
        ("a command that says nothing", Same, 3, times(3, &[bash("true", "(no output)")])),
        (
            "the same failure of the same call",
            Same,
            4,
            times(4, &[fails("read", json!({ "path": "x" }), "not found")]),
        ),
        ("the same after other work", Same, 3, [vec![read("a"), read("b")], times(3, &[read("c")])].concat()),
        ("two reads in turn", Cycle, 3, times(3, &[read("a"), read("b")])),
        ("two reads in turn, for long", Cycle, 6, times(6, &[read("a"), read("b")])),
        ("three calls in turn", Cycle, 3, times(3, &[read("a"), read("b"), bash("ls", "a b")])),
        ("four calls in turn", Cycle, 6, times(6, &[read("a"), read("b"), read("c"), read("d")])),
        (
            "a cycle that begins late",
            Cycle,
            4,
            [vec![read("z")], times(4, &[read("a"), bash("make", "error")])].concat(),
        ),
        (
            "a test that fails the same after an edit that changes nothing",
            Cycle,
            3,
            times(3, &[edit("a", "x", "x "), bash("test", "1 failed")]),
        ),
        ("a line number that is off, one more each time", NearlySame, 5, each(6, missing)),
        (
            "white space tried out",
            NearlySame,
            4,
            each(5, |n| {
                vec![fails(
                    "edit",
                    json!({ "path": "a", "old_string": format!("fn{}main", " ".repeat(n + 1)) }),
                    "`old_string` was not found",
                )]
            }),
        ),
        (
            "ports tried out",
            NearlySame,
            3,
            each(4, |n| {
                vec![fails(
                    "fetch",
                    json!({ "url": format!("http://localhost:{}", 3000 + n) }),
                    format!("connection refused by port {}", 3000 + n),
                )]
            }),
        ),
        (
            "retries numbered in the arguments",
            NearlySame,
            6,
            each(7, |n| vec![fails("call", json!({ "attempt": n }), "503")]),
        ),
        (
            "the disk is full, whatever is tried",
            SameError,
            3,
            ["write a", "mkdir b", "cp c", "touch d"]
                .iter()
                .map(|it| fails("bash", json!({ "command": it }), "No space left on device"))
                .collect(),
        ),
        (
            "no network, by any tool",
            SameError,
            3,
            vec![
                fails("fetch", json!({ "url": "a" }), "could not resolve host"),
                fails("bash", json!({ "command": "curl a" }), "could not resolve host"),
                fails("search", json!({ "query": "a" }), "could not resolve host"),
                fails("bash", json!({ "command": "ping a" }), "could not  resolve host"),
            ],
        ),
        ("an edit and its undoing", BackAndForth, 3, times(2, &[edit("a", "x", "y"), edit("a", "y", "x")])),
        (
            "an edit and its undoing, with tests between that take another time",
            BackAndForth,
            5,
            each(3, |n| {
                vec![
                    edit("a", "x", "y"),
                    bash("test", format!("1 failed in {n} ms")),
                    edit("a", "y", "x"),
                    bash("test", format!("2 failed in {n} ms")),
                ]
            }),
        ),
        (
            "a file written one way and the other",
            BackAndForth,
            4,
            each(3, |n| {
                vec![
                    write("a", "one"),
                    bash("date", format!("{n}")),
                    write("a", "two"),
                    bash("date", format!("{n}!")),
                ]
            }),
        ),
    ]
}

fn harmless_traces() -> Vec<(&'static str, bool, Vec<TraceStep>)> {
    vec![
        ("polling until it is done", false, each(20, |n| vec![bash("status", format!("{n} of 20 done"))])),
        (
            "polling with a wait between",
            false,
            each(9, |n| vec![bash("sleep 5", "(no output)"), bash("status", format!("running for {n} s"))]),
        ),
        (
            "pages of one file",
            false,
            each(12, |n| vec![ok("read", json!({ "path": "a", "offset": n * 100 }), format!("page {n}"))]),
        ),
        (
            "pages that look the same",
            false,
            each(12, |n| vec![ok("read", json!({ "path": "zeros", "offset": n * 100 }), "0 0 0 0")]),
        ),
        ("many files", false, each(20, |n| vec![read(&format!("file{n}.rs"))])),
        (
            "tests between edits, failing differently",
            false,
            each(8, |n| {
                vec![
                    edit("a", &format!("v{n}"), &format!("v{}", n + 1)),
                    fails(
                        "bash",
                        json!({ "command": "cargo test" }),
                        ["type", "borrow", "name", "macro", "trait", "mut", "move", "life"][n],
                    ),
                ]
            }),
        ),
        (
            "tests between edits, failing the same, not in a row",
            false,
            each(6, |n| {
                vec![
                    edit("a", &format!("v{n}"), &format!("v{}", n + 1)),
                    fails("bash", json!({ "command": "cargo test" }), "1 failed"),
                ]
            }),
        ),
        ("the same file read twice", false, times(2, &[read("a")])),
        ("two rounds of two calls", false, times(2, &[read("a"), read("b")])),
        ("two rounds of four calls", false, times(2, &[read("a"), read("b"), read("c"), read("d")])),
        (
            "one reply whose calls all fail the same",
            true,
            each(9, |n| {
                vec![fails(
                    "fetch",
                    json!({ "url": format!("http://host{}", "x".repeat(n + 1)) }),
                    "connection refused",
                )]
            }),
        ),
        (
            "a replacement in several places",
            false,
            each(8, |n| vec![edit("a", &format!("old place {n}"), "the same new text")]),
        ),
        (
            "two texts put in turn into one file",
            false,
            each(4, |n| vec![edit("a", &format!("hole {n}"), "x"), edit("a", &format!("gap {n}"), "y")]),
        ),
        (
            "one edit undone, once",
            false,
            vec![edit("a", "x", "y"), bash("test", "worse"), edit("a", "y", "x"), bash("test", "as before")],
        ),
        ("the same swap in different files", false, each(8, |n| vec![edit(&format!("f{n}"), "x", "y")])),
        (
            "two failures of one kind, then success",
            false,
            [
                each(3, |n| vec![fails("read", json!({ "path": "a", "line": n }), "no such line")]),
                vec![read("a")],
            ]
            .concat(),
        ),
        (
            "not found, in three places",
            false,
            ["a", "b", "c"].iter().map(|path| fails("read", json!({ "path": path }), "not found")).collect(),
        ),
        (
            "a search that is narrowed",
            false,
            each(6, |n| {
                vec![ok("search", json!({ "query": "x".repeat(n + 1) }), format!("{} hits", 60 - n * 10))]
            }),
        ),
        (
            "a file that grows",
            false,
            each(8, |n| vec![write("log.md", &"line\n".repeat(n + 1)), read("log.md")])
                .into_iter()
                .enumerate()
                .map(|(at, mut step)| {
                    step.2 = format!("{} {at}", step.2);
                    step
                })
                .collect(),
        ),
        (
            "one command on changing input",
            false,
            each(10, |n| vec![bash("git diff --stat", format!("{n} files changed"))]),
        ),
    ]
}

/// As in `RepetitionConfig::default()`.
const NUDGE: u32 = 3;

#[test]
fn repetitions_are_detected() {
    for (name, pattern, count, steps) in repetitions() {
        assert_eq!(seen(&steps, false), DetectedRepetition { pattern, count }, "{name}");
        assert!(count >= NUDGE, "{name}");
    }
}

#[test]
fn traces_that_resemble_repetition_are_not_flagged() {
    for (name, same_turn, steps) in harmless_traces() {
        let seen = seen(&steps, same_turn);
        assert!(seen.count < NUDGE, "{name}: {seen:?}");
    }
}

#[test]
fn table_has_traces_of_both_kinds() {
    assert!(
        repetitions().len() + harmless_traces().len() >= 30
            && repetitions().len() >= 15
            && harmless_traces().len() >= 15
    );
}

#[test]
fn repetition_ends_with_a_different_result() {
    let mut steps = times(5, &[read("a"), read("b")]);
    steps.push(read("c"));
    let mut repetition = RepetitionDetector::default();
    for (at, (name, arguments, result, is_error)) in steps.iter().enumerate() {
        let (name, arguments) = ((*name).to_owned(), arguments.clone());
        let call = ToolCall { id: format!("c{at}").into(), name, arguments, signature: None };
        repetition.push(CallFingerprint::of(1, &call, &[Content::text(result.clone())], *is_error));
    }
    assert_eq!(repetition.detected.count, 1);
    assert!(repetition.results.len() <= HISTORY_LENGTH);
}
