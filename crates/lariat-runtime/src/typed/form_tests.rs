use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Form, name};

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Pair {
    #[schemars(length(max = 3))]
    left: String,
    right: Option<u8>,
}

#[test]
fn what_the_service_does_not_enforce_is_checked_here() {
    let form = Form::of::<Pair>().unwrap();
    assert_eq!(form.read(r#"{"left": "abc"}"#).unwrap(), json!({"left": "abc"}), "it can do without");
    let problem = form.read(r#"{"left": "abcd", "right": 300}"#).unwrap_err();
    assert!(problem.contains("at `/left`") && problem.contains("at `/right`"), "{problem}");
    assert!(form.read("[]").is_err());
}

#[test]
fn a_name_is_one_that_services_take() {
    assert_eq!(name("Array_of_Pair<u8>"), "Array_of_Pair_u8_");
    assert_eq!(name(""), "answer");
    assert_eq!(name(&"x".repeat(100)).len(), 64);
}
