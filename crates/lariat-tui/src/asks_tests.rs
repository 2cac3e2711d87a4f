use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use lariat_api::{Action, Answer, Ask, AskChoice, AskDigest, AskId, AskSubject};
use lariat_core::budget::{BudgetRequest, BudgetScope, BudgetStatus, LimitKind};
use lariat_core::content::Content;
use lariat_core::id::{RequestId, ToolCallId};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::time::Timestamp;
use lariat_terminal::theme::Theme;
use serde_json::{Map, Value, json};

use super::{Asks, Outcome};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn ask(id: &str, subject: AskSubject) -> Ask {
    Ask::new(AskId::new(id), subject, AskDigest::new(format!("digest of {id}")), at(0))
}

fn approval(id: &str) -> Ask {
    let call = Content::tool_call("call", "bash", json!({ "command": "rm -rf target" }));
    let mut request = PermissionRequest::new(call.as_tool_call().unwrap(), "rm -rf target");
    request.remember = Some("bash(rm -rf target)".to_owned());
    request.reason = Some("no rule allows `rm`".to_owned());
    ask(id, AskSubject::Approval { request: Arc::new(request) })
}

fn letter(letter: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE)
}

fn code(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn with(asks: Vec<Ask>) -> Asks {
    let mut shown = Asks::new(true);
    shown.set(asks, Vec::new(), at(0));
    shown
}

fn answer(outcome: Outcome) -> Answer {
    match outcome {
        Outcome::Answer(Action::Answer { answer, .. }) => answer,
        other => panic!("no answer: {other:?}"),
    }
}

#[test]
fn no_key_answers_without_the_focus() {
    let mut asks = with(vec![approval("a")]);
    for key in ('a'..='z').map(letter).chain([code(KeyCode::Enter), code(KeyCode::Esc)]) {
        assert_eq!(asks.key(key, at(10_000)), Outcome::Unused);
    }
    assert_eq!(asks.len(), 1);
}

#[test]
fn answers_after_the_focus_key_and_the_pause() {
    let mut asks = with(vec![approval("a")]);
    asks.toggle_focus();
    assert_eq!(asks.key(letter('y'), at(299)), Outcome::Changed);
    let outcome = asks.key(letter('y'), at(300));
    assert_eq!(answer(outcome), Answer::Approval { decision: PermissionDecision::Allow });
    assert!(asks.is_empty() && !asks.is_focused());
    // The view still has it until the log resolves it.
    asks.set(vec![approval("a")], Vec::new(), at(400));
    assert!(asks.is_empty());
    asks.failed(&AskId::new("a"));
    asks.set(vec![approval("a")], Vec::new(), at(500));
    assert_eq!(asks.len(), 1);
}

#[test]
fn denies_with_a_typed_reason() {
    let mut asks = with(vec![approval("a")]);
    asks.toggle_focus();
    asks.key(letter('e'), at(1_000));
    for typed in "nyo".chars() {
        assert_eq!(asks.key(letter(typed), at(1_000)), Outcome::Changed);
    }
    asks.key(code(KeyCode::Backspace), at(1_000));
    let decision = PermissionDecision::Deny { reason: Some("ny".to_owned()) };
    assert_eq!(answer(asks.key(code(KeyCode::Enter), at(1_000))), Answer::Approval { decision });
}

#[test]
fn a_question_that_goes_away_or_changes_drops_the_focus() {
    let mut asks = with(vec![approval("a"), approval("b")]);
    asks.toggle_focus();
    asks.set(vec![approval("b")], Vec::new(), at(5_000));
    assert!(!asks.is_focused());
    asks.toggle_focus();
    let mut changed = approval("b");
    changed.digest = AskDigest::new("other");
    asks.set(vec![changed], Vec::new(), at(6_000));
    assert!(!asks.is_focused());
    assert_eq!(asks.key(letter('y'), at(9_000)), Outcome::Unused);
    // A question that comes after it changes nothing.
    asks.toggle_focus();
    let mut kept = approval("b");
    kept.digest = AskDigest::new("other");
    asks.set(vec![kept, approval("c")], Vec::new(), at(9_500));
    assert!(asks.is_focused());
    assert_eq!(asks.len(), 2);
}

#[test]
fn a_second_key_does_not_answer_the_next_question() {
    let mut asks = with(vec![approval("a"), approval("b")]);
    asks.toggle_focus();
    answer(asks.key(letter('y'), at(1_000)));
    assert!(asks.is_focused());
    assert_eq!(asks.key(letter('y'), at(1_200)), Outcome::Changed);
    assert_eq!(asks.len(), 1);
    answer(asks.key(letter('n'), at(1_300)));
    assert!(asks.is_empty());
}

#[test]
fn answers_every_kind() {
    let focused = |subject: AskSubject| {
        let mut asks = with(vec![ask("a", subject)]);
        asks.toggle_focus();
        asks
    };
    let question = || AskSubject::Question { text: "Which?".to_owned(), schema: None };
    let mut asks = focused(question());
    asks.key(letter('y'), at(1_000));
    assert_eq!(answer(asks.key(code(KeyCode::Enter), at(1_000))), Answer::Value { value: json!("y") });

    let mut chosen = ask("a", question());
    chosen.choices = vec![AskChoice::new("one", Answer::Value { value: json!(1) })];
    let mut asks = with(vec![chosen]);
    asks.toggle_focus();
    assert_eq!(answer(asks.key(letter('1'), at(1_000))), Answer::Value { value: json!(1) });

    let calls: Vec<ToolCallId> = ["x", "y"].map(ToolCallId::new).to_vec();
    let mut asks = focused(AskSubject::Plan { changes: calls.clone() });
    asks.key(code(KeyCode::Down), at(1_000));
    asks.key(letter(' '), at(1_000));
    let expected = Answer::Plan { approved: calls[..1].to_vec(), rejected: Vec::new() };
    assert_eq!(answer(asks.key(letter('y'), at(1_000))), expected);

    let status = BudgetStatus::new(BudgetScope::Session, LimitKind::Turns, 10, 10);
    let request = Arc::new(BudgetRequest::new(RequestId::default(), status));
    let limits = request.proposed;
    let mut asks = focused(AskSubject::Budget { request });
    assert_eq!(answer(asks.key(letter('y'), at(1_000))), Answer::Budget { limits });

    let elicitation = |schema: Value| AskSubject::Elicitation {
        server: "files".to_owned(),
        text: "Name?".to_owned(),
        schema,
    };
    let mut asks = focused(elicitation(json!({ "type": "string" })));
    asks.key(letter('n'), at(1_000));
    assert_eq!(answer(asks.key(code(KeyCode::Enter), at(1_000))), Answer::Value { value: json!("n") });
    let mut asks = focused(elicitation(json!({ "type": "object" })));
    assert_eq!(asks.key(letter('y'), at(1_000)), Outcome::Changed);
    assert_eq!(answer(asks.key(letter('n'), at(1_000))), Answer::Decline { reason: None });

    let login = AskSubject::Login { service: "mail".to_owned(), address: "https://mail.example".to_owned() };
    assert_eq!(answer(focused(login).key(letter('n'), at(1_000))), Answer::Decline { reason: None });

    let mut asks = focused(AskSubject::Other(Map::new()));
    assert_eq!(asks.key(letter('y'), at(1_000)), Outcome::Changed);
    assert_eq!(answer(asks.key(letter('n'), at(1_000))), Answer::Decline { reason: None });
}

#[test]
fn shows_what_runs_why_and_what_would_be_remembered() {
    let mut asks = with(vec![approval("a"), approval("b")]);
    let (rows, caret) = asks.rows(&Theme::plain(80), "Ctrl+Y", 40);
    let shown = rows.join("\n");
    for words in
        ["question 1 of 2", "rm -rf target", "no rule allows `rm`", "bash(rm -rf target)", "Ctrl+Y to answer"]
    {
        assert!(shown.contains(words), "{words} in\n{shown}");
    }
    assert_eq!(caret, None);
    let (rows, _) = asks.rows(&Theme::plain(40), "Ctrl+Y", 4);
    assert_eq!(rows.len(), 4);
    assert!(rows[3].starts_with("Ctrl+Y to answer"), "{rows:?}");
}

#[test]
fn planned_change_of_several_lines_has_one_box() {
    let calls: Vec<ToolCallId> = ["x", "y"].map(ToolCallId::new).to_vec();
    let words = ["write_file a.txt\ncontent: one\n[x] two\n", "bash ls"].map(str::to_owned);
    let mut asks = Asks::new(true);
    let plan = calls.iter().cloned().zip(words).collect();
    asks.set(vec![ask("a", AskSubject::Plan { changes: calls })], plan, at(0));
    let rows = asks.rows(&Theme::plain(80), "ctrl+y", 40).0;
    let boxes = rows.iter().filter(|row| row.contains("  [x] ") && !row.contains('|')).count();
    assert_eq!(boxes, 2, "{rows:#?}");
}
