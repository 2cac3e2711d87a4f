use lariat_core::event::LimitKind;
use lariat_core::usage::Cost;

use super::*;

fn usage() -> Usage {
    Usage {
        cache_read: 36_000,
        cache_write: 2_000,
        cost: Cost::from_nano_usd(41_200_000),
        ..Usage::new(2_000, 1_234)
    }
}

fn file(path: &str, change: &str) -> FileChange {
    serde_json::from_value(serde_json::json!({ "path": path, "change": change })).unwrap()
}

#[test]
fn summary_includes_resume_command() {
    let files = [file("src/a.rs", "modified"), file("b\u{1b}[2J", "added")];
    let summary = Summary {
        outcome: &RunOutcome::Completed,
        turns: 4,
        usage: usage(),
        duration: Duration::from_millis(92_400),
        files: &files,
        session: Some("0198-abc"),
    };
    insta::assert_snapshot!(summary.lines(&Theme::plain(120)), @r#"
    4 turns · 40.0k in, 1.2k out · 90 % cached · $0.0412 · 1m 32s · 2 files changed: src/a.rs, +b⟨U+001B⟩[2J
    continue: lariat run --resume 0198-abc
    "#);
    insta::assert_snapshot!(summary.lines(&Theme { unicode: false, ..Theme::plain(40) }), @r#"
    4 turns - 40.0k in, 1.2k out
    90 % cached - $0.0412 - 1m 32s
    2 files changed: src/a.rs, +b⟨U+001B⟩[2J
    continue: lariat run --resume 0198-abc
    "#);
}

#[test]
fn summary_names_limit_and_omits_failure() {
    let outcome = RunOutcome::Failed { error: "overloaded\u{1b}[31m: try later".to_owned() };
    let summary = Summary {
        outcome: &outcome,
        turns: 1,
        usage: Usage::new(10, 0),
        duration: Duration::ZERO,
        files: &[],
        session: None,
    };
    insta::assert_snapshot!(summary.lines(&Theme::plain(60)), @r#"
    1 turn · 10 in, 0 out · 0ms
    "#);
    let limit = RunOutcome::LimitReached { limit: LimitKind::Cost, scope: Default::default() };
    let summary = Summary { outcome: &limit, ..summary };
    assert!(summary.lines(&Theme::plain(60)).starts_with("\n■ stopped: the run reached its cost limit\n"));
}
