use lariat_core::message::Message;
use serde_json::Value;

use super::super::chat::fixtures::{model, request};
use super::*;

#[test]
fn completes_the_address_from_any_configured_part() {
    for base in [
        "https://r.openai.azure.com",
        "https://r.openai.azure.com/",
        "https://r.openai.azure.com/openai",
        "https://r.openai.azure.com/openai/v1",
        "https://r.openai.azure.com/openai/v1/",
        "https://r.openai.azure.com/openai/v1/responses",
    ] {
        let model = model("azure", "my-deployment").with_base_url(base);
        let request = request(model.clone(), [Message::user("hi")]);
        let outgoing = Azure.request(&request).unwrap();
        assert_eq!(outgoing.url, "https://r.openai.azure.com/openai/v1/responses", "{base}");
        assert_eq!(outgoing.auth, Auth::Header("api-key"));
        let body: Value = serde_json::from_slice(&outgoing.body).unwrap();
        assert_eq!(body["model"], "my-deployment");
        assert_eq!(Azure.list_request(&model).unwrap().url, "https://r.openai.azure.com/openai/v1/models");
    }
    let versioned =
        model("azure", "d").with_base_url("https://r.openai.azure.com/openai/v1?api-version=preview");
    let outgoing = Azure.request(&request(versioned, [Message::user("hi")])).unwrap();
    assert_eq!(outgoing.url, "https://r.openai.azure.com/openai/v1/responses?api-version=preview");
}

#[test]
fn missing_resource_error_says_what_to_set() {
    let error = Azure.request(&request(model("azure", "d"), [Message::user("hi")])).unwrap_err();
    assert!(error.to_string().contains("base_url"), "{error}");
}

#[test]
fn body_equals_that_of_responses() {
    let plain = request(model("azure", "gpt-5").with_base_url("https://r"), [Message::user("hi")]);
    let (azure, open_ai) = (Azure.request(&plain).unwrap(), responses::Responses.request(&plain).unwrap());
    assert_eq!(azure.body, open_ai.body);
}
