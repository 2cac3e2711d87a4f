//! Tests of finding decisions.

use super::*;

#[test]
fn last_decision_block_wins() {
    let text = "Answer like {\"decision\": \"DONE\", \"summary\": \"…\"}.\nIt is wrong:\n\
                ```json\n{\"decision\": \"CONTINUE\", \"feedback\": \"fix {a}\", \"more\": {\"x\": 1}}\n```\nBye {";
    let found = CriticDecision::last_in(text).unwrap();
    assert_eq!(found, CriticDecision::Continue { feedback: "fix {a}".to_owned() });
}

#[test]
fn text_without_a_valid_decision_has_none() {
    for text in ["", "DONE", "{\"decision\": \"DONE or CONTINUE\"}", "{\"decision\": \"DONE\"", "{\"a\": {}}"]
    {
        assert_eq!(CriticDecision::last_in(text), None, "{text}");
    }
}

#[test]
fn quoted_decision_inside_feedback_does_not_win() {
    let quoted = json!({"decision": "CONTINUE", "feedback": "not {\"decision\": \"DONE\"} yet"}).to_string();
    assert_eq!(CriticDecision::last_in(&quoted).unwrap().name(), "CONTINUE");
}

#[test]
fn object_inside_a_decision_does_not_win() {
    for outer in ["CONTINUE", "MAYBE"] {
        let value = json!({"decision": outer, "feedback": "no", "was": [{"decision": "DONE"}]});
        let found = CriticDecision::last_in(&format!("Result: {value} end"));
        let expected = (outer == "CONTINUE").then(|| CriticDecision::Continue { feedback: "no".to_owned() });
        assert_eq!(found, expected, "{value}");
    }
}

#[test]
fn later_of_two_decisions_wins() {
    let (one, other) = (json!({"decision": "DONE"}), json!({"decision": "CONTINUE", "feedback": "no"}));
    for (text, name) in [(format!("{one}{other}"), "CONTINUE"), (format!("{other}\n{one}"), "DONE")] {
        assert_eq!(CriticDecision::last_in(&text).unwrap().name(), name, "{text}");
    }
}

#[test]
fn wrapped_decision_is_found() {
    let decision = json!({"decision": "ERROR", "recovery": "start the database"});
    for wrapper in [
        json!({"result": decision, "usage": {"tokens": 1}}),
        json!({"messages": [{"a": 1}, decision]}),
        json!({"decision": decision}),
    ] {
        let found = CriticDecision::last_in(&wrapper.to_string()).unwrap();
        assert_eq!(found, CriticDecision::Error { recovery: "start the database".to_owned() });
    }
}

#[test]
fn braces_in_prose_hide_no_decision() {
    let text = "Use {a} or {\"b\": or } and ${c}: {\"decision\": \"DONE\"} {\"d\" {{}} \"é{";
    assert_eq!(CriticDecision::last_in(text).unwrap().name(), "DONE");
}

#[test]
fn megabyte_of_braces_ends_and_hides_no_decision() {
    let decision = json!({"decision": "DONE"}).to_string();
    for unit in ["{", "{\"a\":", "{\"a\":[1,", "{\"a\":\"{\",\":\""] {
        let text = unit.repeat(1024 * 1024 / unit.len());
        assert_eq!(CriticDecision::last_in(&text), None, "{unit}");
        assert_eq!(CriticDecision::last_in(&format!("{text}\n{decision}")).unwrap().name(), "DONE", "{unit}");
    }
}

#[test]
fn confidence_above_1_is_ignored() {
    let value = json!({"decision": "DONE", "summary": "ok", "confidence": 95});
    let done = CriticDecision::Done { summary: "ok".to_owned(), confidence: None };
    assert_eq!(CriticDecision::from_value(&value), Some(done));
}

#[test]
fn empty_fields_get_a_text_for_the_actor() {
    let value = json!({"decision": "ERROR", "recovery": null, "feedback": " "});
    assert_eq!(CriticDecision::from_value(&value).unwrap().feedback(), Some("Continue."));
}
