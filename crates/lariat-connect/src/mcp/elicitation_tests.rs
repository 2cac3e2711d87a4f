//! Tests what a user is asked, and what a server gets.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;

/// Answers in this order; declines after the last.
struct Person {
    ask: QuestionFn,
    asked: Arc<Mutex<Vec<UserQuestion>>>,
}

fn person(answers: &[&str]) -> Person {
    let asked: Arc<Mutex<Vec<UserQuestion>>> = Arc::default();
    let (seen, answers) =
        (Arc::clone(&asked), answers.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    let ask = move |question: UserQuestion| -> lariat_core::BoxFuture<'static, UserAnswer> {
        let mut seen = seen.lock().unwrap();
        let answer = answers.get(seen.len()).cloned();
        seen.push(question);
        let decision = answer.map_or(UserAnswer::Declined { reason: None }, UserAnswer::Text);
        Box::pin(std::future::ready(decision))
    };
    Person { ask: Arc::new(ask), asked }
}

impl Person {
    async fn fill(&self, properties: Value, required: &[&str]) -> ElicitationAnswer {
        let order = properties.as_object().unwrap().keys().rev().cloned().collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        let form = Elicitation::Form { message: "Say \u{1b}[31mwhat.".to_owned(), schema, order };
        ask("shop", &form, &self.ask).await
    }

    fn texts(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|question| question.text.clone()).collect()
    }
}

#[tokio::test]
async fn each_field_is_a_question_and_the_answers_have_the_types_of_the_form() {
    let person = person(&["yes", "4", "Large", "Ada", "a, B"]);
    let fields = json!({
        "a_tags": { "type": "array", "items": { "enum": ["a", "b"] } },
        "b_name": { "type": "string", "title": "Your name", "description": "As on the card." },
        "c_size": { "oneOf": [{ "const": "l", "title": "Large" }, { "const": "s", "title": "Small" }] },
        "d_count": { "type": "integer", "minimum": 1 },
        "e_gift": { "type": "boolean" },
    });
    let all = ["a_tags", "b_name", "c_size", "d_count", "e_gift"];
    let answer = person.fill(fields, &all).await;
    let values =
        json!({ "e_gift": true, "d_count": 4, "c_size": "l", "b_name": "Ada", "a_tags": ["a", "b"] });
    assert_eq!(answer, ElicitationAnswer::Accept(Some(values)));
    let texts = person.texts();
    assert!(
        texts[0].starts_with("The MCP server `shop` asks: Say ") && texts[0].ends_with("(1 of 5)"),
        "{texts:?}"
    );
    assert!(texts[3].contains("Your name: As on the card."), "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains('\u{1b}')), "{texts:?}");
    assert_eq!(person.asked.lock().unwrap()[2].options, ["Large", "Small"]);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_again_and_then_declined() {
    let age = json!({ "age": { "type": "integer", "minimum": 18, "maximum": 99 } });
    let second = person(&["old", "42"]);
    assert_eq!(
        second.fill(age.clone(), &["age"]).await,
        ElicitationAnswer::Accept(Some(json!({ "age": 42 })))
    );
    assert!(second.texts()[1].starts_with("That answer does not fit: `old` is not such a number."));
    let never = person(&["old", "7", "100", "42"]);
    assert!(matches!(never.fill(age, &["age"]).await, ElicitationAnswer::Decline(_)));
    assert_eq!(never.texts().len(), 3);
}

#[tokio::test]
async fn optional_fields_may_stay_empty_and_a_user_may_decline() {
    let fields = json!({ "note": { "type": "string" } });
    let empty = person(&[EMPTY]);
    assert_eq!(empty.fill(fields.clone(), &[]).await, ElicitationAnswer::Accept(Some(json!({}))));
    let silent = person(&[]);
    assert!(matches!(silent.fill(fields, &["note"]).await, ElicitationAnswer::Decline(_)));
}

#[tokio::test]
async fn a_default_that_fits_is_an_answer_to_choose() {
    let fields = json!({
        "a_tags": { "type": "array", "items": { "enum": ["a", "b"] }, "default": ["b"] },
        "b_name": { "type": "string", "default": "Ada" },
        "c_size": { "oneOf": [{ "const": "l", "title": "Large" }], "default": "l" },
        "d_count": { "type": "integer", "minimum": 1, "default": 0 },
        "e_gift": { "type": "boolean", "default": true },
    });
    let all = ["a_tags", "b_name", "c_size", "d_count", "e_gift"];
    let person = person(&["(default: yes)", "4", "(default: Large)", "(default: Ada)", "(default: b)"]);
    let answer = person.fill(fields, &all).await;
    let values = json!({ "e_gift": true, "d_count": 4, "c_size": "l", "b_name": "Ada", "a_tags": ["b"] });
    assert_eq!(answer, ElicitationAnswer::Accept(Some(values)));
    let asked = person.asked.lock().unwrap();
    assert_eq!(asked[0].options, ["yes", "no", "(default: yes)"]);
    assert!(asked[1].options.is_empty(), "0 is less than the minimum: {:?}", asked[1].options);
}

#[tokio::test]
async fn a_form_that_is_not_plain_is_declined_without_a_question() {
    let person = person(&["x"]);
    for field in
        [json!({ "type": "object" }), json!({}), json!({ "type": "array", "items": { "type": "string" } })]
    {
        assert!(matches!(person.fill(json!({ "a": field }), &[]).await, ElicitationAnswer::Decline(_)));
    }
    assert!(person.texts().is_empty());
}

#[tokio::test]
async fn an_address_is_shown_with_its_host_and_accepted_only_by_the_user() {
    let open = async |url: &str, answers: &[&str]| {
        let person = person(answers);
        let address = Elicitation::Address { message: "Pay.".to_owned(), url: url.to_owned() };
        (ask("shop", &address, &person.ask).await, person.texts())
    };
    let (answer, texts) = open("https://pay.example.com/a?b=c", &[OPENED]).await;
    assert_eq!(answer, ElicitationAnswer::Accept(None));
    assert!(texts[0].contains("host: pay.example.com\naddress: https://pay.example.com/a?b=c"), "{texts:?}");
    assert!(matches!(open("https://pay.example.com/", &["later"]).await.0, ElicitationAnswer::Decline(_)));
    for hostile in
        ["http://pay.example.com/", "file:///etc/passwd", "https://bank.com@evil.example/", "javascript:x"]
    {
        let (answer, texts) = open(hostile, &[OPENED]).await;
        assert!(matches!(answer, ElicitationAnswer::Decline(_)) && texts.is_empty(), "{hostile}");
    }
    assert!(matches!(open("http://127.0.0.1:8080/x", &[OPENED]).await.0, ElicitationAnswer::Accept(None)));
}
