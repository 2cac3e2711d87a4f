//! Tests Vertex's address, key and listing; the conversation is Gemini's.

use std::sync::Arc;

use lariat_core::message::Message;
use lariat_core::model::ModelConfig;
use serde_json::{Value, json};

use super::Vertex;
use crate::protocol::Protocol;
use crate::protocol::gemini::fixtures::{self, EARLY, MODERN};
use crate::wire::Auth;

fn model(id: &str, base: &str, compat: Value) -> ModelConfig {
    let mut model = fixtures::model(id).with_base_url(base);
    model.compat = compat;
    model
}

fn url(model: ModelConfig) -> String {
    Vertex.request(&fixtures::request(model, vec![Message::user("Hi")])).unwrap().url
}

#[test]
fn address_contains_region_and_project() {
    let here = json!({"project": "p", "region": "europe-west4"});
    let end = "publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse";
    let rows = [
        (
            "",
            here.clone(),
            "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4",
        ),
        ("", json!({"project": "p"}), "https://aiplatform.googleapis.com/v1/projects/p/locations/global"),
        (
            "",
            json!({"project": "p", "region": "eu"}),
            "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu",
        ),
        (
            "",
            json!({"project": "a/b?", "region": "evil.com/"}),
            "https://aiplatform.googleapis.com/v1/projects/a%2Fb%3F/locations/evil%2Ecom%2F",
        ),
        ("http://proxy/vertex/", here.clone(), "http://proxy/vertex/v1/projects/p/locations/europe-west4"),
        ("http://proxy/v1beta1", here, "http://proxy/v1/projects/p/locations/europe-west4"),
        ("http://proxy/v1/projects/q/locations/r/", json!(null), "http://proxy/v1/projects/q/locations/r"),
    ];
    for (base, compat, expected) in rows {
        assert_eq!(url(model("models/gemini-2.5-flash", base, compat)), format!("{expected}/{end}"));
    }
    let publisher = "http://proxy/v1/projects/q/locations/r/publishers/google";
    assert_eq!(
        url(model(EARLY, publisher, json!(null))),
        format!("{}/{end}", publisher.strip_suffix("/publishers/google").unwrap())
    );
}

#[test]
fn missing_project_error_says_what_to_set() {
    for base in ["", "http://proxy"] {
        let asked = fixtures::request(model(EARLY, base, json!({"project": " "})), vec![Message::user("Hi")]);
        let error = Vertex.request(&asked).unwrap_err().to_string();
        assert!(error.contains("compat.project"), "{error}");
    }
}

#[test]
fn sends_bearer_key_and_the_body_of_gemini() {
    let mut asked = fixtures::request(
        model(MODERN, "", json!({"project": "p"})),
        vec![
            Message::user("Hi"),
            fixtures::reply(MODERN, vec![fixtures::call("a", "read", json!({}), Some("s"))]),
            fixtures::result("a", "read", vec!["x".into()]),
        ],
    );
    let outgoing = Vertex.request(&asked).unwrap();
    assert_eq!(outgoing.auth, Auth::Bearer);
    let body: Value = serde_json::from_slice(&outgoing.body).unwrap();
    // Since Gemini 3, Vertex pairs tool calls and responses by id; earlier versions reject the field.
    assert_eq!(body["contents"][1]["parts"][0]["functionCall"]["id"], "a");
    asked.model_config = Arc::new(model(EARLY, "", json!({"project": "p"})));
    let body: Value = serde_json::from_slice(&Vertex.request(&asked).unwrap().body).unwrap();
    assert_eq!(body["contents"][1]["parts"][0]["functionCall"].get("id"), None);
}

#[test]
fn lists_the_models_of_the_publisher() {
    let request = Vertex.list_request(&model("", "", json!({"region": "global"}))).unwrap();
    assert_eq!(
        request.url,
        "https://aiplatform.googleapis.com/v1beta1/publishers/google/models?pageSize=100"
    );
    let request =
        Vertex.list_request(&model("", "http://proxy/v1/projects/q/locations/r", json!(null))).unwrap();
    assert_eq!(request.url, "http://proxy/v1beta1/publishers/google/models?pageSize=100");
    let body =
        br#"{"publisherModels": [{"name": "publishers/google/models/gemini-2.5-pro", "versionId": "1"}]}"#;
    assert_eq!(Vertex.parse_models(body).unwrap()[0].id, "gemini-2.5-pro");
}
