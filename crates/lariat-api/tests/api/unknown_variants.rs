//! Values of newer versions survive being read and written; those that would grant something are recognizable.

use lariat_api::{
    Action, Answer, AskKind, AskSubject, Delivery, ProblemCode, SessionCommand, SessionFilter, SessionStatus,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Reads a value and writes it again.
fn rewritten<T: Serialize + DeserializeOwned>(value: &Value) -> Option<Value> {
    serde_json::to_value(serde_json::from_value::<T>(value.clone()).ok()?).ok()
}

#[test]
fn unknown_variants_survive_reading_and_writing() {
    let action = json!({ "type": "teleport", "to": [1, 2] });
    assert_eq!(rewritten::<Action>(&action), Some(action.clone()));
    let command = json!({ "id": "c1", "client": "test", "action": action });
    assert_eq!(rewritten::<SessionCommand>(&command), Some(command));
    let subject = json!({ "kind": "riddle", "text": "?" });
    assert_eq!(rewritten::<AskSubject>(&subject), Some(subject));
    let answer = json!({ "kind": "nod", "twice": true });
    assert_eq!(rewritten::<Answer>(&answer), Some(answer));
    assert_eq!(rewritten::<SessionStatus>(&json!("dreaming")), Some(json!("dreaming")));
    assert_eq!(rewritten::<ProblemCode>(&json!("teapot")), Some(json!("teapot")));
}

#[test]
fn known_variants_survive_reading_and_writing() {
    for action in [
        json!({ "type": "prompt", "content": [{ "type": "text", "text": "hi" }], "delivery": "steer" }),
        json!({ "type": "continue" }),
        json!({ "type": "interrupt" }),
        json!({ "type": "setMode", "mode": "plan" }),
        json!({ "type": "compact", "focus": "tests" }),
        json!({ "type": "restore", "label": "before", "parts": "files" }),
        json!({ "type": "close" }),
    ] {
        assert_eq!(rewritten::<Action>(&action), Some(action.clone()));
        assert!(!matches!(serde_json::from_value(action).unwrap(), Action::Other(_)));
    }
    assert_eq!(rewritten::<SessionStatus>(&json!("requires_action")), Some(json!("requires_action")));
}

#[test]
fn known_action_with_wrong_fields_is_not_carried_out() {
    let action: Action = serde_json::from_value(json!({ "type": "setMode", "mode": 5 })).unwrap();
    assert!(matches!(action, Action::Other(_)));
}

#[test]
fn unknown_answer_fits_no_ask() {
    let answer: Answer = serde_json::from_value(json!({ "kind": "nod" })).unwrap();
    for kind in [AskKind::Approval, AskKind::Question, AskKind::Plan, AskKind::Budget, AskKind::Other] {
        assert!(!answer.fits(kind), "{kind:?}");
    }
}

#[test]
fn approval_answers_only_approvals() {
    let answer: Answer =
        serde_json::from_value(json!({ "kind": "approval", "decision": { "decision": "allow" } })).unwrap();
    assert!(answer.fits(AskKind::Approval));
    for kind in [AskKind::Question, AskKind::Plan, AskKind::Budget, AskKind::Elicitation, AskKind::Login] {
        assert!(!answer.fits(kind), "{kind:?}");
    }
}

#[test]
fn unknown_delivery_is_refused() {
    assert!(serde_json::from_value::<Delivery>(json!("sneak")).is_err());
}

#[test]
fn filter_with_unknown_condition_is_refused() {
    assert!(serde_json::from_value::<SessionFilter>(json!({ "owner": "me" })).is_err());
}
