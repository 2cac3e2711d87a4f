use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{AnswerSchema, name};

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Pair {
    #[schemars(length(max = 3))]
    left: String,
    right: Option<u8>,
}

#[test]
fn validates_what_providers_do_not_enforce() {
    let form = AnswerSchema::of::<Pair>().unwrap();
    assert_eq!(
        form.read(r#"{"left": "abc"}"#).unwrap(),
        json!({"left": "abc"}),
        "an optional field may be missing"
    );
    let problem = form.read(r#"{"left": "abcd", "right": 300}"#).unwrap_err();
    assert!(problem.contains("at `/left`") && problem.contains("at `/right`"), "{problem}");
    assert!(form.read("[]").is_err());
}

#[test]
fn names_are_converted_to_what_providers_accept() {
    assert_eq!(name("Array_of_Pair<u8>"), "Array_of_Pair_u8_");
    assert_eq!(name(""), "answer");
    assert_eq!(name(&"x".repeat(100)).len(), 64);
}
