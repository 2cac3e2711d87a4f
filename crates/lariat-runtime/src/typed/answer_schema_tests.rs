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
fn schema_is_checked_by_the_draft_that_it_names() {
    // A list of schemas for the first items is `items` in draft 7 and no valid schema in 2020-12.
    let pair =
        json!({"type": "object", "properties": {"p": {"items": [{"type": "string"}, {"type": "number"}]}}});
    let mut draft_7 = pair.clone();
    draft_7["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    let form = AnswerSchema::from_value(draft_7).unwrap();
    assert!(form.read(r#"{"p": ["a", 1]}"#).is_ok());
    assert!(form.read(r#"{"p": [1, "a"]}"#).is_err());
    assert!(AnswerSchema::from_value(pair).is_err(), "2020-12 has no list in `items`");
}

#[test]
fn unknown_draft_and_other_documents_are_refused_by_name() {
    let refused = |schema| AnswerSchema::from_value(schema).unwrap_err().to_string();
    let error = refused(json!({"$schema": "https://example.com/mine"}));
    assert!(error.contains("unknown `$schema` \"https://example.com/mine\"; hint"), "{error}");
    for reference in ["http://127.0.0.1:9/other", "file:///etc/passwd"] {
        let error = refused(json!({"properties": {"a": {"$ref": reference}}}));
        assert!(error.contains(reference) && error.contains("not fetched; hint"), "{error}");
    }
    let known = json!({"$ref": "https://json-schema.org/draft/2020-12/schema"});
    assert!(AnswerSchema::from_value(known).is_ok(), "the schema of schemas needs no network");
}

#[test]
fn names_are_converted_to_what_providers_accept() {
    assert_eq!(name("Array_of_Pair<u8>"), "Array_of_Pair_u8_");
    assert_eq!(name(""), "answer");
    assert_eq!(name(&"x".repeat(100)).len(), 64);
}
