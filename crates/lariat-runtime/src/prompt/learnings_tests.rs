use serde_json::json;

use super::*;

fn learned(id: &str, text: &str) -> StoredLearning {
    let learning = serde_json::from_value(json!({"learning_id": id, "text": text})).unwrap();
    StoredLearning { session_id: "s1".into(), learning }
}

#[test]
fn learnings_that_share_the_most_words_come_first_and_unrelated_ones_are_left_out() {
    let known = [
        learned("a", "The parser needs the generator."),
        learned("b", "Deploy on Fridays only."),
        learned("c", "Tests of the parser need fixtures."),
    ];
    let found = relevant(&known, "Fix the PARSER tests, please");
    let ids: Vec<&str> = found.iter().map(|learned| &*learned.learning.learning_id).collect();
    assert_eq!(ids, ["c", "a"]);
    assert!(line(found[0]).contains("learning c of session s1"));
}

#[test]
fn at_most_five_learnings_are_included() {
    let known: Vec<_> = (0..20).map(|n| learned(&n.to_string(), "parser")).collect();
    assert_eq!(relevant(&known, "parser").len(), 5);
}
